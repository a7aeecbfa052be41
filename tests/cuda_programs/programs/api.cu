// The runtime API as its documentation has it, a function a subject.
#include "checks.h"
#include <thread>
#include <atomic>
#include <vector>
#include <chrono>

__constant__ float factor[2] = {1, 10};
__device__ int counter = 5;
__device__ double table[3];
static __device__ int local = 9;

__global__ void scale(float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * factor[1] * x[i];
}
__global__ void count(int by) { counter += by; }
__global__ void add(int *x, int by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }
__global__ void __launch_bounds__(64) bounded(int *x) { x[threadIdx.x] = 1; }
__global__ void shared_bytes(int *out) { extern __shared__ int s[]; s[threadIdx.x] = threadIdx.x; out[threadIdx.x] = s[threadIdx.x]; }
__global__ void places(int *out) {
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[b * blockDim.x * blockDim.y * blockDim.z + t] = 100 * b + t;
}

static void memory() {
    float *x = nullptr, h[64], g[64];
    for (int i = 0; i < 64; ++i) h[i] = i;
    CHECK(cudaMalloc(&x, sizeof h) == cudaSuccess && x && (size_t)x % 256 == 0);
    CHECK(cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice) == cudaSuccess);
    scale<<<1, 64>>>(x, 2, 64);
    CHECK(cudaMemcpy(g, x, sizeof g, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < 64; ++i) SAME(g[i], 20.f * i);
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, x + 3) == cudaSuccess && a.type == cudaMemoryTypeDevice && a.devicePointer == x + 3);
    CHECK(cudaPointerGetAttributes(&a, h) == cudaSuccess && a.type == cudaMemoryTypeUnregistered);
    CHECK(cudaMemcpy(x, h, sizeof h + 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);       // past the end
    CHECK(cudaMemcpy(g, h, sizeof h, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);           // not the device's
    CHECK(cudaMemcpy(g, h, sizeof h, cudaMemcpyHostToHost) == cudaSuccess && g[63] == 63);
    CHECK(cudaMemset(x, 0, sizeof h) == cudaSuccess && cudaMemcpy(g, x, sizeof g, cudaMemcpyDefault) == cudaSuccess && g[5] == 0);
    CHECK(cudaFree(x) == cudaSuccess && cudaFree(x) == cudaErrorInvalidValue && cudaFree(nullptr) == cudaSuccess);
    CHECK(cudaFree(h) == cudaErrorInvalidValue);
    CHECK(cudaMalloc(&x, (size_t)1 << 60) == cudaErrorMemoryAllocation && x == nullptr);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    int *m, *p;
    CHECK(cudaMallocManaged(&m, 400) == cudaSuccess);
    for (int i = 0; i < 100; ++i) m[i] = i;
    add<<<1, 100>>>(m, 1);
    CHECK(cudaDeviceSynchronize() == cudaSuccess && m[99] == 100);
    CHECK(cudaPointerGetAttributes(&a, m) == cudaSuccess && a.type == cudaMemoryTypeManaged);
    CHECK(cudaMemAdvise(m, 400, cudaMemAdviseSetReadMostly, 0) == cudaSuccess && cudaMemPrefetchAsync(m, 400, 0) == cudaSuccess);
    CHECK(cudaFree(m) == cudaSuccess);
    CHECK(cudaMallocHost(&p, 64) == cudaSuccess && cudaPointerGetAttributes(&a, p) == cudaSuccess && a.type == cudaMemoryTypeHost);
    int *d; CHECK(cudaHostGetDevicePointer(&d, p, 0) == cudaSuccess && d == p);
    CHECK(cudaFree(p) == cudaErrorInvalidValue && cudaFreeHost(p) == cudaSuccess);
    std::vector<int> own(100);
    CHECK(cudaHostRegister(own.data(), 400, 0) == cudaSuccess);
    CHECK(cudaHostRegister(own.data(), 400, 0) == cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cudaHostUnregister(own.data()) == cudaSuccess && cudaHostUnregister(own.data()) == cudaErrorHostMemoryNotRegistered);
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && free_bytes <= total && free_bytes > 0);
    cudaGetLastError();
}

static void pitched() {
    char *x; size_t pitch; char h[5][7], g[5][7];
    for (int i = 0; i < 35; ++i) h[0][i] = i;
    CHECK(cudaMallocPitch(&x, &pitch, 7, 5) == cudaSuccess && pitch >= 7 && pitch % 512 == 0);
    CHECK(cudaMemcpy2D(x, pitch, h, 7, 7, 5, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemset2D(x + pitch, pitch, 9, 2, 2) == cudaSuccess);
    CHECK(cudaMemcpy2D(g, 7, x, pitch, 7, 5, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(g[0][6] == 6 && g[1][1] == 9 && g[1][2] == 9 && g[1][3] == 10 && g[2][0] == 9 && g[4][6] == 34);
    CHECK(cudaMemcpy2D(g, 3, x, pitch, 7, 5, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
    cudaFree(x);
    cudaPitchedPtr p; CHECK(cudaMalloc3D(&p, make_cudaExtent(8, 3, 2)) == cudaSuccess);
    int cube[2][3][2]; for (int i = 0; i < 12; ++i) cube[0][0][i] = i;
    cudaMemcpy3DParms c = {}; c.srcPtr = make_cudaPitchedPtr(cube, 8, 2, 3); c.dstPtr = p; c.extent = make_cudaExtent(8, 3, 2); c.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&c) == cudaSuccess);
    SAME(((int *)((char *)p.ptr + p.pitch * (3 + 2)))[1], 11);
    CHECK(cudaMemset3D(p, 0, make_cudaExtent(8, 3, 1)) == cudaSuccess);
    SAME(*(int *)p.ptr, 0); SAME(((int *)((char *)p.ptr + p.pitch * 3))[0], 6);
    cudaFree(p.ptr); cudaGetLastError();
}

static void symbols() {
    float f[2] = {1, 3}; int c = 0; void *address; size_t bytes;
    CHECK(cudaMemcpyFromSymbol(&c, counter, sizeof c) == cudaSuccess && c == 5);
    count<<<1, 1>>>(4);
    CHECK(cudaMemcpyFromSymbol(&c, counter, sizeof c) == cudaSuccess && c == 9);
    c = 7; CHECK(cudaMemcpyToSymbol(counter, &c, sizeof c) == cudaSuccess);
    count<<<1, 1>>>(1); CHECK(cudaMemcpyFromSymbol(&c, counter, sizeof c) == cudaSuccess && c == 8);
    CHECK(cudaMemcpyToSymbol(factor, &f[1], sizeof(float), sizeof(float)) == cudaSuccess);
    float *x; cudaMallocManaged(&x, 4); *x = 5; scale<<<1, 1>>>(x, 1, 1); cudaDeviceSynchronize(); SAME(*x, 15.f);
    CHECK(cudaGetSymbolSize(&bytes, table) == cudaSuccess && bytes == 24);
    CHECK(cudaGetSymbolAddress(&address, table) == cudaSuccess);
    double d[3] = {1, 2, 3}, e[3];
    CHECK(cudaMemcpy(address, d, 24, cudaMemcpyHostToDevice) == cudaSuccess && cudaMemcpyFromSymbol(e, table, 24) == cudaSuccess && e[2] == 3);
    CHECK(cudaMemcpyToSymbol(table, d, 32) == cudaErrorInvalidValue);
    CHECK(cudaMemcpyFromSymbol(&c, local, 4) == cudaSuccess && c == 9);
    static int none; CHECK(cudaGetSymbolAddress(&address, none) == cudaErrorInvalidSymbol);
    cudaGetLastError();
}

static void launches() {
    int *x; cudaMallocManaged(&x, 1 << 20);
    for (int n : {0, 1025, 2048}) { add<<<1, n>>>(x, 1); CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration); }
    add<<<dim3(1, 65536), 1>>>(x, 1); CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    add<<<1, dim3(1, 1, 65)>>>(x, 1); CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    add<<<0, 1>>>(x, 1); CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    bounded<<<1, 128>>>(x); CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
    shared_bytes<<<1, 32, 50000>>>(x); CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(shared_bytes, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) == cudaSuccess);
    shared_bytes<<<1, 32, 50000>>>(x); CHECK(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess && x[31] == 31);
    CHECK(cudaFuncSetAttribute(shared_bytes, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == cudaErrorInvalidValue);
    places<<<dim3(3, 2, 2), dim3(4, 3, 2)>>>(x); cudaDeviceSynchronize();
    for (int i = 0; i < 12 * 24; ++i) SAME(x[i], 100 * (i / 24) + i % 24);
    int by = 3; x[0] = 1; void *arguments[] = {&x, &by};
    CHECK(cudaLaunchKernel((void *)add, dim3(1), dim3(1), arguments, 0, 0) == cudaSuccess && x[0] == 4);
    cudaLaunchConfig_t config = {}; config.gridDim = 1; config.blockDim = 1;
    CHECK(cudaLaunchKernelEx(&config, add, x, 2) == cudaSuccess && x[0] == 6);
    CHECK(cudaLaunchKernel((void *)&by, dim3(1), dim3(1), arguments, 0, 0) == cudaErrorInvalidDeviceFunction);
    cudaFuncAttributes a; CHECK(cudaFuncGetAttributes(&a, bounded) == cudaSuccess && a.maxThreadsPerBlock == 64);
    int blocks, size, grid;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0) == cudaSuccess && blocks == 8);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &size, add) == cudaSuccess && size == 1024 && grid > 0);
    for (int i = 0; i < 1000; ++i) x[i] = 0;
    for (int i = 0; i < 1000; ++i) add<<<10, 100>>>(x, 1);
    cudaDeviceSynchronize(); for (int i = 0; i < 1000; ++i) SAME(x[i], 1000);
    std::vector<std::thread> threads; std::atomic<int> bad{0};
    for (int t = 0; t < 4; ++t) threads.emplace_back([=, &bad] { int *y; cudaMalloc(&y, 40000); cudaMemset(y, 0, 40000);
        for (int i = 0; i < 50; ++i) add<<<100, 100>>>(y, t); std::vector<int> h(10000); cudaMemcpy(h.data(), y, 40000, cudaMemcpyDeviceToHost);
        for (int v : h) bad += v != 50 * t; cudaFree(y); });
    for (auto &t : threads) t.join();
    SAME(bad.load(), 0);
    cudaFree(x); cudaGetLastError();
}

static void streams() {
    cudaStream_t s, t; cudaEvent_t a, b; int *x; float ms = -1; unsigned flags; int priority, least, greatest;
    CHECK(cudaStreamCreate(&s) == cudaSuccess && cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess && greatest < least);
    CHECK(cudaStreamCreateWithPriority(&t, cudaStreamNonBlocking, greatest) == cudaSuccess);
    CHECK(cudaStreamGetFlags(t, &flags) == cudaSuccess && flags == cudaStreamNonBlocking && cudaStreamGetPriority(t, &priority) == cudaSuccess && priority == greatest);
    CHECK(cudaEventCreate(&a) == cudaSuccess && cudaEventCreateWithFlags(&b, cudaEventDefault) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, a, b) == cudaErrorInvalidResourceHandle);
    cudaMallocManaged(&x, 4000); memset(x, 0, 4000);
    CHECK(cudaEventRecord(a, s) == cudaSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    add<<<10, 100, 0, s>>>(x, 1); CHECK(cudaEventRecord(b, s) == cudaSuccess && cudaEventSynchronize(b) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, a, b) == cudaSuccess && ms >= 5 && ms < 5000);
    CHECK(cudaStreamWaitEvent(t, b, 0) == cudaSuccess && cudaStreamSynchronize(s) == cudaSuccess && cudaStreamQuery(t) == cudaSuccess);
    cudaEvent_t untimed; cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming); cudaEventRecord(untimed);
    CHECK(cudaEventElapsedTime(&ms, a, untimed) == cudaErrorInvalidResourceHandle);
    std::atomic<int> gate{0}, ran{0};
    struct Both { std::atomic<int> &gate, &ran; int *x; } both{gate, ran, x};
    cudaLaunchHostFunc(s, [](void *d) { Both &w = *(Both *)d; while (!w.gate) std::this_thread::yield(); w.ran = w.x[0]; }, &both);
    cudaEventRecord(b, s);
    CHECK(cudaStreamQuery(s) == cudaErrorNotReady && cudaEventQuery(b) == cudaErrorNotReady && cudaGetLastError() != cudaErrorNotReady);
    gate = 1; CHECK(cudaEventSynchronize(b) == cudaSuccess && ran == 1 && cudaEventQuery(b) == cudaSuccess && cudaStreamQuery(s) == cudaSuccess);
    int called = 0; cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t e, void *d) { *(int *)d = 1 + e; }, &called, 0);
    CHECK(cudaDeviceSynchronize() == cudaSuccess && called == 1);
    CHECK(cudaStreamDestroy(s) == cudaSuccess && cudaStreamSynchronize(s) == cudaErrorInvalidResourceHandle);
    add<<<1, 1, 0, s>>>(x, 1); CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventDestroy(a) == cudaSuccess && cudaEventRecord(a) == cudaErrorInvalidResourceHandle);
    void *p; CHECK(cudaMallocAsync(&p, 100, t) == cudaSuccess && cudaFreeAsync(p, t) == cudaSuccess);
    cudaStreamDestroy(t); cudaFree(x); cudaGetLastError();
}

static void graphs() {
    cudaStream_t s, t; cudaEvent_t e, f; cudaGraph_t g; cudaGraphExec_t run; cudaStreamCaptureStatus status; int *x, h[4] = {};
    cudaStreamCreate(&s); cudaStreamCreate(&t); cudaEventCreate(&e); cudaEventCreate(&f); cudaMalloc(&x, 16);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(x, 0, 16, s); add<<<1, 4, 0, s>>>(x, 1); cudaEventRecord(e, s); cudaStreamWaitEvent(t, e);
    add<<<1, 2, 0, t>>>(x, 10); cudaEventRecord(f, t); cudaStreamWaitEvent(s, f);
    CHECK(cudaStreamIsCapturing(t, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive);
    cudaMemcpyAsync(h, x, 16, cudaMemcpyDeviceToHost, s);
    CHECK(cudaStreamEndCapture(s, &g) == cudaSuccess && h[0] == 0);
    size_t count; CHECK(cudaGraphGetNodes(g, nullptr, &count) == cudaSuccess && count == 4);
    CHECK(cudaGraphInstantiate(&run, g, nullptr, nullptr, 0) == cudaSuccess && cudaGraphLaunch(run, s) == cudaSuccess);
    cudaStreamSynchronize(s); SAME(h[0], 11); SAME(h[3], 1);
    cudaGraphLaunch(run, s); cudaStreamSynchronize(s); SAME(h[0], 11);
    std::vector<cudaGraphNode_t> nodes(count); cudaGraphGetNodes(g, nodes.data(), &count);
    for (auto node : nodes) { cudaGraphNodeType type; cudaGraphNodeGetType(node, &type); if (type != cudaGraphNodeTypeKernel) continue;
        cudaKernelNodeParams p; cudaGraphKernelNodeGetParams(node, &p); if (p.blockDim.x != 4) continue;
        int by = 5; void *arguments[] = {&x, &by}; p.kernelParams = arguments;
        CHECK(cudaGraphExecKernelNodeSetParams(run, node, &p) == cudaSuccess); }
    cudaGraphLaunch(run, s); cudaStreamSynchronize(s); SAME(h[0], 15); SAME(h[3], 5);
    cudaGraph_t own; cudaGraphNode_t set, one, two, back; cudaGraphExec_t again; int by = 2; void *arguments[] = {&x, &by};
    CHECK(cudaGraphCreate(&own, 0) == cudaSuccess);
    cudaMemsetParams m = {}; m.dst = x; m.elementSize = 4; m.width = 4; m.height = 1; m.value = 100;
    cudaKernelNodeParams k = {}; k.func = (void *)add; k.gridDim = 1; k.blockDim = 4; k.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&two, own, nullptr, 0, &k) == cudaSuccess && cudaGraphAddMemsetNode(&set, own, nullptr, 0, &m) == cudaSuccess);
    CHECK(cudaGraphAddKernelNode(&one, own, &set, 1, &k) == cudaSuccess && cudaGraphAddDependencies(own, &one, &two, 1) == cudaSuccess);
    CHECK(cudaGraphAddMemcpyNode1D(&back, own, &two, 1, h, x, 16, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(cudaGraphInstantiate(&again, own, 0) == cudaSuccess && cudaGraphLaunch(again, 0) == cudaSuccess); SAME(h[2], 104);
    cudaGraphExecUpdateResultInfo info; CHECK(cudaGraphExecUpdate(again, g, &info) == cudaErrorGraphExecUpdateFailure && info.result == cudaGraphExecUpdateErrorNodeTypeChanged);
    CHECK(cudaGraphAddDependencies(own, &two, &set, 1) == cudaSuccess && cudaGraphInstantiate(&again, own, 0) == cudaErrorInvalidValue);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed); CHECK(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported && cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
    cudaGraphExecDestroy(run); cudaGraphDestroy(own); cudaGetLastError();
}

static void device() {
    int n = -1, v; cudaDeviceProp p; size_t value;
    CHECK(cudaGetDeviceCount(&n) == cudaSuccess && n == 1 && cudaSetDevice(0) == cudaSuccess && cudaSetDevice(1) == cudaErrorInvalidDevice && cudaGetDevice(&v) == cudaSuccess && v == 0);
    CHECK(cudaGetDeviceProperties(&p, 0) == cudaSuccess && strstr(p.name, "Reactant") && p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.major == 8);
    CHECK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess && v == p.multiProcessorCount && v > 0);
    CHECK(cudaDriverGetVersion(&v) == cudaSuccess && v == CUDART_VERSION && cudaRuntimeGetVersion(&v) == cudaSuccess);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 26) == cudaSuccess && cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize) == cudaSuccess && value == 1 << 26);
    CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") && !strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
    CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1) == cudaSuccess && cudaDeviceReset() == cudaSuccess);
    cudaGetLastError();
}

static void arrays() {
    cudaArray_t a, b; auto format = cudaCreateChannelDesc<float2>(); float2 h[3][4], g[3][4]; cudaChannelFormatDesc told; cudaExtent extent; unsigned flags;
    for (int i = 0; i < 12; ++i) h[0][i] = make_float2(i, -i);
    CHECK(cudaMallocArray(&a, &format, 4, 3) == cudaSuccess && cudaMallocArray(&b, &format, 4, 3) == cudaSuccess);
    CHECK(cudaMemcpy2DToArray(a, 0, 0, h, 32, 32, 3, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpy2DArrayToArray(b, 0, 1, a, 8, 0, 24, 2) == cudaSuccess);
    CHECK(cudaMemcpy2DFromArray(g, 32, b, 0, 0, 32, 3, cudaMemcpyDeviceToHost) == cudaSuccess && g[1][0].x == 1 && g[2][2].y == -7);
    CHECK(cudaMemcpy2DToArray(a, 8, 0, h, 32, 32, 3, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaArrayGetInfo(&told, &extent, &flags, a) == cudaSuccess && told.x == 32 && told.y == 32 && told.z == 0 && extent.width == 4 && extent.height == 3);
    CHECK(cudaFreeArray(a) == cudaSuccess && cudaFreeArray(b) == cudaSuccess);
    cudaArray_t cube; auto bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned); unsigned char in[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, out[8];
    CHECK(cudaMalloc3DArray(&cube, &bytes, make_cudaExtent(2, 2, 2)) == cudaSuccess);
    cudaMemcpy3DParms p = {}; p.srcPtr = make_cudaPitchedPtr(in, 2, 2, 2); p.dstArray = cube; p.extent = make_cudaExtent(2, 2, 2); p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p) == cudaSuccess);
    cudaMemcpy3DParms q = {}; q.srcArray = cube; q.dstPtr = make_cudaPitchedPtr(out, 2, 2, 2); q.extent = p.extent; q.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&q) == cudaSuccess && out[7] == 8 && out[3] == 4);
    cudaFreeArray(cube); cudaGetLastError();
}

int main(int argc, char **argv) {
    const Subject subjects[] = {{"memory", memory}, {"pitched", pitched}, {"symbols", symbols}, {"launches", launches}, {"streams", streams},
                                {"graphs", graphs}, {"device", device}, {"arrays", arrays}};
    return run_subjects(subjects, 8, argc, argv);
}
