"""Hot spots as text, Markdown and JSON: what is shown, in which order, and what is said of the rest."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.model import HotSpots, SourceText, Spot
from ncu_lab.render.source import (
    Code,
    CodeChoice,
    chosen_spots,
    print_source,
    source_document,
    source_markdown,
    source_rows,
)
from ncu_lab.render.tables import json_text
from ncu_lab.render.terminal import Terminal


def spot(line, samples, wavefronts=None, file="kernels/a.cu", **more):
    ideal = None if wavefronts is None else 10.0
    return Spot(
        file, line, samples=samples, stalls={"selected": samples / 4, "long_scoreboard": samples * 3 / 4},
        executed=1e6 * (line or 1), shared_wavefronts=wavefronts, shared_wavefronts_ideal=ideal, **more,
    )  # fmt: skip


TEXT = SourceText(tuple(f"{' ' * 4}line {number}" for number in range(1, 99)), "run")
CAUSE, VICTIM, COLD = spot(32, 10.0, 165.0), spot(34, 790.0, 10.0), spot(50, 0.5)
OTHER = spot(7, 199.5, file="kernels/b.cuh")


def found(*lines, instructions=(), **changed):
    fields = {"samples": sum(one.samples or 0.0 for one in lines), "excess_wavefronts": 155.0}
    return HotSpots(0, lines, instructions, **{**fields, "sources": {"kernels/a.cu": TEXT}, **changed})


HOT = found(CAUSE, VICTIM, COLD, OTHER)


def printed(spots, width=80, **choice):
    stream = io.StringIO()
    print_source(spots, Terminal(stream, width), CodeChoice(**choice))
    return stream.getvalue().splitlines()


def test_lines_stand_in_the_order_of_the_source_below_their_files():
    assert printed(HOT) == [
        "1.00 k samples: they land where warps wait; sect÷ and wave÷, sectors and",
        "wavefronts over their ideal, show what they wait for",
        "text not in this run: kernels/b.cuh",
        "line  samples        waits mostly         inst    wave÷  source",
        "kernels/a.cu   80 % of samples",
        "  32          1.0 %  75 % long scoreb.  32.0 M  16.5× ✗  line 32",
        "  34  ━━━━━━ 79.0 %  75 % long scoreb.  34.0 M    1.00×  line 34",
        "kernels/b.cuh   20 % of samples",
        "   7  ━━     20.0 %  75 % long scoreb.  7.00 M",
        "… and 1 more line (0.1 % of samples); all: --lines 0",
    ]


def test_the_cause_is_shown_though_hardly_a_sample_landed_on_it():
    shown, hidden = chosen_spots(
        found(spot(1, 1.0, 165.0), *(spot(n, 50.0) for n in range(2, 30))), CodeChoice(lines=2)
    )
    assert [one.line for one in shown] == [1, 2]
    assert len(hidden) == 27


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("source", [32, 34, 50, 7]),
        ("samples", [34, 7, 32, 50]),
        ("excess", [32, 34, 50, 7]),
        ("executed", [50, 34, 32, 7]),
    ],
)
def test_orders(sort, order):
    shown, hidden = chosen_spots(HOT, CodeChoice(sort=sort, lines=0))
    assert ([one.line for one in shown], hidden) == (order, [])


def test_sorted_lines_name_their_file():
    told = printed(HOT, sort="samples", lines=2)
    assert [line.split()[0] for line in told[4:6]] == ["a.cu:34", "b.cuh:7"]
    assert " ".join(told[-2:]) == "… and 2 more lines (1.1 % of samples, 100 % of excess wavefronts); all: --lines 0"


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    st.integers(0, 70),
    st.sampled_from(["source", "samples", "excess", "executed"]),
)
def test_nothing_is_lost(samples, lines, sort):
    spots = found(*(spot(number, one) for number, one in enumerate(samples, 1)))
    for choice in (CodeChoice(sort=sort, lines=lines), CodeChoice(sort=sort)):
        shown, hidden = chosen_spots(spots, choice)
        assert sorted(one.line for one in (*shown, *hidden)) == list(range(1, len(samples) + 1))
        assert shown
    if lines:
        assert len(chosen_spots(spots, CodeChoice(sort=sort, lines=lines))[0]) == min(lines, len(samples))


def test_text_that_may_be_of_another_version_is_marked():
    now = found(VICTIM, sources={"kernels/a.cu": SourceText(TEXT.lines, "kernels", certain=False)})
    assert "text as it is now, maybe not as it was profiled: kernels/a.cu" in printed(now)


def test_code_without_lines_is_shown_as_instructions():
    code = [
        spot(None, 5.0, file=None, offset=0x1A0, sass="@!P0  BRA 0x10"),
        spot(None, 95.0, file=None, offset=0x1B0, sass="EXIT"),
    ]
    told = printed(found(spot(None, 100.0, file=None), instructions=tuple(code), sources={}))
    assert told[2] == "code without line information (compiled without -lineinfo): instructions instead"
    assert told[4:6] == [
        "  01a0          5.0 %  75 % long scoreb.  1.00 M  @!P0  BRA 0x10",
        "  01b0  ━━━━━━ 95.0 %  75 % long scoreb.  1.00 M  EXIT",
    ]


def test_instructions_on_demand():
    told = printed(found(VICTIM, instructions=(spot(34, 790.0, 10.0, offset=16, sass="LDS R1, [R2]"),)), sass=True)
    assert told[-1] == "  0010  a.cu:34  ━━━━━━ 100.0 %  75 % long scoreb.  34.0 M  1.00×  LDS R1, [R2]"


def test_without_counters_per_instruction_it_says_how_to_get_them():
    nothing = HotSpots(0, (), (), None, missing=("SourceCounters",))
    assert printed(nothing) == ["source: not collected: --section SourceCounters"]
    assert "not collected: `--section SourceCounters`" in source_markdown(nothing, CodeChoice())
    assert source_document(nothing, sass=True) == {
        "samples": None,
        "source_files": {},
        "source": [],
        "instructions": [],
    }


def test_without_samples_lines_are_ranked_by_executions():
    counted = HotSpots(
        0, (Spot("a.cu", 1, executed=5.0), Spot("a.cu", 2, executed=9.0)), (), None, missing=("SourceCounters",)
    )
    told = printed(counted, lines=1)
    assert told[0] == "samples not collected: --section SourceCounters"
    assert told[-2].split()[:2] == ["2", "9"]


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("sass", [False, True])
def test_no_line_is_wider_than_the_terminal(width, sass):
    long = "x" * 300
    text = SourceText((long,) * 99, "run")
    hot = spot(98, 9e9, 1e9, offset=1 << 20, sass=long, global_sectors=1e9, global_sectors_ideal=1e6, local_sectors=5e5,
               stalls_not_issued={"wait": 1.0})  # fmt: skip
    told = printed(found(hot, instructions=(hot,), sources={"kernels/a.cu": text}), width, sass=sass)
    assert max(map(len, told)) <= width


def test_ascii_alone():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_source(HOT, Terminal(stream, 80), CodeChoice())
    stream.seek(0)
    assert "  34  ###### 79.0 %  75 % long scoreb.  34.0 M      1.00x  line 34" in stream.read().splitlines()


def test_json_holds_every_line_in_full():
    document = json.loads(json_text(source_document(HOT, sass=False)))
    assert [(one["line"], one["samples"], one["share"]) for one in document["source"]] == [
        (32, 10.0, 0.01), (34, 790.0, 0.79), (50, 0.5, 0.0005), (7, 199.5, 0.1995),
    ]  # fmt: skip
    assert document["source"][0]["shared_wavefronts_over_ideal"] == 16.5
    assert document["source"][0]["text"] == "    line 32"
    assert document["source"][3]["text"] is None
    assert document["source_files"] == {"kernels/a.cu": {"origin": "run", "certain": True}}
    assert "instructions" not in document


def test_csv_rows_are_of_all_launches():
    rows = source_rows(Code(CodeChoice(lines=1), {3: HOT, 5: found(VICTIM)}))
    assert [(row["launch"], row["line"]) for row in rows] == [(3, 32), (3, 34), (3, 50), (3, 7), (5, 34)]


def test_markdown_names_files_and_says_what_is_left_out():
    text = source_markdown(HOT, CodeChoice()).replace("\u2009", " ")
    assert "| a.cu:34 | ━━━━━━ 79.0 % | 75 % long scoreb. |" in text
    assert text.endswith("… and 1 more line (0.1 % of samples); all: --lines 0\n")
