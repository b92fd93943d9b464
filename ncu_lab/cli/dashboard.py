"""``ncu-lab dashboard``: runs in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from ncu_lab.cli.options import ExampleOption, StoreOption, store_to_read, store_words
from ncu_lab.errors import UsageError


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
    allow_import: Annotated[
        bool, typer.Option("--allow-import", help="Let whoever opens a report on the page keep it in the store.")
    ] = False,
) -> None:
    """Serve runs to a browser.

    The ladder stage by stage, any launch taken apart, and the list of runs.

    The pages read the store and change no run; new runs appear on them by themselves. Reports that are opened in the
    browser are read in a process of their own and deleted; only with --allow-import can they be kept. Ctrl-C ends it.
    """
    if allow_import and example:
        raise UsageError(
            "--allow-import needs a store of yours", "The bundled runs are read only: leave --example out."
        )
    folder = store_to_read(store, example, only_runs=True)

    from ncu_lab_dash.app import create_app
    from ncu_lab_dash.server import address_of, is_loopback, serve, take_port

    listener = take_port(host, port)
    list_command = f"ncu-lab runs{store_words(store, example)}"
    app = create_app(folder, any_host=not is_loopback(host), list_command=list_command, allow_import=allow_import)
    if not is_loopback(host):
        typer.echo(f"note: {host} can be reached from other machines; the page asks for no password.", err=True)

    def announce() -> None:
        typer.echo(f"ncu-lab dashboard on {folder}: {address_of(host, listener)}  (Ctrl-C ends it)")

    serve(app, host, listener, announce)
