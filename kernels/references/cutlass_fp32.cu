// C = alpha * A * B + beta * C, row-major, FP32 on CUDA cores: CUTLASS's SIMT GEMM, as a reference beside cuBLAS.
//
// Kernel:  128 x 256 x 8 a block of 256 threads, 64 x 64 a warp, cp.async in 4 stages; copied element by element, so that
//          every shape, leading dimension and alignment is served.
// Launch:  by CUTLASS's device API (prepared.cuh).

#include <cutlass/gemm/device/gemm.h>

#include "prepared.cuh"

using Row = cutlass::layout::RowMajor;
using Epilogue = cutlass::epilogue::thread::LinearCombination<float, 1, float, float>;
using Gemm = cutlass::gemm::device::Gemm<
    float, Row, float, Row, float, Row, float, cutlass::arch::OpClassSimt, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<BM, BN, BK>, cutlass::gemm::GemmShape<WM, WN, BK>, cutlass::gemm::GemmShape<1, 1, 1>,
    Epilogue, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, STAGES, 1, 1>;

static Gemm::Arguments arguments_of(const Request& request) {
  const float* a = static_cast<const float*>(request.a);
  const float* b = static_cast<const float*>(request.b);
  return {{request.m, request.n, request.k},
          {a, request.lda},
          {b, request.ldb},
          {request.c, request.ldc},
          {request.c, request.ldc},
          {request.alpha, request.beta}};
}

NCU_LAB_EXPORT(Gemm, arguments_of)
