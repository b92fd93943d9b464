"""The exported page: one file, nothing loaded, every name from a report as text."""

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from golden_runs import golden_run
from hypothesis import example, given
from hypothesis import strategies as st

from ncu_lab.model.exhibit import Exhibit, ExhibitedRun
from ncu_lab.model.published import PublishedFigure
from ncu_lab.render.page.document import page
from ncu_lab.render.page.drawings import packed
from ncu_lab.render.page.markup import Markup, content, tag
from ncu_lab.render.page.tables import drawn_table
from ncu_lab.store import Store
from ncu_lab.workflows.climbing import ladder_of
from ncu_lab.workflows.exporting import gather
from ncu_lab.workflows.inspecting import inspect

EVIL = '</script><script>window.evil=1</script><img src=x onerror="window.evil=1">&amp;\u202e'
LOADING = ("src", "href", "action", "data", "poster", "srcset", "background")


class Elements(HTMLParser):
    """Collects elements, their attributes, and the text outside of scripts and styles."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text.append(data)


def exhibit(run, launches=(0,), ladder=True):
    taken = tuple(inspect(run, launch) for launch in launches)
    return Exhibit((ExhibitedRun(run, ladder_of([run]) if ladder else None, taken),))


@pytest.fixture(scope="module")
def ladder_page():
    return page(exhibit(golden_run(["1d", "2d"]), (0, 1)))


@pytest.fixture(scope="module")
def hostile_page():
    counters = {"gpu__time_duration.sum": 5.0}
    run = golden_run(["2d"], extra=[{"stage": None, "kernel": EVIL, "metrics": counters}])
    run.launches.at[1, "nvtx"] = [EVIL]
    run.launches.at[1, "function"] = EVIL
    return page(exhibit(run, (0, 1), ladder=False))


def figures(document):
    """What each figure of a page is packed from."""
    packs = re.findall(r'<div class="figure"[^>]*><script type="text/plain">([^<]*)</script>', document)
    return [json.loads(gzip.decompress(base64.b64decode(pack))) for pack in packs]


def test_nothing_is_loaded(ladder_page):
    elements = Elements(ladder_page).found
    assert not [name for name, _ in elements if name in ("link", "iframe", "img", "object", "embed", "base", "form")]
    assert not [(name, key) for name, told in elements for key in told if key in LOADING]
    policy = next(told["content"] for name, told in elements if told.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    style = re.search(r"<style>(.*?)</style>", ladder_page, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_every_figure_is_there_in_both_themes_and_for_phones_and_windows(ladder_page):
    found = figures(ladder_page)
    # Matrix as shares and cycles, six panels, levels of one roofline, steps, speeds; four a launch.
    assert len(found) == ladder_page.count('<div class="figure"')
    assert len(found) >= 2 + 6 + 1 + 1 + 1 + 2 * 4
    for one in found:
        for themes in one.values():
            assert set(themes) == {"light", "dark"}
            assert themes["light"]["layout"]["font"]["color"] != themes["dark"]["layout"]["font"]["color"]
    # The panels of the matrix are a phone's own, the memory chart shows its table there.
    assert sum("300" in one for one in found) >= len(found) - 4


def test_a_figure_holds_what_the_run_measured(ladder_page):
    run = golden_run(["1d", "2d"])
    summary = inspect(run, 1).view.summaries[0]
    wanted = {reason: cycles for reason, cycles in summary.stall_cycles.items() if summary.stalls[reason] > 0.05}
    bars = {}
    for one in figures(ladder_page):
        for trace in one.get("640", {"light": {"data": []}})["light"]["data"]:
            if trace.get("customdata") and trace.get("type") == "bar" and isinstance(trace["customdata"][0], str):
                bars.setdefault(trace["customdata"][0], []).append(trace["x"])
    for reason, cycles in wanted.items():
        assert any(pytest.approx(cycles) in values for values in bars[reason])


def test_both_schemes_of_colours_and_the_choice_are_there(ladder_page):
    for rule in (
        "@media (prefers-color-scheme: dark)",
        ':root[data-theme="light"]',
        ':root[data-theme="dark"]',
        "@media print",
    ):
        assert rule in ladder_page
    assert 'id="theme"' in ladder_page


def test_names_from_reports_are_text(hostile_page):
    parsed = Elements(hostile_page)
    # Packed figures, the library, our script; nothing that a name brought.
    scripts = [told for name, told in parsed.found if name == "script"]
    assert len(scripts) == hostile_page.count('<div class="figure"') + 2
    assert not [name for name, _ in parsed.found if name == "img"]
    assert not [key for _, told in parsed.found for key in told if key.startswith("on")]
    text = "".join(parsed.text)
    assert "<script>window.evil=1</script>" in text
    assert "\u202e" not in hostile_page
    assert r"\u202e" in text


def test_packed_bytes_are_harmless_and_come_back():
    data = "</script><!-- é".encode() * 100
    text = packed(data)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert gzip.decompress(base64.b64decode(text)) == data
    assert packed(data) == text


@given(st.text(), st.text())
@example("\u0606 and more", "")  # written from right to left: isolated from what is beside it
def test_words_come_back_as_they_were_but_for_what_steers(body, title):
    parsed = Elements(tag("p", body, title=title))
    assert [name for name, _ in parsed.found] == ["p"]
    assert list(parsed.found[0][1]) == ["title"]
    if body.isprintable() and "\u2009" not in body:
        assert re.sub("[\u2068\u2069]", "", "".join(parsed.text)) == body


def test_markup_is_written_once():
    assert content([Markup("<b>"), "<b>", None]) == "<b>&lt;b&gt;"
    assert tag("td", "a", class_="text", hidden=True, lang=None) == '<td class="text" hidden>a</td>'


def test_a_drawn_table_shows_each_kind_of_cell():
    cells = [
        "a<b",
        {"text": "4.85", "value": 4.85},
        {"text": "16.5×", "value": 16.5, "over": True},
        {"code": "x = y;", "file": "k.cu"},
        {"bar": [[40.0, "var(--stall-wait)", "wait: 4 %"]]},
        {"ratio": [50.0, 12.5]},
        {"ratio": []},
        {"chip": "better", "text": "✓ better"},
        {"place": "34"},
    ]
    columns = [{"title": str(at), "kind": "text"} for at in range(len(cells))]
    made = drawn_table(
        {"columns": columns, "rows": [{"cells": cells}, {"group": "Exact", "cells": []}], "note": "2 more"}
    )
    for expected in (
        "a&lt;b",
        '<span class="chip worse">✗ 16.5×</span>',
        "<code>x = y;</code>",
        "width:40.0%;background:var(--stall-wait)",
        "left:50.0%;width:12.5%",
        '<span class="chip better">✓ better</span>',
        'colspan="9"',
        "2 more",
    ):
        assert expected in made


@pytest.mark.parametrize("share", [0.5, None])
def test_the_page_says_what_the_mark_of_published_figures_means_where_one_is_drawn(share):
    run = golden_run(["1d", "2d", "cublas-fp32"])
    figure = PublishedFigure("2d", "A6000", "4092³", "speed", 160.0, "GFLOP/s", "a log", "u", "", share, 1.9)
    ladder = replace(ladder_of([run]), published=(figure,))
    document = page(Exhibit((ExhibitedRun(run, ladder, ()),)))
    drawn = [trace["name"] for one in figures(document) for trace in next(iter(one.values()))["light"]["data"]]
    assert ("published" in drawn) == (share is not None)
    assert ("△ published: the same share" in "".join(Elements(document).text)) == (share is not None)


def test_a_comparison_shows_where_both_stand_under_their_roofs(tmp_path):
    Store(tmp_path).write(golden_run(["1d", "2d"]))
    document = page(gather(["stage:1d", "stage:2d"], tmp_path))
    shifts = [
        one
        for one in figures(document)
        if {"A", "B"} <= {trace["name"] for trace in next(iter(one.values()))["light"]["data"]}
    ]
    assert shifts
    told = "".join(Elements(document).text)
    assert "of the roof above it" in told
    assert "FLOP per byte" in told
