// C = alpha * A * B + beta * C, row-major, FP32. A thread computes TM x TN elements of C.
//
// Changed:    a thread reads TM elements of a column of A and TN of a row of B into registers and adds their outer
//             product: 64 FMA per 16 shared loads. Tiles grow to 128 x 128 (32 FLOP per byte of global memory).
// Bottleneck: registers: 64 accumulators and the fragments leave two blocks on an SM up to 128 registers a thread, one
//             above (occupancy 25% or 12.5%): few warps to wait for a tile; long_scoreboard, barrier. The TN columns of
//             a thread lie side by side: 32 sectors per store request, shared loads above their ideal wavefronts.
// Launch:     grid (n / BN, m / BM), block (BM / TM) * (BN / TN).
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK. Guarded path: nothing.

#include "../common.cuh"

constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM % TM == 0 && BN % TN == 0, "threads cover the tile");

// A thread copies every A_STEP-th row of its column of A's tile, and every B_STEP-th row of its column of B's.
constexpr int A_STEP = THREADS / BK;
constexpr int B_STEP = THREADS / BN;
static_assert(THREADS % BK == 0 && BM % A_STEP == 0, "all threads copy the same number of elements of A");
static_assert(THREADS % BN == 0 && BK % B_STEP == 0, "all threads copy the same number of elements of B");

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_2d(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
             int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN];

  const int row = threadIdx.x / (BN / TN) * TM;
  const int col = threadIdx.x % (BN / TN) * TN;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = threadIdx.x / BK;
  const int a_col = threadIdx.x % BK;
  const int b_row = threadIdx.x / BN;
  const int b_col = threadIdx.x % BN;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row + a_row, a_col);
  View<const float> b_tile = View<const float>{b, ldb, k, n}.from(b_row, block_col + b_col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);

  float acc[TM][TN] = {};
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
      float a_frag[TM];
      float b_frag[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        a_frag[i] = as[row + i][p];
      }
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        b_frag[j] = bs[p][col + j];
      }
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          acc[i][j] += a_frag[i] * b_frag[j];
        }
      }
    }
    __syncthreads();  // all threads are done with both tiles before the next ones overwrite them
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      store(c_tile, row + i, col + j, acc[i][j], alpha, beta);
    }
  }
}
