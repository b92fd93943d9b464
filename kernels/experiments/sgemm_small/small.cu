// Operation: C = alpha * A * B in FP32 on CUDA cores, all row-major, for outputs with too few tiles of 128 x 128 to fill a GPU.
// From the ladder's `splitk`: boxes by the copy engine (TMA) in place of cp.async, so that no thread copies and no
//   __syncthreads is in the loop; A is read along k as it lies, not transposed 4 bytes at a time; and the slices of a tile's
//   K are a cluster, whose blocks add their sums up in each other's shared memory: no second kernel and, with one cluster a
//   tile, no workspace.
// Expected bottleneck: latency of the first boxes and of the sums' way; the FMA pipe once slices are long.
// Launch: one-dimensional, clusters of as many blocks as share a tile (1 … 8), 64 threads a group, two blocks per SM.
// Assumes: n % 4 == 0, k % 4 == 0, bases 16-byte aligned (TMA); any m. TMA zero-fills the edges. `counters` is zero, and is
//   left so.
//
// Macros: STAGES, GROUPS (that share a stage's rows of K: each costs 64 threads, and two of them leave 255 registers),
//   AHEAD (1: fragments are loaded a step before they are used).
#include <cuda.h>
#include <stdint.h>

#ifndef STAGES
#define STAGES 4
#endif
#ifndef GROUPS
#define GROUPS 2
#endif
#ifndef AHEAD
#define AHEAD 0
#endif

constexpr int BM = 64, BN = 64, BK = 32, TM = 8, TN = 8;
constexpr int GROUP_THREADS = (BM / TM) * (BN / TN), THREADS = GROUPS * GROUP_THREADS, WARPS = THREADS / 32;
constexpr int GROUP_K = BK / GROUPS;  // rows of a stage's tiles that each group takes
constexpr int QUADS = TM * TN / 4, SHARE = QUADS / GROUPS, TILE_QUADS = BM * BN / 4;
constexpr int RASTER_ROWS = 8;
constexpr uint32_t A_BYTES = BM * BK * 4, B_BYTES = BK * BN * 4, STAGE_BYTES = A_BYTES + B_BYTES;
static_assert(STAGES >= 3 && STAGES * STAGE_BYTES >= GROUPS * BM * BN * 4, "a stage is refilled two steps on; sums fit in");
static_assert(BK * 4 == 128, "a row of A is one row of the 128-byte swizzle");

struct Shared {
  union {
    struct {
      unsigned char a[A_BYTES];  // BM rows of 128 bytes, swizzled
      unsigned char b[B_BYTES];  // BK rows of BN
    } stage[STAGES];
    float4 sums[GROUPS][QUADS][GROUP_THREADS];  // the first group's become those of all
  };
  uint64_t full[STAGES], empty[STAGES];
  uint32_t last;
};
static_assert(2 * (sizeof(Shared) + 1024 + 1024) <= 228 * 1024, "two blocks per SM, the base aligned to 1 KiB by hand");

__device__ __forceinline__ uint32_t smem(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void barrier_init(uint32_t bar, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra WAIT;\n"
      "}\n" ::"r"(bar), "r"(parity) : "memory");
}

__device__ __forceinline__ void load_box(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

__device__ __forceinline__ float4 load_from(uint32_t address, uint32_t block) {
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

__device__ __forceinline__ void add(float4& to, const float4& more) {
  to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
}

// Lanes: 8 rows by 4 columns, in the order of `warptiled`: LDS.128 serves half a warp at once only where lanes that differ in
// bit 0 alone, or in bit 1 alone, read the same 16 bytes.
__device__ __forceinline__ int lane_row(int lane) { return (lane >> 1 & 1) | (lane >> 2 & 6); }
__device__ __forceinline__ int lane_col(int lane) { return (lane & 1) | (lane >> 1 & 2); }

// Row and column within the tile of a quad of a thread of a group. Rows of a lane are 8 apart,
// so that the eight rows that are read at once lie in different banks.
__device__ __forceinline__ int row_of(int quad, int thread) { return quad / (TN / 4) * 8 + lane_row(thread % 32); }
__device__ __forceinline__ int col_of(int quad, int thread) {
  return thread / 32 * 32 + quad % (TN / 4) * 16 + lane_col(thread % 32) * 4;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    sgemm_small(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* __restrict__ c,
                int m, int n, int k, float alpha,
                int slice_steps,               // steps of BK of a block
                int clusters,                  // that share a tile, each a cluster's blocks' slices of K
                float4* __restrict__ partial,  // [tile][cluster][quad][thread], where several clusters share a tile
                uint32_t* __restrict__ counters) {  // [tile][block of a cluster]
  extern __shared__ unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw + ((1024 - (smem(raw) & 1023)) & 1023));
  uint32_t rank, blocks;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  const int cluster = blockIdx.x / blocks % clusters, tile = blockIdx.x / blocks / clusters;
  const int rows_all = (m + BM - 1) / BM, per_group = RASTER_ROWS * ((n + BN - 1) / BN);
  const int first_row = tile / per_group * RASTER_ROWS, rows = min(RASTER_ROWS, rows_all - first_row);
  const int block_row = (first_row + tile % per_group % rows) * BM, block_col = tile % per_group / rows * BN;
  const int first = (cluster * static_cast<int>(blocks) + static_cast<int>(rank)) * slice_steps;
  const int steps = max(0, min(slice_steps, (k + BK - 1) / BK - first));

  const auto fill = [&](int step) {
    const int slot = step % STAGES;
    const uint32_t bar = smem(&s.full[slot]);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(STAGE_BYTES) : "memory");
    load_box(smem(s.stage[slot].a), &map_a, (first + step) * BK, block_row, bar);
    load_box(smem(s.stage[slot].b), &map_b, block_col, (first + step) * BK, bar);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(smem(&s.full[i]), 1);
      barrier_init(smem(&s.empty[i]), WARPS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int step = 0; step < min(STAGES, steps); ++step) fill(step);
  }
  __syncthreads();  // protects: barriers are initialised before any other thread waits on them

  const int group = threadIdx.x / GROUP_THREADS, thread = threadIdx.x % GROUP_THREADS, lane = thread % 32;
  const int swizzle = lane_row(lane);  // of every row this lane reads, the number modulo 8
  float acc[TM][TN] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int slot = step % STAGES;
    // The stage of two steps before is refilled: by then the slowest warp has read it, and warp 0 need not wait.
    if (threadIdx.x == 0 && step > 1 && step - 2 + STAGES < steps) {
      barrier_wait(smem(&s.empty[(step - 2) % STAGES]), (step - 2) / STAGES % 2);
      fill(step - 2 + STAGES);
    }
    __syncwarp();
    barrier_wait(smem(&s.full[slot]), step / STAGES % 2);
    const unsigned char* a_rows = s.stage[slot].a + swizzle * 128;
    const unsigned char* b_rows = s.stage[slot].b + (group * GROUP_K * BN + col_of(0, thread)) * 4;
    const auto load_a = [&](float4& to, int i, int p) {  // row i, four k
      to = *reinterpret_cast<const float4*>(a_rows + i * 8 * 128 + ((group * (GROUP_K / 4) + p / 4) ^ swizzle) * 16);
    };
    const auto load_b = [&](float4(&to)[TN / 4], int p) {
#pragma unroll
      for (int j = 0; j < TN / 4; ++j) to[j] = *reinterpret_cast<const float4*>(b_rows + p * (BN * 4) + j * 64);
    };
    float4 a[1 + AHEAD][TM], b[1 + AHEAD][TN / 4];
    if (AHEAD) {
#pragma unroll
      for (int i = 0; i < TM; ++i) load_a(a[0][i], i, 0);
      load_b(b[0], 0);
    }
#pragma unroll
    for (int p = 0; p < GROUP_K; ++p) {
      if (AHEAD && p + 1 < GROUP_K) load_b(b[(p + 1) % (1 + AHEAD)], p + 1);
      if (!AHEAD) load_b(b[0], p);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        if (AHEAD && i % 4 == 0 && p / 4 * 4 + 4 < GROUP_K)  // two rows of the next four k, between products
          load_a(a[(p / 4 + 1) % (1 + AHEAD)][p % 4 * 2 + i / 4], p % 4 * 2 + i / 4, p / 4 * 4 + 4);
        if (!AHEAD && p % 4 == 0) load_a(a[0][i], i, p);
        const float4 row = a[p / 4 % (1 + AHEAD)][i];
        const float left = p % 4 == 0 ? row.x : p % 4 == 1 ? row.y : p % 4 == 2 ? row.z : row.w;
#pragma unroll
        for (int x = 0; x < TN; ++x) {
          const int j = i % 2 ? TN - 1 - x : x;  // to and fro: the turning points share a register with the FFMA before
          const float4 four = b[p % (1 + AHEAD)][j / 4];
          acc[i][j] += left * (j % 4 == 0 ? four.x : j % 4 == 1 ? four.y : j % 4 == 2 ? four.z : four.w);
        }
      }
    }
    __syncwarp();  // all lanes have read the stage before lane 0 gives it back
    if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(&s.empty[slot])) : "memory");
  }

  __syncthreads();  // protects: all threads are done with the last stage before sums overwrite it
  // Scaled here, so that not the accumulators themselves are what a store of four takes in aligned quads of registers:
  // lying as B's fragments do, they would make every FFMA read one register bank twice.
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      s.sums[group][(i * TN + j) / 4][thread] =
          make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2], alpha * acc[i][j + 3]);
    }
  }
  __syncthreads();  // protects: all groups' sums are there before any thread adds them up
  const auto store = [&](int quad, int of, const float4& sum) {
    const int row = block_row + row_of(quad, of), col = block_col + col_of(quad, of);
    if (row < m && col < n) *reinterpret_cast<float4*>(c + static_cast<size_t>(row) * n + col) = sum;
  };
#pragma unroll
  for (int i = 0; i < SHARE; ++i) {
    const int quad = group * SHARE + i;
    float4 sum = s.sums[0][quad][thread];
#pragma unroll
    for (int g = 1; g < GROUPS; ++g) add(sum, s.sums[g][quad][thread]);
    if (blocks == 1 && clusters == 1)
      store(quad, thread, sum);
    else
      s.sums[0][quad][thread] = sum;  // read by this thread alone
  }
  if (blocks == 1 && clusters == 1) return;

  // Every block adds up its share of the tile, over the cluster's blocks in their order.
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  const int share = TILE_QUADS / blocks;  // blocks: a power of two
  float4* mine = partial + (static_cast<size_t>(tile) * clusters + cluster) * TILE_QUADS;
  for (int i = threadIdx.x; i < share; i += THREADS) {
    const int e = rank * share + i;
    const uint32_t at = smem(&s.sums[0][0][0] + e);
    float4 sum = load_from(at, 0);
#pragma unroll 8
    for (uint32_t block = 1; block < blocks; ++block) add(sum, load_from(at, block));
    if (clusters == 1)
      store(e / GROUP_THREADS, e % GROUP_THREADS, sum);
    else
      __stcg(mine + e, sum);
  }
  // protects: no block ends, with its shared memory, while another still reads its sums; waited for at the end
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  if (clusters > 1) {
    // The last cluster to come adds all clusters' shares up, in the clusters' order: the same bits whoever is last.
    __threadfence();
    __syncthreads();  // protects: all threads' shares are visible before thread 0 counts this block
    if (threadIdx.x == 0) {
      uint32_t* counter = counters + tile * blocks + rank;
      s.last = atomicAdd(counter, 1) == static_cast<uint32_t>(clusters - 1);
      if (s.last) *counter = 0;  // for the next launch
      __threadfence();
    }
    __syncthreads();  // protects: thread 0 knows whether this is the last cluster before others ask
    if (s.last) {
      const float4* all = partial + static_cast<size_t>(tile) * clusters * TILE_QUADS;
      for (int i = threadIdx.x; i < share; i += THREADS) {
        const int e = rank * share + i;
        float4 sum = __ldcg(all + e);
#pragma unroll 8
        for (int other = 1; other < clusters; ++other) add(sum, __ldcg(all + static_cast<size_t>(other) * TILE_QUADS + e));
        store(e / GROUP_THREADS, e % GROUP_THREADS, sum);
      }
    }
  }
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
