// How routines of blas.inc are defined, and those whose names do not go by the type alone.
#pragma once
#include "batched.h"
#include "level1.h"
#include "level2.h"

using namespace reactant::blas;

#define JOINED_(A, B, C) A##B##C
#define JOINED(A, B, C) JOINED_(A, B, C)
#define REACTANT_BLAS(NAME, PARAMETERS, ARGUMENTS)                                                             \
    extern "C" cublasStatus_t JOINED(cublas, REACTANT_L, NAME##_v2) PARAMETERS {                               \
        return reactant::blas::NAME<REACTANT_T> ARGUMENTS;                                                     \
    }
#define NORMS(I, A, T, R, ASUM, NRM2)                                                                          \
    extern "C" cublasStatus_t cublas##I##amax_v2(cublasHandle_t h, int n, const T *x, int incx, int *result) { \
        return extreme(h, true, n, x, incx, result);                                                           \
    }                                                                                                          \
    extern "C" cublasStatus_t cublas##I##amin_v2(cublasHandle_t h, int n, const T *x, int incx, int *result) { \
        return extreme(h, false, n, x, incx, result);                                                          \
    }                                                                                                          \
    extern "C" cublasStatus_t cublas##A##asum_v2(cublasHandle_t h, int n, const T *x, int incx, R *result) {   \
        return asum(h, ASUM, n, x, incx, result);                                                              \
    }                                                                                                          \
    extern "C" cublasStatus_t cublas##A##nrm2_v2(cublasHandle_t h, int n, const T *x, int incx, R *result) {   \
        return asum(h, NRM2, n, x, incx, result);                                                              \
    }
