"""The Dash application: shell, styles and callbacks around one folder of runs."""

from __future__ import annotations

from pathlib import Path

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html

from ncu_lab.render.palette import DARK, LIGHT
from ncu_lab_dash import ids
from ncu_lab_dash.data import LadderData
from ncu_lab_dash.guard import guard
from ncu_lab_dash.pages import ladder
from ncu_lab_dash.parts import aria

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
:root { color-scheme: light; __LIGHT__ }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; __DARK__ } }
:root[data-theme="light"] { color-scheme: light; __LIGHT__ }
:root[data-theme="dark"] { color-scheme: dark; __DARK__ }
</style>
{%css%}
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""


def create_app(store: Path, *, any_host: bool = False, list_command: str = "ncu-lab runs") -> Dash:
    """Make the application; it reads the store and never writes.

    Args:
        store: Folder of runs; may be empty or missing.
        any_host: Answer whatever the Host header says; else only the names of this machine's loopback, so that a
            web page elsewhere cannot reach the dashboard through a name of its own (DNS rebinding).
        list_command: What lists all runs of the folder, for the page to name.
    """
    app = Dash(
        "ncu_lab_dash",
        assets_folder=str(Path(__file__).parent / "assets"),
        serve_locally=True,
        title="ncu-lab",
        update_title="",
    )
    app.index_string = _INDEX.replace("__LIGHT__", LIGHT.css()).replace("__DARK__", DARK.css())
    app.layout = _shell
    guard(app.server, any_host=any_host)
    _register_browser(app)
    ladder.register(app, LadderData(store), list_command)
    return app


def _shell() -> html.Div:
    return html.Div(
        [
            dcc.Location(id=ids.URL, refresh="callback-nav"),
            dcc.Store(id=ids.SCREEN),
            dcc.Store(id=ids.THEME),
            dcc.Store(id=ids.VERSION),
            dcc.Interval(id=ids.WATCH, interval=WATCH_MS),
            html.Header(
                [
                    html.B("ncu-lab", className="brand"),
                    html.Nav(html.Span("Ladder", className="current", **aria(current="page"))),
                    html.Div(
                        [html.Button(id=ids.THEME_BUTTON), html.Button("Copy link", id=ids.COPY_LINK)],
                        className="header-buttons",
                    ),
                ],
                className="bar",
            ),
            html.Div(id=ids.CONTEXT, className="context"),
            ladder.layout(),
        ]
    )


def _register_browser(app: Dash) -> None:
    """Register what only the browser can do: its width, its theme, its clipboard (``assets/browser.js``)."""
    theme, screen = State(ids.THEME, "data"), State(ids.SCREEN, "data")
    clicked = Input(ids.THEME_BUTTON, "n_clicks")
    _in_browser(app, "screen", Output(ids.SCREEN, "data"), Input(ids.URL, "pathname"))
    _in_browser(
        app, "toggleTheme", Output(ids.THEME, "data", allow_duplicate=True), clicked, theme, screen, at_start=False
    )
    _in_browser(
        app,
        "applyTheme",
        Output(ids.THEME_BUTTON, "children"),
        Input(ids.THEME, "data"),
        Input(ids.SCREEN, "data"),
    )
    _in_browser(
        app,
        "copyLink",
        Output(ids.COPY_LINK, "children"),
        Input(ids.COPY_LINK, "n_clicks"),
        State(ids.PROBLEM, "value"),
        State(ids.DEVICE, "value"),
        at_start=False,
    )


def _in_browser(app: Dash, function: str, *wiring: Output | Input | State, at_start: bool = True) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]  # Dash leaves this one method without types
        ClientsideFunction("browser", function), *wiring, prevent_initial_call=not at_start
    )
