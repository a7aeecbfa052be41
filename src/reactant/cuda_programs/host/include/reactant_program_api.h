/* The runtime API, for CUDA sources and for plain C and C++. */
#ifdef __cplusplus
#include "reactant_program/api.hpp"
#else
#include "reactant_program/api.h"
#endif
