// What all kernels of the ladder share: views of matrices, checked and 16-byte accesses, and the epilogue.
//
// Every kernel is compiled with its tile sizes (BM, BN, … of stages.toml) and GUARDED as -D macros. GUARDED = 0 is the
// fast path: sizes are multiples of the tile and rows are aligned, so nothing is checked. GUARDED = 1 serves every
// shape and alignment: what a tile reads outside the matrix is zero, and nothing is written there.
#pragma once

#if !defined(GUARDED) || !defined(BM) || !defined(BN)
#error "pass the tile sizes of stages.toml and -DGUARDED=0 or 1 (ncu-lab build does)"
#endif

constexpr int WARP_SIZE = 32;

/// a / b rounded up, without overflow up to the largest int.
__host__ __device__ constexpr int ceil_div(int a, int b) { return a / b + (a % b != 0); }

/// A row-major matrix seen from one of its elements on.
template <typename T>
struct View {
  T* first;
  int ld;    // elements from one row to the next
  int rows;  // rows and columns left in the matrix; not positive: the view starts outside
  int cols;

  /// Element (row, col). The offset is 64 bit: row * ld may pass 2^31.
  __device__ T& at(int row, int col) const { return first[static_cast<long long>(row) * ld + col]; }
  __device__ bool has(int row, int col) const { return row < rows && col < cols; }
  __device__ View from(int row, int col) const {
    return {first + (static_cast<long long>(row) * ld + col), ld, rows - row, cols - col};
  }
};

/// An element, or zero outside the matrix: what kernels without a guarded twin use.
template <typename T>
__device__ __forceinline__ T load_or_zero(const View<const T>& view, int row, int col) {
  return view.has(row, col) ? view.at(row, col) : T(0.0f);
}

/// An element; the guarded path reads zero outside the matrix.
template <typename T>
__device__ __forceinline__ T load(const View<const T>& view, int row, int col) {
  return GUARDED ? load_or_zero(view, row, col) : view.at(row, col);
}

/// Four neighbouring floats as one 16-byte access: LDG.128, LDS.128, STG.128, STS.128. `p` is 16-byte aligned.
__device__ __forceinline__ float4& as_float4(float* p) { return *reinterpret_cast<float4*>(p); }
__device__ __forceinline__ const float4& as_float4(const float* p) { return *reinterpret_cast<const float4*>(p); }

/// Elements (row, col … col + 3); the guarded path reads them one by one, since nothing says that they are aligned.
__device__ __forceinline__ float4 load4(const View<const float>& view, int row, int col) {
  if (GUARDED) {
    return make_float4(load(view, row, col), load(view, row, col + 1), load(view, row, col + 2),
                       load(view, row, col + 3));
  }
  return as_float4(&view.at(row, col));
}

/// alpha * acc + beta * c, where beta = 0 means that C is not read: it may hold NaN or nothing yet.
__device__ __forceinline__ void store_c(float& c, float acc, float alpha, float beta) {
  c = beta == 0.0f ? alpha * acc : alpha * acc + beta * c;
}

/// The epilogue of one element; the guarded path writes only inside the matrix.
__device__ __forceinline__ void store(const View<float>& c, int row, int col, float acc, float alpha, float beta) {
  if (!GUARDED || c.has(row, col)) {
    store_c(c.at(row, col), acc, alpha, beta);
  }
}

/// The epilogue of elements (row, col … col + 3).
__device__ __forceinline__ void store4(const View<float>& c, int row, int col, const float* acc, float alpha,
                                       float beta) {
  if (GUARDED) {
    for (int j = 0; j < 4; ++j) {
      store(c, row, col + j, acc[j], alpha, beta);
    }
    return;
  }
  float4& target = as_float4(&c.at(row, col));
  float4 value = beta == 0.0f ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : target;
  store_c(value.x, acc[0], alpha, beta);
  store_c(value.y, acc[1], alpha, beta);
  store_c(value.z, acc[2], alpha, beta);
  store_c(value.w, acc[3], alpha, beta);
  target = value;
}
