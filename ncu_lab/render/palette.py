"""Colours: one per stall reason, tokens for everything else, in a light and a dark theme.

Hue means stall reason and nothing else. The stall colours were built in OKLCH (hue = family, lightness = member); of
the common reasons, neighbours in stacking order stay apart under every colour vision and in grey.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from ncu_lab.metrics import STALL_FAMILIES

ThemeName = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme; each field is also a CSS custom property (``neutral_1`` is ``--neutral-1``)."""

    name: ThemeName
    page: str
    card: str
    border: str
    grid: str
    text: str
    muted: str
    accent: str
    selection: str
    shade: str
    better: str
    better_tint: str
    worse: str
    worse_tint: str
    unsure: str
    unsure_tint: str
    neutral_1: str
    neutral_2: str
    neutral_3: str
    neutral_4: str

    def css(self) -> str:
        """Return the tokens as CSS declarations: ``--page: #f6f8fa; …``."""
        tokens = (field.name for field in fields(self) if field.name != "name")
        return " ".join(f"--{token.replace('_', '-')}: {getattr(self, token)};" for token in tokens)


LIGHT = Theme(
    name="light",
    page="#f6f8fa",
    card="#ffffff",
    border="#d5dbe1",
    grid="#e7ebef",
    text="#1c2128",
    muted="#57606a",
    accent="#0a58ca",
    selection="#e4edf9",
    shade="#eef1f4",
    better="#00695c",
    better_tint="#dff3ee",
    worse="#b3261e",
    worse_tint="#fde7e4",
    unsure="#7a5200",
    unsure_tint="#fff1cf",
    neutral_1="#3f4751",
    neutral_2="#7b8590",
    neutral_3="#a9b1ba",
    neutral_4="#d0d6dc",
)
DARK = Theme(
    name="dark",
    page="#0d1117",
    card="#161b22",
    border="#2f363e",
    grid="#262d35",
    text="#e8edf2",
    muted="#a0a9b3",
    accent="#79b8ff",
    selection="#1d2b3a",
    shade="#1f252d",
    better="#5fd3bd",
    better_tint="#0f2f2a",
    worse="#ff9088",
    worse_tint="#3b1a18",
    unsure="#f0c36a",
    unsure_tint="#35290e",
    neutral_1="#d3dae1",
    neutral_2="#98a2ad",
    neutral_3="#6b7580",
    neutral_4="#454e58",
)
THEMES: Mapping[ThemeName, Theme] = {"light": LIGHT, "dark": DARK}


def root_css() -> str:
    """Return the rules that give a page its tokens: by what the system prefers, or by ``data-theme`` of its root."""
    light, dark = (f"color-scheme: {theme.name}; {theme.css()}" for theme in (LIGHT, DARK))
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f':root[data-theme="light"] {{ {light} }}\n'
        f':root[data-theme="dark"] {{ {dark} }}'
    )


_STALLS: Mapping[str, tuple[str, str]] = {
    "selected": ("#046c46", "#179060"),
    "not_selected": ("#9ee2cb", "#a3edd5"),
    "wait": ("#c1a21f", "#c8a82a"),
    "math_pipe_throttle": ("#e3cb53", "#e8d266"),
    "dispatch_stall": ("#f8f1a1", "#f8f1a1"),
    "gmma": ("#7a5f13", "#8d7023"),
    "no_instruction": ("#9d867f", "#a38c85"),
    "branch_resolving": ("#cab6af", "#cdb9b2"),
    "imc_miss": ("#705b54", "#79635c"),
    "misc": ("#cacaca", "#cacaca"),
    "sleeping": ("#9e9e9e", "#9e9e9e"),
    "barrier": ("#b92d7e", "#df539f"),
    "membar": ("#e670ac", "#f383bb"),
    "short_scoreboard": ("#f5a66c", "#fdb57e"),
    "mio_throttle": ("#e25818", "#f06a2a"),
    "drain": ("#cae6fa", "#cee9fd"),
    "tex_throttle": ("#8eceef", "#9cd7f7"),
    "lg_throttle": ("#4aade8", "#62bef2"),
    "long_scoreboard": ("#234993", "#2e62c9"),
}
"""Reason -> (light, dark)."""

FAMILY_TITLES: Mapping[str, str] = {
    "issuing": "Issuing",
    "execution": "Execution dependency / math",
    "fetch": "Instruction fetch",
    "other": "Other",
    "sync": "Synchronisation",
    "shared / MIO": "Shared memory / MIO",
    "global / L1TEX": "Global memory / L1TEX",
}
"""Names of the stall families for legends, in stacking order."""

_SHORT_LABELS: Mapping[str, str] = {
    "not_selected": "not sel.",
    "dispatch_stall": "dispatch",
    "math_pipe_throttle": "math pipe",
    "branch_resolving": "branch",
    "no_instruction": "no inst.",
    "short_scoreboard": "short sb.",
    "long_scoreboard": "long sb.",
}


DIMMED = 0.22
"""Opacity of what stands back while one family is looked at."""


def stall_colour(reason: str, theme: Theme) -> str:
    """Return the colour of a stall reason; one this catalogue does not know is grey like ``misc``."""
    light, dark = _STALLS.get(reason, _STALLS["misc"])
    return light if theme.name == "light" else dark


def stall_label(reason: str, *, short: bool = False) -> str:
    """Return a stall reason in words; ``short`` gives the abbreviation that fits into a bar."""
    words = reason.replace("_", " ")
    return _SHORT_LABELS.get(reason, words) if short else words


def stall_family(reason: str) -> str:
    """Return the family a stall reason belongs to (``other`` for one the catalogue does not know)."""
    return next((family for family, members in STALL_FAMILIES.items() if reason in members), "other")


def _luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, 0 to 1 (WCAG 2.2, definition of relative luminance)."""
    channels = (int(colour[start : start + 2], 16) / 255.0 for start in (1, 3, 5))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2, contrast ratio)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def text_on(colour: str) -> str:
    """Return black or white, whichever reads better on a colour."""
    black, white = "#000000", "#ffffff"
    return black if contrast(colour, black) >= contrast(colour, white) else white
