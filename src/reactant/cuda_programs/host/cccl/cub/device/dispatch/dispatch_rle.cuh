// cub::DeviceRunLengthEncode::NonTrivialRuns on this device.
#pragma once
#include <cub/device/dispatch/dispatch_reduce_by_key.cuh>

CUB_NAMESPACE_BEGIN
namespace detail {
template <class In, class Offsets, class Lengths, class Number, class Equal> struct LongRuns {
    reactant_parallel::Runs<In, Equal> runs; Offsets offsets; Lengths lengths; Number number;
    _CCCL_DEVICE bool chosen(reactant_parallel::Index i) {
        return runs.begins(i) && i + 1 < runs.count && runs.equal(runs.keys[i], runs.keys[i + 1]);
    }
    _CCCL_DEVICE void write(reactant_parallel::Index i, reactant_parallel::Index to) { offsets[to] = i, lengths[to] = runs.end_of(i) - i; }
    _CCCL_DEVICE void other(reactant_parallel::Index, reactant_parallel::Index) {}
    _CCCL_DEVICE void end(reactant_parallel::Index chosen) { *number = chosen; }
};
}  // namespace detail

template <class In, class Offsets, class Lengths, class Number, class Equal, class Offset, class...> struct DeviceRleDispatch {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Offsets offsets, Lengths lengths, Number number,
                                                     Equal equal, Offset count, cudaStream_t stream) {
        reactant_parallel::Scratch scratch(memory);
        return reactant_parallel::select(scratch, memory, bytes, (reactant_parallel::Index)count,
                                         detail::LongRuns<In, Offsets, Lengths, Number, Equal>{{in, equal, (reactant_parallel::Index)count}, offsets, lengths, number}, stream);
    }
};
CUB_NAMESPACE_END
