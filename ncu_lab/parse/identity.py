"""Who ran, on what: the launches table and the device, however a file tells them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_lab.metrics import DEVICE_PREFIX, METRICS, Lookup
from ncu_lab.model import LAUNCH_COLUMNS, Device, table

if TYPE_CHECKING:
    import pandas as pd

STAGE_RANGE = "ncu-lab/"
"""NVTX ranges of this prefix name the stage of the launches inside them."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies one result; the fields are those of ``LAUNCH_COLUMNS``."""

    kernel: str
    function: str
    mangled: str | None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: str | None
    context: str | None
    process: str | None
    device: str | None
    nvtx: tuple[str, ...]
    workload: str

    @property
    def stage(self) -> str | None:
        """The stage that the innermost ``ncu-lab/<stage>`` range names."""
        stages = [path.removeprefix(STAGE_RANGE) for path in self.nvtx if path.startswith(STAGE_RANGE)]
        return stages[-1] if stages else None


def launches_table(identities: Sequence[Identity], lookups: Sequence[Lookup]) -> pd.DataFrame:
    """Number the launches and tell the main kernel of a stage from its helpers.

    Args:
        identities: One per result, in the order of the file.
        lookups: Value of a metric by name, for each result; only the duration is asked for.

    Returns:
        A table of ``LAUNCH_COLUMNS``. ``execution`` counts the launches of the same kernel (and stage) in one process.
        ``role`` is ``auxiliary`` for the kernels of a stage that together took less time than its main one.
    """
    duration = METRICS["duration_ns"].counters[0]
    return number_launches(identities, [duration.read(lookup)[0] for lookup in lookups])


def number_launches(identities: Sequence[Identity], durations: Sequence[float | None]) -> pd.DataFrame:
    """Do as :func:`launches_table`, of the nanoseconds each launch took, None where they were not collected."""
    executions: dict[tuple[object, ...], int] = defaultdict(int)
    counts = []
    for one in identities:
        counts.append(executions[one.process, one.stage, one.kernel])
        executions[one.process, one.stage, one.kernel] += 1
    main = _main_kernels(identities, durations)
    columns: dict[str, list[object]] = {name: [getattr(i, name, None) for i in identities] for name in LAUNCH_COLUMNS}
    for axis, letter in enumerate("xyz"):
        columns[f"grid_{letter}"] = [one.grid[axis] for one in identities]
        columns[f"block_{letter}"] = [one.block[axis] for one in identities]
    columns["launch"] = list(range(len(identities)))
    columns["nvtx"] = [list(one.nvtx) for one in identities]
    columns["execution"] = list(counts)
    columns["role"] = [
        "main" if one.stage is None or one.kernel == main[one.stage] else "auxiliary" for one in identities
    ]
    return table(LAUNCH_COLUMNS, columns)


def _main_kernels(identities: Sequence[Identity], durations: Sequence[float | None]) -> dict[str, str]:
    """Return stage -> the kernel on which it spent most time; the first one where no durations were collected."""
    spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one, duration in zip(identities, durations, strict=True):
        if one.stage is not None:
            spent[one.stage][one.kernel] += duration or 0.0
    return {stage: max(kernels, key=lambda name: kernels[name]) for stage, kernels in spent.items()}


def device_from(metrics: Mapping[str, float | str]) -> Device | None:
    """Describe the GPU from the metrics of one launch: name -> number or word.

    Returns:
        The device; None when the file holds no device attributes.
    """
    attributes = {
        name.removeprefix(DEVICE_PREFIX): value
        for name, value in metrics.items()
        if name.startswith(DEVICE_PREFIX) and not (isinstance(value, float) and math.isnan(value))
    }
    if not attributes:
        return None

    def number(key: str) -> float | None:
        value = attributes.get(key)
        return value if isinstance(value, float) else None

    def whole(key: str) -> int | None:
        value = number(key)
        return None if value is None else int(value)

    major, minor = whole("compute_capability_major"), whole("compute_capability_minor")
    khz = number("max_gpu_frequency_khz") or number("clock_rate")
    return Device(
        name=str(attributes.get("display_name", "unknown GPU")),
        compute_capability=None if major is None or minor is None else (major, minor),
        sm_count=whole("multiprocessor_count"),
        memory_bytes=whole("total_memory"),
        l2_bytes=whole("l2_cache_size"),
        max_sm_clock_hz=None if khz is None else khz * 1e3,
        attributes=attributes,
    )


def short_name(kernel: str) -> str:
    """Return the bare function name of a demangled one: no return type, namespaces, templates or parameters."""
    name, depth = "", 0
    for letter in kernel:
        if letter in "<([":
            if letter != "<" and depth == 0 and name and not name.endswith("::"):
                break
            depth += 1
        elif letter in ">)]":
            depth -= 1
        elif depth == 0:
            name += letter
    return re.split(r"::|\s", name.strip())[-1] or kernel
