// C = alpha * A * B^T + beta * C, row-major, FP32, where B (n x k) is A itself. A thread computes one element of C.
//
// Changed:    the second operand is read by rows, so its tile is transposed on the way into shared memory: global reads
//             stay coalesced, and the lanes of a warp write down one column of the tile.
// Bottleneck: bank conflicts. With a row stride of 32 words that column lies in one bank: 32 wavefronts per store of
//             this tile, 1 for the other, 16.5 on the mean; warps wait in mio_throttle and short_scoreboard.
// Launch:     grid (n / BN, m / BM), block (BN, BM).
// Assumes:    nothing: tiles are filled with zeros outside the matrices.

#include "../common.cuh"

static_assert(BM == BK && BN == BK, "a thread copies one element of each tile");

extern "C" __global__ void __launch_bounds__(BM * BN)
    sgemm_smem_conflict(int m, int n, int k, float alpha, const float* __restrict__ a, int lda,
                        const float* __restrict__ b, int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN];  // transposed

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
