"""``ncu-lab runs``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ncu_lab.advice import as_called
from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import ExampleOption, Format, FormatOption, StoreOption, store_to_read, store_words

if TYPE_CHECKING:
    from ncu_lab.model import RunMeta


def runs(store: StoreOption = None, example: ExampleOption = False, format: FormatOption = Format.TABLE) -> None:
    """List the runs of a store, newest first.

    A run directory that cannot be read is named on stderr and skipped.
    """
    from ncu_lab.render.terminal import Column, Terminal, emit
    from ncu_lab.workflows.reading import list_runs

    folder = store_to_read(store, example, only_runs=True)
    metas, notices = list_runs(folder)
    for notice in notices:
        warn(notice.message)
    columns = [
        Column("id", "run", align="left"),
        # An id tells when, of what and of which commit: those columns go first where space is short.
        Column("created", "when (UTC)", lambda row: str(row["created"])[:16].replace("T", " "), "left", priority=5),
        Column("subject", "subject", _short_subject, "left", priority=4, least=8),
        Column("problem", "problem", priority=1),
        Column("device", "device", lambda row: _short_device(row["device"]), "left", priority=2),
        Column("commit", "commit", _short_commit, "left", priority=3),
        Column("status", "status", align="left"),
    ]
    if not metas and format is Format.TABLE:
        complain(f"no runs in {folder}")
        where = store_words(store)
        words = (
            f"Make one: ncu-lab profile --stage 2d{where}, or ncu-lab import FILE{where}; or look at the bundled ones:"
        )
        Terminal(sys.stdout).paragraph(as_called(f"{words} ncu-lab runs --example"))
        return
    if format is Format.CSV:
        columns = [Column(key, key) for key in _CSV]
    emit([_row(meta) for meta in metas], columns, format.value, sys.stdout, name="runs")


_CSV = (
    "id", "created", "subject", "m", "n", "k", "alpha", "beta", "device", "commit", "dirty", "status", "source", "error"
)  # fmt: skip
"""The columns of the CSV: the problem as numbers, as its label for people is neither a number nor ASCII."""


def _row(meta: RunMeta) -> dict[str, Any]:
    return {
        "id": meta.id,
        "created": meta.created,
        "subject": meta.name or " ".join(meta.stages) or None,
        "stages": list(meta.stages),
        "problem": meta.problem.label if meta.problem else None,
        **{name: getattr(meta.problem, name, None) for name in ("m", "n", "k", "alpha", "beta")},
        "device": meta.device.name if meta.device else None,
        "commit": meta.git.commit,
        "dirty": meta.git.dirty,
        "status": meta.status,
        "source": meta.source,
        "error": meta.error,
    }


def _short_subject(row: Any) -> str:
    stages = row["stages"]
    if row["subject"] and len(stages) < 3:
        return str(row["subject"])
    return f"{stages[0]} … {stages[-1]} ({len(stages)} stages)" if stages else "–"


def _short_device(name: str | None) -> str:
    return (name or "–").removeprefix("NVIDIA ").removeprefix("GeForce ")


def _short_commit(row: Any) -> str:
    return (str(row["commit"])[:7] + ("+" if row["dirty"] else "")) if row["commit"] else "–"
