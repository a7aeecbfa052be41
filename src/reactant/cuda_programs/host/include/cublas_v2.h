/* cuBLAS: what is declared here is there. Names lead to the symbols with _v2, as in NVIDIA's library. */
#ifndef CUBLAS_V2_H_
#define CUBLAS_V2_H_
#ifdef CUBLAS_H_
#error "cublas.h and cublas_v2.h, the old and the new interface, cannot be used by one file."
#endif
#include "reactant_libraries/blas_types.h"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

#define REACTANT_BLAS_NAMED(NAME, PARAMETERS)                                                                          \
    cublasStatus_t cublas##NAME PARAMETERS __asm__("cublas" #NAME "_v2");                                              \
    cublasStatus_t cublas##NAME##_v2 PARAMETERS;
#ifdef __cplusplus
extern "C" {
#endif
/* ---- handles ---- */
REACTANT_BLAS_NAMED(Create, (cublasHandle_t *handle))
REACTANT_BLAS_NAMED(Destroy, (cublasHandle_t handle))
REACTANT_BLAS_NAMED(GetVersion, (cublasHandle_t handle, int *version))
REACTANT_BLAS_NAMED(SetStream, (cublasHandle_t handle, cudaStream_t stream))
REACTANT_BLAS_NAMED(GetStream, (cublasHandle_t handle, cudaStream_t *stream))
REACTANT_BLAS_NAMED(SetPointerMode, (cublasHandle_t handle, cublasPointerMode_t mode))
REACTANT_BLAS_NAMED(GetPointerMode, (cublasHandle_t handle, cublasPointerMode_t *mode))
REACTANT_BLAS_NAMED(SetWorkspace, (cublasHandle_t handle, void *memory, size_t bytes))
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t *mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode);
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count);
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int *count);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
size_t cublasGetCudartVersion(void);
const char *cublasGetStatusName(cublasStatus_t status);
const char *cublasGetStatusString(cublasStatus_t status);
#include "reactant_libraries/blas_copies.inc"

/* ---- names that do not go by the type alone ---- */
#define REACTANT_BLAS_NORMS(I, A, T, R)                                                                                \
    REACTANT_BLAS_NAMED(I##amax, (cublasHandle_t handle, int n, const T *x, int incx, int *result))                    \
    REACTANT_BLAS_NAMED(I##amin, (cublasHandle_t handle, int n, const T *x, int incx, int *result))                    \
    REACTANT_BLAS_NAMED(A##asum, (cublasHandle_t handle, int n, const T *x, int incx, R *result))                      \
    REACTANT_BLAS_NAMED(A##nrm2, (cublasHandle_t handle, int n, const T *x, int incx, R *result))
REACTANT_BLAS_NORMS(Is, S, float, float)
REACTANT_BLAS_NORMS(Id, D, double, double)
REACTANT_BLAS_NORMS(Ic, Sc, cuComplex, float)
REACTANT_BLAS_NORMS(Iz, Dz, cuDoubleComplex, double)
REACTANT_BLAS_NAMED(Csscal, (cublasHandle_t handle, int n, const float *alpha, cuComplex *x, int incx))
REACTANT_BLAS_NAMED(Zdscal, (cublasHandle_t handle, int n, const double *alpha, cuDoubleComplex *x, int incx))
REACTANT_BLAS_NAMED(Csrot, (cublasHandle_t handle, int n, cuComplex *x, int incx, cuComplex *y, int incy,
                            const float *c, const float *s))
REACTANT_BLAS_NAMED(Zdrot, (cublasHandle_t handle, int n, cuDoubleComplex *x, int incx, cuDoubleComplex *y, int incy,
                            const double *c, const double *s))

/* ---- one for each type: levels 1 to 3, extensions, batches ---- */
#define REACTANT_BLAS_TYPE "reactant_libraries/blas_declared.h"
#define REACTANT_T float
#define REACTANT_R float
#define REACTANT_L S
#include REACTANT_BLAS_TYPE
#define REACTANT_T double
#define REACTANT_R double
#define REACTANT_L D
#include REACTANT_BLAS_TYPE
#define REACTANT_COMPLEX
#define REACTANT_T cuComplex
#define REACTANT_R float
#define REACTANT_L C
#include REACTANT_BLAS_TYPE
#define REACTANT_T cuDoubleComplex
#define REACTANT_R double
#define REACTANT_L Z
#include REACTANT_BLAS_TYPE
#undef REACTANT_COMPLEX
#undef REACTANT_BLAS_TYPE
#undef REACTANT_BLAS_NAMED
#undef REACTANT_BLAS_NORMS
#include "reactant_libraries/blas_mixed.h"
#ifdef __cplusplus
}
/* Compute types were types of elements before CUDA 11. */
#include "reactant_libraries/blas_older.hpp"
#endif
#endif
