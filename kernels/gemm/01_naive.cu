// C = alpha * A * B + beta * C, row-major, FP32. A thread computes one element of C.
//
// Changed:    nothing yet: the first rung. threadIdx.x walks down the rows of C.
// Bottleneck: the queue to global memory. The lanes of a warp read 32 rows of A, one sector each, and use 4 of its 32
//             bytes: 16.5 sectors per load request (32 for A, 1 for B), 32 per store; warps wait in lg_throttle.
// Launch:     grid (m / BM, n / BN), block (BM, BN): blockIdx.x covers rows, unlike in all later stages.
// Assumes:    nothing: every shape, leading dimension and alignment.

#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(BM * BN)
    sgemm_naive(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
                int ldb, float beta, float* __restrict__ c, int ldc) {
  const int row = blockIdx.x * BM + threadIdx.x;
  const int col = blockIdx.y * BN + threadIdx.y;
  if (row >= m || col >= n) {
    return;
  }
  const View<const float> a_row = View<const float>{a, lda, m, k}.from(row, 0);
  const View<const float> b_col = View<const float>{b, ldb, k, n}.from(0, col);

  float acc = 0.0f;
  for (int i = 0; i < k; ++i) {
    acc += a_row.at(0, i) * b_col.at(i, 0);
  }

  store_c(View<float>{c, ldc, m, n}.at(row, col), acc, alpha, beta);
}
