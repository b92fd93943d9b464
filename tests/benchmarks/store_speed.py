"""A store of 10,000 runs: listed, filtered and read as a series, beside a bare parse of every run.json.

Run: ``.venv/bin/python tests/benchmarks/store_speed.py [--runs N] [--keep DIR]``; it takes minutes and 300 MB below
the temporary folder, or in DIR, which is used again where it is there. What it does is told on standard error, each
figure as soon as it is known. The runs are the bundled one cut to a stage and its reference, with their own ids,
commits, times and values; what they share is hard linked. The floor, in the same process, is what any program must do
that keeps no index: ``os.scandir`` and ``json.loads`` of every ``run.json``.

What is held, after the first indexing: the workflow's listing, filtering and series under 1 s each, and so the whole
commands ``ncu-lab runs`` as a table and as JSON. Of five rounds the best counts: others on the machine only add. Exits
1 when one is missed. On two cores, shared with others, in multiples of the floor of 0.72 s: first indexing 15, first
reading of tables 400 (29 ms a run), listed 0.20, filtered 0.21, series 0.33, whole commands 0.81 and 0.87.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

from startup import NCU_LAB, seconds  # noqa: E402  # beside this file

from ncu_lab.metrics import CATALOGUE  # noqa: E402  # after the path is set
from ncu_lab.model import Problem, ProgressEvent, Run, RunFilter  # noqa: E402
from ncu_lab.resources import data_dir  # noqa: E402
from ncu_lab.store import Store  # noqa: E402
from ncu_lab.store.encoding import encode  # noqa: E402
from ncu_lab.store.index import FOLDER  # noqa: E402
from ncu_lab.store.stored_run import META, TABLES  # noqa: E402
from ncu_lab.store.tables import write_table  # noqa: E402
from ncu_lab.workflows.indexing import list_runs, series  # noqa: E402

STAGES = ("2d", "cublas-fp32")
ROUNDS, MOST_S = 5, 1.0
EVERY_S = 5.0
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def template() -> Run:
    """Return the bundled run of the ladder, cut to two stages and to what the catalogue reads."""
    from dataclasses import replace

    examples = Store(data_dir("examples"))
    id = next(meta.id for meta in examples.metas()[0] if meta.problem == Problem(4096, 4096, 4096))
    run = examples.read_whole(id)
    launches = run.launches[run.launches["stage"].isin(STAGES)]
    known = {
        name for one in CATALOGUE for part in (one, *one.others) for counter in part.counters for name in counter.names
    }
    kept = {name: getattr(run, name) for name in TABLES}
    for name in ("metrics", "instances", "rules"):
        kept[name] = kept[name][kept[name]["launch"].isin(launches["launch"])]
    kept["metrics"] = kept["metrics"][kept["metrics"]["metric"].isin(known)]
    accesses = kept["instances"]["metric"].isin(
        ["inst_executed", "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"]
    )
    kept["instances"] = kept["instances"][accesses & kept["instances"]["sass"].str.contains(r"LD|ST", na=False)]
    kept["timings"] = kept["timings"][kept["timings"]["subject"].isin(STAGES)]
    kept["launches"] = launches
    builds = tuple(build for build in run.builds if build.stage in STAGES)
    meta = replace(run.meta, stages=STAGES)
    return replace(run, meta=meta, builds=builds, checks=(), sources={}, **kept)  # type: ignore[arg-type]  # the tables


def make_store(folder: Path, count: int, told: Told) -> Store:
    """Write runs that differ in id, time, commit, tree and every duration; ten runs a commit."""
    told.doing(f"making {count} runs in {folder}")
    run, store = template(), Store(folder)
    first = store.write(run)
    written = json.loads((first / META).read_text())
    durations = run.metrics["metric"] == "gpu__time_duration.sum"
    for index in range(count):
        if index and index % max(1, count // 10) == 0:
            told.doing(f"{index} of {count} runs made")
        created, commit = EPOCH + timedelta(minutes=11 * index), hashlib.sha1(b"%d" % (index // 10)).hexdigest()
        id = f"{created:%Y%m%dT%H%M%S}-2d-{commit[:7]}-{index:04x}"
        target = folder / id
        target.mkdir()
        metrics, timings = run.metrics.copy(), run.timings.copy()
        metrics.loc[durations, "value"] *= 1.0 + index % 97 / 1e4
        timings["ns"] *= 1.0 + index % 97 / 1e4
        own = {"metrics.parquet": write_table(metrics, TABLES["metrics"])}
        own["timings.parquet"] = write_table(timings, TABLES["timings"])
        for name in written["checksums"]:
            if name in own:
                (target / name).write_bytes(own[name])
            else:
                os.link(first / name, target / name)
        checksums = written["checksums"] | {name: hashlib.sha256(data).hexdigest() for name, data in own.items()}
        git = written["git"] | {"commit": commit, "branch": "main", "dirty": index % 50 == 0}
        meta: dict[str, Any] = {**written, "id": id, "created": created.isoformat(), "git": git, "checksums": checksums}
        (target / META).write_text(json.dumps(encode(meta), indent=1))
    for file in first.iterdir():
        file.unlink()
    first.rmdir()
    return store


def bare(folder: Path) -> int:
    """Parse every run.json, as a short script would."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name[0] != ".":
                with open(f"{entry.path}/{META}", "rb") as file:
                    found.append(json.loads(file.read()))
    return len(found)


def timed(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the best wall time of some work."""
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    return min(samples)


class Told:
    """Prints each figure in multiples of the floor as soon as it is known, and on standard error what is being done."""

    def __init__(self) -> None:
        self.met = True
        self._floor: float | None = None
        self._start = self._said = time.perf_counter()

    def doing(self, what: str) -> None:
        """Say what is being done, which may take minutes."""
        print(f"[{time.perf_counter() - self._start:5.0f} s] {what}", file=sys.stderr, flush=True)

    def event(self, event: ProgressEvent) -> None:
        """Say how far the product is, as often as people want to know."""
        now = time.perf_counter()
        if now - self._said >= EVERY_S:
            self._said = now
            self.doing(f"  {event.step} {event.detail}")

    def figure(self, name: str, taken: float, *, held: bool = False) -> None:
        """Print a figure; the first is the floor."""
        self._floor = self._floor or taken
        goal = ""
        if held:
            self.met &= taken < MOST_S
            goal = f"  {'' if taken < MOST_S else 'MISSED '}(goal: {MOST_S} s)"
        print(f"{name:<40} {taken:7.3f} s  {taken / self._floor:6.2f}{goal}", flush=True)


def measure(folder: Path, count: int, told: Told) -> bool:
    """Print every figure as it is known; return whether all that is held was met."""
    told.doing("bare parse")
    told.figure("bare parse of every run.json (floor)", timed(lambda: bare(folder)))
    told.doing("first indexing")
    told.figure("first indexing, for listings", timed(lambda: list_runs(folder, report=told.event), 1))
    told.doing("first reading of tables")
    read = timed(lambda: series(folder, "duration_ns", report=told.event), 1)
    told.figure("first reading of tables, for series", read)
    half = RunFilter(("2d",), "h200", None, ("complete",), EPOCH + timedelta(minutes=11 * count // 2))
    environment = ["--store", folder]
    held: dict[str, Callable[[], object]] = {
        "listed": lambda: list_runs(folder),
        "filtered (stage, GPU, status, since)": lambda: list_runs(folder, half),
        "series of duration_ns, stage 2d": lambda: series(folder, "duration_ns", RunFilter(("2d",))),
        "series of time_ns, all stages": lambda: series(folder, "time_ns"),
        "ncu-lab runs": lambda: seconds([NCU_LAB, "runs", *environment]),
        "ncu-lab runs --format json": lambda: seconds([NCU_LAB, "runs", *environment, "--format", "json"]),
    }  # fmt: skip
    for name, work in held.items():
        told.doing(name)
        told.figure(name, timed(work), held=True)
    points = len(series(folder, "duration_ns", RunFilter(("2d",)))[0])
    assert points == count, f"{points} points of {count} runs"
    index = next((folder / FOLDER).glob("*.sqlite"))
    print(f"{count} runs; the index has {index.stat().st_size / 1e6:.1f} MB", flush=True)
    return told.met


def main() -> int:
    """Make the store, measure, and tell whether all was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, help="make the store here and leave it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary) / "store"
        told = Told()
        if not folder.exists():
            make_store(folder, arguments.runs, told)
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        return 0 if measure(folder, arguments.runs, told) else 1


if __name__ == "__main__":
    sys.exit(main())
