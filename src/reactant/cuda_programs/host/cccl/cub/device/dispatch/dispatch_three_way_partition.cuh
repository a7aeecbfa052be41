// cub::DevicePartition::If with three parts on this device.
#pragma once
#include <cub/device/dispatch/dispatch_scan.cuh>

#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
namespace detail {
template <class In, class First, class Second, class Rest, class Number, class IsFirst, class IsSecond> struct ThreeWays {
    typedef reactant_parallel::Index Index;
    In in; First first; Second second; Rest rest; Number number; IsFirst is_first; IsSecond is_second; int which;
    _CCCL_DEVICE int part(Index i) { return is_first(in[i]) ? 0 : is_second(in[i]) ? 1 : 2; }
    _CCCL_DEVICE bool chosen(Index i) { return part(i) == which; }
    _CCCL_DEVICE void write(Index i, Index to) {
        if (which == 0) first[to] = in[i];
        else if (which == 1) second[to] = in[i];
        else rest[to] = in[i];
    }
    _CCCL_DEVICE void other(Index, Index) {}
    _CCCL_DEVICE void end(Index chosen) { if (which < 2) number[which] = chosen; }
};
}  // namespace detail

template <class In, class First, class Second, class Rest, class Number, class IsFirst, class IsSecond, class Offset, class...>
struct DispatchThreeWayPartitionIf {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, First first, Second second, Rest rest,
                                                     Number number, IsFirst is_first, IsSecond is_second, Offset count, cudaStream_t stream) {
        cudaError_t error = cudaSuccess;
        for (int which = 0; which < 3 && error == cudaSuccess; ++which) {
            reactant_parallel::Scratch scratch(memory);
            error = reactant_parallel::select(scratch, memory, bytes, (reactant_parallel::Index)count,
                                              detail::ThreeWays<In, First, Second, Rest, Number, IsFirst, IsSecond>{in, first, second, rest, number, is_first, is_second, which}, stream);
        }
        return error;
    }
};
CUB_NAMESPACE_END
