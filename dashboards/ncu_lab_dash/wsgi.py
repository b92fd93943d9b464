"""The dashboard for a team, under any WSGI server.

``gunicorn --workers 1 --threads 8 'ncu_lab_dash.wsgi:serve_store("reports")'``: one process, as files that somebody
opened are in its memory, and threads for several people. Put a proxy with a password and TLS before it: the pages ask
for none.
"""

from __future__ import annotations

from pathlib import Path

from flask import Flask

from ncu_lab_dash.app import create_app


def serve_store(store: str, *, allow_import: bool = False) -> Flask:
    """Return the WSGI application of a folder of runs, for whatever name its server has.

    Args:
        store: The folder.
        allow_import: Whether files opened on the page may be kept in it.
    """
    server = create_app(Path(store), any_host=True, allow_import=allow_import).server
    assert isinstance(server, Flask)
    return server
