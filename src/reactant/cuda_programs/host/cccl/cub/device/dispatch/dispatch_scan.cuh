// cub::DeviceScan on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/thread/thread_operators.cuh>
#include <cub/util_debug.cuh>
#include <cub/util_device.cuh>
#include <cub/util_math.cuh>
#include <cub/util_type.cuh>

#include <cuda/std/functional>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace scan { template <class...> struct policy_hub; }
template <class Init> struct scan_start {
    typedef reactant_parallel::Start<Init> type;
    static type of(const Init &init) { return type{init}; }
};
template <> struct scan_start<NullType> {
    typedef reactant_parallel::NoStart type;
    static type of(NullType) { return type{}; }
};
template <class T, class In> struct scan_value { typedef typename T::value_type type; };
template <class In> struct scan_value<NullType, In> { typedef value_t<In> type; };
}  // namespace detail

template <class In, class Out, class Op, class Init, class Offset,
          class Accum = ::cuda::std::__accumulator_t<Op, detail::value_t<In>, typename detail::scan_value<Init, In>::type>,
          class Policy = void, bool ForceInclusive = false>
struct DispatchScan {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Out out, Op op, Init init, Offset count,
                                                     cudaStream_t stream) {
        constexpr bool inclusive = ForceInclusive || ::cuda::std::is_same<Init, NullType>::value;
        return reactant_parallel::scan<Accum>(memory, bytes, in, out, (reactant_parallel::Index)count, op,
                                              detail::scan_start<Init>::of(init), inclusive, stream);
    }
};
CUB_NAMESPACE_END
