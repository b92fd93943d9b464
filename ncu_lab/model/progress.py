"""What a workflow tells while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Step = Literal[
    "build", "check", "bench", "contest", "profile", "store", "import", "index", "verify", "prune", "commit", "bisect",
    "export", "tune", "sanitize",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """What a workflow tells while it works; the command line decides how to show it.

    Attributes:
        step: Which part of the work.
        subject: Stage id or file.
        state: ``start``, ``update``, ``done`` or ``failed``.
        detail: Words for people (``130 registers · 0 spills``).
        fraction: 0 to 1 where it is known.
        seconds: Time taken, when done.
    """

    step: Step
    subject: str
    state: Literal["start", "update", "done", "failed"]
    detail: str = ""
    fraction: float | None = None
    seconds: float | None = None


Reporter = Callable[[ProgressEvent], None]


def silent(_: ProgressEvent) -> None:
    """Report nothing: the default of every workflow."""
