"""Callbacks that the browser answers by itself, by a function of ``assets/*.js``."""

from __future__ import annotations

from dash import ClientsideFunction, Dash, Input, Output, State


def in_browser(
    app: Dash, namespace: str, function: str, *wiring: Output | Input | State, at_start: bool = True
) -> None:
    """Let a function of the page's scripts fill outputs.

    Args:
        app: The app.
        namespace: Of the functions, such as ``tables``.
        function: Its name there.
        wiring: Outputs, inputs and states, in this order.
        at_start: Whether it is called when the page comes up, too.
    """
    app.clientside_callback(  # type: ignore[no-untyped-call]  # Dash leaves this one method without types
        ClientsideFunction(namespace, function), *wiring, prevent_initial_call=not at_start
    )
