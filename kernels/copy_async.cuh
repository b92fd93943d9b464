// Copies from global to shared memory that pass no register and that nobody waits for (cp.async, sm_80 and later).
//
// A thread's copies since its last __pipeline_commit() form a group; __pipeline_wait_prior(n) waits until all but its n
// youngest groups have landed. That makes them visible to the thread itself: others need a barrier after it.
#pragma once

#include <cuda_pipeline.h>

#include "common.cuh"

/// Copy one float; the guarded path writes zero for what lies outside the matrix.
__device__ __forceinline__ void copy_async(float* shared, const View<const float>& view, int row, int col) {
  if (!GUARDED || view.has(row, col)) {
    __pipeline_memcpy_async(shared, &view.at(row, col), sizeof(float));
  } else {
    *shared = 0.0f;
  }
}

/// Copy four neighbouring floats at once; the guarded path copies them one by one, since they may not be aligned.
__device__ __forceinline__ void copy_async4(float* shared, const View<const float>& view, int row, int col) {
  if (GUARDED) {
    for (int j = 0; j < 4; ++j) {
      copy_async(shared + j, view, row, col + j);
    }
  } else {
    __pipeline_memcpy_async(shared, &view.at(row, col), sizeof(float4));
  }
}
