// The routines of solver.inc for complex elements.
#include "dense.h"

#define JOINED_(A, B, C) A##B##C
#define JOINED(A, B, C) JOINED_(A, B, C)
#define REACTANT_SOLVER(NAME, PARAMETERS, ARGUMENTS)                                                           \
    extern "C" cusolverStatus_t JOINED(cusolverDn, REACTANT_L, NAME) PARAMETERS {                              \
        return reactant::solver::NAME<REACTANT_T> ARGUMENTS;                                                   \
    }

// Their names of LAPACK are those of unitary and Hermitian matrices.
#define OTHER(OF_COMPLEX, OF_REAL)                                                                             \
    namespace reactant::solver {                                                                               \
    template <class T, class... A> cusolverStatus_t OF_COMPLEX(A... arguments) { return OF_REAL<T>(arguments...); } \
    template <class T, class... A> cusolverStatus_t OF_COMPLEX##_bufferSize(A... arguments) {                  \
        return OF_REAL##_bufferSize<T>(arguments...);                                                          \
    }                                                                                                          \
    }
OTHER(ungqr, orgqr)
OTHER(unmqr, ormqr)
OTHER(heevd, syevd)
OTHER(heevj, syevj)
OTHER(hegvd, sygvd)

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
