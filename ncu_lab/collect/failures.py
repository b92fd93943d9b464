"""What ncu's complaints mean: from a log and the program's output to the first cause, as a typed error with its fix.

ncu's exit code says little (0 when nothing was profiled, the program's own when that failed), and its last line is
usually a consequence. So the whole log and the program's output are searched, and the first cause in them is told.
The causes themselves are in :mod:`ncu_lab.collect.causes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ncu_lab.collect.causes import CAUSES, COUNTER_CODES, Cause
from ncu_lab.collect.log import messages, parse_log, without_kernel_names
from ncu_lab.errors import NcuLabError

__all__ = [
    "CAUSES",
    "COUNTER_CODES",
    "Failure",
    "failure_of",
    "failure_of_run",
    "find_cause",
    "last_words",
    "nothing_profiled",
    "unknown_failure",
]

_SIGNAL_NAMES = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}

_FROM_OUTSIDE = (1, 2, 9, 15)
"""Signals that somebody sends (SIGHUP, SIGINT, SIGKILL, SIGTERM); others are a process's own doing."""

_HEADING = re.compile(r"An error was reported by|An error occurred while|For more information|Use --list|The file does")
"""Errors of ncu that only lead to, or follow, the one that says something."""

_SHUT_DOWN = "==PROF== Trying to shutdown target application"
"""ncu ends the program itself after a failure of its own; the code it then reports is of its own making."""

_NO_SUCH_RANGE = "No kernel is launched in such a range, by the thread that opened it. Without --nvtx all are profiled."
"""ncu names the kernels there are only where they were filtered by name."""

_MOST_NAMED = 30
"""How many kernels of a program are named when a filter matched none of them."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure with its cause.

    Attributes:
        code: Code of the cause; ``unknown`` for none of those known.
        error: What to raise.
        retryable: Whether the same command may succeed a little later.
    """

    code: str
    error: NcuLabError
    retryable: bool = False


def failure_of(code: str, **words: str) -> Failure:
    """Return the failure of a known cause, its message and hint filled with ``words``."""
    cause = CAUSES[code]
    message = " ".join(cause.message.format(**words).split())
    return Failure(code, cause.error(message, cause.hint.format(**words)), cause.retryable)


def find_cause(log: str, output: str = "") -> Failure | None:
    """Return the first cause in ncu's log or the program's output, None when there is none.

    Causes in the log come before those in the output; then an error of ncu that is not known; then consequences.
    """
    words = _words_of_ncu(log, output)
    searches: tuple[tuple[str, Callable[[Cause], bool]], ...] = (
        (words, lambda cause: not cause.is_consequence),
        (output, lambda cause: cause.in_output),
        (words, lambda cause: cause.is_consequence),
    )
    for text, wanted in searches:
        found = min(_matches(text, wanted), key=lambda pair: pair[0].start(), default=None)
        if found is None:
            continue
        match, cause = found
        # What ncu fails over without a word that is known is still nearer to the cause than what follows from it.
        if cause.is_consequence and _unknown_errors(words[: words.rfind("\n", 0, match.start()) + 1]):
            return unknown_failure(log, output)
        return _failure(match, cause, log, output)
    return None


def nothing_profiled(log: str, output: str, kernel: str | None, nvtx_range: str | None) -> Failure:
    """Return why a report holds no result.

    Args:
        log: ncu's log.
        output: What the program printed.
        kernel: The kernel filter in force.
        nvtx_range: The NVTX filter in force.
    """
    known = find_cause(log, output)
    if known is not None:
        return known
    words = _words_of_ncu(log, output)
    if _unknown_errors(words):
        return unknown_failure(log, output)
    filters = [text for text, given in ((f"-k {kernel}", kernel), (f"--nvtx {nvtx_range}", nvtx_range)) if given]
    if filters:
        # The list of kernels goes where the log goes, or to the console with an ncu that writes it there.
        available = parse_log(log).available or parse_log(output).available
        told = _suggestion(kernel, available) if kernel or available else _NO_SUCH_RANGE
        return failure_of("no_match", filters=" and ".join(filters), kernels_it_has=told)
    return failure_of("no_kernels")


def failure_of_run(exit_code: int, log: str, output: str) -> Failure:
    """Return why a run of ncu ended with a code that is not 0.

    Args:
        exit_code: Its exit code, negative where it was ended by a signal; a shell tells that by 128 more.
        log: ncu's log.
        output: What the program printed.
    """
    found = find_cause(log, output)
    if found is not None:
        return found
    if max(-exit_code, exit_code - 128) in _FROM_OUTSIDE and not parse_log(log).errors:
        return failure_of("ended_by_signal")  # ncu does not say so itself
    return unknown_failure(log, output)


def unknown_failure(log: str, output: str) -> Failure:
    """Return a failure in ncu's own words: its first error, else the last line of the program."""
    words = _words_of_ncu(log, output)
    errors = _unknown_errors(words) or parse_log(words).errors
    told = errors[0] if errors else (last_words(output, lines=1) or "it ended without a report and without a word")
    kernel = re.search(CAUSES["launch_failed"].pattern, words)
    if kernel is not None and kernel["kernel"] and kernel["kernel"] not in told:
        told = f"{told} (kernel {kernel['kernel']})"
    return failure_of("unknown", words=told)


def last_words(output: str, lines: int = 3) -> str:
    """Return the last lines a program printed, empty when it printed nothing."""
    printed = [line.rstrip() for line in output.splitlines() if line.strip() and not line.startswith("==")]
    return "\n  ".join(printed[-lines:])


def _suggestion(kernel: str | None, available: tuple[str, ...]) -> str:
    """Say which kernels there are, and how a filter has to be written to match their names."""
    if not available:
        return "ncu names no kernel of this program: does it use the GPU?"
    names = ", ".join(available[:_MOST_NAMED])
    if len(available) > _MOST_NAMED:
        names += f", and {len(available) - _MOST_NAMED} more"
    return f"{_name_base(kernel)}Kernels it has: {names}"


def _name_base(kernel: str | None) -> str:
    """Say what a filter is matched against, where it seems to be written for another form of the name."""
    if kernel is None:
        return ""
    if re.match(r"\^?_Z", kernel):
        return f"{kernel} looks like a mangled name; names are matched without mangling. "
    if "<" not in kernel and re.search(r"::|\\?\(|^\^?void ", kernel):
        return "Names are matched bare, without namespace, return type or arguments. "
    return ""


def _words_of_ncu(log: str, output: str) -> str:
    """Return what ncu said: it complains of its options on the console, before its log is open.

    Lines that only name kernels are left out: a kernel may be called anything.
    """
    return without_kernel_names("\n".join([log, *(f"=={mark}== {words}" for mark, words in messages(output))]))


def _matches(text: str, wanted: Callable[[Cause], bool]) -> Iterator[tuple[re.Match[str], Cause]]:
    for cause in CAUSES.values():
        if cause.pattern and wanted(cause):
            match = re.search(cause.pattern, text)
            if match is not None:
                yield match, cause


def _unknown_errors(words: str) -> tuple[str, ...]:
    """Return ncu's errors that no known cause explains."""
    known = [cause.pattern for cause in CAUSES.values() if cause.pattern]
    return tuple(
        error
        for error in parse_log(words).errors
        if error
        and not _HEADING.match(error)
        and not any(re.search(pattern, f"==ERROR== {error}") for pattern in known)
    )


def _failure(match: re.Match[str], cause: Cause, log: str, output: str) -> Failure:
    text, groups = match.string, match.groupdict()
    if "status" in groups:
        if _SHUT_DOWN in text[: match.start()]:
            return failure_of("unknown", words="it ended the program itself, and does not say why")
        groups["status"] = _status(int(match["status"]))
    # The words that name the kernel or the file may come a line after those that betray the cause.
    more = list(re.finditer(cause.pattern, text)) if not all(groups.values()) else []
    words = {name: value or next((one[name] for one in more if one[name]), "") for name, value in groups.items()}
    if "kernel" in words and not words["kernel"]:
        begun = parse_log(log).kernels or parse_log(output).kernels
        words["kernel"] = begun[-1].kernel if begun else ""
    return failure_of(cause.code, **words)


def _status(code: int) -> str:
    """Say an exit status: ncu reports a signal by its bare number, a shell by 128 more."""
    name = _SIGNAL_NAMES.get(code - 128 if code > 128 else abs(code))
    return f"exit code {code}, which is what {name} gives" if name else f"exit code {code}"
