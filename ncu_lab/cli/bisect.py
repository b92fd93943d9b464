"""``ncu-lab bisect``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import complain
from ncu_lab.cli.options import (
    DeviceOption,
    Format,
    FormatOption,
    SizeOption,
    StoreOption,
    problem_from,
    resolve_store,
    store_words,
)
from ncu_lab.errors import NcuLabError, UsageError

if TYPE_CHECKING:
    from ncu_lab.collect.revisions import Repository
    from ncu_lab.workflows.bisecting import BisectRequest

GOOD, BAD, SKIP, ABORT = 0, 1, 125, 128
"""What ``git bisect run`` makes of an exit code; from 128 on it stops."""


def abort_code(arguments: Sequence[str]) -> int:
    """Return what to add to the exit code of an error: git must stop at it, and takes 1 to 127 for a bad commit.

    Zero unless the command line is one step of git's search. A misspelt ``--step`` is known by the search under way.

    Args:
        arguments: The command line without the program.
    """
    command = next((word for word in arguments if not word.startswith("-")), None)
    return ABORT if command == "bisect" and ("--step" in arguments or _is_searching(Path.cwd())) else 0


def _is_searching(folder: Path) -> bool:
    """Whether ``git bisect`` is under way in the repository around a folder."""
    from ncu_lab.collect.git import GitRefusedError, git

    try:
        return (folder / git(folder, "rev-parse", "--git-path", "BISECT_START").strip()).exists()
    except GitRefusedError:
        return False


def bisect(
    good: Annotated[str, typer.Option("--good", metavar="REV", help="A commit before the change.", show_default=False)],
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            metavar="ID",
            help="Of which stage. Default: the only one in which the runs of both ends differ.",
            show_default=False,
        ),
    ] = None,
    bad: Annotated[str, typer.Option("--bad", metavar="REV", help="A later commit, after it.")] = "HEAD",
    metric: Annotated[
        str, typer.Option("--metric", metavar="KEY", help="What changed: time_ns, or any key of docs/metrics.md.")
    ] = "time_ns",
    size: SizeOption = None,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", min=1, help="Unprofiled timings of commits profiled now.")
    ] = 10,
    device: DeviceOption = None,
    stored_only: Annotated[
        bool, typer.Option("--stored-only", help="Profile nothing: name the commit that needs a run.")
    ] = False,
    one_step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="Judge HEAD alone, for git bisect run: exit code 0 good, 1 bad, 125 to skip, from 128 on to stop.",
        ),
    ] = False,
    store: StoreOption = None,
    format: FormatOption = Format.TABLE,
) -> None:  # fmt: skip
    """Find the commit that moved a time or a counter.

    Halves the commits between a good and a bad one along first parents. A commit is as good or bad as the end that its
    value is nearer to. Runs in the store come first; where none is left, the commit in the middle is profiled in a git
    worktree of its own. Commits that do not build or check are skipped.

    The two ends must differ by the verdict of ncu-lab diff, which is also given for the commit found. With --step it is
    the command of git bisect: git bisect run ncu-lab bisect --step --good A --bad B --stage ID --metric KEY
    """
    from ncu_lab.model import RunFilter
    from ncu_lab.workflows.bisecting import BisectRequest
    from ncu_lab.workflows.profiling import ProfileRequest
    from ncu_lab.workflows.profiling_commits import repository_here

    request = BisectRequest(
        good=good,
        bad=bad,
        key=metric,
        stage=stage,
        wanted=RunFilter(device=device, problem=None if size is None else problem_from(size)),
        profile=None
        if stored_only
        else ProfileRequest((stage,) if stage else (), problem_from(size), samples, references=False),
    )
    folder, where = resolve_store(store, False), store_words(store)
    if one_step:
        raise typer.Exit(_judge_head(request, folder, where, format))
    _search(request, repository_here(Path.cwd()), folder, where, format)


def _search(request: BisectRequest, repository: Repository, store: Path, where: str, format: Format) -> None:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.bisection import (
        COLUMNS,
        bisection_document,
        bisection_markdown,
        bisection_rows,
        print_bisection,
    )
    from ncu_lab.render.terminal import Terminal, emit, emit_document
    from ncu_lab.workflows.bisecting import bisect as search

    with progress_reporter() as report:
        found = search(request, repository, store, where, report)
    if format is Format.JSON:
        emit_document(bisection_document(found), sys.stdout)
    elif format is Format.CSV:
        emit(bisection_rows(found), COLUMNS, format.value, sys.stdout)
    elif format is Format.MARKDOWN:
        sys.stdout.write(Terminal(sys.stdout).spell(bisection_markdown(found)))
    else:
        print_bisection(found, Terminal(sys.stdout), where)


def _judge_head(request: BisectRequest, store: Path, where: str, format: Format) -> int:
    """Return the exit code for ``git bisect run``; an error must stop it, not count as bad.

    Raises:
        UsageError: When a format is asked for: the exit code is all there is.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.bisecting import step
    from ncu_lab.workflows.profiling_commits import repository_here

    try:
        if format is not Format.TABLE:
            raise UsageError("--step has no output but its exit code", "Leave --format out.")
        with progress_reporter() as report:
            probe = step(request, repository_here(Path.cwd()), store, where, report)
    except NcuLabError as error:
        complain(f"error: {error.message}")
        if error.hint:
            complain(f"  {error.hint}")
        return ABORT + int(error.exit_code)
    return {"good": GOOD, "bad": BAD, "skipped": SKIP}[probe.side]
