"""A reference's precision is proven by the names of its kernels; the registry's patterns tell real names apart."""

from __future__ import annotations

import ctypes

import pytest

from ncu_lab.errors import CheckFailedError
from ncu_lab.gpu.cublas import _KernelNode
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.runner import verify_precision

FP32 = "_ZN7cutlass7Kernel2I55cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE"
XMMA = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_execute_kernel__5x_cublas"
TF32 = "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_execute_segment_k_off_kernel__5x_cublas"
OLD_TF32 = "_ZN7cutlass7Kernel2I58cutlass_80_tensorop_s1688gemm_256x128_16x3_nn_align4EEvNT_6ParamsE"


@pytest.mark.parametrize("name", [FP32, XMMA, "ampere_sgemm_128x64_nn"])
def test_true_fp32_is_accepted(name: str) -> None:
    verify_precision(load_stages()["cublas-fp32"], ("splitKreduce_kernel", name))


@pytest.mark.parametrize("name", [TF32, OLD_TF32, "splitKreduce_kernel"])
def test_tensor_cores_are_no_fp32(name: str) -> None:
    with pytest.raises(CheckFailedError, match="did not run in the precision"):
        verify_precision(load_stages()["cublas-fp32"], (name,))


def test_tf32_is_told_from_fp32() -> None:
    verify_precision(load_stages()["cublas-tf32"], (TF32,))
    verify_precision(load_stages()["cublas-tf32"], (OLD_TF32,))
    with pytest.raises(CheckFailedError):
        verify_precision(load_stages()["cublas-tf32"], (FP32,))


def test_no_kernel_proves_nothing() -> None:
    with pytest.raises(CheckFailedError, match="none"):
        verify_precision(load_stages()["cublas-fp32"], ())


def test_the_node_parameters_have_the_layout_of_cuda_h() -> None:
    assert ctypes.sizeof(_KernelNode) == 72
    assert (_KernelNode.parameters.offset, _KernelNode.kernel.offset) == (40, 56)
