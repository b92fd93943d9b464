// C = alpha * A * B + beta * C, row-major, FP32. A thread computes TM x TN elements of C.
//
// Changed:    two buffers for each tile. cp.async fetches the next tile into one while the other is computed: B by 16
//             bytes, A by 4, since transposing scatters it; four spare elements a row keep that free of bank conflicts.
// Bottleneck: issue slots: warps are ready and not_selected; long_scoreboard has gone, for twice the shared memory. The
//             bank conflicts in the LDS.128 of B are left.
// Launch:     grid (n / BN, m / BM), block (BM / TM) * (BN / TN).
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 16-byte aligned. Guarded
//             path: nothing. Both need sm_80.

#include "../copy_async.cuh"

constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM % TM == 0 && BN % TN == 0, "threads cover the tile");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read four at a time");

// A warp copies a sector of 8 columns from each of 4 rows of A; with 4 spare elements a row the 32 meet 32 banks once
// they are transposed, and rows stay 16-byte aligned. A thread copies every A_STEP-th row and 8th column of A's tile,
// and every B_STEP-th row of its four columns of B's.
constexpr int SECTOR = 8;
constexpr int PAD = 4;
constexpr int A_STEP = THREADS / SECTOR;
constexpr int B_STEP = THREADS / (BN / 4);
static_assert(BK % SECTOR == 0 && BM % A_STEP == 0, "all threads copy the same number of elements of A");
static_assert(THREADS % (BN / 4) == 0 && BK % B_STEP == 0, "all threads copy the same number of elements of B");

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_double_buffered(int m, int n, int k, float alpha, const float* __restrict__ a, int lda,
                          const float* __restrict__ b, int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ __align__(16) float as[2][BK][BM + PAD];  // transposed
  __shared__ __align__(16) float bs[2][BK][BN];

  const int row = threadIdx.x / (BN / TN) * TM;
  const int col = threadIdx.x % (BN / TN) * TN;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = threadIdx.x / SECTOR;
  const int a_col = threadIdx.x % SECTOR;
  const int b_row = threadIdx.x / (BN / 4);
  const int b_col = threadIdx.x % (BN / 4) * 4;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row + a_row, a_col);
  View<const float> b_tile = View<const float>{b, ldb, k, n}.from(b_row, block_col + b_col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);

  const auto fetch = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < BM; i += A_STEP) {
#pragma unroll
      for (int j = 0; j < BK; j += SECTOR) {
        copy_async(&as[buffer][a_col + j][a_row + i], a_tile, i, j);
      }
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_STEP) {
      copy_async4(&bs[buffer][b_row + i][b_col], b_tile, i, 0);
    }
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
  };

  const int tiles = ceil_div(k, BK);
  if (tiles > 0) {
    fetch(0);
  }
  __pipeline_commit();

  float acc[TM][TN] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    const int buffer = tile % 2;
    if (tile + 1 < tiles) {
      fetch(1 - buffer);
    }
    __pipeline_commit();  // after the last tile an empty group, so that this tile's is always the last but one
    __pipeline_wait_prior(1);
    __syncthreads();  // all threads' copies into this buffer have landed before any thread reads it

#pragma unroll
    for (int p = 0; p < BK; ++p) {
      alignas(16) float a_frag[TM];
      alignas(16) float b_frag[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) {
        as_float4(&a_frag[i]) = as_float4(&as[buffer][p][row + i]);
      }
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        as_float4(&b_frag[j]) = as_float4(&bs[buffer][p][col + j]);
      }
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          acc[i][j] += a_frag[i] * b_frag[j];
        }
      }
    }
    __syncthreads();  // all threads are done with this buffer before the next iteration fetches into it
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store4(c_tile, row + i, col + j, &acc[i][j], alpha, beta);
    }
  }
}
