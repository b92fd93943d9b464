"""What the unrolled body of an FP32 loop computes, read from its disassembly: symbolic execution and live registers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sass import Instruction

REGISTERS = re.compile(r"\bR(\d+)\b")
FFMA_TEXT = re.compile(r"R(\d+), R(\d+), R(\d+), R(\d+)")
LDS_TEXT = re.compile(r"R(\d+), \[R(\d+)(?:\+0x([0-9a-f]+))?\]")


class ReorderError(RuntimeError):
    """The loop does not have the shape this pass understands; the cubin is left as it was."""


@dataclass(frozen=True)
class Load:
    """A value loaded from shared memory: which pointer it came from, the byte offset and the component.

    A pointer is the register that held the address and what had written it in the body (empty: it came in).
    """

    pointer: tuple[int, str]
    offset: int
    component: int


def find_body(code: list[Instruction]) -> tuple[int, int]:
    """Index range [first, last] of the straight-line run of instructions with the most FFMAs."""
    breaks = ("BRA", "BSYNC", "EXIT", "WARPSYNC", "BAR", "SYNCS", "RET", "CALL", "NOP")
    jumps = [re.findall(r"0x([0-9a-f]+)", i.operands) for i in code if i.opcode.startswith(("BRA", "BSSY", "CALL"))]
    goals = {int(found[-1], 16) for found in jumps if found}
    best, start = (0, 0, 0), 0
    for index, ins in enumerate([*code, Instruction(0, "BRA", "")]):
        ends = ins.opcode.startswith(breaks)
        if ends or ins.address in goals:
            count = sum(i.opcode == "FFMA" for i in code[start:index])
            best = max(best, (count, start, index))
            start = index + ends
    count, start, stop = best
    if count < 256:
        raise ReorderError("no unrolled loop body")
    return start, stop - 1


def is_fragment_load(ins: Instruction) -> bool:
    """Whether this is an LDS.128 of four floats."""
    return ins.opcode == "LDS.128"


def execute(body: list[Instruction]) -> tuple[dict[int, object], dict[int, int]]:
    """Runs the body on symbols: the value of every register written, and for each chain the register it started in."""
    state: dict[int, object] = {}
    origin: dict[int, int] = {}
    made: dict[int, str] = {}  # registers written by anything else, and by what
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
                state[d + component] = Load((base, made.get(base, "")), offset, component)
                origin.pop(d + component, None)
        else:
            for register in accesses(ins)[1]:
                made[register] = f"{ins.opcode} {ins.operands.replace('.reuse', '')}"
                state[register] = made[register]
                origin.pop(register, None)
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
    loads: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]  # per step 1..steps: (A quads, B quads)
    others: list[int]  # indices of instructions that are neither FFMA nor LDS


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
    others = [i for i, ins in enumerate(body) if ins.opcode != "FFMA" and not is_fragment_load(ins)]
    return Body(acc, steps, entry_a, entry_b, entry_a, entry_b, loads, others)


def common(x: frozenset[object], y: frozenset[object]) -> object:
    """The one factor that two products share."""
    both = x & y
    if len(both) != 1:
        raise ReorderError("neighbouring products share no factor")
    return next(iter(both))


def quads(values: list[object]) -> list[tuple[int, int]]:
    """Groups loaded components into (address register, offset) quads; the order of components must be plain."""
    out = []
    for q in range(0, len(values), 4):
        four = values[q : q + 4]
        first = four[0]
        if not isinstance(first, Load) or four != [Load(first.pointer, first.offset, c) for c in range(4)]:
            raise ReorderError(f"fragment {four} is no plain quad")
        out.append((first.pointer[0], first.offset))
    return out


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
