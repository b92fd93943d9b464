"""The instances of metrics: per instruction, per index, over time, by name."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ncu_lab.metrics import is_time_line
from ncu_lab.model import INSTANCE_COLUMNS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from ncu_report import IAction, IMetric

KINDS = ("pc", "index", "time", "name")
_PC, _INDEX, _TIME, _NAME = range(len(KINDS))

LEAST_TIME = 2**58
"""Correlations from here on are times: nanoseconds since 1970 passed it in 1979, no GPU address reaches it."""

LEAST_PC = 2**32
"""Addresses of instructions begin far above this in all known reports, indexes end far below.
Asking for SASS does not tell: some reports have none, others have code at address 0, where indexes look like addresses.
"""


class Words:
    """Codes for words that repeat; -1 is a missing one."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, word: str | None) -> int:
        """Return the code of a word, a new one for a new word."""
        if word is None:
            return -1
        return self._codes.setdefault(word, len(self._codes))

    @property
    def known(self) -> Collection[str]:
        """The words so far."""
        return self._codes.keys()

    def categorical(self, codes: np.ndarray[Any, Any]) -> pd.Categorical:
        """Return codes as a categorical column."""
        import pandas as pd

        return pd.Categorical.from_codes(codes, categories=pd.Index(list(self._codes), dtype=object))


class InstanceColumns:
    """Columns of the instances table, grown a metric at a time.

    Every instance of one metric has its launch, metric and kind in common, so these are kept once a metric and spread
    at the end; a position in the code is looked up once a launch, and the instances keep its number. What has grown
    can be pickled: numpy and pandas are needed for the table only.
    """

    def __init__(self) -> None:
        self._launch = -1
        self._action: IAction | None = None
        self._heads: list[tuple[int, int, int, int]] = []  # launch, metric, kind, count
        self._metrics, self._labels, self._texts, self._sass, self._files = (Words() for _ in range(5))
        self._correlations = array("q")
        self._values = array("d")
        self._rare: dict[str, dict[int, int]] = {"label": {}, "text": {}}  # row -> code: few instances have one
        self._places: list[tuple[int, int, int]] = [(-1, -1, -1)]  # sass, file, line
        self._place_of_pc: dict[int, int] = {}
        self._row_places = array("i")
        self._last_pcs: list[int] = []
        self._last_places: list[int] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_action": None}

    @property
    def files(self) -> Collection[str]:
        """The source files that instructions were from so far."""
        return self._files.known

    def start(self, launch: int, action: IAction) -> None:
        """Begin a launch: addresses mean something else from here on."""
        self._launch, self._action = launch, action
        self._place_of_pc = {}
        self._last_pcs, self._last_places = [], []

    def add(self, name: str, metric: IMetric, count: int, factor: float) -> None:
        """Read the instances of one metric; numbers are multiplied with ``factor``."""
        rows = range(count)
        start = len(self._values)
        kind, correlations = self._correlate(name, metric, rows, start)
        self._heads.append((self._launch, self._metrics.code(name), kind, count))
        self._correlations.extend(correlations)
        self._row_places.extend(self._places_of(correlations) if kind == _PC else [0] * count)
        if metric.kind(0) == metric.ValueKind_STRING:
            self._values.extend([float("nan")] * count)
            as_string = metric.as_string
            self._rare["text"].update((start + row, self._texts.code(as_string(row))) for row in rows)
            return
        as_double = metric.as_double
        values = [as_double(row) for row in rows]
        self._values.extend(values if factor == 1.0 else [value * factor for value in values])

    def _correlate(self, name: str, metric: IMetric, rows: range, start: int) -> tuple[int, Sequence[int]]:
        ids = metric.correlation_ids() if metric.has_correlation_ids() else None
        if ids is None:
            return _INDEX, rows
        if ids.kind(0) == ids.ValueKind_STRING:
            as_string = ids.as_string
            self._rare["label"].update((start + row, self._labels.code(as_string(row))) for row in rows)
            return _NAME, rows
        as_uint64 = ids.as_uint64
        correlations = [as_uint64(row) for row in rows]
        last = correlations[-1]  # some time lines start at 0
        if last < LEAST_PC:
            return _INDEX, correlations
        return (_TIME if last >= LEAST_TIME or is_time_line(name) else _PC), correlations

    def _places_of(self, pcs: Sequence[int]) -> list[int]:
        # Most metrics of a launch are correlated with the very same instructions.
        if pcs == self._last_pcs:
            return self._last_places
        self._last_pcs, self._last_places = list(pcs), [self._place_of(pc) for pc in pcs]
        return self._last_places

    def _place_of(self, pc: int) -> int:
        """Return the number of a place in the code; each is looked up once a launch."""
        known = self._place_of_pc.get(pc)
        if known is not None:
            return known
        assert self._action is not None
        sass = self._action.sass_by_pc(pc).strip()
        source = self._action.source_info(pc)
        file, line = (None, -1) if source is None else (source.file_name(), source.line())
        self._places.append((self._sass.code(sass or None), self._files.code(file or None), line))
        self._place_of_pc[pc] = len(self._places) - 1
        return len(self._places) - 1

    def table(self) -> pd.DataFrame:
        """Return the table of ``INSTANCE_COLUMNS``."""
        import numpy as np
        import pandas as pd

        heads = np.array(self._heads, dtype=np.int64).reshape(-1, 4)
        launch, metric, kind = (np.repeat(heads[:, column], heads[:, 3]) for column in range(3))
        places = np.array(self._places, dtype=np.int32)[np.asarray(self._row_places)].reshape(-1, 3)
        columns = {
            "launch": launch,
            "metric": self._metrics.categorical(metric),
            "kind": pd.Categorical.from_codes(kind, categories=pd.Index(KINDS, dtype=object)),
            "correlation": np.asarray(self._correlations),
            "label": self._rare_column("label", self._labels),
            "value": np.asarray(self._values),
            "text": self._rare_column("text", self._texts),
            "sass": self._sass.categorical(places[:, 0]),
            "file": self._files.categorical(places[:, 1]),
            "line": pd.arrays.IntegerArray(places[:, 2].astype(np.int64), places[:, 2] < 0),
        }
        return pd.DataFrame({name: columns[name] for name in INSTANCE_COLUMNS}, copy=False)

    def _rare_column(self, name: str, words: Words) -> pd.Categorical:
        import numpy as np

        codes = np.full(len(self._values), -1, dtype=np.int32)
        found = self._rare[name]
        codes[list(found)] = list(found.values())
        return words.categorical(codes)
