// How blocks of a cluster wait for each other, and how clusters that share a tile of C meet: each leaves its sums in a
// workspace, and the last to come adds up all of them, in the clusters' order: the same bits whoever is last.
#pragma once

#include "hopper.cuh"

/// The barrier of all threads of a cluster, in two halves; what was written before the first is seen after the second.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// The same first half, where what others will use was released before, as by publish_barriers.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void add_quad(float4& to, const float4& more) {
  to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
}

constexpr int CLUSTERS_AT_ONCE = 8;  // whose sums are under way together

/// [tile][block of a cluster]: clusters whose sums are there. Zero when loaded, and left zero by every launch.
constexpr int MOST_ARRIVALS = 1024;
__device__ uint32_t arrivals[MOST_ARRIVALS];

/// Count this block's sums in, which its threads have written; true in all threads where those of `clusters` are there.
/// All threads of the block call it. `last` is shared memory.
__device__ __forceinline__ bool last_to_come(uint32_t* counter, int clusters, volatile int* last) {
  __threadfence();
  __syncthreads();  // all threads' sums are visible before one of them counts this block
  if (threadIdx.x == 0) {
    const bool is_last = atomicAdd(counter, 1) == static_cast<uint32_t>(clusters - 1);
    if (is_last) *counter = 0;  // for the next launch
    *last = is_last;
    __threadfence();
  }
  __syncthreads();  // one thread knows whether this block is the last before others ask
  return *last != 0;
}

/// The sum of a place of the tile over its clusters, whose parts lie `stride` apart.
__device__ __forceinline__ float4 sum_of_clusters(const float4* first, size_t stride, int clusters) {
  float4 sum = __ldcg(first);
  for (int begin = 1; begin < clusters; begin += CLUSTERS_AT_ONCE) {
    float4 of[CLUSTERS_AT_ONCE];
#pragma unroll
    for (int i = 0; i < CLUSTERS_AT_ONCE; ++i) {
      if (begin + i < clusters) of[i] = __ldcg(first + (begin + i) * stride);
    }
#pragma unroll
    for (int i = 0; i < CLUSTERS_AT_ONCE; ++i) {
      if (begin + i < clusters) add_quad(sum, of[i]);
    }
  }
  return sum;
}
