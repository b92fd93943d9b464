"""What a stage is expected to show, and what came of it on the hardware at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics import METRICS

Relation = Literal["at_most", "at_least", "between", "near"]
Origin = Literal["post", "guide", "theory"]
ExpectationStatus = Literal["met", "missed", "not_collected"]

ORIGINS: dict[Origin, str] = {
    "post": "Simon Boehm, worklog of 31 December 2022, on an RTX A6000",
    "guide": "NVIDIA, CUDA C++ Best Practices Guide, on a Tesla V100",
    "theory": "worked out from the kernel and the hardware",
}
"""Where an expectation is from -> in words."""

STALL, BUILD, SASS = "stall:", "build:", "sass:"
"""What begins the key of a wait's share of all warp-cycles, of a figure of the compiler, of a count of an opcode."""

TIMED_UNITS = {"step": "×", "pct_of_reference": "%", "gflops": "GFLOP/s"}
"""Keys that come from times, as in the ladder's own JSON -> unit."""

BUILD_UNITS = {
    "registers": "register/thread",
    "spill_store_bytes": "byte/thread",
    "spill_load_bytes": "byte/thread",
    "stack_bytes": "byte/thread",
    "shared_bytes": "byte/block",
}
"""Fields of :class:`~ncu_lab.model.StageBuild` that may follow ``build:`` -> unit."""

PER_INSTRUCTION = ("shared_load_wavefronts_over_ideal", "shared_store_wavefronts_over_ideal")
"""Catalogue keys that are read from the counters per instruction where these were collected, else from the hardware."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that a stage should show, declared in ``kernels/stages.toml``.

    Attributes:
        key: A catalogue key, ``step``, ``pct_of_reference``, ``gflops``, ``stall:<reason>`` (share of warp-cycles, 0 to
            1), ``build:<field>`` or ``sass:<opcode>``.
        relation: How the bounds were declared.
        low: Least value that meets it; None for no such.
        high: Largest value that meets it; None for no such.
        source: Where it is from.
        derivation: One sentence with the arithmetic.
        near: For ``near``: the value expected; ``low`` and ``high`` are this, less and plus the tolerance.
        within: For ``near``: the tolerance, as a share of the value.
        against: The stage that the quantity is divided by that of; None where it stands alone.
        min_size: Least m, n and k of a problem that can show it.
        kernel: The main kernel that shows it, of a stage whose plan chooses among several; empty for any.
        per_instruction: Whether only counters per instruction can show it, and not those of the hardware that stand in
            where the former are absent: these count arbitration too.
    """

    key: str
    relation: Relation
    low: float | None
    high: float | None
    source: Origin
    derivation: str
    near: float | None = None
    within: float | None = None
    against: str | None = None
    min_size: int = 1
    per_instruction: bool = False
    kernel: str = ""

    @property
    def unit(self) -> str:
        """Unit of the bounds and of what is measured: ``share`` for stalls, ``×`` for a quotient, empty for a ratio."""
        if self.against is not None:
            return "×"
        if self.key.startswith(STALL):
            return "share"
        if self.key.startswith(BUILD):
            return BUILD_UNITS[self.key.removeprefix(BUILD)]
        if self.key.startswith(SASS):
            return "inst"
        return TIMED_UNITS[self.key] if self.key in TIMED_UNITS else METRICS[self.key].unit


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one expectation.

    Attributes:
        expectation: What was expected.
        status: ``not_collected`` whenever the measurements cannot tell.
        measured: The value, in the unit of the expectation; None when it was not collected.
        margin: Distance to the nearer bound in that unit: at least 0 when met, below when missed; None likewise.
        lacks: What would tell, in a few words; empty unless it was not collected.
    """

    expectation: Expectation
    status: ExpectationStatus
    measured: float | None = None
    margin: float | None = None
    lacks: str = ""
