/* The old interface of cuBLAS: no handles, letters for operations, numbers as values. */
#ifndef CUBLAS_H_
#define CUBLAS_H_
#ifdef CUBLAS_V2_H_
#error "cublas.h and cublas_v2.h, the old and the new interface, cannot be used by one file."
#endif
#include "reactant_libraries/blas_types.h"
#define CUBLAS_OLD_STATIC static __inline__ __attribute__((unused))
#ifdef __cplusplus
extern "C" {
#endif
#include "reactant_libraries/blas_copies.inc"
#define REACTANT_BLAS_TYPE "reactant_libraries/blas_declared.h"
#define REACTANT_BLAS_OLD
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
#undef REACTANT_BLAS_OLD
#undef REACTANT_BLAS_TYPE
cublasStatus_t cublasInit(void);
cublasStatus_t cublasShutdown(void);
cublasStatus_t cublasGetError(void);
cublasStatus_t cublasGetVersion(int *version);
cublasStatus_t cublasAlloc(int count, int bytes, void **memory);
cublasStatus_t cublasFree(void *memory);
cublasStatus_t cublasSetKernelStream(cudaStream_t stream);
cublasHandle_t reactant_old_handle(void);           /* what cublasInit made; made where it was not called */
void reactant_old_status(cublasStatus_t status);    /* kept for cublasGetError */
#define REACTANT_NORM_NAMED(NAME, T, R) cublasStatus_t cublas##NAME##_v2(cublasHandle_t, int, const T *, int, R *);
REACTANT_NORM_NAMED(Isamax, float, int) REACTANT_NORM_NAMED(Idamax, double, int)
REACTANT_NORM_NAMED(Isamin, float, int) REACTANT_NORM_NAMED(Idamin, double, int)
REACTANT_NORM_NAMED(Icamax, cuComplex, int) REACTANT_NORM_NAMED(Izamax, cuDoubleComplex, int)
REACTANT_NORM_NAMED(Sasum, float, float) REACTANT_NORM_NAMED(Dasum, double, double)
REACTANT_NORM_NAMED(Snrm2, float, float) REACTANT_NORM_NAMED(Dnrm2, double, double)
REACTANT_NORM_NAMED(Scasum, cuComplex, float) REACTANT_NORM_NAMED(Dzasum, cuDoubleComplex, double)
REACTANT_NORM_NAMED(Scnrm2, cuComplex, float) REACTANT_NORM_NAMED(Dznrm2, cuDoubleComplex, double)
#undef REACTANT_NORM_NAMED
#ifdef __cplusplus
}
#endif

CUBLAS_OLD_STATIC cublasOperation_t reactant_old_op(char c) {
    return c == 'N' || c == 'n' ? CUBLAS_OP_N : c == 'T' || c == 't' ? CUBLAS_OP_T : c == 'C' || c == 'c' ? CUBLAS_OP_C
         : (cublasOperation_t)-1;
}
CUBLAS_OLD_STATIC cublasFillMode_t reactant_old_fill(char c) {
    return c == 'L' || c == 'l' ? CUBLAS_FILL_MODE_LOWER : c == 'U' || c == 'u' ? CUBLAS_FILL_MODE_UPPER : (cublasFillMode_t)-1;
}
CUBLAS_OLD_STATIC cublasSideMode_t reactant_old_side(char c) {
    return c == 'L' || c == 'l' ? CUBLAS_SIDE_LEFT : c == 'R' || c == 'r' ? CUBLAS_SIDE_RIGHT : (cublasSideMode_t)-1;
}
CUBLAS_OLD_STATIC cublasDiagType_t reactant_old_diag(char c) {
    return c == 'U' || c == 'u' ? CUBLAS_DIAG_UNIT : c == 'N' || c == 'n' ? CUBLAS_DIAG_NON_UNIT : (cublasDiagType_t)-1;
}
#define REACTANT_OLD(NAME, P, A)                                                                                       \
    CUBLAS_OLD_STATIC void cublas##NAME P { reactant_old_status(cublas##NAME##_v2 A); }
#define REACTANT_OLD_RESULT(NAME, T, R)                                                                                \
    CUBLAS_OLD_STATIC R cublas##NAME(int n, const T *x, int incx) {                                                    \
        R found = (R)0;                                                                                                \
        reactant_old_status(cublas##NAME##_v2(reactant_old_handle(), n, x, incx, &found));                             \
        return found;                                                                                                  \
    }
#define H_ reactant_old_handle()
REACTANT_OLD_RESULT(Isamax, float, int) REACTANT_OLD_RESULT(Idamax, double, int)
REACTANT_OLD_RESULT(Isamin, float, int) REACTANT_OLD_RESULT(Idamin, double, int)
REACTANT_OLD_RESULT(Icamax, cuComplex, int) REACTANT_OLD_RESULT(Izamax, cuDoubleComplex, int)
REACTANT_OLD_RESULT(Sasum, float, float) REACTANT_OLD_RESULT(Dasum, double, double)
REACTANT_OLD_RESULT(Snrm2, float, float) REACTANT_OLD_RESULT(Dnrm2, double, double)
REACTANT_OLD_RESULT(Scasum, cuComplex, float) REACTANT_OLD_RESULT(Dzasum, cuDoubleComplex, double)
REACTANT_OLD_RESULT(Scnrm2, cuComplex, float) REACTANT_OLD_RESULT(Dznrm2, cuDoubleComplex, double)
#define REACTANT_OLD_TYPE(L, T)                                                                                        \
    REACTANT_OLD(L##axpy, (int n, T alpha, const T *x, int incx, T *y, int incy), (H_, n, &alpha, x, incx, y, incy))   \
    REACTANT_OLD(L##copy, (int n, const T *x, int incx, T *y, int incy), (H_, n, x, incx, y, incy))                    \
    REACTANT_OLD(L##swap, (int n, T *x, int incx, T *y, int incy), (H_, n, x, incx, y, incy))                          \
    REACTANT_OLD(L##scal, (int n, T alpha, T *x, int incx), (H_, n, &alpha, x, incx))                                  \
    REACTANT_OLD(L##gemv, (char trans, int m, int n, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, \
                           int incy),                                                                                  \
                 (H_, reactant_old_op(trans), m, n, &alpha, a, lda, x, incx, &beta, y, incy))                          \
    REACTANT_OLD(L##trmv, (char uplo, char trans, char diag, int n, const T *a, int lda, T *x, int incx),              \
                 (H_, reactant_old_fill(uplo), reactant_old_op(trans), reactant_old_diag(diag), n, a, lda, x, incx))   \
    REACTANT_OLD(L##trsv, (char uplo, char trans, char diag, int n, const T *a, int lda, T *x, int incx),              \
                 (H_, reactant_old_fill(uplo), reactant_old_op(trans), reactant_old_diag(diag), n, a, lda, x, incx))   \
    REACTANT_OLD(L##gemm, (char transa, char transb, int m, int n, int k, T alpha, const T *a, int lda, const T *b,    \
                           int ldb, T beta, T *c, int ldc),                                                            \
                 (H_, reactant_old_op(transa), reactant_old_op(transb), m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc)) \
    REACTANT_OLD(L##symm, (char side, char uplo, int m, int n, T alpha, const T *a, int lda, const T *b, int ldb,      \
                           T beta, T *c, int ldc),                                                                     \
                 (H_, reactant_old_side(side), reactant_old_fill(uplo), m, n, &alpha, a, lda, b, ldb, &beta, c, ldc))  \
    REACTANT_OLD(L##syrk, (char uplo, char trans, int n, int k, T alpha, const T *a, int lda, T beta, T *c, int ldc),  \
                 (H_, reactant_old_fill(uplo), reactant_old_op(trans), n, k, &alpha, a, lda, &beta, c, ldc))           \
    REACTANT_OLD(L##syr2k, (char uplo, char trans, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb,    \
                            T beta, T *c, int ldc),                                                                    \
                 (H_, reactant_old_fill(uplo), reactant_old_op(trans), n, k, &alpha, a, lda, b, ldb, &beta, c, ldc))   \
    REACTANT_OLD(L##trsm, (char side, char uplo, char trans, char diag, int m, int n, T alpha, const T *a, int lda,    \
                           T *b, int ldb),                                                                             \
                 (H_, reactant_old_side(side), reactant_old_fill(uplo), reactant_old_op(trans),                        \
                  reactant_old_diag(diag), m, n, &alpha, a, lda, b, ldb))                                              \
    CUBLAS_OLD_STATIC void cublas##L##trmm(char side, char uplo, char trans, char diag, int m, int n, T alpha,         \
                                           const T *a, int lda, T *b, int ldb) {                                       \
        reactant_old_status(cublas##L##trmm_v2(H_, reactant_old_side(side), reactant_old_fill(uplo),                   \
                                               reactant_old_op(trans), reactant_old_diag(diag), m, n, &alpha, a, lda,  \
                                               b, ldb, b, ldb));                                                       \
    }
REACTANT_OLD_TYPE(S, float) REACTANT_OLD_TYPE(D, double)
REACTANT_OLD_TYPE(C, cuComplex) REACTANT_OLD_TYPE(Z, cuDoubleComplex)
#define REACTANT_OLD_REAL(L, T)                                                                                        \
    CUBLAS_OLD_STATIC T cublas##L##dot(int n, const T *x, int incx, const T *y, int incy) {                            \
        T found = 0;                                                                                                   \
        reactant_old_status(cublas##L##dot_v2(H_, n, x, incx, y, incy, &found));                                       \
        return found;                                                                                                  \
    }                                                                                                                  \
    REACTANT_OLD(L##rot, (int n, T *x, int incx, T *y, int incy, T c, T s), (H_, n, x, incx, y, incy, &c, &s))         \
    REACTANT_OLD(L##ger, (int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *a, int lda),           \
                 (H_, m, n, &alpha, x, incx, y, incy, a, lda))                                                         \
    REACTANT_OLD(L##symv, (char uplo, int n, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy), \
                 (H_, reactant_old_fill(uplo), n, &alpha, a, lda, x, incx, &beta, y, incy))                            \
    REACTANT_OLD(L##syr, (char uplo, int n, T alpha, const T *x, int incx, T *a, int lda),                             \
                 (H_, reactant_old_fill(uplo), n, &alpha, x, incx, a, lda))
REACTANT_OLD_REAL(S, float) REACTANT_OLD_REAL(D, double)
#undef REACTANT_OLD
#undef REACTANT_OLD_RESULT
#undef REACTANT_OLD_TYPE
#undef REACTANT_OLD_REAL
#undef H_
#endif
