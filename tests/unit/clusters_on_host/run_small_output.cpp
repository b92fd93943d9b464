// Runs the kernels of small_output.cuh on the CPU. Compiled with -DKERNEL="file". Arguments: groups of eleven, `split m n k pad
// alpha beta blocks slices steps order`: whether by sgemm_small_split, pad elements (a multiple of 4) after each row, how K is
// divided, the seed of all that is left to chance. Prints what is wrong with each. All values are small integers, so results
// must be equal; C begins as NaN where beta is 0, and what surrounds it must stay as it is.

#include "machine.h"

#include KERNEL

using namespace small_output;

/// Rows begin at multiples of 16 bytes, as float4 accesses need.
struct Matrix {
  int rows, cols, ld;
  std::vector<float4> room;

  Matrix(int rows, int cols, int pad) : rows(rows), cols(cols), ld(rounded_up(cols, 4) * 4 + pad) {
    room.assign(static_cast<size_t>(rows) * ld / 4, {NAN, NAN, NAN, NAN});
  }
  float* data() { return &room[0].x; }
  float& at(int row, int col) { return data()[static_cast<size_t>(row) * ld + col]; }
  void fill() {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < cols; ++j) at(i, j) = small_value();
    }
  }
  CUtensorMap map(int box_columns, int box_rows, bool swizzled) {
    return {reinterpret_cast<unsigned char*>(data()), cols, rows, ld * 4, box_columns, box_rows, 4, swizzled};
  }
};

static bool run(const double* of) {
  const bool split = of[0] != 0;
  const int m = of[1], n = of[2], k = of[3], pad = of[4], blocks_of_cluster = of[7], slices = of[8], steps = of[9];
  const float alpha = of[5], beta = of[6];
  chance.seed(static_cast<unsigned>(of[10]));
  Matrix a(m, k, pad), b(k, n, pad), c(m, n, pad);
  a.fill(), b.fill();
  if (beta != 0.0f) c.fill();
  Matrix before = c;
  const CUtensorMap map_a = a.map(BOX_K, TILE, true), map_b = b.map(TILE, split ? Sizes<4>::STEP : Sizes<2>::STEP, false);
  const int rows = rounded_up(m, TILE), columns = rounded_up(n, TILE), quads = rows * columns * TILE_QUADS;
  std::vector<float4> partial(static_cast<size_t>(quads) * slices, {NAN, NAN, NAN, NAN});  // as `check` leaves it
  const auto whole = [&] { sgemm_small(map_a, map_b, c.data(), m, n, k, c.ld, alpha, beta); };
  const auto part = [&] {
    sgemm_small_split(map_a, map_b, c.data(), m, n, k, c.ld, alpha, beta, blocks_of_cluster, steps, partial.data());
  };
  const auto add_up = [&] { add_slices(c.data(), m, n, c.ld, beta, slices, quads, partial.data()); };
  std::vector<Launch> launches;
  if (split) {
    const Index grid{blocks_of_cluster * slices, rows, columns};
    launches.push_back({grid, {Sizes<4>::BLOCK, 1, 1}, blocks_of_cluster, sizeof(Shared<4>), part});
  } else {
    launches.push_back({{columns, rows, 1}, {Sizes<2>::BLOCK, 1, 1}, 1, sizeof(Shared<2>), whole});
  }
  if (slices > 1) {
    constexpr int WIDTH = ADD_THREADS / 2;
    launches.push_back({{quads / WIDTH, 1, 1}, {WIDTH, 2, 1}, 1, ADD_THREADS * sizeof(float4), add_up, true});
  }
  run_launches(launches);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < c.ld; ++j) {
      float expected = before.at(i, j);
      if (j < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) sum += a.at(i, p) * b.at(p, j);
        expected = alpha * sum + (beta == 0.0f ? 0.0f : beta * before.at(i, j));
      }
      if (memcmp(&c.at(i, j), &expected, 4) != 0 && !(c.at(i, j) == expected)) {
        printf("C[%d, %d] = %g, not %g, at %d x %d x %d, %d %d %d\n", i, j, c.at(i, j), expected, m, n, k, blocks_of_cluster,
               slices, steps);
        return false;
      }
    }
  }
  return true;
}

int main(int count, char** words) {
  bool right = true;
  for (int i = 1; i + 10 < count; i += 11) {
    double of[11];
    for (int j = 0; j < 11; ++j) of[j] = atof(words[i + j]);
    right &= run(of);
  }
  return right ? 0 : 1;
}
