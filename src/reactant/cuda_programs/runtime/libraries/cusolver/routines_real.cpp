// The routines of solver.inc for real elements.
#include "dense.h"

#define JOINED_(A, B, C) A##B##C
#define JOINED(A, B, C) JOINED_(A, B, C)
#define REACTANT_SOLVER(NAME, PARAMETERS, ARGUMENTS)                                                           \
    extern "C" cusolverStatus_t JOINED(cusolverDn, REACTANT_L, NAME) PARAMETERS {                              \
        return reactant::solver::NAME<REACTANT_T> ARGUMENTS;                                                   \
    }

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
