// C = alpha * A * B + beta * C, row-major, FP32. A thread computes TM x TN elements of C.
//
// Changed:    tiles are copied as float4, and A's is transposed while it is stored, so that both fragments are rows of
//             their tiles and are read by LDS.128: a quarter of the shared instructions for A. C is written as float4.
// Bottleneck: waiting for the tile with nothing else to do: long_scoreboard, barrier. Bank conflicts are left in the
//             transposed store (2-way) and in the LDS.128 of B, whose lanes are 32 bytes apart.
// Launch:     grid (n / BN, m / BM), block (BM / TM) * (BN / TN).
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 16-byte aligned. Guarded
//             path: nothing.

#include "../common.cuh"

constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM % TM == 0 && BN % TN == 0, "threads cover the tile");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "fragments and rows are read four at a time");

// A thread copies every A_STEP-th row of its four columns of A's tile, and every B_STEP-th row of its four of B's.
constexpr int A_STEP = THREADS / (BK / 4);
constexpr int B_STEP = THREADS / (BN / 4);
static_assert(THREADS % (BK / 4) == 0 && BM % A_STEP == 0, "all threads copy the same number of elements of A");
static_assert(THREADS % (BN / 4) == 0 && BK % B_STEP == 0, "all threads copy the same number of elements of B");

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_vectorized(int m, int n, int k, float alpha, const float* __restrict__ a, int lda,
                     const float* __restrict__ b, int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ __align__(16) float as[BK][BM];  // transposed
  __shared__ __align__(16) float bs[BK][BN];

  const int row = threadIdx.x / (BN / TN) * TM;
  const int col = threadIdx.x % (BN / TN) * TN;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = threadIdx.x / (BK / 4);
  const int a_col = threadIdx.x % (BK / 4) * 4;
  const int b_row = threadIdx.x / (BN / 4);
  const int b_col = threadIdx.x % (BN / 4) * 4;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row + a_row, a_col);
  View<const float> b_tile = View<const float>{b, ldb, k, n}.from(b_row, block_col + b_col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);

  float acc[TM][TN] = {};
  for (int k_left = k; k_left > 0; k_left -= BK) {
#pragma unroll
    for (int i = 0; i < BM; i += A_STEP) {
      const float4 four = load4(a_tile, i, 0);
      as[a_col + 0][a_row + i] = four.x;
      as[a_col + 1][a_row + i] = four.y;
      as[a_col + 2][a_row + i] = four.z;
      as[a_col + 3][a_row + i] = four.w;
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_STEP) {
      as_float4(&bs[b_row + i][b_col]) = load4(b_tile, i, 0);
    }
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
    __syncthreads();  // both tiles are complete before any thread reads them

#pragma unroll
    for (int p = 0; p < BK; ++p) {
      alignas(16) float a_frag[TM];
      alignas(16) float b_frag[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) {
        as_float4(&a_frag[i]) = as_float4(&as[p][row + i]);
      }
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        as_float4(&b_frag[j]) = as_float4(&bs[p][col + j]);
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
    for (int j = 0; j < TN; j += 4) {
      store4(c_tile, row + i, col + j, &acc[i][j], alpha, beta);
    }
  }
}
