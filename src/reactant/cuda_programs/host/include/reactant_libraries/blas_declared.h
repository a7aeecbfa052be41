/* Declarations for one type of elements: REACTANT_T, REACTANT_R, and REACTANT_L, the letter in the names. */
#define REACTANT_JOINED_(A, B, C) A##B##C
#define REACTANT_JOINED(A, B, C) REACTANT_JOINED_(A, B, C)
#define REACTANT_TEXT_(NAME) #NAME
#define REACTANT_TEXT(NAME) REACTANT_TEXT_(NAME)
/* The old interface has functions of its own under the plain names. */
#ifdef REACTANT_BLAS_OLD
#define REACTANT_BLAS(NAME, PARAMETERS, ARGUMENTS) \
    cublasStatus_t REACTANT_JOINED(cublas, REACTANT_L, NAME##_v2) PARAMETERS;
#else
#define REACTANT_BLAS(NAME, PARAMETERS, ARGUMENTS)                                                                     \
    cublasStatus_t REACTANT_JOINED(cublas, REACTANT_L, NAME) PARAMETERS                                                \
        __asm__(REACTANT_TEXT(REACTANT_JOINED(cublas, REACTANT_L, NAME##_v2)));                                        \
    cublasStatus_t REACTANT_JOINED(cublas, REACTANT_L, NAME##_v2) PARAMETERS;
#endif
#include "blas.inc"
#undef REACTANT_BLAS
#undef REACTANT_JOINED_
#undef REACTANT_JOINED
#undef REACTANT_TEXT_
#undef REACTANT_TEXT
#undef REACTANT_T
#undef REACTANT_R
#undef REACTANT_L
