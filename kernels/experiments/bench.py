"""Builds, checks and times the experiments on the GPU: one table, one child process and one time limit per variant.

    python3 kernels/experiments/bench.py [--only NAME ...] [--sizes 1024 4096 8192] [--list] [--build-only]
    ncu ... python3 kernels/experiments/bench.py --profile NAME [--sizes 4096]    # three launches, and three of cuBLAS

Every variant is checked against float64 (random normal data, C poisoned with NaN, every element) before it is timed.
How they are timed: see measure.py.
Writes results.json and results.csv to $OUT where that is set, beside the table on stdout.
"""

from __future__ import annotations

import argparse
import csv
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

sys.path.insert(0, str(Path(__file__).resolve().parent))

from driver import Cublas, CublasLt, Cuda, CudaError
from measure import FLUSH_BYTES, compare, fastest, steady
from product import Matrices, Runner, build, check, exact_inputs, more_references, reference_calls
from variants import VARIANTS

ROWS_APART = 61  # of the rows checked where all of them would cost more than the timing
# Sizes that the fast paths take (16-byte rows for TMA) and that cut tiles in every direction.
ODD_SIZES = {
    "sgemm": ((1, 4, 1), (127, 132, 33), (129, 124, 64), (300, 520, 1000), (2049, 2052, 2047)),
    "small": ((1, 4, 4), (63, 68, 36), (129, 124, 64), (300, 520, 1000), (65, 64, 4100)),
    "bf16": ((1, 8, 8), (127, 136, 40), (129, 120, 64), (300, 520, 1000), (2049, 2056, 2040)),
}


Shape = tuple[int, int, int]


def shape_of(text: str) -> Shape:
    """(m, n, k) of "4096" or "4096x4096x64"."""
    parts = [int(part) for part in text.split("x")]
    m, n, k = parts * 3 if len(parts) == 1 else parts
    return m, n, k


def checked_rows(shape: Shape) -> slice:
    """All rows of C, or one in ROWS_APART of the largest products."""
    return slice(None, None, ROWS_APART if shape[0] * shape[1] > 1 << 27 else None)


def child(
    name: str, cubin: Path, data: Path, exact_dir: Path, sizes: list[str], out: Path, *, again: bool = False
) -> None:
    """Checks and times one variant; rewrites `out` after every step so that a hang loses nothing before it.

    `again`: one of several runs, which skips the odd shapes and the further references.
    """
    variant = VARIANTS[name]
    out_bytes = 2 if variant.bf16_out else 4
    cuda = Cuda()
    result: dict[str, Any] = {"checks": {}, "times": {}}

    def save() -> None:
        out.write_text(json.dumps(result))

    runner, cublas = Runner(cuda, variant, cubin), Cublas(cuda)
    result["active_clusters"] = runner.active_clusters
    flush = cuda.alloc(FLUSH_BYTES)
    lt = None if again else CublasLt(cuda)
    odd = () if again else ODD_SIZES[variant.family]
    for label, (m, n, k) in (*((None, shape) for shape in odd), *((size, shape_of(size)) for size in sizes)):
        x = Matrices(cuda, variant.family, out_bytes, data, m, n, k)
        run = runner.prepare(m, n, k, x.a, x.b, x.c)
        rows = checked_rows((m, n, k))
        if label:
            exact = np.load(exact_dir / f"{variant.family}-{label}.npy", mmap_mode="r")
        else:
            left, right = exact_inputs(variant.family, data, m, n, k)
            exact = (left @ right).ravel()
        x.poison()
        run()
        cuda.synchronize()
        first = x.result()
        verdict = check(first.reshape(m, n)[rows].ravel(), exact, k, variant)
        verdict["ok"] = verdict["ok"] and bool(
            np.isfinite(first).all()
        )  # every element written, also where rows are skipped
        if not label:  # a result that changes between runs is a race
            x.poison()
            run()
            verdict["repeatable"] = bool(np.array_equal(first.view(np.uint32), x.result().view(np.uint32)))
            verdict["ok"] = verdict["ok"] and verdict["repeatable"]
        result["checks"][label or f"{m}x{n}x{k}"] = verdict
        save()
        if label and verdict["ok"]:
            references = reference_calls(cublas, variant, x, m, n, k)
            times = result["times"][label] = compare(cuda, run, *references, flush)
            save()
            if variant.family == "bf16":
                times["steady"] = steady(cuda, run, references[0])
            elif lt and m * n * k <= 8192**3:
                try:
                    times["cublaslt"] = fastest(cuda, more_references(lt, variant, x, m, n, k), flush)
                except CudaError as error:  # a further reference that fails must not cost the run; it is reported
                    times["cublaslt_error"] = str(error)
            x.poison()
            run()  # after all timing, once more the same bits: catches what only repeated launches break
            last = x.result()
            result["checks"][f"{label} after timing"] = {
                "ok": bool(np.array_equal(first.view(np.uint32), last.view(np.uint32)))
            }
            save()
        x.free()
    result["done"] = True
    save()


def oracle(families: set[str], data: Path, exact_dir: Path, sizes: list[str]) -> None:
    """Writes float64 products of the large sizes (cublasDgemm; its kernel is checked against numpy at 300x520x1000)."""
    cuda = Cuda()
    cublas = Cublas(cuda)
    for family in sorted(families):
        for label, shape in ((None, (300, 520, 1000)), *((size, shape_of(size)) for size in sizes)):
            left, right = exact_inputs(family, data, *shape)
            left = np.ascontiguousarray(left[checked_rows(shape)])
            m, (_, n, k) = len(left), shape
            pointers = [cuda.alloc(left.nbytes), cuda.alloc(right.nbytes), cuda.alloc(m * n * 8)]
            cuda.upload(pointers[0], left)
            cuda.upload(pointers[1], right)
            cublas.gemm(m, n, k, *pointers, (Cublas.R64F, Cublas.R64F), Cublas.DEFAULT_64F)
            product = np.empty(m * n, np.float64)
            cuda.download(product, pointers[2])
            if label:
                np.save(exact_dir / f"{family}-{label}.npy", product)
            elif not np.allclose(product, (left @ right).ravel(), rtol=1e-10, atol=1e-10):
                raise SystemExit("cublasDgemm disagrees with numpy: no oracle")
            for pointer in pointers:
                cuda.free(pointer)


def median(values: list[float]) -> float:
    """The median of the samples."""
    return statistics.median(values)


def figures(name: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """What lasts of a variant: medians in TFLOP/s, ratios to cuBLAS, spread, clock and power, one row per size."""
    rows = []
    for size, t in result["times"].items():
        m, n, k = shape_of(size)
        flop = 2.0 * m * n * k
        ours, ref, other = (median(t[f"{which}_alone"]) for which in ("ours", "reference", "other"))
        mixed, mixed_ref = median(t["ours_interleaved"]), median(t["reference_interleaved"])
        row: dict[str, Any] = {"variant": name, "size": size, "samples": len(t["ours_alone"])}
        speeds = (("tflops", ours), ("cublas", ref), ("cublas2", other), ("tflops_abba", mixed))
        row |= {key: round(flop / ms / 1e9, 2) for key, ms in speeds}
        ratios = (("alone", ref / ours), ("abba", mixed_ref / mixed), ("alone_ref", ref / mixed))
        row |= {key: round(ratio, 4) for key, ratio in ratios}
        row["spread"] = round((max(t["ours_alone"]) - min(t["ours_alone"])) / ours, 4)
        row["cublaslt"] = round(flop / min(t["cublaslt"]) / 1e9, 2) if t.get("cublaslt") else None
        row["of_fastest"] = round(min(ref, mixed_ref, other, *t.get("cublaslt", ())) / max(ours, mixed), 4)
        for which in ("ours", "reference"):
            row[f"{which}_warm_us"] = round(median(t[f"{which}_warm"]) * 1e3, 2) if f"{which}_warm" in t else None
        row |= {"steady_tflops": None, "steady": None, "joules_ratio": None}
        if "steady" in t:
            s = t["steady"]
            row["steady_tflops"] = round(flop / median(s["ours"]) / 1e9, 2)
            row["steady"] = round(median(s["reference"]) / median(s["ours"]), 4)
            if s["ours_joules"]:
                row["joules_ratio"] = round(sum(s["reference_joules"]) / sum(s["ours_joules"]), 4)
        for key, state in (("", t["ours_alone_state"]), ("_cublas", t["reference_alone_state"])):
            row |= {f"{what}{key}": state[what] for what in ("clock_mhz", "power_w")}
        rows.append(row)
    return rows


def table_rows(name: str, result: dict[str, Any]) -> list[str]:
    """Lines of the table for one variant, one per size; a failure says why instead."""
    bad = [shape for shape, verdict in result.get("checks", {}).items() if not verdict["ok"]]
    if "error" in result or bad:
        return [f"{name:<22} FAILED {'wrong at ' + ', '.join(bad) if bad else ''} {result.get('error', '')[-300:]}"]
    return [
        f"{name:<22} {r['size']:>14} {r['tflops']:8.2f} {r['cublas']:8.2f} {r['cublas2']:8.2f} "
        f"{r['alone']:7.4f} {r['abba']:7.4f} {r['alone_ref']:7.4f} {r['spread']:6.1%} "
        f"{r['clock_mhz'] or '–'!s:>5}/{r['clock_mhz_cublas'] or '–'!s:<5} "
        f"{r['power_w'] or float('nan'):4.0f}/{r['power_w_cublas'] or float('nan'):<4.0f} "
        f"{r['cublaslt'] or '–'!s:>8} {r['steady_tflops'] or '–'!s:>8} {r['steady'] or '–'!s:>7} "
        f"{r['joules_ratio'] or '–'!s:>7} {r['of_fastest']:7.4f} "
        f"{r['ours_warm_us'] or '–'!s:>6}/{r['reference_warm_us'] or '–'!s:<6}"
        for r in figures(name, result)
    ]


HEADER = (
    f"{'variant':<22} {'size':>14} {'TFLOP/s':>8} {'cuBLAS':>8} {'cuBLAS2':>8} {'alone':>7} {'ABBA':>7} "
    f"{'A/ref':>7} {'spread':>6} {'MHz ours/ref':>11} {'W ours/ref':>9} "
    f"{'cublasLt':>8} {'steady':>8} {'ratio':>7} {'joules':>7} "
    f"{'fastest':>7} {'warm us':>13}"
)


def run_all(names: list[str], sizes: list[str], limit_s: float, runs: int) -> dict[str, Any]:
    """Builds all, then runs each variant `runs` times, in a process of its own under `limit_s`."""
    started = time.monotonic()
    cubins: dict[str, Path] = {}
    results: dict[str, Any] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, future in [(name, pool.submit(build, VARIANTS[name])) for name in names]:
            try:
                cubins[name] = future.result()
            except RuntimeError as error:
                results[name] = {"error": str(error), "checks": {}, "times": {}}
    print(f"built {len(cubins)} of {len(names)} in {time.monotonic() - started:.1f} s", flush=True)
    shared = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        data = Path(folder) / "normal.npy"
        elements = max(2056**2, *(k * max(m, n) for m, n, k in map(shape_of, sizes)))
        chunks = np.random.SeedSequence(7).spawn(16)
        with ThreadPoolExecutor(16) as pool:
            parts = pool.map(
                lambda seed: np.random.default_rng(seed).standard_normal(elements // 8, np.float32), chunks
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
            *sizes,
        ]
        subprocess.run(oracle_call, check=True, timeout=120)
        print(f"data and oracle after {time.monotonic() - started:.1f} s\n{HEADER}", flush=True)
        for number in range(1, runs + 1):
            for name, cubin in cubins.items():
                label = name if number == 1 else f"{name}#{number}"
                results[label] = run_child(name, cubin, folder, sizes, limit_s, again=number > 1)
                print("\n".join(table_rows(label, results[label])), flush=True)
                write_results(results)
    print(f"all done after {time.monotonic() - started:.1f} s")
    return results


def run_child(name: str, cubin: Path, folder: str, sizes: list[str], limit_s: float, *, again: bool) -> dict[str, Any]:
    """One variant in a process of its own; what it wrote before a failure or the limit is kept."""
    out = Path(folder) / f"{name}.json"
    command = [sys.executable, __file__, "--child", name, "--cubin", str(cubin), "--scratch", folder]
    command += ["--again"] if again else []
    out.unlink(missing_ok=True)
    error = None
    try:
        done = subprocess.run([*command, "--sizes", *sizes], capture_output=True, text=True, timeout=limit_s)
        if done.returncode:
            error = done.stderr.strip()
    except subprocess.TimeoutExpired:
        error = f"stopped after {limit_s:.0f} s (a hang, or the limit is too short)"
    result: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"checks": {}, "times": {}}
    if error:
        result["error"] = error
    return result


def profile(name: str, size: int) -> None:
    """Launches a variant, then cuBLAS, three times each on random data, for a profiler to look at the last of each."""
    variant = VARIANTS[name]
    cuda = Cuda()
    runner = Runner(cuda, variant, build(variant))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "normal.npy"
        np.save(data, np.random.default_rng(7).standard_normal(size * size, np.float32))
        x = Matrices(cuda, variant.family, 2 if variant.bf16_out else 4, data, size, size, size)
    run = runner.prepare(size, size, size, x.a, x.b, x.c)
    reference, _ = reference_calls(Cublas(cuda), variant, x, size, size, size)
    for launch in (run, reference):
        for _ in range(3):
            launch()
    cuda.synchronize()


def write_results(results: dict[str, Any]) -> None:
    """Writes what was measured so far to $OUT, if set: every sample in results.json, figures in results.csv."""
    if "OUT" not in os.environ:
        return
    out = Path(os.environ["OUT"])
    (out / "results.json").write_text(json.dumps(results, indent=1))
    rows = [row for name, result in results.items() for row in figures(name, result)]
    if rows:
        with (out / "results.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="variants or families (sgemm, small, bf16); default: all")
    parser.add_argument("--sizes", nargs="+", default=["1024", "4096", "8192"], help="N or MxNxK")
    parser.add_argument("--runs", type=int, default=1, help="processes per variant; the lowest ratio counts")
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=25.0, help="seconds a variant may take")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--profile", choices=VARIANTS, help="launch this variant and cuBLAS three times each, no more")
    for hidden in ("--child", "--cubin", "--scratch"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--oracle", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    scratch = Path(args.scratch) if args.scratch else Path()
    if args.profile:
        profile(args.profile, int(args.sizes[0]) if len(args.sizes) == 1 else 4096)
        return
    if args.oracle:
        oracle(set(args.oracle), scratch / "normal.npy", scratch, args.sizes)
        return
    if args.child:
        out = scratch / f"{args.child}.json"
        child(args.child, Path(args.cubin), scratch / "normal.npy", scratch, args.sizes, out, again=args.again)
        return
    names = [n for n, v in VARIANTS.items() if not args.only or n in args.only or v.family in args.only]
    if args.list or args.build_only:
        for name in names:
            print(f"{name:<22} {build(VARIANTS[name]).name if args.build_only else VARIANTS[name].question}")
        return
    run_all(names, args.sizes, args.limit, args.runs)


if __name__ == "__main__":
    main()
