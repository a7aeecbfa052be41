// The routines of blas.inc for complex elements, and those whose names do not go by the type alone.
#include "routines.h"

NORMS(Ic, Sc, cuComplex, float, "scasum_", "scnrm2_")
NORMS(Iz, Dz, cuDoubleComplex, double, "dzasum_", "dznrm2_")

#define OF_REAL_FACTORS(SCAL, ROT, T, R)                                                                       \
    extern "C" cublasStatus_t SCAL(cublasHandle_t h, int n, const R *alpha, T *x, int incx) {                  \
        return scaled(h, n, alpha, x, incx);                                                                   \
    }                                                                                                          \
    extern "C" cublasStatus_t ROT(cublasHandle_t h, int n, T *x, int incx, T *y, int incy, const R *c, const R *s) { \
        return rotated(h, n, x, incx, y, incy, c, s);                                                          \
    }
OF_REAL_FACTORS(cublasCsscal_v2, cublasCsrot_v2, cuComplex, float)
OF_REAL_FACTORS(cublasZdscal_v2, cublasZdrot_v2, cuDoubleComplex, double)

#define REACTANT_COMPLEX
#define REACTANT_T cuComplex
#define REACTANT_R float
#define REACTANT_L C
#include "reactant_libraries/blas.inc"
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
#define REACTANT_T cuDoubleComplex
#define REACTANT_R double
#define REACTANT_L Z
#include "reactant_libraries/blas.inc"
