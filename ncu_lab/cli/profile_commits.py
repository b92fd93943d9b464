"""What ``ncu-lab profile --rev`` prints: the commits as they are done, and a table of them at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_lab.cli.messages import complain
from ncu_lab.cli.options import Format
from ncu_lab.errors import CheckFailedError, InputError, NcuLabError, ProgramError

if TYPE_CHECKING:
    from ncu_lab.model.commits import CommitOutcome, Ending
    from ncu_lab.workflows.profiling_commits import CommitsRequest

_WORDS: dict[Ending, str] = {
    "profiled": "✓ profiled",
    "stored": "= in the store",
    "build_failed": "✗ build failed",
    "check_failed": "✗ wrong result",
    "failed": "✗ failed",
}
_NO_STAGE = "– no such stage"
_ERRORS: dict[Ending, type[NcuLabError]] = {"check_failed": CheckFailedError, "failed": ProgramError}


def profile_and_print(request: CommitsRequest, store: Path, where: str, format: Format) -> None:
    """Profile commits and print what became of them, however the walk ends.

    Args:
        request: Which commits, and what of them.
        store: Folder of runs.
        where: The options that name the store, for commands that are told to be typed.
        format: Of the table.

    Raises:
        NcuLabError: What ended the walk; or what kept the only commit, or every one, from being profiled.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.profiling_commits import profile_commits, repository_here

    done: list[CommitOutcome] = []
    repository = repository_here(Path.cwd())
    try:
        with progress_reporter(request.profile.stages) as report:
            for outcome in profile_commits(request, repository, store, report):
                done.append(outcome)
                _tell(outcome)
    except KeyboardInterrupt:
        commits = "1 commit" if len(done) == 1 else f"{len(done)} commits"
        complain(f"stopped after {commits}; the same command goes on with the others")
        raise
    except NcuLabError:
        if done and format is Format.TABLE:
            _show(done, format)
        raise
    _show(done, format)
    if not any(one.is_complete for one in done):
        raise _none_profiled(request.revisions, done)
    if format is Format.TABLE:
        from ncu_lab.render.terminal import Terminal

        stage = "".join(f" --stage {id}" for id in request.profile.stages)
        Terminal(sys.stdout).command(f"ncu-lab history{stage}{where}", lead="Next: ")


def _none_profiled(revisions: str, outcomes: list[CommitOutcome]) -> NcuLabError:
    """Return the error for a walk that gave nothing; its exit code is that of the first stage that failed."""
    one = next((one for one in outcomes if one.endings), outcomes[0])
    stage = next(iter(one.endings), "")
    kind = _ERRORS.get(one.endings.get(stage, "build_failed"), InputError)
    return kind(f"no commit of {revisions} was profiled; {one.commit.short}: {one.why.get(stage, '')}")


def _tell(outcome: CommitOutcome) -> None:
    """Say at once what else is known only from the table at the end."""
    if outcome.endings and set(outcome.endings.values()) == {"stored"}:
        complain(f"         {outcome.commit.short}  is in the store already; --again profiles it once more")
        return
    for stage, why in outcome.why.items():
        ending = _WORDS[outcome.endings[stage]] if stage else _NO_STAGE
        complain(f"         {outcome.commit.short}  {ending}: {why}")


def _show(outcomes: list[CommitOutcome], format: Format) -> None:
    from ncu_lab.render.numbers import duration
    from ncu_lab.render.tables import Column
    from ncu_lab.render.terminal import emit

    def time(row: Any) -> str:
        return "–" if row["time_ns"] is None else duration(row["time_ns"])

    columns = [
        Column("commit", "commit", lambda row: row["commit"][:7], "left"),
        Column("subject", "subject", None, "left", priority=2, least=12),
        Column("stage", "stage", None, "left"),
        Column("time_ns", "time", time),
        Column("ending", "outcome", lambda row: _WORDS[row["ending"]] if row["ending"] else _NO_STAGE, "left"),
        Column("run", "run", None, "left", priority=3),
        Column("why", "why", None, "left", priority=1, least=12),
    ]
    rows = _rows(outcomes)
    if format is Format.TABLE and not any(row["why"] for row in rows):
        columns.pop()
    print(file=sys.stderr)
    emit(rows, columns, format.value, sys.stdout, name="commits")


def _rows(outcomes: list[CommitOutcome]) -> list[dict[str, Any]]:
    """Return a row for every commit and stage, and one for a commit without any."""
    return [
        {
            "commit": one.commit.hash,
            "time": one.commit.time,
            "subject": one.commit.subject,
            "stage": stage or None,
            "time_ns": one.times_ns.get(stage),
            "ending": one.endings.get(stage),
            "run": one.runs.get(stage),
            "why": one.why.get(stage),
        }
        for one in outcomes
        for stage in one.endings or [""]
    ]
