"""Reading ncu's log: how far it is, which kernels it saw, what it complained about.

The log is what ``--log-file`` holds, or a console where the program's output is mixed in: lines that are not ncu's
are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PROFILING = re.compile(
    r'^==PROF== Profiling (?:\w+ )?"(?P<kernel>.*)"(?: - \d+)?(?: \((?P<nth>\d+)/(?P<total>\d+)\))?: ?(?P<rest>.*)$'
)
_PERCENT = re.compile(r"(\d+)%(\.*)")
_PASSES = re.compile(r"100% - (\d+) pass")
_PERCENT_OF_DOT = 10
"""``0%....50%`` has four dots: one for each ten percent between the figures."""
_KERNEL_ITEM = re.compile(r"^\s*\d+\. (?P<name>.+?)\s*$")
_KERNEL_LIST = "Available Kernels:"

_MARK = r"==(?:PROF|WARNING|ERROR)=="
_MESSAGE = re.compile(rf"==(?P<mark>PROF|WARNING|ERROR)==(?P<words>.*?)(?={_MARK}|$)", re.MULTILINE)
"""A message of ncu; it need not begin a line, where the program or ncu itself had not ended one."""
_NAMES_ONLY = re.compile(
    rf"==PROF== (?:Profiling|Connected|Disconnected|Report)\b.*?(?={_MARK}|$)|^\s*\d+\. .*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class KernelProgress:
    """How far ncu is.

    Attributes:
        number: The kernel under way, counted from 1 over the whole log.
        kernel: Its name as ncu prints it, long ones shortened.
        percent: 0 to 100.
        passes: Number of passes, once it is done.
        total: How many kernels ncu will profile, where it says so.
    """

    number: int
    kernel: str
    percent: int
    passes: int | None = None
    total: int | None = None


class LogReader:
    """Follows a log that is still being written: feed it what was appended, whole lines or not."""

    def __init__(self) -> None:
        self._unfinished = ""
        self._state: KernelProgress | None = None
        self._line_is_counted = False

    def feed(self, text: str) -> KernelProgress | None:
        """Take appended text and return the latest progress; None while no kernel has been started."""
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._take(line)
            self._line_is_counted = False
        self._take(self._unfinished)
        return self._state

    def _take(self, line: str) -> None:
        match = _PROFILING.match(line)
        if match:
            self._begin(match)
        elif self._state is not None and self._state.passes is None and _PERCENT.match(line):
            # Output of the program can break the line after its colon; the percentages then begin a line of their own.
            self._advance(line)

    def _begin(self, match: re.Match[str]) -> None:
        number = self._state.number if self._state else 0
        if not self._line_is_counted:
            number += 1
            self._line_is_counted = True
        total = int(match["total"]) if match["total"] else None
        self._state = KernelProgress(number, match["kernel"], 0, None, total)
        self._advance(match["rest"])

    def _advance(self, rest: str) -> None:
        assert self._state is not None
        percent = max((int(p) + _PERCENT_OF_DOT * len(dots) for p, dots in _PERCENT.findall(rest)), default=0)
        passes = _PASSES.search(rest)
        number, kernel, total = self._state.number, self._state.kernel, self._state.total
        self._state = KernelProgress(number, kernel, min(percent, 100), int(passes[1]) if passes else None, total)


@dataclass(frozen=True, slots=True)
class NcuLog:
    """What a finished log says.

    Attributes:
        kernels: Every kernel that was begun, in order.
        warnings: Messages of ``==WARNING==``, each once, in order.
        errors: Messages of ``==ERROR==``, each once, in order.
        available: Kernels the program has when the filter matched none of them.
    """

    kernels: tuple[KernelProgress, ...]
    warnings: tuple[str, ...]
    errors: tuple[str, ...]
    available: tuple[str, ...]


def messages(text: str) -> Iterator[tuple[str, str]]:
    """Yield ncu's messages in a text that the program may have written into: the mark (``ERROR``) and the words."""
    for match in _MESSAGE.finditer(text):
        yield match["mark"], match["words"].strip()


def without_kernel_names(text: str) -> str:
    """Return a log without what only names kernels and programs: those may be called like an error."""
    return _NAMES_ONLY.sub("", text)


def parse_log(text: str) -> NcuLog:
    """Read a whole log."""
    reader = LogReader()
    kernels: dict[int, KernelProgress] = {}
    warnings: dict[str, None] = {}
    errors: dict[str, None] = {}
    available: list[str] = []
    in_list = False
    for line in text.splitlines():
        state = reader.feed(f"{line}\n")
        if state is not None:
            kernels[state.number] = state
        in_list = line.strip() == _KERNEL_LIST or (in_list and _KERNEL_ITEM.match(line) is not None)
        if in_list and (item := _KERNEL_ITEM.match(line)):
            available.append(item["name"])
        for mark, words in messages(line):
            if mark != "PROF":
                (warnings if mark == "WARNING" else errors)[words] = None
    return NcuLog(tuple(kernels.values()), tuple(warnings), tuple(errors), tuple(available))
