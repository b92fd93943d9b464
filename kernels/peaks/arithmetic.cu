// What arithmetic gives at most: FP32 FMAs, and FP16 products by mma.sync. No stage of the ladder: measured before
// stages are timed, to stand beside the peaks of datasheets and reports.
//
// Everything is in registers. Each thread (each warp, for mma.sync) has chains that do not depend on each other, more
// than the latency of an instruction needs. Operands change little, so power limits these kernels later than others.

constexpr float NEVER = -1.25e-37f;  // no sum of the chains: all their values are positive
constexpr int CHAINS = 16;
constexpr int REPEATS = 16;  // of all chains in one round: the loop itself costs under 2 %

/// rounds x REPEATS x CHAINS FMAs a thread; with factor in (0, 1) the chains stay finite.
extern "C" __global__ void __launch_bounds__(256) fp32_fma(float* sink, float factor, float term, int rounds) {
  float value[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) {
    value[i] = 1.0f + static_cast<float>(threadIdx.x + i);
  }
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < REPEATS; ++repeat) {
#pragma unroll
      for (int i = 0; i < CHAINS; ++i) {
        value[i] = fmaf(value[i], factor, term);
      }
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) {
    sum += value[i];
  }
  if (sum == NEVER) *sink = sum;
}

#if __CUDA_ARCH__ >= 800
constexpr int TILES = 8;         // accumulators of a warp
constexpr int TILE_REPEATS = 8;  // of all of them in one round

/// rounds x TILE_REPEATS x TILES products of 16 x 8 x 16 a warp, FP16 into FP32.
extern "C" __global__ void __launch_bounds__(256) fp16_mma(float* sink, int rounds) {
  const unsigned a = 0x14001400u + threadIdx.x % 32;  // two FP16 of about 2^-10
  const unsigned b = 0x14001400u + threadIdx.x / 32;
  float acc[TILES][4];
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      acc[tile][i] = 1.0f;
    }
  }
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < TILE_REPEATS; ++repeat) {
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
            : "+f"(acc[tile][0]), "+f"(acc[tile][1]), "+f"(acc[tile][2]), "+f"(acc[tile][3])
            : "r"(a), "r"(b));
      }
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
    sum += acc[tile][0] + acc[tile][1] + acc[tile][2] + acc[tile][3];
  }
  if (sum == NEVER) *sink = sum;
}
#endif
