// C = alpha * A * B + beta * C, row-major, BF16 with FP32 sums and FP32 C: CUTLASS's GEMM for Hopper, as a reference.
//
// Kernel:  TMA and wgmma, warp-specialised and persistent: one producer warpgroup, two cooperative consumers; a block has
//          128 x 256 x 64, clusters of two blocks share tiles of B.
// Assumes: n and k are multiples of 8, and bases and rows of 16 bytes: what TMA asks for.
// Launch:  by CUTLASS's device API (prepared.cuh).

#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "prepared.cuh"

using Element = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using BlockTile = cute::Shape<cute::Int<BM>, cute::Int<BN>, cute::Int<BK>>;
using Cluster = cute::Shape<cute::Int<CLUSTER>, cute::_1, cute::_1>;
constexpr int ALIGNED = 16 / sizeof(Element);
constexpr int C_ALIGNED = 16 / sizeof(float);

using CollectiveEpilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, BlockTile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, float, Row, C_ALIGNED, float, Row, C_ALIGNED,
    cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;

using CollectiveMainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, Row, ALIGNED, Element, Row, ALIGNED, float,
    BlockTile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<
        static_cast<int>(sizeof(typename CollectiveEpilogue::SharedStorage))>,
    cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;

using Sizes = cute::Shape<int, int, int, int>;  // m, n, k and, always 1, how many of them
using Kernel = cutlass::gemm::kernel::GemmUniversal<Sizes, CollectiveMainloop, CollectiveEpilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

/// A row-major stride: rows `ld` elements apart, columns next to one another, no batch.
template <typename Stride>
static Stride row_stride(int ld) {
  Stride stride{};
  cute::get<0>(stride) = ld;
  return stride;
}

/// B is seen as N x K: its columns are next to one another, its rows `ld` apart.
template <typename Stride>
static Stride column_stride(int ld) {
  Stride stride{};
  cute::get<1>(stride) = ld;
  return stride;
}

static Gemm::Arguments arguments_of(const Request& request) {
  const auto* a = static_cast<const Element*>(request.a);
  const auto* b = static_cast<const Element*>(request.b);
  const auto c_stride = row_stride<typename Kernel::StrideC>(request.ldc);
  cutlass::KernelHardwareInfo hardware;
  hardware.device_id = 0;
  hardware.sm_count = request.sm_count;
  Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {request.m, request.n, request.k, 1},
      {a, row_stride<typename Kernel::StrideA>(request.lda), b, column_stride<typename Kernel::StrideB>(request.ldb)},
      {{request.alpha, request.beta}, request.c, c_stride, request.c, c_stride},
      hardware};
  return arguments;
}

NCU_LAB_EXPORT(Gemm, arguments_of)
