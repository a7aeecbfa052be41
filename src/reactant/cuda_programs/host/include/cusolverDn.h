/* cuSOLVER for dense matrices: what is declared here is there. */
#ifndef CUSOLVERDN_H_
#define CUSOLVERDN_H_
#include "reactant_libraries/blas_types.h"

#define CUSOLVER_VER_MAJOR 11
#define CUSOLVER_VER_MINOR 6
#define CUSOLVER_VER_PATCH 1
#define CUSOLVER_VER_BUILD 0
#define CUSOLVER_VERSION (CUSOLVER_VER_MAJOR * 1000 + CUSOLVER_VER_MINOR * 100 + CUSOLVER_VER_PATCH)
typedef enum {
    CUSOLVER_STATUS_SUCCESS = 0, CUSOLVER_STATUS_NOT_INITIALIZED = 1, CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3, CUSOLVER_STATUS_ARCH_MISMATCH = 4, CUSOLVER_STATUS_MAPPING_ERROR = 5,
    CUSOLVER_STATUS_EXECUTION_FAILED = 6, CUSOLVER_STATUS_INTERNAL_ERROR = 7,
    CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8, CUSOLVER_STATUS_NOT_SUPPORTED = 9, CUSOLVER_STATUS_ZERO_PIVOT = 10,
    CUSOLVER_STATUS_INVALID_LICENSE = 11
} cusolverStatus_t;
typedef enum { CUSOLVER_EIG_TYPE_1 = 1, CUSOLVER_EIG_TYPE_2 = 2, CUSOLVER_EIG_TYPE_3 = 3 } cusolverEigType_t;
typedef enum { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 } cusolverEigMode_t;
typedef int cusolver_int_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct syevjInfo *syevjInfo_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
#ifdef __cplusplus
extern "C" {
#endif
cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value);
cusolverStatus_t cusolverGetVersion(int *version);
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream);
/* Jacobi's method is taken for what it computes: LAPACK does it, and the tolerance is LAPACK's. */
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *info);
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info);
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance);
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int sweeps);
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sort);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t *info);
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info);
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance);
cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int sweeps);
cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sort);

#define REACTANT_JOINED_(A, B, C) A##B##C
#define REACTANT_JOINED(A, B, C) REACTANT_JOINED_(A, B, C)
#define REACTANT_SOLVER(NAME, PARAMETERS, ARGUMENTS) \
    cusolverStatus_t REACTANT_JOINED(cusolverDn, REACTANT_L, NAME) PARAMETERS;
#define REACTANT_T float
#define REACTANT_R float
#define REACTANT_L S
#include "reactant_libraries/solver.inc"
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
#define REACTANT_T double
#define REACTANT_R double
#define REACTANT_L D
#include "reactant_libraries/solver.inc"
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
#define REACTANT_COMPLEX
#define REACTANT_T cuComplex
#define REACTANT_R float
#define REACTANT_L C
#include "reactant_libraries/solver.inc"
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
#define REACTANT_T cuDoubleComplex
#define REACTANT_R double
#define REACTANT_L Z
#include "reactant_libraries/solver.inc"
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
#undef REACTANT_COMPLEX
#undef REACTANT_SOLVER
#undef REACTANT_JOINED
#undef REACTANT_JOINED_
#ifdef __cplusplus
}
#endif
#endif
