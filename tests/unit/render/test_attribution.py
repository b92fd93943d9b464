"""The waterfall, its figures, and its place in documents."""

import io
import math
from itertools import pairwise

import pytest

from ncu_lab.analyze.attribution import split
from ncu_lab.model import Factors, Unattributed
from ncu_lab.render import numbers
from ncu_lab.render.attribution import (
    attribution_document,
    lacking_document,
    print_waterfall,
    unattributed_words,
    waterfall,
    waterfall_markdown,
)
from ncu_lab.render.terminal import Terminal


def factors(ns=1000.0, instructions=500.0, warps=4.0, imbalance=1.2, hz=1.2e9, **stalls):
    stalls = stalls or {"selected": 1.0, "wait": 0.01, "misc": 0.01, "long_scoreboard": 6.98}
    return Factors(0, "full", ns, instructions, stalls, warps, imbalance, hz)


# A: 500 x 8 / 4 x 1.2 / 1.2 GHz = 1000 ns; B: 250 x 6 / 2 x 1.5 / 1 GHz = 1125 ns.
SPLIT = split(factors(), factors(1125.0, 250.0, 2.0, 1.5, 1.0e9, selected=1.0, mio_throttle=2.0, long_scoreboard=3.0))


def printed(attribution, width=80, encoding="utf-8"):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_waterfall(attribution, Terminal(out, width))
    out.seek(0)
    return out.read().splitlines()


def test_rows_lead_from_a_to_b_and_the_net_closes_the_bracket():
    rows = waterfall(SPLIT)
    assert [(row.factor, row.bracket) for row in rows] == [
        ("instructions", ""),
        ("warps", "first"),
        ("stall:mio_throttle", "inner"),
        ("stall:long_scoreboard", "inner"),
        ("smaller", "inner"),
        ("net", "last"),
        ("imbalance", ""),
        ("clock", ""),
        ("residual", ""),
    ]
    steps = [row for row in rows if row.factor != "net"]
    assert steps[0].start_ns == 1000.0
    for before, after in pairwise(steps):
        assert after.start_ns == pytest.approx(before.start_ns + before.ns)
    assert steps[-1].start_ns + steps[-1].ns == pytest.approx(1125.0)
    net = rows[5]
    assert (net.start_ns, net.start_ns + net.ns) == (
        pytest.approx(rows[1].start_ns),
        pytest.approx(rows[6].start_ns),
    )


def test_printed_within_80_columns_with_values_parts_and_shares():
    lines = printed(SPLIT)
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[:8] == ["instructions", "500", "→", "250", "−0.74", "µs", "−73.6", "%"]
    assert "│ 2 smaller waits" in lines[4]
    assert lines[5].split()[:5] == ["└", "stalls", "÷", "warps", "net"]
    assert "1.20 → 1.00 GHz" in lines[7]
    assert "residual" in lines[8]
    assert "━" in lines[0]
    assert "─" in lines[5]


def test_a_narrow_terminal_has_no_bars_and_ascii_has_no_signs():
    assert "━" not in "".join(printed(SPLIT, width=50))
    assert "".join(printed(SPLIT, encoding="ascii")).isascii()
    assert "+ stalls / warps" in "\n".join(printed(SPLIT, encoding="ascii"))


def test_a_launch_against_itself_has_no_bars():
    lines = printed(split(factors(), factors()))
    assert not any("━" in line for line in lines)
    assert "0.00 µs  0.0 %" in lines[-1]


def test_markdown_has_a_row_for_each_of_the_terminals():
    lines = waterfall_markdown(SPLIT).splitlines()
    assert len(lines) == 2 + len(waterfall(SPLIT))
    assert lines[2] == "| instructions | 500 → 250 | −0.74 µs | −73.6 % |"


def test_the_document_has_every_part_and_sums_to_the_difference():
    document = attribution_document(SPLIT)
    assert document["form"] == "full"
    assert [part["factor"] for part in document["parts"]][:2] == ["instructions", "stall:selected"]
    assert sum(part["ns"] for part in document["parts"]) + document["residual_ns"] == pytest.approx(125.0)
    assert sum(document["log2"].values()) == pytest.approx(math.log2(1.125))
    assert lacking_document(SPLIT) is None
    assert attribution_document(None) is lacking_document(None) is None


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (Unattributed("not_collected", ("b",), ("x",), ("WarpStateStats", "SchedulerStats")),
         "not collected of 2d: --section WarpStateStats --section SchedulerStats"),
        (Unattributed("not_collected", ("a", "b"), ("x", "y")), "not collected: --metrics x,y"),
        (Unattributed("undefined", ("a",), ("smsp__cycles_active.avg",)),
         "undefined of 1d: smsp__cycles_active.avg is zero or no number"),
        (Unattributed("inconsistent", ("a",), error=-0.875),
         "not told of 1d: its counters miss the duration by −88 %; are stall reasons missing?"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told(why, words):
    assert numbers.plain_spaces(unattributed_words(why, "1d", "2d")) == words
    assert attribution_document(why) is None
    assert lacking_document(why)["why"] == why.why


def test_figures_of_changes():
    def plain(ns, scale):
        return numbers.plain_spaces(numbers.duration_change(ns, scale))

    assert plain(-304_200.0, 769_000.0) == "−304 µs"
    assert plain(1_400.0, 769_000.0) == "+1 µs"
    assert plain(-40.0, 769_000.0) == "−0.04 µs"
    assert plain(0.0, 769_000.0) == plain(1e-9, 769_000.0) == "0 µs"
    assert plain(math.nan, 769_000.0) == "–"
    assert [numbers.log2_factor(one) for one in (-0.731, 1.0, 0.001, -0.001, None)] == [
        "−0.73",
        "+1.00",
        "0.00",
        "0.00",
        "–",
    ]
