// cub::DeviceSegmentedSort on this device.
#pragma once
#include <cub/device/dispatch/dispatch_radix_sort.cuh>

#include <thrust/iterator/constant_iterator.h>

CUB_NAMESPACE_BEGIN
template <bool Descending, class Key, class Value, class Offset, class Begin, class End, class Policy = void> struct DispatchSegmentedSort {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, DoubleBuffer<Key> &keys, DoubleBuffer<Value> &values,
                                                     Offset items, int segments, Begin begin, End end, bool, cudaStream_t stream) {
        return detail::radix::sort_segments(memory, bytes, keys, values, (reactant_parallel::Index)items, segments, begin, end,
                                            detail::radix::before<Key, Descending>{0, 8 * (int)sizeof(Key)}, stream);
    }
};
CUB_NAMESPACE_END
