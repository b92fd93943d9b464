"""The runs of a store by its index: listed, filtered, and one quantity of them over time."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence
from pathlib import Path

from ncu_lab.analyze.series import kernel_readings
from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.metrics import METRICS
from ncu_lab.model import (
    SHARE_KEY,
    TIME_KEY,
    USABLE,
    Notice,
    ProgressEvent,
    Reporter,
    RunFilter,
    RunMeta,
    SeriesPoint,
    silent,
)
from ncu_lab.store import Store
from ncu_lab.store.directory import passed_over
from ncu_lab.store.index import WORTH_SAVING, RunIndex, is_kept

INDEX_NOT_KEPT = "index_not_kept"
"""Code of the notice that a store is read as a whole every time."""

_SAVED_EVERY_S = 30.0
_TOLD_EVERY = 50


def list_runs(
    store: Path, wanted: RunFilter = RunFilter(), report: Reporter = silent
) -> tuple[list[RunMeta], list[Notice]]:
    """List the runs of a store that are meant, newest first, and what of it cannot be read.

    They come without what only the run itself needs; see :meth:`ncu_lab.store.index.RunIndex.metas`.

    Args:
        store: The folder of runs; one that is not there has none.
        wanted: Which runs are meant.
        report: Told of progress where many runs are new.

    Raises:
        InputError: When the store is no folder, or cannot be listed.
    """
    index, notices = _up_to_date(store, report)
    return [meta for meta in index.metas() if wanted.fits(meta)], [*notices, *_saved(index, store)]


def index_anew(store: Path, report: Reporter) -> None:
    """Read all runs of a large store that has no index yet, telling of progress; later readers find it.

    Raises:
        InputError: When the store is no folder, or cannot be listed.
    """
    if not is_kept(store) and len(Store(store).folder_names()) >= WORTH_SAVING:
        list_runs(store, report=report)


def series(
    store: Path, key: str, wanted: RunFilter = RunFilter(), report: Reporter = silent
) -> tuple[list[SeriesPoint], list[Notice]]:
    """Return one quantity of every kernel of the runs that are meant, oldest run first, and what cannot be read.

    Args:
        store: The folder of runs.
        key: A key of the catalogue, ``time_ns`` or ``pct_of_reference``.
        wanted: Which runs are meant, of those that ended well or in part; of their kernels only those of its stages.
        report: Told of progress where the tables of many runs are read for the first time.

    Raises:
        UsageError: When there is no such key.
        InputError: When the store is no folder, or cannot be listed.
    """
    refuse_unknown(key)
    index, notices = _up_to_date(store, report)
    runs = [meta for meta in reversed(index.metas()) if meta.status in USABLE and wanted.fits(meta)]
    notices += _read_tables(index, store, index.without_readings(meta.id for meta in runs), report)
    points = index.series(key, runs)
    points = [one for one in points if not wanted.stages or one.kernel.stage in wanted.stages]
    return points, [*notices, *_saved(index, store)]


def refuse_unknown(key: str) -> None:
    """Refuse a key that no reading has.

    Raises:
        UsageError: When it is none of the catalogue's, and no time.
    """
    known = (TIME_KEY, SHARE_KEY, *METRICS)
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(f'there is no metric "{key}"', f"{meant}docs/metrics.md lists all, beside {TIME_KEY}.")


def _up_to_date(store: Path, report: Reporter) -> tuple[RunIndex, list[Notice]]:
    start = time.monotonic()
    index, read = RunIndex(store), 0

    def progress(done: int, all: int) -> None:
        nonlocal read
        read = all
        if all >= WORTH_SAVING:
            _tell(report, store, done, all, "new runs")

    notices = index.refresh(progress)
    if read >= WORTH_SAVING:
        seconds = time.monotonic() - start
        report(ProgressEvent("index", _name(store), "done", f"{read} new or changed runs", seconds=seconds))
    return index, notices


def _read_tables(index: RunIndex, store: Path, runs: Sequence[str], report: Reporter) -> list[Notice]:
    """Read the tables of runs whose readings the index lacks; what is read so far is kept now and then."""
    start = saved = time.monotonic()
    stages, notices = load_stages(), []
    for done, run in enumerate(runs):
        _tell(report, store, done, len(runs), "runs read")
        try:
            index.put_readings(run, kernel_readings(Store(store).read(run), stages))
        except InputError as error:
            notices.append(passed_over(error))
        if time.monotonic() - saved > _SAVED_EVERY_S:
            index.save()
            saved = time.monotonic()
    if runs:
        seconds = time.monotonic() - start
        report(
            ProgressEvent(
                "index",
                _name(store),
                "done",
                f"tables of {len(runs)} run{'' if len(runs) == 1 else 's'}",
                seconds=seconds,
            )
        )
    return notices


def _tell(report: Reporter, store: Path, done: int, all: int, what: str) -> None:
    if done % _TOLD_EVERY == 0:
        report(ProgressEvent("index", _name(store), "update", f"{done} of {all} {what}", done / all))


def _name(store: Path) -> str:
    return store.name or str(store)


def _saved(index: RunIndex, store: Path) -> list[Notice]:
    why = index.save()
    if why is None:
        return []
    return [Notice(INDEX_NOT_KEPT, f"{store} keeps no index ({why}): every command reads all of its runs again")]
