// The host side of CUDA, as far as sources that also hold a host program need it to be read. Nothing of it is ever run.
#pragma once
#ifdef __REACTANT_PROGRAM__
#include <reactant_program_api.h>
#else
#include "reactant_names_aside.h"
#include <stddef.h>

typedef enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 } cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
typedef struct CUevent_st *cudaEvent_t;
struct cudaDeviceProp {
    char name[256]; size_t totalGlobalMem, sharedMemPerBlock; int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3];
    int maxGridSize[3], clockRate, major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, memoryClockRate, memoryBusWidth;
    size_t totalConstMem; int canMapHostMemory, concurrentKernels, l2CacheSize;
};
extern "C" {
cudaError_t cudaFree(void *); cudaError_t cudaFreeHost(void *); cudaError_t cudaDeviceSynchronize(); cudaError_t cudaThreadSynchronize();
cudaError_t cudaGetLastError(); cudaError_t cudaPeekAtLastError(); const char *cudaGetErrorString(cudaError_t); const char *cudaGetErrorName(cudaError_t);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind); cudaError_t cudaMemset(void *, int, size_t);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t = 0);
cudaError_t cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaSetDevice(int); cudaError_t cudaGetDevice(int *); cudaError_t cudaGetDeviceCount(int *); cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int); cudaError_t cudaMemGetInfo(size_t *, size_t *);
cudaError_t cudaEventCreate(cudaEvent_t *); cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t); cudaError_t cudaEventDestroy(cudaEvent_t); cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
cudaError_t cudaStreamCreate(cudaStream_t *); cudaError_t cudaStreamDestroy(cudaStream_t); cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache); cudaError_t cudaDeviceGetAttribute(int *, int, int);
}
template <class T> static inline cudaError_t cudaMalloc(T **, size_t) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaMallocHost(T **, size_t, unsigned = 0) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaHostAlloc(T **, size_t, unsigned) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaMallocManaged(T **, size_t, unsigned = 1) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaMallocPitch(T **, size_t *, size_t, size_t) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaMemcpyToSymbol(const T &, const void *, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaMemcpyFromSymbol(void *, const T &, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaMemcpyToSymbolAsync(const T &, const void *, size_t, size_t, cudaMemcpyKind, cudaStream_t = 0) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **, const T &) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaFuncSetCacheConfig(T *, cudaFuncCache) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaFuncSetAttribute(T *, cudaFuncAttribute, int) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *, int *, T, size_t = 0, int = 0) { return cudaSuccess; }
template <class T> static inline cudaError_t cudaLaunchCooperativeKernel(const T *, dim3, dim3, void **, size_t = 0, cudaStream_t = 0) { return cudaSuccess; }
#include "reactant_names_back.h"
#endif
