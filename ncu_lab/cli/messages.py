"""What commands say beside their data: one place that makes names from files harmless in a terminal."""

from __future__ import annotations

import sys

from ncu_lab.advice import as_called
from ncu_lab.render.visible import visible


def warn(message: str) -> None:
    """Print a warning to stderr."""
    complain(f"warning: {message}")


def complain(words: str) -> None:
    """Print words to stderr as its encoding can show them; commands of ours in them as they were called."""
    encoding = sys.stderr.encoding or "utf-8"
    print(visible(as_called(words)).encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)
