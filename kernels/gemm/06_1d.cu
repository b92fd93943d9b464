// C = alpha * A * B + beta * C, row-major, FP32. A thread computes TM elements of one column of C.
//
// Changed:    each element of B that a thread reads from shared memory serves TM FMA, from a register. Tiles grow to
//             64 x 64 (16 FLOP per byte of global memory), and shrink to BK = 8 along k.
// Bottleneck: shared memory still: 9 loads per 8 FMA as written, about 0.6 wavefronts per FMA after the compiler has
//             widened those of A along k; warps wait in long_scoreboard, short_scoreboard and mio_throttle.
// Launch:     grid (n / BN, m / BM), block BM * BN / TM.
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK. Guarded path: nothing.

#include "../common.cuh"

constexpr int THREADS = BM * BN / TM;
static_assert(BM % TM == 0, "threads cover the rows of the tile");

// A thread copies every A_STEP-th row of its column of A's tile, and every B_STEP-th row of its column of B's.
constexpr int A_STEP = THREADS / BK;
constexpr int B_STEP = THREADS / BN;
static_assert(THREADS % BK == 0 && BM % A_STEP == 0, "all threads copy the same number of elements of A");
static_assert(THREADS % BN == 0 && BK % B_STEP == 0, "all threads copy the same number of elements of B");

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_1d(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
             int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN];

  const int row = threadIdx.x / BN * TM;
  const int col = threadIdx.x % BN;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = threadIdx.x / BK;
  const int a_col = threadIdx.x % BK;
  const int b_row = threadIdx.x / BN;
  const int b_col = threadIdx.x % BN;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row + a_row, a_col);
  View<const float> b_tile = View<const float>{b, ldb, k, n}.from(b_row, block_col + b_col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);

  float acc[TM] = {};
  for (int k_left = k; k_left > 0; k_left -= BK) {
#pragma unroll
    for (int i = 0; i < BM; i += A_STEP) {
      as[a_row + i][a_col] = load(a_tile, i, 0);
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_STEP) {
      bs[b_row + i][b_col] = load(b_tile, i, 0);
    }
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
    __syncthreads();  // both tiles are complete before any thread reads them

#pragma unroll
    for (int p = 0; p < BK; ++p) {
      const float b_value = bs[p][col];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        acc[i] += as[row + i][p] * b_value;
      }
    }
    __syncthreads();  // all threads are done with both tiles before the next ones overwrite them
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    store(c_tile, row + i, col, acc[i], alpha, beta);
  }
}
