// Handles, and copies of vectors and matrices.
#include "blas.h"

using namespace reactant;
using namespace reactant::blas;

namespace {

struct Name { cublasStatus_t status; const char *name, *text; };
constexpr Name names[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an invalid value was passed"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks a feature that is needed"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to memory failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to run"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an operation inside the library failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the licence could not be checked"},
};

const Name *found(cublasStatus_t status) {
    for (const Name &each : names)
        if (each.status == status) return &each;
    return nullptr;
}

// Columns of `bytes`-sized elements from one leading dimension to another.
cublasStatus_t copied(size_t rows, size_t columns, int bytes, const void *from, size_t from_leading, void *to,
                      size_t to_leading, cudaMemcpyKind kind, cudaStream_t stream) {
    if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
    cudaError_t error = cudaMemcpy2DAsync(to, to_leading * bytes, from, from_leading * bytes, rows * bytes, columns, kind,
                                          stream);
    return error ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t vector_copied(int n, int bytes, const void *x, int incx, void *y, int incy, cudaMemcpyKind kind,
                             cudaStream_t stream) {
    if (n < 0 || bytes <= 0 || incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    return copied(1, n, bytes, x, incx, y, incy, kind, stream);
}

cublasStatus_t matrix_copied(int rows, int columns, int bytes, const void *a, int lda, void *b, int ldb,
                             cudaMemcpyKind kind, cudaStream_t stream) {
    if (rows < 0 || columns < 0 || bytes <= 0 || lda < rows || ldb < rows || lda <= 0 || ldb <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    return copied(rows, columns, bytes, a, lda, b, ldb, kind, stream);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    NEED(handle);
    if (broken() || !openblas("cuBLAS")) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasContext;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    NEED_HANDLE(handle);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

#define REACTANT_SET_AND_GET(NAME, TYPE, FIELD)                                                                \
    cublasStatus_t cublasSet##NAME(cublasHandle_t handle, TYPE value) {                                        \
        NEED_HANDLE(handle);                                                                                   \
        handle->FIELD = value;                                                                                 \
        return CUBLAS_STATUS_SUCCESS;                                                                          \
    }                                                                                                          \
    cublasStatus_t cublasGet##NAME(cublasHandle_t handle, TYPE *value) {                                       \
        NEED_HANDLE(handle);                                                                                   \
        NEED(value);                                                                                           \
        *value = handle->FIELD;                                                                                \
        return CUBLAS_STATUS_SUCCESS;                                                                          \
    }
REACTANT_SET_AND_GET(AtomicsMode, cublasAtomicsMode_t, atomics)
REACTANT_SET_AND_GET(MathMode, cublasMath_t, math)
REACTANT_SET_AND_GET(SmCountTarget, int, multiprocessors)

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    NEED_HANDLE(handle);
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream) {
    NEED_HANDLE(handle);
    NEED(stream);
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
    NEED_HANDLE(handle);
    NEED(mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE);
    handle->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode) {
    NEED_HANDLE(handle);
    NEED(mode);
    *mode = handle->pointers;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *, size_t) {
    NEED_HANDLE(handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *version) {
    NEED(version);
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    NEED(value && type >= MAJOR_VERSION && type <= PATCH_LEVEL);
    constexpr int parts[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
    *value = parts[type];
    return CUBLAS_STATUS_SUCCESS;
}
size_t cublasGetCudartVersion(void) { return CUDART_VERSION; }
const char *cublasGetStatusName(cublasStatus_t status) {
    const Name *name = found(status);
    return name ? name->name : "unknown cuBLAS status";
}
const char *cublasGetStatusString(cublasStatus_t status) {
    const Name *name = found(status);
    return name ? name->text : "unknown cuBLAS status";
}

cublasStatus_t cublasSetVectorAsync(int n, int bytes, const void *x, int incx, void *y, int incy, cudaStream_t stream) {
    return vector_copied(n, bytes, x, incx, y, incy, cudaMemcpyHostToDevice, stream);
}
cublasStatus_t cublasGetVectorAsync(int n, int bytes, const void *x, int incx, void *y, int incy, cudaStream_t stream) {
    return vector_copied(n, bytes, x, incx, y, incy, cudaMemcpyDeviceToHost, stream);
}
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int bytes, const void *a, int lda, void *b, int ldb,
                                    cudaStream_t stream) {
    return matrix_copied(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyHostToDevice, stream);
}
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int bytes, const void *a, int lda, void *b, int ldb,
                                    cudaStream_t stream) {
    return matrix_copied(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyDeviceToHost, stream);
}
cublasStatus_t cublasSetVector(int n, int bytes, const void *x, int incx, void *y, int incy) {
    return cublasSetVectorAsync(n, bytes, x, incx, y, incy, nullptr);
}
cublasStatus_t cublasGetVector(int n, int bytes, const void *x, int incx, void *y, int incy) {
    return cublasGetVectorAsync(n, bytes, x, incx, y, incy, nullptr);
}
cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void *a, int lda, void *b, int ldb) {
    return cublasSetMatrixAsync(rows, columns, bytes, a, lda, b, ldb, nullptr);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void *a, int lda, void *b, int ldb) {
    return cublasGetMatrixAsync(rows, columns, bytes, a, lda, b, ldb, nullptr);
}

}  // extern "C"
