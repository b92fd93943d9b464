// Enough of CUDA to run one kernel of the ladder on the CPU, one block after another, and to catch it cheating.
//
// A thread of the block is a fiber; it runs until it meets a barrier. So a thread sees what the others wrote only if a
// barrier stands between: a missing one gives wrong results, one that not all threads reach gives an error.
#pragma once

#include <algorithm>
#include <cstddef>

#include "qualifiers.h"

#define __align__(bytes) __attribute__((aligned(bytes)))
// All shared memory, static and dynamic, is the program's only thread-local memory, so that every block can start with it
// poisoned. (At block scope thread_local implies static, and agrees with extern.)
#define __shared__ thread_local

#define __syncthreads() host::wait(host::Barrier::block, __LINE__)
#define __syncwarp() host::wait(host::Barrier::warp, __LINE__)
#define threadIdx host::thread_index
#define blockIdx host::block_index
#define blockDim host::block_dim
#define gridDim host::grid_dim

using std::min;

struct Index {
  unsigned x, y, z;
};

struct alignas(8) float2 {
  float x, y;
};

inline float2 make_float2(float x, float y) { return {x, y}; }

struct alignas(16) float4 {
  float x, y, z, w;
};

inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace host {

enum class Barrier { none, warp, block };

extern Index thread_index;
extern Index block_index;
extern Index block_dim;
extern Index grid_dim;

/// Let the other threads run until all of the warp or block are here; `line` says which barrier this is. Does nothing
/// where it is the one to leave out.
void wait(Barrier barrier, int line);

/// Note that this thread takes part in an operation of its whole warp; lanes that differ are an error.
void note_warp_operation(int kind);

/// Hand `bytes` to all lanes of the warp, and take what each of the 32 handed over.
void exchange(const void* mine, size_t bytes, void* all);

/// cp.async: copy at once, or as late as the waits allow (`late_copies`).
void copy_async(void* to, const void* from, size_t bytes);
void commit_copies();
void wait_for_copies(int groups_left, int line);

unsigned lane();

}  // namespace host
