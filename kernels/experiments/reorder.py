"""Reschedules the main loop of an FP32 kernel in its cubin: the same sums, in an order the register banks like.

ptxas reorders FFMAs as it sees fit and pays about one extra cycle in ten for register banks. This pass keeps ptxas's
registers at the loop's entry and exit and everything outside the unrolled body, and rewrites the body alone:

- each k step visits its TM x TN products on one path on which neighbours share a row or a column, so that one source
  comes from the reuse cache and the other two from different banks (see `sass.py` for the model);
- the scheduler changes warps where a 128-byte line of instructions ends (seen in the samples of f32-level1), and the
  reuse cache is lost there as it is behind a load: loads stand at the first places of lines, and the path expects
  nothing in the cache where a line begins;
- the next step's fragments are loaded into the other of two register sets, early in the step.

The result is verified: both bodies are executed symbolically from their disassembly, and every register that is live
behind the body must hold the same chain of multiply-adds, in the same order of k (so results are bit-equal).
"""

from __future__ import annotations

import argparse
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bank_path import Cell, find_path, path_cost
from dataflow import (
    FFMA_TEXT,
    LDS_TEXT,
    REGISTERS,
    Body,
    ReorderError,
    accesses,
    execute,
    find_body,
    is_fragment_load,
    live_registers,
    understand,
)
from sass import Instruction, disassemble, registers_allotted

FFMA, LDS128 = 0x7223, 0x7984
LINE = 8  # instructions in 128 bytes
NO_BARRIER = 7
CONTROL_BITS = 0x1FFFFF << 41


@dataclass(frozen=True)
class Recipe:
    """How the new body is ordered.

    Args:
        lines: Whether loads and path heed the instruction lines; else all loads come first in a step.
    """

    lines: bool = True


def text_offset(cubin: bytes, function: str) -> int:
    """File offset of the code of `function` in a 64-bit ELF."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQ", cubin, table + i * entry_size) for i in range(count)]
    name_base = headers[names][4]
    for name, _, _, _, offset in headers:
        start = name_base + name
        if cubin[start : cubin.index(b"\0", start)] == f".text.{function}".encode():
            return offset
    raise ReorderError(f"no code of {function}")


def control(stall: int, write: int = NO_BARRIER, wait: int = 0, reuse: int = 0) -> int:
    """Scheduling bits of an instruction, at their place in the upper 64-bit word; stalls from 12 on must yield."""
    return (stall | (stall < 12) << 4 | write << 5 | NO_BARRIER << 8 | wait << 11 | reuse << 17) << 41


def encode_ffma(d: int, a: int, b: int, ctl: int) -> bytes:
    """FFMA Rd, Ra, Rb, Rd."""
    return struct.pack("<QQ", FFMA | d << 16 | a << 24 | b << 32, d | ctl)


def encode_lds(d: int, base: int, offset: int, ctl: int) -> bytes:
    """LDS.128 Rd, [Rbase+offset]."""
    return struct.pack("<QQ", LDS128 | d << 16 | base << 24 | offset << 40, 0xC00 | ctl)


def free_registers(code: list[Instruction], first: int, last: int, taken: set[int], allotted: int) -> list[int]:
    """Registers of the kernel's allotment that hold nothing needed at the body's start or behind its end.

    The allotment's last two are no general registers since Volta (ptxas never names them); using one is an illegal
    instruction.
    """
    live = live_registers(code)
    busy = live[first] | live[last + 1] | taken
    return [r for r in range(allotted - 2) if r not in busy and r != 1]  # R1 is the stack's


def check_encoders(body: list[Instruction]) -> None:
    """Requires of the two encoders that they make ptxas's own words from its operands and scheduling bits.

    Raises:
        ReorderError: For the first instruction that comes out differently.
    """
    for ins in body:
        operands, high = ins.operands.replace(".reuse", ""), ins.words[1] & CONTROL_BITS
        if ins.opcode == "FFMA" and (ffma := FFMA_TEXT.fullmatch(operands)):
            d, a, b, c = map(int, ffma.groups())
            low, end = struct.unpack("<QQ", encode_ffma(d, a, b, high))
            made = low, end ^ d ^ c  # ours always adds in place
        elif is_fragment_load(ins) and (lds := LDS_TEXT.fullmatch(operands)):
            made = struct.unpack("<QQ", encode_lds(int(lds[1]), int(lds[2]), int(lds[3] or "0", 16), high))
        else:
            continue
        if made != ins.words:
            raise ReorderError(f"{ins.opcode} {ins.operands} would be encoded as {made}, not {ins.words}")


@dataclass(frozen=True)
class Layout:
    """Where a step's loads stand (before which product), and which products find nothing in the reuse cache."""

    loads: tuple[int, ...]
    breaks: frozenset[int]

    @staticmethod
    def of(place: int, loads: int, products: int, recipe: Recipe) -> Layout:
        """The layout of a step whose first instruction is the `place`-th of the kernel."""
        before, breaks = [], set()
        here = place
        for product in range(products):
            start = here % LINE == 0
            if start and recipe.lines:
                breaks.add(product)
            while loads and (start or not recipe.lines):
                before.append(product)
                breaks.add(product)
                loads, here, start = loads - 1, here + 1, False
            here += 1
        if loads:
            raise ReorderError(f"{loads} loads have no place")
        return Layout(tuple(before), frozenset(breaks | {0}))


Sets = tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]  # (A, B) registers of even and odd steps


def allocate(code: list[Instruction], first: int, last: int, plan: Body, allotted: int) -> Sets:
    """Finds a second set of fragment registers among what the loop leaves free.

    Raises:
        ReorderError: If a register needed behind the body would be lost, or too few are free.
    """
    body = code[first : last + 1]
    fixed = {r for row in plan.acc for r in row} | set(plan.entry_a) | set(plan.entry_b)
    kept = {r for n in plan.others for r in (*accesses(body[n])[1], *map(int, REGISTERS.findall(body[n].operands)))}
    lost = {r for ins in body for r in accesses(ins)[1]} & live_registers(code)[last + 1] - fixed - kept
    if lost:
        raise ReorderError(f"registers {sorted(lost)} are needed behind the body and would not be made")
    bases = {p for a, b in plan.loads for p, _ in (*a, *b)}
    free = free_registers(code, first, last, fixed | kept | bases, allotted)
    starts = [q for q in range(0, 256, 4) if all(q + e in free for e in range(4))]
    rows, columns = len(plan.entry_a), len(plan.entry_b)
    need = (rows + columns) // 4
    if len(starts) < need:
        raise ReorderError(f"{len(starts)} free quads of registers, {need} needed ({allotted} registers allotted)")
    flat = [q + e for q in starts[-need:] for e in range(4)]
    return (plan.entry_a, plan.entry_b), (flat[:rows], flat[rows:])


def surroundings(body: list[Instruction], plan: Body) -> tuple[list[bytes], list[bytes]]:
    """What is neither product nor load, in ptxas's order: first the rest, behind the body what replaces load addresses.

    Raises:
        ReorderError: If something follows that might need such an address.
    """
    current = {p for step in plan.loads[:-1] for p, _ in (*step[0], *step[1])}
    before: list[bytes] = []
    behind: list[bytes] = []
    for index in plan.others:
        ins = body[index]
        late = bool(accesses(ins)[1] & current)
        if behind and not late:
            raise ReorderError(f"{ins.opcode} {ins.operands} follows the address it may need")
        low, high = ins.words
        if ins.opcode == "BSSY":  # its target is relative to where it stands
            low += (ins.address - body[0].address - 16 * len(before)) << 32
        stall = 13 if ins.opcode.startswith(("ISETP", "PLOP3")) else 6
        wait = 0 if before or late else 0x3F  # every load that is still under way
        word = struct.pack("<QQ", low, high & ~CONTROL_BITS | control(stall, wait=wait))
        (behind if late else before).append(word)
    return before, behind


def step_words(plan: Body, step: int, path: list[Cell], layout: Layout, sets: Sets) -> list[bytes]:
    """One k step: the next step's loads into the other set, and the products along the path."""
    words = []
    a, b = sets[step % 2]
    next_a, next_b = sets[(step + 1) % 2]
    a_quads, b_quads = plan.loads[step]
    loads = [(next_b[4 * q], *quad) for q, quad in enumerate(b_quads)]
    loads += [(next_a[4 * q], *quad) for q, quad in enumerate(a_quads)]
    places = list(layout.loads)
    for n, (i, j) in enumerate(path):
        while places and places[0] == n:
            places.pop(0)
            d, base, at = loads.pop(0)
            words.append(encode_lds(d, base, at, control(1, write=step % 2)))
        wait = 1 << (step - 1) % 2 if n == 0 and step else 0
        if (step, n) == (plan.steps - 1, len(path) - 1):
            # The code behind may overwrite the loads' addresses and read the sums: let both be done.
            ctl = control(6, wait=wait | 1 << step % 2)
        else:
            follows = path[n + 1] if n + 1 < len(path) and n + 1 not in layout.breaks else (-1, -1)
            ctl = control(1, wait=wait, reuse=(follows[0] == i) | (follows[1] == j) << 1)
        words.append(encode_ffma(plan.acc[i][j], a[i], b[j], ctl))
    return words


def reorder(cubin: Path, function: str, rows: int, columns: int, recipe: Recipe) -> str:
    """Rewrites the loop body of `function` in place and returns a line that says what changed.

    Args:
        cubin: The file; rewritten only after the result was verified.
        function: The kernel.
        rows: Outputs of a lane along M.
        columns: Outputs of a lane along N.
        recipe: The order.

    Raises:
        ReorderError: If the loop is not understood or the verification fails.
    """
    code = disassemble(cubin, function)
    first, last = find_body(code)
    body = code[first : last + 1]
    check_encoders(body)
    plan = understand(body, rows, columns)
    sets = allocate(code, first, last, plan, registers_allotted(cubin, function))
    parity = [[r % 2 for r in row] for row in plan.acc]
    words, behind = surroundings(body, plan)
    paths: dict[Layout, list[Cell]] = {}
    extra = 0
    for step in range(plan.steps):
        place = body[0].address // 16 + len(words)
        layout = Layout.of(place, (rows + columns) // 4, rows * columns, recipe)
        if layout not in paths:
            paths[layout] = find_path(parity, set(layout.breaks), seed=0)
        extra += path_cost(paths[layout], parity, set(layout.breaks))
        words += step_words(plan, step, paths[layout], layout, sets)
    words += behind
    room = len(body) - len(words)
    if room < 0:
        raise ReorderError(f"the new body is {-room} instructions too long")
    words += [struct.pack("<QQ", 0x7918, control(1))] * room  # NOP

    raw = bytearray(cubin.read_bytes())
    begin = text_offset(bytes(raw), function) + body[0].address
    raw[begin : begin + 16 * len(words)] = b"".join(words)
    trial = cubin.with_name(f"{cubin.stem}-reordered.cubin")
    trial.write_bytes(raw)
    verify(body, disassemble(trial, function)[first : last + 1], plan)
    trial.replace(cubin)
    return f"{len(body)} instructions, {room} NOPs, {extra / plan.steps:.1f} extra cycles per step of {rows * columns}"


def verify(old: list[Instruction], new: list[Instruction], plan: Body) -> None:
    """Compares what both bodies leave in every register that is live behind them.

    Instructions that are neither FFMA nor LDS must all be there, in order, with their targets.

    Raises:
        ReorderError: On any difference.
    """
    before, _ = execute(old)
    after, origin = execute(new)
    for register in (*(r for row in plan.acc for r in row), *plan.entry_a, *plan.entry_b):
        if before.get(register) != after.get(register):
            raise ReorderError(f"R{register} differs: {before.get(register)} / {after.get(register)}")
    if any(origin[r] != r for row in plan.acc for r in row):
        raise ReorderError("an accumulator moved")
    others = [(old[n].guard, old[n].opcode, old[n].operands.replace(".reuse", "")) for n in plan.others]
    rest = [i for i in new if i.opcode not in ("FFMA", "NOP") and not is_fragment_load(i)]
    kept = [(i.guard, i.opcode, i.operands.replace(".reuse", "")) for i in rest]
    if kept != others:
        raise ReorderError(f"of {others} only {kept} are left")


def reorder_cubin(cubin: Path, function: str, recipe: Recipe) -> str:
    """The build's entry, for lanes of 8 x 16 outputs.

    Raises:
        RuntimeError: In the build's terms.
    """
    try:
        return reorder(cubin, function, 8, 16, recipe)
    except (ReorderError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"{cubin.name}: not reordered: {error}") from error


def main() -> None:
    """Reorders one cubin in place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubin", type=Path)
    parser.add_argument("function")
    args = parser.parse_args()
    print(reorder_cubin(args.cubin, args.function, Recipe()))


if __name__ == "__main__":
    main()
