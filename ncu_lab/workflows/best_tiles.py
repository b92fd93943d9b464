"""Which tiles stages are built with: those of stages that adopt what a search has found, else the registered ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, cast

from ncu_lab.gpu.devices import current_device, gpu_problem
from ncu_lab.gpu.registry import load_stages, tiles_in_use, using_tiles
from ncu_lab.gpu.search_space import fits_kernel, misfit
from ncu_lab.model import Problem, ProgressEvent, Reporter, Stage, TileChoice, TuningRecord, shape_class, silent
from ncu_lab.render.tuning import tile_words
from ncu_lab.store import default_store
from ncu_lab.store.tuning_files import FOLDER, read_tuning

Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def with_best_tiles(
    work: Callable[Concatenate[Sequence[str], Problem, Rest], Result],
) -> Callable[Concatenate[Sequence[str], Problem, Rest], Result]:
    """Let work on stages and a problem, its first arguments, go on inside :func:`best_tiles` of the default store."""

    @functools.wraps(work)
    def inside(ids: Sequence[str], problem: Problem, /, *rest: Rest.args, **named: Rest.kwargs) -> Result:
        report = cast(Reporter, named.get("report", silent))
        with best_tiles(ids, problem, report=report):
            return work(ids, problem, *rest, **named)

    return inside


@contextmanager
def best_tiles(
    ids: Sequence[str], problem: Problem, store: Path | None = None, report: Reporter = silent
) -> Iterator[Mapping[str, TileChoice]]:
    """Build stages that adopt a search's result with it, until the block ends; tell which tile each of them has.

    Inside another such block nothing changes: all parts of one run are of one choice.

    Args:
        ids: Stages that are used.
        problem: What is asked for.
        store: Folder of runs; the default one where None.
        report: Told of each choice.

    Yields:
        Stage id -> choice, for the stages among ``ids`` that adopt one.
    """
    stages = load_stages()
    adopting = [stages[id] for id in ids if id in stages and _adopts(stages[id])]
    if tiles_in_use() is not None or not adopting:
        yield {}
        return
    device = None if gpu_problem() else current_device().name
    searches = read_tuning(store or default_store())[0]
    choices = {stage.id: choose_tile(stage, problem, device, searches) for stage in adopting}
    for id, choice in choices.items():
        report(ProgressEvent("tune", id, "done", tile_words(choice)))
    with using_tiles({id: choice.tile for id, choice in choices.items()}):
        yield choices


def choose_tile(
    stage: Stage, problem: Problem, device: str | None, searches: Sequence[tuple[Path, TuningRecord]]
) -> TileChoice:
    """Return the newest best tile for the GPU and the shape that the kernel still takes, else the registered one.

    Args:
        stage: A stage with a search space, with its registered tile.
        problem: What is asked for.
        device: Model of the GPU; None without one.
        searches: Files and records, newest first.
    """
    if device is None:
        return TileChoice(stage.tile, "default", "there is no GPU here")
    shape = stage.shape(problem)
    wanted = shape_class(shape)
    own = [(file, one) for file, one in searches if one.stage == stage.id and one.winner is not None]
    here = [(file, one) for file, one in own if one.device == device and one.shape_class == wanted]
    for file, record in here:
        winner = record.winner
        if winner is None or not fits_kernel(stage, winner.tile):
            continue  # of another version of the kernel
        if misfit(stage, winner.tile, shape) and not misfit(stage, stage.tile, shape):
            continue  # its guarded path would run where that of the default need not
        reason = f"best of {_timed(record)} tiles at {record.problem.label} on {record.created[:10]}"
        return TileChoice(winner.tile, "search", reason, f"{FOLDER}/{file.name}")
    why = "the stored search found a tile that does not fit" if here else "no search of this shape and GPU is stored"
    return TileChoice(stage.tile, "default", why)


def _timed(record: TuningRecord) -> int:
    return sum(1 for one in record.candidates if one.samples_ns)


def _adopts(stage: Stage) -> bool:
    return stage.tune is not None and stage.tune.adopted
