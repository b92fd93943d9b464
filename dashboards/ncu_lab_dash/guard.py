"""What the server answers to requests that are not the page's: other names, other addresses, broken calls."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from urllib.parse import urlsplit

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MOST_BODY_BYTES = 1_000_000
_OWN_PACKAGES = ("ncu_lab", "ncu_lab_dash")

_HEADERS = {
    # Nothing is loaded from elsewhere; Dash and Plotly need inline scripts and styles.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

_NOT_FOUND = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>ncu-lab: no such page</title><style>
:root { color-scheme: light dark; } body { font: 14px/1.45 system-ui, sans-serif; margin: 48px 24px; }
</style></head>
<body><h1>There is no such page</h1><p>There are: __PAGES__.</p></body>
</html>
"""


def guard(server: Flask, *, any_host: bool, pages: Mapping[str, str]) -> None:
    """Refuse what is not meant for the page, in one line and without a traceback in the user's terminal.

    Args:
        server: Flask under Dash.
        any_host: Answer whatever the Host header says; else only the names of this machine's loopback.
        pages: Address of a page -> its title; every other address is answered with 404.
    """
    links = ", ".join(f'<a href="{path}">{title}</a>' for path, title in pages.items())
    server.config["MAX_CONTENT_LENGTH"] = _MOST_BODY_BYTES

    @server.before_request
    def refuse_foreign_names() -> Response | None:
        name = urlsplit(f"//{request.host}").hostname
        if any_host or name in _LOOPBACK:
            return None
        return Response("This dashboard answers to localhost only.\n", status=403, mimetype="text/plain")

    @server.before_request
    def refuse_other_pages() -> Response | None:
        # Dash gives its page for any address that nothing else answers.
        if request.url_rule is None or request.url_rule.rule != "/<path:path>" or request.path in pages:
            return None
        return Response(_NOT_FOUND.replace("__PAGES__", links), status=404, mimetype="text/html")

    @server.before_request
    def refuse_foreign_pages() -> Response | None:
        # A page of another site may send a form here without asking; browsers say where it is from.
        origin = request.headers.get("Origin")
        if origin is None or _name_in(origin) == request.host:
            return None
        return Response("This dashboard answers to its own pages only.\n", status=403, mimetype="text/plain")

    @server.errorhandler(Exception)
    def refuse_broken_calls(error: Exception) -> AnyResponse | HTTPException:
        if isinstance(error, HTTPException):
            return error
        if request.path.startswith("/_dash-") and not _is_ours(error.__traceback__):
            return Response("The request is not one of this page's.\n", status=400, mimetype="text/plain")
        raise error

    @server.after_request
    def add_headers(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response


def _name_in(origin: str) -> str | None:
    """Return the host and port of an origin; None for what is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _is_ours(trace: TracebackType | None) -> bool:
    """Whether an error was raised by code of ours, or by what that called; else Dash could not read the request."""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _OWN_PACKAGES:
            return True
        trace = trace.tb_next
    return False
