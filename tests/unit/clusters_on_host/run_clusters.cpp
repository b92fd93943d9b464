// Runs wgmma_small on the CPU. Compiled with -DKERNEL="file". Arguments: groups of twelve, `m n k pad alpha beta share slices
// clusters stages order launches`: pad elements (a multiple of 8) after each row, how the problem is divided, the seed of
// all that is left to chance, and how often it is launched. Prints what is wrong with each. All values are small integers, so
// results must be equal; C begins as NaN where beta is 0, and what surrounds it must stay as it is.

#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include KERNEL

namespace host {

constexpr int THREADS = small_output_half::BLOCK;
constexpr size_t STACK_BYTES = 48 << 10;
constexpr unsigned char POISON = 0x7E;  // a large number in FP16 and FP32

[[noreturn]] static void fail(const char* what) {
  printf("%s\n", what);
  fflush(stdout);
  _exit(1);
}

struct Barrier {
  int arrivals = 0, pending = 0, bytes = 0;
  unsigned phase = 0;

  void settle() {
    if (pending == 0 && bytes == 0) ++phase, pending = arrivals;
  }
  void arrive() {
    if (--pending < 0) fail("more arrivals at a barrier than it counts");
    settle();
  }
};

struct Block {
  Index index;
  int cluster, rank, threads_left = THREADS;
  std::vector<unsigned char> memory;
  std::map<uint32_t, Barrier> barriers;
  int at_block = 0, block_phase = 0, at_warp[THREADS / 32] = {}, warp_phase[THREADS / 32] = {};
  int at_products = 0, products_phase = 0;

  unsigned char* at(uint32_t address, size_t bytes) {
    if (threads_left == 0) fail("access to the shared memory of a block that has ended");
    if (address + bytes > memory.size()) fail("access beyond shared memory");
    return memory.data() + address;
  }
  Barrier& barrier(uint32_t address) {
    at(address, 8);
    const auto found = barriers.find(address);
    if (found == barriers.end()) fail("a barrier is used before it is initialised");
    return found->second;
  }
};

struct Product {
  float* d;
  uint64_t a, b;
  int accumulate;
};

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Block* block;
  int id, cluster_waits = 0;
  bool done = false;
  std::function<bool()> waits_for;
  std::vector<Product> products;
};

struct Cluster {
  std::vector<Block*> blocks;
  int arrived = 0, phase = 0;
};

Index grid_dim;
static std::vector<std::unique_ptr<Block>> blocks;
static std::vector<Cluster> clusters;
static std::vector<std::unique_ptr<Thread>> threads;
static std::vector<std::function<void()>> late;  // what the hardware does by itself, some time
static std::mt19937 chance;
static Thread* running;
static int turn;  // of all threads; blocks begin in one of the first
constexpr int LATEST = 8;
static ucontext_t scheduler;
static std::function<void()> body;

Index thread_index() { return {running->id, 0, 0}; }
Index block_index() { return running->block->index; }
unsigned char* shared_memory() { return running->block->memory.data(); }
uint32_t address_of(const void* shared) {
  return static_cast<uint32_t>(static_cast<const unsigned char*>(shared) - shared_memory());
}

void until(const std::function<bool()>& so) {
  if (so()) return;
  running->waits_for = so;
  swapcontext(&running->context, &scheduler);
}

/// Wait until `count` threads are here.
static void meet(int& here, int& phase, int count) {
  const int before = phase;
  if (++here == count) {
    here = 0;
    ++phase;
  }
  until([&phase, before] { return phase != before; });
}

void block_sync() { meet(running->block->at_block, running->block->block_phase, THREADS); }
void warp_sync() { meet(running->block->at_warp[running->id / 32], running->block->warp_phase[running->id / 32], 32); }

static Block& peer(uint32_t rank) {
  auto& all = clusters[running->block->cluster].blocks;
  if (rank >= all.size()) fail("there is no such block in the cluster");
  return *all[rank];
}

/// The 128-byte swizzle: bits 4 to 6 of an address change with bits 7 to 9.
static uint32_t swizzled(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

static void run_thread() {
  body();
  running->done = true;
  if (--running->block->threads_left == 0) std::fill(running->block->memory.begin(), running->block->memory.end(), POISON);
}

static void add_thread(Block* block, int id, int begin) {
  auto thread = std::make_unique<Thread>();
  thread->block = block;
  thread->id = id;
  thread->stack = std::make_unique<char[]>(STACK_BYTES);
  getcontext(&thread->context);
  thread->context.uc_stack.ss_sp = thread->stack.get();
  thread->context.uc_stack.ss_size = STACK_BYTES;
  thread->context.uc_link = &scheduler;
  makecontext(&thread->context, run_thread, 0);
  thread->waits_for = [begin] { return turn >= begin; };
  threads.push_back(std::move(thread));
}

static void run_grid(Index grid, int cluster_size, size_t shared_bytes) {
  grid_dim = grid;
  blocks.clear(), clusters.clear(), threads.clear(), late.clear();
  for (int z = 0; z < grid.z; ++z) {
    for (int y = 0; y < grid.y; ++y) {
      for (int x = 0; x < grid.x; ++x) {
        auto block = std::make_unique<Block>();
        block->index = {x, y, z};
        block->rank = x % cluster_size;
        if (block->rank == 0) clusters.emplace_back();
        block->cluster = static_cast<int>(clusters.size()) - 1;
        block->memory.assign(shared_bytes, POISON);
        clusters.back().blocks.push_back(block.get());
        blocks.push_back(std::move(block));
      }
    }
  }
  for (auto& block : blocks) {
    const int begin = chance() % LATEST;
    for (int id = 0; id < THREADS; ++id) add_thread(block.get(), id, begin);
  }
  std::vector<Thread*> left;
  for (auto& thread : threads) left.push_back(thread.get());
  std::shuffle(left.begin(), left.end(), chance);  // warps and blocks start as they like
  for (turn = 0; !left.empty(); ++turn) {
    bool moved = turn < LATEST;
    for (Thread* thread : left) {
      if (thread->waits_for && !thread->waits_for()) continue;
      thread->waits_for = nullptr;
      running = thread;
      swapcontext(&scheduler, &thread->context);
      moved = true;
    }
    left.erase(std::remove_if(left.begin(), left.end(), [](Thread* thread) { return thread->done; }), left.end());
    if (!late.empty() && (!moved || chance() % 4 == 0)) {  // some of what is under way arrives
      const size_t stay = moved ? chance() % late.size() : late.size() - 1;
      while (late.size() > stay) {
        std::swap(late[chance() % late.size()], late.back());
        const auto one = std::move(late.back());
        late.pop_back();
        one();
      }
      moved = true;
    }
    if (!moved && !left.empty()) fail("deadlock");
  }
  for (auto& one : late) one();  // fails where it reaches a block that has ended
}

}  // namespace host

using namespace host;

void barrier_init(uint32_t barrier, int arrivals) {
  running->block->at(barrier, 8);
  Barrier& made = running->block->barriers[barrier];
  made = Barrier();
  made.arrivals = made.pending = arrivals;
}

void barrier_wait(uint32_t barrier, uint32_t parity) {
  Barrier& one = running->block->barrier(barrier);
  until([&one, parity] { return one.phase % 2 != parity; });
}

void expect_bytes(uint32_t barrier, uint32_t bytes) {
  Barrier& one = running->block->barrier(barrier);
  one.bytes += bytes;
  one.arrive();
}

void barrier_arrive(uint32_t barrier, uint32_t block) { peer(block).barrier(barrier).arrive(); }

/// Land what is late: `write` into a block, counted on its barrier.
static void deliver(Block& block, uint32_t barrier, int bytes, const std::function<void(Block&)>& write) {
  block.barrier(barrier);
  late.push_back([&block, barrier, bytes, write] {
    write(block);
    Barrier& one = block.barrier(barrier);
    one.bytes -= bytes;
    one.settle();
  });
}

void load_box_to_blocks(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t barrier, int chosen) {
  if (to % 1024 != 0) fail("a swizzled box is not aligned");
  if (map->box_columns * 2 != 128) fail("a row of a box is not one of the swizzle");
  for (int rank = 0; chosen >> rank; ++rank) {
    if (!(chosen >> rank & 1)) continue;
    deliver(peer(rank), barrier, map->box_rows * 128, [=](Block& block) {
      for (int row = 0; row < map->box_rows; ++row) {
        for (int column = 0; column < map->box_columns; ++column) {
          const bool inside = x + column < map->columns && y + row < map->rows;
          const size_t from = static_cast<size_t>(y + row) * map->pitch_bytes + (x + column) * 2;
          unsigned char* place = block.at(swizzled(to + row * 128 + column * 2), 2);
          if (inside) {
            memcpy(place, map->first + from, 2);
          } else {
            memset(place, 0, 2);
          }
        }
      }
    });
  }
}

void load_box(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t barrier) {
  load_box_to_blocks(to, map, x, y, barrier, 1 << running->block->rank);
}

void load4_shared(float* to, uint32_t address) {
  if (address % 16 != 0) fail("misaligned access to shared memory");
  memcpy(to, running->block->at(address, 16), 16);
}

void cluster_arrive_relaxed() {
  Cluster& cluster = clusters[running->block->cluster];
  if (++cluster.arrived == static_cast<int>(cluster.blocks.size()) * THREADS) {
    cluster.arrived = 0;
    ++cluster.phase;
  }
}

void cluster_wait() {
  Cluster& cluster = clusters[running->block->cluster];
  const int phase = ++running->cluster_waits;
  if (cluster.blocks.size() == 1) block_sync();  // what ptxas makes of it for a launch without clusters
  until([&cluster, phase] { return cluster.phase >= phase; });
}

uint32_t cluster_rank() { return running->block->rank; }
uint32_t cluster_x() { return running->block->index.x / clusters[0].blocks.size(); }

void send_quad(uint32_t to, uint32_t barrier, uint32_t block, const float* v) {
  if (to % 16 != 0) fail("misaligned access to shared memory");
  const float4 quad = {v[0], v[1], v[2], v[3]};
  deliver(peer(block), barrier, 16, [=](Block& there) { memcpy(there.at(to, 16), &quad, 16); });
}

void wgmma_n128(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  running->products.push_back({d, a, b, accumulate});  // operands are read when the group ends, no sooner
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
  for (const Product& product : running->products) {
    const auto field = [](uint64_t descriptor, int bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3FFF) << 4; };
    if (product.a >> 62 != 1 || product.b >> 62 != 1) fail("a descriptor without the 128-byte swizzle");
    float rows[2][16];
    for (int half = 0; half < 2; ++half) {
      const int row = warp * 16 + lane / 4 + half * 8;
      for (int k = 0; k < 16; ++k) {
        rows[half][k] = operand(memory, field(product.a, 0) + row / 8 * field(product.a, 32) + row % 8 * 128 + k * 2);
      }
    }
    for (int i = 0; i < 64; ++i) {
      const int n = i / 4 * 8 + lane % 4 * 2 + i % 2, half = i / 2 % 2;
      float sum = product.accumulate ? product.d[i] : 0.0f;
      for (int k = 0; k < 16; ++k) {
        const uint32_t at = field(product.b, 0) + n / 64 * field(product.b, 16) + k / 8 * field(product.b, 32);
        sum += rows[half][k] * operand(memory, at + k % 8 * 128 + n % 64 * 2);
      }
      product.d[i] = sum;
    }
  }
  running->products.clear();
  meet(running->block->at_products, running->block->products_phase, small_output_half::WARPGROUP);
}

static int rounded_up(int a, int b) { return (a + b - 1) / b; }

static bool run(const double* of) {
  const int m = of[0], n = of[1], k = of[2], pad = of[3], share = of[6], slices = of[7], clusters_of_tile = of[8], stages = of[9];
  const float alpha = of[4], beta = of[5];
  chance.seed(static_cast<unsigned>(of[10]));
  const int lda = k + pad, ldb = n + pad, ldc = n + pad;
  std::vector<Half> a(static_cast<size_t>(m) * lda, Half(NAN)), b(static_cast<size_t>(k) * ldb, Half(NAN));
  std::vector<float> c(static_cast<size_t>(m) * ldc), before;
  const auto small = [] { return static_cast<float>(static_cast<int>(chance() % 5) - 2); };
  for (int i = 0; i < m; ++i) for (int j = 0; j < k; ++j) a[static_cast<size_t>(i) * lda + j] = Half(small());
  for (int i = 0; i < k; ++i) for (int j = 0; j < n; ++j) b[static_cast<size_t>(i) * ldb + j] = Half(small());
  for (float& one : c) one = beta == 0.0f ? NAN : small();
  const auto bytes = [](const std::vector<Half>& of) { return reinterpret_cast<const unsigned char*>(of.data()); };
  const CUtensorMap map_a = {bytes(a), k, m, lda * 2, 64, 64}, map_b = {bytes(b), n, k, ldb * 2, 64, min(64, 128 / share)};
  const int rows = rounded_up(rounded_up(m, 64), share), columns = rounded_up(n, 128), steps = rounded_up(k, 64);
  std::vector<float4> partial(static_cast<size_t>(rows) * share * columns * clusters_of_tile * 64 * 128 / 4, {NAN, NAN, NAN, NAN});
  const auto log2 = [](int of) { return __builtin_ctz(of); };
  const bool alone = slices * clusters_of_tile == 1;
  const size_t bytes_of_block = small_output_half::HEAD + stages * small_output_half::STAGE_BYTES +
                                (alone ? 0 : small_output_half::TILE_BYTES);
  for (int launch = 0; launch < of[11]; ++launch) {
    before = c;
    body = [&] {
      wgmma_small(map_a, map_b, c.data(), m, n, ldc, alpha, beta, log2(share), log2(slices),
                  steps / (slices * clusters_of_tile), steps % (slices * clusters_of_tile), stages, partial.data());
    };
    run_grid({rows * share * slices, columns, clusters_of_tile}, share * slices, bytes_of_block);
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
          printf("C[%d, %d] = %g, not %g, at %d x %d x %d, %d %d %d, launch %d\n", i, j, c[at], expected, m, n, k, share,
                 slices, clusters_of_tile, launch);
          return false;
        }
      }
    }
  }
  return true;
}

int main(int count, char** words) {
  bool right = true;
  for (int i = 1; i + 11 < count; i += 12) {
    double of[12];
    for (int j = 0; j < 12; ++j) of[j] = atof(words[i + j]);
    right &= run(of);
  }
  return right ? 0 : 1;
}
