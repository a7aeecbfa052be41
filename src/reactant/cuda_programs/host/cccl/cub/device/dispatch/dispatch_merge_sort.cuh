// cub::DeviceMergeSort on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/util_device.cuh>
#include <cub/util_math.cuh>
#include <cub/util_namespace.cuh>
#include <cub/util_type.cuh>

#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
template <class KeysIn, class ItemsIn, class Keys, class Items, class Offset, class Less, class...> struct DispatchMergeSort {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, KeysIn keys_in, ItemsIn items_in, Keys keys, Items items,
                                                     Offset count, Less less, cudaStream_t stream) {
        typedef detail::value_t<Keys> Key;
        if constexpr (::cuda::std::is_same<detail::value_t<Items>, NullType>::value) {
            const reactant_parallel::NoItems none{};
            return reactant_parallel::merge_sort<Key, reactant_parallel::NoItems>(memory, bytes, keys_in, none, keys, none, (reactant_parallel::Index)count, less, stream);
        } else {
            return reactant_parallel::merge_sort<Key, detail::value_t<Items>>(memory, bytes, keys_in, items_in, keys, items, (reactant_parallel::Index)count, less, stream);
        }
    }
};
CUB_NAMESPACE_END
