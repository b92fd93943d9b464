"""The columns of every table of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LAUNCH_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "stage": "object",
    "kernel": "object",  # demangled
    "function": "object",
    "mangled": "object",
    "grid_x": "int64",
    "grid_y": "int64",
    "grid_z": "int64",
    "block_x": "int64",
    "block_y": "int64",
    "block_z": "int64",
    "stream": "object",
    "context": "object",
    "process": "object",
    "device": "object",
    "nvtx": "object",  # list of range paths, outermost first
    "workload": "object",  # kernel, graph, range, cmdlist
    "execution": "int64",  # nth execution of the same subject in its process
    "role": "object",  # main, auxiliary
}


METRIC_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "metric": "object",
    "value": "float64",  # NaN: no number
    "text": "object",  # for metrics that are words
    "unit": "object",
}


INSTANCE_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "metric": "category",
    "kind": "category",  # what the correlation is: pc, index, time (ns), name
    "correlation": "int64",  # the position among the instances where the kind is name
    "label": "category",  # the correlation itself where the kind is name (an opcode)
    "value": "float64",  # NaN where the instance is a word
    "text": "category",
    "sass": "category",  # sass, file and line only where the kind is pc
    "file": "category",
    "line": "Int64",
}


RULE_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "section": "object",
    "rule": "object",
    "kind": "object",  # NVIDIA's message type: optimization, warning, ok, none
    "message": "object",
    "speedup_pct": "float64",
    "speedup_scope": "object",  # local, global
}


TIMING_COLUMNS: Mapping[str, str] = {
    "process": "int64",
    "sample": "int64",
    "order": "int64",
    "subject": "object",
    "mode": "object",
    "ns": "float64",
    "sm_clock_mhz": "float64",
    "power_w": "float64",
    "temperature_c": "float64",
}


def table(columns: Mapping[str, str], data: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return a table with exactly these columns, in their order and types.

    Args:
        columns: Column name -> pandas type: ``LAUNCH_COLUMNS`` and its like.
        data: Column name -> values, all of one length; further columns are dropped. None makes an empty table.

    Raises:
        KeyError: When ``data`` lacks a column.
    """
    import pandas as pd

    values = {name: [] for name in columns} if data is None else data
    return pd.DataFrame({name: pd.Series(values[name], dtype=dtype) for name, dtype in columns.items()})


Json = dict[str, Any]
"""A JSON object."""
