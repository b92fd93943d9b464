"""What the text of an instruction tells: its opcode, the width of its access, the memory it goes to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ncu_lab.metrics import Space

_OPCODE = re.compile(r"\s*(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9]*)(?P<modifiers>[.\w]*)")
_WIDTHS: Mapping[str, int] = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_DEFAULT_WIDTH = 4

_KINDS: Mapping[str, tuple[tuple[Space, str], ...]] = {
    "LDG": (("global", "ld"),),
    "STG": (("global", "st"),),
    "LDGSTS": (("global", "cp.async"), ("shared", "cp.async")),
    "ATOMG": (("global", "atom"),),
    "REDG": (("global", "red"),),
    "UTMALDG": (("global", "tma"),),
    "UTMASTG": (("global", "tma"),),
    "UTMAREDG": (("global", "tma"),),
    "UBLKCP": (("global", "tma"),),
    "UBLKRED": (("global", "tma"),),
    "LDL": (("local", "ld"),),
    "STL": (("local", "st"),),
    "LDS": (("shared", "ld"),),
    "STS": (("shared", "st"),),
    "LDSM": (("shared", "ldmatrix"),),
    "STSM": (("shared", "stmatrix"),),
    "ATOMS": (("shared", "atom"),),
    "HGMMA": (("shared", "wgmma"),),
    "QGMMA": (("shared", "wgmma"),),
    "IGMMA": (("shared", "wgmma"),),
    "BGMMA": (("shared", "wgmma"),),
    # Generic: where they go is known only when they run.
    "LD": (("global", "ld"), ("shared", "ld")),
    "ST": (("global", "st"), ("shared", "st")),
    "ATOM": (("global", "atom"), ("shared", "atom")),
    "RED": (("global", "red"),),
}


def opcode(sass: str) -> str:
    """Return the bare opcode of an instruction: ``@!P0 LDG.E.128 R4, …`` is ``LDG``; empty when there is none."""
    found = _OPCODE.match(sass)
    return found["name"] if found else ""


def full_opcode(sass: str) -> str:
    """Return the opcode with its modifiers: ``LDG.E.128``; empty when there is none."""
    found = _OPCODE.match(sass)
    return found["name"] + found["modifiers"] if found else ""


def access_bytes(sass: str) -> int:
    """Return the bytes that each lane of a memory instruction moves: 4 unless a modifier says otherwise."""
    found = _OPCODE.match(sass)
    modifiers = found["modifiers"].split(".") if found else []
    return next((_WIDTHS[one] for one in modifiers if one in _WIDTHS), _DEFAULT_WIDTH)


def access_kinds(name: str) -> tuple[tuple[Space, str], ...]:
    """Return the memories that a bare opcode goes to and how; none for what is no access."""
    return _KINDS.get(name, ())


def opcodes_of(space: Space, kind: str) -> tuple[str, ...]:
    """Return the bare opcodes that make a kind of access to a memory."""
    return tuple(name for name, goes in _KINDS.items() if (space, kind) in goes)
