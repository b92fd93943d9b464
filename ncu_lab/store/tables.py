"""Tables of a run as Parquet: small, typed, and readable by any engine."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pandas as pd

_TYPES: Mapping[str, pa.DataType] = {
    "int64": pa.int64(),
    "Int64": pa.int64(),
    "float64": pa.float64(),
    "object": pa.string(),
    "category": pa.dictionary(pa.int32(), pa.string()),
}
_LISTS = frozenset({"nvtx"})  # columns of the object type that hold lists of words

_LEVEL = 9  # of zstd: a fifth smaller than its default, still a fraction of a second


class TableFile:
    """A Parquet file of one table, written some rows at a time."""

    def __init__(self, target: Path | BytesIO, columns: Mapping[str, str]) -> None:
        self._columns = list(columns)
        self._schema = pa.schema(
            [(name, pa.list_(pa.string()) if name in _LISTS else _TYPES[kind]) for name, kind in columns.items()]
        )
        self._writer = pq.ParquetWriter(target, self._schema, compression="zstd", compression_level=_LEVEL)

    def append(self, frame: pd.DataFrame) -> None:
        """Write more rows.

        Raises:
            ValueError: When a column is missing or holds what its type cannot.
        """
        try:
            rows = pa.Table.from_pandas(frame[self._columns], schema=self._schema, preserve_index=False)
        except (KeyError, pa.ArrowException) as error:
            raise ValueError(f"the table does not have the columns it should: {error}") from error
        self._writer.write_table(rows.replace_schema_metadata(None))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def write_table(frame: pd.DataFrame, columns: Mapping[str, str]) -> bytes:
    """Return a table as the bytes of a Parquet file.

    Raises:
        ValueError: When a column is missing or holds what its type cannot.
    """
    sink = BytesIO()
    file = TableFile(sink, columns)
    file.append(frame)
    file.close()
    return sink.getvalue()


def read_table(data: bytes, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the table that the bytes of a Parquet file hold; words that are missing are None.

    Raises:
        ValueError: When the bytes are not Parquet, or a column is missing.
    """
    import pandas as pd

    try:
        # Not pq.read_table: it imports all of pyarrow's datasets first.
        words = [name for name, kind in columns.items() if kind in ("object", "category") and name not in _LISTS]
        arrow = pq.ParquetFile(pa.BufferReader(data), read_dictionary=words).read(columns=list(columns))
        found = {name: pd.Series(_column(arrow[name], name, kind), dtype=kind) for name, kind in columns.items()}
        return pd.DataFrame(found, copy=False)
    except (KeyError, pa.ArrowException, OSError) as error:
        raise ValueError(str(error)) from error


def _column(column: pa.ChunkedArray, name: str, kind: str) -> Any:
    if name in _LISTS:
        return column.to_pylist()
    import numpy as np
    import pandas as pd

    if kind == "Int64":
        numbers = column.fill_null(-1).to_numpy().astype(np.int64, copy=False)
        return pd.arrays.IntegerArray(numbers, column.is_null().to_numpy())
    if kind not in ("object", "category"):
        return column.to_pandas()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    words = encoded.unify_dictionaries().combine_chunks()
    words = words.chunk(0) if isinstance(words, pa.ChunkedArray) else words
    codes = words.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    known = words.dictionary.to_pylist()
    if kind == "category":
        return pd.Categorical.from_codes(codes, categories=pd.Index(known, dtype=object))
    return np.array([*known, None], dtype=object)[codes]  # -1 is the last: None
