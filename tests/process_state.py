"""What tests of one process share and may change by accident."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PYTESTS_OWN = "PYTEST_CURRENT_TEST"


@dataclass(frozen=True)
class ProcessState:
    """The environment of this process, what it does on signals, its folders, and what it was started with."""

    variables: dict[str, str]
    handlers: dict[str, Any]
    folder: str
    temporary: str
    arguments: list[str]

    @classmethod
    def now(cls) -> ProcessState:
        """Return how it is."""
        variables = {name: value for name, value in os.environ.items() if name != PYTESTS_OWN}
        handlers = {one.name: signal.getsignal(one) for one in SIGNALS}
        return cls(variables, handlers, os.getcwd(), tempfile.gettempdir(), list(sys.argv))

    def flat(self) -> dict[str, Any]:
        """Return what is held by the names under which a change is told."""
        variables = {f"${name}": value for name, value in self.variables.items()}
        folders = {"current folder": self.folder, "temporary folder": self.temporary}
        return {**variables, **self.handlers, **folders, "sys.argv": self.arguments}

    def set_back(self) -> list[str]:
        """Make the process as it was again; return the names of what had changed."""
        before, after = self.flat(), ProcessState.now().flat()
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        if changed:
            for name in {name[1:] for name in changed if name.startswith("$")}:
                os.environ.pop(name, None)
            os.environ.update(self.variables)
            for one in SIGNALS:
                signal.signal(one, self.handlers[one.name])
            os.chdir(self.folder)
            tempfile.tempdir, sys.argv = self.temporary, list(self.arguments)
        return changed


@contextmanager
def kept() -> Iterator[None]:
    """Set the process back after what changes it, as a whole command does."""
    state = ProcessState.now()
    try:
        yield
    finally:
        state.set_back()
