// C = alpha * A * B + beta * C, row-major, A and B FP16 (BF16 where BF16 = 1), C and sums FP32. A warp computes WM x WN
// elements of C.
//
// Changed:    from wmma-tiled: fragments are loaded by ldmatrix and multiplied by mma.sync m16n8k16, so that their layout is
//             known: C leaves from registers, and 16-byte pieces of a tile change places (XOR with the row) instead of rows
//             being padded. A warp tile of 64 x 64 halves the loads for a product, fragments are loaded one step ahead.
// Bottleneck: the tensor pipe at the rate of mma.sync, under two thirds of what wgmma reaches on Hopper: math_pipe_throttle;
//             bank conflicts are 0.
// Launch:     grid (n / BN, m / BM), block (BM / WM) * (BN / WN) warps, SHARED_BYTES of dynamic shared memory.
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 16-byte aligned. Guarded
//             path: nothing. Both need sm_80.

#include "../copy_half.cuh"
#include "../mma_sync.cuh"
#include "../shared_address.cuh"

constexpr int THREADS = (BM / WM) * (BN / WN) * WARP_SIZE;
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;
constexpr int FRAGMENTS_M = WM / MMA_M;
constexpr int FRAGMENTS_N = WN / MMA_N;
constexpr int STEPS = BK / MMA_K;  // of one tile
static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the tile");
static_assert(WM % MMA_M == 0 && WN % (2 * MMA_N) == 0, "fragments cover the warp's tile; those of B are loaded in pairs");
static_assert(STEPS == 2, "fragments alternate between two buffers; a row of A's tile is four chunks");
static_assert(WN % (8 * CHUNK) == 0, "a warp's first chunk of B is a multiple of 8, which the swizzle leaves alone");
static_assert(STAGES >= 2, "one tile is multiplied while others arrive");

// A thread copies one chunk of every A_STEP-th row of A's tile, and of every B_STEP-th row of B's.
constexpr int A_CHUNKS = BK / CHUNK;
constexpr int B_CHUNKS = BN / CHUNK;
constexpr int A_STEP = THREADS / A_CHUNKS;
constexpr int B_STEP = THREADS / B_CHUNKS;
static_assert(THREADS % A_CHUNKS == 0 && BM % A_STEP == 0, "all threads copy the same number of chunks of A");
static_assert(THREADS % B_CHUNKS == 0 && BK % B_STEP == 0, "all threads copy the same number of chunks of B");

struct Shared {
  alignas(128) Half a[STAGES][BM][BK];  // chunks of a row in the order of a_place
  alignas(128) Half b[STAGES][BK][BN];  // and of b_place
};
static_assert(sizeof(Shared) <= SHARED_BYTES, "what stages.toml asks for");

// ldmatrix reads eight rows of 16 bytes at once: their chunks must lie in different eighths of the 32 banks. A row of A is
// half of the banks wide, so two rows make a line and the line's number is mixed in; a row of B is a multiple of all banks.
__device__ __forceinline__ int a_place(int row, int chunk) { return (chunk ^ (row / 2 % 4)) * CHUNK; }
__device__ __forceinline__ int b_place(int row, int chunk) { return (chunk ^ (row % 8)) * CHUNK; }

/// The epilogue of elements (row, col) and (row, col + 1).
__device__ __forceinline__ void store2(const View<float>& c, int row, int col, const float* acc, float alpha, float beta) {
  if (GUARDED) {
    store(c, row, col, acc[0], alpha, beta);
    store(c, row, col + 1, acc[1], alpha, beta);
    return;
  }
  float2& target = reinterpret_cast<float2&>(c.at(row, col));
  float2 value = beta == 0.0f ? make_float2(0.0f, 0.0f) : target;
  store_c(value.x, acc[0], alpha, beta);
  store_c(value.y, acc[1], alpha, beta);
  target = value;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_mma_sync(int m, int n, int k, float alpha, const Half* __restrict__ a, int lda, const Half* __restrict__ b, int ldb,
                  float beta, float* __restrict__ c, int ldc) {
  extern __shared__ __align__(128) unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);

  const int warp = threadIdx.x / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
  const int warp_row = warp / (BN / WN) * WM;
  const int warp_col = warp % (BN / WN) * WN;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = threadIdx.x / A_CHUNKS, a_chunk = threadIdx.x % A_CHUNKS;
  const int b_row = threadIdx.x / B_CHUNKS, b_chunk = threadIdx.x % B_CHUNKS;
  View<const Half> a_tile = View<const Half>{a, lda, m, k}.from(block_row + a_row, a_chunk * CHUNK);
  View<const Half> b_tile = View<const Half>{b, ldb, k, n}.from(b_row, block_col + b_chunk * CHUNK);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row + warp_row, block_col + warp_col);

  const auto fetch = [&](int stage) {
#pragma unroll
    for (int i = 0; i < BM; i += A_STEP) {
      copy_chunk(&s.a[stage][a_row + i][a_place(a_row + i, a_chunk)], a_tile, i, 0);
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_STEP) {
      copy_chunk(&s.b[stage][b_row + i][b_place(b_row + i, b_chunk)], b_tile, i, 0);
    }
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
  };

  // A lane names row lane % 16 of a 16 x 16 piece and its left or right chunk. Rows of pieces are multiples of 16 apart and
  // so have the same places.
  const int lane_row = lane % 16, lane_chunk = lane / 16;
  uint32_t a_from[STEPS], b_from[FRAGMENTS_N / 2];
#pragma unroll
  for (int p = 0; p < STEPS; ++p) {
    a_from[p] = shared_address(&s.a[0][warp_row + lane_row][a_place(lane_row, p * 2 + lane_chunk)]);
  }
#pragma unroll
  for (int j = 0; j < FRAGMENTS_N / 2; ++j) {
    b_from[j] = shared_address(&s.b[0][lane_row][warp_col + b_place(lane_row, j * 2 + lane_chunk)]);
  }
  uint32_t a_frag[2][FRAGMENTS_M][4], b_frag[2][FRAGMENTS_N][2];
  const auto load_fragments = [&](int stage, int p) {
#pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i) {
      load_matrices(a_frag[p][i], a_from[p] + (stage * BM + i * MMA_M) * static_cast<int>(BK * sizeof(Half)));
    }
#pragma unroll
    for (int j = 0; j < FRAGMENTS_N / 2; ++j) {
      load_matrices_transposed(b_frag[p][2 * j],
                               b_from[j] + (stage * BK + p * MMA_K) * static_cast<int>(BN * sizeof(Half)));
    }
  };

  const int tiles = ceil_div(k, BK);
  for (int tile = 0; tile < STAGES - 1; ++tile) {
    if (tile < tiles) {
      fetch(tile);
    }
    __pipeline_commit();  // without a tile an empty group, so that the count of groups tells the tile
  }
  __pipeline_wait_prior(STAGES - 2);
  __syncthreads();  // all threads' copies of the first tile have landed before any thread reads it
  load_fragments(0, 0);

  float acc[FRAGMENTS_M][FRAGMENTS_N][4] = {};
  int stage = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int next = stage == STAGES - 1 ? 0 : stage + 1;
    const int before = stage == 0 ? STAGES - 1 : stage - 1;  // read to its end by all before the last barrier
    if (tile + STAGES - 1 < tiles) {
      fetch(before);
    }
    __pipeline_commit();
#pragma unroll
    for (int p = 0; p < STEPS; ++p) {
      if (p < STEPS - 1) {
        load_fragments(stage, p + 1);
      } else {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the next tile has landed for all; and all have loaded their last fragments of this one
        load_fragments(next, 0);  // behind the last tile whatever lies there: never multiplied
      }
#pragma unroll
      for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
        for (int j = 0; j < FRAGMENTS_N; ++j) {
          multiply(acc[i][j], a_frag[p][i], b_frag[p][j]);
        }
      }
    }
    stage = next;
  }

  // A lane holds two neighbours of each fragment in each of two rows eight apart.
#pragma unroll
  for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < FRAGMENTS_N; ++j) {
        store2(c_tile, i * MMA_M + half * 8 + lane / 4, j * MMA_N + lane % 4 * 2, &acc[i][j][half * 2], alpha, beta);
      }
    }
  }
}
