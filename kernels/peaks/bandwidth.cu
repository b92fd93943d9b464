// What memory gives at most: DRAM copied and read, L2 and shared memory read. No stage of the ladder: measured before
// stages are timed, to stand beside the peaks of datasheets and reports.
//
// All loads are 16 bytes a lane, the widest there are, and several of a thread are in flight at once. What is read is
// summed, and written only where the sum has a value it never takes, so that the compiler keeps the loads.

constexpr float NEVER = -1.25e-37f;  // no sum of what the buffers hold: zeros

/// 16-byte loads that a thread has in flight.
constexpr int IN_FLIGHT = 8;

__device__ __forceinline__ void add(float& sum, const float4& part) { sum += part.x + part.y + part.z + part.w; }

/// Copy grid x block x 4 elements of 16 bytes, each thread four that lie a block apart.
extern "C" __global__ void __launch_bounds__(256) dram_copy(const float4* from, float4* to) {
  constexpr int EACH = 4;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * EACH + threadIdx.x;
  float4 held[EACH];
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    held[i] = __ldcs(from + first + i * 256);
  }
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    __stcs(to + first + i * 256, held[i]);
  }
}

/// Read grid x block x IN_FLIGHT elements of 16 bytes once.
extern "C" __global__ void __launch_bounds__(256) dram_read(const float4* from, float* sink) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * IN_FLIGHT + threadIdx.x;
  float4 held[IN_FLIGHT];
#pragma unroll
  for (int i = 0; i < IN_FLIGHT; ++i) {
    held[i] = __ldcs(from + first + i * 256);
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < IN_FLIGHT; ++i) {
    add(sum, held[i]);
  }
  if (sum == NEVER) *sink = sum;
}

/// Read a buffer of mask + 1 elements (a power of two that fits L2) over and over, past L1.
extern "C" __global__ void __launch_bounds__(512) l2_read(const float4* from, float* sink, int mask, int rounds) {
  const unsigned threads = gridDim.x * blockDim.x;
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    float4 held[IN_FLIGHT];
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; ++i) {
      held[i] = __ldcg(from + (at & static_cast<unsigned>(mask)));
      at += threads;
    }
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; ++i) {
      add(sum, held[i]);
    }
  }
  if (sum == NEVER) *sink = sum;
}

/// Read shared memory over and over, every lane its own 16 bytes beside its neighbour's: four wavefronts a load.
extern "C" __global__ void __launch_bounds__(512) shared_read(float* sink, int rounds) {
  constexpr int SPAN = 1024;  // where a load may begin; the others of a round follow it
  __shared__ float4 tile[2 * SPAN];
  for (int i = threadIdx.x; i < 2 * SPAN; i += blockDim.x) {
    tile[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  __syncthreads();  // the tile is written before it is read
  float sum = 0.0f;
  unsigned at = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; ++i) {
      add(sum, tile[at + i * (SPAN / IN_FLIGHT)]);
    }
    at = (at + 32u) % SPAN;
  }
  if (sum == NEVER) *sink = sum;
}
