"""Reads what ptxas made of a kernel: instruction mix of its main loop and the register-bank cost of every FFMA.

Model (Hopper, from `kernels.md`): registers lie in two banks by parity, each gives one register a cycle, and a source
kept by `.reuse` in the same operand slot of the instruction before costs nothing. An FFMA therefore takes
max(reads of even registers, reads of odd registers, 1) cycles. Where a 128-byte line of instructions ends the scheduler
changes warps (seen in samples: `not_selected` and `dispatch_stall` fall on the first instruction of a line), so that
nothing is kept there: the second figure. The model ignores load write-back; it ranks, it does not predict times.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?);\s+/\* 0x(\w{16}) \*/\s+/\* 0x(\w{16}) \*/")
REGISTER = re.compile(r"\bR(\d+)(\.reuse)?\b")
LDS_LATENCY = 30  # cycles, about


@dataclass(frozen=True)
class Instruction:
    """One SASS instruction: byte address, mnemonic with modifiers, operand text, its guard, its 128 bits."""

    address: int
    opcode: str
    operands: str
    guard: str = ""
    words: tuple[int, int] = (0, 0)

    @property
    def write_barrier(self) -> int:
        """The scoreboard (0 to 5) released when the result is there; 7 is none."""
        return self.words[1] >> 46 & 7

    @property
    def waits(self) -> int:
        """Mask of the scoreboards this instruction waits for."""
        return self.words[1] >> 52 & 0x3F


@dataclass(frozen=True)
class LoopReport:
    """What the loop with the most FFMAs (or HGMMAs) holds."""

    start: int
    instructions: int
    mix: Counter[str]
    ffma: int
    ffma_cycles: int
    ffma_cycles_by_line: int
    reuse_flags: int
    code_bytes: int
    distances: list[int]

    @property
    def exposed_waits(self) -> int:
        """Waits for shared memory with less than a load's latency of work behind them."""
        return sum(d < LDS_LATENCY for d in self.distances)

    @property
    def ffma_share(self) -> float:
        """FFMA instructions over all instructions of the loop."""
        return self.ffma / self.instructions

    @property
    def modelled_share(self) -> float:
        """FFMAs over modelled issue cycles: an upper bound of the FMA pipe's busy share in the loop."""
        return self.ffma / (self.ffma_cycles + self.instructions - self.ffma)


def disassembler() -> str:
    """Path of cuobjdump: on PATH or where the wheel was unpacked.

    Raises:
        SystemExit: If neither holds one.
    """
    found = shutil.which("cuobjdump")
    if found is None:
        wheels = [Path(p) / "nvidia/cu13/bin/cuobjdump" for p in sys.path]
        found = next((str(p) for p in wheels if p.exists()), None)
    if found is None:
        raise SystemExit("cuobjdump not found: install the wheels nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm")
    return found


def disassemble(cubin: Path, function: str) -> list[Instruction]:
    """Instructions of one function of a cubin, in address order."""
    text = subprocess.run(
        [disassembler(), "-sass", "-fun", function, str(cubin)], check=True, capture_output=True, text=True
    ).stdout
    code = []
    for match in INSTRUCTION.finditer(text):
        text = match.group(2).strip()
        guard = re.match(r"@!?U?P\w+\s+", text)
        opcode, _, operands = text[guard.end() if guard else 0 :].partition(" ")
        words = int(match.group(3), 16), int(match.group(4), 16)
        address, predicate = int(match.group(1), 16), guard[0].strip() if guard else ""
        code.append(Instruction(address, opcode, operands.strip(), predicate, words))
    return code


def registers_allotted(cubin: Path, function: str) -> int:
    """Registers per thread that the cubin asks for."""
    text = subprocess.run([disassembler(), "-res-usage", str(cubin)], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"Function {re.escape(function)}:\s+REG:(\d+)", text)
    if found is None:
        raise ValueError(f"cuobjdump names no registers of {function}")
    return int(found[1])


def main_loop(code: list[Instruction], unit: str) -> list[Instruction]:
    """The innermost backward-branch range that holds the most instructions starting with `unit`."""
    ranges = []
    for ins in code:
        target = re.search(r"0x([0-9a-f]+)", ins.operands) if ins.opcode.startswith("BRA") else None
        if target and int(target.group(1), 16) < ins.address:
            ranges.append((int(target.group(1), 16), ins.address))
    inner = [
        r
        for r in ranges
        if not any(
            o != r
            and r[0] <= o[0]
            and o[1] <= r[1]
            and _count(code, o, unit) > 3
            and _count(code, o, unit) * 4 > _count(code, r, unit)
            for o in ranges
        )
    ]
    if not inner:
        return code
    start, end = max(inner, key=lambda r: _count(code, r, unit))
    return [i for i in code if start <= i.address <= end]


def _count(code: list[Instruction], span: tuple[int, int], unit: str) -> int:
    return sum(span[0] <= i.address <= span[1] and i.opcode.startswith(unit) for i in code)


def ffma_cycles(loop: list[Instruction], *, by_line: bool = False) -> tuple[int, int]:
    """Modelled issue cycles of all FFMAs of the loop, and how many `.reuse` flags they carry.

    `by_line`: nothing is kept from one 128-byte line of instructions to the next.
    """
    kept: dict[int, int] = {}
    cycles = flags = 0
    for ins in loop:
        if by_line and ins.address % 128 == 0:
            kept = {}
        sources = [REGISTER.search(t) for t in ins.operands.split(",")[1:]]
        if ins.opcode.startswith("FFMA"):
            banks = [0, 0]
            for slot, reg in enumerate(sources):
                if reg and kept.get(slot) != int(reg.group(1)):
                    banks[int(reg.group(1)) % 2] += 1
            cycles += max(banks[0], banks[1], 1)
        kept = {slot: int(r.group(1)) for slot, r in enumerate(sources) if r and r.group(2)}
        flags += sum(1 for r in sources if r and r.group(2)) if ins.opcode.startswith("FFMA") else 0
    return cycles, flags


def load_distances(loop: list[Instruction]) -> list[int]:
    """For every wait for LDS: the instructions issued since the last load it waits for.

    An LDS takes about 30 cycles; nearer waits leave the scheduler to its other warps. Only ptxas's good will keeps
    fragments double-buffered: loads written a K step ahead may be sunk to just before their use.
    """
    issued: dict[int, int] = {}
    distances = []
    for place, ins in enumerate(loop):
        hit = [issued.pop(board) for board in range(6) if ins.waits >> board & 1 and board in issued]
        if hit:
            distances.append(place - max(hit))
        if ins.opcode.startswith("LDS") and ins.write_barrier < 6:
            issued[ins.write_barrier] = place
    return distances


def report(cubin: Path, function: str, unit: str = "FFMA") -> LoopReport:
    """Analyses the main loop of `function` in `cubin`."""
    loop = main_loop(disassemble(cubin, function), unit)
    mix = Counter(
        i.opcode if i.opcode.startswith(("LDS", "STS", "LDL", "STL", "SYNCS")) else i.opcode.split(".")[0] for i in loop
    )
    cycles, flags = ffma_cycles(loop)
    by_line, _ = ffma_cycles(loop, by_line=True)
    return LoopReport(
        loop[0].address, len(loop), mix, mix["FFMA"], cycles, by_line, flags, 16 * len(loop), load_distances(loop)
    )  # fmt: skip


def main() -> None:
    """Prints the report of one function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cubin", type=Path)
    parser.add_argument("function")
    parser.add_argument("--unit", default="FFMA", help="instruction whose busiest loop is the main loop")
    args = parser.parse_args()
    r = report(args.cubin, args.function, args.unit)
    print(f"loop at 0x{r.start:x}: {r.instructions} instructions, {r.code_bytes / 1024:.1f} KiB")
    if r.ffma:
        print(
            f"FFMA {r.ffma} ({r.ffma_share:.1%}), modelled cycles {r.ffma_cycles} "
            f"({r.ffma_cycles / r.ffma:.3f} each, {r.ffma_cycles_by_line / r.ffma:.3f} by line), "
            f"reuse flags {r.reuse_flags}, bound on FMA pipe {r.modelled_share:.1%}"
        )
    if r.distances:
        print(f"waits for LDS {len(r.distances)}, of them {r.exposed_waits} within {LDS_LATENCY} instructions")
    print(", ".join(f"{name} {count}" for name, count in r.mix.most_common(20)))


if __name__ == "__main__":
    main()
