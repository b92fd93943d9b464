"""The words of the ladder's cards about steps: what bought each, why two stages differ, what theory had expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncu_lab.model import ORIGINS, Attribution, Finding, Ladder, LadderRow, Unattributed
from ncu_lab.render import numbers
from ncu_lab.render.attribution import NET, unattributed_words, written_rows
from ncu_lab.render.expectations import (
    bounds_words,
    built_words,
    finding_rows,
    lacking,
    quantity_words,
    tally_words,
    value_words,
)
from ncu_lab.render.figures.badges import SIGNS
from ncu_lab.render.figures.published import SIGN, published_marks
from ncu_lab.render.figures.rows import place_rows
from ncu_lab.render.figures.steps import factor_words
from ncu_lab.render.launch_tables import Cell, Table
from ncu_lab.render.published import published_columns, published_rows
from ncu_lab.render.steps import all_step_rows, step_columns
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.wording import DTYPES

LEAST_LOG2 = 0.1
"""A factor of less than 7 % is not named in a title."""

_FACTORS: Mapping[str, str] = {
    "instructions": "instructions", "net": NET, "imbalance": "imbalance", "clock": "clock",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CardWords:
    """What a card says beside its figure: title, the muted line below it, foot, and the table of its values."""

    title: str
    note: str = ""
    foot: str = ""
    table: Table = ([], [])


def steps_card(ladder: Ladder) -> CardWords:
    """Say what the longest row of steps bought, and by what."""
    chain = ladder.chain
    note = "Left of the line: made it faster. ◆ the step itself. Steps follow the registered predecessor."
    if chain is None or len(chain.stages) < 2:
        return CardWords("What bought each step", "", _unsplit(ladder))
    log2 = {**chain.log2, "net": chain.log2["stalls"] + chain.log2["warps"]}
    title = f"{chain.stages[0]} to {chain.stages[-1]}: {factor_words(chain.total_log2)}"
    table = _table(all_step_rows(ladder), step_columns())
    foot = (
        "Profiled durations of the main kernels, n = 1; log2 factors add. Fewer warps wait less each and hide less: "
        f"read stalls and warps as one. Hue: families of stalls; hatched: other factors. {_unsplit(ladder)}"
    ).strip()
    return CardWords(f"{title}{_by(log2, chain.total_log2)}", note, foot, table)


def _by(log2: Mapping[str, float], total: float) -> str:
    """Name the factors that went the way of the whole, the largest first: ``, 22× by stalls ÷ warps``."""
    same_way = [
        (value, name) for key, name in _FACTORS.items() if (value := log2[key]) * total > 0 and abs(value) > LEAST_LOG2
    ]
    same_way.sort(key=lambda entry: -abs(entry[0]))
    told = [f"{numbers.ratio(2.0 ** abs(value))} by {name}" for value, name in same_way[:2]]
    return f", {' and '.join(told)}" if told else ""


def _unsplit(ladder: Ladder) -> str:
    """Name the steps that cannot be split, and why."""
    told = [
        f"{row.stage.predecessor} → {row.stage.id}: {why}."
        for row in ladder.rows
        if isinstance(row.attribution, Unattributed)
        and (why := unattributed_words(row.attribution, row.stage.predecessor or "", row.stage.id))
    ]
    return " ".join(told)


def waterfall_card(a: LadderRow, b: LadderRow, found: Attribution) -> CardWords:
    """Say how the duration of one stage becomes that of another."""
    total = sum(found.log2.values())
    log2 = {**found.log2, "net": found.log2["stalls"] + found.log2["warps"]}
    title = f"{a.stage.id} → {b.stage.id}: {factor_words(total)}{_by(log2, total)}"
    change = numbers.duration_change(found.b_ns - found.a_ns, max(found.a_ns, found.b_ns))
    note = (
        f"{numbers.duration(found.a_ns, 4)} → {numbers.duration(found.b_ns, 4)} ({change}) under the profiler, n = 1 "
        "each; factors multiply, split by the logarithmic mean."
    )
    rows: list[list[Cell | str]] = [
        [row.label, row.values or numbers.MISSING, Cell(part, row.ns), Cell(share, 100.0 * row.ns / found.a_ns)]
        for row, part, share in written_rows(found)
    ]
    foot = "Fewer warps wait less each and hide less: the bracket nets stalls and warps. The residual is what "
    foot += "counters from different replays of the kernel leave unexplained."
    caveat = _other_work(a, b)
    return CardWords(title, note, f"{caveat} {foot}".strip(), (["Factor", "A → B", "Part", "Of A"], [*rows]))


def _other_work(a: LadderRow, b: LadderRow) -> str:
    """Warn where two stages do not do the same work; empty where they do."""
    if a.stage.dtype != b.stage.dtype:
        types = f"{a.stage.id} multiplies {DTYPES[a.stage.dtype]}, {b.stage.id} {DTYPES[b.stage.dtype]}"
        return f"Not the same work: {types}."
    if a.problem != b.problem:
        return f"Not the same work: {a.stage.id} is of {a.problem.label}, {b.stage.id} of {b.problem.label}."
    return "" if a.run == b.run else "The two stages are from different runs."


def no_waterfall(ladder: Ladder, a: str, b: str, found: Unattributed | None) -> str:
    """Say why there is no split of two stages, and what would help."""
    if a == b:
        return f"Both ends are {a}: choose two stages."
    for stage in filter(None, (a, b)):
        row = ladder.row(stage)
        if row is None:
            return f"{stage} is not on this ladder."
        if row.summary is None:
            return f"{stage} was timed but not profiled: its counters tell nothing."
    return f"{a} → {b}: {unattributed_words(found, a, b)}." if found else f"{a} → {b} cannot be split."


def theory_card(ladder: Ladder, stage: str | None) -> CardWords:
    """Say how many expectations were met: those of one stage, else of all of them."""
    row = ladder.row(stage)
    rows = (*ladder.rows, *ladder.references)
    findings = [finding for one in rows for finding in one.findings]
    table = _findings_table(rows)
    if row is None:
        title = f"Against theory: {tally_words(findings)}" if findings else "Nothing is expected of these stages"
        return CardWords(title, "Choose a stage, in any figure: what it was expected to show stands here.", "", table)
    note = row.stage.change or row.stage.title
    if not row.findings:
        return CardWords(f"{row.stage.id}: no expectations declared", note, "", table)
    origins = dict.fromkeys(one.expectation.source for one in row.findings)
    told = [f"{origin}: {ORIGINS[origin]}" for origin in origins]
    foot = "; ".join(told) + ". " + " ".join(f"{words}." for words in (*lacking([row]), *built_words([row])))
    return CardWords(f"{row.stage.id} against theory: {tally_words(row.findings)}", note, foot.strip(), table)


def expected_words(finding: Finding) -> tuple[str, str, str]:
    """Return a finding as people read it: the quantity, what was expected of it, and what was measured."""
    one = finding.expectation
    against = f" {one.against}" if one.against else ""
    return quantity_words(one.key), f"{bounds_words(one)}{against}", value_words(one, finding.measured)


def _findings_table(rows: Sequence[LadderRow]) -> Table:
    header = ["Stage", "Quantity", "Expected", "Measured", "", "From", "Arithmetic"]
    lines: list[list[Cell | str]] = []
    for row in finding_rows(rows):
        quantity, expected, measured = expected_words(row["finding"])
        value = Cell(measured, row["measured"])
        status = f"{SIGNS[row['status']]} {str(row['status']).replace('_', ' ')}"
        lines.append([str(row["stage"]), quantity, expected, value, status, str(row["source"]), str(row["derivation"])])
    return header, [*lines]


def published_table(ladder: Ladder) -> Table:
    """Return one's own figures beside the published ones."""
    rows = published_rows(ladder)
    return _table(rows, published_columns(ladder, rows))


def published_note(ladder: Ladder) -> str:
    """Say what the mark of a published figure means; empty where none is drawn."""
    drawn = published_marks(ladder, place_rows(ladder))
    return f"{SIGN} published: the same share of the reference in its own source." if drawn else ""


def published_foot(ladder: Ladder) -> str:
    """Name the GPUs and sources of the published figures of the stages that are shown; empty without any."""
    shown = {row.stage.id for row in (*ladder.rows, *ladder.references)}
    sources: dict[str, dict[str, None]] = {}
    for figure in ladder.published:
        if figure.stage in shown:
            sources.setdefault(figure.source, {})[figure.gpu] = None
    told = [f"{' and '.join(gpus)}, by {source}" for source, gpus in sources.items()]
    return f"Published: {'; '.join(told)}. Notes and links: ncu-lab ladder --published" if told else ""


def _table(rows: Sequence[Row], columns: Sequence[Column]) -> Table:
    """Return rows as people read them, numbers with their value."""
    lines = [[_cell(row, column) for column in columns] for row in rows]
    return [column.title for column in columns], [*lines]


def _cell(row: Row, column: Column) -> Cell | str:
    value = row.get(column.key)
    return Cell(column.cell(row), float(value)) if isinstance(value, int | float) else column.cell(row)
