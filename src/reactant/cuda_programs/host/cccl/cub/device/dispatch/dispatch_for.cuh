// cub::DeviceFor on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/util_device.cuh>
#include <cub/util_math.cuh>
#include <cub/util_namespace.cuh>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace for_each {
template <class Offset, class Op> struct each { Op op; _CCCL_DEVICE void operator()(reactant_parallel::Index i) { (void)op((Offset)i); } };
template <class Offset, class Op, class...> struct dispatch_t {
    CUB_RUNTIME_FUNCTION static cudaError_t dispatch(Offset count, Op op, cudaStream_t stream) {
        return reactant_parallel::elements((reactant_parallel::Index)count, each<Offset, Op>{op}, stream);
    }
};
}  // namespace for_each
}  // namespace detail
CUB_NAMESPACE_END
