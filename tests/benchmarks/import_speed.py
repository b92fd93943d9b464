"""Reading a report into tables against a bare read of the same things with ncu_report, in one process.

Run: ``python tests/benchmarks/import_speed.py [REPORT]`` (default: the golden full report). Imports are excluded, both
sides are warmed up, then timed in turns; prints both medians and their ratio, which should stay under 1.5.
"""

from __future__ import annotations

import gzip
import statistics
import sys
import tempfile
import time
from pathlib import Path

import ncu_report

from ncu_lab.parse.report import read_report

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "ladder-full.ncu-rep.gz"
ROUNDS = 7


def bare_read(path: Path) -> int:
    """Read values, instances with their correlations, SASS and source lines into lists, as a short script would."""
    context = ncu_report.load_report(str(path))
    kept = []
    for range_index in range(context.num_ranges()):
        actions = context.range_by_idx(range_index)
        for index in range(actions.num_actions()):
            kept.append(bare_action(actions.action_by_idx(index)))
    return len(kept)


def bare_action(action: ncu_report.IAction) -> list[object]:
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


def measure(path: Path) -> tuple[float, float]:
    """Return the median seconds of a bare read and of ours."""
    bare, ours = [], []
    for turn in range(ROUNDS + 1):
        start = time.perf_counter()
        bare_read(path)
        middle = time.perf_counter()
        read_report(path)
        end = time.perf_counter()
        if turn:  # the first warms up both
            bare.append(middle - start)
            ours.append(end - middle)
    return statistics.median(bare), statistics.median(ours)


def main() -> None:
    """Print the comparison."""
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    with tempfile.TemporaryDirectory() as folder:
        path = given
        if given.suffix == ".gz":
            path = Path(folder) / given.stem
            path.write_bytes(gzip.decompress(given.read_bytes()))
        bare, ours = measure(path)
    print(f"bare ncu_report {bare * 1e3:.0f} ms   ncu-lab {ours * 1e3:.0f} ms   ratio {ours / bare:.2f} (aim: < 1.5)")


if __name__ == "__main__":
    main()
