"""What every page is given: the runs it may read, and what it may offer."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_lab_dash.data import LadderData
from ncu_lab_dash.opened import OpenedFiles
from ncu_lab_dash.run_data import RunData


@dataclass(frozen=True, slots=True)
class Served:
    """What a dashboard serves.

    Attributes:
        ladders: Ladders of the store.
        runs: Runs of the store, and what was read of opened files.
        opened: Files that were opened without storing them.
        list_command: What lists all runs of the store, for pages to name.
        allow_import: Whether an opened file may be kept in the store.
    """

    ladders: LadderData
    runs: RunData
    opened: OpenedFiles
    list_command: str
    allow_import: bool = False
