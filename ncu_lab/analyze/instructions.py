"""The counters per instruction of a run as one table: a row an instruction, a column a metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

PLACE = ["launch", "address", "sass", "file", "line"]
"""The columns that tell which instruction a row is; all others are metrics."""


def instruction_table(instances: pd.DataFrame, wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Return the counters of every instruction, in the order of the code.

    Args:
        instances: A table of ``INSTANCE_COLUMNS``.
        wanted: Chooses metrics by their Nsight Compute names.

    Returns:
        The columns of :data:`PLACE`, then one a metric; NaN where an instruction has no such counter. Code without
        line information has the line ``<NA>``.
    """
    import pandas as pd

    names = [name for name in instances["metric"].unique() if isinstance(name, str) and wanted(name)]
    rows = instances[(instances["kind"] == "pc") & instances["metric"].isin(names) & instances["value"].notna()]
    if rows.empty:
        return pd.DataFrame({name: [] for name in PLACE})
    key = ["launch", "correlation"]
    metrics = rows["metric"].cat.remove_unused_categories()
    # Codes and an array instead of pivot_table: a fifth of its time, and no copy of words.
    places = rows.drop_duplicates(key)[[*key, "sass", "file", "line"]].sort_values(key, ignore_index=True)
    index = pd.MultiIndex.from_frame(places[key])
    found = {
        name: rows.loc[metrics == name].drop_duplicates(key).set_index(key)["value"].reindex(index).to_numpy()
        for name in metrics.cat.categories
    }
    return pd.concat([places.rename(columns={"correlation": "address"}), pd.DataFrame(found)], axis=1)
