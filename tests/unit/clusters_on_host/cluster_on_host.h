// Enough of Hopper to run a kernel of clusters on the CPU: all threads of a grid are fibers, mbarriers count arrivals and
// bytes, the copy engine swizzles boxes, wgmma reads operands by their descriptors. What is asynchronous happens late and in
// an order of chance, so that a missing wait gives wrong results; an access to a block that has ended is an error. A kernel
// that is launched early starts as soon as the one before it allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "../kernels_on_host/qualifiers.h"

#define __grid_constant__
#define __restrict__

#define __syncthreads() host::block_sync()
#define __syncwarp() host::warp_sync()
#define threadIdx host::thread_index()
#define blockIdx host::block_index()
#define gridDim host::grid_dim()
#define blockDim host::block_dim()

using std::max;
using std::min;

struct Index {
  int x, y, z;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace host {

Index grid_dim();
Index block_dim();
Index thread_index();
Index block_index();

/// Dynamic shared memory of the running thread's block.
unsigned char* shared_memory();
uint32_t address_of(const void* shared);

/// Wait, while others run, until something is so.
void until(const std::function<bool()>& so);
void block_sync();
void warp_sync();

}  // namespace host

inline uint32_t __cvta_generic_to_shared(const void* p) { return host::address_of(p); }
inline int __shfl_sync(unsigned, int value, int) { return value; }
inline float4 __ldcg(const float4* p) { return *p; }
inline void __stcg(float4* p, const float4& v) { *p = v; }
inline int __ffs(int value) { return __builtin_ffs(value); }

// What the project's headers say in PTX.
void barrier_init(uint32_t barrier, int arrivals);
inline void publish_barriers() {}
void barrier_wait(uint32_t barrier, uint32_t parity);
void expect_bytes(uint32_t barrier, uint32_t bytes);
void arrive(uint32_t barrier);
void barrier_arrive(uint32_t barrier, uint32_t block);
bool elected();
void warp_arrive(uint32_t barrier);
struct CUtensorMap;
void load_box(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t barrier);
void load_box_to_blocks(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t barrier, int blocks);
inline void prefetch_map(const CUtensorMap*) {}
void allow_next_kernel();
void wait_for_kernel_before();
void load4_shared(float* to, uint32_t address);
void cluster_arrive_relaxed();
inline void cluster_arrive() { cluster_arrive_relaxed(); }
void cluster_wait();
uint32_t cluster_rank();
void send_quad(uint32_t to, uint32_t barrier, uint32_t block, const float* v);
inline void wait_for_sums(uint32_t barrier) { barrier_wait(barrier, 0); }
inline void products_begin() {}
void products_end();
void wgmma_n64(float (&d)[32], uint64_t a, uint64_t b, int accumulate);
void wgmma_n128(float (&d)[64], uint64_t a, uint64_t b, int accumulate);
inline uint32_t count_in(uint32_t* counter) { return (*counter)++; }
