// The kernels of small_output.cuh, in a cubin of their own: the stages that launch them, `sgemm-hopper` and `splitk`, keep ptxas's
// default level, which their own loops need. They are compiled at level 1 (second_level of stages.toml), which keeps the
// order of the source: at the default its loop reads one register bank twice more often.

#if __CUDA_ARCH__ == 900  // elsewhere two blocks' shared memory does not fit; see ncu_lab/gpu/small_output.py
#include "../small_output.cuh"
#endif
