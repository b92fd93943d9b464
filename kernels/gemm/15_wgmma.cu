// C = alpha * A * B + beta * C, row-major, A and B FP16 (BF16 where BF16 = 1), C and sums FP32. A warpgroup (128
// threads) computes 64 x BN elements of C.
//
// Changed:    from mma-sync: the copy engine (TMA) fills swizzled tiles, wgmma reads both operands from shared memory, one
//             warpgroup feeds two that multiply, the grid is persistent, and the blocks of a cluster, neighbours along M,
//             each load half of the tile of B for both (multicast). Nothing is transposed: B is read as it lies. Every
//             other wave walks K backwards, to begin with what L2 still holds: the order of sums, and so the last bits of
//             C, depend on how many clusters the GPU has.
// Bottleneck: the tensor pipe (sm__pipe_tensor_cycles_active, 91 % of active cycles), then power (700 W), and with
//             it the clock.
// Launch:     clusters of CLUSTER blocks of 384 threads, at most one block an SM; as few clusters as need no more waves.
//             SHARED_BYTES of dynamic shared memory.
// Assumes:    fast path: n and k are multiples of 8, bases and rows of A, B, C are 16-byte aligned (TMA), k > 0. All else
//             goes to the guarded path of `wmma`. Needs sm_90a.

#include <stddef.h>

#include "../wgmma.cuh"

constexpr int CONSUMERS = 2;  // warpgroups that multiply
constexpr int WARPGROUP = 128;
constexpr int THREADS = WARPGROUP * (CONSUMERS + 1);
constexpr int GROUP = 8;                          // rows of clusters that are walked together
constexpr int CHUNK = 64;                         // columns of B in one box: 128 bytes, one row of the swizzle
constexpr uint32_t A_BYTES = BM * BK * 2;
constexpr uint32_t CHUNK_BYTES = CHUNK * BK * 2;
constexpr int B_CHUNKS = BN / CHUNK;
constexpr uint32_t STAGE_BYTES = A_BYTES + B_CHUNKS * CHUNK_BYTES;
constexpr int C_COLUMNS = 32;                     // of C in one box: 128 bytes
constexpr uint32_t C_BYTES = 64 * C_COLUMNS * 4;  // of one box: a warpgroup's 64 rows
static_assert(BM == 64 * CONSUMERS && BN == 256 && BK == 64, "m64n256k16: 64 rows a warpgroup; a row of A is 128 bytes");
static_assert(CLUSTER == 1 || CLUSTER == 2, "a cluster is a pair of neighbours along M, or a block alone");
static_assert(B_CHUNKS % CLUSTER == 0, "every block of a cluster loads as much of B");

struct Shared {
  alignas(1024) unsigned char stage[STAGES][STAGE_BYTES];  // A: BM rows of 128 bytes; B: chunks of BK rows of 128 bytes
  alignas(1024) unsigned char out[CONSUMERS][STAGING][C_BYTES];
  alignas(8) uint64_t full[STAGES], empty[STAGES];
};
static_assert(sizeof(Shared) + 1024 <= SHARED_BYTES, "what stages.toml asks for, the base aligned to 1 KiB by hand");

/// Send a box to the matrix of a tensor map; what lies outside is not written.
__device__ __forceinline__ void store_box(const CUtensorMap* map, int x, int y, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(from)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// A barrier of the threads of one warpgroup; 0 is that of the block.
__device__ __forceinline__ void warpgroup_sync(int consumer) {
  asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}

#define OUT64(i) OUT16(i), OUT16(i + 16), OUT16(i + 32), OUT16(i + 48)

/// d = a * b, or d += a * b: 64 x 256 x 16 by the whole warpgroup. The 1, 1 are signs, 0, 1 say K-major A and N-major B.
__device__ __forceinline__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." AB_TYPES " {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 1;\n"
      "}\n"
      : OUT64(0), OUT64(64)
      : "l"(a), "l"(b), "r"(accumulate));
}

/// d = alpha * d + beta * C, where beta = 0 means that C is not read. `c` begins at the lane's first element: it holds two
/// neighbours in every eighth column, of two rows eight apart.
__device__ __forceinline__ void scale(float (&d)[128], float alpha, float beta, const View<const float>& c) {
#pragma unroll
  for (int i = 0; i < 128; i += 2) {
    const int row = i / 2 % 2 * 8, col = i / 4 * 8;
    float2 before = make_float2(0.0f, 0.0f);
    if (beta != 0.0f && c.has(row, col)) before = *reinterpret_cast<const float2*>(&c.at(row, col));
    d[i] = alpha * d[i] + beta * before.x;
    d[i + 1] = alpha * d[i + 1] + beta * before.y;
  }
}

/// The grouped raster, every other group from right to left: a wave shares rows of A or columns of B with the one before,
/// within a group and from one group to the next.
__device__ __forceinline__ void snake_raster(int t, int rows_all, int cols_all, int& row, int& col) {
  grouped_raster(t, GROUP, rows_all, cols_all, row, col);
  if (row / GROUP % 2) col = cols_all - 1 - col;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_c, const float* __restrict__ c, int m, int n, int k, int ldc,
               float alpha, float beta) {
  extern __shared__ unsigned char raw[];
  const uint32_t base = (shared_address(raw) + 1023) / 1024 * 1024;
  const uint32_t stages = base + offsetof(Shared, stage), staging = base + offsetof(Shared, out);
  const uint32_t full = base + offsetof(Shared, full), empty = base + offsetof(Shared, empty);
  const int rank = blockIdx.x % CLUSTER, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
  const int rows_all = ceil_div(m, BM * CLUSTER), cols_all = ceil_div(n, BN);
  const int steps = ceil_div(k, BK), work = rows_all * cols_all;

  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(full + i * 8, 1);                      // this block's producer, which announces the bytes
      barrier_init(empty + i * 8, CONSUMERS * CLUSTER);  // every consumer that reads what we load
    }
    publish_barriers();
  }
  // The barriers of every block of the cluster are initialised before another's copies or arrivals reach them.
  if (CLUSTER > 1) {
    cluster_sync();
  } else {
    __syncthreads();  // the barriers are initialised before any thread uses them
  }

  if (threadIdx.x < WARPGROUP) {  // the producer
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      uint32_t slot = 0, parity = 1;  // a wait for the phase before the first returns at once: all stages are empty
      for (int t = cluster; t < work; t += clusters) {
        int row, col;
        snake_raster(t, rows_all, cols_all, row, col);
        row = (row * CLUSTER + rank) * BM;
        col = col * BN;
        const bool backwards = t / clusters % 2;  // every other wave: it begins with what L2 still holds of the one before
        for (int step = 0; step < steps; ++step) {
          const int k_at = (backwards ? steps - 1 - step : step) * BK;
          const uint32_t landed = full + slot * 8, a = stages + slot * STAGE_BYTES, b = a + A_BYTES;
          barrier_wait(empty + slot * 8, parity);  // all who read this stage are done with it
          expect_bytes(landed, STAGE_BYTES);
          load_box(a, &map_a, k_at, row, landed);
#pragma unroll
          for (int i = 0; i < B_CHUNKS / CLUSTER; ++i) {
            const int chunk = rank * (B_CHUNKS / CLUSTER) + i;
            if (CLUSTER > 1) {
              load_box_to_blocks(b + chunk * CHUNK_BYTES, &map_b, col + chunk * CHUNK, k_at, landed,
                                 (1 << CLUSTER) - 1);
            } else {
              load_box(b + chunk * CHUNK_BYTES, &map_b, col + chunk * CHUNK, k_at, landed);
            }
          }
          if (++slot == STAGES) slot = 0, parity ^= 1;
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int consumer = uniform(threadIdx.x / WARPGROUP) - 1;  // uniform: descriptors stay in uniform registers
    const int tid = threadIdx.x % WARPGROUP, warp = tid / WARP_SIZE, lane = tid % WARP_SIZE;
    const auto release = [&](uint32_t stage) {  // one lane for each block that loads for us
      if (tid < CLUSTER) barrier_arrive(empty + stage * 8, rank ^ tid);
    };
    // Of stage 0; the address field counts 16 bytes, and no stage reaches beyond its 14 bits.
    const uint64_t a0 = descriptor(stages + consumer * (64 * BK * 2), 16, 1024);
    const uint64_t b0 = descriptor(stages + A_BYTES, CHUNK_BYTES, 1024);
    float d[128];
    uint32_t slot = 0, parity = 0, buffer = 0;
    for (int t = cluster; t < work; t += clusters) {
      int row, col;
      snake_raster(t, rows_all, cols_all, row, col);
      row = (row * CLUSTER + rank) * BM + consumer * 64;
      col = col * BN;
      for (int step = 0; step < steps; ++step) {
        barrier_wait(full + slot * 8, parity);  // the stage has landed before it is read
        const uint64_t a = a0 + slot * (STAGE_BYTES / 16), b = b0 + slot * (STAGE_BYTES / 16);
        products_begin();
#pragma unroll
        for (int p = 0; p < BK / 16; ++p) {
          wgmma(d, a + p * (32 / 16), b + p * (16 * 128 / 16), step > 0 || p > 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // One group stays in flight; the one before it has read its stage, which is given back.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (step > 0) release(slot == 0 ? STAGES - 1 : slot - 1);
        if (++slot == STAGES) slot = 0, parity ^= 1;
      }
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      release(slot == 0 ? STAGES - 1 : slot - 1);

      if (alpha != 1.0f || beta != 0.0f) {
        scale(d, alpha, beta, View<const float>{c, ldc, m, n}.from(row + warp * 16 + lane / 4, col + lane % 4 * 2));
      }
#pragma unroll
      for (int chunk = 0; chunk < BN / C_COLUMNS; ++chunk) {
        const uint32_t out = staging + (consumer * STAGING + buffer) * C_BYTES;
        if (tid == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGING - 1) : "memory");
        warpgroup_sync(consumer);  // the store that used this buffer has read it before any thread overwrites it
#pragma unroll
        for (int block = 0; block < 4; ++block) {  // 8 columns: a lane has two neighbours in each of two rows
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float* v = d + (chunk * 4 + block) * 4 + half * 2;
            const int y = warp * 16 + half * 8 + lane / 4, byte = block * 32 + lane % 4 * 8;
            const uint32_t to = out + y * 128 + (((byte >> 4) ^ (y & 7)) << 4) + (byte & 15);
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(v[0]), "f"(v[1]) : "memory");
          }
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // our stores, before the copy engine reads them
        warpgroup_sync(consumer);  // all threads' part of the chunk is there before its store is issued
        if (tid == 0) store_box(&map_c, col + chunk * C_COLUMNS, row, out);
        buffer = buffer == STAGING - 1 ? 0 : buffer + 1;
      }
    }
    if (tid == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // shared memory outlives the stores
  }
  __syncwarp();  // a warp arrives at the cluster's barrier as one
  // No block ends while a partner's copies or arrivals may still reach its shared memory.
  if (CLUSTER > 1) {
    cluster_sync();
  }
}
