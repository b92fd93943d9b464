// Fragments in registers whose layout is known: ldmatrix and mma.sync m16n8k16, by whole warps (sm_80 and later).
//
// With g = lane / 4 and t = lane % 4 a lane holds, of an 8 x 8 matrix, elements (g, 2 t) and (g, 2 t + 1) in one register;
// of A (16 x 16) four such matrices, the upper and lower of the left half first; of B (16 x 8) two, transposed; of C (16 x 8)
// elements (g, 2 t), (g, 2 t + 1), (g + 8, 2 t) and (g + 8, 2 t + 1).
#ifndef MMA_SYNC_CUH  // a name, since on the CPU a stand-in takes the place of this file
#define MMA_SYNC_CUH

#include <stdint.h>

#include "half.cuh"

/// Four 8 x 8 matrices; lanes 8 i … 8 i + 7 name the rows of matrix i. Volatile keeps loads on their side of a barrier.
__device__ __forceinline__ void load_matrices(uint32_t* to, uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row));
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t* to, uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row));
}

#if BF16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif

/// d += a * b.
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm(MMA "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
