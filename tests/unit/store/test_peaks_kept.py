from dataclasses import replace

from golden_runs import golden_run

from ncu_lab.model import MeasuredPeak
from ncu_lab.render.documents import ladder_document, show_document
from ncu_lab.store import Store
from ncu_lab.workflows.climbing import ladder, view

PEAK = MeasuredPeak("dram_copy", "dram", "DRAM copy", "memory", (4.1e12, 4.2e12), 2.0 * 2**30, 1.98e9)
SHOWN = {
    "key": "dram_copy", "level": "dram", "label": "DRAM copy", "per_second": 4.2e12, "unit": "byte/s",
    "samples": [4.1e12, 4.2e12], "work": 2.0 * 2**30, "sm_clock_hz": 1.98e9,
}  # fmt: skip


def test_measured_peaks_are_kept_with_the_run_and_shown_beside_the_datasheet(tmp_path):
    run = golden_run(["2d"])
    Store(tmp_path).write(replace(run, meta=replace(run.meta, peaks=(PEAK,))))
    kept = Store(tmp_path).read_whole(run.meta.id)
    assert kept.meta.peaks == (PEAK,)
    seen = view(kept)
    shown = show_document(seen, seen.summaries)["peaks"]
    assert shown["measured"] == [SHOWN]
    assert {roof["level"]: roof["per_second"] for roof in shown["datasheet"]}["dram"] == 4.8e12
    whole = ladder(tmp_path)
    document = ladder_document(whole)
    assert document["peaks"] == shown
    assert whole.roofline("fp32").measured == (PEAK,)
    (chart,) = document["rooflines"]
    assert chart["roofs"] == document["roofs"]
    assert chart["points"] == document["points"]


def test_a_run_without_them_has_none(tmp_path):
    run = golden_run(["2d"])
    Store(tmp_path).write(run)
    assert Store(tmp_path).read_whole(run.meta.id).meta.peaks == ()
    assert ladder_document(ladder(tmp_path))["peaks"]["measured"] == []
