// C = alpha * A * B + beta * C, row-major, FP32. A thread sums TM x TN elements of C over a part of K, in pieces of 4 x 4.
//
// Changed:    from warptiled: small tiles, and K is shared out twice, since a small C has too few tiles to fill a GPU. The
//             blocks of a tile take a slice of K each, and within a block GROUPS groups of warps take every tile's rows in
//             turn. Sums of groups meet in shared memory; those of slices in a workspace, where reduce_slices adds them,
//             always in the same order. STAGES tiles are on their way at once.
// Bottleneck: latency: a slice is a few steps long, so filling the pipeline, the sums' way and the second launch count as
//             much as the FMA pipe does.
// Launch:     sgemm_splitk on (n / BN, m / BM, slices), block GROUPS * (BM / TM) * (BN / TN), SHARED_BYTES of dynamic
//             shared memory; then, with more than one slice, reduce_slices with a thread for every four elements of C
//             and every y-th slice, blocks of (256 / y, y). It is launched early, and waits inside.
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 16-byte aligned. Guarded
//             path: nothing. Both need sm_80. On sm_90 the plan launches kernels of small_output.cu in the place of both, as
//             long as all tiles run at once.

#include "../copy_async.cuh"

constexpr int LANE_ROWS = 8;
constexpr int LANE_COLS = 4;
constexpr int WM = LANE_ROWS * TM;
constexpr int WN = LANE_COLS * TN;
constexpr int PIECE_ROWS = LANE_ROWS * 4;  // rows and columns of C that a warp covers with one 4 x 4 piece a lane
constexpr int PIECE_COLS = LANE_COLS * 4;
constexpr int GROUP_THREADS = (BM / TM) * (BN / TN);
constexpr int THREADS = GROUPS * GROUP_THREADS;
constexpr int GROUP_K = BK / GROUPS;
static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the tile");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read four at a time");
static_assert(BK % GROUPS == 0, "every group takes as many rows of a tile");
static_assert(STAGES >= 2, "one tile is multiplied while others arrive");

// A warp copies a sector of 8 columns from each of 4 rows of A; with 4 spare elements a row the 32 meet 32 banks once
// they are transposed, and rows stay 16-byte aligned. A thread copies every A_STEP-th row and 8th column of A's tile,
// and every B_STEP-th row of its four columns of B's.
constexpr int SECTOR = 8;
constexpr int PAD = 4;
constexpr int A_STEP = THREADS / SECTOR;
constexpr int B_STEP = THREADS / (BN / 4);
static_assert(BK % SECTOR == 0 && BM % A_STEP == 0, "all threads copy the same number of elements of A");
static_assert(THREADS % (BN / 4) == 0 && BK % B_STEP == 0, "all threads copy the same number of elements of B");

// Sums are handed over four neighbours at a time; of a thread's QUADS, group g adds up and stores SHARE.
constexpr int QUADS = TM * TN / 4;
constexpr int SHARE = QUADS / GROUPS;
static_assert(QUADS % GROUPS == 0, "every group stores as much of the tile");

struct Tiles {
  float a[STAGES][BK][BM + PAD];  // transposed
  float b[STAGES][BK][BN];
};

union Shared {
  Tiles tiles;
  float4 sums[GROUPS][QUADS][GROUP_THREADS];
};
static_assert(sizeof(Shared) <= SHARED_BYTES, "what stages.toml asks for");

__device__ __forceinline__ void add(float4& to, const float4& more) {
  to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    sgemm_splitk(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b,
                 int ldb, float beta, float* __restrict__ c, int ldc,
                 int slice_k,             // of a slice, a multiple of BK; the last may be shorter
                 float* __restrict__ partial) {  // [slice][tile][BM][BN]: scaled sums, where there are several slices
  extern __shared__ __align__(128) unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");  // reduce_slices may start as soon as all blocks here have
#endif

  const int group = threadIdx.x / GROUP_THREADS;
  const int thread = threadIdx.x % GROUP_THREADS;  // within the group
  // The lanes' order of `warptiled`: LDS.128 without bank conflicts.
  const int warp = thread / WARP_SIZE;
  const int lane = thread % WARP_SIZE;
  const int lane_row = (lane >> 1 & 1) | (lane >> 2 & 6);
  const int lane_col = (lane & 1) | (lane >> 1 & 2);
  const int row = warp / (BN / WN) * WM + lane_row * 4;
  const int col = warp % (BN / WN) * WN + lane_col * 4;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int first_k = blockIdx.z * slice_k;
  const int a_row = threadIdx.x / SECTOR;
  const int a_col = threadIdx.x % SECTOR;
  const int b_row = threadIdx.x / (BN / 4);
  const int b_col = threadIdx.x % (BN / 4) * 4;
  View<const float> a_tile = View<const float>{a, lda, m, k}.from(block_row + a_row, first_k + a_col);
  View<const float> b_tile = View<const float>{b, ldb, k, n}.from(first_k + b_row, block_col + b_col);

  const auto fetch = [&](int stage) {
#pragma unroll
    for (int i = 0; i < BM; i += A_STEP) {
#pragma unroll
      for (int j = 0; j < BK; j += SECTOR) {
        copy_async(&s.tiles.a[stage][a_col + j][a_row + i], a_tile, i, j);
      }
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_STEP) {
      copy_async4(&s.tiles.b[stage][b_row + i][b_col], b_tile, i, 0);
    }
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
  };

  const int tiles = ceil_div(min(slice_k, k - first_k), BK);
  for (int tile = 0; tile < STAGES - 1; ++tile) {
    if (tile < tiles) {
      fetch(tile);
    }
    __pipeline_commit();  // without a tile an empty group, so that the count of groups tells the tile
  }

  float acc[TM][TN] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % STAGES;
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();  // all threads' copies of this tile have landed; and all are done with the tile before it
    if (tile + STAGES - 1 < tiles) {
      fetch((tile + STAGES - 1) % STAGES);  // over the tile before
    }
    __pipeline_commit();

#pragma unroll
    for (int p = 0; p < GROUP_K; ++p) {
      alignas(16) float a_frag[TM];
      alignas(16) float b_frag[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) {
        as_float4(&a_frag[i]) = as_float4(&s.tiles.a[stage][group * GROUP_K + p][row + i / 4 * PIECE_ROWS]);
      }
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        as_float4(&b_frag[j]) = as_float4(&s.tiles.b[stage][group * GROUP_K + p][col + j / 4 * PIECE_COLS]);
      }
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          acc[i][j] += a_frag[i] * b_frag[j];
        }
      }
    }
  }

  __syncthreads();  // all threads are done with the last tile before sums overwrite it
  // Scaled here: a store of four takes aligned quads of registers. Accumulators that had to lie in quads, as B's fragments
  // do, would make every FFMA read one register bank twice.
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      s.sums[group][(i * TN + j) / 4][thread] =
          make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2], alpha * acc[i][j + 3]);
    }
  }
  __syncthreads();  // all groups' sums are there before any thread adds them up

  const int tile_index = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const View<float> slice_tile{partial + static_cast<long long>(tile_index) * (BM * BN), BN, BM, BN};
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row, block_col);
#pragma unroll
  for (int i = 0; i < SHARE; ++i) {
    const int quad = group * SHARE + i;
    float4 sum = s.sums[0][quad][thread];
#pragma unroll
    for (int g = 1; g < GROUPS; ++g) {
      add(sum, s.sums[g][quad][thread]);
    }
    const int at_row = row + quad * 4 / TN / 4 * PIECE_ROWS + quad * 4 / TN % 4;
    const int at_col = col + quad % (TN / 4) * PIECE_COLS;
    if (gridDim.z > 1) {
      as_float4(&slice_tile.at(at_row, at_col)) = sum;
    } else {
      store4(c_tile, at_row, at_col, &sum.x, 1.0f, beta);
    }
  }
}

constexpr int REDUCE_THREADS = 256;
constexpr int ROW_QUADS = BN / 4;  // of a tile

/// The sums of all slices, and the epilogue. Of a block's threads those of equal x share four elements of C: thread y adds up
/// slices y, y + blockDim.y, …, and the first of them what the others found.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce_slices(int m, int n, float beta, float* __restrict__ c, int ldc, int slices, int tiles_n,
                  int quads,  // of C with its tiles filled up: those of a slice
                  const float* __restrict__ partial) {
  __shared__ float4 sums[REDUCE_THREADS];
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");  // all slices are there before any is read
#endif
  const int quad = blockIdx.x * blockDim.x + threadIdx.x;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (quad < quads) {
#pragma unroll 8
    for (int slice = threadIdx.y; slice < slices; slice += blockDim.y) {
      add(sum, as_float4(partial + (static_cast<long long>(slice) * quads + quad) * 4));
    }
  }
  sums[threadIdx.y * blockDim.x + threadIdx.x] = sum;
  __syncthreads();  // all threads' sums are there before the first row adds them up
  if (threadIdx.y > 0 || quad >= quads) {
    return;
  }
  for (int y = 1; y < static_cast<int>(blockDim.y); ++y) {
    add(sum, sums[y * blockDim.x + threadIdx.x]);
  }
  const int tile = quad / (BM * ROW_QUADS), row = quad / ROW_QUADS % BM, col = quad % ROW_QUADS * 4;
  const View<float> c_all{c, ldc, m, n};
  store4(c_all, tile / tiles_n * BM + row, tile % tiles_n * BN + col, &sum.x, 1.0f, beta);
}
