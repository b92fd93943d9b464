"""What is generated in docs/stages/: headers of sources, expectations, hot lines, figures, and the index.

Figures and numbers are of the bundled run at 4096³; a page holds them between ``<!-- WORD STAGE -->`` and
``<!-- end -->``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import plotly.graph_objects as go
from drawing import WIDTH

from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Attribution, Ladder, LadderRow, RunView
from ncu_lab.render import numbers
from ncu_lab.render.attribution import waterfall_markdown
from ncu_lab.render.expectations import finding_columns, finding_rows
from ncu_lab.render.explanation import launch_sentences
from ncu_lab.render.figures import stalls
from ncu_lab.render.figures.attribution import waterfall_figure
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.matrix import finish, names_px
from ncu_lab.render.figures.roofline import roofline
from ncu_lab.render.figures.rows import place_rows, stage_label
from ncu_lab.render.ladder import step_words
from ncu_lab.render.palette import LIGHT
from ncu_lab.render.roofs import headline
from ncu_lab.render.source import CodeChoice, print_source
from ncu_lab.render.tables import Column, markdown_table
from ncu_lab.render.terminal import Terminal
from ncu_lab.render.wording import DTYPES, reason_name, top_stalls
from ncu_lab.resources import data_dir
from ncu_lab.workflows.climbing import ladder, view
from ncu_lab.workflows.locating import hot_spots
from ncu_lab.workflows.reading import open_run

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "stages"
FIGURES = FOLDER / "figures"
SIZE = 4096
REFERENCES = "references"
"""The page of all references."""

HOT_LINES = 8
_COLUMNS = 100
_STALLS_TOP_PX = 10


@cache
def _ladder() -> Ladder:
    return ladder(data_dir("examples"), size=SIZE)


@cache
def _view(run: str) -> RunView:
    return view(open_run(run, data_dir("examples")))


def _rows() -> dict[str, LadderRow]:
    whole = _ladder()
    return {row.stage.id: row for row in (*whole.rows, *whole.references)}


def _row(stage: str) -> LadderRow:
    """Return a stage's row of the bundled ladder.

    Raises:
        RuntimeError: When the bundled run does not have it.
    """
    try:
        return _rows()[stage]
    except KeyError:
        raise RuntimeError(f'the bundled run at {SIZE} has no stage "{stage}", which docs/stages/ tells of') from None


def page_of(stage: str) -> Path:
    """Return the page of a stage; all references are on one."""
    return FOLDER / f"{REFERENCES if load_stages()[stage].is_reference else stage}.md"


# --- Blocks ----------------------------------------------------------------------------------------------------


def header(stage: str) -> str:
    """Return what the source of a stage says at its top: the idea, what changed, what to expect, what is assumed."""
    source = data_dir("kernels") / load_stages()[stage].file
    lines = []
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return _text("\n".join(lines))


def expectations(stage: str) -> str:
    """Return what was expected of a stage, as a table; of all references together."""
    whole = _ladder()
    rows = whole.references if stage == REFERENCES else (_row(stage),)
    columns = [one for one in finding_columns() if one.key != "stage" or stage == REFERENCES]
    return markdown_table(finding_rows(rows), columns)


def hot_lines(stage: str) -> str:
    """Return the lines that matter most in a stage's code."""
    row = _row(stage)
    assert row.summary is not None
    stream = io.StringIO()
    found = hot_spots(_view(row.run).run, [row.summary.launch])[row.summary.launch]
    print_source(found, Terminal(stream, _COLUMNS), CodeChoice(lines=HOT_LINES))
    return _text(stream.getvalue())


def waits(stage: str) -> str:
    """Return the figure of what warps wait for, beside the predecessor and the reference."""
    return _image(f"{stage}-waits", f"What warps wait for: {_waits_words(stage)}")


def _waits_words(stage: str) -> str:
    rows = _ladder().references if stage == REFERENCES else (_row(stage),)
    told = []
    for row in rows:
        assert row.summary is not None
        named = [f"{reason_name(reason)} {numbers.share(share)}" for reason, share in top_stalls(row.summary, 3)]
        told.append(f"{stage_label(row.stage)}: {', '.join(named)}")
    return "; ".join(told)


def roof(stage: str) -> str:
    """Return the figure of a stage's place in the roofline of its family."""
    if stage == REFERENCES:
        return _image(f"{stage}-roof", "Tensor-core launches in the roofline")
    row = _row(stage)
    assert row.summary is not None
    seen, launch = _view(row.run), row.summary.launch
    return _image(f"{stage}-roof", f"{stage} in the roofline: {headline(seen.points[launch], seen.roofs[launch])}")


def change(stage: str) -> str:
    """Return why a stage takes longer or shorter than its predecessor: the waterfall, and the same as a table."""
    row = _row(stage)
    if not isinstance(row.attribution, Attribution):
        return "The bundled run has no predecessor of the same work to compare with.\n"
    explanation = _view(row.run).explanations[row.attribution.launch_b]
    words = next(one.words for one in launch_sentences(explanation) if one.topic == "change")
    table = waterfall_markdown(row.attribution)
    picture = _image(f"{stage}-change", words)
    return f"{words}\n\n{picture}\n<details><summary>The same as a table</summary>\n\n{table}\n</details>\n"


def index(_: str) -> str:
    """Return the table of all stages with a link to the page of each."""
    columns = [
        Column("stage", "stage", align="left", markup=True),
        Column("change", "changes", align="left"),
        Column("type", "type", align="left"),
        Column("time", "time"),
        Column("reference", "of cuBLAS"),
        Column("step", "step"),
        Column("bound", "bound by", align="left"),
    ]
    return markdown_table([_index_row(row) for row in _rows().values()], columns)


def _index_row(row: LadderRow) -> dict[str, str]:
    share = row.share_of_reference
    return {
        "stage": f"[{row.stage.id}]({page_of(row.stage.id).name})",
        "change": row.stage.change,
        "type": DTYPES[row.stage.dtype],
        "time": numbers.duration(row.median_ns),
        "reference": numbers.share(share),
        "step": step_words(row.step),
        "bound": row.verdict.bound if row.verdict else numbers.MISSING,
    }


BLOCKS: Mapping[str, Callable[[str], str]] = {
    "header": header,
    "expectations": expectations,
    "hot lines": hot_lines,
    "waits": waits,
    "roof": roof,
    "change": change,
    "index": index,
}
"""The word of a block -> what writes it, given the stage."""


def _text(words: str) -> str:
    lines = "\n".join(line.rstrip() for line in words.strip("\n").splitlines())
    return f"```text\n{numbers.plain_spaces(lines)}\n```\n"


def _image(name: str, words: str) -> str:
    return f"![{numbers.plain_spaces(words)}](figures/{name}.svg)\n"


# --- Figures ---------------------------------------------------------------------------------------------------


def figures() -> Iterator[tuple[Path, go.Figure]]:
    """Yield every figure of the pages, and the file that it belongs into."""
    whole = _ladder()
    for row in whole.rows:
        stage = row.stage.id
        if not page_of(stage).exists():
            continue
        family = "fp32" if row.stage.dtype == "fp32" else "tensor"
        yield FIGURES / f"{stage}-roof.svg", roofline(whole, LIGHT, WIDTH, "l1", family, selected=stage)
        before = [one for one in whole.rows if one.stage.id == row.stage.predecessor]
        beside = [one for one in whole.references if one.stage.id == row.stage.reference]
        yield FIGURES / f"{stage}-waits.svg", _stalls(replace(whole, rows=(*before, row), references=tuple(beside)))
        if isinstance(row.attribution, Attribution):
            names = (row.stage.predecessor or "", stage)
            yield FIGURES / f"{stage}-change.svg", waterfall_figure(row.attribution, *names, LIGHT, WIDTH)
    yield FIGURES / f"{REFERENCES}-roof.svg", roofline(whole, LIGHT, WIDTH, "l1", "tensor", selected="cublas-fp16")
    yield FIGURES / f"{REFERENCES}-waits.svg", _stalls(replace(whole, rows=()))


def _stalls(few: Ladder) -> go.Figure:
    """Draw what the warps of a few stages wait for, one stack each."""
    rows = place_rows(few)
    canvas = Canvas(LIGHT, WIDTH)
    left = names_px(rows)
    plot = WIDTH - left - 60
    stalls.draw(canvas, Panel(1, 0.0, plot - 40.0, plot), rows, few)
    return finish(canvas, rows, few.rows[-1].stage.id if few.rows else None, left, plot, _STALLS_TOP_PX)
