// C = alpha * A * B + beta * C, row-major, A and B FP16 (BF16 where BF16 = 1), C and sums FP32. A warp computes WM x WN
// elements of C.
//
// Changed:    from wmma: tiles of A and B are staged in shared memory, STAGES of them, which cp.async fills while another
//             is multiplied. A warp keeps WM x WN / 256 fragments of sums, so each fragment it loads serves several
//             products. Rows are padded by 16 bytes, so that loading a fragment meets no bank twice.
// Bottleneck: between loads and the tensor pipe: short_scoreboard, math_pipe_throttle; 64 FLOP per byte fetched, not 8.
// Launch:     grid (n / BN, m / BM), block (BM / WM) * (BN / WN) warps, SHARED_BYTES of dynamic shared memory.
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 16-byte aligned. Guarded
//             path: nothing. Both need sm_80.

#include "../copy_half.cuh"

#include <mma.h>

namespace wmma = nvcuda::wmma;

constexpr int WARPS = (BM / WM) * (BN / WN);
constexpr int THREADS = WARPS * WARP_SIZE;
constexpr int SIDE = 16;  // of a fragment
static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the tile");
static_assert(WM % SIDE == 0 && WN % SIDE == 0 && BK % SIDE == 0, "fragments of 16 x 16 x 16 cover the warp's tile");
static_assert(STAGES >= 2, "one tile is multiplied while others arrive");

// A thread copies one chunk of every A_STEP-th row of A's tile, and of every B_STEP-th row of B's.
constexpr int A_CHUNKS = BK / CHUNK;
constexpr int B_CHUNKS = BN / CHUNK;
constexpr int A_STEP = THREADS / A_CHUNKS;
constexpr int B_STEP = THREADS / B_CHUNKS;
static_assert(THREADS % A_CHUNKS == 0 && BM % A_STEP == 0, "all threads copy the same number of chunks of A");
static_assert(THREADS % B_CHUNKS == 0 && BK % B_STEP == 0, "all threads copy the same number of chunks of B");

using FragmentA = wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, Half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, Half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float>;

// Eight rows of a fragment are read at once, 16 bytes each: an odd number of chunks a row puts them into different banks.
constexpr int PAD = CHUNK;
static_assert(A_CHUNKS % 2 == 0 && B_CHUNKS % 2 == 0, "one more chunk makes their number odd");

struct Shared {
  alignas(128) Half a[STAGES][BM][BK + PAD];
  alignas(128) Half b[STAGES][BK][BN + PAD];
  alignas(128) float out[WARPS][SIDE * SIDE];  // one fragment of every warp, on its way to C
};
static_assert(sizeof(Shared) <= SHARED_BYTES, "what stages.toml asks for");

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_wmma_tiled(int m, int n, int k, float alpha, const Half* __restrict__ a, int lda, const Half* __restrict__ b,
                    int ldb, float beta, float* __restrict__ c, int ldc) {
  extern __shared__ __align__(128) unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);

  const int warp = threadIdx.x / WARP_SIZE;
  const int warp_row = warp / (BN / WN) * WM;
  const int warp_col = warp % (BN / WN) * WN;
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int a_row = threadIdx.x / A_CHUNKS, a_col = threadIdx.x % A_CHUNKS * CHUNK;
  const int b_row = threadIdx.x / B_CHUNKS, b_col = threadIdx.x % B_CHUNKS * CHUNK;
  View<const Half> a_tile = View<const Half>{a, lda, m, k}.from(block_row + a_row, a_col);
  View<const Half> b_tile = View<const Half>{b, ldb, k, n}.from(b_row, block_col + b_col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(block_row + warp_row, block_col + warp_col);

  const auto fetch = [&](int stage) {
#pragma unroll
    for (int i = 0; i < BM; i += A_STEP) {
      copy_chunk(&s.a[stage][a_row + i][a_col], a_tile, i, 0);
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_STEP) {
      copy_chunk(&s.b[stage][b_row + i][b_col], b_tile, i, 0);
    }
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
  };

  const int tiles = ceil_div(k, BK);
  for (int tile = 0; tile < STAGES - 1; ++tile) {
    if (tile < tiles) {
      fetch(tile);
    }
    __pipeline_commit();  // without a tile an empty group, so that the count of groups tells the tile
  }

  FragmentC acc[WM / SIDE][WN / SIDE];
#pragma unroll
  for (int i = 0; i < WM / SIDE; ++i) {
#pragma unroll
    for (int j = 0; j < WN / SIDE; ++j) {
      wmma::fill_fragment(acc[i][j], 0.0f);
    }
  }
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % STAGES;
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();  // all threads' copies of this tile have landed; and all are done with the tile before it
    if (tile + STAGES - 1 < tiles) {
      fetch((tile + STAGES - 1) % STAGES);  // over the tile before
    }
    __pipeline_commit();

#pragma unroll
    for (int p = 0; p < BK; p += SIDE) {
      FragmentA a_frag[WM / SIDE];
      FragmentB b_frag[WN / SIDE];
#pragma unroll
      for (int i = 0; i < WM / SIDE; ++i) {
        wmma::load_matrix_sync(a_frag[i], &s.a[stage][warp_row + i * SIDE][p], BK + PAD);
      }
#pragma unroll
      for (int j = 0; j < WN / SIDE; ++j) {
        wmma::load_matrix_sync(b_frag[j], &s.b[stage][p][warp_col + j * SIDE], BN + PAD);
      }
#pragma unroll
      for (int i = 0; i < WM / SIDE; ++i) {
#pragma unroll
        for (int j = 0; j < WN / SIDE; ++j) {
          wmma::mma_sync(acc[i][j], a_frag[i], b_frag[j], acc[i][j]);
        }
      }
    }
  }

  // Where a lane's elements of a fragment lie is not said, so each passes through shared memory; four lanes store a row.
  float* out = s.out[warp];
#pragma unroll
  for (int i = 0; i < WM / SIDE; ++i) {
#pragma unroll
    for (int j = 0; j < WN / SIDE; ++j) {
      __syncwarp();  // all lanes have read the fragment before, which this one overwrites
      wmma::store_matrix_sync(out, acc[i][j], SIDE, wmma::mem_row_major);
      __syncwarp();  // the fragment is complete before any lane reads it
#pragma unroll
      for (int quad = threadIdx.x % WARP_SIZE; quad < SIDE * SIDE / 4; quad += WARP_SIZE) {
        const float4 sums = as_float4(out + quad * 4);
        store4(c_tile, i * SIDE + quad / 4, j * SIDE + quad % 4 * 4, &sums.x, alpha, beta);
      }
    }
  }
}
