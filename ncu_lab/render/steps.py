"""``ladder --steps``: what bought each step, as log2 factors, which add along the ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model import Attribution, Chain, Ladder, LadderRow, Unattributed
from ncu_lab.render import numbers
from ncu_lab.render.attribution import unattributed_words
from ncu_lab.render.ladder import ladder_title, step_style, step_words
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import MUTED, STRONG, Terminal, note_dropped

_FACTORS = {
    "instructions": "inst.",
    "stalls": "stalls",
    "warps": "warps",
    "net": "net",
    "imbalance": "imb.",
    "clock": "clock",
    "residual": "resid.",
}
"""Keys of the factors -> how their columns are headed; net is stalls and warps as one."""

_FAMILIES = {"execution": "exec.", "shared / MIO": "shared", "global / L1TEX": "global"}
"""Families of stall reasons -> how their columns are headed, where that is shorter."""


def print_steps(ladder: Ladder, terminal: Terminal, where: str = "") -> None:
    """Print each step by factor, then its stalls by family; each table ends with the sum along the ladder.

    Args:
        ladder: What to print.
        terminal: Where.
        where: The options that name the store, so that what is to be typed works as printed.
    """
    terminal.paragraph(ladder_title(ladder), STRONG)
    terminal.paragraph(
        "Profiled duration against the predecessor's, as log2 factors: −1 halves it, +1 doubles it, and they add.",
        MUTED,
    )
    rows = [*step_rows(ladder.rows), *_total_rows(ladder.chain)]
    if not any(row.get("step") for row in rows):
        terminal.paragraph("No step can be split.")
    else:
        note_dropped(terminal, terminal.table(rows, factor_columns()))
        terminal.line()
        terminal.paragraph("Of these the stalls, by family:", MUTED)
        note_dropped(terminal, terminal.table(rows, family_columns()))
    for row in ladder.rows:
        if isinstance(row.attribution, Unattributed):
            why = unattributed_words(row.attribution, row.stage.predecessor or "", row.stage.id)
            terminal.paragraph(f"{row.stage.predecessor} → {row.stage.id}: {why}", MUTED)
    last = ladder.chain.stages[-2:] if ladder.chain else ()
    if last:
        terminal.command(f"ncu-lab diff {' '.join(last)}{where}", lead="Next: ")


def step_rows(rows: Sequence[LadderRow]) -> list[Row]:
    """Return a flat row for each stage that has a predecessor of the same work, with full precision."""
    return [_step_row(row) for row in rows if row.attribution is not None]


def _step_row(row: LadderRow) -> Row:
    names: Row = {"stage": row.stage.id, "predecessor": row.stage.predecessor}
    found = row.attribution
    if not isinstance(found, Attribution):
        return names
    return {
        **names,
        "a_ns": found.a_ns,
        "b_ns": found.b_ns,
        "step": found.a_ns / found.b_ns,
        **_logs(found.log2, found.stall_families_log2),
    }


def _total_rows(chain: Chain | None) -> list[Row]:
    if chain is None or len(chain.stages) < 3:
        return []
    total: Row = {
        "stage": f"{chain.stages[0]} → {chain.stages[-1]}",
        "predecessor": None,
        "step": 2.0**-chain.total_log2,
        **_logs(chain.log2, chain.stall_families_log2),
    }
    return [{}, total]


def _logs(log2: Mapping[str, float], families: Mapping[str, float]) -> Row:
    net = log2["stalls"] + log2["warps"]
    return {**{f"log2_{key}": value for key, value in log2.items()}, "log2_net": net,
            **{f"log2_stalls_{_key(name)}": value for name, value in families.items()}}  # fmt: skip


def _key(family: str) -> str:
    return family.split(" / ")[0]


def factor_columns() -> list[Column]:
    """Return the columns of the steps by factor; stages in full, then what bought them."""
    return [
        Column("stage", "stage", align="left"),
        Column("step", "step", _step, style=_style),
        *(_log_column(f"log2_{key}", title) for key, title in _FACTORS.items()),
        Column("predecessor", "since", align="left", priority=1),
    ]


def family_columns() -> list[Column]:
    """Return the columns of the steps' stalls by family, in stacking order."""
    families = [_log_column(f"log2_stalls_{_key(name)}", _FAMILIES.get(name, name)) for name in STALL_FAMILIES]
    return [Column("stage", "stage", align="left"), *families, _log_column("log2_stalls", "all")]


def step_columns() -> list[Column]:
    """Return the columns of both tables, for Markdown."""
    return [*factor_columns(), *(column for column in family_columns() if column.key not in ("stage", "log2_stalls"))]


def flat_step_columns() -> list[Column]:
    """Return the columns of CSV: everything of :func:`step_rows`."""
    keys = ["stage", "predecessor", "a_ns", "b_ns", "step", *(f"log2_{key}" for key in _FACTORS)]
    return [Column(key, key) for key in (*keys, *(f"log2_stalls_{_key(name)}" for name in STALL_FAMILIES))]


def all_step_rows(ladder: Ladder) -> list[Row]:
    """Return the steps and their sum, for documents."""
    return [row for row in (*step_rows(ladder.rows), *_total_rows(ladder.chain)) if row]


def _log_column(key: str, title: str) -> Column:
    return Column(key, title, lambda row: numbers.log2_factor(row.get(key)))


def _step(row: Row) -> str:
    return step_words(row.get("step"))


def _style(row: Row) -> str:
    return step_style(row.get("step"))
