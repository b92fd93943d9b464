"""One run of ncu from options to tables: the way that stages, any program and doctor's probe share.

ncu's exit code is not believed: what counts is the report read back. Each run has a private folder, so a report that
was there before can never be taken for the new one.
"""

from __future__ import annotations

import difflib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from ncu_lab.collect.command import Collection, Selection, build_argv
from ncu_lab.collect.failures import (
    Failure,
    failure_of,
    failure_of_run,
    find_cause,
    last_words,
    nothing_profiled,
)
from ncu_lab.collect.log import KernelProgress, parse_log
from ncu_lab.collect.ncu import Ncu, NcuOutcome, known_sections, known_sets, run_ncu
from ncu_lab.errors import InputError, NcuLabError, UsageError
from ncu_lab.model import LOSSES, Notice, ParsedReport, ProgressEvent, Reporter, silent
from ncu_lab.parse.files import damage_told
from ncu_lab.parse.report import read_report

RETRIES = 2
RETRY_DELAY_S = 5.0
"""Counters held by another tool are often free again shortly after: DCGM samples in bursts."""

_PLACEHOLDER = Path("…")

_EXPECTED_WARNINGS = ("Note: Running with unmodified GPU clocks", "Unable to access the following", "No kernels were")
"""What ncu says of every run here: the run records its clock control, and what is not collected shows as missing."""


_NOT_IMPORTED = "Failed to import the following source files:"
_TOOLKIT_SOURCE = "cuda/include/"
"""How builds name the toolkit's headers: a path that exists on no machine."""


class CollectionError(Exception):
    """ncu gave no usable report; carries the failure and what the program printed."""

    def __init__(self, failure: Failure, output: str = "") -> None:
        super().__init__(failure.error.message)
        self.failure = failure
        self.output = output


@dataclass(frozen=True, slots=True)
class Collected:
    """What one run of ncu gave.

    Attributes:
        parsed: What the report holds.
        report: The report; its folder goes when the block of :func:`collect` ends.
        passes: Most passes that a kernel took; None when the log does not say.
        notices: What ncu warned of, beyond what it always says.
        shortfall: Why this is not all that was asked for, though it is usable; None when it is.
        seconds: How long ncu ran.
    """

    parsed: ParsedReport
    report: Path
    passes: int | None
    notices: tuple[Notice, ...]
    shortfall: NcuLabError | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Job:
    """What ncu is to do.

    Attributes:
        ncu: The ncu to use.
        target: Command line of the program.
        collection: What to collect.
        selection: Which launches.
        timeout_s: Seconds after which it is ended.
        subject: Name in progress events.
        expected_kernels: How many kernels are expected; None where nobody knows.
    """

    ncu: Ncu
    target: tuple[str, ...]
    collection: Collection
    selection: Selection
    timeout_s: float
    subject: str
    expected_kernels: int | None = None

    def argv(self, folder: Path = _PLACEHOLDER) -> list[str]:
        """Return ncu's command line, with its files in ``folder``."""
        return build_argv(
            str(self.ncu.path),
            self.target,
            report=folder / "report.ncu-rep",
            log=folder / "ncu.log",
            collection=self.collection,
            selection=self.selection,
            ignore_config=self.ncu.can_ignore_config,
        )


def check_collection(ncu: Ncu, collection: Collection) -> None:
    """Refuse sections and sets this ncu does not list, before anything is run.

    Raises:
        UsageError: Names the first unknown one, and the nearest known.
    """
    if collection.sections:
        _check_known("section", collection.sections, known_sections(ncu))
    if collection.section_set is not None:
        _check_known("set", (collection.section_set,), known_sets(ncu))


def _check_known(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        # An ncu that lists nothing readable decides for itself; its answer is understood too.
        if known and name not in known and not name.startswith("regex:"):
            near = difflib.get_close_matches(name, known, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"ncu knows no {what} {name}.{meant}", f"It knows: {', '.join(known)}")


@contextmanager
def collect(job: Job, report: Reporter = silent) -> Iterator[Collected]:
    """Run ncu and read its report back; the report file is there until the block ends.

    Raises:
        CollectionError: When there is no usable result.
        EnvironmentLacksError: When ncu cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        for attempt in range(RETRIES + 1):
            try:
                collected = _collect_once(job, Path(folder, str(attempt)), report)
                break
            except CollectionError as error:
                if not error.failure.retryable or attempt == RETRIES:
                    raise
                report(ProgressEvent("profile", job.subject, "update", f"{error}; trying again"))
                time.sleep(RETRY_DELAY_S)
        yield collected


def _collect_once(job: Job, folder: Path, report: Reporter) -> Collected:
    folder.mkdir()
    argv = job.argv(folder)
    outcome = run_ncu(
        argv,
        log_path=folder / "ncu.log",
        output_path=folder / "output",
        timeout_s=job.timeout_s,
        on_progress=_progress(job, report),
    )
    if outcome.timed_out:
        raise CollectionError(_timeout(job, outcome), outcome.output)
    return _read_back(job, folder / "report.ncu-rep", outcome)


def _progress(job: Job, report: Reporter) -> Callable[[KernelProgress], None]:
    def tell(state: KernelProgress) -> None:
        total = state.total or job.expected_kernels or 0
        known = total >= state.number
        of = f" of {total}" if known else ""
        fraction = (state.number - 1 + state.percent / 100) / total if known else None
        report(ProgressEvent("profile", job.subject, "update", f"kernel {state.number}{of}, {state.kernel}", fraction))

    return tell


def _timeout(job: Job, outcome: NcuOutcome) -> Failure:
    kernels = parse_log(outcome.log).kernels
    where = f" in kernel {kernels[-1].number} ({kernels[-1].kernel})" if kernels else " before the first kernel"
    return failure_of("timeout", seconds=f"{job.timeout_s:g}", where=where)


def _read_back(job: Job, path: Path, outcome: NcuOutcome) -> Collected:
    """Decide by the report itself whether the run went well."""
    log = parse_log(outcome.log)
    if not path.exists():
        raise CollectionError(_no_report(job, outcome), outcome.output)
    try:
        with damage_told(path):
            parsed = read_report(path)
    except InputError as error:
        empty = not log.kernels and outcome.exit_code == 0
        known = _no_report(job, outcome) if empty else find_cause(outcome.log, outcome.output)
        raise CollectionError(known or Failure("unreadable", error), outcome.output) from error
    return Collected(
        parsed=parsed,
        report=path,
        passes=max((kernel.passes or 0 for kernel in log.kernels), default=0) or None,
        notices=tuple(Notice("ncu", text) for text in _worth_telling(log.warnings)),
        shortfall=_shortfall(job, parsed, outcome),
        seconds=outcome.seconds,
    )


def _worth_telling(warnings: Sequence[str]) -> list[str]:
    """Leave out what ncu warns of in every run, and that it has no source of the toolkit's own headers."""
    told = [text for text in warnings if not text.startswith((*_EXPECTED_WARNINGS, _TOOLKIT_SOURCE))]
    if _NOT_IMPORTED in warnings:
        first = warnings.index(_NOT_IMPORTED) + 1
        files = list(takewhile(lambda text: "/" in text and " " not in text, warnings[first:]))
        if all(file.startswith(_TOOLKIT_SOURCE) for file in files):
            told.remove(_NOT_IMPORTED)
    return told


def _shortfall(job: Job, parsed: ParsedReport, outcome: NcuOutcome) -> NcuLabError | None:
    """Return what is missing from a usable report: results after a failure, lost results, metrics asked for."""
    count = len(parsed.launches)
    kept = f"; {count} profiled launch{'es' if count != 1 else ''} until then {'are' if count != 1 else 'is'} kept"
    if outcome.exit_code:
        error = failure_of_run(outcome.exit_code, outcome.log, outcome.output).error
        return type(error)(error.message + kept, _with_last_words(error.hint, outcome.output))
    for notice in parsed.notices:
        if notice.code in LOSSES:
            return failure_of("incomplete", loss=notice.message).error
    missing = _not_collected(job.collection.metrics, parsed)
    if missing:
        return failure_of("not_collected", metrics=", ".join(missing)).error
    return None


def _not_collected(metrics: Sequence[str], parsed: ParsedReport) -> list[str]:
    """Return the metrics asked for that no launch has.

    A counter without a suffix stands for all of them (``.sum``, ``.avg`` …); ``group:``, ``regex:`` and their like
    name no metric at all.
    """
    table = parsed.metrics
    present = {*table.loc[table["value"].notna() | table["text"].notna(), "metric"], *parsed.instances["metric"]}
    stems = {name.partition(".")[0] for name in present}
    return [name for name in metrics if ":" not in name and name not in present and name not in stems]


def _no_report(job: Job, outcome: NcuOutcome) -> Failure:
    if outcome.exit_code == 0:
        return nothing_profiled(outcome.log, outcome.output, job.selection.kernel, job.selection.nvtx_range)
    failure = failure_of_run(outcome.exit_code, outcome.log, outcome.output)
    if failure.code == "program_failed":
        failure.error.hint = _with_last_words(failure.error.hint, outcome.output)
    return failure


def _with_last_words(hint: str, output: str) -> str:
    words = last_words(output)
    return f"{hint} Its last words:\n  {words}" if words else hint
