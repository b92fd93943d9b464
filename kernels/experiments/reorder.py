"""Reschedules the main loop of an FP32 kernel in its cubin: the same sums, in an order the register banks like.

ptxas reorders FFMAs as it sees fit and pays about one extra cycle in ten for register banks. This pass keeps ptxas's
registers at the loop's entry and exit and everything outside the unrolled body, and rewrites the body alone:

- each k step visits its TM x TN products on one path on which neighbours share a row or a column, so that one source
  comes from the reuse cache and the other two from different banks (see `sass.py` for the model);
- the next step's fragments are loaded into the other of two register sets, in groups, early in the step.

The result is verified: both bodies are executed symbolically from their disassembly, and every register that is live
behind the body must hold the same chain of multiply-adds, in the same order of k (so results are bit-equal).
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sass import Instruction, disassemble, registers_allotted

FFMA, LDS128 = 0x7223, 0x7984
NO_BARRIER = 7
REGISTERS = re.compile(r"\bR(\d+)\b")
FFMA_TEXT = re.compile(r"R(\d+), R(\d+), R(\d+), R(\d+)")
LDS_TEXT = re.compile(r"R(\d+), \[R(\d+)(?:\+0x([0-9a-f]+))?\]")


class ReorderError(RuntimeError):
    """The loop does not have the shape this pass understands; the cubin is left as it was."""


@dataclass(frozen=True)
class Load:
    """A value loaded from shared memory: which pointer it came from, the byte offset and the component."""

    pointer: str
    offset: int
    component: int


Chain = tuple[tuple[Load, Load], ...]


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


def find_body(code: list[Instruction]) -> tuple[int, int]:
    """Index range [first, last] of the straight-line run of instructions with the most FFMAs."""
    best, start = (0, 0, 0), 0
    breaks = ("BRA", "BSYNC", "EXIT", "WARPSYNC", "BAR", "SYNCS", "RET", "CALL", "NOP")
    for index, ins in enumerate([*code, Instruction(0, "BRA", "")]):
        if ins.opcode.startswith(breaks):
            count = sum(i.opcode == "FFMA" for i in code[start:index])
            best = max(best, (count, start, index))
            start = index + 1
    count, start, stop = best
    if count < 256:
        raise ReorderError("no unrolled loop body")
    goals = [re.findall(r"0x([0-9a-f]+)", i.operands) for i in code if i.opcode.startswith(("BRA", "BSSY", "CALL"))]
    if any(g and code[start].address < int(g[-1], 16) <= code[stop - 1].address for g in goals):
        raise ReorderError("something jumps into the body")
    return start, stop - 1


def is_fragment_load(ins: Instruction) -> bool:
    """Whether this is an LDS.128 of four floats."""
    return ins.opcode == "LDS.128"


def execute(body: list[Instruction]) -> tuple[dict[int, object], dict[int, int]]:
    """Runs the body on symbols: the value of every register written, and for each chain the register it started in."""
    state: dict[int, object] = {}
    origin: dict[int, int] = {}
    pointers: dict[int, str] = {}
    for ins in body:
        if ins.opcode == "FFMA":
            match = FFMA_TEXT.fullmatch(ins.operands.replace(".reuse", ""))
            if match is None:
                raise ReorderError(f"unexpected {ins.opcode} {ins.operands}")
            d, a, b, c = (int(x) for x in match.groups())
            chain = state.get(c, ())
            if not isinstance(chain, tuple):
                raise ReorderError(f"R{c} is added to but is no sum")
            start = origin.get(c, c)
            # FFMA's factors may be exchanged: products are unordered pairs.
            state[d] = (*chain, frozenset((state.get(a, ("entry", a)), state.get(b, ("entry", b)))))
            origin[d] = start
        elif is_fragment_load(ins):
            match = LDS_TEXT.fullmatch(ins.operands)
            if match is None:
                raise ReorderError(f"unexpected {ins.operands}")
            d, base, offset = int(match[1]), int(match[2]), int(match[3] or "0", 16)
            for component in range(4):
                state[d + component] = Load(pointers.get(base, f"R{base}"), offset, component)
                origin.pop(d + component, None)
        elif ins.opcode.startswith("LEA"):
            registers = [int(r) for r in REGISTERS.findall(ins.operands)]
            pointers[registers[0]] = ins.operands.partition(",")[2].replace(".reuse", "").strip()
            state[registers[0]] = pointers[registers[0]]
            origin.pop(registers[0], None)
    return state, origin


def chains(state: dict[int, object]) -> dict[int, tuple[object, ...]]:
    """The registers that hold sums of products."""
    return {r: v for r, v in state.items() if isinstance(v, tuple) and v and isinstance(v[0], frozenset)}


@dataclass(frozen=True)
class Body:
    """What the body computes and where: acc[i][j] in place, fragments of the first and of the step behind the last."""

    acc: list[list[int]]
    steps: int
    entry_a: list[int]
    entry_b: list[int]
    exit_a: list[int]
    exit_b: list[int]
    loads: list[tuple[list[tuple[str, int]], list[tuple[str, int]]]]  # per step 1..steps: (A quads, B quads)
    others: list[int]  # indices of instructions that are neither FFMA, LDS nor address arithmetic
    addresses: dict[str, int]  # pointer expression -> index of the LEA that makes it


def understand(body: list[Instruction], rows: int, columns: int) -> Body:
    """Recovers the outer products from the symbolic result.

    Raises:
        ReorderError: If the accumulators are not in place or the shape differs.
    """
    state, origin = execute(body)
    sums = chains(state)
    live = {r: v for r, v in sums.items() if len(v) == max(map(len, sums.values()))}
    in_place = {r: v for r, v in live.items() if origin[r] == r}
    if len(in_place) != rows * columns:
        raise ReorderError(f"{len(in_place)} sums end where they began, {rows * columns} expected")
    firsts = {r: v[0] for r, v in in_place.items()}
    partners: dict[object, set[object]] = {}
    for x, y in firsts.values():
        partners.setdefault(x, set()).add(y)
        partners.setdefault(y, set()).add(x)
    entry_a = sorted(x[1] for x, other in partners.items() if len(other) == columns)
    entry_b = sorted(x[1] for x, other in partners.items() if len(other) == rows)
    if (len(entry_a), len(entry_b)) != (rows, columns):
        raise ReorderError(f"{len(entry_a)} x {len(entry_b)} operands in the first step")
    where = {pair: r for r, pair in firsts.items()}
    acc = [[where[frozenset((("entry", a), ("entry", b)))] for b in entry_b] for a in entry_a]
    steps = len(next(iter(in_place.values())))
    loads = []
    for step in range(1, steps):
        pairs = [[in_place[acc[i][j]][step] for j in range(columns)] for i in range(rows)]
        a = [common(pairs[i][0], pairs[i][1]) for i in range(rows)]
        b = [common(pairs[0][j], pairs[1][j]) for j in range(columns)]
        if any(pairs[i][j] != frozenset((a[i], b[j])) for i in range(rows) for j in range(columns)):
            raise ReorderError("a step is no outer product")
        loads.append((quads(a), quads(b)))
    exits = [state.get(r) for r in entry_a], [state.get(r) for r in entry_b]
    loads.append((quads(exits[0]), quads(exits[1])))
    others = [
        i
        for i, ins in enumerate(body)
        if ins.opcode != "FFMA" and not is_fragment_load(ins) and not ins.opcode.startswith("LEA")
    ]
    addresses = {}
    for index, ins in enumerate(body):
        if ins.opcode.startswith("LEA"):
            addresses[ins.operands.partition(",")[2].replace(".reuse", "").strip()] = index
    return Body(acc, steps, entry_a, entry_b, entry_a, entry_b, loads, others, addresses)


def common(x: frozenset[object], y: frozenset[object]) -> object:
    """The one factor that two products share."""
    both = x & y
    if len(both) != 1:
        raise ReorderError("neighbouring products share no factor")
    return next(iter(both))


def quads(values: list[object]) -> list[tuple[str, int]]:
    """Groups loaded components into (pointer, offset) quads; the order of components must be plain."""
    out = []
    for q in range(0, len(values), 4):
        four = values[q : q + 4]
        first = four[0]
        if not isinstance(first, Load) or four != [Load(first.pointer, first.offset, c) for c in range(4)]:
            raise ReorderError(f"fragment {four} is no plain quad")
        out.append((first.pointer, first.offset))
    return out


Cell = tuple[int, int]


def entry_cost(before: Cell | None, cell: Cell, parity: list[list[int]]) -> int:
    """Cycles beyond one of the product at `cell` = (i, j) behind `before`; None: nothing is in the reuse cache.

    Fragment registers lie in quads, so that their parity is that of the index.
    """
    i, j = cell
    reads = [parity[i][j]]
    if before is None or before[0] != i:
        reads.append(i % 2)
    if before is None or before[1] != j:
        reads.append(j % 2)
    return max(reads.count(0), reads.count(1)) - 1


def path_cost(path: list[Cell], parity: list[list[int]], breaks: set[int]) -> int:
    """Modelled cycles of a step beyond one per FFMA; before positions in `breaks` stand loads, which end all reuse."""
    return sum(entry_cost(path[n - 1] if n and n not in breaks else None, cell, parity) for n, cell in enumerate(path))


def find_path(parity: list[list[int]], seed: int, rounds: int = 150000) -> list[Cell]:
    """A cheap path over all products: a snake, improved by moving stretches, either way round (simulated annealing)."""
    rng = random.Random(seed)
    rows, columns = len(parity), len(parity[0])
    cost = {
        (p, c): entry_cost(p, c, parity)
        for c in ((i, j) for i in range(rows) for j in range(columns))
        for p in (None, *((i, j) for i in range(rows) for j in range(columns)))
    }
    path: list[Cell | None] = [None]
    path += [(i, j if i % 2 == 0 else columns - 1 - j) for i in range(rows) for j in range(columns)]
    total = sum(cost[p, c] for p, c in itertools.pairwise(path))
    best, best_total = path, total
    last = len(path)
    for step in range(rounds):
        heat = 0.8 * (1 - step / rounds) + 0.02
        x = rng.randrange(1, last)
        y = min(last, x + rng.choice((1, 1, 2, 3, 4, 8, 16)))
        piece = path[x:y]
        rest = path[:x] + path[y:]
        z = rng.randrange(1, len(rest) + 1)
        if rng.random() < 0.3:
            piece = piece[::-1]
        candidate = rest[:z] + piece + rest[z:]
        low, high = min(x, z), min(last, max(y, z + len(piece)) + 1)
        change = sum(cost[candidate[n - 1], candidate[n]] - cost[path[n - 1], path[n]] for n in range(low, high))
        if change <= 0 or rng.random() < 2.718 ** (-change / heat):
            path, total = candidate, total + change
            if total < best_total:
                best, best_total = path, total
                if best_total <= 1:  # the first product of a step always reads three registers
                    break
    return [cell for cell in best if cell is not None]


def control(stall: int, write: int = NO_BARRIER, wait: int = 0, reuse: int = 0) -> int:
    """Scheduling bits of an instruction, at their place in the upper 64-bit word; stalls from 12 on must yield."""
    return (stall | (stall < 12) << 4 | write << 5 | NO_BARRIER << 8 | wait << 11 | reuse << 17) << 41


def encode_ffma(d: int, a: int, b: int, ctl: int) -> bytes:
    """FFMA Rd, Ra, Rb, Rd."""
    return struct.pack("<QQ", FFMA | d << 16 | a << 24 | b << 32, d | ctl)


def encode_lds(d: int, base: int, offset: int, ctl: int) -> bytes:
    """LDS.128 Rd, [Rbase+offset]."""
    return struct.pack("<QQ", LDS128 | d << 16 | base << 24 | offset << 40, 0xC00 | ctl)


def accesses(ins: Instruction) -> tuple[set[int], set[int]]:
    """Registers an instruction may read, and those it writes in full if its guard holds; errs towards reading more."""
    operands = [o.strip() for o in ins.operands.split(",")]
    while operands and re.fullmatch(r"!?U?P\w+", operands[0]):
        operands.pop(0)
    no_result = (
        "ISETP",
        "FSETP",
        "PLOP3",
        "ST",
        "RED",
        "SYNCS",
        "R2UR",
        "UTMA",
        "BRA",
        "EXIT",
        "BS",
        "MEMBAR",
        "FENCE",
    )
    result = operands.pop(0) if operands and not ins.opcode.startswith(no_result) else ""
    wide = 4 if ".128" in ins.opcode else 2 if re.search(r"\.64|WIDE|CS2R", ins.opcode) else 1
    memory = (
        re.match(r"LDG|STG|ATOM|RED|LD\.|ST\.|CCTL", ins.opcode) is not None
    )  # 64-bit addresses, with or without suffix
    reads: set[int] = set()
    for place, operand in enumerate(operands):
        stored = wide if ins.opcode.startswith("ST") and "[" not in operand else 1
        addend = 2 if "WIDE" in ins.opcode and place == len(operands) - 1 else 1
        address = 2 if ".64" in operand or (memory and "[" in operand) else 1
        other = wide if not re.match(r"LD|ST|SYNCS|.*WIDE", ins.opcode) else 1
        reads |= {
            r + e for r in map(int, REGISTERS.findall(operand)) for e in range(max(stored, addend, address, other))
        }
    match = re.fullmatch(r"R(\d+)", result)
    writes = set(range(int(match[1]), int(match[1]) + wide)) if match else set()
    if not match:
        reads |= set(map(int, REGISTERS.findall(result)))
    return reads, writes


def live_registers(code: list[Instruction]) -> list[set[int]]:
    """Registers live before each instruction, by backward data flow over the control flow; one more set at the end.

    A BSYNC goes on behind itself (that is where its BSSY points, which is checked).
    """
    index = {ins.address: n for n, ins in enumerate(code)}

    def target(ins: Instruction) -> int | None:
        found = re.findall(r"0x([0-9a-f]+)", ins.operands) if ins.opcode.startswith(("BRA", "BSSY")) else []
        return index[int(found[-1], 16)] if found else None

    for ins in code:
        if ins.opcode.startswith("CALL"):
            raise ReorderError("a call, whose results are not known here")
        if ins.opcode == "BSSY" and (t := target(ins)) is not None and code[t - 1].opcode != "BSYNC":
            raise ReorderError("a BSSY whose target does not follow its BSYNC")
    # A register is live for everyone, (r, ""), or only where a predicate holds, (r, "@P0"), until that is set anew.
    flow = [accesses(i) for i in code]
    live: list[set[tuple[int, str]]] = [set() for _ in range(len(code) + 1)]
    changed = True
    while changed:
        changed = False
        for n in range(len(code) - 1, -1, -1):
            ins = code[n]
            after: set[tuple[int, str]] = set()
            if ins.guard or ins.opcode not in ("EXIT", "BRA"):
                after |= live[n + 1]
            goal = target(ins) if ins.opcode.startswith("BRA") else None
            if goal is not None:
                after |= live[goal]
            set_anew = {o.strip() for o in ins.operands.split(",")[:3] if re.fullmatch(r"U?P\d", o.strip())}
            after = {(r, "" if g.lstrip("@!") in set_anew else g) for r, g in after}
            reads, writes = flow[n]
            after = {(r, g) for r, g in after if r not in writes or (ins.guard and g != ins.guard)}
            before = after | {(r, ins.guard) for r in reads}
            if before != live[n]:
                live[n] = before
                changed = True
    return [{r for r, _ in one} for one in live]


def free_registers(code: list[Instruction], first: int, last: int, taken: set[int], allotted: int) -> list[int]:
    """Registers of the kernel's allotment that hold nothing needed at the body's start or behind its end."""
    live = live_registers(code)
    busy = live[first] | live[last + 1] | taken
    return [r for r in range(allotted) if r not in busy and r != 1]  # R1 is the stack's


def reorder(cubin: Path, function: str, rows: int = 8, columns: int = 16, groups: tuple[int, ...] = (0,)) -> str:
    """Rewrites the loop body of `function` in place and returns a line that says what changed.

    Args:
        cubin: The file; rewritten only after the result was verified.
        function: The kernel.
        rows: Outputs of a lane along M.
        columns: Outputs of a lane along N.
        groups: Before which products of a step its loads are issued; the loads are shared out evenly.

    Raises:
        ReorderError: If the loop is not understood or the verification fails.
    """
    raw = bytearray(cubin.read_bytes())
    offset = text_offset(bytes(raw), function)
    allotted = registers_allotted(cubin, function)
    code = disassemble(cubin, function)
    first, last = find_body(code)
    body = code[first : last + 1]
    plan = understand(body, rows, columns)
    fixed = {r for row in plan.acc for r in row} | set(plan.entry_a) | set(plan.entry_b)
    kept = {r for n in plan.others for r in accesses(body[n])[1] or map(int, REGISTERS.findall(body[n].operands))}
    lost = {r for ins in body for r in accesses(ins)[1]} & live_registers(code)[last + 1] - fixed - kept
    if lost:
        raise ReorderError(f"registers {sorted(lost)} are needed behind the body and would not be made")
    free = free_registers(code, first, last, fixed, allotted)
    starts = [q for q in range(0, 256, 4) if all(q + e in free for e in range(4))]
    need = (rows + columns) // 4
    if len(starts) < need:
        raise ReorderError(
            f"{len(starts)} free quads, {need} needed (of {len(free)} free registers, {allotted} allotted)"
        )
    second = starts[-need:]
    singles = [r for r in free if not any(q <= r < q + 4 for q in second)]
    used = {p for a, b in plan.loads for p, _ in (*a, *b)}
    pointers = sorted(used, key=lambda p: plan.addresses.get(p, -1))  # in ptxas's order: what is ready last comes last
    if len(singles) < len(pointers):
        raise ReorderError(f"{len(singles)} free registers for {len(pointers)} addresses")
    base = dict(zip(pointers, singles, strict=False))
    breaks = set(groups)
    parity = [[r % 2 for r in row] for row in plan.acc]
    path = min((find_path(parity, seed) for seed in range(2)), key=lambda p: path_cost(p, parity, breaks))
    extra = path_cost(path, parity, breaks)

    words: list[bytes] = []
    for pointer in pointers:  # LEA with another destination; the first waits for every load that is still under way
        index = plan.addresses.get(pointer)
        if index is None:
            raise ReorderError(f"address {pointer} is not made in the body")
        low, high = struct.unpack_from("<QQ", raw, offset + body[index].address)
        low = low & ~(0xFF << 16) | base[pointer] << 16
        high = high & ~(0x1FFFFF << 41) | control(10 if pointer == pointers[-1] else 3, wait=0x3F if not words else 0)
        words.append(struct.pack("<QQ", low, high))
    sources = {r for index in plan.addresses.values() for r in accesses(body[index])[0]}
    for index in plan.others:  # counters and predicates for the code behind: early, where they delay nothing
        if sources & accesses(body[index])[1]:
            raise ReorderError(f"{body[index].opcode} {body[index].operands} makes part of an address")
        low, high = struct.unpack_from("<QQ", raw, offset + body[index].address)
        if body[index].opcode == "BSSY":  # its target is relative to where it stands
            low += (body[index].address - body[0].address - 16 * len(words)) << 32
        stall = 13 if body[index].opcode.startswith(("ISETP", "PLOP3")) else 5
        words.append(struct.pack("<QQ", low, high & ~(0x1FFFFF << 41) | control(stall)))
    sets = [(plan.entry_a, plan.entry_b)]
    flat = [q + e for q in second for e in range(4)]
    sets.append((flat[:rows], flat[rows:]))
    for step in range(plan.steps):
        a, b = sets[step % 2]
        next_a, next_b = sets[(step + 1) % 2]
        a_quads, b_quads = plan.loads[step]
        loads = [(next_b[4 * q], *quad) for q, quad in enumerate(b_quads)] + [
            (next_a[4 * q], *quad) for q, quad in enumerate(a_quads)
        ]
        share = -(-len(loads) // len(groups))
        for n, (i, j) in enumerate(path):
            if n in breaks:
                for d, pointer, at in loads[:share]:
                    words.append(encode_lds(d, base[pointer], at, control(1, write=step % 2)))
                loads = loads[share:]
            follows = path[n + 1] if n + 1 < len(path) and n + 1 not in breaks else (-1, -1)
            keep = (follows[0] == i) | (follows[1] == j) << 1
            wait = 1 << (step - 1) % 2 if n == 0 and step else 0
            if (step, n) == (plan.steps - 1, len(path) - 1):
                # The code behind may overwrite the loads' addresses and read the sums: let both be done.
                ctl = control(6, wait=wait | 1 << step % 2)
            else:
                ctl = control(1, wait=wait, reuse=keep)
            words.append(encode_ffma(plan.acc[i][j], a[i], b[j], ctl))
    room = len(body) - len(words)
    if room < 0:
        raise ReorderError(f"the new body is {-room} instructions too long")
    nop = struct.pack("<QQ", 0x7918, control(1))
    words += [nop] * room
    new = b"".join(words)
    begin = offset + body[0].address
    raw[begin : begin + len(new)] = new

    trial = cubin.with_name(f"{cubin.stem}-reordered.cubin")
    trial.write_bytes(raw)
    verify(body, disassemble(trial, function)[first : last + 1], plan)
    trial.replace(cubin)
    return f"{len(body)} instructions, {room} NOPs, {extra} extra cycles per step of {rows * columns}"


def verify(old: list[Instruction], new: list[Instruction], plan: Body) -> None:
    """Compares what both bodies leave in every register that is live behind them.

    Instructions that are neither FFMA, LDS nor address arithmetic must all be there, in order, with their targets.

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
    kept = [(i.guard, i.opcode, i.operands) for i in new if (i.guard, i.opcode, i.operands) in others]
    if kept != others:
        raise ReorderError(f"of {others} only {kept} are left")


def reorder_cubin(cubin: Path, function: str, groups: tuple[int, ...]) -> str:
    """The build's entry.

    Raises:
        RuntimeError: In the build's terms.
    """
    try:
        return reorder(cubin, function, groups=groups)
    except (ReorderError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"{cubin.name}: not reordered: {error}") from error


def main() -> None:
    """Reorders one cubin in place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubin", type=Path)
    parser.add_argument("function")
    args = parser.parse_args()
    print(reorder(args.cubin, args.function))


if __name__ == "__main__":
    main()
