"""Builds stages: every variant of each, several at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ncu_lab.errors import NcuLabError
from ncu_lab.gpu.compile import build_stage, capability, default_arch
from ncu_lab.gpu.cutlass_build import build_library, lacking
from ncu_lab.gpu.devices import present_arch
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.model import ProgressEvent, Reporter, Stage, StageBuild, silent
from ncu_lab.render.numbers import byte_count


def kernel_ids(arch: str | None = None) -> list[str]:
    """Return the ids of all stages that can be built, of those that ``arch`` can run where it is given.

    Raises:
        UsageError: When ``arch`` is no architecture.
    """
    return [
        stage.id
        for stage in load_stages().values()
        if not stage.is_reference and (arch is None or stage.runs_on(capability(arch)))
    ]


def build_stages(ids: Sequence[str], arch: str | None = None, *, report: Reporter = silent) -> list[StageBuild]:
    """Build stages, the fast variant of each and the guarded one where there is one.

    Of references those of CUTLASS are built, which takes half a minute the first time; the others are skipped.

    Args:
        ids: Stage ids.
        arch: ``sm_90`` and so on; that of the GPU present by default.
        report: Told of each stage.

    Returns:
        Builds in the order of ``ids``, fast before guarded.

    Raises:
        UsageError: When a stage is unknown or does not fit the architecture, or the compiler does not know that.
        InputError: When one does not compile; the first in the order of ``ids``.
        EnvironmentLacksError: When the compiler is missing.
    """
    registry = load_stages()
    stages = [stage for id in ids if (stage := find_stage(registry, id)).is_compiled]
    target = arch or default_arch()
    stop = threading.Event()
    with ThreadPoolExecutor(min(len(stages) or 1, os.cpu_count() or 1)) as pool, stopping(pool, stop):
        waiting = [(stage, pool.submit(build_variants, stage, registry, target, stop=stop)) for stage in stages]
        builds: list[StageBuild] = []
        for stage, future in waiting:
            report(ProgressEvent("build", stage.id, "start", target))
            try:
                made = future.result()
            except NcuLabError as error:
                report(ProgressEvent("build", stage.id, "failed", error.message))
                raise
            seconds = sum(build.seconds for build in made if not build.cached)
            report(ProgressEvent("build", stage.id, "done", describe_build(made[0]), seconds=seconds))
            builds += made
    return builds


def with_references(ids: Iterable[str], registry: Mapping[str, Stage], *, cutlass: bool = True) -> set[str]:
    """Return stages and what they are measured against: their reference, and CUTLASS's beside it where it can be had.

    Args:
        ids: Stage ids, all registered.
        registry: The stages.
        cutlass: Whether CUTLASS is added.
    """
    asked = set(ids)
    asked |= {reference for id in asked if (reference := registry[id].reference) is not None}
    if not cutlass:
        return asked
    arch = present_arch()
    beside = [stage for stage in registry.values() if stage.library_math == "cutlass" and stage.reference in asked]
    return asked | {stage.id for stage in beside if arch is not None and lacking(stage, arch) is None}


@contextmanager
def stopping(pool: ThreadPoolExecutor, stop: threading.Event) -> Iterator[None]:
    """However the block ends (an error, Ctrl-C), start nothing more and end the compilers that run."""
    try:
        yield
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def describe_build(build: StageBuild) -> str:
    """Say in one line what a build came to: ``sm_90   130 registers · 0 spills · 8.19 kB shared``."""
    spilled = build.spill_store_bytes + build.spill_load_bytes
    spills = byte_count(spilled) + " spilled" if spilled else "0 spills"
    cached = " · cached" if build.cached else ""
    return f"{build.arch}   {build.registers} registers · {spills} · {byte_count(build.shared_bytes)} shared{cached}"


def build_variants(
    stage: Stage,
    registry: Mapping[str, Stage],
    arch: str,
    *,
    kernels_dir: Path | None = None,
    stop: threading.Event | None = None,
) -> list[StageBuild]:
    """Build the fast path and the guarded one: the stage's own, or its fallback's under this stage's name.

    Args:
        stage: A kernel stage.
        registry: The stages among which its fallback is.
        arch: ``sm_90`` and so on.
        kernels_dir: Folder with the sources; the bundled one by default.
        stop: Set by another thread to end the compiler.

    Raises:
        InputError: When it does not compile.
        EnvironmentLacksError: When the compiler is missing.
    """
    if stage.is_reference:
        return [build_library(stage, arch, stop=stop)]
    builds = [build_stage(stage, arch, kernels_dir=kernels_dir, stop=stop)]
    if stage.fallback is not None:
        fallback = replace(registry[stage.fallback], dtype=stage.dtype)
        guarded = build_stage(fallback, arch, "guarded", kernels_dir=kernels_dir, stop=stop)
        builds.append(replace(guarded, stage=stage.id))
    elif stage.has_guarded:
        builds.append(build_stage(stage, arch, "guarded", kernels_dir=kernels_dir, stop=stop))
    return builds
