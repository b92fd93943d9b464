"""Figures of one launch: the values they hold, and what they say where something is missing or at its limit."""

import builders
import pytest

from ncu_lab.model import BlockDemand, MemoryLink, MemoryTraffic, OccupancyCurve, OccupancyPicture, Spot, UnitUse
from ncu_lab.render.figures.launch_stalls import LEAST_SHARE, by_size, stall_bars
from ncu_lab.render.figures.launch_units import unit_bars
from ncu_lab.render.figures.memory_chart import amount_text, memory_chart
from ncu_lab.render.figures.occupancy_curves import occupancy_curves, warps_at
from ncu_lab.render.palette import DARK, LIGHT, stall_colour

USES = (
    *(UnitUse("memory", f"unit {n}", 90.0 - 10 * n, f"m{n}.avg") for n in range(8)),
    UnitUse("compute", "<b>pipe</b>", 12.0, "p.avg"),
)


class Found:
    """What unit bars read of an inspection."""

    def __init__(self, units, totals):
        self.units, self.totals = units, totals


def plain_text(text):
    return text.replace("\u2009", " ")


def test_the_six_largest_units_of_a_side_are_drawn_and_those_at_the_limit_are_red():
    figure = unit_bars(Found(USES, {"memory": 90.0}), LIGHT, 600)
    memory, compute = figure.data
    assert list(memory.x) == [90.0, 80.0, 70.0, 60.0, 50.0, 40.0]
    assert list(memory.marker.color) == [LIGHT.worse] * 2 + [LIGHT.neutral_3] * 4
    assert list(compute.x) == [12.0]
    labels = [plain_text(label) for label in figure.layout.yaxis.ticktext]
    assert labels[0] == "<b>Memory  90 %</b>"
    assert "&lt;b&gt;pipe&lt;/b&gt;" in labels
    (line,) = [shape for shape in figure.layout.shapes if shape.x0 == shape.x1 == 80.0]
    assert line.line.dash == "dot"


def test_all_units_that_were_busy_can_be_asked_for():
    figure = unit_bars(Found((*USES, UnitUse("memory", "idle", 0.0, "i")), {}), DARK, 600, every=True)
    assert list(figure.data[0].x) == [90.0 - 10 * n for n in range(8)]


def test_stalls_stand_by_size_in_the_colour_of_their_reason():
    summary = builders.summary("2d")
    found = by_size(summary)
    assert [share for _, share, _ in found] == sorted((share for _, share, _ in found), reverse=True)
    figure = stall_bars(summary, LIGHT, 600)
    drawn = [one for one in found if one[1] >= LEAST_SHARE]
    assert [bar.x[0] for bar in figure.data] == pytest.approx([cycles for _, _, cycles in drawn])
    assert [bar.marker.color for bar in figure.data] == [stall_colour(reason, LIGHT) for reason, _, _ in drawn]


def test_a_chosen_line_marks_its_own_shares_on_the_same_scale():
    summary = builders.summary("2d")
    reason = by_size(summary)[0][0]
    spot = Spot("a.cu", 34, samples=10.0, stalls={reason: 7.5, "barrier": 2.5})
    figure = stall_bars(summary, LIGHT, 600, spot=spot)
    marks = figure.data[-1]
    assert marks.name == "line 34"
    total = sum(summary.stall_cycles.values())
    assert marks.x[0] == pytest.approx(0.75 * total)


LINKS = (
    MemoryLink("kernel", "global", "loads", 2.13e6, "inst", None, "a"),
    MemoryLink("shared space", "shared", "", 1.02e8, "wavefront", 90.0, "b"),
    MemoryLink("l2", "l1", "read", 198e6, "byte", 4.5, "c"),
    MemoryLink("dram", "l2", "read", None, "byte", None, "d"),
    MemoryLink("l2", "dram", "write", 0.0, "byte", 0.0, "e"),
)


def test_a_links_width_is_its_share_of_its_own_peak_and_idle_ones_are_dotted():
    figure = memory_chart(MemoryTraffic(LINKS, {"l1": 2.0}), LIGHT, 620)
    bars = [shape for shape in figure.layout.shapes if shape.type == "rect" and shape.line.width == 0]
    heights = sorted(shape.y1 - shape.y0 for shape in bars)
    assert heights[-1] == pytest.approx(26.0 * 0.9)
    assert next(shape for shape in bars if shape.y1 - shape.y0 == heights[-1]).fillcolor == LIGHT.worse
    dotted = [shape for shape in figure.layout.shapes if shape.type == "line" and shape.line.dash == "dot"]
    assert len(dotted) == 2  # idle, and not collected
    words = [plain_text(one.text) for one in figure.layout.annotations]
    assert {"2.13 M loads", "102 M wavefronts", "90 % of peak", "198 MB", "–"} <= set(words)
    assert len(figure.data[0].x) == len(LINKS)


def test_amounts_per_second_and_what_is_missing():
    assert plain_text(amount_text(LINKS[2], 1e6)) == "198 GB/s"
    assert plain_text(amount_text(LINKS[1], 1e9)) == "102 M wavefronts/s"
    assert amount_text(LINKS[3]) == "–"
    assert amount_text(LINKS[4]) == "0 B"


CURVE = OccupancyCurve("registers", (0, 32, 33, 64, 65), (2, 2, 1, 1, 0), (64, 64, 32, 32, 0))


def picture(registers):
    return OccupancyPicture(BlockDemand(1024, registers, 8192), (CURVE,), "report", 64, 64.0, None)


def test_the_current_point_lies_on_the_curve_and_is_named():
    figure = occupancy_curves(picture(32), LIGHT, 600)
    curve, point = figure.data
    assert (list(curve.x), list(curve.y)) == (list(CURVE.x), list(CURVE.warps))
    assert curve.line.shape == "vh"
    assert (point.x[0], point.y[0], point.text[0]) == (32, 64, "<b>32</b>")


def test_a_demand_between_two_sizes_takes_the_larger_and_beyond_the_curve_nothing():
    assert warps_at(CURVE, 40) == 32
    assert warps_at(CURVE, 200) is None
    assert len(occupancy_curves(picture(200), LIGHT, 600).data) == 1
