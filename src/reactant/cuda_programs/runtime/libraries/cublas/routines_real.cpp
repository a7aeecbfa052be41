// The routines of blas.inc for real elements, and those whose names do not go by the type alone.
#include "routines.h"

NORMS(Is, S, float, float, "sasum_", "snrm2_")
NORMS(Id, D, double, double, "dasum_", "dnrm2_")

#define REACTANT_T float
#define REACTANT_R float
#define REACTANT_L S
#include "reactant_libraries/blas.inc"
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
#define REACTANT_T double
#define REACTANT_R double
#define REACTANT_L D
#include "reactant_libraries/blas.inc"
