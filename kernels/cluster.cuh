// How blocks of a cluster wait for each other, and how clusters that share a tile of C meet: each leaves its sums in a
// workspace, and the last to come adds up all of them, in the clusters' order: the same bits whoever is last.
#pragma once

#include "hopper.cuh"

/// The barrier of all threads of a cluster, in two halves; what was written before the first is seen after the second.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/// The same first half, where what others will use was released before, as by publish_barriers.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/// This block's number in its cluster.
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Send four sums to a place of a block of the cluster; its barrier counts their bytes as they arrive.
__device__ __forceinline__ void send_quad(uint32_t to, uint32_t barrier, uint32_t block, const float* v) {
  asm volatile(
      "{\n"
      ".reg .b32 remote, counter;\n"
      "mapa.shared::cluster.u32 remote, %0, %2;\n"
      "mapa.shared::cluster.u32 counter, %1, %2;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [remote], {%3, %4, %5, %6}, [counter];\n"
      "}\n" ::"r"(to),
      "r"(barrier), "r"(block), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
      : "memory");
}

/// Wait for the first phase of a barrier whose bytes other blocks' threads have sent.
__device__ __forceinline__ void wait_for_sums(uint32_t barrier) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "SUMS:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra SUMS;\n"
      "}\n" ::"r"(barrier)
      : "memory");
}

/// Arrive at a barrier of a block of the cluster. Spelled without .release.cluster, as waits are without .acquire.cluster:
/// nothing that they order was written by ordinary stores (the copy engine fills a stage; its readers are done when their
/// products are, or wgmma.wait_group), and those would make every K step pay a GPU-wide MEMBAR and a CCTL.IVALL, 30 % of all
/// time where it was tried.
__device__ __forceinline__ void barrier_arrive(uint32_t barrier, uint32_t block) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(barrier),
      "r"(block)
      : "memory");
}

/// Bring a box into the same place of every block of the cluster that `blocks` has a bit for, counted on each one's own
/// barrier.
__device__ __forceinline__ void load_box_to_blocks(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t barrier,
                                                   int blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<uint16_t>(blocks))
      : "memory");
}

__device__ __forceinline__ void add_quad(float4& to, const float4& more) {
  to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
}

constexpr int CLUSTERS_AT_ONCE = 8;  // whose sums are under way together

/// [tile][block of a cluster]: clusters whose sums are there. Zero when loaded, and left zero by every launch.
constexpr int MOST_ARRIVALS = 1024;
__device__ uint32_t arrivals[MOST_ARRIVALS];

/// Add one; return what was there. What this block's threads wrote before is there for whoever counts later.
__device__ __forceinline__ uint32_t count_in(uint32_t* counter) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

/// Count this block's sums in, which its threads have written; true in all threads where those of `clusters` are there.
/// All threads of the block call it. `last` is shared memory.
__device__ __forceinline__ bool last_to_come(uint32_t* counter, int clusters, volatile int* last) {
  __syncthreads();  // all threads have written before one of them counts this block, and so makes known what they wrote
  if (threadIdx.x == 0) {
    const bool is_last = count_in(counter) == static_cast<uint32_t>(clusters - 1);
    if (is_last) *counter = 0;  // for the next launch
    *last = is_last;
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
