// Tiles of 16-bit elements: copied to shared memory 16 bytes, eight elements, at a time (cp.async, sm_80 and later).
#pragma once

#include <stdint.h>

#include "copy_async.cuh"
#include "half.cuh"

#ifdef __CUDACC__  // the CPU knows one kind of address
#include "shared_address.cuh"
#endif

constexpr int CHUNK = 8;  // elements of 16 bytes: what a thread copies at once

/// Whether a chunk may be copied at once: all of it lies inside the matrix, and aligned.
__device__ __forceinline__ bool is_whole_chunk(const View<const Half>& view, int row, int col) {
  return view.has(row, col + CHUNK - 1) &&
         reinterpret_cast<uintptr_t>(&view.at(row, col)) % (CHUNK * sizeof(Half)) == 0;
}

/// 16 bytes by cp.async, through L1 or past it. A sector that lands in two of shared memory, as in rows that begin in the middle
/// of one, is fetched for each: L1 answers the second fetch, which else goes to L2 again.
template <bool THROUGH_L1>
__device__ __forceinline__ void copy_16_bytes(void* shared, const void* from) {
#ifdef __CUDA_ARCH__
  if (THROUGH_L1) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(from) : "memory");
    return;
  }
#endif
  __pipeline_memcpy_async(shared, from, 16);
}

/// Copy elements (row, col … col + 7). The guarded path copies what is no whole chunk element by element, zeros for what lies
/// outside the matrix.
template <bool THROUGH_L1 = false>
__device__ __forceinline__ void copy_chunk(Half* shared, const View<const Half>& view, int row, int col) {
  if (!GUARDED || is_whole_chunk(view, row, col)) {
    copy_16_bytes<THROUGH_L1>(shared, &view.at(row, col));
  } else {
    for (int j = 0; j < CHUNK; ++j) {
      shared[j] = load(view, row, col + j);
    }
  }
}
