"""Serving the dashboard: a port of this machine, taken before anything is promised."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Callable

from dash import Dash
from werkzeug.serving import WSGIRequestHandler, make_server

from ncu_lab.errors import EnvironmentLacksError, UsageError

DEFAULT_PORT = 8050
_PORTS_TRIED = 20


class _QuietHandler(WSGIRequestHandler):
    """Logs no requests: the terminal shows the address and what goes wrong."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def is_loopback(host: str) -> bool:
    """Whether a host names this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def take_port(host: str, port: int | None) -> socket.socket:
    """Return a listening socket on the given port, or on the first free one from 8050 when none is given.

    Raises:
        UsageError: When the host is no address of this machine.
        EnvironmentLacksError: When the port is taken or not permitted.
    """
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED) if port is None else (port,)
    for candidate in candidates:
        try:
            return _listen(host, candidate)
        except PermissionError as error:
            raise EnvironmentLacksError(
                f"port {candidate} may not be used by this user", "Choose one above 1023: --port 8050"
            ) from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise UsageError(
                    f"cannot listen on {host}: {error.strerror or error}",
                    "--host must be an address of this machine; 127.0.0.1 serves this machine alone.",
                ) from error
    if port is None:
        raise EnvironmentLacksError(
            f"ports {DEFAULT_PORT} to {DEFAULT_PORT + _PORTS_TRIED - 1} are all taken",
            "Choose a free one: ncu-lab dashboard --port 9000",
        )
    raise EnvironmentLacksError(
        f"port {port} on {host} is taken by another program",
        f"Choose another (--port {port + 1}), or leave --port out to get the next free one.",
    )


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # A port that a closed server left in TIME_WAIT is free; one that is listened on stays taken.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def address_of(host: str, listener: socket.socket) -> str:
    """Return the address to open: ``http://127.0.0.1:8050/``."""
    port = listener.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(app: Dash, host: str, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until interrupted; ``ready`` is called once requests are answered."""
    port = listener.getsockname()[1]
    server = make_server(
        host, port, app.server, threaded=True, request_handler=_QuietHandler, fd=listener.fileno()
    )  # fmt: skip
    try:
        ready()
        server.serve_forever()
    except KeyboardInterrupt:
        # Ctrl-C is how the dashboard is meant to be stopped.
        return
    finally:
        server.server_close()
        listener.close()
