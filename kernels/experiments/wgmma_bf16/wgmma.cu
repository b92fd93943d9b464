// Operation: C = A * B, BF16 inputs, FP32 accumulation, all row-major; C in BF16.
// From the ladder's `mma-sync`: the copy engine fills swizzled tiles, wgmma reads both operands from shared memory,
//   one warpgroup feeds two that multiply, the grid is persistent, and a pair of blocks shares B's tile.
// Expected bottleneck: the tensor pipe (sm__inst_executed_pipe_tensor_op_hmma), then power (700 W) and with it the clock.
// Launch: 384 threads, one block per SM, clusters of 1 or 2 blocks; STAGES x 48 KiB and the staging of C.
// Assumes: n % 8 == 0, k % 8 == 0, bases 16-byte aligned (TMA); any m >= 1. TMA zero-fills the edges. No more
//   clusters than tiles.
//
// A warpgroup multiplies 64 rows of A (128 a block) by 256 columns of B, which wgmma streams through the tensor cores.
//
// Macros: STAGES, CLUSTER, GROUP (cluster rows per raster group), LATE (a tile's sums are rounded to BF16 in
//   registers and stored a chunk at a time under the first products of the next tile), STAGGER (the second warpgroup
//   starts a K step behind the first, so that one rounds while the other multiplies).
#include <cuda.h>
#include <cuda_bf16.h>
#include <stdint.h>

#ifndef STAGES
#define STAGES 4
#endif
#ifndef CLUSTER
#define CLUSTER 2
#endif
#ifndef GROUP
#define GROUP 8
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef STAGGER
#define STAGGER 0
#endif

constexpr int BM = 128, BN = 256, BK = 64, CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1);
constexpr int BOX_B = 64 * BK * 2;  // a box of B is 64 columns of BK rows; one of A BM rows of BK
constexpr int A_BYTES = BM * BK * 2, STAGE_BYTES = A_BYTES + BN * BK * 2;
constexpr int C_COLUMNS = 64;  // of a staged chunk: 128 bytes, one swizzle row
constexpr int CHUNKS = BN / C_COLUMNS;
constexpr int STAGING = 2;  // chunks under way per warpgroup
constexpr int WORDS = 64;   // registers that hold a thread's part of C, two neighbours in each
static_assert(CLUSTER == 1 || CLUSTER == 2, "each block of a pair loads half of what they share");
static_assert(BM == 64 * CONSUMERS, "64 rows of A per warpgroup");
static_assert(LATE || !STAGGER, "the first warpgroup lets the second go between the chunks of its first tile");

struct Shared {
  alignas(1024) unsigned char stage[STAGES][STAGE_BYTES];  // a box of A, then those of B
  alignas(1024) unsigned char staging[CONSUMERS][STAGING][8192];
  alignas(8) uint64_t full[STAGES], empty[STAGES];
};
static_assert(sizeof(Shared) + 1024 <= 232448, "227 KiB, the base aligned to 1 KiB by hand");

__device__ __forceinline__ uint32_t smem(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void barrier_init(uint32_t bar, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}

// Waits and arrivals at cluster scope are spelled without .acquire.cluster and .release.cluster: nothing that they order
// was written by ordinary stores (the copy engine fills a stage, wgmma.wait_group ends its reads), and those make every
// K step pay a GPU-wide MEMBAR and a CCTL.IVALL: measured 553 TFLOP/s at 4096.
__device__ __forceinline__ void barrier_wait(uint32_t bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra WAIT;\n"
      "}\n" ::"r"(bar), "r"(parity) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t bar, uint32_t block) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(bar), "r"(block) : "memory");
}

__device__ __forceinline__ void load_box(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

// Into the same place of both blocks of the pair, counted on each one's own barrier.
__device__ __forceinline__ void load_box_to_both(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar), "h"(static_cast<uint16_t>(3))
      : "memory");
}

// Shared-memory matrix descriptor, 128-byte swizzle. A lies K-major: `stride` between groups of 8 rows, `leading` unused.
// B lies N-major: `leading` between boxes of 64 columns, `stride` between groups of 8 k.
__device__ __forceinline__ uint64_t descriptor(uint32_t addr, uint32_t leading, uint32_t stride) {
  return static_cast<uint64_t>((addr & 0x3FFFF) >> 4) | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// D = A * B or D += A * B: 64 x 256 x 16 by a warpgroup; A lies along k, B along n.
__device__ __forceinline__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, "
      "%72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, "
      "%88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, "
      "%104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, "
      "%120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, p, 1, 1, 0, 1;\n"
      "}\n"
      :
      "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]),
      "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
      "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
      "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
      "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
      "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
      "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]),
      "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
      "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
      "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]),
      "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
      "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]),
      "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
      "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
      "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]),
      "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
      "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]),
      "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
      "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]),
      "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
      "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
      "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
      "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]),
      "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(accumulate));
}

// Row and column tile of the t-th tile of a pair of blocks: groups of GROUP cluster rows, walked column by column (L2 reuse).
__device__ __forceinline__ void raster(int t, int rows_all, int cols_all, int& row, int& col) {
  const int per_group = GROUP * cols_all;
  const int first = t / per_group * GROUP;
  const int rows = min(GROUP, rows_all - first);
  const int within = t % per_group;
  row = first + within % rows;
  col = within / rows;
}

__device__ __forceinline__ void group_sync(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

__device__ __forceinline__ void round_sums(const float (&d)[128], uint32_t (&words)[WORDS]) {
#pragma unroll
  for (int i = 0; i < WORDS; ++i)
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(d[2 * i + 1]), "f"(d[2 * i]));
}

// This warp's part of a chunk of C, into rows of 128 bytes whose 16-byte units are swizzled by the row.
__device__ __forceinline__ void stage_chunk(const uint32_t (&words)[WORDS], int chunk, uint32_t out, int warp, int lane) {
  const int y = warp * 16 + lane % 16;
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {  // four 8x8 matrices: rows low and high of 8 columns, then of the next 8
    const uint32_t* r = words + (chunk * 4 + pair) * 4;
    const uint32_t to = out + y * 128 + (((pair * 2 + lane / 16) ^ (y & 7)) << 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
  }
}

// A chunk of this warpgroup's 64 rows of C, from registers by way of shared memory to the copy engine.
__device__ __forceinline__ void store_chunk(const uint32_t (&words)[WORDS], int chunk, uint32_t staging, const CUtensorMap* map,
                                            int row, int col, int group, int tid) {
  const uint32_t out = staging + chunk % STAGING * 8192;
  if (tid == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGING - 1) : "memory");
  group_sync(group);  // protects: the store that used this buffer has read it, before anyone overwrites it
  stage_chunk(words, chunk, out, tid / 32, tid % 32);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // our stores, before the copy engine reads them
  group_sync(group);                                            // protects: the chunk is whole before its store is issued
  if (tid == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(col + chunk * C_COLUMNS), "r"(row), "r"(out)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wgmma_gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  extern __shared__ unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw + ((1024 - (smem(raw) & 1023)) & 1023));
  const int rank = blockIdx.x % CLUSTER, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
  const int rows_all = (m + BM * CLUSTER - 1) / (BM * CLUSTER), cols_all = (n + BN - 1) / BN;
  const int tiles = rows_all * cols_all, steps = (k + BK - 1) / BK;

  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&map_a, &map_b}) asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(smem(&s.full[i]), 1);                     // this block's producer, which announces the bytes
      barrier_init(smem(&s.empty[i]), CONSUMERS * CLUSTER);  // every consuming warpgroup that reads what we load
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // protects: barriers are initialised in every block of the cluster before another's copies or arrivals reach them
  if (CLUSTER > 1)
    cluster_sync();
  else
    __syncthreads();

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      uint32_t slot = 0, parity = 1;  // a fresh barrier counts as completed for parity 1
      for (int tile = cluster; tile < tiles; tile += clusters) {
        int row, col;
        raster(tile, rows_all, cols_all, row, col);
        row = (row * CLUSTER + rank) * BM;
        col *= BN;
        for (int at = 0; at < k; at += BK) {
          const uint32_t bar = smem(&s.full[slot]), to = smem(s.stage[slot]);
          barrier_wait(smem(&s.empty[slot]), parity);
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(STAGE_BYTES) : "memory");
          load_box(to, &map_a, at, row, bar);
          constexpr int SHARE = BN / 64 / CLUSTER;
#pragma unroll
          for (int i = 0; i < SHARE; ++i) {
            const int box = rank * SHARE + i;
            const auto load = CLUSTER > 1 ? load_box_to_both : load_box;
            load(to + A_BYTES + box * BOX_B, &map_b, col + box * 64, at, bar);
          }
          if (++slot == STAGES) slot = 0, parity ^= 1;
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    // Through a shuffle, so that the compiler knows it is the same in a warp and keeps descriptors in uniform registers.
    const int group = __shfl_sync(0xFFFFFFFF, threadIdx.x / 128, 0) - 1;
    const int tid = threadIdx.x % 128;
    const auto release = [&](uint32_t which) {  // one lane for each block that loads for us
      if (tid < CLUSTER) barrier_arrive(smem(&s.empty[which]), rank ^ tid);
    };
    // Of stage 0; the address field counts 16 bytes, and no stage reaches beyond its 14 bits.
    const uint64_t a0 = descriptor(smem(s.stage[0]) + group * 8192, 16, 1024);
    const uint64_t b0 = descriptor(smem(s.stage[0]) + A_BYTES, BOX_B, 1024);
    const uint32_t staging = smem(s.staging[group][0]);
    float d[128];
    uint32_t words[WORDS];
    uint32_t slot = 0, parity = 0;
    int row_of_c = 0, col_of_c = 0;  // of the tile that `words` holds

    // A K step in two halves: between them its products run, and so do those of the step before.
    const auto begin_step = [&](bool first) {
      barrier_wait(smem(&s.full[slot]), parity);
      const uint64_t a = a0 + slot * (STAGE_BYTES / 16), b = b0 + slot * (STAGE_BYTES / 16);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int kk = 0; kk < BK / 16; ++kk) wgmma(d, a + kk * (32 / 16), b + kk * (16 * 128 / 16), !first || kk > 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    };
    const auto end_step = [&](bool first) {
      // One group stays in flight: the one before it has read its stage.
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (!first) release(slot == 0 ? STAGES - 1 : slot - 1);
      if (++slot == STAGES) slot = 0, parity ^= 1;
    };

    if (STAGGER && group == 1) asm volatile("bar.sync 3, 256;" ::: "memory");  // protects nothing: it sets the pace
    for (int tile = cluster; tile < tiles; tile += clusters) {
      int step = 0;
#if LATE
#pragma unroll
      for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        if (step < steps) begin_step(step == 0);
        if (tile != cluster) store_chunk(words, chunk, staging, &map_c, row_of_c, col_of_c, group, tid);
        if (step < steps) end_step(step == 0);
        if (STAGGER && chunk == 1 && group == 0 && tile == cluster) asm volatile("bar.arrive 3, 256;" ::: "memory");
        ++step;
      }
#endif
      for (; step < steps; ++step) {
        begin_step(step == 0);
        end_step(step == 0);
      }
      // While the last products run.
      raster(tile, rows_all, cols_all, row_of_c, col_of_c);
      row_of_c = (row_of_c * CLUSTER + rank) * BM + group * 64;
      col_of_c *= BN;
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      release(slot == 0 ? STAGES - 1 : slot - 1);
      round_sums(d, words);
      if (!LATE || tile + clusters >= tiles) {
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; ++chunk)
          store_chunk(words, chunk, staging, &map_c, row_of_c, col_of_c, group, tid);
      }
    }
    if (tid == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // shared memory must outlive the stores
  }
  // protects: no block ends while a partner's copies or arrivals may still reach its shared memory
  __syncwarp();
  if (CLUSTER > 1) cluster_sync();
}
