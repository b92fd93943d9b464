// Small programs whose reports and exports the readers are tested with, one a mode:
//
//   reports launches|graph|range|nvtx|spawn|crash-host|crash-device|long-name|no-cuda
//
// What they print is part of the test: a program's output is noise around the tables of ncu.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace {

constexpr int kElements = 1 << 20;
constexpr int kThreads = 256;

#define CHECK(call)                                                                          \
    do {                                                                                     \
        const cudaError_t error_ = (call);                                                   \
        if (error_ != cudaSuccess) {                                                         \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            std::exit(3);                                                                    \
        }                                                                                    \
    } while (0)

__global__ void saxpy(int n, float a, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

template <int Threads>
__global__ void block_sums(int n, const float* x, float* sums) {
    __shared__ float partial[Threads];
    const int i = blockIdx.x * Threads + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = Threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void write_nowhere(float* nowhere) { nowhere[threadIdx.x] = 1.0f; }

// Doubling the arguments at each level makes a demangled name of thousands of characters.
template <class Left, class Right>
struct PairOfOperands {};
template <int Levels>
struct Doubled {
    using type = PairOfOperands<typename Doubled<Levels - 1>::type, typename Doubled<Levels - 1>::type>;
};
template <>
struct Doubled<0> {
    using type = float;
};
template <class Operands>
__global__ void long_named(float* y) {
    y[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

struct Buffers {
    float *x, *y, *sums;
    Buffers() {
        CHECK(cudaMalloc(&x, kElements * sizeof(float)));
        CHECK(cudaMalloc(&y, kElements * sizeof(float)));
        CHECK(cudaMalloc(&sums, kElements / kThreads * sizeof(float)));
        CHECK(cudaMemset(x, 0, kElements * sizeof(float)));
        CHECK(cudaMemset(y, 0, kElements * sizeof(float)));
    }
};

void launch_saxpy(const Buffers& on, cudaStream_t stream = nullptr) {
    saxpy<<<kElements / kThreads, kThreads, 0, stream>>>(kElements, 2.0f, on.x, on.y);
}

void launch_sums(const Buffers& on, cudaStream_t stream = nullptr) {
    block_sums<kThreads><<<kElements / kThreads, kThreads, 0, stream>>>(kElements, on.y, on.sums);
}

// The same kernel again and again, on two streams, with output that looks like rows of a table.
void launches(const Buffers& on) {
    cudaStream_t other;
    CHECK(cudaStreamCreate(&other));
    for (int step = 0; step < 3; ++step) {
        launch_saxpy(on, step == 2 ? other : nullptr);
        CHECK(cudaDeviceSynchronize());
        std::printf("%d, \"saxpy\", loss 0,%d\n", step, 5 - step);
        std::fflush(stdout);
    }
    launch_sums(on);
    CHECK(cudaDeviceSynchronize());
}

void graph(const Buffers& on) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_saxpy(on, stream);
    launch_sums(on, stream);
    launch_saxpy(on, stream);
    cudaGraph_t captured;
    CHECK(cudaStreamEndCapture(stream, &captured));
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, captured, 0));
    for (int round = 0; round < 2; ++round) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
}

// Both kernels are loaded before the first range: loading inside of one cannot be replayed.
void range(const Buffers& on) {
    launch_saxpy(on);
    launch_sums(on);
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < 2; ++round) {
        CHECK(cudaProfilerStart());
        launch_saxpy(on);
        if (round == 1) launch_saxpy(on);
        launch_sums(on);
        CHECK(cudaProfilerStop());
    }
    CHECK(cudaDeviceSynchronize());
}

// Nested ranges, a domain of its own, a start/end range and a name with the marks of CSV in it.
void nvtx(const Buffers& on) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("lab");
    nvtxEventAttributes_t named = {};
    named.version = NVTX_VERSION;
    named.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    named.messageType = NVTX_MESSAGE_TYPE_ASCII;
    named.message.ascii = "inner, \"quoted\"; 1";
    named.colorType = NVTX_COLOR_ARGB;
    named.color = 0xff336699;
    named.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    named.payload.llValue = 42;
    launch_saxpy(on);
    nvtxRangePushA("step");
    launch_saxpy(on);
    const nvtxRangeId_t batch = nvtxRangeStartA("batch");
    nvtxDomainRangePushEx(domain, &named);
    launch_saxpy(on);
    launch_sums(on);
    nvtxDomainRangePop(domain);
    nvtxRangeEnd(batch);
    nvtxRangePop();
    launch_saxpy(on);
    CHECK(cudaDeviceSynchronize());
}

// Two children that launch the same kernels one after the other, then this process.
void spawn(const Buffers& on) {
    const char self[] = "/proc/self/exe";
    for (int child = 0; child < 2; ++child) {
        char mode[] = "launches";
        char* const arguments[] = {const_cast<char*>(self), mode, nullptr};
        pid_t process = 0;
        int status = 0;
        if (posix_spawn(&process, self, nullptr, nullptr, arguments, environ) != 0 ||
            waitpid(process, &status, 0) != process || status != 0) {
            std::fprintf(stderr, "child %d failed\n", child);
            std::exit(3);
        }
    }
    launch_sums(on);
    CHECK(cudaDeviceSynchronize());
}

void crash_host(const Buffers& on) {
    launch_saxpy(on);
    CHECK(cudaDeviceSynchronize());
    std::abort();
}

void crash_device(const Buffers& on) {
    launch_saxpy(on);
    CHECK(cudaDeviceSynchronize());
    write_nowhere<<<1, 32>>>(nullptr);
    CHECK(cudaDeviceSynchronize());
}

void long_name(const Buffers& on) {
    long_named<Doubled<8>::type><<<kElements / kThreads, kThreads>>>(on.y);
    long_named<Doubled<8>::type><<<kElements / kThreads / 2, kThreads>>>(on.y);
    CHECK(cudaDeviceSynchronize());
}

}  // namespace

int main(int count, char** arguments) {
    struct Mode {
        const char* name;
        void (*run)(const Buffers&);
    };
    constexpr Mode kModes[] = {
        {"launches", launches}, {"graph", graph},           {"range", range},           {"nvtx", nvtx},
        {"spawn", spawn},       {"crash-host", crash_host}, {"crash-device", crash_device}, {"long-name", long_name},
    };
    const char* name = count == 2 ? arguments[1] : "";
    if (std::strcmp(name, "no-cuda") == 0) return 0;
    for (const Mode& mode : kModes) {
        if (std::strcmp(name, mode.name) != 0) continue;
        const Buffers on;
        mode.run(on);
        std::printf("done: %s\n", name);
        return 0;
    }
    std::fprintf(stderr, "usage: reports MODE (the modes are at the top of reports.cu)\n");
    return 2;
}
