// Runs one kernel on the CPU and compares it with a float64 reference.
//
// Compiled with -DKERNEL="file.cu" -DENTRY=function -DELEMENT=type -DAAT=0|1 -DBLOCK_X= -DBLOCK_Y= -DROWS_FIRST=0|1
// -DSPLIT=0|1 (plan "split": a second kernel adds up slices of K) and the kernel's own macros. Arguments: the line of a barrier to leave out (0: none), then groups of nine,
// `m n k pad shift alpha beta late reverse`: `pad` elements after each row, bases `shift` elements off, copies as late
// as allowed, threads in reverse order. Prints what is wrong with each group. What surrounds the matrices is unmapped
// or NaN and must stay so. All values are small multiples of 1/8 whose sums are exact in FP32: results must be equal.

#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mma_sync.h"
#include KERNEL

#ifdef SHARED_BYTES
alignas(1024) thread_local unsigned char raw[SHARED_BYTES];  // dynamic shared memory, by the name that kernels give it
#endif

namespace host {

constexpr int THREADS_OF_BLOCK = BLOCK_X * BLOCK_Y;
constexpr size_t STACK_BYTES = 64 << 10;

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

struct Thread {
  ucontext_t context;
  Barrier at = Barrier::none;
  int line = 0;
  bool done = false;
  unsigned operations = 0;  // hash of the warp operations so far
  unsigned exchanges = 0;
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};

Index thread_index;
Index block_index;
Index block_dim;
Index grid_dim;
static int left_out = 0;
static bool late_copies = false;
static Thread threads[THREADS_OF_BLOCK];
static Thread* running;
static ucontext_t scheduler;
static void (*body)();

[[noreturn]] static void fail(const char* what) {
  printf("%s in block (%u, %u, %u), thread %d, line %d\n", what, block_index.x, block_index.y, block_index.z,
         static_cast<int>(running - threads), running->line);
  fflush(stdout);
  _exit(1);
}

void wait(Barrier barrier, int line) {
  if (line == left_out) {
    return;
  }
  running->at = barrier;
  running->line = line;
  swapcontext(&running->context, &scheduler);
}

void note_warp_operation(int kind) {
  if (kind < 0) {
    fail("a fragment in shared memory is misaligned, or its rows meet in a bank");
  }
  running->operations = running->operations * 31 + kind;
}

void exchange(const void* mine, size_t bytes, void* all) {
  // Two places in turn: who is already at the next exchange does not overwrite what others still take from this one.
  static char handed[2][THREADS_OF_BLOCK][32];
  constexpr int BEHIND = -1;  // no line of a kernel: never left out
  const int id = running - threads, place = running->exchanges++ % 2;
  memcpy(handed[place][id], mine, bytes);
  wait(Barrier::warp, BEHIND);
  for (int other = 0; other < 32; ++other) {
    memcpy(static_cast<char*>(all) + other * bytes, handed[place][id / 32 * 32 + other], bytes);
  }
}

static void perform(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) {
    memcpy(copy.to, copy.from, copy.bytes);
  }
}

void copy_async(void* to, const void* from, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0 || reinterpret_cast<uintptr_t>(from) % bytes != 0) {
    fail("misaligned cp.async");
  }
  if (late_copies) {
    running->open.push_back({to, from, bytes});
  } else {
    memcpy(to, from, bytes);
  }
}

void commit_copies() {
  running->groups.push_back(running->open);
  running->open.clear();
}

void wait_for_copies(int groups_left, int line) {
  if (line == left_out) {
    return;
  }
  auto& groups = running->groups;
  while (groups.size() > static_cast<size_t>(groups_left)) {
    perform(groups.front());
    groups.erase(groups.begin());
  }
}

unsigned lane() { return (running - threads) % 32; }

static void run_thread() {
  body();
  running->done = true;
}

/// Run all threads from `first` on until each is done or at a barrier.
static void advance(int first, int count, bool reverse) {
  for (int i = 0; i < count; ++i) {
    const int id = first + (reverse ? count - 1 - i : i);
    running = &threads[id];
    if (running->done || running->at != Barrier::none) {
      continue;
    }
    thread_index = {id % block_dim.x, id / block_dim.x, 0};
    swapcontext(&scheduler, &running->context);
  }
}

/// Open the barrier that all threads from `first` on stand at; tell whether there was one.
static bool release(int first, int count, Barrier barrier) {
  for (int id = first; id < first + count; ++id) {
    if (threads[id].at != barrier || threads[id].done || threads[id].line != threads[first].line) {
      return false;
    }
  }
  for (int id = first; id < first + count; ++id) {
    threads[id].at = Barrier::none;
  }
  return true;
}

/// Fill all shared memory with NaN: the program itself comes first, and has no other thread-local memory.
static int poison_shared(dl_phdr_info* program, size_t, void*) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    if (program->dlpi_phdr[i].p_type == PT_TLS && program->dlpi_tls_data != nullptr) {
      memset(program->dlpi_tls_data, 0xff, program->dlpi_phdr[i].p_memsz);
    }
  }
  return 1;
}

static void run_block(bool reverse) {
  static char* stacks = static_cast<char*>(mmap(nullptr, STACK_BYTES * THREADS_OF_BLOCK, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  dl_iterate_phdr(poison_shared, nullptr);
  for (int id = 0; id < THREADS_OF_BLOCK; ++id) {
    threads[id] = Thread();
    getcontext(&threads[id].context);
    threads[id].context.uc_stack = {stacks + id * STACK_BYTES, 0, STACK_BYTES};
    threads[id].context.uc_link = &scheduler;
    makecontext(&threads[id].context, run_thread, 0);
  }
  while (true) {
    bool moved = false;
    bool done = true;
    for (int first = 0; first < THREADS_OF_BLOCK; first += 32) {
      do {
        advance(first, 32, reverse);
      } while (release(first, 32, Barrier::warp) && (moved = true));
    }
    moved |= release(0, THREADS_OF_BLOCK, Barrier::block);
    for (Thread& thread : threads) {
      running = &thread;
      done &= thread.done;
      if (thread.done && thread.operations != threads[(running - threads) / 32 * 32].operations) {
        fail("lanes of a warp diverge over WMMA");
      }
    }
    if (done) {
      return;
    }
    if (!moved) {
      fail("a barrier that not all threads reach");
    }
  }
}

/// Run all blocks of a kernel, one after another.
static void launch(void (*kernel)(), Index grid, Index block, bool reverse) {
  body = kernel;
  grid_dim = grid;
  block_dim = block;
  for (block_index.z = 0; block_index.z < grid.z; ++block_index.z) {
    for (block_index.y = 0; block_index.y < grid.y; ++block_index.y) {
      for (block_index.x = 0; block_index.x < grid.x; ++block_index.x) {
        run_block(reverse);
      }
    }
  }
}

}  // namespace host

/// A matrix whose surroundings are unmapped: behind it (or before it, with `left`), but for `shift` elements.
template <typename T>
struct Matrix {
  static constexpr size_t PAGE = 4096;
  int rows;
  int cols;
  int ld;
  size_t bytes;
  char* map;
  T* data;

  Matrix(int rows, int cols, int pad, int shift, bool left) : rows(rows), cols(cols), ld(cols + pad) {
    const size_t used = rows && cols ? (static_cast<size_t>(rows - 1) * ld + cols) * sizeof(T) : 0;
    const size_t room = shift * sizeof(T);
    bytes = (used + room + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
    map = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (map == MAP_FAILED) {
      perror("mmap");
      exit(2);
    }
    data = reinterpret_cast<T*>(left ? map + PAGE + room : map + bytes - PAGE - used - room);
    if (!sparse()) {
      for (T* p = reinterpret_cast<T*>(map); p < reinterpret_cast<T*>(map + bytes); ++p) {
        *p = T(__builtin_nanf(""));
      }
    }
    mprotect(map, PAGE, PROT_NONE);
    mprotect(map + bytes - PAGE, PAGE, PROT_NONE);
  }
  Matrix(const Matrix&) = delete;
  ~Matrix() { munmap(map, bytes); }

  /// Rows so far apart that only their pages are ever touched; what lies between stays zero.
  bool sparse() const { return ld > 1 << 20; }

  T& at(int row, int col) { return data[static_cast<size_t>(row) * ld + col]; }

  void fill(unsigned seed) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < cols; ++j) {
        seed = seed * 1664525u + 1013904223u;
        at(i, j) = T(static_cast<int>(seed >> 24) % 17 / 8.0f - 1.0f);
      }
    }
  }
};

struct Case {
  int m, n, k, pad, shift;
  float alpha, beta;
  bool late, reverse;
};

static Case current;
static Matrix<ELEMENT>*a_matrix, *b_matrix;
static Matrix<float>* c_matrix;

constexpr Index BLOCK{BLOCK_X, BLOCK_Y, 1};

#if SPLIT
static int slice_k;
static float4* partial;

static void call_kernel() {
  ENTRY(current.m, current.n, current.k, current.alpha, a_matrix->data, a_matrix->ld, b_matrix->data, b_matrix->ld,
        current.beta, c_matrix->data, c_matrix->ld, slice_k, &partial->x);
}

static int slices() { return std::max(1, ceil_div(current.k, slice_k)); }

static void call_reduce() {
  const int tiles_m = ceil_div(current.m, BM), tiles_n = ceil_div(current.n, BN);
  reduce_slices(current.m, current.n, current.beta, c_matrix->data, c_matrix->ld, slices(), tiles_n,
                tiles_m * tiles_n * BM * BN / 4, &partial->x);
}

/// One slice, or with late copies three (as far as K gives three), which blocks of two rows add up.
static void launch_all(unsigned over_m, unsigned over_n) {
  slice_k = std::max(1, ceil_div(ceil_div(current.k, BK), current.late ? 3 : 1)) * BK;
  const size_t quads = static_cast<size_t>(over_m) * over_n * BM * BN / 4;
  std::vector<float4> workspace(slices() * quads, {NAN, NAN, NAN, NAN});
  partial = workspace.data();
  host::launch(call_kernel, {over_n, over_m, static_cast<unsigned>(slices())}, BLOCK, current.reverse);
  if (slices() > 1) {
    constexpr unsigned width = REDUCE_THREADS / 2;
    host::launch(call_reduce, {static_cast<unsigned>(quads / width), 1, 1}, {width, 2, 1}, current.reverse);
  }
}
#else
static void call_kernel() {
  ENTRY(current.m, current.n, current.k, current.alpha, a_matrix->data, a_matrix->ld, b_matrix->data, b_matrix->ld,
        current.beta, c_matrix->data, c_matrix->ld);
}

static void launch_all(unsigned over_m, unsigned over_n) {
  const Index grid = ROWS_FIRST ? Index{over_m, over_n, 1} : Index{over_n, over_m, 1};
  host::launch(call_kernel, grid, BLOCK, current.reverse);
}
#endif

static bool run(const Case& it) {
  Matrix<ELEMENT> a(it.m, it.k, it.pad, it.shift, it.reverse);
  Matrix<ELEMENT> other(it.k, it.n, it.pad, it.shift, it.reverse);
  Matrix<float> c(it.m, it.n, it.pad, it.shift, it.reverse);
  a.fill(1);
  other.fill(2);
  if (it.beta != 0.0f) {
    c.fill(3);
  }
  std::vector<double> expected;
  for (int i = 0; i < it.m; ++i) {
    for (int j = 0; j < it.n; ++j) {
      double sum = 0.0;
      for (int p = 0; p < it.k; ++p) {
        const ELEMENT& second = AAT ? a.at(j, p) : other.at(p, j);
        sum += static_cast<double>(static_cast<float>(a.at(i, p))) * static_cast<float>(second);
      }
      expected.push_back(it.alpha * sum + (it.beta == 0.0f ? 0.0 : it.beta * static_cast<double>(c.at(i, j))));
    }
  }

  current = it;
  a_matrix = &a;
  b_matrix = AAT ? &a : &other;
  c_matrix = &c;
  host::late_copies = it.late;
  launch_all((it.m + BM - 1) / BM, (it.n + BN - 1) / BN);

  for (int i = 0; i < it.m; ++i) {
    for (int j = 0; j < it.n; ++j) {
      const double want = expected[static_cast<size_t>(i) * it.n + j];
      if (!(c.at(i, j) == want)) {
        printf("C[%d][%d] is %g, not %g\n", i, j, c.at(i, j), want);
        return false;
      }
    }
    for (int j = it.n; !c.sparse() && j < c.ld && i + 1 < it.m; ++j) {
      if (c.at(i, j) == c.at(i, j)) {
        printf("written between the rows of C at [%d][%d]\n", i, j);
        return false;
      }
    }
  }
  return true;
}

int main(int count, char** words) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  host::left_out = atoi(words[1]);
  bool all = true;
  for (char** w = words + 2; w + 9 <= words + count; w += 9) {
    const Case it{atoi(w[0]),          atoi(w[1]),          atoi(w[2]),        atoi(w[3]),       atoi(w[4]),
                  strtof(w[5], nullptr), strtof(w[6], nullptr), atoi(w[7]) != 0, atoi(w[8]) != 0};
    if (!run(it)) {
      printf("^ m n k pad shift alpha beta late reverse = %s %s %s %s %s %s %s %s %s\n", w[0], w[1], w[2], w[3], w[4],
             w[5], w[6], w[7], w[8]);
      all = false;
    }
  }
  return all ? 0 : 1;
}
