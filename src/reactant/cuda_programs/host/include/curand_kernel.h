/* cuRAND's device side: XORWOW, Philox 4x32-10, MRG32k3a and Sobol32 in kernels. */
#ifndef CURAND_KERNEL_H_
#define CURAND_KERNEL_H_
#ifndef __CUDACC__
#error "curand_kernel.h is for kernels: include it in a .cu file."
#endif
#include "curand.h"
#define REACTANT_RANDOM static __inline__ __attribute__((device, always_inline, unused))
#define REACTANT_RANDOM_OUTSIDE extern "C" __attribute__((device))
#include "reactant_libraries/random_generators.hpp"
#include "reactant_libraries/random_distributions.hpp"
#endif
