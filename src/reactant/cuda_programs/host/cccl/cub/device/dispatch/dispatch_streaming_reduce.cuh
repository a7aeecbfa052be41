// cub::DeviceReduce::ArgMin and ArgMax with two outputs on this device.
#pragma once
#include <cub/device/dispatch/dispatch_reduce.cuh>
#include <cub/iterator/arg_index_input_iterator.cuh>

#include <thrust/iterator/tabulate_output_iterator.h>

#include <cuda/std/limits>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace reduce {
template <class In, class Out, class PartOffset, class Offset, class Op, class Init, class...> struct dispatch_streaming_arg_reduce_t {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Out out, Offset count, Op op, Init init,
                                                     cudaStream_t stream) {
        typedef KeyValuePair<Offset, Init> Pair;
        typedef ArgIndexInputIterator<In, Offset, Init> Indexed;
        const empty_problem_init_t<Pair> nothing{Pair{1, init}};
        return DispatchReduce<Indexed, Out, Offset, Op, empty_problem_init_t<Pair>, Pair>::Dispatch(memory, bytes, Indexed(in), out, count, op, nothing, stream);
    }
};
}  // namespace reduce
}  // namespace detail
CUB_NAMESPACE_END
