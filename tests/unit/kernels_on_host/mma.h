// The WMMA that kernels use. Every lane holds whole 16 x 16 fragments, but computes and writes only its own eight
// elements, and reads memory at the moment it arrives: WMMA orders no memory between lanes, so neither does this.
#pragma once

#include <cstdint>

#include "cuda_fp16.h"
#include "cuda_on_host.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
enum layout_t { mem_row_major };

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16);
  static constexpr int num_elements = 256;
  T x[num_elements];
};

template <typename T>
void check(const T* p, int ld) {
  const bool aligned = reinterpret_cast<uintptr_t>(p) % 32 == 0 && ld * sizeof(T) % 16 == 0;
  host::note_warp_operation(aligned ? 1 : -1);
}

template <typename Fragment, typename T>
void load_matrix_sync(Fragment& fragment, const T* p, int ld, layout_t = mem_row_major) {
  check(p, ld);
  for (int i = 0; i < fragment.num_elements; ++i) {
    fragment.x[i] = p[static_cast<long long>(i / 16) * ld + i % 16];
  }
}

template <typename Fragment, typename T>
void store_matrix_sync(T* p, const Fragment& fragment, int ld, layout_t) {
  check(p, ld);
  for (int i = host::lane() * 8; i < static_cast<int>(host::lane() + 1) * 8; ++i) {
    p[static_cast<long long>(i / 16) * ld + i % 16] = fragment.x[i];
  }
}

template <typename Fragment>
void fill_fragment(Fragment& fragment, float value) {
  for (float& x : fragment.x) {
    x = value;
  }
}

template <typename C, typename A, typename B>
void mma_sync(C& d, const A& a, const B& b, const C& c) {
  host::note_warp_operation(2);
  for (int own = host::lane() * 8; own < static_cast<int>(host::lane() + 1) * 8; ++own) {
    float sum = c.x[own];
    for (int p = 0; p < 16; ++p) {
      sum += static_cast<float>(a.x[own / 16 * 16 + p]) * static_cast<float>(b.x[p * 16 + own % 16]);
    }
    d.x[own] = sum;
  }
}

}  // namespace nvcuda::wmma
