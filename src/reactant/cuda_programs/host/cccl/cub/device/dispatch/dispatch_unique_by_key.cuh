// cub::DeviceSelect::UniqueByKey on this device.
#pragma once
#include <cub/device/dispatch/dispatch_scan.cuh>

#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
namespace detail {
template <class Keys, class Values, class KeysOut, class ValuesOut, class Number, class Equal> struct UniqueKeys {
    reactant_parallel::Runs<Keys, Equal> runs; Values values; KeysOut keys_out; ValuesOut values_out; Number number; reactant_parallel::Index *also;
    _CCCL_DEVICE bool chosen(reactant_parallel::Index i) { return runs.begins(i); }
    _CCCL_DEVICE void write(reactant_parallel::Index i, reactant_parallel::Index to) { keys_out[to] = runs.keys[i], values_out[to] = values[i]; }
    _CCCL_DEVICE void other(reactant_parallel::Index, reactant_parallel::Index) {}
    _CCCL_DEVICE void end(reactant_parallel::Index chosen) { *number = chosen, *also = chosen; }
};
}  // namespace detail

// By way of buffers: Thrust's unique_by_key writes where it reads.
template <class Keys, class Values, class KeysOut, class ValuesOut, class Number, class Equal, class Offset, class...> struct DispatchUniqueByKey {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, Keys keys, Values values, KeysOut keys_out,
                                                     ValuesOut values_out, Number number, Equal equal, Offset items, cudaStream_t stream) {
        typedef reactant_parallel::Index Index;
        typedef detail::value_t<Keys> Key;
        typedef detail::value_t<Values> Value;
        const Index count = (Index)items;
        reactant_parallel::Scratch scratch(memory);
        Key *const some_keys = scratch.part<Key>(count);
        Value *const some_values = scratch.part<Value>(count);
        Index *const chosen = scratch.part<Index>(1);
        typedef detail::UniqueKeys<Keys, Values, Key *, Value *, Number, Equal> Chooser;
        cudaError_t error = reactant_parallel::select(scratch, memory, bytes, count, Chooser{{keys, equal, count}, values, some_keys, some_values, number, chosen}, stream);
        if (!memory || error != cudaSuccess) return error;
        error = reactant_parallel::elements(count, reactant_parallel::FromBuffer<Key, KeysOut>{some_keys, keys_out, chosen}, stream);
        if (error != cudaSuccess) return error;
        return reactant_parallel::elements(count, reactant_parallel::FromBuffer<Value, ValuesOut>{some_values, values_out, chosen}, stream);
    }
};
CUB_NAMESPACE_END
