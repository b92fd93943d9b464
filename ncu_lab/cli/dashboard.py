"""``ncu-lab dashboard``: the ladder in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from ncu_lab.cli.options import ExampleOption, StoreOption, store_to_read, store_words


def dashboard(
    store: StoreOption = None,
    example: ExampleOption = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; the default is this machine alone.")
    ] = ("127.0.0.1"),
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=1, max=65535, help="Default: 8050, else the next free one.", show_default=False
        ),
    ] = None,
) -> None:
    """Serve the ladder to a browser.

    Durations, stalls, sectors, bank conflicts, occupancy and the roofline.

    The page reads the store and changes no run; new runs appear on it by themselves. Ctrl-C ends it.
    """
    folder = store_to_read(store, example, only_runs=True)

    from ncu_lab_dash.app import create_app
    from ncu_lab_dash.server import address_of, is_loopback, serve, take_port

    listener = take_port(host, port)
    list_command = f"ncu-lab runs{store_words(store, example)}"
    app = create_app(folder, any_host=not is_loopback(host), list_command=list_command)
    if not is_loopback(host):
        typer.echo(f"note: {host} can be reached from other machines; the page asks for no password.", err=True)

    def announce() -> None:
        typer.echo(f"ncu-lab dashboard on {folder}: {address_of(host, listener)}  (Ctrl-C ends it)")

    serve(app, host, listener, announce)
