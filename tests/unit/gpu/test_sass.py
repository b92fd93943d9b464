"""The same code listed by nvdisasm 13.5 and by cuobjdump 13.5, shortened."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.errors import InputError
from ncu_lab.gpu.sass import digest, disassemble, mix, normalise, opcode

NVDISASM = """\
	.section	.text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR6][R2.64] ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
.L_x_0:
        /*0030*/                   FFMA R0, R4.reuse, R5, R0 ;
        /*0040*/                   STL [R1+0x10], R4 (*"SpillRefill"*) ;
        /*0050*/               @P0 BRA `(.L_x_0) ;
.L_x_1:
        /*0060*/                   STS.64 [R5], R0 ;
        /*0070*/                   EXIT ;
.L_x_2:
        /*0080*/                   BRA `(.L_x_2);
        /*0090*/                   NOP;
        /*00a0*/                   NOP;
.L_x_3:
"""
CUOBJDUMP = """\
	code for sm_90
		Function : k
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                   /* 0x00000a00ff017b82 */
                                                                            /* 0x000fe20000000800 */
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR6][R2.64] ; /* 0x0000000000057919 */
        /*0020*/              @!P0 BRA 0x60 ;                               /* 0x00008600ff027b82 */
        /*0030*/                   FFMA R0, R4.reuse, R5, R0 ;              /* 0x0000820000067ab9 */
        /*0040*/                   STL [R1+0x10], R4 ;                      /* 0x0000820000067ab9 */
        /*0050*/               @P0 BRA 0x30 ;                               /* 0x0000820000067ab9 */
        /*0060*/                   STS.64 [R5], R0 ;                        /* 0x0000820000067ab9 */
        /*0070*/                   EXIT ;                                   /* 0x0000820000067ab9 */
        /*0080*/                   BRA 0x80;                                /* 0x0000820000067ab9 */
        /*0090*/                   NOP;                                     /* 0x0000820000067ab9 */
"""
EXPECTED = """\
k:
  LDC R1, c[0x0][0x28]
  LDG.E.128.CONSTANT R4, desc[UR6][R2.64]
  @!P0 BRA L1
L0:
  FFMA R0, R4.reuse, R5, R0
  STL [R1+0x10], R4
  @P0 BRA L0
L1:
  STS.64 [R5], R0
  EXIT
"""


def test_both_disassemblers_normalise_to_the_same_text() -> None:
    assert normalise(NVDISASM) == EXPECTED
    assert normalise(CUOBJDUMP) == EXPECTED


def test_mix_counts_opcodes_and_widths_without_labels() -> None:
    assert mix(EXPECTED) == {"BRA": 2, "EXIT": 1, "FFMA": 1, "LDC": 1, "LDG.128": 1, "STL": 1, "STS.64": 1}


def test_opcode_skips_the_predicate() -> None:
    assert opcode("@!UP0 BRA L0") == "BRA"
    assert opcode("FFMA R0, R1, R2, R3") == "FFMA"


def test_digest_tells_code_apart() -> None:
    assert digest(EXPECTED) == digest(normalise(CUOBJDUMP))
    assert digest(EXPECTED) != digest(EXPECTED.replace("FFMA", "FMUL"))


def test_an_empty_listing_is_empty() -> None:
    assert normalise("") == ""
    assert mix("") == {}


@given(st.text())
def test_any_text_is_read_without_failing(listing: str) -> None:
    mix(normalise(listing))


def test_a_disassembler_that_is_no_program_is_named(tmp_path: Path) -> None:
    tool = tmp_path / "nvdisasm"
    tool.write_bytes(b"\0\0")
    tool.chmod(0o755)
    with pytest.raises(InputError, match=f"{tool} cannot be started: Exec format error"):
        disassemble(tmp_path / "kernel.cubin", tool)
