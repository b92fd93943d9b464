// CUDA's words for functions and parameters, which mean nothing on the CPU.
#pragma once

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
