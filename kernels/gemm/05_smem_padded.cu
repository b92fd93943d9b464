// C = alpha * A * B^T + beta * C, row-major, FP32, where B (n x k) is A itself. A thread computes one element of C.
//
// Changed:    one unused column at the end of the transposed tile. Its row stride is 33 words, so that a column of it
//             lies in 32 different banks.
// Bottleneck: the queue to shared memory, as in the stage without transposition: 1 wavefront per shared store; warps
//             wait in mio_throttle.
// Launch:     grid (n / BN, m / BM), block (BN, BM).
// Assumes:    nothing: tiles are filled with zeros outside the matrices.

#include "../common.cuh"

static_assert(BM == BK && BN == BK, "a thread copies one element of each tile");

extern "C" __global__ void __launch_bounds__(BM * BN)
    sgemm_smem_padded(int m, int n, int k, float alpha, const float* __restrict__ a, int lda,
                      const float* __restrict__ b, int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN + 1];  // transposed, padded

  const int row = threadIdx.y;
  const int col = threadIdx.x;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row, 0);
  View<const float> b_tile = View<const float>{b, ldb, n, k}.from(block_col, 0);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);

  float acc = 0.0f;
  for (int k_left = k; k_left > 0; k_left -= BK) {
    as[row][col] = load_or_zero(a_tile, row, col);
    bs[col][row] = load_or_zero(b_tile, row, col);
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(0, BK);
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
