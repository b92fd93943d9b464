"""What a metric's name tells, and where the catalogue knows better."""

import pytest

from ncu_lab.metrics import METRICS
from ncu_lab.metrics.glossary import meaning
from ncu_lab.metrics.units import listed_units, unit_label


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", ["L1 / texture cache", "global", "loads", "sum over all"]),
        ("dram__bytes_read.sum.per_second", ["Device memory", "bytes read", "per second"]),
        (
            "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
            ["Streaming", "xu", "of what can be sustained"],
        ),
        ("smsp__pcsamp_warps_issue_stalled_barrier", ["Sub-partition", "sampled", "barrier"]),
        ("launch__waves_per_multiprocessor", ["Blocks launched over blocks the GPU holds"]),
        ("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", ["Names the units", "sm__throughput"]),
    ],
)
def test_names_are_spelt_out(metric, words):
    told = meaning(metric)
    assert all(word in told for word in words), told


def test_a_quantity_of_the_catalogue_has_its_own_sentence():
    assert meaning("gpu__time_duration.sum") == METRICS["duration_ns"].meaning


def test_a_name_that_follows_no_rule_stays_as_it_is():
    assert meaning("Source/Live Registers") == "Source/Live Registers"
    assert meaning("<b>x</b>") == "<b>x</b>"


def test_units_are_named_and_unknown_ones_keep_their_metric():
    assert unit_label("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed") == "L1 data pipe"
    assert unit_label("sm__pipe_new_thing.avg.pct_of_peak_sustained_elapsed") == "sm pipe new thing"


def test_a_breakdown_lists_metrics_once_and_only_those_with_a_value():
    values = {"a.avg": 3.0, "b.avg": None}
    assert listed_units("a.avg,b.avg, a.avg,,c.avg", values.get) == [("a.avg", 3.0)]
    assert listed_units(None, values.get) == []
