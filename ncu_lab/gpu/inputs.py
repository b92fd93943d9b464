"""Random inputs, made with numpy so that a seed gives the same matrices on every machine, GPU or not.

cupy and numpy have no BF16; it travels as ``uint16``, the upper half of a rounded FP32.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncu_lab.model import Dtype

CHUNK = 2**21
"""Elements of one random stream; fixed, so that the values do not depend on the number of cores."""


def normal(rows: int, cols: int, seed: int) -> NDArray[np.float32]:
    """Return a matrix of standard normal FP32 values; equal for equal arguments, however many cores there are."""
    out = np.empty(rows * cols, dtype=np.float32)
    pieces = [out[start : start + CHUNK] for start in range(0, out.size, CHUNK)]
    streams = np.random.SeedSequence([seed, rows, cols]).spawn(len(pieces))

    def fill(piece: NDArray[np.float32], stream: np.random.SeedSequence) -> None:
        np.random.default_rng(stream).standard_normal(dtype=np.float32, out=piece)

    if len(pieces) == 1:
        fill(pieces[0], streams[0])
    else:
        with ThreadPoolExecutor(min(len(pieces) or 1, os.cpu_count() or 1)) as pool:
            list(pool.map(fill, pieces, streams))
    return out.reshape(rows, cols)


def encode(values: NDArray[np.float32], dtype: Dtype) -> NDArray[Any]:
    """Round FP32 values to what a stage reads: float32 (also for TF32), float16, or BF16 in uint16."""
    if dtype == "bf16":
        return to_bf16(values)
    return values.astype(np.float16) if dtype == "fp16" else values


def decode(stored: NDArray[Any]) -> NDArray[np.float64]:
    """Return stored elements in float64: exactly the values that a stage reads."""
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)


def to_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round FP32 to BF16, to nearest and ties to even; NaN stays NaN."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)
