// The driver API's devices, contexts, memory, streams and events: the runtime API's under other names.
#include <cstring>

#include "driver.h"

using namespace reactant;

namespace {

struct Row { int number; const char *name, *text; };
constexpr Row rows[] = {
    {0, "CUDA_SUCCESS", "no error"},
#define REACTANT_DRIVER_ERROR(NAME, NUMBER, TEXT) {NUMBER, "CUDA_ERROR_" #NAME, TEXT},
#include "reactant_program/driver_errors.inc"
#undef REACTANT_DRIVER_ERROR
};

const Row *row_of(CUresult error) {
    for (const Row &row : rows)
        if (row.number == (int)error) return &row;
    return nullptr;
}

std::atomic<bool> started{false};
std::atomic<int> retained{0};
thread_local std::vector<CUcontext> contexts;

}  // namespace

struct CUctx_st { unsigned flags; };

namespace {
CUctx_st primary{0};

template <class Body> CUresult after_init(Body body) { return started ? body() : CUDA_ERROR_NOT_INITIALIZED; }
template <class Body> CUresult of_device(CUdevice device, Body body) {
    return after_init([&] { return device == 0 ? body() : CUDA_ERROR_INVALID_DEVICE; });
}
void *pointer(CUdeviceptr address) { return (void *)address; }

template <class T> CUresult fill(CUdeviceptr memory, T value, size_t count, CUstream stream) {
    if (memory % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
    return result_of(submit_fill(Fill{pointer(memory), count * sizeof(T), count * sizeof(T), value, (unsigned)sizeof(T), count * sizeof(T), 1, 1}, stream));
}
}  // namespace

namespace reactant {
// The numbers are the same but for these.
CUresult result_of(cudaError_t error) {
    switch ((int)error) {
    case cudaErrorInvalidConfiguration: case cudaErrorInvalidPitchValue: case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection: case cudaErrorInvalidHostPointer: return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol: case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_NOT_FOUND;
    default: return row_of((CUresult)error) ? (CUresult)error : CUDA_ERROR_UNKNOWN;
    }
}
}  // namespace reactant

extern "C" {

CUresult cuGetErrorString(CUresult error, const char **text) {
    const Row *row = row_of(error);
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->text : nullptr;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorName(CUresult error, const char **name) {
    const Row *row = row_of(error);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = row ? row->name : nullptr;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuInit(unsigned flags) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    started = true;
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) { return result_of(cudaDriverGetVersion(version)); }

// ---- devices ----
CUresult cuDeviceGet(CUdevice *device, int number) {
    return of_device(number, [&] { return device ? (*device = 0, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; });
}
CUresult cuDeviceGetCount(int *count) { return after_init([&] { return result_of(cudaGetDeviceCount(count)); }); }
CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    return of_device(device, [&] {
        cudaDeviceProp properties;
        if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
        if (cudaError_t error = cudaGetDeviceProperties(&properties, 0)) return result_of(error);
        snprintf(name, (size_t)length, "%s", properties.name);
        return CUDA_SUCCESS;
    });
}
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    return of_device(device, [&] {
        cudaDeviceProp properties;
        if (!uuid) return CUDA_ERROR_INVALID_VALUE;
        if (cudaError_t error = cudaGetDeviceProperties(&properties, 0)) return result_of(error);
        *uuid = properties.uuid;
        return CUDA_SUCCESS;
    });
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    return of_device(device, [&] { return bytes ? (*bytes = memory_bytes(), CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; });
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    return of_device(device, [&] { return result_of(cudaDeviceGetAttribute(value, (cudaDeviceAttr)attribute, 0)); });
}
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    const CUresult error = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return error ? error : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

// ---- contexts: they differ in nothing ----
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    return of_device(device, [&] { return context ? (*context = &primary, ++retained, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return of_device(device, [&] { return retained > 0 ? (--retained, CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT; });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return of_device(device, [&] { return result_of(cudaDeviceReset()); }); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) { return of_device(device, [&] { return primary.flags = flags, CUDA_SUCCESS; }); }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    return of_device(device, [&] {
        if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
        *flags = primary.flags, *active = retained > 0;
        return CUDA_SUCCESS;
    });
}
CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device) {
    return of_device(device, [&] {
        if (!context) return CUDA_ERROR_INVALID_VALUE;
        contexts.push_back(*context = new CUctx_st{flags});
        return CUDA_SUCCESS;
    });
}
CUresult cuCtxDestroy(CUcontext context) {
    if (!context || context == &primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (!contexts.empty() && contexts.back() == context) contexts.pop_back();
    wait_for_all();
    delete context;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    return after_init([&] {
        if (!contexts.empty()) contexts.pop_back();
        if (context) contexts.push_back(context);
        return CUDA_SUCCESS;
    });
}
CUresult cuCtxGetCurrent(CUcontext *context) {
    return after_init([&] { return context ? (*context = contexts.empty() ? nullptr : contexts.back(), CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; });
}
CUresult cuCtxPushCurrent(CUcontext context) {
    return after_init([&] { return context ? (contexts.push_back(context), CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT; });
}
CUresult cuCtxPopCurrent(CUcontext *context) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = contexts.back();
    contexts.pop_back();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *device) { return cuDeviceGet(device, 0); }
CUresult cuCtxGetFlags(unsigned *flags) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    return flags ? (*flags = contexts.back()->flags, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned *version) { return version ? (*version = 3020, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE; }
CUresult cuCtxSetCacheConfig(CUfunc_cache config) { return result_of(cudaDeviceSetCacheConfig((cudaFuncCache)config)); }
CUresult cuCtxSynchronize(void) { return after_init([] { return result_of(cudaDeviceSynchronize()); }); }

// ---- memory ----
CUresult cuMemAlloc(CUdeviceptr *memory, size_t bytes) {
    return after_init([&] { return memory && bytes ? result_of(cudaMalloc((void **)memory, bytes)) : CUDA_ERROR_INVALID_VALUE; });
}
CUresult cuMemAllocPitch(CUdeviceptr *memory, size_t *pitch, size_t width, size_t height, unsigned element) {
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    return after_init([&] { return result_of(cudaMallocPitch((void **)memory, pitch, width, height)); });
}
CUresult cuMemAllocManaged(CUdeviceptr *memory, size_t bytes, unsigned flags) {
    return after_init([&] { return result_of(cudaMallocManaged((void **)memory, bytes, flags)); });
}
CUresult cuMemFree(CUdeviceptr memory) { return memory ? result_of(cudaFree(pointer(memory))) : CUDA_ERROR_INVALID_VALUE; }
CUresult cuMemAllocHost(void **memory, size_t bytes) { return after_init([&] { return result_of(cudaMallocHost(memory, bytes)); }); }
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    return after_init([&] { return result_of(cudaHostAlloc(memory, bytes, flags)); });
}
CUresult cuMemFreeHost(void *memory) { return result_of(cudaFreeHost(memory)); }
CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned flags) {
    return result_of(cudaHostGetDevicePointer((void **)device, host, flags));
}
CUresult cuMemHostRegister(void *memory, size_t bytes, unsigned flags) { return result_of(cudaHostRegister(memory, bytes, flags)); }
CUresult cuMemHostUnregister(void *memory) { return result_of(cudaHostUnregister(memory)); }
CUresult cuMemGetInfo(size_t *free_bytes, size_t *total) { return after_init([&] { return result_of(cudaMemGetInfo(free_bytes, total)); }); }
CUresult cuMemAllocAsync(CUdeviceptr *memory, size_t bytes, CUstream stream) {
    return after_init([&] { return result_of(cudaMallocAsync((void **)memory, bytes, stream)); });
}
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) { return result_of(cudaFreeAsync(pointer(memory), stream)); }

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream));
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream));
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return cuMemcpyAsync(to, from, bytes, nullptr); }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) { return cuMemcpyHtoDAsync(to, from, bytes, nullptr); }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) { return cuMemcpyDtoHAsync(to, from, bytes, nullptr); }
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return cuMemcpyDtoDAsync(to, from, bytes, nullptr); }
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t count, CUstream stream) { return fill(memory, value, count, stream); }
CUresult cuMemsetD16Async(CUdeviceptr memory, unsigned short value, size_t count, CUstream stream) { return fill(memory, value, count, stream); }
CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned value, size_t count, CUstream stream) { return fill(memory, value, count, stream); }
CUresult cuMemsetD8(CUdeviceptr memory, unsigned char value, size_t count) { return fill(memory, value, count, nullptr); }
CUresult cuMemsetD16(CUdeviceptr memory, unsigned short value, size_t count) { return fill(memory, value, count, nullptr); }
CUresult cuMemsetD32(CUdeviceptr memory, unsigned value, size_t count) { return fill(memory, value, count, nullptr); }

// ---- streams and events ----
CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return after_init([&] { return result_of(cudaStreamCreateWithFlags(stream, flags)); }); }
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    return after_init([&] { return result_of(cudaStreamCreateWithPriority(stream, flags, priority)); });
}
CUresult cuStreamDestroy(CUstream stream) { return result_of(cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return result_of(cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { return result_of(cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) { return result_of(cudaStreamWaitEvent(stream, event, flags)); }
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags) {
    return result_of(cudaStreamAddCallback(stream, (cudaStreamCallback_t)callback, data, flags));     // the codes have the same numbers
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) { return result_of(cudaLaunchHostFunc(stream, function, data)); }
CUresult cuEventCreate(CUevent *event, unsigned flags) { return after_init([&] { return result_of(cudaEventCreateWithFlags(event, flags)); }); }
CUresult cuEventDestroy(CUevent event) { return result_of(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return result_of(cudaEventRecord(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { return result_of(cudaEventSynchronize(event)); }
CUresult cuEventQuery(CUevent event) { return result_of(cudaEventQuery(event)); }
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) { return result_of(cudaEventElapsedTime(milliseconds, start, end)); }

}
