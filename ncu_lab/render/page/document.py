"""The page around its parts: head, style, script, contents."""

from __future__ import annotations

from importlib.resources import files

from plotly.offline import get_plotlyjs, get_plotlyjs_version

from ncu_lab import __version__
from ncu_lab.metrics import STALL_ORDER
from ncu_lab.model import RunMeta
from ncu_lab.model.exhibit import Exhibit, ExhibitedRun
from ncu_lab.render import ladder_words
from ncu_lab.render.diff import title as comparison_title
from ncu_lab.render.numbers import integer
from ncu_lab.render.page.comparison_part import comparison_part
from ncu_lab.render.page.drawings import packed
from ncu_lab.render.page.ladder_part import ladder_part
from ncu_lab.render.page.launch_part import launch_name, launch_part
from ncu_lab.render.page.markup import Content, Markup, tag
from ncu_lab.render.palette import THEMES, Theme, root_css, stall_colour, text_on
from ncu_lab.render.wording import context_words, problem_words

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
"""What a browser may load for the page: nothing but what is in it."""

_MOST_OPEN = 3
"""Launches that are open at first, where there are no more."""


def page(exhibit: Exhibit) -> str:
    """Return the whole page as HTML.

    Args:
        exhibit: What it shows; at least one run.
    """
    heading = _heading(exhibit)
    parts: list[Content] = [tag("h1", heading)]
    if exhibit.comparison is not None:
        parts.append(comparison_part(exhibit.comparison, exhibit.rooflines))
    several = len(exhibit.runs) > 1
    parts += [_run(one, f"run-{at}", several=several) for at, one in enumerate(exhibit.runs, start=1)]
    body = tag("body", _bar(), tag("main", parts), _scripts())
    return f"<!DOCTYPE html>\n{tag('html', _head(heading), body, lang='en')}\n"


def _heading(exhibit: Exhibit) -> str:
    if exhibit.comparison is not None:
        return comparison_title(exhibit.comparison)
    metas = [one.run.meta for one in exhibit.runs]
    names = dict.fromkeys(_name(meta) for meta in metas)
    problem = metas[0].problem
    return " · ".join([", ".join(names), *([problem_words(problem)] if problem else [])])


def _name(meta: RunMeta) -> str:
    if meta.name or not meta.stages:
        return meta.name or meta.id
    return f"{len(meta.stages)} stages" if len(meta.stages) > 3 else ", ".join(meta.stages)


def _head(heading: str) -> Markup:
    style = f"{root_css()}\n{_stall_tokens()}\n{_asset('page.css')}"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"ncu-lab {__version__}"),
        tag("title", f"{heading} – ncu-lab"),
        tag("style", Markup(style)),
    )


def _stall_tokens() -> str:
    """Return the colours of stall reasons, and of text on them, in both themes, likewise by system or choice."""

    def told(theme: Theme) -> str:
        colours = {one.replace("_", "-"): stall_colour(one, theme) for one in STALL_ORDER}
        return " ".join(f"--stall-{one}: {it}; --stall-{one}-text: {text_on(it)};" for one, it in colours.items())

    light, dark = told(THEMES["light"]), told(THEMES["dark"])
    return (
        f":root, :root[data-theme] {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme='light']) {{ {dark} }} }}\n"
        f":root[data-theme='dark'] {{ {dark} }}"
    )


def _asset(name: str) -> str:
    return files("ncu_lab.render.page").joinpath(name).read_text(encoding="utf-8")


def _bar() -> Markup:
    button = tag("button", "Theme", id="theme", type="button")
    return tag(
        "header", tag("b", "ncu-lab"), tag("span", "", id="state", class_="muted", role="status"), button, class_="bar"
    )


def _run(one: ExhibitedRun, key: str, *, several: bool) -> Markup:
    meta = one.run.meta
    context = [problem_words(meta.problem)] if meta.problem and one.ladder is None else []
    context += context_words(meta.device, meta.environment)
    if one.ladder is not None:
        context = [" ".join(part for part in pair if part) for pair in ladder_words.context_items(one.ladder)]
    git = meta.git
    commit = f"commit {git.commit[:7]}{' (edited)' if git.dirty else ''}" if git.commit else ""
    line = [meta.id, *([commit] if commit else []), *context]
    open_all = len(one.launches) <= _MOST_OPEN
    launches = [
        launch_part(found, f"{key}-{launch_name(found.view.summaries[0])}", unfolded=open_all) for found in one.launches
    ]
    left = (
        f"{integer(one.left)} more launches are not on this page; ncu-lab export html {meta.id} --launch N shows them."
        if one.left
        else ""
    )
    return tag(
        "article",
        tag("h2", f"Run {meta.id}") if several else None,
        tag("p", [tag("span", words) for words in line], class_="context muted"),
        ladder_part(one.ladder, key) if one.ladder is not None else None,
        tag("h2", "Kernels") if len(launches) > 1 else None,
        launches,
        tag("p", left, class_="muted") if left else None,
        id=key,
    )


def _scripts() -> Content:
    licence = f"plotly.js {get_plotlyjs_version()}, Copyright Plotly, Inc., MIT licence; notices are inside."
    return [
        tag("noscript", tag("p", "Figures need JavaScript; tables hold their values.", class_="card")),
        Markup(f"<!-- {licence} -->"),
        tag("script", Markup(packed(get_plotlyjs().encode())), type="text/plain", id="plotly"),
        tag("script", Markup(_asset("page.js"))),
    ]
