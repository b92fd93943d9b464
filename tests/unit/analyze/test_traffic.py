"""What moved through memory, and how busy the units were, from counters written by hand."""

from ncu_lab.analyze.traffic import memory_traffic, unit_totals, unit_uses
from ncu_lab.metrics.links import LINK_SECTION
from ncu_lab.metrics.units import BREAKDOWNS

PEAK = "pct_of_peak_sustained_elapsed"


def test_links_sum_what_goes_one_way_and_count_sectors_as_bytes():
    values = {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 30.0,
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 12.0,
        f"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum.{PEAK}": 4.0,
        f"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum.{PEAK}": 1.5,
        "lts__t_sectors_srcunit_tex_op_read.sum": 100.0,
        "dram__bytes_read.sum": 4096.0,
        "l1tex__t_sector_hit_rate.pct": 12.5,
    }
    traffic = memory_traffic(values.get)
    requests, read, dram = (
        traffic.link("global", "l1"),
        traffic.link("l2", "l1", "read"),
        traffic.link("dram", "l2", "read"),
    )
    assert (requests.amount, requests.unit, requests.pct) == (42.0, "request", 5.5)
    assert (read.amount, read.unit, read.pct) == (3200.0, "byte", None)
    assert dram.amount == 4096.0
    assert traffic.hit_pct == {"l1": 12.5}
    assert traffic.missing == ()


def test_what_was_not_counted_is_none_and_never_zero():
    traffic = memory_traffic({"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum": 3.0}.get)
    local = traffic.link("local", "l1")
    assert local.amount is None  # the stores are not known
    assert all(link.amount is None for link in traffic.links)
    assert traffic.missing == (LINK_SECTION,)


def test_units_come_by_side_and_size():
    values = {"a.avg": 3.0, "b.avg": 70.0, "c.avg": 9.0, f"sm__throughput.avg.{PEAK}": 9.0}
    texts = {BREAKDOWNS["memory"]: "a.avg,b.avg", BREAKDOWNS["compute"]: "c.avg,missing.avg"}
    uses = unit_uses(values.get, texts)
    assert [(use.side, use.metric, use.pct) for use in uses] == [
        ("memory", "b.avg", 70.0), ("memory", "a.avg", 3.0), ("compute", "c.avg", 9.0),
    ]  # fmt: skip
    assert unit_totals(values.get) == {"compute": 9.0}
    assert unit_uses({}.get, {}) == ()
