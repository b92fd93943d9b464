// Operation: C = A * B, BF16 inputs, FP32 accumulation, all row-major; C in FP32 or BF16 (BF16_OUT).
// From the ladder's `mma-sync`: the copy engine fills swizzled tiles, wgmma reads both operands from shared memory,
//   one warpgroup feeds two that multiply, the grid is persistent, and a pair of blocks shares the wider operand's tile.
// Expected bottleneck: the tensor pipe (sm__inst_executed_pipe_tensor_op_hmma), then power (700 W) and with it the clock.
// Launch: 384 threads, one block per SM, clusters of 1 or 2 blocks; STAGES x 48 KiB and the staging of C.
// Assumes: n % 8 == 0, k % 8 == 0, bases 16-byte aligned (TMA); any m >= 1. TMA zero-fills the edges. With `split` > 0 all
//   blocks run at once: they wait for each other's sums.
//
// A warpgroup multiplies 64 rows of a *narrow* operand (128 a block) by 256 of a *wide* one, which wgmma streams through the
// tensor cores. The narrow one is A and the wide one B, or with SWAP the other way round; then C's tile is computed
// transposed.
//
// Macros: BF16_OUT, STAGES, CLUSTER, GROUP (cluster rows per raster group), SWAP, DIRECT (warps store C themselves, in rows
//   of 128 bytes, instead of handing chunks to the copy engine and waiting for it to read them).
#include <cuda.h>
#include <cuda_bf16.h>
#include <stdint.h>

#ifndef BF16_OUT
#define BF16_OUT 1
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef CLUSTER
#define CLUSTER 2
#endif
#ifndef GROUP
#define GROUP 8
#endif
#ifndef SWAP
#define SWAP 0
#endif
#ifndef DIRECT
#define DIRECT 0
#endif

constexpr int NARROW = 128, WIDE = 256, BK = 64, CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1);
constexpr int A_ROWS = 128;  // of A in one box, each of BK elements; a box of B is 64 columns of BK rows
constexpr int BOX_A = A_ROWS * BK * 2, BOX_B = 64 * BK * 2;
constexpr int NARROW_BYTES = NARROW * BK * 2, STAGE_BYTES = NARROW_BYTES + WIDE * BK * 2;
constexpr int C_COLUMNS = BF16_OUT ? 64 : 32;  // of a staged chunk: 128 bytes, one swizzle row
constexpr int CHUNKS = WIDE / C_COLUMNS;       // with SWAP a chunk takes rows of C, not columns
constexpr int STAGING = 2;                     // chunks under way per warpgroup
static_assert(CLUSTER == 1 || CLUSTER == 2, "each block of a pair loads half of what they share");
static_assert(NARROW == 64 * CONSUMERS, "64 rows of the narrow operand per warpgroup");
static_assert(BF16_OUT || !SWAP, "only BF16 is stored transposed");

struct Shared {
  alignas(1024) unsigned char stage[STAGES][STAGE_BYTES];  // boxes of the narrow operand, then of the wide one
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

// D = X * Y or D += X * Y: 64 x 256 x 16 by a warpgroup. What lies along rows or columns of C, not along k, is "transposed".
__device__ __forceinline__ void wgmma(float (&d)[128], uint64_t x, uint64_t y, int accumulate) {
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
      "}, %128, %129, p, 1, 1, %131, %132;\n"
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
      : "l"(x), "l"(y), "r"(accumulate), "n"(SWAP), "n"(1 - SWAP));
}

// Row and column tile of a cluster's t-th work item: groups of GROUP cluster rows, walked column by column (L2 reuse).
__device__ __forceinline__ void raster(int t, int rows_all, int cols_all, int& row, int& col) {
  const int per_group = GROUP * cols_all;
  const int first = t / per_group * GROUP;
  const int rows = min(GROUP, rows_all - first);
  const int within = t % per_group;
  row = first + within % rows;
  col = within / rows;
}

// One stretch of K steps of one tile; none where steps is 0.
struct Item {
  int tile, first, steps;
};

// What a cluster does, in turn: its equal share of the steps of tiles 0 … split - 1, then every clusters-th whole tile.
struct Schedule {
  int cluster, clusters, work, steps, split, at, end, whole;

  __device__ __forceinline__ int begin_of(int which) const {
    return static_cast<int>(static_cast<long long>(split) * steps * which / clusters);
  }
  __device__ __forceinline__ Schedule(int cluster, int clusters, int work, int steps, int split)
      : cluster(cluster), clusters(clusters), work(work), steps(steps), split(split) {
    at = begin_of(cluster), end = begin_of(cluster + 1), whole = split + cluster;
  }
  __device__ __forceinline__ Item next() {
    if (at < end) {
      const Item item{at / steps, at % steps, min(steps - at % steps, end - at)};
      at += item.steps;
      return item;
    }
    const Item item{whole, 0, whole < work ? steps : 0};
    whole += clusters;
    return item;
  }
};

__device__ __forceinline__ void group_sync(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

// A warpgroup's sums of a tile that begins with another cluster's steps: [quad][thread], and a flag per warp.
__device__ __forceinline__ void hand_over(const float (&d)[128], float4* out, uint32_t* flag, uint32_t epoch, int lane) {
#pragma unroll
  for (int q = 0; q < 32; ++q) __stcg(out + q * 128, make_float4(d[4 * q], d[4 * q + 1], d[4 * q + 2], d[4 * q + 3]));
  __syncwarp();  // all lanes' sums are stored before lane 0 publishes them
  if (lane == 0) {
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
  }
}

__device__ __forceinline__ void take_over(float (&d)[128], const float4* in, const uint32_t* flag, uint32_t epoch, int lane) {
  if (lane == 0) {
    uint32_t seen;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen != epoch);
  }
  __syncwarp();  // lane 0 has seen the flag before any lane reads the sums
#pragma unroll
  for (int q = 0; q < 32; q += 16) {  // 16 loads under way
    float4 v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = __ldcg(in + (q + i) * 128);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float* to = d + 4 * (q + i);
      to[0] += v[i].x, to[1] += v[i].y, to[2] += v[i].z, to[3] += v[i].w;
    }
  }
}

// This warp's part of a chunk of C, into rows of 128 bytes whose 16-byte units are swizzled by the row.
__device__ __forceinline__ void stage_chunk(const float (&d)[128], int chunk, uint32_t out, int warp, int lane) {
#if BF16_OUT
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {  // four 8x8 matrices: rows low and high of 8 columns, then of the next 8
    const float* v = d + (chunk * 8 + pair * 2) * 4;
    uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r[i]) : "f"(v[2 * i + 1]), "f"(v[2 * i]));
    // SWAP: D's columns are rows of C, its rows (16 a warp) columns.
    const int y = SWAP ? pair * 16 + lane / 16 * 8 + lane % 8 : warp * 16 + lane % 16;
    const int unit = SWAP ? warp * 2 + lane / 8 % 2 : pair * 2 + lane / 16;
    const uint32_t to = out + y * 128 + ((unit ^ (y & 7)) << 4);
#if SWAP
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
#else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
#endif
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  }
#else
#pragma unroll
  for (int block = 0; block < 4; ++block) {  // 8 columns: a lane has two neighbours in each of two rows
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* v = d + (chunk * 4 + block) * 4 + half * 2;
      const int y = warp * 16 + half * 8 + lane / 4, byte = block * 32 + lane % 4 * 8;
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(out + y * 128 + (((byte >> 4) ^ (y & 7)) << 4) + (byte & 15)),
                   "f"(v[0]), "f"(v[1])
                   : "memory");
    }
  }
#endif
}

// 16 rows of a staged chunk, by one warp: 16 bytes a lane, whole rows of 128 bytes.
__device__ __forceinline__ void store_rows(uint32_t from, unsigned char* c, long long pitch, int rows_left, int bytes_left,
                                           int warp, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int y = warp * 16 + i * 4 + lane / 8, unit = lane % 8;
    uint32_t v[4];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from + y * 128 + ((unit ^ (y & 7)) << 4))
                 : "memory");
    if (y < rows_left && unit * 16 < bytes_left)
      *reinterpret_cast<uint4*>(c + y * pitch + unit * 16) = make_uint4(v[0], v[1], v[2], v[3]);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wgmma_gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_c, unsigned char* __restrict__ c, int m, int n, int k,
               int split,                     // tiles 0 … split - 1 are shared out over K, by all clusters alike
               float4* __restrict__ partial,  // [block][warpgroup][quad][thread]: sums of one tile a block
               uint32_t* __restrict__ flags, uint32_t epoch) {  // [block][warp]: `epoch` once its sums are there
  extern __shared__ unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw + ((1024 - (smem(raw) & 1023)) & 1023));
  const int rank = blockIdx.x % CLUSTER;
  const int narrow_all = SWAP ? n : m, wide_all = SWAP ? m : n;
  const int rows_all = (narrow_all + NARROW * CLUSTER - 1) / (NARROW * CLUSTER), cols_all = (wide_all + WIDE - 1) / WIDE;

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
      Schedule schedule(blockIdx.x / CLUSTER, gridDim.x / CLUSTER, rows_all * cols_all, (k + BK - 1) / BK, split);
      uint32_t slot = 0, parity = 1;  // a fresh barrier counts as completed for parity 1
      for (Item item = schedule.next(); item.steps > 0; item = schedule.next()) {
        int narrow, wide;
        raster(item.tile, rows_all, cols_all, narrow, wide);
        narrow = (narrow * CLUSTER + rank) * NARROW;
        wide *= WIDE;
        for (int step = item.first; step < item.first + item.steps; ++step) {
          const uint32_t bar = smem(&s.full[slot]), to = smem(s.stage[slot]), wide_to = to + NARROW_BYTES;
          const int at = step * BK;
          barrier_wait(smem(&s.empty[slot]), parity);
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(STAGE_BYTES) : "memory");
          // One operand's box is A_ROWS x BK, at (k, row); the other's BK x 64, at (column, k).
          constexpr int WIDE_BOX = SWAP ? BOX_A : BOX_B, PER_BOX = SWAP ? A_ROWS : 64, SHARE = WIDE / PER_BOX / CLUSTER;
#pragma unroll
          for (int i = 0; i < (SWAP ? NARROW / 64 : 1); ++i)
            load_box(to + i * BOX_B, SWAP ? &map_b : &map_a, SWAP ? narrow + i * 64 : at, SWAP ? at : narrow, bar);
#pragma unroll
          for (int i = 0; i < SHARE; ++i) {
            const int box = rank * SHARE + i, along = wide + box * PER_BOX;
            const auto load = CLUSTER > 1 ? load_box_to_both : load_box;
            load(wide_to + box * WIDE_BOX, SWAP ? &map_a : &map_b, SWAP ? at : along, SWAP ? along : at, bar);
          }
          if (++slot == STAGES) slot = 0, parity ^= 1;
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    // Through a shuffle, so that the compiler knows it is the same in a warp and keeps descriptors in uniform registers.
    const int group = __shfl_sync(0xFFFFFFFF, threadIdx.x / 128, 0) - 1;
    const int tid = threadIdx.x % 128, warp = tid / 32, lane = tid % 32;
    const auto release = [&](uint32_t which) {  // one lane for each block that loads for us
      if (tid < CLUSTER) barrier_arrive(smem(&s.empty[which]), rank ^ tid);
    };
    // Of stage 0; the address field counts 16 bytes, and no stage reaches beyond its 14 bits.
    constexpr int K_MAJOR = 32 / 16, N_MAJOR = 16 * 128 / 16;  // from 16 k to the next
    const uint64_t x0 = descriptor(smem(s.stage[0]) + group * 8192, SWAP ? BOX_B : 16, 1024);
    const uint64_t y0 = descriptor(smem(s.stage[0]) + NARROW_BYTES, SWAP ? 16 : BOX_B, 1024);
    Schedule schedule(blockIdx.x / CLUSTER, gridDim.x / CLUSTER, rows_all * cols_all, (k + BK - 1) / BK, split);
    float d[128];
    uint32_t slot = 0, parity = 0, buffer = 0;
    for (Item item = schedule.next(); item.steps > 0; item = schedule.next()) {
      for (int step = 0; step < item.steps; ++step) {
        barrier_wait(smem(&s.full[slot]), parity);
        const uint64_t x = x0 + slot * (STAGE_BYTES / 16), y = y0 + slot * (STAGE_BYTES / 16);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int kk = 0; kk < BK / 16; ++kk)
          wgmma(d, x + kk * (SWAP ? N_MAJOR : K_MAJOR), y + kk * (SWAP ? K_MAJOR : N_MAJOR), step > 0 || kk > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // One group stays in flight: the one before it has read its stage.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (step > 0) release(slot == 0 ? STAGES - 1 : slot - 1);
        if (++slot == STAGES) slot = 0, parity ^= 1;
      }
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      release(slot == 0 ? STAGES - 1 : slot - 1);

      const auto sums_of = [&](int cluster) {
        return partial + ((cluster * CLUSTER + rank) * CONSUMERS + group) * static_cast<long long>(32 * 128) + tid;
      };
      const auto flag_of = [&](int cluster) { return flags + ((cluster * CLUSTER + rank) * CONSUMERS + group) * 4 + warp; };
      if (item.first > 0) {
        hand_over(d, sums_of(schedule.cluster), flag_of(schedule.cluster), epoch, lane);
        continue;
      }
      if (item.steps < schedule.steps) {  // the rest comes from the clusters after us, in their order: always the same
        for (int w = schedule.cluster + 1; w < schedule.clusters && schedule.begin_of(w) < (item.tile + 1) * schedule.steps; ++w)
          take_over(d, sums_of(w), flag_of(w), epoch, lane);
      }

      int narrow, wide;
      raster(item.tile, rows_all, cols_all, narrow, wide);
      narrow = (narrow * CLUSTER + rank) * NARROW + group * 64;
      wide *= WIDE;
#pragma unroll
      for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        const uint32_t out = smem(s.staging[group][0]) + buffer * 8192;
        const int row = SWAP ? wide + chunk * 64 : narrow, col = SWAP ? narrow : wide + chunk * C_COLUMNS;
#if DIRECT
        constexpr int C_BYTES = BF16_OUT ? 2 : 4;
        stage_chunk(d, chunk, out, warp, lane);
        // protects: the rows are whole before they are read. With two buffers it also keeps the next but one chunk from
        // overwriting rows that are still to be read. Without SWAP a warp reads only what it wrote.
        if (SWAP)
          group_sync(group);
        else
          __syncwarp();
        store_rows(out, c + (static_cast<long long>(row) * n + col) * C_BYTES, static_cast<long long>(n) * C_BYTES, m - row,
                   (n - col) * C_BYTES, warp, lane);
#else
        if (tid == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGING - 1) : "memory");
        group_sync(group);  // protects: the store that used this buffer has read it, before anyone overwrites it
        stage_chunk(d, chunk, out, warp, lane);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // our stores, before the copy engine reads them
        group_sync(group);                                            // protects: the chunk is whole before its store is issued
        if (tid == 0) {
          asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map_c), "r"(col),
                       "r"(row), "r"(out)
                       : "memory");
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
#endif
        buffer ^= 1;
      }
    }
    if (!DIRECT && tid == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // shared memory must outlive the stores
  }
  // protects: no block ends while a partner's copies or arrivals may still reach its shared memory
  __syncwarp();
  if (CLUSTER > 1) cluster_sync();
}
