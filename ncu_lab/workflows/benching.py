"""Times stages beside their references, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_lab.errors import UsageError
from ncu_lab.gpu.devices import current_device
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.session import run_target
from ncu_lab.model import TIMING_COLUMNS, Device, Notice, Problem, Reporter, silent
from ncu_lab.render.numbers import duration_spread, flop_rate, share
from ncu_lab.workflows.building import build_stages

if TYPE_CHECKING:
    import pandas as pd

TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Bench:
    """What timing gave: the samples, the device, and how far the references' precision is proven."""

    timings: pd.DataFrame
    device: Device
    notices: tuple[Notice, ...] = ()


def bench_stages(ids: Sequence[str], problem: Problem, samples: int = 10, *, report: Reporter = silent) -> pd.DataFrame:
    """Time stages and their references; see :func:`time_stages`.

    Returns:
        One row per sample, columns as in ``TIMING_COLUMNS``.
    """
    return time_stages(ids, problem, samples, report=report).timings


def time_stages(
    ids: Sequence[str],
    problem: Problem,
    samples: int = 10,
    *,
    report: Reporter = silent,
    timeout_s: float = TIMEOUT_S,
) -> Bench:
    """Time stages, each interleaved with its reference and alone, and the references alone.

    Builds the stages where the cache has none; adds the references of the stages.

    Args:
        ids: Stage ids.
        problem: What every stage computes.
        samples: Samples of each stage in each of the two modes.
        report: Told of each stage.
        timeout_s: Seconds for all of them together.

    Raises:
        UsageError: When a stage is unknown, or the problem does not fit the GPU.
        EnvironmentLacksError: When there is no GPU, cupy or compiler.
        CheckFailedError: When a reference did not run in the precision it stands for.
        ProgramError: When a kernel crashes or hangs.
    """
    import pandas as pd

    if samples < 1:
        raise UsageError(f"--samples {samples} is too small", "Take at least 5, better 10.")
    registry = load_stages()
    asked = {find_stage(registry, id).id for id in ids}
    asked |= {reference for id in asked if (reference := registry[id].reference) is not None}
    stages = [stage for stage in registry.values() if stage.id in asked]
    device = current_device()
    builds = build_stages([stage.id for stage in stages])
    request = TargetRequest("bench", problem, subjects_of(stages, builds), samples=samples)

    def describe(_: str, data: dict[str, Any]) -> str:
        return describe_timing(data, registry[data["reference"]].title if data["reference"] else None)

    result = run_target(request, timeout_s=timeout_s, report=report, describe=describe)
    frame = pd.DataFrame(result["samples"], columns=list(TIMING_COLUMNS)).astype(dict(TIMING_COLUMNS))
    notices = [
        Notice("reference_unverified", f"{id}: its precision was not proven by its kernel's name: {found['why']}")
        for id, found in result["references"].items()
        if not found["verified"]
    ]
    return Bench(frame, device, tuple(notices))


def describe_timing(data: dict[str, Any], reference: str | None) -> str:
    """Say in one line how fast a stage is: ``767 µs ± 1 (n = 20)  22.4 TFLOP/s  45 % of cuBLAS FP32``."""
    words = (
        f"{duration_spread(data['median_ns'], data['spread_ns'])} (n = {data['n']})  {flop_rate(data['flop_per_s'])}"
    )
    if reference is None or data["share_of_reference"] is None:
        return words
    return f"{words}  {share(data['share_of_reference'])} of {reference}"
