"""The roofline beyond FP32 and one run: families, shared memory, side branches, measured peaks, charts drawn over."""

import itertools
from dataclasses import replace

import builders
import pytest

from ncu_lab.model import MeasuredPeak, Roof, Roofline, RooflinePoint
from ncu_lab.render.figures import roofline
from ncu_lab.render.figures.roofline import main_line, name_of
from ncu_lab.render.figures.roofline_frame import best_measured, flat_roofs
from ncu_lab.render.figures.text import SMALL, text_width
from ncu_lab.render.palette import DARK, LIGHT

COPY = MeasuredPeak("dram_copy", "dram", "DRAM copy", "memory", (4.1e12, 4.2e12), 2e9)
SHARED = MeasuredPeak("shared_read", "shared", "shared-memory read", "memory", (3.1e13,), 2e9)
FMA = MeasuredPeak("fp32_fma", "fp32", "FP32 FMA", "compute", (6.2e13,), 1e10)
MMA = MeasuredPeak("fp16_mma", "fp16_hmma", "FP16 mma.sync", "compute", (5.9e14,), 1e11)


@pytest.fixture(scope="module")
def ladder():
    return builders.ladder()


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def words(figure):
    return [annotation.text.replace("\u2009", " ") for annotation in figure.layout.annotations]


def measured(ladder, *peaks):
    return replace(ladder, rooflines=tuple(replace(chart, measured=peaks) for chart in ladder.rooflines))


def test_tensor_launches_have_a_chart_of_their_own(ladder):
    figure = roofline.roofline(ladder, LIGHT, 680, "l1", "tensor")
    (points,) = named(figure, "stages")
    assert set(points.customdata) == {"wmma", "cublas-tf32"}
    (roof,) = named(figure, "roof")
    peaks = {one.level: one.per_second for one in builders.roofs("tensor")}
    assert roof.y[1] == peaks["fp16"]
    # What HMMA and TF32 can make are lower roofs, from their own ridges on.
    lower = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.name.startswith("roof ")}
    assert lower == {
        "roof FP16 by HMMA": (pytest.approx(peaks["fp16_hmma"] / peaks["l1"]), peaks["fp16_hmma"]),
        "roof TF32 tensor": (pytest.approx(peaks["tf32"] / peaks["l1"]), peaks["tf32"]),
    }
    assert any(text.startswith("FP16 by HMMA  7") for text in words(figure))


def test_shared_memory_alone_leaves_out_kernels_without_it(ladder):
    (points,) = named(roofline.roofline(ladder, DARK, 680, "shared"), "stages")
    assert {"naive", "coalesced"}.isdisjoint(points.customdata)
    assert "smem" in points.customdata


def test_a_family_without_launches_names_the_section(ladder):
    figure = roofline.roofline(ladder, LIGHT, 680, "l2", "fp64")
    assert "<b>No FP64 launch has a point at L2</b>" in words(figure)
    assert any("SpeedOfLight_HierarchicalDoubleRooflineChart" in text for text in words(figure))


def test_what_leaves_the_longest_line_is_a_side_branch():
    assert main_line({"a": None, "b": "a", "c": "b", "x": "a"}) == {"a", "b", "c"}
    assert main_line({"b": "a", "c": "b"}) == {"b", "c"}
    assert main_line({}) == set()
    assert main_line({"wmma": None, "wgmma": "wmma", "wgmma-fp16": "wmma"}) == {"wmma", "wgmma"}
    assert main_line({"a": "b", "b": "a"}) == {"a", "b"}  # a cycle ends


def test_measured_peaks_are_dashed_and_named(ladder):
    figure = roofline.roofline(measured(ladder, COPY, SHARED, FMA), LIGHT, 680, "dram")
    (flat,) = named(figure, "measured FP32 FMA")
    (slope,) = named(figure, "measured bandwidth")
    assert flat.line.dash == slope.line.dash == "dash"
    assert set(flat.y) == {6.2e13}
    assert slope.y[0] / slope.x[0] == pytest.approx(4.2e12)  # the best sample
    assert any(text.endswith("TFLOP/s, measured 62.0") for text in words(figure))
    assert any("measured 4.20" in text for text in words(figure))
    # L1 and shared memory are one pipe; L2 was not measured.
    assert named(roofline.roofline(measured(ladder, SHARED), LIGHT, 680, "l1"), "measured bandwidth")
    assert not named(roofline.roofline(measured(ladder, SHARED), LIGHT, 680, "l2"), "measured bandwidth")
    assert not named(roofline.roofline(ladder, LIGHT, 680, "dram"), "measured bandwidth")


def test_a_measured_peak_of_an_instruction_stands_at_its_own_roof(ladder):
    texts = words(roofline.roofline(measured(ladder, MMA), LIGHT, 1050, "l1", "tensor"))
    assert any("FP16 by HMMA" in text and text.endswith("measured 590") for text in texts)


def test_a_measured_peak_without_a_roof_names_itself():
    chart = Roofline(
        "tensor",
        (Roof("l2", "L2", 1e13), Roof("bf16", "BF16 tensor", 9e14, "compute")),
        (RooflinePoint("wgmma", "l2", 100.0, 5e14, 0.6, "bf16", "bf16"),),
        measured=(MMA,),
    )
    row = replace(builders.row("wmma"), stage=replace(builders.STAGES["wmma"], id="wgmma"))
    ladder = replace(builders.ladder(rows=[row], references=[]), rooflines=(chart,))
    assert "FP16 mma.sync, measured 590" in words(roofline.roofline(ladder, LIGHT, 680, "l2", "tensor"))


def test_the_best_of_several_measurements_of_a_level_counts(ladder):
    read = MeasuredPeak("dram_read", "dram", "DRAM read", "memory", (4.5e12,), 1e9)
    chart = replace(ladder.roofline("fp32"), measured=(COPY, read))
    assert best_measured(chart, ("dram",)) == read
    assert best_measured(chart, ("fp32",)) is None


def test_roofs_of_one_rate_are_one():
    chart = Roofline(
        "tensor",
        (
            Roof("l1", "L1 / shared", 3e13),
            Roof("tf32", "TF32 tensor", 4.5e14, "compute"),
            Roof("fp16", "FP16 tensor", 9e14, "compute"),
            Roof("bf16", "BF16 tensor", 8.9e14, "compute"),
        ),
        (),
    )
    assert [(flat.label, flat.levels) for flat in flat_roofs(chart)] == [
        ("FP16, BF16 tensor", ("fp16", "bf16")),
        ("TF32 tensor", ("tf32",)),
    ]


def scaled(chart, factor, label):
    roofs = tuple(replace(roof, per_second=roof.per_second * factor) for roof in chart.roofs)
    points = tuple(replace(point, flop_per_s=point.flop_per_s * factor) for point in chart.points)
    return replace(chart, roofs=roofs, points=points, label=label)


def test_charts_of_other_gpus_are_drawn_over_with_their_own_roofs(ladder):
    chart = ladder.roofline("fp32")
    others = [scaled(chart, 0.3, "A6000"), scaled(chart, 0.25, "A100")]
    figure = roofline.roofline(ladder, LIGHT, 680, beside=others)
    for other in others:
        (points,) = named(figure, other.label)
        (roof,) = named(figure, f"roof of {other.label}")
        assert len(points.x) == 11
        assert roof.y[1] == other.roof("fp32").per_second
        assert roof.y[0] / roof.x[0] == pytest.approx(other.roof("l1").per_second)
    symbols = {named(figure, other.label)[0].marker.symbol for other in others}
    dashes = {named(figure, f"roof of {other.label}")[0].line.dash for other in others}
    assert len(symbols) == len(dashes) == 2
    (key,) = (text for text in words(figure) if "A6000" in text)
    assert key.startswith(f"●  {name_of(ladder)}")
    low = min(point.flop_per_s for point in others[1].points)
    assert 10 ** figure.layout.yaxis.range[0] < low


def test_a_chart_with_the_same_roofs_adds_its_points_only(ladder):
    figure = roofline.roofline(ladder, LIGHT, 680, beside=[replace(ladder.roofline("fp32"), label="1024³")])
    assert named(figure, "1024³")
    assert not named(figure, "roof of 1024³")


def test_charts_of_another_family_are_not_drawn(ladder):
    tensor = replace(ladder.roofline("tensor"), label="tensor")
    assert not named(roofline.roofline(ladder, LIGHT, 680, beside=[tensor]), "tensor")


@pytest.mark.parametrize("family", ["fp32", "tensor"])
@pytest.mark.parametrize("level", ["l1", "shared", "l2", "dram"])
@pytest.mark.parametrize("width", [342, 680, 1050])
def test_no_label_leaves_the_plot_or_stands_on_another(ladder, level, family, width):
    figure = roofline.roofline(measured(ladder, COPY, SHARED, FMA), LIGHT, width, level, family)
    assert len(figure.data) > 3
    height = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    plot = width - figure.layout.margin.l - figure.layout.margin.r
    low, high = figure.layout.yaxis.range
    flat = [one for one in figure.layout.annotations if one.xref == "paper" and one.yref == "y"]
    places = sorted(
        (high - one.y) / (high - low) * height - (one.yshift or 0) + (-7 if one.yanchor == "bottom" else 7)
        for one in flat
    )
    assert all(0 <= place <= height for place in places)
    assert all(one.x * plot <= plot + 1 for one in flat)


@pytest.mark.parametrize("width", [560, 640, 700])
@pytest.mark.parametrize("level", ["l1", "l2", "dram"])
def test_names_of_tensor_roofs_do_not_cover_each_other(ladder, level, width):
    figure = roofline.roofline(measured(ladder, SHARED, MMA), LIGHT, width, level, "tensor")
    layout = figure.layout
    plot, tall = width - layout.margin.l - layout.margin.r, layout.height - layout.margin.t - layout.margin.b
    (left, right), (low, high) = layout.xaxis.range, layout.yaxis.range

    def box(one):
        lines = one.text.split("<br>")
        wide = max(text_width(line, SMALL) for line in lines)
        x = one.x * plot if one.xref == "paper" else (one.x - left) / (right - left) * plot + one.ax
        y = (high - one.y) / (high - low) * tall + (one.ay or 0) - (one.yshift or 0)
        height = 15 * len(lines)
        top = {"bottom": y - height, "top": y}.get(one.yanchor, y - height / 2)
        start = x - wide if one.xanchor == "right" else x
        return start, top, start + wide, top + height

    names = [one for one in layout.annotations if one.yref == "y" and (one.xref == "paper" or one.showarrow)]
    boxes = [box(one) for one in names if one.xref == "paper" or one.text]
    for a, b in itertools.combinations(boxes, 2):
        assert min(a[2], b[2]) <= max(a[0], b[0]) or min(a[3], b[3]) <= max(a[1], b[1])
