// cub::DeviceMerge on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/util_device.cuh>
#include <cub/util_type.cuh>

#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace merge {
template <class KeysA, class ItemsA, class KeysB, class ItemsB, class Keys, class Items, class Offset, class Less, class...> struct dispatch_t {
    CUB_RUNTIME_FUNCTION static cudaError_t dispatch(void *memory, size_t &bytes, KeysA keys_a, ItemsA items_a, Offset count_a, KeysB keys_b,
                                                     ItemsB items_b, Offset count_b, Keys keys, Items items, Less less, cudaStream_t stream) {
        if (!memory) { bytes = 1; return cudaSuccess; }
        if constexpr (::cuda::std::is_same<ItemsA, NullType *>::value) {
            const reactant_parallel::NoItems none{};
            return reactant_parallel::merge(keys_a, (reactant_parallel::Index)count_a, keys_b, (reactant_parallel::Index)count_b, keys, none, none, none, less, stream);
        } else {
            return reactant_parallel::merge(keys_a, (reactant_parallel::Index)count_a, keys_b, (reactant_parallel::Index)count_b, keys, items_a, items_b, items, less, stream);
        }
    }
};
}  // namespace merge
}  // namespace detail
CUB_NAMESPACE_END
