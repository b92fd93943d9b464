"""Hot spots: sums by hand, and sums of lines that equal each launch's own total on all that was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.analyze.hotspots import find_hot_spots
from ncu_lab.analyze.summary import counters
from ncu_lab.metrics import STALL_ORDER
from ncu_lab.metrics.names import SAMPLES
from ncu_lab.model import INSTANCE_COLUMNS, HotSpots, SourceText, Spot, table
from ncu_lab.resources import data_dir
from ncu_lab.workflows.reading import read_file

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
STALLED = "smsp__pcsamp_warps_issue_stalled_{}"


def code(*rows):
    """Instances of (address, file, line, {metric: value})."""
    cells = [(*row[:3], name, value) for row in rows for name, value in row[3].items()]
    columns = {name: [None] * len(cells) for name in INSTANCE_COLUMNS}
    columns |= {
        "launch": [0] * len(cells),
        "metric": [cell[3] for cell in cells],
        "kind": ["pc"] * len(cells),
        "correlation": [2**40 + cell[0] for cell in cells],
        "value": [cell[4] for cell in cells],
        "sass": [f"OP{cell[0]}" for cell in cells],
        "file": [cell[1] for cell in cells],
        "line": [cell[2] for cell in cells],
    }
    return table(INSTANCE_COLUMNS, columns)


def stalls(all_samples, not_issued=0.0, reason="wait"):
    return {
        SAMPLES: all_samples,
        STALLED.format(reason): all_samples,
        STALLED.format(reason) + "_not_issued": not_issued,
    }


def test_a_line_is_the_sum_of_its_instructions_in_any_order_of_the_code():
    found = find_hot_spots(
        code(
            (32, "b.cu", 7, {**stalls(30.0, 20.0, "no_instructions"), "inst_executed": 4.0}),
            (0, "b.cu", 7, {**stalls(10.0, 5.0), "inst_executed": 4.0, "memory_l1_wavefronts_shared": 64.0,
                            "memory_l1_wavefronts_shared_ideal": 2.0}),
            (16, "a.cu", 9, {"inst_executed": 8.0, "memory_l2_theoretical_sectors_global": 32.0,
                             "memory_l2_theoretical_sectors_global_ideal": 4.0}),
            (48, None, None, {"inst_executed": 1.0}),
        ),
        0,
    )  # fmt: skip
    assert [(one.offset, one.sass) for one in found.instructions] == [
        (0, "OP0"),
        (16, "OP16"),
        (32, "OP32"),
        (48, "OP48"),
    ]
    assert [(one.file, one.line, one.instructions) for one in found.lines] == [
        ("a.cu", 9, 1), ("b.cu", 7, 2), (None, None, 1),
    ]  # fmt: skip
    near, hot, nowhere = found.lines
    assert (hot.samples, hot.executed, hot.wavefronts_over_ideal, hot.excess_wavefronts) == (40.0, 8.0, 32.0, 62.0)
    assert dict(hot.stalls) == {"wait": 10.0, "no_instruction": 30.0}  # in stacking order, by the names of ratios
    assert dict(hot.stalls_not_issued) == {"wait": 5.0, "no_instruction": 20.0}
    assert (near.samples, near.sectors_over_ideal, near.wavefronts_over_ideal) == (0.0, 8.0, None)
    assert (nowhere.samples, nowhere.global_sectors) == (0.0, None)
    assert (found.samples, found.excess_sectors, found.excess_wavefronts) == (40.0, 28.0, 62.0)
    assert found.has_lines


def test_branches_lead_to_offsets_as_instructions_stand_at_them():
    instances = code(*((at, "a.cu", 1, {"inst_executed": 1.0}) for at in (0, 16, 32)))
    instances["sass"] = [f"@!P0  BRA {2**40 + 16:#x}", f"CALL {2**41:#x}", "FFMA R1, c[0x0][0x178], 0x10000000"]
    instances["sass"] = instances["sass"].astype(INSTANCE_COLUMNS["sass"])
    assert [one.sass for one in find_hot_spots(instances, 0).instructions] == [
        "@!P0  BRA 0x10",
        f"CALL {2**41:#x}",  # outside of the kernel
        "FFMA R1, c[0x0][0x178], 0x10000000",
    ]


def test_a_line_matters_by_its_samples_or_by_its_excess():
    victim = Spot("a.cu", 2, samples=79.0)
    cause = Spot("a.cu", 1, samples=1.0, shared_wavefronts=320.0, shared_wavefronts_ideal=10.0)
    found = HotSpots(0, (cause, victim), (), 100.0, excess_wavefronts=310.0)
    assert [found.share(one) for one in found.lines] == [0.01, 0.79]
    assert [found.weight(one) for one in found.lines] == [1.0, 0.79]


def test_without_samples_shares_are_unknown():
    found = find_hot_spots(code((0, "a.cu", 1, {"inst_executed": 4.0})), 0)
    assert (found.samples, found.missing, found.lines[0].samples) == (None, ("SourceCounters",), None)
    assert found.share(found.lines[0]) is None


def test_a_launch_without_counters_per_instruction_has_no_spots():
    found = find_hot_spots(table(INSTANCE_COLUMNS), 3)
    assert (found.lines, found.instructions, found.samples, found.missing) == ((), (), None, ("SourceCounters",))
    assert not found.has_lines


def test_the_text_of_a_line():
    found = HotSpots(0, (), (), None, sources={"a.cu": SourceText(("one", "two"), "run")})
    assert [found.text(Spot("a.cu", line)) for line in (1, 2, 3, 0, None)] == ["one", "two", None, None, None]
    assert found.text(Spot("b.cu", 1)) is None


FILES = [
    *(data_dir("examples") / name for name in sorted(path.name for path in data_dir("examples").glob("2*"))),
    *(GOLDEN / name for name in ("ladder-full.ncu-rep.gz", "cupy-nvtx.ncu-rep.gz", "ladder-full.source.csv.gz",
                                 "ladder-full.source.cuda-sass.csv.gz")),
]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_samples_of_lines_sum_to_those_of_the_launch(path):
    run = read_file(path)
    values = counters(run.metrics)
    for launch in run.launches["launch"]:
        total = values.get(launch, {}).get(SAMPLES)
        found = find_hot_spots(run.instances, launch, total)
        assert sum(one.samples for one in found.lines) == found.samples
        assert sum(one.samples for one in found.instructions) == found.samples
        assert sum(sum(one.stalls.values()) for one in found.lines) == found.samples
        assert 0 < sum(sum(one.stalls_not_issued.values()) for one in found.lines) < found.samples
        assert all(set(one.stalls) <= set(STALL_ORDER) for one in found.lines)
        if run.meta.source == "profile":
            assert total is not None


def test_report_and_export_tell_the_same():
    report, export = (read_file(GOLDEN / f"ladder-full.{kind}") for kind in ("ncu-rep.gz", "source.cuda-sass.csv.gz"))
    for launch in range(12):
        ours, theirs = (
            {(one.file, one.line): (one.samples, one.executed, one.wavefronts_over_ideal) for one in found.lines}
            for found in (find_hot_spots(report.instances, launch), find_hot_spots(export.instances, launch))
        )
        # The export lists padding instructions that never ran; they are of no line.
        assert {place: found for place, found in theirs.items() if place[0]} == {
            place: found for place, found in ours.items() if place[0]
        }
