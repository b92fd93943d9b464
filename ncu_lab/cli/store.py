"""``ncu-lab store``: is it as it was written, and what of it may go?"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import ExampleOption, StoreOption, store_to_read, store_words
from ncu_lab.errors import Exit

if TYPE_CHECKING:
    from ncu_lab.model import Fate, PrunePlan, PrunePolicy, StoreHealth

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the store: check it, prune it.")


class ReportFormat(StrEnum):
    """How the commands of this group print what they found."""

    TABLE = "table"
    JSON = "json"


ReportFormatOption = Annotated[ReportFormat, typer.Option("--format", help="How to print what was found.")]


@app.command("check")
def check(
    store: StoreOption = None, example: ExampleOption = False, format: ReportFormatOption = ReportFormat.TABLE
) -> None:
    """Compare every file of all runs with its checksum, and read it.

    Names the run and the file of every damage. Exit code 1 when there is any.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.terminal import emit_document
    from ncu_lab.workflows.storekeeping import check_store

    folder = store_to_read(store, example, only_runs=True)
    with progress_reporter() as report:
        health = check_store(folder, report)
    if format is ReportFormat.JSON:
        emit_document({"store": str(folder), **dataclasses.asdict(health)}, sys.stdout)
    else:
        _print_health(folder, health)
    if health.damages:
        raise typer.Exit(int(Exit.FAILED_CHECK))


def _print_health(folder: Path, health: StoreHealth) -> None:
    from ncu_lab.render.numbers import si
    from ncu_lab.render.terminal import BAD, GOOD, Terminal

    terminal = Terminal(sys.stdout)
    for damage in health.damages:
        place = damage.run if damage.file is None else f"{damage.run}/{damage.file}"
        terminal.line(("✗ ", BAD), place)
        terminal.paragraph(f"{damage.message}. {damage.hint}", indent=4)
    looked_at = f"{_count(health.runs, 'run')}, {_count(health.files, 'file')}, {si(health.bytes, 'B')} in {folder}"
    if health.damages:
        runs = len({damage.run for damage in health.damages})
        terminal.line(f"{looked_at}: {_count(len(health.damages), 'damage')} in {_count(runs, 'folder')}")
    else:
        terminal.line(("✓ ", GOOD), f"{looked_at}: all as written")
    if health.not_covered:
        terminal.paragraph(
            f"Not covered: run.json of {_count(len(health.not_covered), 'run')} written before it had a checksum, "
            f"{health.not_covered[0]}{', …' if len(health.not_covered) > 1 else ''}: an edit of it would not show."
        )


@app.command("prune")
def prune(
    store: StoreOption = None,
    keep_last: Annotated[
        int | None,
        typer.Option(
            "--keep-last", metavar="N", min=1, help="Keep the newest N per stage, problem and GPU; of failed runs too.",
            show_default=False,
        ),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(
            "--keep-days", metavar="D", min=0, help="Keep those made in the last D days.", show_default=False
        ),
    ] = None,
    keep_tagged: Annotated[bool, typer.Option("--keep-tagged", help="Keep those of commits that have a git tag.")] = (
        False
    ),
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="RUN", help="Keep this run, a baseline; repeatable.", show_default=False),
    ] = None,
    drop_reports: Annotated[
        bool, typer.Option("--drop-reports", help="Delete only the raw reports of what is not kept.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    format: ReportFormatOption = ReportFormat.TABLE,
) -> None:  # fmt: skip
    """Show what a policy does not keep, and delete it if told to.

    A run stays when one rule keeps it. What no option says, the table [store] of ncu-lab.toml may. Nothing is deleted
    without --yes, or a y on a terminal. Runs that cannot be read stay.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.terminal import emit_document
    from ncu_lab.store.pruning import project_policy
    from ncu_lab.workflows import storekeeping

    asked: dict[str, Any] = {"keep_last": keep_last, "keep_days": keep_days, "keep": tuple(keep or ()) or None}
    asked |= {"keep_tagged": "*" if keep_tagged else None, "drop_reports": drop_reports or None}
    folder = store_to_read(store, False, only_runs=True)
    policy: PrunePolicy = dataclasses.replace(
        project_policy(Path.cwd()), **{key: value for key, value in asked.items() if value is not None}
    )
    with progress_reporter() as report:
        plan, notices = storekeeping.plan_prune(folder, policy, report=report)
    for notice in notices:
        warn(notice.message)
    if format is ReportFormat.TABLE:
        _print_plan(folder, plan)
    deletes = bool(plan.doomed or plan.leftovers) and (yes or (format is ReportFormat.TABLE and _agreed(plan)))
    if deletes:
        with progress_reporter() as report:
            storekeeping.prune(folder, plan, report)
    if format is ReportFormat.JSON:
        emit_document({"store": str(folder), **_document(plan), "deleted": deletes}, sys.stdout)
    elif deletes:
        complain("deleted")
    elif plan.doomed or plan.leftovers:
        complain(f"nothing was deleted; the same with --yes deletes: ncu-lab store prune{_words(store, asked)} --yes")


def _words(store: Path | None, asked: dict[str, Any]) -> str:
    """Return the options that were given, to follow the command."""
    words = [store_words(store)]
    for key, value in asked.items():
        option = f" --{key.replace('_', '-')}"
        if isinstance(value, tuple):
            words += [f"{option} {shlex.quote(one)}" for one in value]
        elif value is not None:
            words.append(option if key in ("keep_tagged", "drop_reports") else f"{option} {value:g}")
    return "".join(words)


def _agreed(plan: PrunePlan) -> bool:
    """Ask on a terminal; without one, nobody agreed."""
    what = "report" if plan.policy.drop_reports else "run"
    left = f" and {_count(len(plan.leftovers), 'leftover')}" if plan.leftovers else ""
    return _on_terminal() and typer.confirm(f"Delete {_count(len(plan.doomed), what)}{left}?", err=True)


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _print_plan(folder: Path, plan: PrunePlan) -> None:
    from ncu_lab.render.numbers import si
    from ncu_lab.render.terminal import Column, Terminal

    terminal, doomed = Terminal(sys.stdout), plan.doomed
    what = "report" if plan.policy.drop_reports else "run"
    if doomed:
        rows = [{"run": fate.run, "size": fate.bytes} for fate in doomed]
        size = Column("size", "size", lambda row: si(row["size"], "B"))
        terminal.table(rows, [Column("run", f"{what}s that no rule keeps", align="left"), size])
    for name in plan.leftovers:
        terminal.line(f"{name}  left by a writer that was killed")
    total = si(sum(fate.bytes for fate in doomed), "B")
    terminal.line(f"{_count(len(doomed), what)} would go ({total}), {len(plan.fates) - len(doomed)} stay in {folder}")
    for reason, count in _reasons(plan.fates).most_common():
        terminal.line(f"  {count}: {reason}")


def _reasons(fates: tuple[Fate, ...]) -> Counter[str]:
    return Counter(fate.kept_by for fate in fates if fate.kept_by is not None)


def _document(plan: PrunePlan) -> dict[str, Any]:
    return {
        "policy": dataclasses.asdict(plan.policy),
        "runs": [dataclasses.asdict(fate) for fate in plan.fates],
        "leftovers": list(plan.leftovers),
        "bytes": sum(fate.bytes for fate in plan.doomed),
    }
