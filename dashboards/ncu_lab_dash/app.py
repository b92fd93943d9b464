"""The Dash application: the shell around the pages, and what only the browser can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update

from ncu_lab.render.palette import root_css
from ncu_lab_dash import ids
from ncu_lab_dash.data import LadderData
from ncu_lab_dash.guard import guard
from ncu_lab_dash.in_browser import in_browser
from ncu_lab_dash.opened import OpenedFiles
from ncu_lab_dash.opening import take_files
from ncu_lab_dash.pages.registry import PAGES, page_at
from ncu_lab_dash.run_data import RunData
from ncu_lab_dash.served import Served

WATCH_MS = 5_000
"""How often the page asks whether the folder of runs has changed."""

_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{%title%}</title>
{%favicon%}
<style>
__TOKENS__
</style>
{%css%}
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""


def create_app(
    store: Path, *, any_host: bool = False, list_command: str = "ncu-lab runs", allow_import: bool = False
) -> Dash:
    """Make the application; it reads the store, and writes only what a user keeps where that is allowed.

    Args:
        store: Folder of runs; may be empty or missing.
        any_host: Answer whatever the Host header says; else only the names of this machine's loopback, so that a
            web page elsewhere cannot reach the dashboard through a name of its own (DNS rebinding).
        list_command: What lists all runs of the folder, for the page to name.
        allow_import: Whether files opened on the page may be kept in the store.
    """
    app = Dash(
        "ncu_lab_dash",
        assets_folder=str(Path(__file__).parent / "assets"),
        serve_locally=True,
        title="ncu-lab",
        update_title="",
    )
    app.index_string = _INDEX.replace("__TOKENS__", root_css())
    app.layout = _shell
    # Every page at once is never shown; it tells Dash which components there may be.
    everything = html.Div([_shell(), *(page.layout("") for page in PAGES)])
    app.validation_layout = everything  # type: ignore[assignment]  # Dash declares it by its first value, None
    guard(app.server, any_host=any_host, pages={page.path: page.title for page in PAGES})
    ladders, opened = LadderData(store), OpenedFiles()
    take_files(app.server, opened)
    runs = RunData(store, ladders.version, opened.find_run)
    served = Served(ladders, runs, opened, list_command, allow_import)
    _register_shell(app, ladders)
    _register_browser(app)
    for page in PAGES:
        page.register(app, served)
    return app


def _shell() -> html.Div:
    links = [dcc.Link(page.title, href=page.path, id=_link(page.title)) for page in PAGES]
    return html.Div(
        [
            dcc.Location(id=ids.ADDRESS, refresh="callback-nav"),
            dcc.Store(id=ids.SCREEN),
            dcc.Store(id=ids.THEME),
            dcc.Store(id=ids.VERSION),
            dcc.Interval(id=ids.WATCH, interval=WATCH_MS),
            html.Header(
                [
                    html.B("ncu-lab", className="brand"),
                    html.Nav(links, id=ids.NAV),
                    html.Div(
                        [html.Button(id=ids.THEME_BUTTON), html.Button("Copy link", id=ids.COPY_LINK)],
                        className="header-buttons",
                    ),
                ],
                className="bar",
            ),
            html.Div(id=ids.CONTENT),
        ]
    )


def _link(title: str) -> str:
    return f"{ids.NAV}-{title.lower()}"


def _register_shell(app: Dash, ladders: LadderData) -> None:
    @app.callback(Output(ids.CONTENT, "children"), Input(ids.ADDRESS, "pathname"), State(ids.ADDRESS, "search"))
    def show_page(path: Any, search: Any) -> Any:
        page = page_at(path if isinstance(path, str) else None)
        return page.layout(search if isinstance(search, str) else "")

    @app.callback(Output(ids.VERSION, "data"), Input(ids.WATCH, "n_intervals"), State(ids.VERSION, "data"))
    def watch(_: Any, shown: Any) -> Any:
        version = ladders.version()
        return no_update if version == shown else version


def _register_browser(app: Dash) -> None:
    """Register what only the browser can do: its width, its theme, its clipboard (``assets/browser.js``)."""
    theme, screen = State(ids.THEME, "data"), State(ids.SCREEN, "data")
    clicked = Input(ids.THEME_BUTTON, "n_clicks")
    in_browser(app, "browser", "screen", Output(ids.SCREEN, "data"), Input(ids.ADDRESS, "pathname"))
    in_browser(app, "browser", "themeOf", Output(ids.THEME, "data"), Input(ids.ADDRESS, "search"), theme)
    in_browser(
        app,
        "browser",
        "toggleTheme",
        Output(ids.THEME, "data", allow_duplicate=True),
        clicked,
        theme,
        screen,
        at_start=False,
    )
    in_browser(
        app,
        "browser",
        "applyTheme",
        Output(ids.THEME_BUTTON, "children"),
        Input(ids.THEME, "data"),
        Input(ids.SCREEN, "data"),
    )
    in_browser(
        app,
        "browser",
        "lead",
        *(Output(_link(page.title), "href") for page in PAGES),
        *(Output(_link(page.title), "className") for page in PAGES),
        Input(ids.THEME, "data"),
        Input(ids.ADDRESS, "pathname"),
        State(ids.NAV, "id"),
    )
    in_browser(
        app, "browser", "copyLink", Output(ids.COPY_LINK, "children"), Input(ids.COPY_LINK, "n_clicks"), at_start=False
    )  # fmt: skip
