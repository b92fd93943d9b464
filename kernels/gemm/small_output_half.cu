// C = alpha * A * B + beta * C, row-major, A and B FP16 (BF16 where BF16 = 1), C and sums FP32, for a C with too few tiles of
// `wgmma` to fill the GPU: wgmma and wgmma-fp16 launch it instead. A cubin of its own beside theirs.
//
// Changed:    from wgmma: tiles of 64 x 128 or 64 x 64; slices of a tile's K are blocks of one cluster, which send their sums
//             into each other's shared memory (st.async, counted by an mbarrier: nobody waits for a barrier of the cluster)
//             and add them up in a fixed order. Blocks of a cluster that lie below each other share the tile of B by
//             multicast. Where several clusters share a tile, the last to come adds up theirs.
// Bottleneck: latency of the launch, of the first boxes and of the sums' way; then what L2 delivers.
// Launch:     clusters of share * slices blocks of 160 threads: x has those of a column of tiles, y the columns, z the clusters
//             of a tile. See ncu_lab/gpu/small_output_half.py.
// Assumes:    that of wgmma's fast path. share and slices are powers of two; slices * clusters are no more than steps of k.
//             Where several clusters share a tile, they have at least two slices each.
//             Launches follow each other in a stream; where several clusters share a tile, tiles * slices are MOST_ARRIVALS
//             at most.
//
// Its sizes are not those of stages.toml, which belong to the stage whose second source it is.

#include "../wgmma.cuh"

namespace small_output_half {

constexpr int TILE_M = 64, STEP = 64;  // rows of C that a block computes, k that a stage holds
constexpr int WARPGROUP = 128, BLOCK = WARPGROUP + WARP_SIZE;  // one multiplies, a warp more asks for boxes
constexpr int ROW = 128;               // bytes of a row of the swizzle: STEP of A's k, CHUNK of B's columns
constexpr int CHUNK = ROW / 2;
constexpr uint32_t A_BYTES = TILE_M * ROW;
constexpr int MOST_STAGES = 12, LOG_MOST_SLICES = 3;  // of a block, of a cluster
static_assert(STEP * 2 == ROW, "a row of A's box is one row of the swizzle");

/// What shared memory begins with. Behind it, from HEAD bytes on: stages, each of TILE_M rows of 128 bytes of A and those of B,
/// chunk of columns by chunk and in each all k; and sums, [slice][quad that this block adds up][thread], where a tile's K is
/// shared out.
struct Head {
  uint64_t full[MOST_STAGES], empty[MOST_STAGES];
  uint64_t summed;  // whether all slices' sums have come in
  int last;         // whether this cluster is the last of its tile
};
constexpr uint32_t HEAD = 1024;
static_assert(sizeof(Head) <= HEAD, "stages begin at a multiple of 1 KiB, for the swizzle");

/// How the work is divided among blocks.
struct Division {
  int log_share;            // 1 << log_share blocks of a cluster lie below each other and share B's tiles
  int log_slices;           // of K in a cluster, as an exponent too
  int slice_steps, longer;  // steps of k of a slice; the first `longer` of a tile have one more
  int stages;               // MOST_STAGES at most
};

/// Where a thread's sums go: of every eighth column from `c` on a quad, two neighbours in each of two rows eight apart.
struct Target {
  float* c;
  int ldc, rows, cols;  // left in C
  float alpha, beta;

  __device__ __forceinline__ void store(int quad, const float4& sum) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (quad * 8 >= cols || half * 8 >= rows) continue;
      float2& to = *reinterpret_cast<float2*>(c + static_cast<size_t>(half * 8) * ldc + quad * 8);
      float2 before = make_float2(0.0f, 0.0f);
      if (beta != 0.0f) before = to;  // else C is not read: it may hold NaN or nothing yet
      to = make_float2(alpha * (half ? sum.z : sum.x) + beta * before.x, alpha * (half ? sum.w : sum.y) + beta * before.y);
    }
  }
};

__device__ __forceinline__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  wgmma_n64(d, a, b, accumulate);
}
__device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  wgmma_n128(d, a, b, accumulate);
}

/// Add up the slices of [slice][quad], the upper half to the lower until one is left: the same order at all times.
template <int HALF, int QUADS>
__device__ __forceinline__ void fold(float4 (&sum)[QUADS], int quads) {
  if (HALF >= quads) {
#pragma unroll
    for (int i = 0; i < HALF; ++i) add_quad(sum[i], sum[HALF + i]);
  }
  if constexpr (HALF > QUADS >> LOG_MOST_SLICES) fold<HALF / 2>(sum, quads);
}

/// A block's slice of a tile of TILE_M x TILE_N.
template <int TILE_N>
__device__ __forceinline__ void multiply_tile(const CUtensorMap* map_a, const CUtensorMap* map_b, float* c, int m, int n,
                                              int ldc, float alpha, float beta, const Division& division, float4* partial) {
  constexpr int B_ROWS = TILE_N / CHUNK * STEP;  // rows of ROW bytes
  constexpr uint32_t STAGE_BYTES = A_BYTES + B_ROWS * ROW, TILE_BYTES = TILE_M * TILE_N * 4;
  constexpr int LOG_QUADS = TILE_N == 128 ? 4 : 3, QUADS = 1 << LOG_QUADS;  // of a thread: one in every eighth column
  static_assert(TILE_N == QUADS * 8 && LOG_QUADS >= LOG_MOST_SLICES, "every block of a cluster adds up as many quads");

  Head& head = dynamic_shared<Head>();
  const uint32_t full = shared_address(head.full), empty = shared_address(head.empty), summed = shared_address(&head.summed);
  const int stages = division.stages;
  const uint32_t base = shared_address(&head) + HEAD, sums = base + stages * STAGE_BYTES;

  const int rank = cluster_rank(), group = blockIdx.x >> (division.log_share + division.log_slices);
  const int share = 1 << division.log_share, slices = 1 << division.log_slices, clusters = gridDim.z, cluster = blockIdx.z;
  const int member = rank & (share - 1), slice = rank >> division.log_share;
  const bool alone = slices * clusters == 1;
  const int tile_row = group * share + member, col = blockIdx.y * TILE_N;
  const int of_tile = cluster * slices + slice;  // which slice of the tile's K this is
  const int first = of_tile * division.slice_steps + min(of_tile, division.longer);
  const int steps = division.slice_steps + (of_tile < division.longer);

  const bool asks = threadIdx.x >= WARPGROUP;  // of the warp that asks for boxes: one lane does, elected, not chosen by
  if (asks && elected()) {                     // its number, so that its registers are uniform ones
    prefetch_map(map_a);
    prefetch_map(map_b);
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      barrier_init(full + i * 8, 1);       // this block's asking thread, which announces the bytes
      barrier_init(empty + i * 8, share);  // of every warpgroup that reads what we load
    }
    barrier_init(summed, 1);
    publish_barriers();
    if (!alone) expect_bytes(summed, TILE_BYTES);  // from every slice its part of what this block adds up
  }
  cluster_arrive_relaxed();

  const int tid = threadIdx.x;
  const auto target = [&] {
    const int row = tile_row * TILE_M + tid / WARP_SIZE * 16 + tid % WARP_SIZE / 4, x = col + tid % 4 * 2;  // of quad 0
    return Target{c + static_cast<size_t>(row) * ldc + x, ldc, m - row, n - x, alpha, beta};
  };
  const int log_quads = LOG_QUADS - division.log_slices, quads = 1 << log_quads;  // of a thread, that this block adds up
  const int tile = tile_row * gridDim.y + blockIdx.y, first_quad = slice << log_quads;

  if (asks) {
    const int part = B_ROWS >> division.log_share;  // of B's rows; a block loads one for all who share
    const int begin = member * part;
    const int sharing = ((1 << share) - 1) << (slice * share);
    const int y = tile_row * TILE_M;
    const auto load_a = [&](int step, int slot) {
      expect_bytes(full + slot * 8, STAGE_BYTES);
      load_box(base + slot * STAGE_BYTES, map_a, (first + step) * STEP, y, full + slot * 8);
    };
    const auto load_b = [&](int step, int slot) {
      const uint32_t to = base + slot * STAGE_BYTES + A_BYTES + begin * ROW;
      const int x = col + begin / STEP * CHUNK, k = (first + step) * STEP + begin % STEP;
      if (share > 1) {
        load_box_to_blocks(to, map_b, x, k, full + slot * 8, sharing);
      } else {
        load_box(to, map_b, x, k, full + slot * 8);
        if (TILE_N > CHUNK) load_box(to + STEP * ROW, map_b, x + CHUNK, k, full + slot * 8);
      }
    };
    const int ahead = min(stages, steps);
    if (elected()) {
#pragma unroll 1
      for (int step = 0; step < ahead; ++step) {
        load_a(step, step);
        if (share == 1) load_b(step, step);
      }
    }
    __syncwarp();    // the warp waits for the cluster as one
    cluster_wait();  // what is loaded for other blocks too comes behind: their barriers are initialised before it lands
    if (elected()) {
      if (share > 1) {
#pragma unroll 1
        for (int step = 0; step < ahead; ++step) load_b(step, step);
      }
    }
    int slot = 0, parity = 0;
#pragma unroll 1
    for (int step = ahead; step < steps; ++step) {
      barrier_wait(empty + slot * 8, parity);  // all who read this stage are done with it
      if (elected()) {
        load_a(step, slot);
        load_b(step, slot);
      }
      if (++slot == stages) slot = 0, parity ^= 1;
    }
    __syncwarp();  // the warp arrives at later barriers as one
    cluster_arrive_relaxed();
  } else {
    cluster_wait();  // barriers are initialised, those of other blocks too, before they are used
    const uint64_t a0 = descriptor(base, 16, 1024), b0 = descriptor(base + A_BYTES, STEP * ROW, 1024);
    float d[QUADS * 4];
    int slot = 0, parity = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      barrier_wait(full + slot * 8, parity);  // the stage has landed before it is read
      const uint64_t a = a0 + slot * (STAGE_BYTES / 16), b = b0 + slot * (STAGE_BYTES / 16);
      products_begin();
#pragma unroll
      for (int p = 0; p < STEP / 16; ++p) {
        multiply(d, a + p * (32 / 16), b + p * (16 * ROW / 16), step > 0 || p > 0);
      }
      products_end();  // none stays in flight: boxes take longer than products, so a stage is given back once it is read
      // Only where it is filled again: no block ends while another may still arrive at its barriers.
      if (step + stages < steps && tid < share) barrier_arrive(empty + slot * 8, slice * share + tid);
      if (++slot == stages) slot = 0, parity ^= 1;
    }

    const Target mine = target();
    if (alone) {
      __syncwarp();  // a warp arrives at the cluster's barrier as one
      cluster_arrive_relaxed();
#pragma unroll
      for (int quad = 0; quad < QUADS; ++quad) {
        mine.store(quad, make_float4(d[quad * 4], d[quad * 4 + 1], d[quad * 4 + 2], d[quad * 4 + 3]));
      }
    } else {
      const uint32_t place = sums + tid * 16;  // [slice][quad][thread], of whatever block
#pragma unroll
      for (int quad = 0; quad < QUADS; ++quad) {  // each to the block of the cluster that adds it up
        const int at = first_quad + (quad & (quads - 1));
        send_quad(place + at * (WARPGROUP * 16), summed, (quad >> log_quads) * share + member, d + quad * 4);
      }
      wait_for_sums(summed);
      __syncwarp();  // a warp arrives at the cluster's barrier as one
      cluster_arrive_relaxed();
      float4 sum[QUADS];  // first of all slices: [slice][quad]
#pragma unroll
      for (int i = 0; i < QUADS; ++i) load4_shared(&sum[i].x, place + i * (WARPGROUP * 16));
      fold<QUADS / 2>(sum, quads);
      if (clusters == 1) {
#pragma unroll
        for (int i = 0; i < QUADS / 2; ++i) {
          if (i < quads) mine.store(first_quad + i, sum[i]);
        }
      } else {
        float4* cluster_sums = partial + ((tile * clusters + cluster) * QUADS + first_quad) * WARPGROUP + tid;
#pragma unroll
        for (int i = 0; i < QUADS / 2; ++i) {
          if (i < quads) __stcg(cluster_sums + i * WARPGROUP, sum[i]);
        }
      }
    }
  }

  if (clusters > 1 && last_to_come(&arrivals[tile * slices + slice], clusters, &head.last) && tid < WARPGROUP) {
    const Target mine = target();
    const float4* all = partial + (tile * clusters * QUADS + first_quad) * WARPGROUP + tid;
#pragma unroll 1
    for (int i = 0; i < quads; ++i) {
      mine.store(first_quad + i, sum_of_clusters(all + i * WARPGROUP, QUADS * WARPGROUP, clusters));
    }
  }
  cluster_wait();  // no block ends before boxes and sums from it, and for it, have arrived everywhere
}

}  // namespace small_output_half

/// Tiles of 64 x 128. `partial` is [tile][cluster][quad][thread], where several clusters share a tile.
extern "C" __global__ void __launch_bounds__(small_output_half::BLOCK, 2)
    wgmma_small(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                float* __restrict__ c, int m, int n, int ldc, float alpha, float beta, int log_share, int log_slices,
                int slice_steps, int longer, int stages, float4* __restrict__ partial) {
  small_output_half::multiply_tile<128>(&map_a, &map_b, c, m, n, ldc, alpha, beta,
                                        {log_share, log_slices, slice_steps, longer, stages}, partial);
}

/// Tiles of 64 x 64.
extern "C" __global__ void __launch_bounds__(small_output_half::BLOCK, 2)
    wgmma_small_narrow(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                       float* __restrict__ c, int m, int n, int ldc, float alpha, float beta, int log_share, int log_slices,
                       int slice_steps, int longer, int stages, float4* __restrict__ partial) {
  small_output_half::multiply_tile<64>(&map_a, &map_b, c, m, n, ldc, alpha, beta,
                                       {log_share, log_slices, slice_steps, longer, stages}, partial);
}
