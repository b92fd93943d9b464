// C = alpha * A * B + beta * C, row-major, FP32. A thread computes TM x TN elements of C, in pieces of 4 x 4.
//
// Changed:    each warp owns a WM x WN tile. Its lanes form 8 rows of 4 and take every piece of 4 x 4 together, so
//             that neighbours read the same or neighbouring 16 bytes: LDS.128 without bank conflicts. BK = 16 halves
//             the barriers.
// Bottleneck: the FMA pipe and issue slots: not_selected; bank conflicts in shared loads are 0.
// Launch:     grid (n / BN, m / BM), block (BM / WM) * (BN / WN) warps.
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 16-byte aligned. Guarded
//             path: nothing. Both need sm_80.

#include "../copy_async.cuh"

constexpr int THREADS = (BM / WM) * (BN / WN) * WARP_SIZE;
constexpr int LANE_ROWS = 8;
constexpr int LANE_COLS = 4;
constexpr int PIECE_ROWS = LANE_ROWS * 4;  // rows and columns of C that a warp covers with one 4 x 4 piece a lane
constexpr int PIECE_COLS = LANE_COLS * 4;
static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the tile");
static_assert(WM == LANE_ROWS * TM && WN == LANE_COLS * TN, "lanes cover the warp's tile");
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
    sgemm_warptiled(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
                    int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ __align__(16) float as[2][BK][BM + PAD];  // transposed
  __shared__ __align__(16) float bs[2][BK][BN];

  // LDS.128 serves half a warp at once where lanes that differ in bit 0 alone, or in bit 1 alone, read the same 16
  // bytes. So bit 0 chooses a column (both lanes read the same piece of A) and bit 1 a row (the same piece of B).
  const int warp = threadIdx.x / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
  const int lane_row = (lane >> 1 & 1) | (lane >> 2 & 6);
  const int lane_col = (lane & 1) | (lane >> 1 & 2);
  const int row = warp / (BN / WN) * WM + lane_row * 4;
  const int col = warp % (BN / WN) * WN + lane_col * 4;
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
        as_float4(&a_frag[i]) = as_float4(&as[buffer][p][row + i / 4 * PIECE_ROWS]);
      }
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        as_float4(&b_frag[j]) = as_float4(&bs[buffer][p][col + j / 4 * PIECE_COLS]);
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
      store4(c_tile, row + i / 4 * PIECE_ROWS + i % 4, col + j / 4 * PIECE_COLS, &acc[i][j], alpha, beta);
    }
  }
}
