"""``bisect`` for people and programs: the commit that moved a quantity, by how much, and which were looked at."""

from __future__ import annotations

from ncu_lab.model import Json
from ncu_lab.model.bisection import Bisection, Probe, Side
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.history import HistoryPoint
from ncu_lab.render import numbers
from ncu_lab.render.cause_words import cause_document, time_sentence
from ncu_lab.render.history import change_document, reference
from ncu_lab.render.history_words import amount, chance_words, point_amount, quantity_name, step_words
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.tables import Column, Row, escaped, markdown_table
from ncu_lab.render.terminal import BAD, MUTED, STRONG, Terminal, note_dropped
from ncu_lab.render.wording import problem_words

_NEARLY_ALL = 0.95
COLUMNS = (
    Column("commit", "commit", lambda row: row["commit"][:7], "left"),
    Column("subject", "subject", align="left", priority=1, least=14),
    Column("value", "value", lambda row: row["words"]),
    Column("side", "is", lambda row: row["sign"], "left", style=lambda row: row["style"]),
    Column("run", "run", align="left", priority=3),
    Column("why", "why", align="left", priority=2, least=14),
)


def print_bisection(found: Bisection, terminal: Terminal, where: str = "") -> None:
    """Print the commit, what it did, the way to it, and the command that explains it.

    Args:
        found: What was found.
        terminal: Where.
        where: The options that name the store, for commands that are told to be typed.
    """
    for words, style in _headline(found):
        terminal.paragraph(words, style)
    terminal.line()
    rows = bisection_rows(found)
    skipped = any(row["why"] for row in rows)
    note_dropped(terminal, terminal.table(rows, COLUMNS if skipped else COLUMNS[:-1]))
    terminal.line()
    terminal.command(
        f"ncu-lab diff {reference(found.before)} {reference(found.after)} --stage {found.stage}{where}", lead="Next: "
    )


def bisection_markdown(found: Bisection) -> str:
    """Write the same for a pull request or an issue."""
    points = "".join(f"- {escaped(words)}\n" for words, _ in _headline(found))
    return f"{points}\n{markdown_table(bisection_rows(found), COLUMNS)}"


def _headline(found: Bisection) -> list[tuple[str, str]]:
    last = found.suspects[-1]
    moved = f"moved {quantity_name(found.key)} of {found.stage}"
    if len(found.suspects) == 1:
        lines = [(f'{last.short} "{last.subject}" {moved}', STRONG)]
    else:
        among = ", ".join(one.short for one in found.suspects)
        lines = [(f"one of {among} {moved}: all but the last were skipped", STRONG)]
    before, after = (amount(found.key, one.estimate.value, found.unit) for one in (found.before, found.after))
    chance = chance_words(found.step)
    if isinstance(found.step, TimeChange) and len(found.suspects) == 1:
        sentence = time_sentence(found.stage, found.step, found.cause, f"since {last.short}")
        lines.append((sentence, STRONG))
    lines.append((f"{step_words(found.step)}   {before} → {after}" + (f"   {chance}" if chance else ""), ""))
    lines.append((_whole_words(found), ""))
    meta = found.after.meta
    context = [problem_words(meta.problem)] if meta.problem else []
    lines.append((" · ".join([*context, meta.device.name] if meta.device else context), MUTED))
    return [line for line in lines if line[0]]


def _whole_words(found: Bisection) -> str:
    good, bad = (one.commit.short if one.commit else MISSING for one in (found.good, found.bad))
    share = found.share_of_whole
    whole = f"{step_words(found.whole)} from {good} to {bad}"
    looked = f"looked at {len(found.probes)} of {found.searched - 1} commits between"
    if share > 1.0 / _NEARLY_ALL:
        return f"More than the whole change, {whole}: others moved it back; {looked}."
    if share >= _NEARLY_ALL:
        return f"That is the whole change, {whole}; {looked}."
    return f"That is {numbers.share(share)} of the change, {whole}: ncu-lab history shows the others; {looked}."


def bisection_rows(found: Bisection) -> list[Row]:
    """Return a row for each commit looked at, the ends first."""
    sides: tuple[tuple[HistoryPoint, Side], ...] = ((found.good, "good"), (found.bad, "bad"))
    ends = [Probe(one.commit, side, one) for one, side in sides if one.commit]
    rows: list[Row] = []
    for probe in [*ends, *found.probes]:
        point = probe.point
        rows.append(
            {
                **_commit(probe.commit),
                "value": point.estimate.value if point else None,
                "words": point_amount(found.key, point, found.unit) if point else MISSING,
                "unit": found.unit,
                "side": probe.side,
                "sign": {"good": "✓ good", "bad": "✗ bad", "skipped": "– skipped"}[probe.side],
                "style": BAD if probe.side == "bad" else "",
                "run": point.meta.id if point else None,
                "new": probe.is_new,
                "why": probe.why or None,
            }
        )
    return rows


def bisection_document(found: Bisection) -> Json:
    """Build the document of ``bisect``."""
    return {
        "key": found.key,
        "unit": found.unit,
        "stage": found.stage,
        "commit": found.suspects[-1].hash if len(found.suspects) == 1 else None,
        "suspects": [_commit(one) for one in found.suspects],
        "before": _end(found.before),
        "after": _end(found.after),
        "change": change_document(found.step),
        "good": _end(found.good),
        "bad": _end(found.bad),
        "whole": change_document(found.whole),
        "cause": cause_document(found.cause),
        "share_of_whole": found.share_of_whole,
        "searched": found.searched,
        "probes": [
            {key: row[key] for key in ("commit", "time", "subject", "side", "value", "run", "new", "why")}
            for row in bisection_rows(found)[2:]
        ],
    }


def _commit(one: CommitInfo) -> Json:
    return {"commit": one.hash, "time": one.time, "subject": one.subject}


def _end(point: HistoryPoint) -> Json:
    return {
        "commit": point.commit.hash if point.commit else None,
        "value": point.estimate.value,
        "n": point.estimate.n,
        "run": point.meta.id,
    }
