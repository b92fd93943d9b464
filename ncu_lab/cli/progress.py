"""Progress of long work, on stderr: a live line on a terminal, plain lines in a pipe.

    with progress_reporter() as report:
        build_stages(ids, report=report)

A finished part keeps its line (``build    2d  130 registers · 0 spills      0.9 s``), so that the lines together tell
what was done. On a terminal the part under way is shown below them; in a pipe it is mentioned now and then.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ncu_lab.model import ProgressEvent, Reporter
from ncu_lab.render.numbers import ascii_text, plain_spaces
from ncu_lab.render.visible import visible

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

PIPE_WIDTH = 80
QUIET_SECONDS = 10.0
"""In a pipe, how long the part under way may stay unmentioned."""

_STEP_WIDTH = 8
_BAR_WIDTH = 28


@contextmanager
def progress_reporter(
    subjects: Iterable[str] = (),
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
    width: int | None = None,
) -> Iterator[Reporter]:
    """Give a reporter that shows progress on ``stream`` (stderr) until the block ends.

    Args:
        subjects: What will be worked on, as far as it is known: lines are aligned to the longest name.
        stream: Where to write.
        clock: Seconds that only grow; tests give their own.
        width: Columns; those of the terminal by default.
    """
    stream = stream or sys.stderr
    live = stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "")
    reporter: _Lines = _LiveLines(stream, clock, width) if live else _Lines(stream, clock, width)
    reporter.align(subjects)
    try:
        yield reporter
    finally:
        reporter.close()


def index_with_progress(store: Path) -> None:
    """Show the progress of reading a large store for the first time, before a command that looks something up in it."""
    from ncu_lab.workflows.indexing import index_anew

    with progress_reporter() as report:
        index_anew(store, report)


class _Lines:
    """Plain lines: one for each finished part, and a sign of life in a long one."""

    def __init__(self, stream: TextIO, clock: Callable[[], float], width: int | None) -> None:
        self._stream = stream
        self._clock = clock
        self._width = width or PIPE_WIDTH
        self._subject_width = 3
        self._unicode = _speaks_unicode(stream)
        self._last_sign = clock()

    def __call__(self, event: ProgressEvent) -> None:
        self.align([event.subject])
        if event.state in ("done", "failed"):
            self._settle(event)
            self._last_sign = self._clock()
        else:
            self._mention(event)

    def align(self, subjects: Iterable[str]) -> None:
        """Leave room for the longest of these names."""
        self._subject_width = max([self._subject_width, *map(len, subjects)])

    def close(self) -> None:
        """Leave the stream as it was found."""

    def _settle(self, event: ProgressEvent) -> None:
        self._write(self._line(event))

    def _mention(self, event: ProgressEvent) -> None:
        if event.state == "update" and self._clock() - self._last_sign >= QUIET_SECONDS:
            self._write(f"{self._head(event)}{_percent(event)}{event.detail}".rstrip())
            self._last_sign = self._clock()

    def _write(self, line: str) -> None:
        print(self._plain(line), file=self._stream, flush=True)

    def _plain(self, line: str) -> str:
        line = visible(line)
        return plain_spaces(line) if self._unicode else ascii_text(line)

    def _head(self, event: ProgressEvent) -> str:
        step = "stored" if event.step == "store" and event.state == "done" else event.step
        return f"{step:<{_STEP_WIDTH}} {event.subject:<{self._subject_width}}  "

    def _line(self, event: ProgressEvent) -> str:
        """Return a finished part's line, its time at the right edge where there is room."""
        mark = "✗ " if event.state == "failed" else ""
        text = f"{self._head(event)}{mark}{event.detail}".rstrip()
        if event.seconds is None:
            return text
        seconds = f"{event.seconds:.1f} s"
        return f"{text}{' ' * max(2, self._width - len(text) - len(seconds))}{seconds}"


class _LiveLines(_Lines):
    """Lines on a terminal, with the part under way drawn below the finished ones."""

    def __init__(self, stream: TextIO, clock: Callable[[], float], width: int | None) -> None:
        from rich.console import Console

        # Finished lines carry no styling of numbers and names: rich's guesses would only add noise.
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
        super().__init__(stream, clock, self._console.width)
        self._live: Live | None = None

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _settle(self, event: ProgressEvent) -> None:
        from rich.text import Text

        self.close()
        style = "red" if event.state == "failed" else ""
        text = Text(self._plain(self._line(event)), style=style)
        text.stylize("dim", 0, _STEP_WIDTH)
        self._console.print(text, soft_wrap=True)

    def _mention(self, event: ProgressEvent) -> None:
        from rich.live import Live

        if self._live is None:
            self._live = Live(console=self._console, transient=True, refresh_per_second=8)
            self._live.start()
        self._live.update(self._under_way(event))

    def _under_way(self, event: ProgressEvent) -> Text:
        from rich.text import Text

        bar = ""
        if event.fraction is not None:
            full = round(_BAR_WIDTH * min(1.0, max(0.0, event.fraction)))
            bar = f"{'━' * full}{'─' * (_BAR_WIDTH - full)} "
        line = f"{self._head(event)}{bar}{_percent(event)}{event.detail}"
        return Text(self._plain(line), no_wrap=True, overflow="ellipsis")


def _percent(event: ProgressEvent) -> str:
    return "" if event.fraction is None else f"{100 * event.fraction:3.0f} %   "


def _speaks_unicode(stream: TextIO) -> bool:
    try:
        "━✓³".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
