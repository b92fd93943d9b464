"""CUTLASS as a reference: its libraries are built, found again, carried, and called as their C functions expect it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError, ProgramError, UsageError
from ncu_lab.gpu import cutlass_build
from ncu_lab.gpu.compile import Nvcc
from ncu_lab.gpu.cutlass import Cutlass
from ncu_lab.gpu.launch_plan import library_plan
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import subjects_of
from ncu_lab.model import Problem
from ncu_lab.workflows import building

STAGES = load_stages()
FP32, BF16 = STAGES["cutlass-fp32"], STAGES["cutlass-bf16"]
KERNEL = "_ZN7cutlass6KernelE"
LOG = f"""ptxas info    : Compiling entry function '{KERNEL}' for 'sm_90'
ptxas info    : Function properties for {KERNEL}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 254 registers, used 1 barriers
"""


class Compiler:
    """Stands in for nvcc and the headers of the wheel."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs: list[list[str]] = []
        self.log = LOG
        self.code = 0
        self.headers: Path | None = folder / "include"
        (folder / "include" / "cutlass").mkdir(parents=True)
        (folder / "include" / "cutlass" / "version.h").write_text(
            "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 0\n"
        )
        monkeypatch.setenv("NCU_LAB_CACHE", str(folder / "cache"))
        monkeypatch.setattr(cutlass_build, "find_nvcc", lambda: Nvcc(Path("nvcc"), "13.0.88"))
        monkeypatch.setattr(cutlass_build, "find_tool", lambda name: Path(name))
        monkeypatch.setattr(cutlass_build, "cutlass_headers", lambda: self.headers)
        monkeypatch.setattr(cutlass_build, "run_child", self._run)

    def _run(self, command: Sequence[str], folder: Path, stop: threading.Event) -> subprocess.CompletedProcess[str]:
        self.runs.append(list(command))
        Path(command[-1]).write_bytes(b"a library")
        return subprocess.CompletedProcess(command, self.code, "", self.log)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    return Compiler(tmp_path, monkeypatch)


def test_is_built_once_from_our_source_and_the_headers(compiler: Compiler) -> None:
    made = cutlass_build.build_library(FP32, "sm_90")
    assert (made.stage, made.variant, made.arch, made.registers, made.cached) == (
        "cutlass-fp32", "library", "sm_90", 254, False,
    )  # fmt: skip
    assert made.cubin.read_bytes() == b"a library"
    assert {"-DBM=128", "-DSTAGES=4", "-DNDEBUG", "cutlass 4.2.0"} <= set(made.flags)
    assert not any(str(compiler.headers) in flag for flag in made.flags)
    assert "-gencode=arch=compute_90,code=sm_90" in compiler.runs[0]
    again = cutlass_build.build_library(FP32, "sm_90")
    assert (again.cached, again.cubin, again.seconds) == (True, made.cubin, made.seconds)
    cutlass_build.build_library(BF16, "sm_90")
    assert "-gencode=arch=compute_90a,code=sm_90a" in compiler.runs[1]
    assert len(compiler.runs) == 2


def test_a_build_that_was_carried_here_serves_without_headers(compiler: Compiler) -> None:
    made = cutlass_build.build_library(FP32, "sm_90")
    compiler.headers = None
    assert cutlass_build.lacking(FP32, "sm_90") is None
    assert cutlass_build.build_library(FP32, "sm_90").cubin == made.cubin
    assert "headers are not installed" in (cutlass_build.lacking(FP32, "sm_80") or "")  # another architecture
    with pytest.raises(EnvironmentLacksError, match="cutlass-bf16 cannot be built: CUTLASS's headers"):
        cutlass_build.build_library(BF16, "sm_90")


def test_the_library_is_what_the_target_is_given(compiler: Compiler) -> None:
    made = cutlass_build.build_library(FP32, "sm_90")
    ours, cublas = subjects_of([FP32, STAGES["cublas-fp32"]], [made], STAGES)
    assert (ours.cubin, ours.guarded_cubin, cublas.cubin) == (str(made.cubin), None, None)


def test_a_stage_is_measured_against_both_where_both_are_here(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "present_arch", lambda: "sm_90")
    assert building.with_references(["2d"], STAGES) == {"2d", "cublas-fp32", "cutlass-fp32"}
    assert building.with_references(["wgmma"], STAGES) == {"wgmma", "cublas-bf16", "cutlass-bf16"}
    assert building.with_references(["wmma"], STAGES) == {"wmma", "cublas-fp16"}
    assert building.with_references(["cutlass-bf16"], STAGES) == {"cublas-bf16", "cutlass-bf16"}
    assert building.with_references(["2d"], STAGES, cutlass=False) == {"2d", "cublas-fp32"}
    assert building.with_references(["cutlass-fp32"], STAGES, cutlass=False) == {"cutlass-fp32", "cublas-fp32"}
    compiler.headers = None
    assert building.with_references(["2d"], STAGES) == {"2d", "cublas-fp32"}
    monkeypatch.setattr(building, "present_arch", lambda: "sm_80")
    assert building.with_references(["cublas-bf16"], STAGES) == {"cublas-bf16"}


def test_what_it_needs_is_told(compiler: Compiler) -> None:
    assert cutlass_build.lacking(BF16, "sm_80") == "it needs sm_90a, the GPU here is sm_80"
    assert cutlass_build.lacking(BF16, "sm_90") is None


def test_serialised_wgmma_and_errors_fail_the_build(compiler: Compiler) -> None:
    compiler.log = LOG + (
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized: a call\n"
    )
    with pytest.raises(InputError, match="serialised its wgmma"):
        cutlass_build.build_library(BF16, "sm_90")
    compiler.log, compiler.code = "cutlass_fp32.cu(3): error: no such thing\n", 1
    with pytest.raises(InputError, match=r"does not compile .*no such thing"):
        cutlass_build.build_library(FP32, "sm_90")
    assert list((compiler.headers or Path()).parents[0].glob("cache/references/*")) == []  # nothing half-made


def test_the_tma_kernel_refuses_what_it_cannot_serve() -> None:
    dense = Layout(512, 256, 256)
    assert library_plan(BF16, Problem(100, 256, 512), dense).variant == "library"
    for problem, layout, why in (
        (Problem(128, 100, 512), dense, "n = 100 is no multiple of 8"),
        (Problem(128, 256, 4), dense, "k = 4 is no multiple of 8"),
        (Problem(128, 256, 0), dense, "k = 0 leaves nothing to multiply"),
        (Problem(128, 256, 512), Layout(519, 256, 256), "the row of A is not aligned"),
        (Problem(128, 256, 512), Layout(512, 256, 256, 2, 2, 4), "the base of A is not aligned"),
    ):
        with pytest.raises(UsageError, match=why):
            library_plan(BF16, problem, layout)
    assert library_plan(FP32, Problem(35, 79, 19), Layout(26, 86, 86, 4, 4, 4)).variant == "library"
    # cuBLAS serves any shape and alignment, and k = 0.
    assert library_plan(STAGES["cublas-fp16"], Problem(3, 3, 0), Layout(1, 3, 3, 2, 2, 4)).variant == "library"


# The fields as prepared.cuh has them, written down again; what is handed over comes back as a status.
LIBRARY = r"""
#include <stddef.h>
#include <stdlib.h>
typedef struct {
  int m, n, k; float alpha; const void* a; int lda; const void* b; int ldb; float beta; float* c; int ldc;
  void* workspace; size_t workspace_bytes; int sm_count;
} Request;
static int released = 0;
int ncu_lab_prepare(const Request* r, void** handle) {
  if (r->m == 666) return 7;
  int right = r->m == 2 && r->n == 3 && r->k == 5 && r->alpha == 1.5f && r->beta == -2.0f && r->a == (void*)64 &&
              r->lda == 6 && r->b == (void*)128 && r->ldb == 4 && (void*)r->c == (void*)256 && r->ldc == 8 &&
              r->workspace == (void*)4096 && r->workspace_bytes == 1u << 25 && r->sm_count == 132;
  int* made = malloc(sizeof(int));
  *made = right;
  *handle = made;
  return 0;
}
int ncu_lab_run(void* handle, void* stream) { return *(int*)handle && stream == (void*)77 ? 0 : 9; }
void ncu_lab_release(void* handle) { free(handle); ++released; }
const char* ncu_lab_status(int status) { return status == 7 ? "not that many rows" : "something else"; }
"""


@pytest.fixture
def library(tmp_path: Path) -> Cutlass:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    (tmp_path / "library.c").write_text(LIBRARY)
    made = tmp_path / "library.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, tmp_path / "library.c"], check=True)
    return Cutlass(made, 77, 4096, 2**25, 132)


def test_hands_over_every_field_where_c_expects_it(library: Cutlass) -> None:
    problem, layout = Problem(2, 3, 5, 1.5, -2.0), Layout(6, 4, 8, 64, 128, 256)
    library.gemm(problem, layout)
    library.gemm(problem, layout)
    with pytest.raises(ProgramError, match="CUTLASS cannot run 2×3×6"):
        library.gemm(Problem(2, 3, 6), layout)


def test_a_refusal_is_told_in_its_words(library: Cutlass) -> None:
    with pytest.raises(ProgramError, match=r"CUTLASS cannot prepare 666×3×5 .*: not that many rows"):
        library.gemm(Problem(666, 3, 5), Layout(6, 4, 8))


def test_many_problems_are_prepared_and_forgotten(library: Cutlass) -> None:
    for number in range(200):
        with pytest.raises(ProgramError):
            library.gemm(Problem(number + 1, 3, 5), Layout(6, 4, 8))
    assert len(library._prepared) <= 64


def test_a_library_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "library.so").write_text("none")
    with pytest.raises(ProgramError, match="cannot be loaded"):
        Cutlass(tmp_path / "library.so", 0, 0, 0, 132)
