// cub::DeviceReduce and cub::DeviceSegmentedReduce on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/iterator/arg_index_input_iterator.cuh>
#include <cub/thread/thread_operators.cuh>
#include <cub/util_debug.cuh>
#include <cub/util_device.cuh>
#include <cub/util_type.cuh>

#include <cuda/std/functional>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace reduce {
template <class...> struct policy_hub;

// The value of a reduction of nothing, which is no part of any other.
template <class T> struct empty_problem_init_t {
    T init;
    _CCCL_HOST_DEVICE operator T() const { return init; }
};
template <class T> struct starts : ::cuda::std::true_type {};
template <class T> struct starts<empty_problem_init_t<T>> : ::cuda::std::false_type {};
}  // namespace reduce
}  // namespace detail

template <class In, class Out, class Offset, class Op, class Init = detail::non_void_value_t<Out, detail::value_t<In>>,
          class Accum = ::cuda::std::__accumulator_t<Op, detail::value_t<In>, Init>, class Policy = void,
          class Transform = ::cuda::std::__identity, class...>
struct DispatchReduce {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Out out, Offset count, Op op, Init init,
                                                     cudaStream_t stream, Transform transform = {}) {
        return reactant_parallel::reduce<Accum>(memory, bytes, in, out, (reactant_parallel::Index)count, op, init,
                                                detail::reduce::starts<Init>::value, transform, stream);
    }
};

template <class In, class Out, class Offset, class Op, class Transform, class Init,
          class Accum = ::cuda::std::__accumulator_t<Op, detail::invoke_result_t<Transform, detail::value_t<In>>, Init>, class...>
using DispatchTransformReduce = DispatchReduce<In, Out, Offset, Op, Init, Accum, void, Transform>;

template <class In, class Out, class Begin, class End, class Offset, class Op,
          class Init = detail::non_void_value_t<Out, detail::value_t<In>>,
          class Accum = ::cuda::std::__accumulator_t<Op, detail::value_t<In>, Init>, class...>
struct DispatchSegmentedReduce {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Out out, int segments, Begin begin, End end,
                                                     Op op, Init init, cudaStream_t stream) {
        if (!memory) { bytes = 1; return cudaSuccess; }
        return reactant_parallel::elements(segments, reactant_parallel::SegmentReduction<In, Out, Begin, End, Op, Init, Accum>{in, out, begin, end, op, init}, stream);
    }
};
CUB_NAMESPACE_END
