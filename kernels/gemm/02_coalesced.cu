// C = alpha * A * B + beta * C, row-major, FP32. A thread computes one element of C.
//
// Changed:    threadIdx.x walks along the columns of C, so that the lanes of a warp read one row of B and write one row
//             of C: 128 neighbouring bytes, 4 sectors, all of them used. A is the same element for the whole warp.
// Bottleneck: still the queue to global memory, for every FMA takes two loads: 2.5 sectors per load request (1 for A,
//             4 for B), 4 per store; warps wait in lg_throttle, or are ready and not_selected.
// Launch:     grid (n / BN, m / BM), block (BN, BM).
// Assumes:    nothing: every shape, leading dimension and alignment.

#include "../common.cuh"

extern "C" __global__ void __launch_bounds__(BM * BN)
    sgemm_coalesced(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
                    int ldb, float beta, float* __restrict__ c, int ldc) {
  const int row = blockIdx.y * BM + threadIdx.y;
  const int col = blockIdx.x * BN + threadIdx.x;
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
