"""What is exported as Markdown: short enough for a comment on a pull request, and it says what it left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ncu_lab.model.exhibit import Exhibit, ExhibitedRun
from ncu_lab.render.diff import comparison_markdown, tally_words
from ncu_lab.render.expectations import findings_words
from ncu_lab.render.explanation import ladder_sentences
from ncu_lab.render.ladder import ladder_columns, ladder_rows, ladder_title
from ncu_lab.render.markdown import show_markdown
from ncu_lab.render.numbers import integer, plain_spaces
from ncu_lab.render.tables import escaped, markdown_table
from ncu_lab.render.verdict import verdict_words
from ncu_lab.render.visible import visible

COMMENT_LIMIT = 65_536
"""Characters that GitHub takes in a comment."""

_RESERVE = 400
"""Characters kept for what says what was left out."""

_HEADING = re.compile(r"(?m)^(?=#{2,4} )")


def exhibit_markdown(exhibit: Exhibit, most: int = COMMENT_LIMIT) -> str:
    """Write an exhibit: two runs by how they compare, else each run by its ladder, or by its launches.

    Args:
        exhibit: What to write.
        most: Characters at most; whole sections are left out, and counted, rather than cut.
    """
    if exhibit.comparison is not None:
        tally = f"{escaped(tally_words(exhibit.comparison))}\n"
        first, *pairs = _HEADING.split(comparison_markdown(exhibit.comparison).removesuffix(tally))[1:]
        blocks = [first, *pairs]
        return _fitted(blocks, most, tally)
    return _fitted([block for one in exhibit.runs for block in _run_blocks(one)], most, "")


def _run_blocks(one: ExhibitedRun) -> Iterator[str]:
    if one.ladder is None:
        for found in one.launches:
            yield show_markdown(found.view, found.view.summaries)
        if one.left:
            yield f"{integer(one.left)} shorter launches of this run are not told of.\n"
        return
    ladder = one.ladder
    rows = [row for row in ladder_rows(ladder) if row]
    yield f"### {escaped(ladder_title(ladder))}\n\n{markdown_table(rows, ladder_columns())}"
    yield "".join(f"{escaped(sentence.words)}\n\n" for sentence in ladder_sentences(ladder.explanation))
    judged = [row for row in (*ladder.rows, *ladder.references) if row.verdict]
    lines = [
        f"- **{escaped(row.stage.id)}**: {escaped(' '.join(part for part in parts if part))}\n"
        for row in judged
        if (parts := (verdict_words(row.verdict) if row.verdict else "", findings_words(row.findings)))
    ]
    yield f"#### What bounds each stage\n\n{''.join(lines)}" if lines else ""


def _fitted(blocks: Sequence[str], most: int, last: str) -> str:
    """Join as many whole blocks as fit before the last one, and say what of them did not."""
    told = [plain_spaces(visible(block)).strip("\n") for block in blocks if block.strip()]
    ending = plain_spaces(visible(last))
    room = most - len(ending) - _RESERVE
    kept: list[str] = []
    for block in told:
        if room - len(block) - 2 < 0:
            break
        kept.append(block)
        room -= len(block) + 2
    left = told[len(kept) :]
    if left:
        heads = [block.partition("\n")[0].lstrip("# ") for block in left]
        what = "1 section" if len(left) == 1 else f"{len(left)} sections"
        names = "; ".join(heads)
        cut = names if len(names) < _RESERVE // 2 else f"{names[: _RESERVE // 2]}…"
        kept.append(f"Left out, as a comment holds {most} characters: {what} ({cut}).")
    return "\n\n".join([*kept, *([ending.strip()] if ending else [])]) + "\n"
