// Shared memory as PTX names it.
#pragma once

#include <stdint.h>

/// The 32-bit address that PTX wants for shared memory.
__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
