// C = alpha * A * B + beta * C, row-major, A and B FP16 (BF16 where BF16 = 1), C and sums FP32, for a C with too few tiles of
// `wgmma` to fill the GPU: wgmma and wgmma-fp16 launch it instead. A cubin of its own beside theirs.
//
// Changed:    from wgmma: tiles of 64 x 128; slices of a tile's K are blocks of one cluster, which send their sums into each
//             other's shared memory (st.async, counted by an mbarrier: nobody waits for a barrier of the cluster) and add them
//             up in their order. Blocks of a cluster that lie below each other share the tile of B by multicast. Where
//             several clusters share a tile, the last to come adds up theirs.
// Bottleneck: latency of the launch, of the first boxes and of the sums' way; then what L2 delivers.
// Launch:     clusters of share * slices blocks of 160 threads: x has those of a column of tiles, y the columns, z the clusters
//             of a tile. See ncu_lab/gpu/small_output_half.py.
// Assumes:    that of wgmma's fast path. share and slices are powers of two; slices * clusters are no more than steps of k.
//             Launches follow each other in a stream; where several clusters share a tile, tiles * slices are MOST_ARRIVALS
//             at most.
//
// Its sizes are not those of stages.toml, which belong to the stage whose second source it is.

#include "../wgmma.cuh"

namespace small_output_half {

constexpr int TILE_M = 64, TILE_N = 128, STEP = 64;  // rows and columns of C that a block computes, k that a stage holds
constexpr int WARPGROUP = 128, BLOCK = WARPGROUP + WARP_SIZE;  // one multiplies, a warp more asks for boxes
constexpr int ROW = 128;                             // bytes of a row of the swizzle: STEP of A's k, CHUNK of B's columns
constexpr int CHUNK = ROW / 2, CHUNKS = TILE_N / CHUNK;
constexpr int B_ROWS = CHUNKS * STEP;                // rows of ROW bytes of B: chunk by chunk, in each all k of the stage
constexpr uint32_t A_BYTES = TILE_M * ROW, STAGE_BYTES = A_BYTES + B_ROWS * ROW;
constexpr int LOG_QUADS = 4, QUADS = TILE_N / 8;     // of a thread: two neighbours in each of two rows, in every eighth column
constexpr uint32_t TILE_BYTES = TILE_M * TILE_N * 4;
constexpr int MOST_STAGES = 8;
constexpr int MOST_SLICES = 8;                       // of a cluster
static_assert(STEP * 2 == ROW, "a row of A's box is one row of the swizzle");
static_assert(QUADS == 1 << LOG_QUADS && QUADS % MOST_SLICES == 0, "every block of a cluster adds up as many quads");

/// What shared memory begins with. Behind it, from HEAD bytes on: stages, each of TILE_M rows of 128 bytes of A and B_ROWS of B,
/// and sums, [slice][quad that this block adds up][thread], where a tile's K is shared out.
struct Head {
  uint64_t full[MOST_STAGES], empty[MOST_STAGES];
  uint64_t summed;  // whether all slices' sums have come in
  int last;         // whether this cluster is the last of its tile
};
constexpr uint32_t HEAD = 1024;
static_assert(sizeof(Head) <= HEAD, "stages begin at a multiple of 1 KiB, for the swizzle");

}  // namespace small_output_half

extern "C" __global__ void __launch_bounds__(small_output_half::BLOCK, 2)
    wgmma_small(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                float* __restrict__ c, int m, int n, int ldc, float alpha, float beta,
                int log_share,   // 1 << log_share blocks of a cluster lie below each other and share B's tiles
                int log_slices,  // of K in a cluster, as an exponent too
                int slice_steps, int longer,     // steps of k of a slice; the first `longer` of a tile have one more
                int stages,                      // MOST_STAGES at most
                float4* __restrict__ partial) {  // [tile][cluster][quad][thread], where several clusters share a tile
  using namespace small_output_half;
  Head& head = dynamic_shared<Head>();
  const uint32_t full = shared_address(head.full), empty = shared_address(head.empty), summed = shared_address(&head.summed);
  const uint32_t base = shared_address(&head) + HEAD, sums = base + stages * STAGE_BYTES;

  const int rank = cluster_rank(), group = cluster_x();
  const int share = 1 << log_share, slices = 1 << log_slices, clusters = gridDim.z, cluster = blockIdx.z;
  const int member = rank & (share - 1), slice = rank >> log_share;
  const bool alone = slices * clusters == 1;
  const int tile_row = group * share + member, row = tile_row * TILE_M, col = blockIdx.y * TILE_N;
  const int of_tile = cluster * slices + slice;  // which slice of the tile's K this is
  const int first = of_tile * slice_steps + min(of_tile, longer), steps = slice_steps + (of_tile < longer);

  if (threadIdx.x == WARPGROUP) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int i = 0; i < stages; ++i) {
      barrier_init(full + i * 8, 1);       // this block's asking thread, which announces the bytes
      barrier_init(empty + i * 8, share);  // of every warpgroup that reads what we load
    }
    barrier_init(summed, 1);
    publish_barriers();
    if (!alone) expect_bytes(summed, TILE_BYTES);  // from every slice its part of what this block adds up
  }
  cluster_arrive_relaxed();

  const int tid = threadIdx.x, warp = tid / WARP_SIZE, lane = tid % WARP_SIZE;
  const auto store = [&](int quad, const float4& sum) {
    const int x = col + quad * 8 + lane % 4 * 2, y = row + warp * 16 + lane / 4;
    if (x >= n) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (y + half * 8 >= m) return;
      float2& to = *reinterpret_cast<float2*>(c + static_cast<size_t>(y + half * 8) * ldc + x);
      float2 v = half ? make_float2(alpha * sum.z, alpha * sum.w) : make_float2(alpha * sum.x, alpha * sum.y);
      if (beta != 0.0f) {  // else C is not read: it may hold NaN or nothing yet
        const float2 before = to;
        v.x += beta * before.x, v.y += beta * before.y;
      }
      to = v;
    }
  };
  const int log_quads = LOG_QUADS - log_slices, quads = 1 << log_quads;  // of a thread, that this block adds up
  const int tile = tile_row * gridDim.y + blockIdx.y;
  float4* mine = partial + (static_cast<size_t>(tile) * clusters + cluster) * (QUADS * WARPGROUP);

  if (threadIdx.x >= WARPGROUP) {  // the warp that asks for boxes
    const int rows = min(STEP, B_ROWS >> log_share);  // of B in a box; a block loads its share of B_ROWS, for all who share
    const int begin = member * (B_ROWS >> log_share), end = begin + (B_ROWS >> log_share);
    const int sharing = ((1 << share) - 1) << (slice * share);
    const auto load_a = [&](int step, int slot) {
      expect_bytes(full + slot * 8, STAGE_BYTES);
      load_box(base + slot * STAGE_BYTES, &map_a, (first + step) * STEP, row, full + slot * 8);
    };
    const auto load_b = [&](int step, int slot) {
#pragma unroll 1
      for (int line = begin; line < end; line += rows) {
        const uint32_t to = base + slot * STAGE_BYTES + A_BYTES + line * ROW;
        const int x = col + line / STEP * CHUNK, y = (first + step) * STEP + line % STEP;
        if (share > 1) {
          load_box_to_blocks(to, &map_b, x, y, full + slot * 8, sharing);
        } else {
          load_box(to, &map_b, x, y, full + slot * 8);
        }
      }
    };
    const int ahead = min(stages, steps);
    const bool asks = threadIdx.x == WARPGROUP;
    if (asks) {
#pragma unroll 1
      for (int step = 0; step < ahead; ++step) {
        load_a(step, step);
        if (share == 1) load_b(step, step);
      }
    }
    __syncwarp();    // the warp waits for the cluster as one
    cluster_wait();  // what is loaded for other blocks too comes behind: their barriers are initialised before it lands
    if (asks) {
      if (share > 1) {
#pragma unroll 1
        for (int step = 0; step < ahead; ++step) load_b(step, step);
      }
      int slot = 0, parity = 0;
#pragma unroll 1
      for (int step = ahead; step < steps; ++step) {
        barrier_wait(empty + slot * 8, parity);  // all who read this stage are done with it
        load_a(step, slot);
        load_b(step, slot);
        if (++slot == stages) slot = 0, parity ^= 1;
      }
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
        wgmma_n128(d, a + p * (32 / 16), b + p * (16 * ROW / 16), step > 0 || p > 0);
      }
      products_end();  // none stays in flight: boxes take longer than products, so a stage is given back once it is read
      // Only where it is filled again: no block ends while another may still arrive at its barriers.
      if (step + stages < steps && tid < share) barrier_arrive(empty + slot * 8, slice * share + tid);
      if (++slot == stages) slot = 0, parity ^= 1;
    }

    if (alone) {
      __syncwarp();  // a warp arrives at the cluster's barrier as one
      cluster_arrive_relaxed();
#pragma unroll
      for (int quad = 0; quad < QUADS; ++quad) {
        store(quad, make_float4(d[quad * 4], d[quad * 4 + 1], d[quad * 4 + 2], d[quad * 4 + 3]));
      }
    } else {
#pragma unroll
      for (int quad = 0; quad < QUADS; ++quad) {  // each to the block of the cluster that adds it up
        const uint32_t to = sums + ((slice * quads + (quad & (quads - 1))) * WARPGROUP + tid) * 16;
        send_quad(to, summed, (quad >> log_quads) * share + member, d + quad * 4);
      }
      wait_for_sums(summed);
      __syncwarp();  // a warp arrives at the cluster's barrier as one
      cluster_arrive_relaxed();
#pragma unroll 1
      for (int i = 0; i < quads; ++i) {
        float4 of[MOST_SLICES];
#pragma unroll
        for (int from = 0; from < MOST_SLICES; ++from) {
          if (from < slices) load4_shared(&of[from].x, sums + ((from * quads + i) * WARPGROUP + tid) * 16);
        }
        float4 sum = of[0];
#pragma unroll
        for (int from = 1; from < MOST_SLICES; ++from) {
          if (from < slices) add_quad(sum, of[from]);
        }
        const int quad = slice * quads + i;
        if (clusters == 1) {
          store(quad, sum);
        } else {
          __stcg(mine + quad * WARPGROUP + tid, sum);
        }
      }
    }
  }

  if (clusters > 1 && last_to_come(&arrivals[tile * slices + slice], clusters, &head.last) && tid < WARPGROUP) {
    const float4* all = partial + static_cast<size_t>(tile) * clusters * (QUADS * WARPGROUP);
#pragma unroll 1
    for (int i = 0; i < quads; ++i) {
      const int quad = slice * quads + i;
      store(quad, sum_of_clusters(all + quad * WARPGROUP + tid, QUADS * WARPGROUP, clusters));
    }
  }
  cluster_wait();  // no block ends before boxes and sums from it, and for it, have arrived everywhere
}
