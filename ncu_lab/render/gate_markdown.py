"""``gate`` as Markdown for a pull request: the verdict, what fails, and the rest folded away."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_lab.model.gating import GateResult, Judged
from ncu_lab.render.gate import (
    FAILS,
    SIGNS,
    caveats,
    delta,
    half_words,
    limit_words,
    line_words,
    merged,
    notes,
    percent_words,
    title,
    value_words,
    verdict,
)
from ncu_lab.render.numbers import MISSING, plain_spaces
from ncu_lab.render.tables import Column, Row, escaped, markdown_table

MOST_CHARACTERS = 60_000
"""What fits: GitHub refuses comments of more than 65 536 characters."""

_COLUMNS = (
    Column("sign", "", align="left"),
    Column("kernel", "kernel", align="left"),
    Column("key", "quantity", align="left", markup=True),
    Column("a", "before"),
    Column("b", "after"),
    Column("change", "change"),
    Column("limit", "limit", align="left"),
    Column("notes", "", lambda row: str(row["notes"]), "left"),
)


def gate_markdown(result: GateResult) -> str:
    """Write a comment of at most :data:`MOST_CHARACTERS`; says how many lines it had to leave out."""
    sign = "✓" if result.passed else "✗"
    rest = [*result.reported("inconclusive"), *result.reported("improvement")]
    blocks = [f"### {sign} {escaped(verdict(result))}\n", f"{escaped(title(result))}\n"]
    blocks.append("".join(f"- {escaped(words)}\n" for words in caveats(result)))
    room = MOST_CHARACTERS - sum(map(len, blocks))
    for heading, judged in (("", result.failing), ("inconclusive or better", rest)):
        block = _table(judged, heading, room)
        room -= len(block)
        blocks.append(block)
    blocks.append(_missing(result.reported("missing"), room))
    return "\n".join(block for block in blocks if block)


def _table(judged: Sequence[Judged], heading: str, room: int) -> str:
    """Write quantities as a table, folded under a heading where there is one; as many as there is room for."""
    if not judged:
        return ""
    rows = [_row(one) for one in judged]
    kept = len(rows)
    while kept and len(text := markdown_table(rows[:kept], _COLUMNS)) > room - 200:
        kept = kept * 3 // 4
    text = markdown_table(rows[:kept], _COLUMNS) if kept else ""
    if kept < len(rows):
        text += f"\n{len(rows) - kept} more did not fit here: `--format json` has all.\n"
    return _folded(f"{len(rows)} {heading}", text) if heading else text


def _missing(judged: Sequence[Judged], room: int) -> str:
    lines = [f"- {escaped(plain_spaces(f'{told.kernels}: {told.words}'))}\n" for told in merged(judged)]
    text = "".join(lines)
    if not lines or len(text) > room - 200:
        return f"{len(judged)} missing: `--format json` names them.\n" if lines else ""
    return _folded(f"{len(judged)} missing", text)


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n</details>\n"


def _sign(one: Judged) -> str:
    return FAILS if one.fails else SIGNS[one.outcome]


def _row(one: Judged) -> Row:
    change = one.change
    if one.limit is None or one.outcome == "missing":
        return {"sign": _sign(one), "kernel": change.kernel, "key": escaped(change.key), "notes": line_words(one)}
    spread = "" if change.interval is None else f" ± {half_words(change.interval)}"
    told = [*([one.why] if one.outcome == "inconclusive" else []), *notes(change)]
    return {
        "sign": _sign(one),
        "kernel": change.kernel,
        "key": f"`{change.key}`",
        "a": value_words(change.a, change.unit),
        "b": value_words(change.b, change.unit),
        "change": MISSING if delta(change) is None else percent_words(delta(change)) + spread,
        "limit": limit_words(one).removeprefix("limit").lstrip(": "),
        "notes": ", ".join(told),
    }
