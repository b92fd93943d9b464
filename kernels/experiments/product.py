"""One variant as a product that can be built, launched, checked against float64 and compared with cuBLAS."""

from __future__ import annotations

import ctypes as ct
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from driver import BFLOAT16, FLOAT32, Cublas, CublasLt, Cuda
from reorder import reorder_cubin
from variants import Variant

FLAG_BYTES = 32  # of a block: a flag for each of its multiplying warps, or counters of which there are fewer
CLUSTERS = (1, 2, 4, 8)  # blocks: every GPU with clusters can place these

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "experiments"


def build(variant: Variant) -> Path:
    """Compiles a variant's cubin unless one of the same source and macros is there; spills and serialised wgmma fail.

    Raises:
        RuntimeError: With the compiler's words.
    """
    source = HERE / variant.source
    parts = [source.read_bytes(), repr((variant.macros, variant.level, variant.recipe)).encode()]
    if variant.recipe is not None:
        parts += [(HERE / tool).read_bytes() for tool in ("reorder.py", "dataflow.py", "bank_path.py", "sass.py")]
    digest = hashlib.sha256(b"".join(parts))
    cubin = BUILD / f"{variant.name}-{digest.hexdigest()[:12]}.cubin"
    if cubin.exists():
        return cubin
    BUILD.mkdir(parents=True, exist_ok=True)
    temporary = cubin.with_suffix(f".{os.getpid()}.cubin")
    command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-std=c++17", "-lineinfo"]
    command += ["-Xptxas", f"-v,-O{variant.level}"]
    command += [f"-D{name}={value}" for name, value in variant.macros.items()]
    done = subprocess.run([*command, "-o", str(temporary), str(source)], capture_output=True, text=True)
    log = done.stdout + done.stderr
    spilled = [line for line in log.splitlines() if "spill" in line and " 0 bytes spill stores, 0 bytes" not in line]
    if done.returncode or spilled or "C7510" in log:
        raise RuntimeError(f"{variant.name}: nvcc failed, spilled or serialised wgmma:\n{log}")
    if variant.recipe is not None:
        reorder_cubin(temporary, variant.entry, variant.recipe)
    temporary.rename(cubin)
    return cubin


class Runner:
    """A loaded variant, ready to compute C = A B for device pointers."""

    def __init__(self, cuda: Cuda, variant: Variant, cubin: Path) -> None:
        self.cuda, self.variant = cuda, variant
        module = cuda.module(cubin)
        self.kernel = cuda.function(module, variant.entry, variant.shared_bytes)
        self.transpose = cuda.function(module, "transpose") if variant.family == "sgemm" else None
        self.workers = cuda.multiprocessors * variant.blocks_per_sm
        self.active_clusters = self._resident(variant.cluster)
        self.epoch = 0
        self.partial = cuda.alloc(self.workers * variant.tile[0] * variant.tile[1] * 4)
        self.flags = cuda.alloc(self.workers * FLAG_BYTES)
        cuda.fill(self.flags, 0, self.workers * FLAG_BYTES // 4)

    def _resident(self, cluster: int) -> int:
        """How many clusters of this size run at once."""
        v = self.variant
        if cluster == 1:
            return self.workers
        return self.cuda.active_clusters(self.kernel, v.shared_bytes, cluster, v.threads)

    def prepare(self, m: int, n: int, k: int, a: int, b: int, c: int) -> Any:
        """Encodes tensor maps and arguments once; returns the function that launches the product."""
        prepare = {"sgemm": self._prepare_sgemm, "small": self._prepare_small, "bf16": self._prepare_bf16}
        return prepare[self.variant.family](m, n, k, a, b, c)

    def _prepare_sgemm(self, m: int, n: int, k: int, a: int, b: int, c: int) -> Any:
        v, cuda = self.variant, self.cuda
        bm, bn, bk = v.tile
        pitch = (m + 31) // 32 * 32
        at = cuda.alloc(pitch * k * 4)
        map_a = cuda.tensor_map(FLOAT32, at, m, k, pitch * 4, (bm, bk))
        map_b = cuda.tensor_map(FLOAT32, b, n, k, n * 4, (bn, bk))
        tiles = -(-m // bm) * -(-n // bn)
        grid = self.workers if v.persistent else tiles
        split = tiles % grid if v.split else 0
        epoch = ct.c_uint32(0)
        args = [map_a, map_b, ct.c_uint64(c), ct.c_int(m), ct.c_int(n), ct.c_int(k), ct.c_int(n), ct.c_float(1.0),
                ct.c_int(split), ct.c_uint64(self.partial), ct.c_uint64(self.flags), epoch]  # fmt: skip
        t_args = [ct.c_uint64(a), ct.c_uint64(at), ct.c_int(m), ct.c_int(k), ct.c_int(k), ct.c_int(pitch)]
        t_grid = min(cuda.multiprocessors * 8, -(-m // 128) * -(-k // 32))  # PIECE in sgemm.cu

        def run() -> None:
            self.epoch += 1
            epoch.value = self.epoch  # flags live as long as the runner
            cuda.launch(self.transpose, t_grid, 256, 0, t_args)
            cuda.launch(self.kernel, grid, 128, v.shared_bytes, args, early=bool(v.macros.get("EARLY")))

        return run

    def _prepare_small(self, m: int, n: int, k: int, a: int, b: int, c: int) -> Any:
        v, cuda = self.variant, self.cuda
        bm, bn, bk = v.tile
        map_a = cuda.tensor_map(FLOAT32, a, k, m, k * 4, (bk, bm), 3)
        map_b = cuda.tensor_map(FLOAT32, b, n, k, n * 4, (bn, bk))
        tiles = -(-m // bm) * -(-n // bn)
        resident = {size: self._resident(size) for size in CLUSTERS if size <= v.most_cluster}
        blocks, clusters, slice_steps = slices(tiles, -(-k // bk), resident, v.least_steps)
        args = [map_a, map_b, ct.c_uint64(c), *(ct.c_int(x) for x in (m, n, k)), ct.c_float(1.0),
                *(ct.c_int(x) for x in (slice_steps, clusters)), ct.c_uint64(self.partial),
                ct.c_uint64(self.flags)]  # fmt: skip

        def run() -> None:
            cuda.launch(self.kernel, tiles * clusters * blocks, v.threads, v.shared_bytes, args, cluster=blocks)

        return run

    def _prepare_bf16(self, m: int, n: int, k: int, a: int, b: int, c: int) -> Any:
        v, cuda = self.variant, self.cuda
        _, _, bk = v.tile
        map_a = cuda.tensor_map(BFLOAT16, a, k, m, k * 2, (bk, 128), 3)
        map_b = cuda.tensor_map(BFLOAT16, b, n, k, n * 2, (64, bk), 3)
        map_c = cuda.tensor_map(BFLOAT16, c, n, m, n * 2, (64, 64), 3)
        tiles = -(-m // (v.tile[0] * v.cluster)) * -(-n // v.tile[1])
        clusters = min((v.max_blocks or self.workers) // v.cluster, self.active_clusters, tiles)
        args = [map_a, map_b, map_c, *(ct.c_int(x) for x in (m, n, k))]

        def run() -> None:
            cuda.launch(self.kernel, clusters * v.cluster, v.threads, v.shared_bytes, args, cluster=v.cluster)

        return run


def slices(tiles: int, steps: int, resident: dict[int, int], least: int) -> tuple[int, int, int]:
    """How the K of every tile is shared: blocks of a cluster, clusters of a tile, steps of a block.

    As many slices of `least` steps or more as are all `resident` (clusters at once, by their size) with those of the
    other tiles: what waits for a second round doubles the time. Larger clusters, whose sums meet in shared memory,
    are taken where they cost at most a tenth of the slices.
    """
    at_once = {size: min(count // tiles, steps // least // size) for size, count in resident.items()}
    most = max(1, *(size * count for size, count in at_once.items()))
    blocks = max((size for size, count in at_once.items() if 10 * size * count >= 9 * most), default=1)
    slice_steps = -(-steps // (blocks * max(1, at_once[blocks])))
    return blocks, -(-steps // (blocks * slice_steps)), slice_steps


class Matrices:
    """Random normal A and B on the device in a family's type, and room for C with a NaN poison."""

    def __init__(self, cuda: Cuda, family: str, out_bytes: int, data: Path, m: int, n: int, k: int) -> None:
        self.cuda, self.out_bytes, self.count = cuda, out_bytes, m * n
        flat = np.load(data, mmap_mode="r")
        a, b = flat[: m * k], flat[-k * n :]
        if family == "bf16":
            a, b = (to_bf16(x) for x in (a, b))
        self.a, self.b, self.c = cuda.alloc(a.nbytes), cuda.alloc(b.nbytes), cuda.alloc(m * n * 4)
        cuda.upload(self.a, np.ascontiguousarray(a))
        cuda.upload(self.b, np.ascontiguousarray(b))

    def poison(self) -> None:
        """Fills C with NaN (0xFFFFFFFF is NaN in FP32 and, twice, in BF16)."""
        self.cuda.fill(self.c, 0xFFFFFFFF, (self.count * self.out_bytes + 3) // 4)

    def result(self) -> Any:
        """C as a flat float32 array."""
        if self.out_bytes == 4:
            out = np.empty(self.count, np.float32)
            self.cuda.download(out, self.c)
            return out
        raw = np.empty(self.count, np.uint16)
        self.cuda.download(raw, self.c)
        return (raw.astype(np.uint32) << 16).view(np.float32)

    def free(self) -> None:
        """Gives the three matrices back."""
        for pointer in (self.a, self.b, self.c):
            self.cuda.free(pointer)


def to_bf16(x: Any) -> Any:
    """Rounds float32 to the nearest BF16, ties to even, as uint16 bits."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def exact_inputs(family: str, data: Path, m: int, n: int, k: int) -> tuple[Any, Any]:
    """The inputs the kernel sees, in float64."""
    flat = np.load(data, mmap_mode="r")
    a, b = flat[: m * k], flat[-k * n :]
    if family == "bf16":
        a, b = ((to_bf16(x).astype(np.uint32) << 16).view(np.float32) for x in (a, b))
    return a.astype(np.float64).reshape(m, k), b.astype(np.float64).reshape(k, n)


def check(got: Any, exact: Any, k: int, variant: Variant) -> dict[str, Any]:
    """Errors over all elements against float64; `ok` is false for any NaN.

    FP32: rounding errors of k sums of size sqrt(k) add up like a walk, about k * eps / 3; 8 k eps is far out in its
    tail and far below TF32's. Tensor cores truncate, so that their errors add up straight: 64 k eps. BF16 output
    rounds to 2^-9.
    """
    difference = np.abs(got.astype(np.float64) - exact)
    worst = float(difference.max())
    norm = float(np.sqrt(np.square(difference).sum() / np.square(exact).sum()))
    limit = (64 if variant.family == "bf16" else 8) * max(k, 4) * 2.0**-24
    if variant.bf16_out:
        limit += float(np.abs(exact).max()) * 2.0**-8
    return {"max_abs": worst, "normwise": norm, "limit": limit, "ok": bool(worst <= limit)}


def reference_types(variant: Variant) -> tuple[tuple[int, int], tuple[int, int]]:
    """CuBLAS types of (inputs, C), and the two compute types, the one compared with first."""
    if variant.family != "bf16":
        return (Cublas.R32F, Cublas.R32F), (Cublas.PEDANTIC_32F, Cublas.DEFAULT_32F)
    return (Cublas.R16BF, Cublas.R16BF if variant.bf16_out else Cublas.R32F), (Cublas.DEFAULT_32F, Cublas.PEDANTIC_32F)


def more_references(lt: CublasLt, variant: Variant, x: Matrices, m: int, n: int, k: int) -> list[Any]:
    """Up to eight algorithms of cublasLt, as many as it offers, for each compute type of `reference_calls`."""
    types, computes = reference_types(variant)
    return [run for compute in computes for run in lt.candidates(m, n, k, x.a, x.b, x.c, types, compute)]


def reference_calls(cublas: Cublas, variant: Variant, x: Matrices, m: int, n: int, k: int) -> tuple[Any, Any]:
    """CuBLAS on the same matrices and types, by its two compute types (neither of which may use TF32 for FP32)."""
    types, computes = reference_types(variant)

    def call(compute: int) -> Any:
        return lambda: cublas.gemm(m, n, k, x.a, x.b, x.c, types, compute)

    return call(computes[0]), call(computes[1])
