// C = alpha * A * B + beta * C, row-major, FP32. A thread computes one element of C.
//
// Changed:    the block stages a BM x BK tile of A and a BK x BN tile of B in shared memory and works from there: each
//             element is fetched from global memory once per block instead of once per thread (8 FLOP per byte).
// Bottleneck: the queue to shared memory. An FMA takes two shared loads, so 2 wavefronts as written, 1.5 where the
//             compiler widens the loads along k: an eighth of the FP32 peak; warps wait in mio_throttle.
// Launch:     grid (n / BN, m / BM), block (BN, BM).
// Assumes:    nothing: tiles are filled with zeros outside the matrices.

#include "../common.cuh"

static_assert(BM == BK && BN == BK, "a thread copies one element of each tile");

extern "C" __global__ void __launch_bounds__(BM * BN)
    sgemm_smem(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
               int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN];

  const int row = threadIdx.y;
  const int col = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row, 0);
  View<const float> b_tile = View<const float>{b, ldb, k, n}.from(0, block_col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);

  float acc = 0.0f;
  for (int k_left = k; k_left > 0; k_left -= BK) {
    as[row][col] = load_or_zero(a_tile, row, col);
    bs[row][col] = load_or_zero(b_tile, row, col);
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
    __syncthreads();  // both tiles are complete before any thread reads them

    for (int i = 0; i < BK; ++i) {
      acc += as[row][i] * bs[i][col];
    }
    __syncthreads();  // all threads are done with both tiles before the next ones overwrite them
  }

  if (c_tile.has(row, col)) {
    store_c(c_tile.at(row, col), acc, alpha, beta);
  }
}
