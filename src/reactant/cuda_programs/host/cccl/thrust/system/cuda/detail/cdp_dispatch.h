// Algorithms are kernels where the host calls them, and run within the thread where device code does.
#pragma once
#include <thrust/detail/config.h>

#include <cub/config.cuh>
#include <cub/detail/detect_cuda_runtime.cuh>

#include <nv/target>

#ifdef __CUDA_ARCH__
// The device's compilation has to see which kernels the host launches: in a function of the host that nobody calls.
#  define THRUST_CDP_DISPATCH(par_impl, seq_impl)                                 \
      {                                                                           \
          auto never = [&] __host__() { NV_IF_TARGET(NV_ANY_TARGET, par_impl); }; \
          (void)never;                                                            \
      }                                                                           \
      NV_IF_TARGET(NV_ANY_TARGET, seq_impl)
#else
#  define THRUST_CDP_DISPATCH(par_impl, seq_impl) NV_IF_TARGET(NV_ANY_TARGET, par_impl)
#endif
