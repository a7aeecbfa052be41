// cub::DeviceTransform on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/util_device.cuh>
#include <cub/util_type.cuh>

#include <thrust/detail/raw_reference_cast.h>
#include <thrust/type_traits/is_contiguous_iterator.h>

#include <cuda/std/tuple>
#include <cuda/std/utility>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace transform {
template <bool Stable, class Offset, class In, class Out, class Op, class Policy = void> struct dispatch_t;
template <class Out, class Op, class... In> struct transformation {
    ::cuda::std::tuple<In...> in; Out out; Op op;
    template <size_t... k> _CCCL_DEVICE void one(reactant_parallel::Index i, ::cuda::std::index_sequence<k...>) {
        out[i] = op(THRUST_NS_QUALIFIER::raw_reference_cast(::cuda::std::get<k>(in)[i])...);
    }
    _CCCL_DEVICE void operator()(reactant_parallel::Index i) { one(i, ::cuda::std::index_sequence_for<In...>{}); }
};
template <bool Stable, class Offset, class... In, class Out, class Op, class Policy>
struct dispatch_t<Stable, Offset, ::cuda::std::tuple<In...>, Out, Op, Policy> {
    CUB_RUNTIME_FUNCTION static cudaError_t dispatch(::cuda::std::tuple<In...> in, Out out, Offset count, Op op, cudaStream_t stream) {
        return reactant_parallel::elements((reactant_parallel::Index)count, transformation<Out, Op, In...>{in, out, op}, stream);
    }
};
}  // namespace transform
}  // namespace detail
CUB_NAMESPACE_END
