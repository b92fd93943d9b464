// The 16-bit type of A and B: FP16, or BF16 where a kernel is compiled with -DBF16=1 (stages of dtype bf16 are).
#pragma once

#ifndef BF16
#define BF16 0
#endif

#if BF16
#include <cuda_bf16.h>
using Half = __nv_bfloat16;
#else
#include <cuda_fp16.h>
using Half = __half;
#endif

#include "common.cuh"
