"""Which kernels of two runs are the same one, or what became of it, and how sure that is.

| what agrees | status | confidence |
|---|---|---|
| the user says so | matched | 1 |
| stage (else all below) | matched; renamed where its main kernel has another name | 1; 0.95 |
| NVTX path, name with template arguments, launch shape | matched | 1 |
| NVTX path and name; the shape is the most alike | matched | 0.9 |
| name, elsewhere in the program | matched | 0.85 |
| NVTX path and name without template arguments | renamed | 0.8 |
| NVTX path, of whose kernels one is left here and several there | split, merged | 0.7 |
| enough of name, code, registers, shape, path and place | renamed | the likeness, below 0.7 |

Launches of one kernel are samples of it: they stay together, however often it ran.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from ncu_lab.analyze.ladder import typical_launch
from ncu_lab.model import LaunchSummary
from ncu_lab.model.comparison import MatchedBy, Pair, PairStatus

_CAST = re.compile(r"\((?:[a-z]+ )*[a-z]+\)(?=-?\d)")
"""The type of a template argument that is a number: ``(int)`` of ``f<(int)32>``."""

LEAST_LIKENESS = 0.55
"""Kernels less alike are not taken for one: such a change is as well told as one removed and one added."""

MOST_BY_LIKENESS = 0.7


@dataclass(frozen=True, slots=True)
class Code:
    """The machine code of a launch: hash of its text, and opcode -> count; empty where they are not known."""

    hash: str | None = None
    mix: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Kernel:
    """Launches that are samples of one kernel, or of one stage."""

    place: int
    launches: tuple[LaunchSummary, ...]
    code_of: CodeOf

    @cached_property
    def code(self) -> Code | None:
        return self.code_of(self.main)

    @property
    def first(self) -> LaunchSummary:
        return self.launches[0]

    @property
    def main(self) -> LaunchSummary:
        return typical_launch(self.launches) or self.first

    @property
    def shape(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.first.grid, self.first.block


CodeOf = Callable[[LaunchSummary], Code | None]
"""Tells the code of a launch; asked only where names do not tell which kernel became which."""


def no_code(launch: LaunchSummary) -> Code | None:
    """Tell of no launch what its code is."""
    return None


def pair_kernels(
    a: Sequence[LaunchSummary],
    b: Sequence[LaunchSummary],
    *,
    code_a: CodeOf = no_code,
    code_b: CodeOf = no_code,
    by_hand: Sequence[tuple[Collection[int], Collection[int]]] = (),
) -> list[Pair]:
    """Pair the kernels of two runs; see the module for the order in which it is tried.

    Args:
        a: Launches of A, in order.
        b: Launches of B, in order.
        code_a: Tells the code of A's launches.
        code_b: Likewise of B's.
        by_hand: What the user says belongs together: places in ``a``, places in ``b`` (from 0).

    Returns:
        Pairs in the order of B, then what only A has. Swapping A and B gives the same pairs.
    """
    found = [pair([a[i] for i in sorted(own_a)], [b[i] for i in sorted(own_b)], "choice") for own_a, own_b in by_hand]
    taken_a = {place for places, _ in by_hand for place in places}
    taken_b = {place for _, places in by_hand for place in places}
    left_a = _kernels([one for place, one in enumerate(a) if place not in taken_a], code_a)
    left_b = _kernels([one for place, one in enumerate(b) if place not in taken_b], code_b)
    for match in (_by_stage, _by_kernel, _by_shape, _by_name, _by_template, _by_path, _by_likeness):
        pairs, left_a, left_b = match(left_a, left_b)
        found += pairs
    found += [pair((), one.launches) for one in left_b]
    place_of = {id(one): place for place, one in enumerate(b)}
    found.sort(key=lambda one: min(place_of[id(launch)] for launch in one.launches_b))
    return found + [pair(one.launches, ()) for one in left_a]


def pair(
    a: Sequence[LaunchSummary],
    b: Sequence[LaunchSummary],
    by: MatchedBy | None = None,
    confidence: float = 1.0,
    status: PairStatus = "matched",
) -> Pair:
    """Make one pair of launches that belong together; either side may be empty."""
    both = bool(a and b)
    return Pair(
        status=status if both else "removed" if a else "added",
        matched_by=by if both else None,
        launches_a=tuple(a),
        launches_b=tuple(b),
        chosen_a=typical_launch(a),
        chosen_b=typical_launch(b),
        confidence=confidence if both else None,
    )


_Left = list[_Kernel]
_Step = tuple[list[Pair], _Left, _Left]


def _kernels(launches: Iterable[LaunchSummary], code: CodeOf) -> _Left:
    """Group launches by stage, else by NVTX path, name and shape, in the order of their first launch."""
    groups: dict[Hashable, list[LaunchSummary]] = {}
    for one in launches:
        groups.setdefault(one.stage or (one.nvtx, one.kernel, one.grid, one.block), []).append(one)
    return [_Kernel(place, tuple(group), code) for place, group in enumerate(groups.values())]


def _matched(a: _Left, b: _Left, key: Callable[[_Kernel], Hashable], make: Callable[[_Kernel, _Kernel], Pair]) -> _Step:
    """Pair kernels of one key; of several on a side the most alike first. Those whose key is None are left."""
    pairs: list[Pair] = []
    for value in dict.fromkeys(key(one) for one in b):
        if value is None:
            continue
        same_a, same_b = ([one for one in side if key(one) == value] for side in (a, b))
        for one_a, one_b, _ in _most_alike(same_a, same_b, least=0.0):
            pairs.append(make(one_a, one_b))
            a, b = _without(a, one_a), _without(b, one_b)
    return pairs, a, b


def _without(kernels: _Left, gone: _Kernel) -> _Left:
    return [one for one in kernels if one is not gone]


def _by_stage(a: _Left, b: _Left) -> _Step:
    return _matched(a, b, lambda one: one.first.stage, _stage_pair)


def _stage_pair(a: _Kernel, b: _Kernel) -> Pair:
    """Pair two states of a stage: all its launches are one, whatever its kernels are called."""
    if a.main.function == b.main.function:
        return pair(a.launches, b.launches, "stage")
    names_a, names_b = ({one.kernel for one in side.launches} for side in (a, b))
    if len(names_a) == len(names_b) or min(len(names_a), len(names_b)) > 1:
        return pair(a.launches, b.launches, "stage", 0.95, "renamed")
    return pair(a.launches, b.launches, "stage", 0.95, "split" if len(names_b) > 1 else "merged")


def _by_kernel(a: _Left, b: _Left) -> _Step:
    def key(one: _Kernel) -> Hashable:
        return (one.first.nvtx, full_name(one.first.kernel), one.shape) if one.first.stage is None else None

    return _matched(a, b, key, lambda x, y: pair(x.launches, y.launches, "kernel"))


def _by_shape(a: _Left, b: _Left) -> _Step:
    """Pair what has one name and path, and another launch shape."""

    def key(one: _Kernel) -> Hashable:
        return (one.first.nvtx, full_name(one.first.kernel)) if one.first.stage is None else None

    return _matched(a, b, key, lambda x, y: pair(x.launches, y.launches, "shape", 0.9))


def _by_name(a: _Left, b: _Left) -> _Step:
    """Pair what has one name, elsewhere in the program."""

    def key(one: _Kernel) -> Hashable:
        return full_name(one.first.kernel) if one.first.stage is None else None

    return _matched(a, b, key, lambda x, y: pair(x.launches, y.launches, "path", 0.85))


def _by_template(a: _Left, b: _Left) -> _Step:
    """Pair instances of one template."""

    def key(one: _Kernel) -> Hashable:
        return (one.first.nvtx, bare_name(one.first.kernel)) if one.first.stage is None else None

    return _matched(a, b, key, lambda x, y: pair(x.launches, y.launches, "template", 0.8, "renamed"))


def _by_path(a: _Left, b: _Left) -> _Step:
    """Pair one kernel with the several that take its place in an NVTX range."""
    pairs: list[Pair] = []
    for path in dict.fromkeys(one.first.nvtx for one in b if one.first.nvtx and one.first.stage is None):
        same_a, same_b = (
            [one for one in side if one.first.nvtx == path and one.first.stage is None] for side in (a, b)
        )
        if min(len(same_a), len(same_b)) != 1 or max(len(same_a), len(same_b)) < 2:
            continue
        launches_a, launches_b = ([launch for one in side for launch in one.launches] for side in (same_a, same_b))
        pairs.append(pair(launches_a, launches_b, "path", 0.7, "split" if len(same_a) == 1 else "merged"))
        a, b = [one for one in a if one not in same_a], [one for one in b if one not in same_b]
    return pairs, a, b


def _by_likeness(a: _Left, b: _Left) -> _Step:
    """Pair what is left and enough alike."""
    pairs = []
    for one_a, one_b, likeness in _most_alike(a, b, least=LEAST_LIKENESS):
        confidence = round(MOST_BY_LIKENESS * likeness, 2)
        pairs.append(pair(one_a.launches, one_b.launches, "similarity", confidence, "renamed"))
        a, b = _without(a, one_a), _without(b, one_b)
    return pairs, a, b


def _most_alike(a: _Left, b: _Left, least: float) -> list[tuple[_Kernel, _Kernel, float]]:
    """Choose pairs, the most alike first; among equals by their place, the same when A and B are swapped."""
    if len(a) == len(b) == 1 and least == 0.0:
        return [(a[0], b[0], 1.0)]
    scored = [(_likeness(x, y), x, y) for x in a for y in b]
    scored.sort(key=lambda one: (-one[0], abs(one[1].place - one[2].place), one[1].place + one[2].place))
    chosen: list[tuple[_Kernel, _Kernel, float]] = []
    used: set[int] = set()
    for likeness, x, y in scored:
        if likeness >= least and not used & {id(x), id(y)}:
            chosen.append((x, y, likeness))
            used |= {id(x), id(y)}
    return chosen


def _likeness(a: _Kernel, b: _Kernel) -> float:
    """Return how alike two kernels are (0 to 1): a weighted mean of what is known of both; the same when swapped."""
    known: list[tuple[float, float]] = [
        (3.0, _alike_names(a.first.function, b.first.function)),
        (1.0, float(a.first.grid == b.first.grid)),
        (1.0, float(a.first.block == b.first.block)),
        (0.5, 1.0 / (1.0 + abs(a.place - b.place))),
    ]
    if a.first.nvtx or b.first.nvtx:
        known.append((1.0, float(a.first.nvtx == b.first.nvtx)))
    registers = [one.main.value("registers_per_thread") for one in (a, b)]
    if registers[0] and registers[1]:
        known.append((1.0, max(0.0, 1.0 - abs(registers[0] - registers[1]) / 32.0)))
    if a.code is not None and b.code is not None:
        known.append((4.0, alike_code(a.code, b.code)))
    return math.fsum(weight * value for weight, value in known) / math.fsum(weight for weight, _ in known)


def _alike_names(a: str, b: str) -> float:
    low, high = sorted((a, b))  # the matcher is not symmetric by itself
    return SequenceMatcher(None, low, high, autojunk=False).ratio()


def alike_code(a: Code, b: Code) -> float:
    """Return how alike two machine codes are (0 to 1): 1 for one text, else what their opcodes share."""
    if a.hash is not None and a.hash == b.hash:
        return 1.0
    total = sum(a.mix.values()) + sum(b.mix.values())
    return 2.0 * (Counter(a.mix) & Counter(b.mix)).total() / total if total else 0.0


def full_name(kernel: str) -> str:
    """Return a demangled name as exports spell it: reports say ``f<(int)32>`` where those of CSV say ``f<32>``."""
    return _CAST.sub("", kernel)


def bare_name(kernel: str) -> str:
    """Return a demangled name without template arguments and parameters: ``void f<4>(int*)`` is ``void f``."""
    kept, depth = [], 0
    for place, character in enumerate(kernel):
        if character == "<" and not kernel.endswith("operator", 0, place):
            depth += 1
        elif character == ">" and depth and kernel[place - 1] != "-":
            depth -= 1
        elif character == "(" and not depth and not kernel.startswith("(anonymous", place):
            break
        elif not depth:
            kept.append(character)
    return "".join(kept).strip()
