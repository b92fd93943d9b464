"""Starts ncu-lab: the command ``ncu-lab``, and ``python -m ncu_lab``."""

from __future__ import annotations

import sys


def start() -> None:
    """Run the command line; Ctrl-C ends it quietly from the first import on."""
    try:
        from ncu_lab.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    start()
