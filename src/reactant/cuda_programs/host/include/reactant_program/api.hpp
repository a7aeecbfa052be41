// The overloads that C++ sources see: typed pointers, symbols by reference, kernels by name.
#ifndef REACTANT_PROGRAM_API_HPP
#define REACTANT_PROGRAM_API_HPP
#include "api.h"

template <class T> static inline cudaError_t cudaMalloc(T **memory, size_t bytes) {
    return ::cudaMalloc((void **)memory, bytes);
}
template <class T> static inline cudaError_t cudaMallocHost(T **memory, size_t bytes, unsigned flags = 0) {
    return ::cudaHostAlloc((void **)memory, bytes, flags);
}
static inline cudaError_t cudaMallocHost(void **memory, size_t bytes, unsigned flags) {
    return ::cudaHostAlloc(memory, bytes, flags);
}
template <class T> static inline cudaError_t cudaHostAlloc(T **memory, size_t bytes, unsigned flags) {
    return ::cudaHostAlloc((void **)memory, bytes, flags);
}
template <class T> static inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags) {
    return ::cudaHostGetDevicePointer((void **)device, host, flags);
}
template <class T>
static inline cudaError_t cudaMallocManaged(T **memory, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
    return ::cudaMallocManaged((void **)memory, bytes, flags);
}
template <class T>
static inline cudaError_t cudaMallocPitch(T **memory, size_t *pitch, size_t width, size_t height) {
    return ::cudaMallocPitch((void **)memory, pitch, width, height);
}
template <class T> static inline cudaError_t cudaMallocAsync(T **memory, size_t bytes, cudaStream_t stream) {
    return ::cudaMallocAsync((void **)memory, bytes, stream);
}
template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync((void **)memory, bytes, pool, stream);
}
template <class T>
static inline cudaError_t cudaMallocAsync(T **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync((void **)memory, bytes, pool, stream);
}

// Symbols: `symbol` may be the variable, an array of them, or a pointer that the C functions take.
template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return ::cudaMemcpyToSymbol((const void *)&symbol, from, bytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return ::cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                  cudaStream_t stream = 0) {
    return ::cudaMemcpyToSymbolAsync((const void *)&symbol, from, bytes, offset, kind, stream);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                    cudaStream_t stream = 0) {
    return ::cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, bytes, offset, kind, stream);
}
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **address, const T &symbol) {
    return ::cudaGetSymbolAddress(address, (const void *)&symbol);
}
template <class T, class U> static inline cudaError_t cudaGetSymbolAddress(U **address, const T &symbol) {
    return ::cudaGetSymbolAddress((void **)address, (const void *)&symbol);
}
template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
    return ::cudaGetSymbolSize(bytes, (const void *)&symbol);
}

// Kernels.
template <class T>
static inline cudaError_t cudaLaunchKernel(T *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                                           cudaStream_t stream = 0) {
    return ::cudaLaunchKernel((const void *)function, grid, block, arguments, shared, stream);
}
template <class T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *function, dim3 grid, dim3 block, void **arguments,
                                                      size_t shared = 0, cudaStream_t stream = 0) {
    return ::cudaLaunchCooperativeKernel((const void *)function, grid, block, arguments, shared, stream);
}
template <class... P, class... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*function)(P...), A &&...given) {
    return [&](P... values) {
        void *arguments[sizeof...(P) + 1] = {(void *)&values...};
        return ::cudaLaunchKernelExC(config, (const void *)function, arguments);
    }((P)given...);
}
template <class T> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *function) {
    return ::cudaFuncGetAttributes(attributes, (const void *)function);
}
template <class T> static inline cudaError_t cudaFuncSetAttribute(T *function, cudaFuncAttribute attribute, int value) {
    return ::cudaFuncSetAttribute((const void *)function, attribute, value);
}
template <class T> static inline cudaError_t cudaFuncSetCacheConfig(T *function, cudaFuncCache config) {
    return ::cudaFuncSetCacheConfig((const void *)function, config);
}
template <class T> static inline cudaError_t cudaFuncSetSharedMemConfig(T *function, cudaSharedMemConfig config) {
    return ::cudaFuncSetSharedMemConfig((const void *)function, config);
}
template <class T> static inline cudaError_t cudaFuncGetName(const char **name, T *function) {
    return ::cudaFuncGetName(name, (const void *)function);
}
template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T function, int block,
                                                                        size_t shared) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)function, block, shared);
}
template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T function, int block,
                                                                                 size_t shared, unsigned flags) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)function, block, shared,
                                                                    flags);
}
// The block size with the most threads at a time; of equal ones the largest, as CUDA's own header searches.
template <class F, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, T function, F shared,
                                                                         int limit = 0) {
    cudaFuncAttributes attributes;
    cudaError_t error = ::cudaFuncGetAttributes(&attributes, (const void *)function);
    int processors = 0, most = 0;
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    if (error != cudaSuccess) return error;
    int largest = attributes.maxThreadsPerBlock;
    if (limit > 0 && limit < largest) largest = limit;
    for (int size = largest; size > 0; size = size % 32 ? size - size % 32 : size - 32) {
        int blocks = 0;
        error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)function, size, shared(size));
        if (error != cudaSuccess) return error;
        if (blocks * size > most) most = blocks * size, *block = size, *grid = blocks * processors;
    }
    return cudaSuccess;
}
template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, T function, size_t shared = 0,
                                                             int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, function, [=](int) { return shared; }, limit);
}
template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, T function,
                                                                      size_t shared = 0, int limit = 0, unsigned = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, function, [=](int) { return shared; }, limit);
}
template <class T>
static inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, T *function, int blocks, int block) {
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void *)function, blocks, block);
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) {
    return ::cudaEventCreateWithFlags(event, flags);
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                               unsigned long long flags = 0) {
    return ::cudaGraphInstantiateWithFlags(executable, graph, flags);
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, cudaGraphNode_t *node,
                                               char *log, size_t bytes) {
    if (node) *node = nullptr;
    if (log && bytes) *log = 0;
    return ::cudaGraphInstantiateWithFlags(executable, graph, 0);
}
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t *node,
                                              cudaGraphExecUpdateResult *result) {
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = ::cudaGraphExecUpdate(executable, graph, &info);
    if (node) *node = info.errorNode;
    if (result) *result = info.result;
    return error;
}

// Channel descriptions of element types.
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc();
#define REACTANT_CHANNELS(T, BITS, KIND)                                                                               \
    template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T##1>() {                                           \
        return ::cudaCreateChannelDesc(BITS, 0, 0, 0, KIND); }                                                         \
    template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T##2>() {                                           \
        return ::cudaCreateChannelDesc(BITS, BITS, 0, 0, KIND); }                                                      \
    template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T##4>() {                                           \
        return ::cudaCreateChannelDesc(BITS, BITS, BITS, BITS, KIND); }
#define REACTANT_CHANNEL(T, BITS, KIND)                                                                                \
    template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T>() {                                              \
        return ::cudaCreateChannelDesc(BITS, 0, 0, 0, KIND); }
REACTANT_CHANNEL(char, 8, cudaChannelFormatKindSigned)
REACTANT_CHANNEL(signed char, 8, cudaChannelFormatKindSigned)
REACTANT_CHANNEL(unsigned char, 8, cudaChannelFormatKindUnsigned)
REACTANT_CHANNEL(short, 16, cudaChannelFormatKindSigned)
REACTANT_CHANNEL(unsigned short, 16, cudaChannelFormatKindUnsigned)
REACTANT_CHANNEL(int, 32, cudaChannelFormatKindSigned)
REACTANT_CHANNEL(unsigned int, 32, cudaChannelFormatKindUnsigned)
REACTANT_CHANNEL(float, 32, cudaChannelFormatKindFloat)
REACTANT_CHANNELS(char, 8, cudaChannelFormatKindSigned)
REACTANT_CHANNELS(uchar, 8, cudaChannelFormatKindUnsigned)
REACTANT_CHANNELS(short, 16, cudaChannelFormatKindSigned)
REACTANT_CHANNELS(ushort, 16, cudaChannelFormatKindUnsigned)
REACTANT_CHANNELS(int, 32, cudaChannelFormatKindSigned)
REACTANT_CHANNELS(uint, 32, cudaChannelFormatKindUnsigned)
REACTANT_CHANNELS(float, 32, cudaChannelFormatKindFloat)
#endif
