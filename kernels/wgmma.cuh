// What kernels of warpgroup-wide products share: the types of A and B, descriptors of operands in shared memory.
#pragma once

#include "cluster.cuh"
#include "half.cuh"

#if BF16
#define AB_TYPES "bf16.bf16"
#else
#define AB_TYPES "f16.f16"
#endif

// Sums d as operands of inline assembly, from d[i] on.
#define OUT4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define OUT16(i) OUT4(i), OUT4(i + 4), OUT4(i + 8), OUT4(i + 12)

/// Where an operand lies in shared memory, with 128-byte swizzle. K-major (A): `stride` between groups of 8 rows, `leading`
/// unused. N-major (B): `leading` between chunks of 64 columns, `stride` between groups of 8 k.
__device__ __forceinline__ uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | 1ull << 62;
}

/// A group of products: sums may be used by it from here on, …
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// … it has been asked for, and is over.
__device__ __forceinline__ void products_end() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// d = a * b, or d += a * b: 64 x 64 x 16 by the whole warpgroup. The 1, 1 are signs, 0, 1 say K-major A and N-major B.
__device__ __forceinline__ void wgmma_n64(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." AB_TYPES " {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 1;\n"
      "}\n"
      : OUT16(0), OUT16(16)
      : "l"(a), "l"(b), "r"(accumulate));
}

/// d = a * b, or d += a * b: 64 x 128 x 16, likewise.
__device__ __forceinline__ void wgmma_n128(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." AB_TYPES " {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 1;\n"
      "}\n"
      : OUT16(0), OUT16(16), OUT16(32), OUT16(48)
      : "l"(a), "l"(b), "r"(accumulate));
}
