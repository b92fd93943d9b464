// A stand-in for kernels/mma_sync.cuh: the same functions, by the layouts that PTX ISA gives for ldmatrix and mma.m16n8k16.
#pragma once
#define MMA_SYNC_CUH

#include <cstdint>
#include <cstring>

#include "cuda_fp16.h"
#include "cuda_on_host.h"

extern thread_local unsigned char raw[];  // dynamic shared memory, which 32-bit addresses count from

inline size_t __cvta_generic_to_shared(const void* p) { return static_cast<const unsigned char*>(p) - raw; }

namespace host {

inline float half_of(uint32_t pair, int which) {
  __half value;
  memcpy(&value, reinterpret_cast<const char*>(&pair) + which * sizeof value, sizeof value);
  return static_cast<float>(value);
}

inline void load_matrices(uint32_t* to, uint32_t row, bool transposed) {
  uint32_t rows[32];
  exchange(&row, sizeof row, rows);
  bool well_placed = true;  // rows are aligned, and the eight of a matrix in different banks
  const int g = lane() / 4, t = lane() % 4;
  for (int matrix = 0; matrix < 4; ++matrix) {
    unsigned banks = 0;
    for (int y = 0; y < 8; ++y) {
      banks |= 1u << rows[8 * matrix + y] / 16 % 8;
      well_placed &= rows[8 * matrix + y] % 16 == 0;
    }
    well_placed &= banks == 0xff;
    for (int which = 0; which < 2; ++which) {
      const int y = transposed ? 2 * t + which : g, x = transposed ? g : 2 * t + which;
      memcpy(reinterpret_cast<char*>(to + matrix) + which * 2, raw + rows[8 * matrix + y] + x * 2, 2);
    }
  }
  note_warp_operation(well_placed ? 3 : -1);
}

struct Operands {
  uint32_t a[4], b[2];
};

}  // namespace host

inline void load_matrices(uint32_t* to, uint32_t row) { host::load_matrices(to, row, false); }
inline void load_matrices_transposed(uint32_t* to, uint32_t row) { host::load_matrices(to, row, true); }

inline void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  host::note_warp_operation(2);
  host::Operands mine, all[32];
  memcpy(mine.a, a, sizeof mine.a);
  memcpy(mine.b, b, sizeof mine.b);
  host::exchange(&mine, sizeof mine, all);
  for (int i = 0; i < 4; ++i) {
    const int row = host::lane() / 4 + i / 2 * 8, col = host::lane() % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const uint32_t from_a = all[row % 8 * 4 + k % 8 / 2].a[row / 8 + k / 8 * 2];
      const uint32_t from_b = all[col * 4 + k % 8 / 2].b[k / 8];
      d[i] += host::half_of(from_a, k % 2) * host::half_of(from_b, k % 2);
    }
  }
}
