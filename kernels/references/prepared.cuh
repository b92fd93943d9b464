// What the CUTLASS references share: a GEMM that is prepared once for its operands, and launched as often as wanted.
//
// The library is called through C functions, from ncu_lab/gpu/cutlass.py: prepare makes the kernel's arguments (tensor
// maps among them) for one problem and its addresses, run launches, release forgets. So a timed call does no more on the
// host than a launch. A, B and C are row-major, C is FP32, and D is C.
#pragma once

#include <cuda_runtime.h>

#include <cutlass/cutlass.h>

/// What prepare() is asked for.
struct Request {
  int m, n, k;
  float alpha;
  const void* a;
  int lda;
  const void* b;
  int ldb;
  float beta;
  float* c;
  int ldc;
  void* workspace;  // device memory, kept by the caller
  size_t workspace_bytes;
  int sm_count;
};

constexpr int WORKSPACE_TOO_SMALL = -1;

/// Prepare a GEMM of CUTLASS's device API; return its status, 0 when all is well, and the GEMM.
template <typename Gemm>
int prepare(const typename Gemm::Arguments& arguments, const Request& request, void** handle) {
  if (const cutlass::Status status = Gemm::can_implement(arguments); status != cutlass::Status::kSuccess) {
    return static_cast<int>(status);
  }
  if (Gemm::get_workspace_size(arguments) > request.workspace_bytes) {
    return WORKSPACE_TOO_SMALL;
  }
  Gemm* gemm = new Gemm;
  const cutlass::Status status = gemm->initialize(arguments, request.workspace);
  if (status != cutlass::Status::kSuccess) {
    delete gemm;
    return static_cast<int>(status);
  }
  *handle = gemm;
  return 0;
}

/// The C functions of one library.
#define NCU_LAB_EXPORT(Gemm, arguments_of)                                                              \
  extern "C" int ncu_lab_prepare(const Request* request, void** handle) {                              \
    return prepare<Gemm>(arguments_of(*request), *request, handle);                                    \
  }                                                                                                     \
  extern "C" int ncu_lab_run(void* handle, cudaStream_t stream) {                                       \
    return static_cast<int>(static_cast<Gemm*>(handle)->run(stream));                                   \
  }                                                                                                     \
  extern "C" void ncu_lab_release(void* handle) { delete static_cast<Gemm*>(handle); }                  \
  extern "C" const char* ncu_lab_status(int status) {                                                   \
    return status == WORKSPACE_TOO_SMALL                                                                \
               ? "the workspace is too small"                                                           \
               : cutlass::cutlassGetStatusString(static_cast<cutlass::Status>(status));                 \
  }
