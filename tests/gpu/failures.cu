// Programs that fail, each in one way: ./failures WHAT. For record_failures.sh.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

__global__ void scale(float* values, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 2.0f;
}

__global__ void waits_for_another(volatile int* flag) {
    while (*flag == 0) {
    }
}

__global__ void writes_astray(float* values) { values[(size_t)threadIdx.x << 40] = 1.0f; }

__global__ void traps() { asm("trap;"); }

static void check(const char* what) {
    const cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) return;
    printf("%s: CUDA error: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "well";
    // Hidden by the program itself: with the variable empty in its environment, ncu 2025.3.1 gave it its GPU.
    if (strcmp(what, "blind") == 0) setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    if (strcmp(what, "unended") == 0 || strcmp(what, "muddled") == 0) {
        printf("a line that is not ended ");
        fflush(stdout);
    }
    float* values = nullptr;
    const int count = 1 << 20;
    if (cudaMalloc(&values, count * sizeof(float)) != cudaSuccess) check("malloc");
    scale<<<count / 256, 256>>>(values, count);
    check("scale");
    if (strcmp(what, "hang") == 0) waits_for_another<<<1, 1>>>((int*)values);
    if (strcmp(what, "illegal") == 0 || strcmp(what, "muddled") == 0) writes_astray<<<1, 32>>>(values);
    if (strcmp(what, "trap") == 0) traps<<<1, 1>>>();
    if (strcmp(what, "killed") == 0) raise(SIGKILL);
    if (strcmp(what, "greedy") == 0) {
        size_t available = 0, total = 0;
        cudaMemGetInfo(&available, &total);
        float* all = nullptr;
        const cudaError_t error = cudaMalloc(&all, available + (size_t(1) << 30));
        printf("malloc of more than there is: CUDA error: %s\n", cudaGetErrorString(error));
        return error != cudaSuccess;
    }
    check(what);
    scale<<<count / 256, 256>>>(values, count);
    check("scale");
    if (strcmp(what, "fails") == 0) return 3;
    if (strcmp(what, "fills") == 0) {
        FILE* full = fopen("full/output", "w");
        const char zeros[1 << 16] = {};
        if (full == nullptr || fwrite(zeros, 1, sizeof(zeros), full) < sizeof(zeros) || fclose(full) != 0) {
            perror("write");
            return 1;
        }
    }
    return 0;
}
