// The machine of cluster_on_host.h: kernels, blocks and clusters, threads as fibers, mbarriers and what is late.
#pragma once

#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "cluster_on_host.h"
#include "cuda.h"

namespace host {

constexpr int MOST_WARPS = 8;  // of a block
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

struct Launch {
  Index grid, threads;  // blocks, and threads of a block
  int cluster;          // blocks of a cluster, along x
  size_t shared_bytes;
  std::function<void()> body;
  bool early = false;  // it may start once all blocks of the kernel before allow it, or have ended
};

struct Grid {
  Launch launch;
  Grid* before;  // in the stream
  int blocks_left, blocks_that_hold_back;

  bool may_start() const {
    return before == nullptr || (launch.early ? before->blocks_that_hold_back : before->blocks_left) == 0;
  }
};

struct Block {
  Grid* grid;
  Index index;
  int cluster, rank, threads_left = 0;
  bool holds_back = true;  // the next kernel
  std::vector<unsigned char> memory;
  std::map<uint32_t, Barrier> barriers;
  int at_block = 0, block_phase = 0, at_warp[MOST_WARPS] = {}, warp_phase[MOST_WARPS] = {};
  int at_warps = 0, warps_phase = 0;  // of those that multiply together

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
  void let_next_start() {
    grid->blocks_that_hold_back -= holds_back;
    holds_back = false;
  }
  void end() {
    std::fill(memory.begin(), memory.end(), POISON);
    let_next_start();
    --grid->blocks_left;
  }
};

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Block* block;
  int id, cluster_waits = 0;
  bool done = false;
  std::function<bool()> waits_for;
};

struct Cluster {
  std::vector<Block*> blocks;
  int arrived = 0, phase = 0;
};

static std::vector<std::unique_ptr<Grid>> grids;
static std::vector<std::unique_ptr<Block>> blocks;
static std::vector<Cluster> clusters;
static std::vector<std::unique_ptr<Thread>> threads;
static std::vector<std::function<void()>> late;  // what the hardware does by itself, some time
static std::mt19937 chance;
static Thread* running;
static int turn;  // of all threads; blocks begin in one of the first
constexpr int LATEST = 8;
static ucontext_t scheduler;

static const Launch& launch() { return running->block->grid->launch; }
static int threads_of(const Launch& one) { return one.threads.x * one.threads.y; }
static int threads_of_block() { return threads_of(launch()); }
Index grid_dim() { return launch().grid; }
Index block_dim() { return launch().threads; }
Index thread_index() { return {running->id % block_dim().x, running->id / block_dim().x, 0}; }
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

void block_sync() { meet(running->block->at_block, running->block->block_phase, threads_of_block()); }
void warp_sync() { meet(running->block->at_warp[running->id / 32], running->block->warp_phase[running->id / 32], 32); }

static Block& peer(uint32_t rank) {
  auto& all = clusters[running->block->cluster].blocks;
  if (rank >= all.size()) fail("there is no such block in the cluster");
  return *all[rank];
}

/// The 128-byte swizzle: bits 4 to 6 of an address change with bits 7 to 9.
static uint32_t swizzled(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

static void run_thread() {
  launch().body();
  running->done = true;
  if (--running->block->threads_left == 0) running->block->end();
}

static void add_thread(Block* block, int id, int begin) {
  auto thread = std::make_unique<Thread>();
  thread->block = block;
  thread->id = id;
  thread->stack.reset(new char[STACK_BYTES]);  // not cleared: most threads touch little of it
  getcontext(&thread->context);
  thread->context.uc_stack.ss_sp = thread->stack.get();
  thread->context.uc_stack.ss_size = STACK_BYTES;
  thread->context.uc_link = &scheduler;
  makecontext(&thread->context, run_thread, 0);
  thread->waits_for = [grid = block->grid, begin] { return turn >= begin && grid->may_start(); };
  threads.push_back(std::move(thread));
}

static void add_grid(const Launch& one) {
  const int count = threads_of(one), of_grid = one.grid.x * one.grid.y * one.grid.z;
  if (count > MOST_WARPS * 32) fail("more threads than a block has here");
  grids.emplace_back(new Grid{one, grids.empty() ? nullptr : grids.back().get(), of_grid, of_grid});
  for (int z = 0; z < one.grid.z; ++z) {
    for (int y = 0; y < one.grid.y; ++y) {
      for (int x = 0; x < one.grid.x; ++x) {
        auto block = std::make_unique<Block>();
        block->grid = grids.back().get();
        block->index = {x, y, z};
        block->rank = x % one.cluster;
        if (block->rank == 0) clusters.emplace_back();
        block->cluster = static_cast<int>(clusters.size()) - 1;
        block->threads_left = count;
        block->memory.assign(one.shared_bytes, POISON);
        clusters.back().blocks.push_back(block.get());
        const int begin = chance() % LATEST;
        for (int id = 0; id < count; ++id) add_thread(block.get(), id, begin);
        blocks.push_back(std::move(block));
      }
    }
  }
}

/// Run kernels of one stream.
static void run_launches(const std::vector<Launch>& launches) {
  grids.clear(), blocks.clear(), clusters.clear(), threads.clear(), late.clear();
  for (const Launch& one : launches) add_grid(one);
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

void arrive(uint32_t barrier) { running->block->barrier(barrier).arrive(); }
void barrier_arrive(uint32_t barrier, uint32_t block) { peer(block).barrier(barrier).arrive(); }

bool elected() {
  warp_sync();
  return running->id % 32 == 0;
}

void warp_arrive(uint32_t barrier) {
  if (elected()) arrive(barrier);
}

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
  const int size = map->element_bytes, row_bytes = map->box_columns * size;
  if (to % (map->swizzled ? 1024 : 128) != 0) fail("a box is not aligned");
  if (map->swizzled && row_bytes != 128) fail("a row of a box is not one of the swizzle");
  for (int rank = 0; chosen >> rank; ++rank) {
    if (!(chosen >> rank & 1)) continue;
    deliver(peer(rank), barrier, map->box_rows * row_bytes, [=](Block& block) {
      for (int row = 0; row < map->box_rows; ++row) {
        for (int column = 0; column < map->box_columns; ++column) {
          const bool inside = x + column < map->columns && y + row < map->rows;
          const size_t from = static_cast<size_t>(y + row) * map->pitch_bytes + static_cast<size_t>(x + column) * size;
          const uint32_t at = to + row * row_bytes + column * size;
          unsigned char* place = block.at(map->swizzled ? swizzled(at) : at, size);
          if (inside) {
            memcpy(place, map->first + from, size);
          } else {
            memset(place, 0, size);
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
  if (++cluster.arrived == static_cast<int>(cluster.blocks.size()) * threads_of_block()) {
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

void allow_next_kernel() { running->block->let_next_start(); }

void wait_for_kernel_before() {
  const Grid* before = running->block->grid->before;
  if (before != nullptr) until([before] { return before->blocks_left == 0; });
}

uint32_t cluster_rank() { return running->block->rank; }

void send_quad(uint32_t to, uint32_t barrier, uint32_t block, const float* v) {
  if (to % 16 != 0) fail("misaligned access to shared memory");
  const float4 quad = {v[0], v[1], v[2], v[3]};
  deliver(peer(block), barrier, 16, [=](Block& there) { memcpy(there.at(to, 16), &quad, 16); });
}

static int rounded_up(int a, int b) { return (a + b - 1) / b; }

/// Small integers, whose sums are exact in any order.
static float small_value() { return static_cast<float>(static_cast<int>(chance() % 5) - 2); }
