// Runs wgmma_small or wgmma_small_narrow on the CPU. Compiled with -DKERNEL="file". Arguments: groups of thirteen, `m n k pad
// alpha beta width share slices clusters stages order launches`: pad elements (a multiple of 8) after each row, columns of a
// tile, how the problem is divided, the seed of all that is left to chance, and how often it is launched. Prints what is wrong with each. All values are small integers, so
// results must be equal; C begins as NaN where beta is 0, and what surrounds it must stay as it is.

#include "machine.h"

#include KERNEL

struct Product {
  float* d;
  int columns;
  uint64_t a, b;
  int accumulate;
};

static std::map<const Thread*, std::vector<Product>> products;  // asked for, and not over

// Operands are read when the group ends, no sooner.
void wgmma_n64(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  products[running].push_back({d, 64, a, b, accumulate});
}
void wgmma_n128(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  products[running].push_back({d, 128, a, b, accumulate});
}

static float operand(const std::vector<unsigned char>& memory, uint32_t address) {
  Half value;
  if (address >= memory.size()) fail("access beyond shared memory");
  memcpy(&value, &memory[swizzled(address)], 2);
  return static_cast<float>(value);
}

void products_end() {
  const int warp = running->id / 32, lane = running->id % 32;
  const auto& memory = running->block->memory;
  for (const Product& product : products[running]) {
    const auto field = [](uint64_t descriptor, int bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3FFF) << 4; };
    if (product.a >> 62 != 1 || product.b >> 62 != 1) fail("a descriptor without the 128-byte swizzle");
    float rows[2][16];
    for (int half = 0; half < 2; ++half) {
      const int row = warp * 16 + lane / 4 + half * 8;
      for (int k = 0; k < 16; ++k) {
        rows[half][k] = operand(memory, field(product.a, 0) + row / 8 * field(product.a, 32) + row % 8 * 128 + k * 2);
      }
    }
    for (int i = 0; i < product.columns / 2; ++i) {
      const int n = i / 4 * 8 + lane % 4 * 2 + i % 2, half = i / 2 % 2;
      float sum = product.accumulate ? product.d[i] : 0.0f;
      for (int k = 0; k < 16; ++k) {
        const uint32_t at = field(product.b, 0) + n / 64 * field(product.b, 16) + k / 8 * field(product.b, 32);
        sum += rows[half][k] * operand(memory, at + k % 8 * 128 + n % 64 * 2);
      }
      product.d[i] = sum;
    }
  }
  products[running].clear();
  meet(running->block->at_warps, running->block->warps_phase, small_output_half::WARPGROUP);
}

static bool run(const double* of) {
  const int m = of[0], n = of[1], k = of[2], pad = of[3], width = of[6], share = of[7], slices = of[8];
  const int clusters_of_tile = of[9], stages = of[10];
  const float alpha = of[4], beta = of[5];
  chance.seed(static_cast<unsigned>(of[11]));
  const int lda = k + pad, ldb = n + pad, ldc = n + pad;
  std::vector<Half> a(static_cast<size_t>(m) * lda, Half(NAN)), b(static_cast<size_t>(k) * ldb, Half(NAN));
  std::vector<float> c(static_cast<size_t>(m) * ldc), before;
  for (int i = 0; i < m; ++i) for (int j = 0; j < k; ++j) a[static_cast<size_t>(i) * lda + j] = Half(small_value());
  for (int i = 0; i < k; ++i) for (int j = 0; j < n; ++j) b[static_cast<size_t>(i) * ldb + j] = Half(small_value());
  for (float& one : c) one = beta == 0.0f ? NAN : small_value();
  const auto bytes = [](const std::vector<Half>& of) { return reinterpret_cast<const unsigned char*>(of.data()); };
  const CUtensorMap map_a = {bytes(a), k, m, lda * 2, 64, 64}, map_b = {bytes(b), n, k, ldb * 2, 64, min(64, width / share)};
  const int rows = rounded_up(rounded_up(m, 64), share), columns = rounded_up(n, width), steps = rounded_up(k, 64);
  std::vector<float4> partial(static_cast<size_t>(rows) * share * columns * clusters_of_tile * 64 * width / 4);
  const auto log2 = [](int of) { return __builtin_ctz(of); };
  const bool alone = slices * clusters_of_tile == 1;
  const size_t bytes_of_block = small_output_half::HEAD + stages * (64 + width) * 128 + (alone ? 0 : 64 * width * 4);
  const auto kernel = width == 64 ? wgmma_small_narrow : wgmma_small;
  for (int launch = 0; launch < of[12]; ++launch) {
    before = c;
    std::fill(partial.begin(), partial.end(), float4{NAN, NAN, NAN, NAN});  // as `check` does before every launch
    const auto body = [&] {
      kernel(map_a, map_b, c.data(), m, n, ldc, alpha, beta, log2(share), log2(slices),
                  steps / (slices * clusters_of_tile), steps % (slices * clusters_of_tile), stages, partial.data());
    };
    const Index grid{rows * share * slices, columns, clusters_of_tile};
    run_launches({{grid, {small_output_half::BLOCK, 1, 1}, share * slices, bytes_of_block, body}});
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < ldc; ++j) {
        const size_t at = static_cast<size_t>(i) * ldc + j;
        float expected = before[at];
        if (j < n) {
          float sum = 0.0f;
          for (int p = 0; p < k; ++p) {
            sum += static_cast<float>(a[static_cast<size_t>(i) * lda + p]) * static_cast<float>(b[static_cast<size_t>(p) * ldb + j]);
          }
          expected = alpha * sum + (beta == 0.0f ? 0.0f : beta * before[at]);
        }
        if (memcmp(&c[at], &expected, 4) != 0 && !(c[at] == expected)) {
          printf("C[%d, %d] = %g, not %g, at %d x %d x %d, %d: %d %d %d, launch %d\n", i, j, c[at], expected, m, n, k, width,
                 share, slices, clusters_of_tile, launch);
          return false;
        }
      }
    }
  }
  return true;
}

int main(int count, char** words) {
  bool right = true;
  for (int i = 1; i + 12 < count; i += 13) {
    double of[13];
    for (int j = 0; j < 13; ++j) of[j] = atof(words[i + j]);
    right &= run(of);
  }
  return right ? 0 : 1;
}
