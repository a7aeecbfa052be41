// The old interface's state: one handle, and the status of the last call that failed. Its calls are in cublas.h.
#include "blas.h"

using namespace reactant;

namespace {
std::mutex mutex;
cublasHandle_t handle = nullptr;
cublasStatus_t last = CUBLAS_STATUS_SUCCESS;
}

extern "C" {

cublasStatus_t reactant_old_version(int *version) __asm__("cublasGetVersion");

cublasHandle_t reactant_old_handle(void) {
    std::lock_guard lock(mutex);
    if (!handle) cublasCreate_v2(&handle);
    return handle;
}
void reactant_old_status(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) last = status;
}
cublasStatus_t cublasInit(void) { return reactant_old_handle() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED; }
cublasStatus_t cublasShutdown(void) {
    std::lock_guard lock(mutex);
    delete handle;
    handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetError(void) {
    cublasStatus_t found = last;
    last = CUBLAS_STATUS_SUCCESS;
    return found;
}
cublasStatus_t reactant_old_version(int *version) { return cublasGetVersion_v2(nullptr, version); }
cublasStatus_t cublasAlloc(int count, int bytes, void **memory) {
    if (count <= 0 || bytes <= 0 || !memory) return CUBLAS_STATUS_INVALID_VALUE;
    return cudaMalloc(memory, (size_t)count * bytes) ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasFree(void *memory) { return cudaFree(memory) ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetKernelStream(cudaStream_t stream) { return cublasSetStream_v2(reactant_old_handle(), stream); }

}  // extern "C"
