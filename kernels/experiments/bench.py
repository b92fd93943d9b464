"""Builds, checks and times the experiments on the GPU: one table, one child process and one time limit per variant.

    python3 kernels/experiments/bench.py [--only NAME ...] [--sizes 4096 8192] [--list] [--build-only]

Every variant is checked against float64 (random normal data, C poisoned with NaN, every element) before it is timed.
A sample is one product between two events after the L2 was overwritten; A B B A interleaves variant and cuBLAS.
Writes results.json to $OUT where that is set, beside the table on stdout.
"""

from __future__ import annotations

import argparse
import ctypes as ct
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from driver import BFLOAT16, FLOAT32, Cublas, Cuda, Telemetry  # noqa: E402  (the script's own folder comes first)
from reorder import reorder_cubin  # noqa: E402
from variants import VARIANTS, Variant  # noqa: E402

BUILD = HERE.parents[1] / "build" / "experiments"
FLUSH_BYTES = 256 << 20
SAMPLES = 12
# Sizes that the fast paths take (16-byte rows for TMA) and that cut tiles in every direction.
ODD_SIZES = {
    "sgemm": ((1, 4, 1), (127, 132, 33), (129, 124, 64), (300, 520, 1000), (2049, 2052, 2047)),
    "bf16": ((1, 8, 8), (127, 136, 40), (129, 120, 64), (300, 520, 1000), (2049, 2056, 2040)),
}


def build(variant: Variant) -> Path:
    """Compiles a variant's cubin unless one of the same source and macros is there; spills and serialised wgmma fail.

    Raises:
        RuntimeError: With the compiler's words.
    """
    source = HERE / variant.source
    parts = [source.read_bytes(), repr((variant.macros, variant.groups)).encode()]
    if variant.groups is not None:
        parts += [(HERE / tool).read_bytes() for tool in ("reorder.py", "sass.py")]
    digest = hashlib.sha256(b"".join(parts))
    cubin = BUILD / f"{variant.name}-{digest.hexdigest()[:12]}.cubin"
    if cubin.exists():
        return cubin
    BUILD.mkdir(parents=True, exist_ok=True)
    temporary = cubin.with_suffix(f".{os.getpid()}.cubin")
    command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-std=c++17", "-Xptxas", "-v"]
    command += [f"-D{name}={value}" for name, value in variant.macros.items()]
    done = subprocess.run([*command, "-o", str(temporary), str(source)], capture_output=True, text=True)
    log = done.stdout + done.stderr
    spilled = [line for line in log.splitlines() if "spill" in line and " 0 bytes spill stores, 0 bytes" not in line]
    if done.returncode or spilled or "C7510" in log:
        raise RuntimeError(f"{variant.name}: nvcc failed, spilled or serialised wgmma:\n{log}")
    if variant.groups is not None:
        reorder_cubin(temporary, variant.entry, variant.groups)
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
        self.epoch = 0
        self.partial = cuda.alloc(self.workers * variant.tile[0] * variant.tile[1] * 4)
        self.flags = cuda.alloc(self.workers * 16)
        cuda.fill(self.flags, 0, self.workers * 4)

    def prepare(self, m: int, n: int, k: int, a: int, b: int, c: int) -> Any:
        """Encodes tensor maps and arguments once; returns the function that launches the product."""
        return (self._prepare_sgemm if self.variant.family == "sgemm" else self._prepare_bf16)(m, n, k, a, b, c)

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
        pieces = -(-m // (64 if v.overlap else 128))  # PIECE in sgemm.cu
        steps = -(-k // bk)
        ready = ct.c_uint64(cuda.alloc(steps * 4))  # counts pieces over all launches of this shape
        cuda.fill(ready.value, 0, steps)
        ready_count, epoch = ct.c_uint32(0), ct.c_uint32(0)
        args = [map_a, map_b, ct.c_uint64(c), ct.c_int(m), ct.c_int(n), ct.c_int(k), ct.c_int(n), ct.c_float(1.0),
                ct.c_int(split), ct.c_uint64(self.partial), ct.c_uint64(self.flags), ready, ready_count,
                epoch]  # fmt: skip
        t_args = [ct.c_uint64(a), ct.c_uint64(at), ct.c_int(m), ct.c_int(k), ct.c_int(k), ct.c_int(pitch), ready]
        t_grid = min(cuda.multiprocessors * (1 if v.overlap else 8), pieces * -(-k // 32))

        def run() -> None:
            self.epoch += 1
            epoch.value = self.epoch  # flags live as long as the runner
            ready_count.value += pieces
            cuda.launch(self.transpose, t_grid, 256, 0, t_args)
            cuda.launch(self.kernel, grid, 128, v.shared_bytes, args, programmatic=v.overlap)

        return run

    def _prepare_bf16(self, m: int, n: int, k: int, a: int, b: int, c: int) -> Any:
        v, cuda = self.variant, self.cuda
        bm, bn, bk = v.tile
        out_bytes = 2 if v.bf16_out else 4
        map_a = cuda.tensor_map(BFLOAT16, a, k, m, k * 2, (bk, bm), 3)
        map_b = cuda.tensor_map(BFLOAT16, b, n, k, n * 2, (64, bk), 3)
        out_type, out_box = (BFLOAT16, (64, 64)) if v.bf16_out else (FLOAT32, (32, 64))
        map_c = cuda.tensor_map(out_type, c, n, m, n * out_bytes, out_box, 3)
        grid = min(v.max_blocks or self.workers, v.cluster * -(-(-(-m // bm) * -(-n // bn)) // v.cluster))
        args = [map_a, map_b, map_c, ct.c_int(m), ct.c_int(n), ct.c_int(k)]

        def run() -> None:
            cuda.launch(self.kernel, grid, 384, v.shared_bytes, args, cluster=v.cluster)

        return run


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
    limit = (8 if variant.family == "sgemm" else 64) * max(k, 4) * 2.0**-24
    if variant.bf16_out:
        limit += float(np.abs(exact).max()) * 2.0**-8
    return {"max_abs": worst, "normwise": norm, "limit": limit, "ok": bool(worst <= limit)}


def timed(cuda: Cuda, flush: int, run: Any) -> float:
    """Milliseconds of one product with a cold L2. The flush also lets the host run ahead of the device."""
    start, stop = cuda.event(), cuda.event()
    cuda.fill(flush, 0, FLUSH_BYTES // 4)
    cuda.record(start)
    run()
    cuda.record(stop)
    return cuda.elapsed_ms(start, stop)


def compare(cuda: Cuda, ours: Any, reference: Any, other: Any, flush: int) -> dict[str, Any]:
    """Times each alone, then A B B A; all samples kept. `other` is a second reference, timed alone only."""
    results: dict[str, Any] = {}
    for name, run in (("reference_alone", reference), ("other_alone", other), ("ours_alone", ours)):
        for _ in range(3):
            timed(cuda, flush, run)
        with Telemetry() as telemetry:
            results[name] = [timed(cuda, flush, run) for _ in range(SAMPLES)]
        results[name + "_state"] = telemetry.summary()
    a: list[float] = []
    b: list[float] = []
    for _ in range(SAMPLES // 2):
        a.append(timed(cuda, flush, ours))
        b.append(timed(cuda, flush, reference))
        b.append(timed(cuda, flush, reference))
        a.append(timed(cuda, flush, ours))
    results["ours_interleaved"], results["reference_interleaved"] = a, b
    return results


def reference_calls(cublas: Cublas, variant: Variant, x: Matrices, m: int, n: int, k: int) -> tuple[Any, Any]:
    """CuBLAS on the same matrices and types, by its two compute types (neither of which may use TF32 for FP32)."""
    if variant.family == "sgemm":
        types, computes = (Cublas.R32F, Cublas.R32F), (Cublas.PEDANTIC_32F, Cublas.DEFAULT_32F)
    else:
        types = (Cublas.R16BF, Cublas.R16BF if variant.bf16_out else Cublas.R32F)
        computes = (Cublas.DEFAULT_32F, Cublas.PEDANTIC_32F)

    def call(compute: int) -> Any:
        return lambda: cublas.gemm(m, n, k, x.a, x.b, x.c, types, compute)

    return call(computes[0]), call(computes[1])


def child(name: str, cubin: Path, data: Path, exact_dir: Path, sizes: list[int], out: Path) -> None:
    """Checks and times one variant; rewrites `out` after every step so that a hang loses nothing before it."""
    variant = VARIANTS[name]
    out_bytes = 2 if variant.bf16_out else 4
    cuda = Cuda()
    result: dict[str, Any] = {"checks": {}, "times": {}}

    def save() -> None:
        out.write_text(json.dumps(result))

    runner, cublas = Runner(cuda, variant, cubin), Cublas(cuda)
    flush = cuda.alloc(FLUSH_BYTES)
    odd = ODD_SIZES[variant.family]
    for m, n, k in (*odd, *((s, s, s) for s in sizes)):
        x = Matrices(cuda, variant.family, out_bytes, data, m, n, k)
        run = runner.prepare(m, n, k, x.a, x.b, x.c)
        large = (m, n, k) not in odd
        if large:
            exact = np.load(exact_dir / f"{variant.family}-{m}.npy", mmap_mode="r")
        else:
            left, right = exact_inputs(variant.family, data, m, n, k)
            exact = (left @ right).ravel()
        x.poison()
        run()
        cuda.synchronize()
        first = x.result()
        verdict = check(first, exact, k, variant)
        if not large:  # a result that changes between runs is a race
            x.poison()
            run()
            verdict["repeatable"] = bool(np.array_equal(first.view(np.uint32), x.result().view(np.uint32)))
            verdict["ok"] = verdict["ok"] and verdict["repeatable"]
        result["checks"][f"{m}x{n}x{k}"] = verdict
        save()
        if large and verdict["ok"]:
            result["times"][str(m)] = compare(cuda, run, *reference_calls(cublas, variant, x, m, n, k), flush)
            x.poison()
            run()  # after all timing, once more the same bits: catches what only repeated launches break
            again = x.result()
            result["checks"][f"{m} after timing"] = {
                "ok": bool(np.array_equal(first.view(np.uint32), again.view(np.uint32)))
            }
            save()
        x.free()
    result["done"] = True
    save()


def oracle(families: set[str], data: Path, exact_dir: Path, sizes: list[int]) -> None:
    """Writes float64 products of the large sizes (cublasDgemm; its kernel is checked against numpy at 300x520x1000)."""
    cuda = Cuda()
    cublas = Cublas(cuda)
    for family in sorted(families):
        for m, n, k, keep in ((300, 520, 1000, False), *((s, s, s, True) for s in sizes)):
            left, right = exact_inputs(family, data, m, n, k)
            pointers = [cuda.alloc(left.nbytes), cuda.alloc(right.nbytes), cuda.alloc(m * n * 8)]
            cuda.upload(pointers[0], left)
            cuda.upload(pointers[1], right)
            cublas.gemm(m, n, k, *pointers, (Cublas.R64F, Cublas.R64F), Cublas.DEFAULT_64F)
            product = np.empty(m * n, np.float64)
            cuda.download(product, pointers[2])
            if keep:
                np.save(exact_dir / f"{family}-{m}.npy", product)
            elif not np.allclose(product, (left @ right).ravel(), rtol=1e-10, atol=1e-10):
                raise SystemExit("cublasDgemm disagrees with numpy: no oracle")
            for pointer in pointers:
                cuda.free(pointer)


def median(values: list[float]) -> float:
    """The median of the samples."""
    return statistics.median(values)


def table_rows(name: str, result: dict[str, Any]) -> list[str]:
    """Lines of the table for one variant, one per size; a failure says why instead."""
    bad = [shape for shape, verdict in result.get("checks", {}).items() if not verdict["ok"]]
    if "error" in result or bad:
        return [f"{name:<22} FAILED {'wrong at ' + ', '.join(bad) if bad else ''} {result.get('error', '')[-300:]}"]
    rows = []
    for size, t in result["times"].items():
        flop = 2.0 * int(size) ** 3
        ours, ref, other = (median(t[f"{which}_alone"]) for which in ("ours", "reference", "other"))
        inter = median(t["ours_interleaved"]), median(t["reference_interleaved"])
        state, ref_state = t["ours_alone_state"], t["reference_alone_state"]
        spread = (max(t["ours_alone"]) - min(t["ours_alone"])) / ours
        rows.append(
            f"{name:<22} {size:>5} {flop / ours / 1e9:8.2f} {flop / ref / 1e9:8.2f} {flop / other / 1e9:8.2f} "
            f"{ref / ours:7.4f} {inter[1] / inter[0]:7.4f} {ref / inter[0]:7.4f} {spread:6.1%} "
            f"{state['clock_mhz'] or '–'!s:>5}/{ref_state['clock_mhz'] or '–'!s:<5} "
            f"{state['power_w'] or float('nan'):4.0f}/{ref_state['power_w'] or float('nan'):<4.0f}"
        )
    return rows


HEADER = (
    f"{'variant':<22} {'size':>5} {'TFLOP/s':>8} {'cuBLAS':>8} {'cuBLAS2':>8} {'alone':>7} {'ABBA':>7} "
    f"{'A/ref':>7} {'spread':>6} {'MHz ours/ref':>11} {'W ours/ref':>9}"
)


def run_all(names: list[str], sizes: list[int], limit_s: float) -> dict[str, Any]:
    """Builds all, then runs each variant in its own process under `limit_s`."""
    started = time.monotonic()
    cubins: dict[str, Path] = {}
    results: dict[str, Any] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, future in [(name, pool.submit(build, VARIANTS[name])) for name in names]:
            try:
                cubins[name] = future.result()
            except RuntimeError as error:
                results[name] = {"error": str(error)}
    print(f"built {len(cubins)} of {len(names)} in {time.monotonic() - started:.1f} s", flush=True)
    shared = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        data = Path(folder) / "normal.npy"
        largest = max((*sizes, 2056))
        chunks = np.random.SeedSequence(7).spawn(16)
        with ThreadPoolExecutor(16) as pool:
            parts = pool.map(
                lambda seed: np.random.default_rng(seed).standard_normal(largest * largest // 8, np.float32), chunks
            )
        np.save(data, np.concatenate(list(parts)))
        families = {VARIANTS[name].family for name in cubins}
        oracle_call = [
            sys.executable,
            __file__,
            "--oracle",
            *sorted(families),
            "--scratch",
            folder,
            "--sizes",
            *map(str, sizes),
        ]
        subprocess.run(oracle_call, check=True, timeout=120)
        print(f"data and oracle after {time.monotonic() - started:.1f} s\n{HEADER}", flush=True)
        for name, cubin in cubins.items():
            results[name] = run_child(name, cubin, folder, sizes, limit_s)
            print("\n".join(table_rows(name, results[name])), flush=True)
            write_results(results)
    print(f"all done after {time.monotonic() - started:.1f} s")
    return results


def run_child(name: str, cubin: Path, folder: str, sizes: list[int], limit_s: float) -> dict[str, Any]:
    """One variant in a process of its own; what it wrote before a failure or the limit is kept."""
    out = Path(folder) / f"{name}.json"
    command = [sys.executable, __file__, "--child", name, "--cubin", str(cubin), "--scratch", folder]
    error = None
    try:
        done = subprocess.run([*command, "--sizes", *map(str, sizes)], capture_output=True, text=True, timeout=limit_s)
        if done.returncode:
            error = done.stderr.strip()
    except subprocess.TimeoutExpired:
        error = f"stopped after {limit_s:.0f} s (a hang, or the limit is too short)"
    result: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"checks": {}, "times": {}}
    if error:
        result["error"] = error
    return result


def write_results(results: dict[str, Any]) -> None:
    """Writes everything measured so far to $OUT/results.json, if OUT is set."""
    if "OUT" in os.environ:
        (Path(os.environ["OUT"]) / "results.json").write_text(json.dumps(results, indent=1))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", help="variants or families (sgemm, bf16); default: all that are not optional"
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[4096, 8192])
    parser.add_argument("--limit", type=float, default=25.0, help="seconds a variant may take")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    for hidden in ("--child", "--cubin", "--scratch"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--oracle", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    scratch = Path(args.scratch) if args.scratch else Path()
    if args.oracle:
        oracle(set(args.oracle), scratch / "normal.npy", scratch, args.sizes)
        return
    if args.child:
        child(args.child, Path(args.cubin), scratch / "normal.npy", scratch, args.sizes, scratch / f"{args.child}.json")
        return
    names = [n for n, v in VARIANTS.items() if not args.only or n in args.only or v.family in args.only]
    if args.list or args.build_only:
        for name in names:
            print(f"{name:<22} {build(VARIANTS[name]).name if args.build_only else VARIANTS[name].question}")
        return
    run_all(names, args.sizes, args.limit)


if __name__ == "__main__":
    main()
