// Tiles of 16-bit elements: copied to shared memory 16 bytes, eight elements, at a time (cp.async, sm_80 and later).
#pragma once

#include <stdint.h>

#include "copy_async.cuh"
#include "half.cuh"

constexpr int CHUNK = 8;  // elements of 16 bytes: what a thread copies at once

/// Whether a chunk may be copied at once: all of it lies inside the matrix, and aligned.
__device__ __forceinline__ bool is_whole_chunk(const View<const Half>& view, int row, int col) {
  return view.has(row, col + CHUNK - 1) &&
         reinterpret_cast<uintptr_t>(&view.at(row, col)) % (CHUNK * sizeof(Half)) == 0;
}

/// Copy elements (row, col … col + 7). The guarded path copies what is no whole chunk element by element, zeros for what lies
/// outside the matrix.
__device__ __forceinline__ void copy_chunk(Half* shared, const View<const Half>& view, int row, int col) {
  if (!GUARDED || is_whole_chunk(view, row, col)) {
    __pipeline_memcpy_async(shared, &view.at(row, col), CHUNK * sizeof(Half));
  } else {
    for (int j = 0; j < CHUNK; ++j) {
      shared[j] = load(view, row, col + j);
    }
  }
}
