// Allocation in the order of streams. Freed memory is free at once: operations are done when they are submitted.
#include "runtime.h"

using namespace reactant;

struct CUmemPoolHandle_st { uint64_t values[9] = {0, 1, 1, 1, 0, 0, 0, 0, 0}; };

namespace {

CUmemPoolHandle_st common;

cudaError_t allocate_in_order(void **memory, size_t bytes, cudaStream_t stream) {
    return call([&]() -> cudaError_t {
        bool capturing;
        if (cudaError_t error = ready(stream, &capturing)) return error;
        if (!memory || !bytes) return cudaErrorInvalidValue;
        return allocate(memory, bytes, Kind::device);       // one captured belongs to the graph, and lasts as long
    });
}

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream) {
    return allocate_in_order(memory, bytes, stream);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return pool ? allocate_in_order(memory, bytes, stream) : report(cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
    return call([&]() -> cudaError_t {
        bool capturing;
        if (cudaError_t error = ready(stream, &capturing)) return error;
        if (capturing) return cudaSuccess;                  // later launches of the graph use it again
        return release(memory, false);
    });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties) {
    return call([&] {
        return pool && properties ? (*pool = new CUmemPoolHandle_st, cudaSuccess) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call([&] {
        if (!pool || pool == &common) return cudaErrorInvalidValue;
        delete pool;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value) {
    return call([&] {
        if (!pool || !value || attribute < 1 || attribute > 8) return cudaErrorInvalidValue;
        pool->values[attribute] = attribute < 4 ? (uint64_t)*(int *)value : *(uint64_t *)value;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value) {
    return call([&] {
        if (!pool || !value || attribute < 1 || attribute > 8) return cudaErrorInvalidValue;
        if (attribute < 4) *(int *)value = (int)pool->values[attribute];
        else *(uint64_t *)value = pool->values[attribute];
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
    return call([&] { return pool ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    return call([&] {
        if (!pool) return cudaErrorInvalidValue;
        if (device != 0) return cudaErrorInvalidDevice;
        *pool = &common;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return call([&] { return device != 0 ? cudaErrorInvalidDevice : pool ? cudaSuccess : cudaErrorInvalidValue; });
}

}
