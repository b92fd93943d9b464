// What kernels for sm_90a share: shared addresses, mbarriers, boxes that the copy engine (TMA) brings, grouped rasters.
//
// An mbarrier counts arrivals and announced bytes; when all of a phase are there, the phase is over and the next begins.
// Who waits names the parity of the phase: 0, 1, 0, … A wait for the parity before the first (1) returns at once.
#pragma once

#include <cuda.h>
#include <stdint.h>

#include "common.cuh"
#include "shared_address.cuh"

/// Of lane 0: the compiler then knows that the value is the same in the whole warp, and may keep it in a uniform register.
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(0xFFFFFFFF, value, 0); }

/// True in one lane of a converged warp.
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

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers known to the copy engine and to other blocks of the cluster; a barrier of threads follows.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Wait until the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra WAIT;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// One arrival for a whole warp; electing waits for every lane, so all their reads are done.
__device__ __forceinline__ void warp_arrive(uint32_t barrier) {
  asm volatile(
      "{\n"
      ".reg .pred one;\n"
      "elect.sync _|one, 0xFFFFFFFF;\n"
      "@one mbarrier.arrive.shared::cta.b64 _, [%0];\n"
      "}\n" ::"r"(barrier)
      : "memory");
}

/// One arrival without bytes.
__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// The arrival of the thread that asks for boxes: it announces their bytes, which count as they land.
__device__ __forceinline__ void expect_bytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Have the copy engine fetch a tensor map before it is first used.
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Ask for the box of a tensor map at column x, row y. What lies outside the matrix arrives as zeros, and counts.
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

/// Four floats at once (LDS.128). Volatile keeps the order in which such loads are written.
__device__ __forceinline__ void load4_shared(float* to, uint32_t address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(address));
}

/// The block's dynamic shared memory.
template <typename T>
__device__ __forceinline__ T& dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared_bytes[];
  return *reinterpret_cast<T*>(dynamic_shared_bytes);
}

/// The kernel behind this one, if it is launched early, may start as soon as all blocks here have said so.
__device__ __forceinline__ void allow_next_kernel() { asm volatile("griddepcontrol.launch_dependents;"); }

/// All that the kernel before this one wrote is there.
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// Row and column of the t-th of `rows_all` x `cols_all` tiles: groups of `group` rows, walked column by column, so that
/// tiles which run at the same time share rows of A and columns of B in the L2 cache.
__device__ __forceinline__ void grouped_raster(int t, int group, int rows_all, int cols_all, int& row, int& col) {
  const int per_group = group * cols_all;
  const int first = t / per_group * group;
  const int rows = min(group, rows_all - first);
  const int within = t % per_group;
  row = first + within % rows;
  col = within / rows;
}
