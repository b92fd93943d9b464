"""Figures of the product as SVG files, drawn by a headless Chromium, and told apart by what they show.

A file says in its first line the digest of the figure that it was drawn from: where that is still the figure's, it is
up to date, so that checking needs no browser. Figures are on a white card, so that they can be read on a dark page too.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go

from ncu_lab.render.figures.text import FONT
from ncu_lab.render.palette import LIGHT

WIDTH = 760
_DIGITS = 6
_PAD = 12
"""Px of the card around a figure."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_DRAWN = re.compile(r'<pre id="drawn">(.*?)</pre>', re.DOTALL)
_ATTRIBUTE = re.compile(r'="[^"]*"')
_NEEDLESS = re.compile(r"font-family: (?:&quot;|[^;\"])*; ?|(?<![-\w])(?:(?:fill|stroke)-)?opacity: 1; ?")
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def digest(figure: go.Figure) -> str:
    """Return what tells a figure from others: a hash of all it shows, to six digits, as last bits differ by machine."""
    shown = _rounded(json.loads(go.Figure(figure.to_dict()).to_json()))  # each value as Plotly means it
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def _first_line(figure: go.Figure) -> str:
    return f"<!-- Drawn by docs/generate.py; figure {digest(figure)} -->\n"


def is_drawn(path: Path, figure: go.Figure) -> bool:
    """Whether a file shows this figure."""
    return path.exists() and path.read_text(encoding="utf-8").startswith(_first_line(figure))


def draw(figures: Mapping[Path, go.Figure]) -> None:
    """Draw figures into files.

    Raises:
        RuntimeError: When there is no Chromium, or it does not draw them.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise RuntimeError(
            f"{len(figures)} figures changed, and there is no Chromium to draw them. apt install chromium"
        )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(_page(list(figures.values())), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        command += ["--virtual-time-budget=60000", "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
    found = _DRAWN.search(done.stdout)
    drawn = json.loads(html.unescape(found[1])) if found and found[1] else []
    if len(drawn) != len(figures):
        raise RuntimeError(f"{browser} drew {len(drawn)} of {len(figures)} figures: {done.stderr[-500:]}")
    for (path, figure), svg in zip(figures.items(), drawn, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(_first_line(figure) + _on_card(svg) + "\n", encoding="utf-8")


def _shortened(attribute: str) -> str:
    """Leave out of an attribute what is the default or said for the whole drawing, and digits that nobody sees."""
    return _LONG_NUMBER.sub(r"\1", _NEEDLESS.sub("", attribute))


def _page(figures: list[go.Figure]) -> str:
    """Return a page that draws figures one after the other and leaves their SVG as JSON."""
    script = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    data = json.dumps([json.loads(figure.to_json()) for figure in figures]).replace("</", "<\\/")
    return f"""<html><body><pre id="drawn"></pre><script>{script}</script><script>
(async () => {{
  const drawn = [];
  for (const figure of {data}) {{
    const url = await Plotly.toImage(figure, {{format: "svg", width: {WIDTH}, height: figure.layout.height}});
    drawn.push(decodeURIComponent(url.slice(url.indexOf(",") + 1)));
  }}
  document.getElementById("drawn").textContent = JSON.stringify(drawn);
}})();
</script></body></html>"""


def _on_card(svg: str) -> str:
    """Set a drawing on a white card, without what differs from one drawing to the next, and without repetition."""
    size = _SIZE.search(svg)
    assert size is not None
    width, height = (float(one) + 2 * _PAD for one in size.groups())
    unique = re.search(r'id="defs-([0-9a-f]+)"', svg)
    if unique:
        svg = svg.replace(unique[1], "figure")
    inside = svg[svg.index(">") + 1 : svg.rindex("</svg>")]
    inside = _ATTRIBUTE.sub(lambda found: _shortened(found[0]), inside)
    card = f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="6" fill="{LIGHT.card}" '
    card += f'stroke="{LIGHT.border}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="{html.escape(FONT)}">{card}'
        f'<g transform="translate({_PAD} {_PAD})">{inside}</g></svg>'
    )
