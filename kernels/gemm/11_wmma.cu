// C = alpha * A * B + beta * C, row-major, A and B FP16 (BF16 where BF16 = 1), C and sums FP32. A warp computes WM x WN
// elements of C.
//
// Changed:    tensor cores instead of FMA, the plain way: each warp reads its 16 x 16 fragments of A and B straight
//             from global memory, with next to no reuse (8 FLOP per byte fetched).
// Bottleneck: latency of global memory: warps wait in long_scoreboard, and the tensor pipe idles.
// Launch:     grid (n / BN, m / BM), block (BM / WM) * (BN / WN) warps.
// Assumes:    fast path: m, n, k are multiples of BM, BN, BK; bases and rows of A, B, C are 32-byte aligned (WMMA needs
//             it). Guarded path: nothing; fragments pass through shared memory, with zeros outside the matrices.

#include "../half.cuh"

#include <mma.h>

namespace wmma = nvcuda::wmma;

constexpr int WARPS = (BM / WM) * (BN / WN);
static_assert(BM % WM == 0 && BN % WN == 0, "warps cover the tile");
static_assert(WM == 16 && WN == 16 && BK == 16, "a fragment is 16 x 16 x 16");

using FragmentA = wmma::fragment<wmma::matrix_a, WM, WN, BK, Half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, WM, WN, BK, Half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, WM, WN, BK, float>;

/// What a warp of the guarded path passes through shared memory.
struct Staging {
  alignas(32) Half fragment[16 * 16];
  alignas(32) float acc[16 * 16];
};

/// Read the fragment at the head of `view`. The whole warp takes part, whatever part of it lies inside the matrix.
template <typename Fragment>
__device__ __forceinline__ void read_fragment(Fragment& fragment, const View<const Half>& view, Staging& staging) {
  if (!GUARDED) {
    wmma::load_matrix_sync(fragment, view.first, view.ld);
    return;
  }
  __syncwarp();  // all lanes have read the fragment before, which this one overwrites
  for (int i = threadIdx.x % WARP_SIZE; i < 16 * 16; i += WARP_SIZE) {
    staging.fragment[i] = load(view, i / 16, i % 16);
  }
  __syncwarp();  // the fragment is complete before any lane reads it
  wmma::load_matrix_sync(fragment, staging.fragment, 16);
}

/// The epilogue of one fragment at the head of `c`.
__device__ __forceinline__ void store_fragment(const View<float>& c, FragmentC& acc, float alpha, float beta,
                                               Staging& staging) {
  if (GUARDED) {
    wmma::store_matrix_sync(staging.acc, acc, 16, wmma::mem_row_major);
    __syncwarp();  // the fragment is complete before any lane reads it
    for (int i = threadIdx.x % WARP_SIZE; i < 16 * 16; i += WARP_SIZE) {
      store(c, i / 16, i % 16, staging.acc[i], alpha, beta);
    }
    return;
  }
  FragmentC value;
  if (beta != 0.0f) {
    wmma::load_matrix_sync(value, c.first, c.ld, wmma::mem_row_major);
  }
  for (int i = 0; i < acc.num_elements; ++i) {
    store_c(value.x[i], acc.x[i], alpha, beta);
  }
  wmma::store_matrix_sync(c.first, value, c.ld, wmma::mem_row_major);
}

extern "C" __global__ void __launch_bounds__(WARPS * WARP_SIZE)
    hgemm_wmma(int m, int n, int k, float alpha, const Half* __restrict__ a, int lda, const Half* __restrict__ b,
               int ldb, float beta, float* __restrict__ c, int ldc) {
  __shared__ Staging staging[WARPS];

  const int warp = threadIdx.x / WARP_SIZE;
  const int row = blockIdx.y * BM + warp / (BN / WN) * WM;
  const int col = blockIdx.x * BN + warp % (BN / WN) * WN;
  View<const Half> a_tile = View<const Half>{a, lda, m, k}.from(row, 0);
  View<const Half> b_tile = View<const Half>{b, ldb, k, n}.from(0, col);
  const View<float> c_tile = View<float>{c, ldc, m, n}.from(row, col);

  FragmentC acc;
  wmma::fill_fragment(acc, 0.0f);
  for (int k_left = k; k_left > 0; k_left -= BK) {
    FragmentA a_frag;
    FragmentB b_frag;
    read_fragment(a_frag, a_tile, staging[warp]);
    read_fragment(b_frag, b_tile, staging[warp]);
    a_tile = a_tile.from(0, BK);
    b_tile = b_tile.from(BK, 0);
    wmma::mma_sync(acc, a_frag, b_frag, acc);
  }

  store_fragment(c_tile, acc, alpha, beta, staging[warp]);
}
