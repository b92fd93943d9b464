"""Every stage has a page that holds all it should, and what pages point to is there."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ncu_lab.gpu.registry import load_stages
from ncu_lab.resources import data_dir
from ncu_lab.workflows.climbing import ladder

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "stages"
STAGES = load_stages()
KERNELS = [stage for stage in STAGES.values() if not stage.is_reference]
PAGES = sorted(FOLDER.glob("*.md"))
RECORDED = {row.stage.id for row in ladder(data_dir("examples"), size=4096).rows}
"""Stages of the bundled run, whose counters a page can show."""


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def stage_pages(generate: ModuleType) -> ModuleType:
    return sys.modules["stage_pages"]


def text(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("stage", KERNELS, ids=lambda stage: stage.id)
def test_every_stage_has_a_page_with_every_block(stage):
    page = text(stage.id)
    if stage.id not in RECORDED:
        assert f"<!-- header {stage.id} -->" in page
        assert "The bundled runs were made before this stage existed" in " ".join(page.split())
        return
    blocks = [f"<!-- header {stage.id} -->", f"<!-- $ ncu-lab model --stage {stage.id} --device h200 --example -->"]
    blocks += [f"<!-- $ ncu-lab show --stage {stage.id} --example -->"]
    blocks += [f"<!-- {word} {stage.id} -->" for word in ("roof", "waits", "hot lines")]
    blocks += [f"<!-- change {stage.id} -->"] if stage.predecessor else []
    blocks += ["## What changed, and why", "## Where the published story differs", f"<!-- expectations {stage.id} -->"]
    places = [page.find(block) for block in blocks]
    assert -1 not in places, blocks[places.index(-1)]
    assert places == sorted(places)


def test_every_reference_is_on_the_page_of_references():
    missing = [one for one in STAGES.values() if one.is_reference and f"--stage {one.id} " not in text("references")]
    assert missing == []


def test_every_page_is_of_a_stage_and_in_the_index():
    known = {stage.id for stage in KERNELS} | {"references"}
    assert {page.stem for page in PAGES} == known | {"README"}
    assert [name for name in known if f"({name}.md)" not in text("README")] == []


def test_what_is_not_covered_is_named():
    for word in ("tcgen05", "TF32 through WMMA", "Fused epilogues"):
        assert f"**{word}**" in text("README")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_figures_are_there(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_figures_are_described_in_words():
    for page in PAGES:
        for words in re.findall(r"!\[([^\]]*)\]", page.read_text(encoding="utf-8")):
            assert len(words.split()) > 3


def test_the_idea_is_the_source_in_its_own_words(stage_pages):
    source = (ROOT / "kernels" / STAGES["2d"].file).read_text(encoding="utf-8").splitlines()
    block = stage_pages.header("2d")
    assert block.startswith("```text\nC = alpha * A * B + beta * C, row-major, FP32.")
    assert [line.lstrip("/ ") for line in source[:4] if line.strip("/ ")][-1] in block
    assert "#include" not in block


def test_only_marked_blocks_are_renewed(generate, stage_pages, monkeypatch):
    monkeypatch.setattr(stage_pages, "BLOCKS", {**stage_pages.BLOCKS, "hot lines": lambda stage: f"lines of {stage}\n"})
    page = "kept\n<!-- hot lines wgmma-fp16 -->\nold\n<!-- end -->\nkept too\n<!-- other 2d -->\n<!-- end -->\n"
    assert generate.with_blocks(page) == (
        "kept\n<!-- hot lines wgmma-fp16 -->\n\nlines of wgmma-fp16\n\n<!-- end -->\nkept too\n"
        "<!-- other 2d -->\n<!-- end -->\n"
    )


def test_a_figure_is_drawn_again_only_where_it_shows_something_else(generate, tmp_path):
    import plotly.graph_objects as go

    drawing = sys.modules["drawing"]
    figure = go.Figure(data=[{"type": "bar", "x": [1.00000001, 2.0]}])
    path = tmp_path / "figure.svg"
    assert not drawing.is_drawn(path, figure)
    path.write_text(drawing._first_line(figure) + "<svg/>\n")
    assert drawing.is_drawn(path, figure)
    assert drawing.is_drawn(path, go.Figure(data=[{"type": "bar", "x": [1.00000002, 2.0]}]))  # another machine's bits
    assert not drawing.is_drawn(path, go.Figure(data=[{"type": "bar", "x": [1.1, 2.0]}]))


def test_a_drawing_is_set_on_a_card_without_what_differs_each_time(generate):
    drawing = sys.modules["drawing"]
    plotly = (
        '<svg width="100" height="50"><defs id="defs-4ceb5b"/><g clip-path="url(#clip4ceb5bx)">'
        '<text style="font-family: system-ui, \'Segoe UI\'; fill-opacity: 1; fill: red;" x="1.23456">0.00049</text>'
        "</g></svg>"
    )
    drawn = drawing._on_card(plotly)
    assert 'width="124" height="74"' in drawn
    assert "4ceb5b" not in drawn
    assert '<text style="fill: red;" x="1.23">0.00049</text>' in drawn
