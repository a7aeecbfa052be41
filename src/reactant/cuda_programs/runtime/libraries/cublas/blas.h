// What the files of cuBLAS share.
#pragma once
#include "common/libraries.h"
#include "cublas_v2.h"

struct cublasContext {
    cudaStream_t stream = nullptr;
    cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
    cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
    int multiprocessors = 0;
};

namespace reactant::blas {

using namespace reactant::libraries;

inline cublasStatus_t status_of(cudaError_t error) {
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : error == cudaErrorInvalidResourceHandle
         ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class Work> cublasStatus_t run(cublasHandle_t handle, Work work) {
    return status_of(in_stream(handle->stream, std::move(work)));
}

// alpha and beta, by the handle's pointer mode.
template <class T> auto scalar(cublasHandle_t handle, const T *address) {
    return Scalar<element_of<T>>(cast(address), handle->pointers == CUBLAS_POINTER_MODE_DEVICE);
}

constexpr char letter(cublasOperation_t op) { return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C'; }
constexpr char letter(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
constexpr char letter(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_UNIT ? 'U' : 'N'; }
constexpr char letter(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }
constexpr bool known(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }
constexpr bool known(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER; }
constexpr bool known(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT; }
constexpr bool known(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
inline bool fits(int leading, int rows) { return leading >= (rows > 1 ? rows : 1); }

}  // namespace reactant::blas

// A call without a handle, or with a value that cannot be, returns the status that cuBLAS documents.
#define NEED_HANDLE(HANDLE) if (!(HANDLE)) return CUBLAS_STATUS_NOT_INITIALIZED
#define NEED(CONDITION)                                                                                        \
    if (!(CONDITION)) {                                                                                        \
        reactant::explain("%s: it needs %s", __func__, #CONDITION);                                            \
        return CUBLAS_STATUS_INVALID_VALUE;                                                                    \
    }
