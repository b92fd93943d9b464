// The primitives of <cuda_pipeline.h> that kernels use.
#pragma once

#include "cuda_on_host.h"

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes) { host::copy_async(to, from, bytes); }
inline void __pipeline_commit() { host::commit_copies(); }

#define __pipeline_wait_prior(groups_left) host::wait_for_copies(groups_left, __LINE__)
