"""``ncu-lab runs``."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ncu_lab.advice import as_called
from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import (
    DeviceOption,
    ExampleOption,
    Format,
    FormatOption,
    SinceOption,
    StoreOption,
    moment_from,
    store_to_read,
    store_words,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ncu_lab.model import RunMeta


class Ending(StrEnum):
    """How a run ended: the values of ``ncu_lab.model.Status``."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    BUILD_FAILED = "build_failed"
    CHECK_FAILED = "check_failed"
    PROFILE_FAILED = "profile_failed"


def runs(
    store: StoreOption = None,
    example: ExampleOption = False,
    stage: Annotated[
        list[str] | None,
        typer.Option("--stage", metavar="ID", help="Only runs of this stage; repeatable.", show_default=False),
    ] = None,
    device: DeviceOption = None,
    commit: Annotated[
        str | None,
        typer.Option(
            "--commit", "--rev", metavar="REV", help="Only runs of a revision, or of a range A..B.", show_default=False
        ),
    ] = None,
    status: Annotated[
        list[Ending] | None,
        typer.Option(
            "--status", metavar="STATUS", help=f"Only runs that ended so: {', '.join(Ending)}; repeatable.",
            show_default=False,
        ),
    ] = None,
    since: SinceOption = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="Only the newest so many.", show_default=False),
    ] = None,
    format: FormatOption = Format.TABLE,
) -> None:  # fmt: skip
    """List the runs of a store, newest first.

    A run directory that cannot be read is named on stderr and skipped.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.model import RunFilter
    from ncu_lab.render.terminal import emit
    from ncu_lab.workflows.indexing import list_runs

    wanted = RunFilter(
        stages=tuple(stage or ()),
        device=device,
        statuses=tuple(one.value for one in status or ()),
        since=None if since is None else moment_from(since),
    )
    folder = store_to_read(store, example, only_runs=True)
    with progress_reporter() as report:
        metas, notices = list_runs(folder, wanted, report)
    for notice in notices:
        warn(notice.message)
    if commit is not None:
        from ncu_lab.workflows.reading import commits_of

        of_commit = RunFilter(commits=commits_of(commit, metas))
        metas = [meta for meta in metas if of_commit.fits(meta)]
    shown = metas[:limit]
    if not shown and format is Format.TABLE:
        filtered = commit is not None or wanted != RunFilter()
        _say_there_are_none(folder, store_words(store, example), filtered)
        return
    emit([_row(meta) for meta in shown], _columns(format), format.value, sys.stdout, name="runs")
    if len(shown) < len(metas) and format is Format.TABLE:
        complain(f"the newest {len(shown)} of {len(metas)} runs")


def _say_there_are_none(folder: Path, where: str, filtered: bool) -> None:
    from ncu_lab.render.terminal import Terminal

    if filtered:
        complain(f"no runs in {folder} are so; ncu-lab runs{where} lists all")
        return
    complain(f"no runs in {folder}")
    where = "" if where == " --example" else where
    words = f"Make one: ncu-lab profile --stage 2d{where}, or ncu-lab import FILE{where}; or look at the bundled ones:"
    Terminal(sys.stdout).paragraph(as_called(f"{words} ncu-lab runs --example"))


def _columns(format: Format) -> list[Any]:
    from ncu_lab.render.terminal import Column

    if format is Format.CSV:
        return [Column(key, key) for key in _CSV]
    return [
        Column("id", "run", align="left"),
        # An id tells when, of what and of which commit: those columns go first where space is short.
        Column("created", "when (UTC)", lambda row: str(row["created"])[:16].replace("T", " "), "left", priority=5),
        Column("subject", "subject", _short_subject, "left", priority=4, least=8),
        Column("problem", "problem", priority=1),
        Column("device", "device", lambda row: _short_device(row["device"]), "left", priority=2),
        Column("commit", "commit", _short_commit, "left", priority=3),
        Column("status", "status", align="left"),
    ]


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
