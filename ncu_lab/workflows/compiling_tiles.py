"""The tiles of a stage before any is run: listed, refused by rule, compiled, with the occupancy that follows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from ncu_lab.analyze.occupancy import occupancy
from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.compile import build_stage, capability
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.search_space import candidates, with_tile, within_budget
from ncu_lab.model import (
    ARCHITECTURES,
    Architecture,
    BlockDemand,
    Candidate,
    Problem,
    ProgressEvent,
    Reporter,
    Stage,
    StageBuild,
    silent,
)
from ncu_lab.workflows.building import stopping


@dataclass(frozen=True, slots=True)
class Listed:
    """What a search would try.

    Attributes:
        stage: With its registered tile.
        problem: What it really computes.
        arch: What is compiled for, ``sm_90``.
        candidates: All tiles, refused ones included; the registered one first.
        left_out: Tiles that the budget leaves untried.
    """

    stage: Stage
    problem: Problem
    arch: str
    candidates: tuple[Candidate, ...]
    left_out: int


def searchable(id: str, budget: int | None = None) -> Stage:
    """Return a stage whose tiles can be searched; what can be said of a request without knowing the GPU.

    Args:
        id: A stage with a search space.
        budget: Tiles to try at most; None for all.

    Raises:
        UsageError: When the stage is unknown or has no search space, or the budget is of no tile.
    """
    stage = find_stage(load_stages(), id)
    if stage.tune is None:
        known = ", ".join(one.id for one in load_stages().values() if one.tune)
        raise UsageError(f"stage {id} has no search space", f"Stages with one: {known}.")
    if budget is not None and budget < 1:
        raise UsageError(f"--budget {budget} is too small", "Try at least 1 tile, better 64.")
    return stage


def list_tiles(id: str, problem: Problem, arch: str, budget: int | None = None) -> Listed:
    """List the tiles of a stage for an architecture; needs neither GPU nor compiler.

    Args:
        id: A stage with a search space.
        problem: What is asked for.
        arch: ``sm_90`` and so on.
        budget: Tiles to try at most; None for all.

    Raises:
        UsageError: When the stage has no search space, the GPU is not known or cannot run it, or no tile fits.
    """
    stage = searchable(id, budget)
    architecture = architecture_of(arch)
    if not stage.runs_on(capability(arch)):
        raise UsageError(f"stage {id} needs {stage.needs}, not {arch}")
    shape = stage.shape(problem)
    found, left_out = within_budget(candidates(stage, shape, architecture), budget)
    if all(one.outcome == "rejected" for one in found):
        raise UsageError(
            f"no tile of {id} fits {shape.label}: {found[0].why}", "Choose a size that is a multiple of a small tile."
        )
    return Listed(stage, shape, arch, tuple(found), left_out)


def architecture_of(arch: str) -> Architecture:
    """Return what an SM of ``sm_90`` is.

    Raises:
        UsageError: When it is no architecture, or not known.
    """
    found = ARCHITECTURES.get(divmod(capability(arch), 10))
    if found is None:
        raise UsageError(f"what an SM of {arch} holds is not known here", f"Known: {_known_archs()}.")
    return found


def _known_archs() -> str:
    return ", ".join(f"sm_{major}{minor}" for major, minor in ARCHITECTURES)


def compile_tiles(listed: Listed, report: Reporter = silent) -> tuple[list[Candidate], dict[str, StageBuild]]:
    """Compile all tiles that no rule refuses, on all cores; one that does not compile says so.

    Args:
        listed: From :func:`list_tiles`.
        report: Told of progress.

    Returns:
        The candidates with what the compiler made of them, and the fast build of each that compiled, by label.

    Raises:
        EnvironmentLacksError: When the compiler is missing or the cache cannot be written.
    """
    begin = time.monotonic()
    stage, wanted = listed.stage, [one for one in listed.candidates if one.outcome != "rejected"]
    report(ProgressEvent("build", stage.id, "start"))
    stop = threading.Event()
    builds: dict[str, StageBuild] = {}
    failures: dict[str, str] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, stopping(pool, stop):
        waiting: dict[Future[StageBuild], Candidate] = {
            pool.submit(build_stage, with_tile(stage, one.tile), listed.arch, stop=stop): one for one in wanted
        }
        for number, future in enumerate(as_completed(waiting), start=1):
            one = waiting[future]
            try:
                builds[one.label] = future.result()
            except InputError as error:
                failures[one.label] = error.message
            done = f"{number} of {len(wanted)} tiles"
            report(ProgressEvent("build", stage.id, "update", done, number / len(wanted)))
    refused = f", {len(failures)} refused by the compiler" if failures else ""
    seconds = time.monotonic() - begin
    report(ProgressEvent("build", stage.id, "done", f"{len(builds)} tiles{refused}", seconds=seconds))
    architecture = architecture_of(listed.arch)
    return [_compiled(one, stage, builds, failures, architecture) for one in listed.candidates], builds


def _compiled(
    one: Candidate, stage: Stage, builds: dict[str, StageBuild], failures: dict[str, str], architecture: Architecture
) -> Candidate:
    if one.label in failures:
        return replace(one, outcome="not_compiled", why=failures[one.label])
    if one.label not in builds:
        return one
    build = builds[one.label]
    threads = with_tile(stage, one.tile).block[0]
    held = occupancy(architecture, BlockDemand(threads, build.registers, build.shared_bytes, build.barriers))
    if not held.blocks:
        return replace(one, outcome="rejected", why=f"an SM holds no block of it: {' and '.join(held.limited_by)}")
    return replace(
        one,
        registers=build.registers,
        spill_bytes=build.spill_store_bytes + build.spill_load_bytes,
        shared_bytes=build.shared_bytes,
        blocks_per_sm=held.blocks,
        occupancy=held.share,
    )


def buildable(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that compiled, and of which an SM holds a block."""
    return [one for one in found if one.blocks_per_sm]
