// C = alpha * A * B + beta * C, row-major, FP32 on CUDA cores, for a C with too few tiles to fill the GPU: two stages launch it.
//
// Changed:    from splitk's own kernel: the copy engine (TMA) brings the boxes, so no thread copies and no __syncthreads is
//             in the loop; A is read along k as it lies; and the slices of a tile's K are a cluster, whose blocks add their
//             sums up in each other's shared memory. Where several clusters share a tile, the last to come adds up theirs.
// Bottleneck: latency of the first boxes and of the sums' way; the FMA pipe once slices are long.
// Launch:     sgemm_small on tiles * clusters * blocks of a cluster (a power of two, 8 at most), 128 threads each, and as
//             much dynamic shared memory as lets two of them, and not three, share an SM.
// Assumes:    bases and rows of A, B, C are 16-byte aligned, n is a multiple of 4, k > 0. Launches follow each other in a
//             stream; where several clusters share a tile, tiles * blocks of a cluster are MOST_COUNTERS at most.
//
// Its sizes are not those of stages.toml, which belong to the stage that includes it.
#pragma once

#include "cluster.cuh"

namespace small_output {

constexpr int TILE = 64, STEP = 32;       // rows and columns of C that a block computes, k that a stage holds
constexpr int EDGE = 8, QUADS = EDGE * EDGE / 4;  // a thread sums EDGE x EDGE elements of C, four neighbours a quad
constexpr int DEPTH = 4, LAG = 2;         // stages; one is refilled LAG steps after it was read, so that nobody waits
constexpr int GROUPS_K = 2, GROUP_K = STEP / GROUPS_K;  // groups of two warps take a stage's k in halves
constexpr int GROUP_SIZE = (TILE / EDGE) * (TILE / EDGE), BLOCK = GROUPS_K * GROUP_SIZE;
constexpr int WARPS = BLOCK / WARP_SIZE;
constexpr int TILE_QUADS = TILE * TILE / 4;
constexpr int PASS = 8;    // k that are unrolled: two quads of A's, one for each buffer. Given more, ptxas gives up reuse
constexpr int RASTER = 8;  // row tiles that are walked together
constexpr uint32_t MOST_BLOCKS = 8;  // of a cluster
constexpr int AT_ONCE = 8;           // clusters whose sums are under way together
constexpr uint32_t BOX_BYTES = TILE * STEP * 4;
static_assert(STEP * 4 == 128, "a row of A's box is one row of the 128-byte swizzle");
static_assert(GROUP_K == 2 * PASS && PASS == 8, "fragments alternate between two buffers");
static_assert(DEPTH > LAG && QUADS % GROUPS_K == 0, "refills run ahead; every group stores as much of the tile");

struct Stage {
  unsigned char a[BOX_BYTES];  // TILE rows of 128 bytes, their 16-byte pieces swizzled
  unsigned char b[BOX_BYTES];  // STEP rows of TILE
};

struct Shared {
  union {
    Stage stage[DEPTH];
    float4 sums[GROUPS_K][QUADS][GROUP_SIZE];  // the first group's become those of all
  };
  uint64_t full[DEPTH], empty[DEPTH];
  int last;  // whether this cluster is the last of its tile
};

/// Four floats of the same place in another block of the cluster.
__device__ __forceinline__ float4 load_remote(uint32_t address, uint32_t block) {
  float4 v;
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n"
      "}\n"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "r"(address), "r"(block)
      : "memory");
  return v;
}

// The lanes' order of `warptiled`, 8 rows by 4 columns: LDS.128 without bank conflicts.
__device__ __forceinline__ int lane_row(int lane) { return (lane >> 1 & 1) | (lane >> 2 & 6); }
__device__ __forceinline__ int lane_col(int lane) { return (lane & 1) | (lane >> 1 & 2); }

// Place in the tile of a quad of a group's thread. A lane's rows are 8 apart, so that the eight that a warp reads at once
// have eight numbers modulo 8: the swizzle puts their pieces into different banks.
__device__ __forceinline__ int row_of(int quad, int thread) {
  return quad / (EDGE / 4) * 8 + lane_row(thread % WARP_SIZE);
}
__device__ __forceinline__ int col_of(int quad, int thread) {
  return thread / WARP_SIZE * 32 + quad % (EDGE / 4) * 16 + lane_col(thread % WARP_SIZE) * 4;
}

/// The products of PASS k, whose first fragments are there. Loaded ahead: B's of the next k, and A's of the next four k two
/// rows at a time between products; the last are the first of what follows, at the addresses of `next`.
__device__ __forceinline__ void multiply_pass(float (&acc)[EDGE][EDGE], float (&a)[2][EDGE][4], float (&b)[2][EDGE],
                                              uint32_t a_second, uint32_t a_next, uint32_t b_at, uint32_t b_next) {
#pragma unroll
  for (int p = 0; p < PASS; ++p) {
    const uint32_t b_from = p + 1 < PASS ? b_at + (p + 1) * (TILE * 4) : b_next;
    const uint32_t a_from = p < PASS / 2 ? a_second : a_next;
#pragma unroll
    for (int i = 0; i < EDGE; ++i) {
      if (i % 4 == 0) load4_shared(b[(p + 1) % 2] + i / 4 * 4, b_from + i / 4 * 64);
      if (i % 4 == 2) {
        const int row = p % 4 * 2 + i / 4;
        load4_shared(a[(p / 4 + 1) % 2][row], a_from + row * 8 * 128);
      }
#pragma unroll
      for (int turn = 0; turn < EDGE; ++turn) {
        const int j = i % 2 ? EDGE - 1 - turn : turn;  // to and fro: the operand at the turn is shared
        acc[i][j] += a[p / 4 % 2][i][p % 4] * b[p % 2][j];
      }
    }
  }
}

/// [tile][block of a cluster]: clusters whose sums are there. Zero when loaded, and left zero by every launch.
constexpr int MOST_COUNTERS = 1024;
__device__ uint32_t arrived[MOST_COUNTERS];

}  // namespace small_output

extern "C" __global__ void __launch_bounds__(small_output::BLOCK, 2)
    sgemm_small(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                float* __restrict__ c, int m, int n, int k, int ldc, float alpha, float beta,
                int slice_steps,               // steps of k of a block; the last may have fewer, or none
                int clusters,                  // that share a tile
                float4* __restrict__ partial) {  // [tile][cluster][quad][thread], where several clusters share a tile
  using namespace small_output;
  extern __shared__ __align__(1024) unsigned char boxes[];
  Shared& s = *reinterpret_cast<Shared*>(boxes);
  uint32_t rank, blocks;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  const int cluster = blockIdx.x / blocks % clusters, tile = blockIdx.x / blocks / clusters;
  int tile_row, tile_col;
  grouped_raster(tile, RASTER, ceil_div(m, TILE), ceil_div(n, TILE), tile_row, tile_col);
  const int block_row = tile_row * TILE, block_col = tile_col * TILE;
  const int first = (cluster * static_cast<int>(blocks) + static_cast<int>(rank)) * slice_steps;
  const int steps = max(0, min(slice_steps, ceil_div(k, STEP) - first));

  const uint32_t stages = shared_address(s.stage), full = shared_address(s.full), empty = shared_address(s.empty);
  const auto fill = [&](int step) {
    const int slot = step % DEPTH;
    const uint32_t barrier = full + slot * 8, to = stages + slot * sizeof(Stage);
    expect_bytes(barrier, sizeof(Stage));
    load_box(to, &map_a, (first + step) * STEP, block_row, barrier);
    load_box(to + BOX_BYTES, &map_b, block_col, (first + step) * STEP, barrier);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < DEPTH; ++i) {
      barrier_init(full + i * 8, 1);       // who announces the bytes
      barrier_init(empty + i * 8, WARPS);  // one lane of every warp
    }
    publish_barriers();
    for (int step = 0; step < min(DEPTH, steps); ++step) fill(step);
    if (steps < DEPTH) arrive(full + steps * 8);  // nothing follows: completed without bytes
  }
  __syncthreads();  // the barriers are written before any other thread waits on them

  const int group = threadIdx.x / GROUP_SIZE, thread = threadIdx.x % GROUP_SIZE;
  const int warp = uniform(threadIdx.x / WARP_SIZE);
  const int swizzle = lane_row(thread % WARP_SIZE);  // of every row that this lane reads, the number modulo 8
  // A's four k from `quad` on, in a stage: the 16-byte pieces of a row are swizzled, so that they differ in bits 4 to 6.
  uint32_t a_at = stages + swizzle * 128 + (group * (GROUP_K / 4) ^ swizzle) * 16;
  uint32_t b_at = stages + BOX_BYTES + (group * GROUP_K * TILE + col_of(0, thread)) * 4;
  const uint32_t a_lane = a_at, b_lane = b_at;
  float acc[EDGE][EDGE] = {}, a[2][EDGE][4], b[2][EDGE];
  barrier_wait(full, 0);  // the first stage has landed before its fragments are read
#pragma unroll
  for (int i = 0; i < EDGE; ++i) load4_shared(a[0][i], a_at + i * 8 * 128);
#pragma unroll
  for (int j = 0; j < EDGE; j += 4) load4_shared(b[0] + j, b_at + j / 4 * 64);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int ahead = step - LAG + DEPTH;
    // Warps take turns at refilling, so that none of them, and no scheduler, carries all of it.
    if (step % WARPS == warp && step >= LAG && ahead <= steps) {
      const uint32_t slot = (step - LAG) % DEPTH;
      barrier_wait(empty + slot * 8, (step - LAG) / DEPTH % 2);  // all warps have read what is overwritten
      if (elected()) {
        if (ahead < steps) fill(ahead);
        else arrive(full + slot * 8);
      }
      __syncwarp();
    }
    const uint32_t next = (step + 1) % DEPTH;
    const uint32_t a_next = a_lane + next * sizeof(Stage), b_next = b_lane + next * sizeof(Stage);
    uint32_t a_second = a_at ^ 16, a_after = a_at ^ 32;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 1) barrier_wait(full + next * 8, (step + 1) / DEPTH % 2);  // its first fragments are read now
      const uint32_t b_after = pass == 0 ? b_at + PASS * TILE * 4 : b_next;
      multiply_pass(acc, a, b, a_second, a_after, b_at, b_after);
      a_second ^= 32;
      a_after = a_next;
      b_at = b_after;
    }
    a_at = a_next;
    warp_arrive(empty + step % DEPTH * 8);
  }

  __syncthreads();  // all threads are done with the last stage before sums overwrite it
  // Scaled here: a store of four takes aligned quads of registers. Accumulators that had to lie in quads, as B's fragments
  // do, would make every FFMA read one register bank twice.
#pragma unroll
  for (int i = 0; i < EDGE; ++i) {
#pragma unroll
    for (int j = 0; j < EDGE; j += 4) {
      s.sums[group][(i * EDGE + j) / 4][thread] =
          make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2], alpha * acc[i][j + 3]);
    }
  }
  __syncthreads();  // both groups' sums are there before any thread adds them up
  const auto store = [&](int quad, int of, float4 sum) {
    const int row = block_row + row_of(quad, of), col = block_col + col_of(quad, of);
    if (row >= m || col >= n) return;
    float4& to = as_float4(c + static_cast<size_t>(row) * ldc + col);
    if (beta != 0.0f) {  // else C is not read: it may hold NaN or nothing yet
      const float4 before = to;
      sum.x += beta * before.x, sum.y += beta * before.y, sum.z += beta * before.z, sum.w += beta * before.w;
    }
    to = sum;
  };
  const bool alone = blocks == 1 && clusters == 1;
#pragma unroll
  for (int i = 0; i < QUADS / GROUPS_K; ++i) {
    const int quad = group * (QUADS / GROUPS_K) + i;
    float4 sum = s.sums[0][quad][thread];
#pragma unroll
    for (int g = 1; g < GROUPS_K; ++g) add_quad(sum, s.sums[g][quad][thread]);
    if (alone) {
      store(quad, thread, sum);
    } else {
      s.sums[0][quad][thread] = sum;  // which this thread alone has read
    }
  }
  if (alone) return;

  // Every block adds up its share of the tile, over the cluster's blocks in their order.
  cluster_arrive();
  cluster_wait();  // all blocks' sums are there before any block reads another's
  const int share = TILE_QUADS / blocks;
  float4* mine = partial + (static_cast<size_t>(tile) * clusters + cluster) * TILE_QUADS;
  for (int i = threadIdx.x; i < share; i += BLOCK) {
    const int e = rank * share + i;
    const uint32_t at = shared_address(&s.sums[0][0][0] + e);
    float4 of[MOST_BLOCKS];  // all on their way before the first is added: ptxas's level 1 keeps this order
#pragma unroll
    for (uint32_t block = 0; block < MOST_BLOCKS; ++block) {
      if (block < blocks) of[block] = load_remote(at, block);
    }
    float4 sum = of[0];
#pragma unroll
    for (uint32_t block = 1; block < MOST_BLOCKS; ++block) {
      if (block < blocks) add_quad(sum, of[block]);
    }
    if (clusters == 1) {
      store(e / GROUP_SIZE, e % GROUP_SIZE, sum);
    } else {
      __stcg(mine + e, sum);
    }
  }
  cluster_arrive();  // no block ends, with its shared memory, while another still reads its sums; waited for at the end
  if (clusters > 1) {
    // The last cluster to come adds up what all have left, in the clusters' order: the same bits whoever is last.
    __threadfence();
    __syncthreads();  // all threads' sums are visible before thread 0 counts this block
    if (threadIdx.x == 0) {
      uint32_t* counter = &arrived[tile * blocks + rank];
      s.last = atomicAdd(counter, 1) == static_cast<uint32_t>(clusters - 1);
      if (s.last) *counter = 0;  // for the next launch
      __threadfence();
    }
    __syncthreads();  // thread 0 knows whether this cluster is the last before others ask
    if (s.last) {
      const float4* all = partial + static_cast<size_t>(tile) * clusters * TILE_QUADS;
      for (int i = threadIdx.x; i < share; i += BLOCK) {
        const int e = rank * share + i;
        float4 sum = __ldcg(all + e);
        for (int begin = 1; begin < clusters; begin += AT_ONCE) {
          float4 of[AT_ONCE];
#pragma unroll
          for (int i = 0; i < AT_ONCE; ++i) {
            if (begin + i < clusters) of[i] = __ldcg(all + static_cast<size_t>(begin + i) * TILE_QUADS + e);
          }
#pragma unroll
          for (int i = 0; i < AT_ONCE; ++i) {
            if (begin + i < clusters) add_quad(sum, of[i]);
          }
        }
        store(e / GROUP_SIZE, e % GROUP_SIZE, sum);
      }
    }
  }
  cluster_wait();
}
