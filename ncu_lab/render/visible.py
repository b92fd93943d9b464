"""Names from files are data: what would steer a terminal, or turn text around in it, is shown as an escape.

A kernel, a file or a process may be called anything. ``\\x1b[2J`` in such a name must not clear somebody's screen, and
a right-to-left mark must not make one name look like another.
"""

from __future__ import annotations

import re

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters of ASCII and Latin-1, but for tab and line feed
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"  # what changes the direction of text, or breaks lines
    "\ud800-\udfff]"  # halves of characters: bytes of a file name that are no text
)


_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
"""Letters that are written from right to left."""

_LEFTWARD_WORDS = re.compile(f"\u2068[^\u2069]*\u2069|[{_LEFTWARD}]+(?:[\\s_.-]+[{_LEFTWARD}]+)*")


def isolated(text: str) -> str:
    """Return text as a page shows it in its order: what is written from right to left does not turn what is beside it.

    Beside a Hebrew name a browser would draw the grid and block of its launch from right to left too. For pages alone:
    after :func:`visible`, which would spell the marks out, and never for a terminal.
    """
    return _LEFTWARD_WORDS.sub(lambda found: "\u2068" + found[0].strip("\u2068\u2069") + "\u2069", text)


def visible(text: str) -> str:
    """Return text with every character that steers a terminal as its Python escape, tabs and line feeds kept."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
