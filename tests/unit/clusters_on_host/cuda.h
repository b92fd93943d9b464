// In the place of CUDA's: a tensor map as the copy engine of cluster_on_host.h reads it.
#pragma once

#include <cstdint>

struct CUtensorMap {
  const unsigned char* first;  // of a row-major matrix
  int columns, rows, pitch_bytes;
  int box_columns, box_rows;
  int element_bytes = 2;
  bool swizzled = true;  // in rows of 128 bytes
};
