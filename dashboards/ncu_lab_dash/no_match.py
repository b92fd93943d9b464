"""What is said of a name that an address asks for and that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_NEAR = 0.4
_MOST = 20


def nearest_words(asked: str, there: Sequence[str], lead: str) -> str:
    """Return the name that comes nearest, where one is near, and what there is.

    Args:
        asked: What was asked for.
        there: Names there are, in their order.
        lead: What they are led in with, such as ``It has``.
    """
    near = difflib.get_close_matches(asked, there, n=1, cutoff=_NEAR)
    left = len(there) - _MOST
    listed = ", ".join(there[:_MOST]) + (f" and {left} more" if left > 0 else "")
    return f"{f'Nearest: {near[0]}. ' if near else ''}{lead}: {listed or 'none'}."
