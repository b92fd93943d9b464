from __future__ import annotations

import io

import pytest

from ncu_lab.cli.progress import progress_reporter
from ncu_lab.model import ProgressEvent


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_in_a_pipe_each_finished_part_is_a_line() -> None:
    stream = io.StringIO()
    with progress_reporter((), stream, width=60) as report:
        report(ProgressEvent("build", "2d", "start"))
        report(ProgressEvent("build", "2d", "done", "130 registers", seconds=0.94))
        report(ProgressEvent("profile", "2d", "failed"))
        report(ProgressEvent("store", "20261130T011207-2d", "done", "(clean tree)"))
    assert stream.getvalue().splitlines() == [
        f"{'build    2d   130 registers':<55}0.9 s",
        "profile  2d   ✗",
        "stored   20261130T011207-2d  (clean tree)",
    ]


def test_in_a_pipe_a_long_part_gives_a_sign_of_life_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    with progress_reporter((), stream, clock) as report:
        for second in range(25):
            clock.now = float(second)
            report(ProgressEvent("profile", "2d", "update", f"kernel {second} of 25", second / 25))
    assert stream.getvalue().splitlines() == [
        "profile  2d    40 %   kernel 10 of 25",
        "profile  2d    80 %   kernel 20 of 25",
    ]


def test_words_too_long_for_the_width_are_not_cut() -> None:
    stream = io.StringIO()
    with progress_reporter((), stream, width=30) as report:
        report(ProgressEvent("bench", "2d", "done", "x" * 40, seconds=1.0))
    assert stream.getvalue() == f"bench    2d   {'x' * 40}  1.0 s\n"


def test_thin_spaces_and_signs_suit_the_stream() -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    with progress_reporter((), ascii_only) as report:
        report(ProgressEvent("bench", "2d", "done", "767\u2009µs · 2048³"))
    written = ascii_only.detach()
    assert isinstance(written, io.BytesIO)
    assert written.getvalue() == b"bench    2d   767 us | 2048^3\n"
    stream = io.StringIO()
    with progress_reporter((), stream) as report:
        report(ProgressEvent("bench", "2d", "done", "767\u2009µs"))
    assert "767 µs" in stream.getvalue()


def test_on_a_terminal_the_part_under_way_is_drawn_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress_reporter((), stream, width=80) as report:
        report(ProgressEvent("profile", "2d", "update", "kernel 1 of 2", 0.5))
        report(ProgressEvent("profile", "2d", "done", "2 kernels", seconds=8.3))
    text = stream.getvalue()
    assert "━" * 14 + "─" * 14 + "  50 %   kernel 1 of 2" in text
    assert text.rstrip().endswith("8.3 s")
    assert "\x1b[2K" in text, "the live line must go before the finished one comes"


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with progress_reporter((), stream) as report:
        report(ProgressEvent("profile", "2d", "update", "kernel 1 of 2", 0.5))
        report(ProgressEvent("profile", "2d", "done", "2 kernels"))
    assert stream.getvalue() == "profile  2d   2 kernels\n"
