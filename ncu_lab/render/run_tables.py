"""The tables of a run as CSV: every row and column, in full precision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def table_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8: a header, one line a row, an empty field for what is missing, lists as JSON."""
    shown = frame
    if "nvtx" in frame:
        shown = frame.assign(nvtx=[json.dumps(list(paths), ensure_ascii=False) for paths in frame["nvtx"]])
    # Names of files that are no UTF-8 hold halves of characters.
    return shown.to_csv(index=False, lineterminator="\n").encode("utf-8", "backslashreplace")
