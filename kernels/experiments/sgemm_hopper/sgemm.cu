// Operation: C = alpha * A * B in FP32 on CUDA cores, all row-major; A reaches this kernel K-major (At, K x M).
// From the ladder's `warptiled`: TMA boxes and mbarriers instead of cp.async and __syncthreads, both operands K-major,
//   8x16 outputs a lane, a persistent grid that can split the tail wave over K (stream-K).
// Expected bottleneck: the FMA pipe (sm__inst_executed_pipe_fma); what is lost goes to LDS.128 issue and register banks.
// Launch: 128 threads (2x2 warps of 64x64), 2 blocks per SM, about 99 KB of dynamic shared memory per block.
// Assumes: N % 4 == 0, leading dimensions % 4 == 0, bases 16-byte aligned (TMA); any M, K >= 1. TMA zero-fills the edges.
//
// Macros (defaults are the base): STAGES, BK, UNROLL_K (k unrolled in the rolled loop), LAG, ORDER (FMA order),
//   LANES (lane map), PIN (FMAs volatile), MAX_REGISTERS, EARLY (launched while the transpose still runs; its launch must
//   carry the attribute of programmatic stream serialization), SUM_ROWS (of another worker's sums, loaded at once).
#include <cuda.h>
#include <stdint.h>

#ifndef STAGES
#define STAGES 4
#endif
#ifndef BK
#define BK 24
#endif
#ifndef UNROLL_K
#define UNROLL_K 12  // the loop must fit into the 32 KiB instruction cache, 128 bytes x 64 sets x 4 ways
#endif
#ifndef LAG
#define LAG (STAGES >= 4 ? 2 : 1)  // a stage is refilled LAG stages later: with two, who refills need not wait for the slowest
#endif
#ifndef ORDER
#define ORDER 0
#endif
#ifndef LANES
#define LANES 0
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef SUM_ROWS
#define SUM_ROWS 2
#endif
#ifndef PIN
#define PIN 1
#endif
#ifdef MAX_REGISTERS  // a cap below what two blocks per SM leave
#define BOUNDS __maxnreg__(MAX_REGISTERS)
#else
#define BOUNDS __launch_bounds__(THREADS, 2)
#endif
#ifndef MAX_SEGMENTS
#define MAX_SEGMENTS 80
#endif

constexpr int BM = 128, BN = 128, TM = 8, TN = 16, THREADS = 128, GROUP_ROWS = 8;
constexpr int PIECE = 128;  // rows of A that the transpose takes at a time
constexpr int PARTS = BK / UNROLL_K;  // passes of the rolled loop per stage
constexpr int WARPS = THREADS / 32;
constexpr uint32_t A_BYTES = BK * BM * 4, B_BYTES = BK * BN * 4, STAGE_BYTES = A_BYTES + B_BYTES;
static_assert(A_BYTES == B_BYTES, "one jump for both rings");
static_assert(BK % UNROLL_K == 0 && UNROLL_K % 2 == 0, "fragments alternate between two buffers");
static_assert(BM * BN == THREADS * TM * TN, "every output belongs to one thread");

// One stretch of K steps of one output tile. k counts steps of BK.
struct Segment {
  int row, col, k, steps;
};

struct Shared {
  alignas(128) float stage[2][STAGES][BK][128];  // [0] are At's boxes, [1] B's: rings of rows
  Segment segments[MAX_SEGMENTS];
  alignas(8) uint64_t full[STAGES], empty[STAGES + 1];  // one more empty for the stage before the first
  int count, total_steps;
  alignas(16) float out[THREADS / 32][8][64];  // one row of every lane, on its way to C
};
static_assert(sizeof(Shared) <= 107904, "two blocks and a transposing one must fit into 228 KiB, 1 KiB each reserved");

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

// One arrival for a whole warp; electing waits for every lane, so all their reads are done.
__device__ __forceinline__ void warp_arrive(uint32_t bar) {
  asm volatile(
      "{\n"
      ".reg .pred one;\n"
      "elect.sync _|one, 0xFFFFFFFF;\n"
      "@one mbarrier.arrive.shared::cta.b64 _, [%0];\n"
      "}\n" ::"r"(bar)
      : "memory");
}

__device__ __forceinline__ bool elected() {
  uint32_t one;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xFFFFFFFF;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(one));
  return one;
}

__device__ __forceinline__ void load_box(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

// Kept in a register: left to itself ptxas computes shared addresses anew at every use, 40 cycles each.
__device__ __forceinline__ uint32_t opaque(uint32_t value) {
  asm volatile("mov.b32 %0, %0;" : "+r"(value));
  return value;
}

// Of lane 0: the compiler then knows that the value is the same in the whole warp.
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(0xFFFFFFFF, value, 0); }

// Volatile keeps the order the loads are written in: the four of B before the two of A.
__device__ __forceinline__ void load4(float* f, uint32_t addr) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]) : "r"(addr));
}

__device__ __forceinline__ void load_fragments(float (&a)[TM], float (&b)[TN], uint32_t a_addr, uint32_t b_addr) {
#pragma unroll
  for (int q = 0; q < TN / 4; ++q) load4(b + 4 * q, b_addr + q * 16 * 4);
#pragma unroll
  for (int q = 0; q < TM / 4; ++q) load4(a + 4 * q, a_addr + q * 32 * 4);
}

// Volatile keeps the order in PTX. Only at level 1 is ptxas sure to keep it too: by default it may sink the next step's
// loads to just before their use, and the double buffering of the fragments is lost (see `sass.py`, waits for LDS).
__device__ __forceinline__ void multiply_add(float& acc, float a, float b) {
#if PIN
  asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(acc) : "f"(a), "f"(b));
#else
  acc = fmaf(a, b, acc);
#endif
}

__device__ __forceinline__ void outer_product(float (&acc)[TM][TN], const float (&a)[TM], const float (&b)[TN]) {
#if ORDER == 0  // rows, direction alternating: the operand at the turn is shared
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int jj = 0; jj < TN; ++jj) {
      const int j = (i & 1) ? TN - 1 - jj : jj;
      multiply_add(acc[i][j], a[i], b[j]);
    }
#elif ORDER == 1  // columns, direction alternating
#pragma unroll
  for (int j = 0; j < TN; ++j)
#pragma unroll
    for (int ii = 0; ii < TM; ++ii) {
      const int i = (j & 1) ? TM - 1 - ii : ii;
      multiply_add(acc[i][j], a[i], b[j]);
    }
#elif ORDER == 2  // rows, plain
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) multiply_add(acc[i][j], a[i], b[j]);
#elif ORDER == 3  // two halves of eight columns, each a snake: starts on the B quads that arrive first
#pragma unroll
  for (int h = 0; h < 2; ++h)
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int jj = 0; jj < TN / 2; ++jj) {
        const int ii = h ? TM - 1 - i : i;
        const int j = h * TN / 2 + (((ii & 1) ^ h) ? TN / 2 - 1 - jj : jj);
        multiply_add(acc[ii][j], a[ii], b[j]);
      }
#endif
}

// Where row tile and column tile of tile t lie: groups of GROUP_ROWS row tiles, walked column by column (L2 reuse).
__device__ __forceinline__ void raster(int t, int tiles_m, int tiles_n, int& row, int& col) {
  const int per_group = GROUP_ROWS * tiles_n;
  const int first = t / per_group * GROUP_ROWS;
  const int rows = min(GROUP_ROWS, tiles_m - first);
  const int within = t % per_group;
  row = (first + within % rows) * BM;
  col = within / rows * BN;
}

extern "C" __global__ void BOUNDS
    sgemm_hopper(const __grid_constant__ CUtensorMap map_at, const __grid_constant__ CUtensorMap map_b, float* __restrict__ c,
                 int m, int n, int k, int ldc, float alpha,
                 int split_tiles,              // tiles 0..split_tiles-1 are shared out over K, the rest are whole
                 float* __restrict__ partial,  // [worker][output][thread], one tile's sums per worker
                 uint32_t* flags,               // [worker][warp] = epoch once the partial sums are there
                 uint32_t epoch) {
  extern __shared__ __align__(1024) unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
  const int tid = threadIdx.x, warp = uniform(tid / 32), lane = tid % 32;
  const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN, steps_k = (k + BK - 1) / BK;
  const int worker = blockIdx.x, workers = gridDim.x;
  const int split_steps = split_tiles * steps_k;
  const int whole = tiles_m * tiles_n - split_tiles;  // tiles computed by one worker each
  const int my_whole = whole / workers + (worker < whole % workers);
  const int share = split_steps / workers, longer = split_steps % workers;  // the first `longer` workers take one step more
  const auto split_begin = [&](int w) { return share * w + min(w, longer); };

  // The list of segments: whole tiles first, then this worker's share of the split tiles, at most three stretches.
#pragma unroll 1
  for (int i = tid; i < my_whole; i += THREADS) {
    Segment g;
    raster(split_tiles + worker + i * workers, tiles_m, tiles_n, g.row, g.col);
    g.k = 0;
    g.steps = steps_k;
    s.segments[i] = g;
  }
  if (tid == 0) {
    int count = my_whole;
    const int end = split_begin(worker + 1);
    for (int pos = split_begin(worker); pos < end;) {
      Segment g;
      raster(pos / steps_k, tiles_m, tiles_n, g.row, g.col);
      g.k = pos % steps_k;
      g.steps = min(steps_k - g.k, end - pos);
      pos += g.steps;
      s.segments[count++] = g;
    }
    s.count = count;
    s.total_steps = my_whole * steps_k + end - split_begin(worker);
    for (int i = 0; i < STAGES; ++i) barrier_init(smem(&s.full[i]), 1);       // one arrival that announces the bytes
    for (int i = 0; i <= STAGES; ++i) barrier_init(smem(&s.empty[i]), WARPS);  // one lane of every warp
    // The copy engine must see the barriers initialised.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();  // protects: segment list and barriers, before anyone reads them
#if EARLY
  // protects: the whole transpose, before its first box is asked for; the sums of the product before it were read long ago
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const int total = uniform(s.total_steps), count = uniform(s.count);

  const uint32_t stages = opaque(smem(&s.stage[0][0][0][0])), full = opaque(smem(&s.full[0])), empty = opaque(full + STAGES * 8);

  // Warps take turns at refilling, so that none of them, and no scheduler, carries all of it.
  int turn = warp < LAG ? warp + WARPS : warp;  // the step at which this warp refills next; before LAG nothing is free
  int fill_segment = 0, fill_k = turn + STAGES - LAG;  // what it loads then: steps counted from the segment's begin
  const auto fill = [&](int step) {
    const int use = step / STAGES, slot = step % STAGES;
    const uint32_t bar = full + slot * 8;
    if (use > 0) barrier_wait(empty + slot * 8, (use - 1) & 1);
    if (step >= total) {  // nothing: completed without bytes, so that waiting for the next stage needs no condition
      if (step == total) warp_arrive(bar);
      return;
    }
    Segment g = s.segments[fill_segment];
    while (fill_k >= g.steps) {
      fill_k -= g.steps;
      g = s.segments[++fill_segment];
    }
    if (elected()) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(STAGE_BYTES) : "memory");
      load_box(stages + slot * A_BYTES, &map_at, g.row, (g.k + fill_k) * BK, bar);
      load_box(stages + STAGES * A_BYTES + slot * B_BYTES, &map_b, g.col, (g.k + fill_k) * BK, bar);
    }
  };
  if (total == 0) return;
  if (warp == 0) {
    const int later = fill_k;
    for (int i = 0; i < min(STAGES, total + 1); ++i) {
      fill_k = i;
      fill_segment = 0;
      fill(i);
    }
    fill_k = later;
    fill_segment = 0;
  }

#if LANES == 0  // 8 rows of 4 lanes
  const int lane_m = lane / 4, lane_n = lane % 4;
#elif LANES == 1  // 4 columns of 8 lanes
  const int lane_m = lane % 8, lane_n = lane / 8;
#else  // pairs interleaved, so that a quarter warp covers 4 rows and 2 columns
  const int lane_m = (lane >> 1 & 3) | (lane >> 4) << 2, lane_n = (lane & 1) | (lane >> 3 & 1) << 1;
#endif
  const uint32_t a_lane = (warp / 2 * 64 + lane_m * 4) * 4, b_lane = STAGES * A_BYTES + (warp % 2 * 64 + lane_n * 4) * 4;

  float acc[TM][TN], a[2][TM], b[2][TN];
  constexpr uint32_t PASS_BYTES = UNROLL_K * 128 * 4;
  uint32_t release = empty + STAGES * 8;  // of the stage before the one being read
  uint32_t next_full = full, parity = 0;  // of the stage behind it
  int step = 0;                           // of all this worker's steps
  uint32_t a_at = stages + a_lane, b_at = stages + b_lane;
  barrier_wait(full, 0);
  load_fragments(a[0], b[0], a_at, b_at);

  for (int i_segment = 0; i_segment < count; ++i_segment) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) acc[i][j] = 0.0f;

    int left = s.segments[i_segment].steps;
#pragma unroll 1
    do {
      warp_arrive(release);  // the last fragments of that stage went into products long ago
      if (step == turn) {
        fill(step + STAGES - LAG);
        turn += WARPS;
        fill_k += WARPS;
      }
      ++step;
      release = next_full + STAGES * 8;
      next_full += 8;
      uint32_t jump = PASS_BYTES;  // from the last pass of this stage to the first of the next
      if (next_full == empty) next_full = full, parity ^= 1, jump = PASS_BYTES - STAGES * A_BYTES;
      jump = opaque(jump);
      barrier_wait(next_full, parity);
#pragma unroll 1
      for (int part = PARTS; part > 0; --part) {
        const uint32_t by = part == 1 ? jump : PASS_BYTES;
        const uint32_t a_next = a_at + by, b_next = b_at + by;
#pragma unroll
        for (int kk = 0; kk < UNROLL_K; ++kk) {
          const bool here = kk + 1 < UNROLL_K;
          load_fragments(a[(kk + 1) & 1], b[(kk + 1) & 1], here ? a_at + (kk + 1) * 512 : a_next, here ? b_at + (kk + 1) * 512 : b_next);
          outer_product(acc, a[kk & 1], b[kk & 1]);
        }
        a_at = a_next;
        b_at = b_next;
      }
    } while (--left > 0);

    const Segment g = s.segments[i_segment];
    // Everything below takes the accumulators one by one: as parts of a vector they would have to lie in aligned quads,
    // with the parity of B's quads, and every FFMA of the main loop would read one bank twice.
    if (g.k > 0) {  // the tile's first step is another worker's: hand the sums over
      float* out = partial + static_cast<size_t>(worker) * (BM * BN) + tid;
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) __stcg(out + (i * TN + j) * THREADS, acc[i][j]);
      __syncwarp();  // protects: the warp's stores, before lane 0 publishes them
      if (lane == 0) {
        __threadfence();
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags + worker * 4 + warp), "r"(epoch) : "memory");
      }
      continue;
    }
    if (g.steps < steps_k) {  // the rest of this tile comes from the workers after us, in their order
      const int tile_end = (split_begin(worker + 1) - g.steps) / steps_k * steps_k + steps_k;
      for (int w = worker + 1; w < workers && split_begin(w) < tile_end; ++w) {
        if (split_begin(w) == split_begin(w + 1)) continue;  // had nothing to do
        if (lane == 0) {
          uint32_t seen;
          do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + w * 4 + warp) : "memory");
          } while (seen != epoch);
        }
        __syncwarp();  // protects: lane 0 saw the flag, before the others read the sums
        const float* in = partial + static_cast<size_t>(w) * (BM * BN) + tid;
#pragma unroll
        for (int i = 0; i < TM; i += SUM_ROWS) {  // 16 loads in flight a row: ptxas keeps the order written here
          float v[SUM_ROWS][TN];
#pragma unroll
          for (int j = 0; j < SUM_ROWS * TN; ++j) v[j / TN][j % TN] = __ldcg(in + (i * TN + j) * THREADS);
#pragma unroll
          for (int j = 0; j < SUM_ROWS * TN; ++j) acc[i + j / TN][j % TN] += v[j / TN][j % TN];
        }
      }
    }
    const int row0 = g.row + warp / 2 * 64 + lane_m * 4, col0 = g.col + warp % 2 * 64 + lane_n * 4;
    float* stage = &s.out[warp][lane_m][lane_n * 4];
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j)
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(smem(stage + j / 4 * 16 + j % 4)), "f"(alpha * acc[i][j]));
      // A lane reads back what it wrote itself, so no barrier is needed.
      const int row = row0 + i / 4 * 32 + i % 4;
      float* out = c + static_cast<size_t>(row) * ldc + col0;
#pragma unroll
      for (int q = 0; q < TN / 4; ++q) {
        float v[4];
        load4(v, smem(stage + q * 16));
        if (row < m && col0 + q * 16 < n) *reinterpret_cast<float4*>(out + q * 16) = make_float4(v[0], v[1], v[2], v[3]);
      }
    }
  }
}

// At[k][m] = A[m][k], PIECE rows of A by 32 columns a piece; pieces are walked along M first.
extern "C" __global__ void __launch_bounds__(256)
    transpose(const float* __restrict__ a, float* __restrict__ at, int m, int k, int lda, int ldat) {
  __shared__ float tile[PIECE][33];
#if EARLY
  // Every block of this grid runs by then; those that multiply take the places that these leave, and wait for all of them.
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  const int pieces_m = (m + PIECE - 1) / PIECE, pieces = pieces_m * ((k + 31) / 32);
  for (int p = blockIdx.x; p < pieces; p += gridDim.x) {
    const int m0 = p % pieces_m * PIECE, k0 = p / pieces_m * 32;
    const int x = threadIdx.x % 8 * 4, y = threadIdx.x / 8;
    const bool wide = lda % 4 == 0 && reinterpret_cast<uintptr_t>(a) % 16 == 0 && k0 + 32 <= k;
#pragma unroll
    for (int r = 0; r < PIECE / 32; ++r) {
      const int row = m0 + y + r * 32;
      float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      if (row < m) {
        const float* src = a + static_cast<size_t>(row) * lda + k0 + x;
        if (wide) {
          const float4 q = __ldcs(reinterpret_cast<const float4*>(src));
          v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (k0 + x + e < k) v[e] = src[e];
        }
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) tile[y + r * 32][x + e] = v[e];
    }
    __syncthreads();  // protects: the tile is whole before it is read across
    constexpr int QUADS = PIECE / 4;
    const int mm = threadIdx.x % QUADS * 4, kk = threadIdx.x / QUADS;
#pragma unroll
    for (int r = 0; r < 32 * QUADS / 256; ++r) {
      const int kr = kk + r * (256 / QUADS);
      if (m0 + mm < m && k0 + kr < k)  // ldat is a multiple of 4 and covers m, so the quad fits
        *reinterpret_cast<float4*>(at + static_cast<size_t>(k0 + kr) * ldat + m0 + mm) =
            make_float4(tile[mm][kr], tile[mm + 1][kr], tile[mm + 2][kr], tile[mm + 3][kr]);
    }
    __syncthreads();  // protects: the tile, before the next piece overwrites it
  }
}
