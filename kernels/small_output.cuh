// C = alpha * A * B + beta * C, row-major, FP32 on CUDA cores, for a C with too few tiles to fill the GPU: two stages launch
// it.
//
// Changed:    from splitk's own kernel: the copy engine (TMA) brings the boxes, so no thread copies and no __syncthreads is
//             in the loop; A is read along k as it lies. Where there are fewer tiles than SMs, blocks of a cluster take a slice of
//             a tile's K each and send their sums into each other's shared memory; where a tile is to have more slices than
//             a cluster has blocks, a second kernel adds them up.
// Bottleneck: latency of the first boxes and of the sums' way; the FMA pipe once slices are long.
// Launch:     sgemm_small on (tiles along n, along m), 128 threads, and as much dynamic shared memory as lets two blocks, and
//             not three, share an SM. Or sgemm_small_split on (blocks of a cluster * slices, tiles along m, along n), 256 threads,
//             a block an SM; then, with several slices, add_slices with a thread for every four elements of C and
//             every y-th slice, blocks of (256 / y, y). It is launched early, and waits inside.
// Assumes:    bases and rows of A, B, C are 16-byte aligned, n is a multiple of 4, k > 0. A cluster has a power of two of
//             blocks, 8 at most.
//
// Its sizes are not those of stages.toml, which belong to the stage that includes it.
#pragma once

#include "cluster.cuh"

namespace small_output {

constexpr int TILE = 64, GROUP_K = 16;            // rows and columns of C of a block, k of a stage that a group takes
constexpr int EDGE = 8, QUADS = EDGE * EDGE / 4;  // a thread sums EDGE x EDGE elements of C, four neighbours a quad
constexpr int GROUP_SIZE = (TILE / EDGE) * (TILE / EDGE);  // threads: two warps
constexpr int TILE_QUADS = TILE * TILE / 4;
constexpr int DEPTH = 4, LAG = 2;  // stages; one is refilled LAG steps after it was read, so that nobody waits
constexpr int PASS = 8;            // k that are unrolled: two quads of A's, one a buffer. Given more, ptxas gives up reuse
constexpr int BOX_K = 32;          // of A: a row of its box is one row of the 128-byte swizzle
constexpr uint32_t BOX_BYTES = TILE * BOX_K * 4;
static_assert(GROUP_K == 2 * PASS && BOX_K == 2 * GROUP_K, "two groups share a box, and two buffers alternate");

/// What depends on the groups of two warps that take a stage's k in parts.
template <int GROUPS_K>
struct Sizes {
  static constexpr int BLOCK = GROUPS_K * GROUP_SIZE, WARPS = BLOCK / WARP_SIZE;
  static constexpr int STEP = GROUPS_K * GROUP_K, BOXES = STEP / BOX_K;  // k that a stage holds, boxes of A for them
  static constexpr uint32_t STAGE_BYTES = 2 * BOXES * BOX_BYTES;
  static_assert(QUADS % GROUPS_K == 0, "every group stores as much of the tile");
};

template <int GROUPS_K>
struct Shared {
  union {
    // Boxes of A: TILE rows of 128 bytes, their 16-byte pieces swizzled. Then B's one box: STEP rows of TILE.
    unsigned char stage[DEPTH][Sizes<GROUPS_K>::STAGE_BYTES];
    float4 sums[GROUPS_K][TILE_QUADS];
  };
  float4 received[TILE_QUADS];  // sums of this block's part of the tile, by the block of the cluster that sent them
  uint64_t full[DEPTH], empty[DEPTH], counted;
};

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

/// The product of a k before which halves of A's and B's fragments are loaded. Of 150 places and orders of products tried, these
/// make ptxas read a register bank twice most seldom: 1.18 modelled cycles a product, 1.21 in plain order.
__device__ __forceinline__ constexpr int a_before(int half) { return half == 0 ? 0 : 23; }
__device__ __forceinline__ constexpr int b_before(int half) { return half == 0 ? 37 : 56; }

/// The products of PASS k, whose first fragments are there. Loaded ahead: B's of the next k, and A's of the next four k two
/// rows at a time between products; the last are the first of what follows, at `a_next` and `b_next`.
__device__ __forceinline__ void multiply_pass(float (&acc)[EDGE][EDGE], float (&a)[2][EDGE][4], float (&b)[2][EDGE],
                                              uint32_t a_second, uint32_t a_next, uint32_t b_at, uint32_t b_next) {
#pragma unroll
  for (int p = 0; p < PASS; ++p) {
    const uint32_t b_from = p + 1 < PASS ? b_at + (p + 1) * (TILE * 4) : b_next;
    const uint32_t a_from = p < PASS / 2 ? a_second : a_next;
#pragma unroll
    for (int product = 0; product < EDGE * EDGE; ++product) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = p % 4 * 2 + half;
        if (product == a_before(half)) load4_shared(a[(p / 4 + 1) % 2][row], a_from + row * 8 * 128);
        if (product == b_before(half)) load4_shared(b[(p + 1) % 2] + half * 4, b_from + half * 64);
      }
      // Row by row, even columns and then odd ones, to and fro: the operand at the turn is shared.
      const int i = product / EDGE, turn = i % 2 ? EDGE - 1 - product % EDGE : product % EDGE;
      const int j = turn % 4 * 2 + turn / 4;
      acc[i][j] += a[p / 4 % 2][i][p % 4] * b[p % 2][j];
    }
  }
}

/// Where four sums of a tile go: to C, or to the sums of this slice.
struct Target {
  float* c;
  int m, n, ldc, row, col;  // of the tile
  float beta;
  float4* slice;  // [quad of a thread][thread] of this tile; null: C
};

__device__ __forceinline__ void store(const Target& to, int place, float4 sum) {
  if (to.slice != nullptr) {
    __stcg(to.slice + place, sum);
    return;
  }
  const int row = to.row + row_of(place / GROUP_SIZE, place % GROUP_SIZE);
  const int col = to.col + col_of(place / GROUP_SIZE, place % GROUP_SIZE);
  if (row >= to.m || col >= to.n) return;
  float4& at = as_float4(to.c + static_cast<size_t>(row) * to.ldc + col);
  if (to.beta != 0.0f) {  // else C is not read: it may hold NaN or nothing yet
    const float4 before = at;
    sum.x += to.beta * before.x, sum.y += to.beta * before.y, sum.z += to.beta * before.z, sum.w += to.beta * before.w;
  }
  at = sum;
}

/// The sums of this thread over all k of `steps` stages from the k of `first` on. A block of several in a cluster arrives at
/// their barrier when they may send it their sums.
template <int GROUPS_K>
__device__ __forceinline__ void multiply(float (&acc)[EDGE][EDGE], Shared<GROUPS_K>& s, const CUtensorMap* map_a,
                                         const CUtensorMap* map_b, int row, int col, int first, int steps, int blocks) {
  using Size = Sizes<GROUPS_K>;
  const uint32_t stages = shared_address(s.stage), full = shared_address(s.full), empty = shared_address(s.empty);
  const auto fill = [&](int step) {
    const uint32_t slot = step % DEPTH, barrier = full + slot * 8, to = stages + slot * Size::STAGE_BYTES;
    const int at_k = first + step * Size::STEP;
    expect_bytes(barrier, Size::STAGE_BYTES);
#pragma unroll
    for (int box = 0; box < Size::BOXES; ++box) load_box(to + box * BOX_BYTES, map_a, at_k + box * BOX_K, row, barrier);
    load_box(to + Size::BOXES * BOX_BYTES, map_b, col, at_k, barrier);
  };
  if (threadIdx.x == 0) {
    prefetch_map(map_a);
    prefetch_map(map_b);
    for (int i = 0; i < DEPTH; ++i) {
      barrier_init(full + i * 8, 1);             // who announces the bytes
      barrier_init(empty + i * 8, Size::WARPS);  // one lane of every warp
    }
    barrier_init(shared_address(&s.counted), 1);
    publish_barriers();
    for (int step = 0; step < min(DEPTH, steps); ++step) fill(step);
    if (steps < DEPTH) arrive(full + steps * 8);  // nothing follows: completed without bytes
    if (blocks > 1) expect_bytes(shared_address(&s.counted), sizeof(s.received));
  }
  __syncthreads();  // the barriers are written before any other thread waits on them
  if (blocks > 1) cluster_arrive_relaxed();

  const int group = threadIdx.x / GROUP_SIZE, thread = threadIdx.x % GROUP_SIZE;
  const int warp = uniform(threadIdx.x / WARP_SIZE);
  const int swizzle = lane_row(thread % WARP_SIZE);  // of every row that this lane reads, the number modulo 8
  // Swizzled, a row's 16-byte pieces (four k) differ in bits 4 to 6 of their addresses: the next is at `^ 16`, then `^ 32`.
  uint32_t a_at = stages + group / 2 * BOX_BYTES + swizzle * 128 + (group % 2 * (GROUP_K / 4) ^ swizzle) * 16;
  uint32_t b_at = stages + Size::BOXES * BOX_BYTES + (group * GROUP_K * TILE + col_of(0, thread)) * 4;
  const uint32_t a_lane = a_at, b_lane = b_at;
  float a[2][EDGE][4], b[2][EDGE];
  barrier_wait(full, 0);  // the first stage has landed before its fragments are read
#pragma unroll
  for (int i = 0; i < EDGE; ++i) load4_shared(a[0][i], a_at + i * 8 * 128);
#pragma unroll
  for (int j = 0; j < EDGE; j += 4) load4_shared(b[0] + j, b_at + j / 4 * 64);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int ahead = step - LAG + DEPTH;
    // Warps take turns at refilling, so that none of them, and no scheduler, carries all of it.
    if (step % Size::WARPS == warp && step >= LAG && ahead <= steps) {
      const uint32_t slot = (step - LAG) % DEPTH;
      barrier_wait(empty + slot * 8, (step - LAG) / DEPTH % 2);  // all warps have read what is overwritten
      if (elected()) {
        if (ahead < steps) {
          fill(ahead);
        } else {
          arrive(full + slot * 8);
        }
      }
      __syncwarp();  // the elected lane is back before the warp goes on together
    }
    const uint32_t next = (step + 1) % DEPTH;
    const uint32_t a_next = a_lane + next * Size::STAGE_BYTES, b_next = b_lane + next * Size::STAGE_BYTES;
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
}

/// A part of a tile: `slice_steps` stages of k; the last part may have fewer, or none.
template <int GROUPS_K>
__device__ __forceinline__ void part_of_tile(const CUtensorMap* map_a, const CUtensorMap* map_b, const Target& to, int k,
                                             float alpha, int part, int slice_steps, int blocks) {
  using Size = Sizes<GROUPS_K>;
  Shared<GROUPS_K>& s = dynamic_shared<Shared<GROUPS_K>>();
  const int first = part * slice_steps;
  const int steps = max(0, min(slice_steps, ceil_div(k, Size::STEP) - first));
  float acc[EDGE][EDGE] = {};
  multiply(acc, s, map_a, map_b, to.row, to.col, first * Size::STEP, steps, blocks);

  __syncthreads();  // all threads are done with the last stage before sums overwrite it
  // Scaled here: a store of four takes aligned quads of registers. Accumulators that had to lie in quads, as B's fragments
  // do, would make every FFMA read one register bank twice.
  const int group = threadIdx.x / GROUP_SIZE, thread = threadIdx.x % GROUP_SIZE;
#pragma unroll
  for (int i = 0; i < EDGE; ++i) {
#pragma unroll
    for (int j = 0; j < EDGE; j += 4) {
      s.sums[group][(i * EDGE + j) / 4 * GROUP_SIZE + thread] =
          make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2], alpha * acc[i][j + 3]);
    }
  }
  __syncthreads();  // all groups' sums are there before any thread adds them up
  constexpr int PLACES = QUADS / GROUPS_K;  // of the tile, for a thread to add up
  float4 sum[PLACES];
#pragma unroll
  for (int i = 0; i < PLACES; ++i) sum[i] = s.sums[0][i * Size::BLOCK + threadIdx.x];
#pragma unroll
  for (int g = 1; g < GROUPS_K; ++g) {
#pragma unroll
    for (int i = 0; i < PLACES; ++i) add_quad(sum[i], s.sums[g][i * Size::BLOCK + threadIdx.x]);
  }
  if (blocks == 1) {
#pragma unroll
    for (int i = 0; i < PLACES; ++i) store(to, i * Size::BLOCK + threadIdx.x, sum[i]);
    return;
  }
  // Each block of the cluster adds up an equal part of the tile's places; both numbers are powers of two.
  const int share_bits = __ffs(TILE_QUADS) - __ffs(blocks), share = 1 << share_bits, rank = part & (blocks - 1);
  const uint32_t counted = shared_address(&s.counted);
  cluster_wait();  // all blocks of the cluster run, and await the others' sums, before any are sent
#pragma unroll
  for (int i = 0; i < PLACES; ++i) {
    const int place = i * Size::BLOCK + threadIdx.x;
    send_quad(shared_address(s.received + rank * share + (place & (share - 1))), counted, place >> share_bits, &sum[i].x);
  }
  wait_for_sums(counted);
  for (int i = threadIdx.x; i < share; i += Size::BLOCK) {  // in the order of the blocks: the same bits every time
    float4 total = s.received[i];
    for (int block = 1; block < blocks; ++block) add_quad(total, s.received[block * share + i]);
    store(to, rank * share + i, total);
  }
}

}  // namespace small_output

/// A tile a block, all of K.
extern "C" __global__ void __launch_bounds__(small_output::Sizes<2>::BLOCK, 2)
    sgemm_small(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                float* __restrict__ c, int m, int n, int k, int ldc, float alpha, float beta) {
  using namespace small_output;
  const Target to{c, m, n, ldc, static_cast<int>(blockIdx.y) * TILE, static_cast<int>(blockIdx.x) * TILE, beta, nullptr};
  part_of_tile<2>(&map_a, &map_b, to, k, alpha, 0, ceil_div(k, Sizes<2>::STEP), 1);
}

/// A tile a cluster, and as many as there are slices.
extern "C" __global__ void __launch_bounds__(small_output::Sizes<4>::BLOCK, 1)
    sgemm_small_split(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                       float* __restrict__ c, int m, int n, int k, int ldc, float alpha, float beta,
                       int blocks,                      // of a cluster
                       int slice_steps,                 // stages of k of a block
                       float4* __restrict__ partial) {  // [slice][tile][quad][thread] where there are several slices
  using namespace small_output;
  allow_next_kernel();
  const int part = blockIdx.x, slice = part >> (__ffs(blocks) - 1);
  const size_t tile = static_cast<size_t>(slice * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z;
  const Target to{c, m, n, ldc, static_cast<int>(blockIdx.y) * TILE, static_cast<int>(blockIdx.z) * TILE, beta,
                  static_cast<int>(gridDim.x) == blocks ? nullptr : partial + tile * TILE_QUADS};
  part_of_tile<4>(&map_a, &map_b, to, k, alpha, part, slice_steps, blocks);
}

constexpr int ADD_THREADS = 256, AT_ONCE = 8;  // slices that a thread asks for together

/// The sums of all slices, and the epilogue. Of a block's threads those of equal x share four elements of C: thread y adds up
/// slices y, y + blockDim.y, …, and the first of them what the others found.
extern "C" __global__ void __launch_bounds__(ADD_THREADS)
    add_slices(float* __restrict__ c, int m, int n, int ldc, float beta, int slices,
               int quads,  // of all tiles: those of a slice
               const float4* __restrict__ partial) {
  using namespace small_output;
  __shared__ float4 sums[ADD_THREADS];
  wait_for_kernel_before();  // all slices are there before any is read
  const int quad = blockIdx.x * blockDim.x + threadIdx.x;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const int rows = blockDim.y;
  for (int begin = threadIdx.y; quad < quads && begin < slices; begin += AT_ONCE * rows) {
    float4 of[AT_ONCE];  // all on their way before the first is added: ptxas's level 1 keeps this order
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
      const int slice = begin + i * rows;
      if (slice < slices) of[i] = __ldcg(partial + static_cast<size_t>(slice) * quads + quad);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
      if (begin + i * rows < slices) add_quad(sum, of[i]);
    }
  }
  sums[threadIdx.y * blockDim.x + threadIdx.x] = sum;
  __syncthreads();  // all threads' sums are there before the first row adds them up
  if (threadIdx.y > 0 || quad >= quads) return;
  for (int y = 1; y < static_cast<int>(blockDim.y); ++y) add_quad(sum, sums[y * blockDim.x + threadIdx.x]);
  const int tile = quad / TILE_QUADS, tiles_n = ceil_div(n, TILE);
  const Target to{c, m, n, ldc, tile / tiles_n * TILE, tile % tiles_n * TILE, beta, nullptr};
  store(to, quad % TILE_QUADS, sum);
}
