"""Importing a report against a bare read of the same things with ncu_report, in the same run.

Run: ``python tests/benchmarks/import_speed.py [--large]``. A report of 369 results of 514 metrics, made of a recorded
one by repetition: each side runs in processes of its own, in turns, since NVIDIA's reader never gives memory back.
Then the golden full report (12 results of 2243 metrics, with instances, SASS and source lines), likewise. Imports are
excluded from time; memory is that of all processes of a side together. ``--large`` adds 10,000 results, which takes
minutes.

What is held: import at most 1.3 times the bare read and 150 MB more; opening the stored run, all of its tables read,
under 5% of the import; 10,000 results within 2 GB. Where ncu is installed, the import is also held to half the time of
``ncu --import --csv --page raw``, a whole process of it. Exits 1 when one is missed.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

GOLDEN = TESTS / "data" / "golden" / "cupy-nvtx.ncu-rep.gz"
FULL = TESTS / "data" / "golden" / "ladder-full.ncu-rep.gz"
RESULTS, METRICS, ROUNDS = 369, 514, 5
LARGE = 10_000
MOST_TIMES, MOST_MORE_MB, MOST_OPEN, MOST_LARGE_MB = 1.3, 150.0, 0.05, 2000.0
MOST_OF_NCU = 0.5


def bare(path: Path, _: Path) -> int:
    """Read values, instances with their correlations, SASS and source lines into lists, as a short script would."""
    import ncu_report

    context = ncu_report.load_report(str(path))
    kept = []
    for range_index in range(context.num_ranges()):
        actions = context.range_by_idx(range_index)
        for index in range(actions.num_actions()):
            kept.append(bare_result(actions.action_by_idx(index)))
    return len(kept)


def bare_result(action) -> list[object]:  # type: ignore[no-untyped-def]  # ncu_report is imported by its users only
    """Read one result with the reader's plain calls; every address is looked up once."""
    values, places = [], {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        words = metric.kind() == metric.ValueKind_STRING
        value = (metric.as_string() if words else metric.as_double()) if metric.has_value() else None
        instances, correlations = [], []
        count = metric.num_instances()
        if count:
            read = metric.as_string if metric.kind(0) == metric.ValueKind_STRING else metric.as_double
            instances = [read(row) for row in range(count)]
            ids = metric.correlation_ids() if metric.has_correlation_ids() else None
            if ids is not None:
                read = ids.as_string if ids.kind(0) == ids.ValueKind_STRING else ids.as_uint64
                correlations = [read(row) for row in range(count)]
            for pc in correlations:
                if isinstance(pc, int) and pc > 2**32 and pc not in places:
                    source = action.source_info(pc)
                    where = (source.file_name(), source.line()) if source else None
                    places[pc] = (action.sass_by_pc(pc), where)
        values.append((name, value, metric.unit(), instances, correlations))
    return [action.name(), values, places, action.rule_results_as_dicts()]


def imported(path: Path, store: Path) -> int:
    """Import the report into the store."""
    from ncu_lab.workflows.importing import import_file

    return len(import_file(path, store, keep_report=False).launches)


def opened(_: Path, store: Path) -> int:
    """Open the newest stored run and read all of its tables."""
    from ncu_lab.store import Store

    runs = Store(store)
    run = runs.read(runs.metas()[0][0].id)
    return len([run.metrics, run.instances, run.rules]) and len(run.launches)


def measure(name: str, path: Path, store: Path) -> dict[str, float]:
    """Run one side in this process, what it imports excluded."""
    import ncu_report  # noqa: F401  # what follows is timed without its imports
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import ncu_lab.parse.report
    import ncu_lab.store.tables
    import ncu_lab.workflows.importing  # noqa: F401

    start = time.perf_counter()
    results = SIDES[name](path, store)
    return {"seconds": time.perf_counter() - start, "results": results}


SIDES: dict[str, Callable[[Path, Path], int]] = {"bare": bare, "import": imported, "open": opened}


def apart(name: str, path: Path, store: Path) -> dict[str, float]:
    """Run one side in a process of its own; the most memory of it and its children is ``tree_mb``."""
    paths = [str(TESTS.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, __file__, "--side", name, str(path), str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    peaks = [0.0]

    def watch() -> None:
        while process.poll() is None:
            peaks[0] = max(peaks[0], _tree_mb(process.pid))
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{name} failed")
    found: dict[str, float] = json.loads(out)
    return {**found, "tree_mb": peaks[0]}


def _tree_mb(root: int) -> float:
    """Memory of a process and all below it; what forked processes share counts once (proportional set size)."""
    total, waiting = 0, [root]
    while waiting:
        process = Path("/proc") / str(waiting.pop())
        try:
            rollup = (process / "smaps_rollup").read_text()
            total += int(next(line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:")))
            waiting += map(int, (process / "task" / process.name / "children").read_text().split())
        except OSError:  # it has just ended
            continue
    return total * 1024 / 1e6


def compare(path: Path, store: Path) -> bool:
    """Print bare read, import and opening side by side; return whether all is held."""
    ncu = shutil.which("ncu")
    rounds = []
    for _ in range(ROUNDS):
        one = {name: apart(name, path, store) for name in SIDES}
        assert all(side["results"] == RESULTS for side in one.values())
        rounds.append({**one, "export": exported(ncu, path)} if ncu else one)
    print(f"{RESULTS} results x {METRICS} metrics, median of {ROUNDS} processes each, in turns")
    print("a ratio is the median of the ratios of each turn, not the ratio of the medians")
    print(f"{'':28}{'seconds':>10}{'MB, all processes':>24}")
    for name, words in (
        ("bare", "bare ncu_report read"),
        ("import", "ncu-lab import"),
        ("open", "open the stored run"),
    ):
        print(f"{words:28}{_median(rounds, name, 'seconds'):10.3f}{_median(rounds, name, 'tree_mb'):24.0f}")
    more = statistics.median(one["import"]["tree_mb"] - one["bare"]["tree_mb"] for one in rounds)
    fine = [
        held("import over bare read", _ratio(rounds, "import", "bare"), MOST_TIMES, "x"),
        held("memory beside it", more, MOST_MORE_MB, " MB"),
        held("opening over import", _ratio(rounds, "open", "import") * 100, MOST_OPEN * 100, "%"),
    ]
    if ncu is None:
        print("ncu is not here: its export is not compared")
        return all(fine)
    print(f"{'ncu --import --csv':28}{_median(rounds, 'export', 'seconds'):10.3f}")
    return all([*fine, held("import over ncu's export", _ratio(rounds, "import", "export"), MOST_OF_NCU, "x")])


def exported(ncu: str, path: Path) -> dict[str, float]:
    """Run ncu's own export of the report."""
    start = time.perf_counter()
    subprocess.run([ncu, "--import", str(path), "--csv", "--page", "raw"], stdout=subprocess.DEVNULL, check=True)
    return {"seconds": time.perf_counter() - start}


def golden_full(path: Path, store: Path) -> bool:
    """Print bare read and import of the golden full report, in turns; return whether it is held."""
    rounds = [{name: apart(name, path, store) for name in ("bare", "import")} for _ in range(ROUNDS)]
    for name, words in (("bare", "golden full, bare read"), ("import", "golden full, ncu-lab import")):
        print(f"{words:28}{_median(rounds, name, 'seconds'):10.3f}")
    return held("import over bare read", _ratio(rounds, "import", "bare"), MOST_TIMES, "x")


def _median(rounds: list[dict[str, dict[str, float]]], side: str, what: str) -> float:
    return statistics.median(one[side][what] for one in rounds)


def _ratio(rounds: list[dict[str, dict[str, float]]], side: str, other: str) -> float:
    """Time of one side over the other's: the median of the ratios of each round."""
    return statistics.median(one[side]["seconds"] / one[other]["seconds"] for one in rounds)


def held(words: str, value: float, most: float, unit: str) -> bool:
    """Print a figure and its limit; return whether it is held."""
    print(f"{words:28}{value:10.2f}{unit:4}at most {most:g}{unit:4}{'held' if value <= most else 'MISSED'}")
    return value <= most


def large(path: Path, store: Path) -> bool:
    """Import a large report; return whether its memory is held."""
    found = apart("import", path, store)
    print(f"{LARGE} results, {path.stat().st_size / 1e6:.0f} MB: {found['seconds']:.0f} s")
    return held("memory of all processes", found["tree_mb"], MOST_LARGE_MB, " MB")


def main() -> int:
    """Make the reports and print the comparison."""
    from report_blocks import write_repeated

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        golden = folder / "golden.ncu-rep"
        golden.write_bytes(gzip.decompress(GOLDEN.read_bytes()))
        full = folder / "full.ncu-rep"
        full.write_bytes(gzip.decompress(FULL.read_bytes()))
        fine = compare(write_repeated(golden, folder / "many.ncu-rep", RESULTS, METRICS), folder / "store")
        if "--large" in sys.argv:
            fine &= large(write_repeated(golden, folder / "large.ncu-rep", LARGE), folder / "large")
        fine &= golden_full(full, folder / "full")
    return 0 if fine else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        print(json.dumps(measure(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))))
    else:
        raise SystemExit(main())
