"""``show`` as Markdown: what the terminal tells of each launch, for a pull request or a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ncu_lab.model import LaunchSummary, RunView
from ncu_lab.render.access import Part
from ncu_lab.render.source import Code, source_markdown
from ncu_lab.render.summary import (
    launch_columns,
    launch_lines,
    launch_row,
    launch_title,
    run_title,
    state_words,
    told_around,
)
from ncu_lab.render.tables import escaped, markdown_table

_GAP = re.compile(r" {2,}")


def show_markdown(view: RunView, summaries: Sequence[LaunchSummary], *, code: Code | None = None) -> str:
    """Write launches of a run: a table of all, then each with its waits, occupancy, accesses and roofline."""
    blocks = [escaped(words) + "\n" for words, _ in state_words(view)]
    if summaries:
        blocks.append(f"**{escaped(run_title(view, summaries))}**\n")
        blocks.append(markdown_table([launch_row(one) for one in summaries], launch_columns(summaries)))
    for summary in summaries:
        lines = _list(launch_lines(view, summary))
        first, others = told_around(view, summary)
        told = "".join(f"{escaped(one.words)}\n\n" for one in first)
        blocks.append(f"### {escaped(launch_title(view, summary, context=False))}\n\n{told}{''.join(lines)}")
        blocks += [escaped(one.words) + "\n" for one in others]
        if code is not None:
            blocks.append(source_markdown(code.spots[summary.launch], code.choice))
    return "\n".join(blocks)


def _list(lines: Sequence[tuple[str, list[Part]]]) -> list[str]:
    """Write lines as a list; one without a label goes on with the one before."""
    told: list[str] = []
    for label, parts in lines:
        if label:
            told.append(f"- {label}: {_text(parts)}\n")
        else:
            told[-1] = f"{told[-1].rstrip()} · {_text(parts)}\n"
    return told


def _text(parts: Sequence[Part]) -> str:
    """Join the parts of a line; what the terminal sets apart by spaces is here by a dot."""
    words = "".join(part if isinstance(part, str) else part[0] for part in parts)
    return escaped(_GAP.sub(" · ", words.strip()))
