// C = alpha * A * B + beta * C, row-major, FP32 on CUDA cores. A lane computes TM x TN elements of C, in pieces of 4 x 4.
//
// Changed:    from warptiled: A is transposed first, into a workspace, so that the copy engine (TMA) brings both operands
//             K-major and no thread copies or stores a tile. mbarriers replace __syncthreads in the loop, fragments are
//             loaded one step ahead, and a persistent grid shares the tiles of the last, partial wave out over K. Two
//             blocks are a cluster: each loads half of their tile of B for both (multicast).
// Bottleneck: the FMA pipe (sm__inst_executed_pipe_fma, 86 % of active cycles); then issue slots of LDS.128 and dispatch
//             stalls. The main loop fits the 32 KiB instruction cache (128 bytes x 64 sets x 4 ways): it must.
// Launch:     transpose_a on 8 blocks of 256 threads an SM at most, then sgemm_hopper in clusters of 2 on 2 blocks of 128
//             threads an SM (fewer and not persistent is right too), SHARED_BYTES of dynamic shared memory each; where C has
//             an odd number of row tiles sgemm_hopper_single, without clusters. The second is launched while the first
//             still runs (programmatic stream serialization) and waits for it inside.
// Assumes:    fast path: n and the rows of B and C are multiples of 4, bases of B and C are 16-byte aligned, k > 0; A may
//             lie anyhow. All else goes to the guarded path of `warptiled`. Needs sm_90a. Where C has few tiles the plan
//             launches the kernels of small_output.cu in the place of both.

#include "../cluster.cuh"

constexpr int LANES_M = 8;  // of a warp, along M; four along N
constexpr int WARPS_N = 2;
constexpr int WM = LANES_M * TM;
constexpr int WN = 4 * TN;
constexpr int WARPS = (BM / WM) * WARPS_N;
constexpr int THREADS = WARPS * WARP_SIZE;
constexpr int GROUP_ROWS = 8;  // row tiles that are walked together
constexpr int HALF_K = BK / 2;  // rows of B in one box
constexpr int LAG = 2;         // a stage is refilled LAG stages after it was read: who refills waits for nobody
constexpr int SUM_ROWS = 4;    // rows of another worker's sums that are under way at once
constexpr int PASSES = BK / UNROLL_K;
constexpr uint32_t A_BYTES = BK * BM * 4;
constexpr uint32_t B_BYTES = BK * BN * 4;
static_assert(BM == 128 && BN == 128 && WM == 64 && WN == 64 && WARPS == 4, "2 x 2 warps of 64 x 64; rows of 512 bytes");
static_assert(TM % 4 == 0 && TN % 4 == 0 && TM % SUM_ROWS == 0, "fragments are read four at a time");
static_assert(BK % UNROLL_K == 0 && BK % 2 == 0 && UNROLL_K % 2 == 0, "fragments alternate between two buffers");
static_assert(STAGES > LAG && A_BYTES == B_BYTES, "one jump serves both rings of stages");

/// One stretch of K steps of one tile; k counts steps of BK.
struct Segment {
  int row, col, k, steps;
};

struct Shared {
  alignas(128) float stage[2][STAGES][BK][128];  // [0] are boxes of the transposed A, [1] of B: rings of rows
  Segment segments[SEGMENTS];
  alignas(8) uint64_t full[STAGES], empty[STAGES + 1];  // one more empty, for the stage before the first
  int count, total_steps;
  alignas(16) float out[WARPS][LANES_M][WN];  // one row of every lane, on its way to C
};
static_assert(sizeof(Shared) <= SHARED_BYTES, "what stages.toml asks for");
static_assert(2 * (SHARED_BYTES + 1024) <= 228 * 1024, "two blocks fit into an SM, which keeps 1 KiB for each");

/// Kept in a register: left to itself ptxas computes shared addresses anew at every use, 40 cycles each.
__device__ __forceinline__ uint32_t opaque(uint32_t value) {
  asm volatile("mov.b32 %0, %0;" : "+r"(value));
  return value;
}

/// The four loads of B before the two of A: load4_shared keeps the order.
__device__ __forceinline__ void load_fragments(float (&a)[TM], float (&b)[TN], uint32_t a_from, uint32_t b_from) {
#pragma unroll
  for (int q = 0; q < TN / 4; ++q) load4_shared(b + 4 * q, b_from + q * 16 * 4);
#pragma unroll
  for (int q = 0; q < TM / 4; ++q) load4_shared(a + 4 * q, a_from + q * 32 * 4);
}

/// Row by row, in alternating directions, so that the operand at the turn is shared. Volatile keeps the order.
__device__ __forceinline__ void outer_product(float (&acc)[TM][TN], const float (&a)[TM], const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int turn = 0; turn < TN; ++turn) {
      const int j = (i & 1) ? TN - 1 - turn : turn;
      asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(acc[i][j]) : "f"(a[i]), "f"(b[j]));
    }
  }
}

/// What a block does, in a cluster of BLOCKS: known when compiled, since ptxas else loses the order of the main loop.
template <int BLOCKS>
__device__ __forceinline__ void multiply(const CUtensorMap& map_at, const CUtensorMap& map_b, float* __restrict__ c, int m,
                                         int n, int k, int ldc, float alpha, float beta, int split_tiles,
                                         float* __restrict__ partial, uint32_t* flags) {
  Shared& s = dynamic_shared<Shared>();
  const int tid = threadIdx.x, warp = uniform(tid / WARP_SIZE), lane = tid % WARP_SIZE;
  const int rank = blockIdx.x % BLOCKS;
  // A worker is a cluster, and a tile its blocks' tiles, one below the other.
  const int tiles_m = ceil_div(m, BM * BLOCKS), tiles_n = ceil_div(n, BN), steps_k = ceil_div(k, BK);
  const int worker = blockIdx.x / BLOCKS, workers = gridDim.x / BLOCKS, group = GROUP_ROWS / BLOCKS;
  const int split_steps = split_tiles * steps_k;
  const int whole = tiles_m * tiles_n - split_tiles;  // tiles computed by one worker each
  const int my_whole = whole / workers + (worker < whole % workers);
  const int share = split_steps / workers, longer = split_steps % workers;  // the first `longer` workers take one more
  const auto split_begin = [&](int w) { return share * w + min(w, longer); };
  const auto segment_of = [&](int tile, int first, int steps) {
    Segment g;
    grouped_raster(tile, group, tiles_m, tiles_n, g.row, g.col);
    g.row = (g.row * BLOCKS + rank) * BM;
    g.col *= BN;
    g.k = first;
    g.steps = steps;
    return g;
  };

  // This worker's segments: whole tiles first, then its share of the split ones, at most three stretches.
#pragma unroll 1
  for (int i = tid; i < my_whole; i += THREADS) {
    s.segments[i] = segment_of(split_tiles + worker + i * workers, 0, steps_k);
  }
  if (tid == 0) {
    int count = my_whole;
    const int end = split_begin(worker + 1);
    // Neighbours begin at other k; workers that begin at the same k have tiles `columns` apart. Walked row by row of the
    // group, those lie below each other and read the same boxes of B together, which else come from DRAM for each.
    const int columns = split_tiles % group == 0 ? split_tiles / group : split_tiles;
    for (int at = split_begin(worker); at < end;) {
      const int tile = at / steps_k;
      const int walked = tile % columns * (split_tiles / columns) + tile / columns;
      const Segment g = segment_of(walked, at % steps_k, min(steps_k - at % steps_k, end - at));
      at += g.steps;
      s.segments[count++] = g;
    }
    s.count = count;
    s.total_steps = my_whole * steps_k + end - split_begin(worker);
    for (int i = 0; i < STAGES; ++i) barrier_init(shared_address(&s.full[i]), 1);       // who announces the bytes
    for (int i = 0; i <= STAGES; ++i) barrier_init(shared_address(&s.empty[i]), WARPS * BLOCKS);  // a lane of every warp
    publish_barriers();
  }
  __syncthreads();  // the segments and the barriers are written before any thread reads them
  if (BLOCKS > 1) cluster_sync();  // and every block's barriers before another's boxes and arrivals reach them
  // The whole transpose is done before a box of it is asked for, and before a flag that it zeroes is looked at.
  wait_for_kernel_before();
  const int total = uniform(s.total_steps), count = uniform(s.count);

  const uint32_t stages = opaque(shared_address(&s.stage[0][0][0][0]));
  const uint32_t full = opaque(shared_address(&s.full[0])), empty = opaque(full + STAGES * 8);

  // Warps take turns at refilling, so that none of them, and no scheduler, carries all of it.
  int turn = warp < LAG ? warp + WARPS : warp;  // the step at which this warp refills next; before LAG nothing is free
  int fill_segment = 0, fill_k = turn + STAGES - LAG;  // what it loads then: steps counted from the segment's begin
  const auto fill = [&](int step) {
    const int use = step / STAGES, slot = step % STAGES;
    const uint32_t barrier = full + slot * 8;
    if (use > 0) barrier_wait(empty + slot * 8, (use - 1) & 1);  // all warps have read what is overwritten
    if (step >= total) {  // nothing: completed without bytes, so that waiting for the next stage needs no condition
      if (step == total) warp_arrive(barrier);
      return;
    }
    Segment g = s.segments[fill_segment];
    while (fill_k >= g.steps) {
      fill_k -= g.steps;
      g = s.segments[++fill_segment];
    }
    if (elected()) {
      expect_bytes(barrier, A_BYTES + B_BYTES);
      load_box(stages + slot * A_BYTES, &map_at, g.row, (g.k + fill_k) * BK, barrier);
      const uint32_t b = stages + STAGES * A_BYTES + slot * B_BYTES + rank * (B_BYTES / 2);
      const int k_b = (g.k + fill_k) * BK + rank * HALF_K;
      if (BLOCKS > 1) {  // each block loads half of B's tile, for both
        load_box_to_blocks(b, &map_b, g.col, k_b, barrier, 3);
      } else {
        load_box(b, &map_b, g.col, k_b, barrier);
        load_box(b + B_BYTES / 2, &map_b, g.col, k_b + HALF_K, barrier);
      }
    }
  };
  if (total == 0) return;  // as every block of the cluster
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

  const int lane_m = lane / 4, lane_n = lane % 4;
  const uint32_t a_lane = (warp / WARPS_N * WM + lane_m * 4) * 4;
  const uint32_t b_lane = STAGES * A_BYTES + (warp % WARPS_N * WN + lane_n * 4) * 4;

  float acc[TM][TN], a[2][TM], b[2][TN];
  constexpr uint32_t PASS_BYTES = UNROLL_K * 128 * 4;
  uint32_t release = empty + STAGES * 8;  // of the stage before the one being read
  uint32_t next_full = full, parity = 0;  // of the stage behind it
  int step = 0;                           // of all this worker's steps
  uint32_t a_at = stages + a_lane, b_at = stages + b_lane;
  barrier_wait(full, 0);  // the first stage has landed before its fragments are read
  load_fragments(a[0], b[0], a_at, b_at);

  for (int i_segment = 0; i_segment < count; ++i_segment) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) acc[i][j] = 0.0f;
    }

    int left = s.segments[i_segment].steps;
#pragma unroll 1
    do {
      // The last fragments of that stage went into products long ago. The other block, which loads half of B, is told too.
      warp_arrive(release);
      if (BLOCKS > 1 && elected()) barrier_arrive(release, rank ^ 1);
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
      barrier_wait(next_full, parity);  // the next stage has landed: the last pass reads its first fragments
#pragma unroll 1
      for (int pass = PASSES; pass > 0; --pass) {
        const uint32_t by = pass == 1 ? jump : PASS_BYTES;
        const uint32_t a_next = a_at + by, b_next = b_at + by;
#pragma unroll
        for (int p = 0; p < UNROLL_K; ++p) {
          const bool here = p + 1 < UNROLL_K;
          load_fragments(a[(p + 1) & 1], b[(p + 1) & 1], here ? a_at + (p + 1) * 512 : a_next,
                         here ? b_at + (p + 1) * 512 : b_next);
          outer_product(acc, a[p & 1], b[p & 1]);
        }
        a_at = a_next;
        b_at = b_next;
      }
    } while (--left > 0);

    const Segment g = s.segments[i_segment];
    // All below takes the accumulators one by one: as parts of a vector they would have to lie in aligned quads, with the
    // parity of B's quads, and every FFMA of the main loop would read one register bank twice.
    if (g.k > 0) {  // the tile's first step is another worker's: hand the sums over
      float* out = partial + static_cast<size_t>(blockIdx.x) * (BM * BN) + tid;
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) __stcg(out + (i * TN + j) * THREADS, acc[i][j]);
      }
      __syncwarp();  // all lanes' sums are stored before lane 0 publishes them
      if (lane == 0) {
        __threadfence();
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags + blockIdx.x * WARPS + warp), "r"(1) : "memory");
      }
      continue;
    }
    if (g.steps < steps_k) {  // the rest of this tile comes from the workers after us, in their order: always the same
      const int tile_end = (split_begin(worker + 1) - g.steps) / steps_k * steps_k + steps_k;
      for (int w = worker + 1; w < workers && split_begin(w) < tile_end; ++w) {
        if (split_begin(w) == split_begin(w + 1)) continue;  // had nothing to do
        if (lane == 0) {
          uint32_t seen;
          do {
            const uint32_t* flag = flags + (w * BLOCKS + rank) * WARPS + warp;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
          } while (seen == 0);
        }
        __syncwarp();  // lane 0 has seen the flag before any lane reads the sums
        const float* in = partial + static_cast<size_t>(w * BLOCKS + rank) * (BM * BN) + tid;
#pragma unroll
        for (int i = 0; i < TM; i += SUM_ROWS) {  // ptxas keeps the order written here: 64 loads in flight
          float v[SUM_ROWS][TN];
#pragma unroll
          for (int j = 0; j < SUM_ROWS * TN; ++j) v[j / TN][j % TN] = __ldcg(in + (i * TN + j) * THREADS);
#pragma unroll
          for (int j = 0; j < SUM_ROWS * TN; ++j) acc[i + j / TN][j % TN] += v[j / TN][j % TN];
        }
      }
    }
    const int row0 = g.row + warp / WARPS_N * WM + lane_m * 4, col0 = g.col + warp % WARPS_N * WN + lane_n * 4;
    float* stage = &s.out[warp][lane_m][lane_n * 4];
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared_address(stage + j / 4 * 16 + j % 4)), "f"(alpha * acc[i][j]));
      }
      // A lane reads back what it wrote itself, so no barrier is needed.
      const int row = row0 + i / 4 * 32 + i % 4;
      float* out = c + static_cast<size_t>(row) * ldc + col0;
#pragma unroll
      for (int q = 0; q < TN / 4; ++q) {
        float v[4];
        load4_shared(v, shared_address(stage + q * 16));
        if (row < m && col0 + q * 16 < n) {
          if (beta != 0.0f) {  // else C is not read: it may hold NaN or nothing yet
            const float4 before = as_float4(out + q * 16);
            v[0] += beta * before.x, v[1] += beta * before.y, v[2] += beta * before.z, v[3] += beta * before.w;
          }
          as_float4(out + q * 16) = make_float4(v[0], v[1], v[2], v[3]);
        }
      }
    }
  }
  __syncwarp();  // a warp arrives at the cluster's barrier as one
  // No block ends while the other's boxes or arrivals may still reach its shared memory.
  if (BLOCKS > 1) cluster_sync();
}

/// In clusters of two: a tile is 256 rows of C, half of them each block's, and B's part of it is loaded once for both.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    sgemm_hopper(const __grid_constant__ CUtensorMap map_at, const __grid_constant__ CUtensorMap map_b,
                 float* __restrict__ c, int m, int n, int k, int ldc, float alpha, float beta,
                 int split_tiles,              // tiles 0 … split_tiles - 1 are shared out over K, the rest are whole
                 float* __restrict__ partial,  // [block][element][thread]: sums of one tile a block
                 uint32_t* flags) {            // [block][warp]: 1 once that warp's sums are there; zeroed by transpose_a
  multiply<2>(map_at, map_b, c, m, n, k, ldc, alpha, beta, split_tiles, partial, flags);
}

/// Without clusters, where an odd number of row tiles would leave half a cluster idle.
extern "C" __global__ void __launch_bounds__(THREADS, 2) sgemm_hopper_single(
    const __grid_constant__ CUtensorMap map_at, const __grid_constant__ CUtensorMap map_b, float* __restrict__ c, int m,
    int n, int k, int ldc, float alpha, float beta, int split_tiles, float* __restrict__ partial, uint32_t* flags) {
  multiply<1>(map_at, map_b, c, m, n, k, ldc, alpha, beta, split_tiles, partial, flags);
}

constexpr int PIECE_M = 128;  // rows and columns of A that a block transposes at a time
constexpr int PIECE_K = 32;
constexpr int TRANSPOSE_THREADS = 256;
static_assert(PIECE_K == 32 && PIECE_M == 4 * PIECE_K, "a row of a piece is one float of every bank");

/// at[k][m] = a[m][k]; pieces are walked along M first. Zeroes the flags of the kernel behind it as well.
extern "C" __global__ void __launch_bounds__(TRANSPOSE_THREADS, 8)
    transpose_a(const float* __restrict__ a, float* __restrict__ at, int m, int k, int lda, int ldat,
                uint32_t* __restrict__ flags, int flag_count) {
  // Threads read every fourth row: rows 32 apart, which a pad of 1 leaves in one bank, are turned by one column each.
  __shared__ float tile[PIECE_M][PIECE_K + 1];
  const auto at_row = [&](int row, int col) -> float& { return tile[row][(col + row / 32) % PIECE_K]; };
  // Every block of this grid runs by now. Those that multiply take the places that these leave, and wait for all of them.
  allow_next_kernel();
  for (int i = blockIdx.x * TRANSPOSE_THREADS + threadIdx.x; i < flag_count; i += gridDim.x * TRANSPOSE_THREADS) {
    flags[i] = 0;
  }
  const int pieces_m = ceil_div(m, PIECE_M), pieces = pieces_m * ceil_div(k, PIECE_K);
  for (int p = blockIdx.x; p < pieces; p += gridDim.x) {
    const int m0 = p % pieces_m * PIECE_M, k0 = p / pieces_m * PIECE_K;
    const int x = threadIdx.x % 8 * 4, y = threadIdx.x / 8;
    const bool wide = lda % 4 == 0 && reinterpret_cast<uintptr_t>(a) % 16 == 0 && k0 + PIECE_K <= k;
#pragma unroll
    for (int r = 0; r < PIECE_M; r += TRANSPOSE_THREADS / 8) {
      const int row = m0 + y + r;
      float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      if (row < m) {
        const float* from = a + static_cast<size_t>(row) * lda + k0 + x;
        if (wide) {
          const float4 q = __ldcs(reinterpret_cast<const float4*>(from));
          v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (k0 + x + e < k) v[e] = from[e];
          }
        }
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) at_row(y + r, x + e) = v[e];
    }
    __syncthreads();  // the piece is complete before any thread reads across it
    constexpr int QUADS = PIECE_M / 4;
    const int mm = threadIdx.x % QUADS * 4, kk = threadIdx.x / QUADS;
#pragma unroll
    for (int r = 0; r < PIECE_K; r += TRANSPOSE_THREADS / QUADS) {
      if (m0 + mm < m && k0 + kk + r < k) {  // ldat is a multiple of 4 and covers m, so the quad fits
        as_float4(at + static_cast<size_t>(k0 + kk + r) * ldat + m0 + mm) =
            make_float4(at_row(mm, kk + r), at_row(mm + 1, kk + r), at_row(mm + 2, kk + r), at_row(mm + 3, kk + r));
      }
    }
    __syncthreads();  // all threads are done with the piece before the next one overwrites it
  }
}
