"""The search for the tile sizes that suit a GPU: what may be tried, what was, and what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ncu_lab.model.runs import SCHEMA
from ncu_lab.model.search_space import Tile
from ncu_lab.model.stages import Problem

Outcome = Literal["rejected", "not_compiled", "wrong", "crashed", "outpaced", "finalist", "best", "untried"]
"""What became of a candidate: refused by a rule before compiling; by the compiler; by the check; by the GPU; left
behind in a rung; in the last rung; its winner; or not reached yet."""


def shape_class(problem: Problem) -> str:
    """Return which problems share a best tile: m, n and k, each as its nearest power of two (``m4096-n4096-k64``).

    What a tile gains goes by how many tiles there are for the SMs and how long K is, roughly.
    """
    sizes = (("m", problem.m), ("n", problem.n), ("k", problem.k))
    return "-".join(f"{name}{2 ** round(math.log2(max(1, size)))}" for name, size in sizes)


@dataclass(frozen=True, slots=True)
class Rung:
    """One round of a search: all who are in it are timed in turns, the faster part goes on.

    Attributes:
        entrants: Labels of the candidates, in the order of the space.
        samples: Timed calls of each.
        survivors: How many go on to the next rung.
    """

    entrants: tuple[str, ...]
    samples: int
    survivors: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tile of a search.

    Attributes:
        label: Its sizes in one word, ``BM128-BN128-BK16-TM8-TN8``.
        tile: All of its sizes.
        outcome: What became of it.
        why: Words for an outcome that is no success.
        registers: Registers a thread; None where it was not compiled.
        spill_bytes: Bytes of spill loads and stores a thread.
        shared_bytes: Shared memory a block.
        blocks_per_sm: Blocks that an SM holds at once.
        occupancy: Warps of these over those that an SM can hold, 0 to 1.
        samples_ns: Its times in each rung it was in.
    """

    label: str
    tile: Tile
    outcome: Outcome = "untried"
    why: str = ""
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    blocks_per_sm: int | None = None
    occupancy: float | None = None
    samples_ns: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """A search, whole: one file of the folder ``tuning`` in a store.

    Attributes:
        stage: Whose tile was searched.
        device: Model of the GPU, as the driver calls it.
        problem: What was computed.
        shape_class: Which problems the result is for.
        created: When it began; ISO 8601, UTC.
        key: Digest of all that its figures depend on beside the clock: sources, space, compiler, driver.
        default: Label of the registered tile, which every rung has as its control.
        candidates: All tiles of the space, rejected ones included.
        rungs: The rungs that were finished.
        best: Label of the winner; None where the search is unfinished.
        left_out: Tiles that the budget left untried.
        budget: Tiles that could be compiled at most; None where there was no limit.
        driver: Version of the driver.
        nvcc: Version of the compiler.
        schema: Version of the file.
    """

    stage: str
    device: str
    problem: Problem
    shape_class: str
    created: str
    key: str
    default: str
    candidates: tuple[Candidate, ...] = ()
    rungs: tuple[Rung, ...] = ()
    best: str | None = None
    left_out: int = 0
    budget: int | None = None
    driver: str | None = None
    nvcc: str | None = None
    schema: int = SCHEMA

    def candidate(self, label: str) -> Candidate:
        """Return a candidate by its label.

        Raises:
            KeyError: When there is none.
        """
        for one in self.candidates:
            if one.label == label:
                return one
        raise KeyError(label)

    @property
    def winner(self) -> Candidate | None:
        """The best candidate; None where the search is unfinished."""
        return None if self.best is None else self.candidate(self.best)
