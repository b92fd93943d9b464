"""What ``bench --save`` keeps: one file of the folder ``bench`` in a store, of one problem on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ncu_lab.model.roofline import MeasuredPeak
from ncu_lab.model.runs import SCHEMA, Device, Environment, Notice
from ncu_lab.model.stages import Problem, TimingSample, Variant


@dataclass(frozen=True, slots=True)
class ReferenceTrial:
    """One way of the library to compute what a reference stands for, tried before the fastest was chosen.

    Attributes:
        reference: The reference's stage id.
        way: Which call of the library.
        kernels: Names of the kernels that it launched, which prove its precision.
        median_ns: Its median time by itself; None where it was not timed.
        refused: Why it does not count; empty where it does.
        chosen: Whether it stands for the reference in the samples.
        process: The process that tried it.
    """

    reference: str
    way: str
    kernels: tuple[str, ...] = ()
    median_ns: float | None = None
    refused: str = ""
    chosen: bool = False
    process: int = 0


@dataclass(frozen=True, slots=True)
class BenchRecord:
    """The samples of stages and their references at one problem, and all that they depend on.

    Attributes:
        created: ISO 8601, UTC.
        problem: What every stage computed.
        device: The GPU.
        environment: Driver, CUDA, compiler.
        commit: Of the kernels; None outside git.
        dirty: Whether the kernels differed from that commit.
        stages: Stage ids in the ladder's order, references included.
        samples: Every sample of every process, with clock, power and temperature where NVML told them.
        variants: Stage id -> which of its paths served the problem (``fast``, ``guarded``, ``library``).
        trials: What each way of the library gave, where the fastest was searched for.
        peaks: What the GPU was measured to reach just before.
        notices: What weakens the figures.
        command: Command line.
        schema: Version of the file.
    """

    created: str
    problem: Problem
    device: Device
    environment: Environment
    commit: str | None
    dirty: bool
    stages: tuple[str, ...]
    samples: tuple[TimingSample, ...]
    variants: Mapping[str, Variant] = field(default_factory=dict)
    trials: tuple[ReferenceTrial, ...] = ()
    peaks: tuple[MeasuredPeak, ...] = ()
    notices: tuple[Notice, ...] = ()
    command: tuple[str, ...] = ()
    schema: int = SCHEMA
