// What kernels of warpgroup-wide products share: the types of A and B, descriptors of operands in shared memory, boxes and
// arrivals that reach other blocks of the cluster.
#pragma once

#include "cluster.cuh"
#include "half.cuh"

#if BF16
#define AB_TYPES "bf16.bf16"
#else
#define AB_TYPES "f16.f16"
#endif

// Sums as operands of inline assembly, from d[i] on.
#define OUT4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define OUT16(i) OUT4(i), OUT4(i + 4), OUT4(i + 8), OUT4(i + 12)

/// Arrive at a barrier of a block of the cluster. Spelled without .release.cluster, as waits are without .acquire.cluster:
/// nothing that they order was written by ordinary stores (the copy engine fills a stage, wgmma.wait_group ends its reads),
/// and those would make every K step pay a GPU-wide MEMBAR and a CCTL.IVALL, 30 % of all time.
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

/// Where an operand lies in shared memory, with 128-byte swizzle. K-major (A): `stride` between groups of 8 rows, `leading`
/// unused. N-major (B): `leading` between chunks of 64 columns, `stride` between groups of 8 k.
__device__ __forceinline__ uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | 1ull << 62;
}
