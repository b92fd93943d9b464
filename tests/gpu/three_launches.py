"""A program that is not ours: three CUDA launches from cupy inside an NVTX range.

Profiled by ``ncu-lab profile --name cupy-three-launches --nvtx "step/" -- python three_launches.py``; the recorded
run is one of the bundled examples.
"""

import cupy
import cupyx

scale_and_add = cupy.ElementwiseKernel("float32 x, float32 y, float32 a", "float32 z", "z = a * x + y", "scale_and_add")
column_sums = cupy.ReductionKernel("float32 x", "float32 y", "x", "a + b", "y = a", "0", "column_sums")
transpose = cupy.RawKernel(
    r"""
    extern "C" __global__ void transpose_tile(const float* in, float* out, int n) {
        __shared__ float tile[32][33];
        int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
        tile[threadIdx.y][threadIdx.x] = in[(size_t)y * n + x];
        __syncthreads();  // the whole tile is written before any thread reads a column of it
        x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
        out[(size_t)y * n + x] = tile[threadIdx.x][threadIdx.y];
    }
    """,
    "transpose_tile",
)


def main() -> None:
    """Launch each kernel once inside the range, after one warm-up outside it."""
    n = 4096
    x = cupy.random.default_rng(1).standard_normal((n, n), dtype=cupy.float32)
    y = cupy.ones_like(x)
    out = cupy.empty_like(x)
    for name in ("warm-up", "step"):
        with cupyx.profiler.time_range(name):
            z = scale_and_add(x, y, cupy.float32(2.0))
            sums = column_sums(z, axis=0)
            transpose((n // 32, n // 32), (32, 32), (z, out, n))
            cupy.cuda.Device().synchronize()
    assert bool((out == z.T).all())
    assert sums.shape == (n,)


if __name__ == "__main__":
    main()
