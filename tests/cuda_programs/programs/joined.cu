// Launches that may be joined, and what has to be done before the host, or another launch, looks. argv[1]: the subject.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "checks.h"
#define OK(...) CHECK((__VA_ARGS__) == cudaSuccess)

constexpr int N = 200000, THREADS = 128, BLOCKS = (N + THREADS - 1) / THREADS, STEPS = 20;

__global__ void multiply(const float *a, const float *b, float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) x[i] = a[i] * b[i];
}
__global__ void add(const float *x, float c, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = x[i] + c;
}
__global__ void difference(const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = i + 1 < N ? x[i + 1] - x[i] : 0;
}
__global__ void add_from(const float *x, float c, float *y, long first) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i + first] = x[i] + c;
}

static float *made(bool managed = false) {
    float *x;
    if (managed) OK(cudaMallocManaged(&x, N * sizeof(float)));
    else OK(cudaMalloc(&x, N * sizeof(float)));
    OK(cudaMemset(x, 0, N * sizeof(float)));
    return x;
}
static std::vector<float> read(const float *x) {
    std::vector<float> host(N);
    OK(cudaMemcpy(host.data(), x, N * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
}
static void all_are(const float *x, float value) {
    for (float each : read(x)) CHECK(each == value);
}

int main(int, char **argv) {
    const char *subject = argv[1];
    const auto is = [&](const char *name) { return !strcmp(subject, name); };
    const bool managed = is("managed");
    float *a = made(managed), *b = made(managed), *x = made(managed), *y = made(managed);
    add<<<BLOCKS, THREADS>>>(a, 3, a);                          // the first launches of a kernel tell how long it takes
    add<<<BLOCKS, THREADS>>>(b, 2, b);
    multiply<<<BLOCKS, THREADS>>>(a, b, x);
    difference<<<BLOCKS, THREADS>>>(x, y);
    OK(cudaDeviceSynchronize());
    if (is("chain") || managed || is("blocking")) {
        for (int k = 0; k < STEPS; ++k) {
            multiply<<<BLOCKS, THREADS>>>(a, b, x);
            add<<<BLOCKS, THREADS>>>(x, k, y);
            add<<<BLOCKS, THREADS>>>(y, 1, y);
            OK(cudaGetLastError());
            OK(cudaDeviceSynchronize());
            if (managed) CHECK(y[N - 1] == k + 7);
        }
        all_are(y, STEPS + 6);
    } else if (is("neighbours")) {
        for (int k = 0; k < STEPS; ++k) {
            add<<<BLOCKS, THREADS>>>(a, k, x);
            difference<<<BLOCKS, THREADS>>>(x, y);              // reads what another block has written
            add<<<BLOCKS, THREADS>>>(a, -1, x);                 // and here writes what another block reads
            OK(cudaDeviceSynchronize());
        }
        all_are(y, 0);
    } else if (is("outside")) {
        const long first = (x < b ? b - x : x - b) - 50;        // so that its first element has this number
        float *const target = x < b ? b : x;
        for (int k = 0; k < STEPS; ++k) {
            add_from<<<BLOCKS, THREADS>>>(a, k, target - first, first);
            difference<<<BLOCKS, THREADS>>>(target, y);
            add_from<<<BLOCKS, THREADS>>>(a, -1, target - first, first);
            OK(cudaDeviceSynchronize());
        }
        all_are(y, 0);
    } else if (is("sizes")) {
        for (int k = 0; k < STEPS; ++k) {
            add<<<BLOCKS, THREADS>>>(a, k, x);
            add<<<BLOCKS / 2 + 1, 2 * THREADS>>>(x, 1, y);      // other blocks
            OK(cudaDeviceSynchronize());
        }
        all_are(y, STEPS + 3);
    } else if (is("events")) {
        cudaEvent_t start, end;
        OK(cudaEventCreate(&start));
        OK(cudaEventCreate(&end));
        for (int k = 0; k < STEPS; ++k) {
            OK(cudaEventRecord(start));
            for (int j = 0; j < 8; ++j) add<<<BLOCKS, THREADS>>>(y, 1, y);
            OK(cudaEventRecord(end));
            float milliseconds = 0;
            OK(cudaEventElapsedTime(&milliseconds, start, end));
            CHECK(milliseconds > 0.02f);       // a million sums
        }
        all_are(y, 8 * STEPS);
    } else if (is("freed")) {
        for (int k = 0; k < STEPS; ++k) {
            float *other = made();
            add<<<BLOCKS, THREADS>>>(a, k, other);
            add<<<BLOCKS, THREADS>>>(other, 1, y);
            OK(cudaFree(other));
            all_are(y, k + 4);
        }
    } else if (is("graph")) {
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        OK(cudaStreamCreate(&stream));
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        multiply<<<BLOCKS, THREADS, 0, stream>>>(a, b, x);
        add<<<BLOCKS, THREADS, 0, stream>>>(x, 1, x);
        add<<<BLOCKS, THREADS, 0, stream>>>(x, 1, y);
        OK(cudaStreamEndCapture(stream, &graph));
        OK(cudaGraphInstantiate(&executable, graph, 0));
        for (int k = 0; k < STEPS; ++k) OK(cudaGraphLaunch(executable, stream));
        OK(cudaGraphExecDestroy(executable));
        all_are(y, 8);
    } else if (is("copies")) {
        for (int k = 0; k < STEPS; ++k) {
            add<<<BLOCKS, THREADS>>>(a, k, x);
            OK(cudaMemset(b, 0, N * sizeof(float)));                         // is not accessed: nothing is done before
            add<<<BLOCKS, THREADS>>>(x, 1, y);
            OK(cudaMemcpy(b, y, N * sizeof(float), cudaMemcpyDeviceToDevice));
            all_are(b, k + 4);
        }
    }
    for (float *each : {a, b, x, y}) OK(cudaFree(each));
    printf("%s done\n", subject);
    return checks_failed != 0;
}
