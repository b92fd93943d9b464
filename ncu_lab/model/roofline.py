"""The roofline: roofs, the launches below them, and the peaks that a GPU was measured to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Family = Literal["fp32", "fp64", "tensor"]
"""What shares a chart: launches of one kind of arithmetic unit, as their compute roofs are of one order."""

FAMILIES: tuple[Family, ...] = ("fp32", "tensor", "fp64")

RoofKind = Literal["memory", "compute"]
ROOF_UNITS: Mapping[RoofKind, str] = {"memory": "byte/s", "compute": "FLOP/s"}


@dataclass(frozen=True, slots=True)
class Roof:
    """One roof: the bandwidth of a memory level, or the most operations a second in one precision.

    Attributes:
        level: ``l1``, ``shared``, ``l2``, ``dram``, or a precision: ``fp32``, ``fp64``, ``fp16``, ``tf32``; with an
            instruction behind (``fp16_hmma``) for the lower peak of what a launch used.
        label: For people.
        per_second: Bytes or operations.
        kind: Which of the two.
    """

    level: str
    label: str
    per_second: float
    kind: RoofKind = "memory"

    @property
    def unit(self) -> str:
        """Unit of ``per_second``."""
        return ROOF_UNITS[self.kind]


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """Where one launch stands against one memory level.

    Attributes:
        stage: Stage id, or the short name of a foreign kernel.
        level: The memory level whose bytes count.
        intensity: Operations per byte.
        flop_per_s: Operations a second.
        share_of_roof: 0 to 1, of the lower of the two roofs above it: the level's, and that of the arithmetic it did.
        precision: The precision of most of its work.
        bound: Level of that lower roof: a memory level, the precision, or, where the launch used an instruction with a
            lower peak alone, that (``fp16_hmma``).
    """

    stage: str
    level: str
    intensity: float
    flop_per_s: float
    share_of_roof: float
    precision: str = "fp32"
    bound: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredPeak:
    """What a microbenchmark of ours reached on the GPU of a run, unprofiled.

    Attributes:
        key: ``dram_copy``, ``dram_read``, ``l2_read``, ``shared_read``, ``fp32_fma``, ``fp16_mma``.
        level: The roof it belongs to, as :class:`Roof` has it.
        label: For people.
        kind: Bandwidth or arithmetic.
        samples: Bytes or operations a second, in the order they were taken.
        work: Bytes or operations of one sample.
        sm_clock_hz: Median SM clock after the samples; None where NVML does not tell.
    """

    key: str
    level: str
    label: str
    kind: RoofKind
    samples: tuple[float, ...]
    work: float
    sm_clock_hz: float | None = None

    @property
    def per_second(self) -> float:
        """The best sample: what disturbs a measurement only ever makes it slower."""
        return max(self.samples)

    @property
    def unit(self) -> str:
        """Unit of ``per_second``."""
        return ROOF_UNITS[self.kind]


@dataclass(frozen=True, slots=True)
class Roofline:
    """One chart: launches of one family on one GPU, under the roofs of these launches.

    Attributes:
        family: What shares it.
        roofs: Memory levels first; each the median of the launches, as clocks differ a little.
        points: One per launch and level.
        label: Which run or GPU, where several charts are drawn over each other.
        measured: Peaks measured on the GPU, those of this family and of its memory.
    """

    family: Family
    roofs: tuple[Roof, ...]
    points: tuple[RooflinePoint, ...]
    label: str = ""
    measured: tuple[MeasuredPeak, ...] = ()

    def roof(self, level: str) -> Roof | None:
        """Return the roof of a level."""
        return next((roof for roof in self.roofs if roof.level == level), None)
