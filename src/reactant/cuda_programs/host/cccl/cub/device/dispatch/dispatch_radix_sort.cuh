// cub::DeviceRadixSort and cub::DeviceSegmentedRadixSort on this device.
#pragma once
#include <cub/block/radix_rank_sort_operations.cuh>
#include <cub/config.cuh>
#include <cub/util_debug.cuh>
#include <cub/util_device.cuh>
#include <cub/util_math.cuh>
#include <cub/util_type.cuh>

#include <cuda/std/type_traits>

#include <reactant_radix.h>
#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace radix {
template <class...> struct policy_hub;

// Numbers as unsigned ones in the same order; -0.0 is 0.0.
template <class Key, bool Descending> struct ordered {
    typedef typename Traits<Key>::UnsignedBits Bits;
    _CCCL_DEVICE Bits bits(const Key &key) const {
        Bits made;
        memcpy(&made, &key, sizeof(Bits));
        if constexpr (Traits<Key>::CATEGORY == FLOATING_POINT) {
            if (made == (Bits)(Bits(1) << (8 * sizeof(Bits) - 1))) made = 0;
        }
        made = Traits<Key>::TwiddleIn(made);
        return Descending ? (Bits)~made : made;
    }
};

template <class Key, bool Descending> struct before {
    int begin, end;
    _CCCL_DEVICE unsigned long long part(const Key &key) const {
        const unsigned long long bits = ordered<Key, Descending>().bits(key);
        return (bits >> begin) & (end - begin >= 64 ? ~0ull : (1ull << (end - begin)) - 1);
    }
    _CCCL_DEVICE bool operator()(const Key &a, const Key &b) const { return part(a) < part(b); }
};

template <class T> using item_t = ::cuda::std::_If<::cuda::std::is_same<T, NullType>::value, reactant_parallel::NoItems, T>;

template <class T> struct copy {
    const T *from; T *to;
    _CCCL_DEVICE void operator()(reactant_parallel::Index i) { to[i] = from[i]; }
};

template <class Key, class Item, class Begin, class End, class Less> struct segment {
    reactant_parallel::TileSort<const Key *, const Item *, Key, Item, Less> sorting; Begin begin; End end;
    _CCCL_DEVICE void operator()(reactant_parallel::Index i) {
        const reactant_parallel::Index first = begin[i], last = end[i];
        if (first < last) sorting.sort(first, last);
    }
};

// Each segment by one thread, from the current buffer to the other one.
template <class Key, class Value, class Begin, class End, class Less>
cudaError_t sort_segments(void *memory, size_t &bytes, DoubleBuffer<Key> &keys, DoubleBuffer<Value> &values, reactant_parallel::Index count,
                          int segments, Begin begin, End end, Less less, cudaStream_t stream) {
    typedef item_t<Value> Item;
    reactant_parallel::Scratch scratch(memory);
    Key *const other = scratch.part<Key>(count);
    Item *const other_items = scratch.part<Item>(count);
    if (scratch.told(memory, bytes)) return cudaSuccess;
    const segment<Key, Item, Begin, End, Less> f{{keys.Current(), (const Item *)values.Current(), keys.Alternate(), other, (Item *)values.Alternate(), other_items, {}, less}, begin, end};
    const cudaError_t error = reactant_parallel::tiles(segments, 20.0 * count, f, stream);
    keys.selector ^= 1, values.selector ^= 1;
    return error;
}
}  // namespace radix
}  // namespace detail

template <bool Descending, class Key, class Value, class Offset, class Policy = void, class Decomposer = detail::identity_decomposer_t>
struct DispatchRadixSort {
    static_assert(::cuda::std::is_same<Decomposer, detail::identity_decomposer_t>::value, "cub::DeviceRadixSort with a decomposer of keys is not on this device");
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, DoubleBuffer<Key> &keys, DoubleBuffer<Value> &values,
                                                     Offset items, int begin, int end, bool is_overwrite_okay, cudaStream_t stream,
                                                     Decomposer = {}) {
        typedef detail::radix::item_t<Value> Item;
        typedef reactant_parallel::Index Index;
        constexpr bool with_items = !::cuda::std::is_same<Value, NullType>::value;
        const Index count = (Index)items;
        const int passes = reactant_parallel::radix_passes(begin, end);
        reactant_parallel::Scratch scratch(memory);
        Key *first = keys.Alternate(), *second = keys.Current();
        Item *first_items = with_items ? (Item *)values.Alternate() : nullptr, *second_items = with_items ? (Item *)values.Current() : nullptr;
        const Item *const from_items = second_items;
        if (!is_overwrite_okay) {           // it ends in the alternate buffer, and the current one stays as it is
            second = passes > 1 ? scratch.part<Key>(count) : nullptr;
            second_items = passes > 1 && with_items ? scratch.part<Item>(count) : nullptr;
            if (passes % 2 == 0) {
                Key *const kept = first;
                Item *const items_kept = first_items;
                first = second, first_items = second_items, second = kept, second_items = items_kept;
            }
        }
        if (passes == 0 && !is_overwrite_okay) {
            if (scratch.told(memory, bytes)) return cudaSuccess;
            cudaError_t error = reactant_parallel::elements(count, detail::radix::copy<Key>{keys.Current(), keys.Alternate()}, stream);
            if (with_items && error == cudaSuccess) error = reactant_parallel::elements(count, detail::radix::copy<Item>{from_items, (Item *)values.Alternate()}, stream);
            return error;
        }
        const cudaError_t error = reactant_parallel::radix_sort(scratch, memory, bytes, (const Key *)keys.Current(), from_items, first, first_items, second,
                                                                second_items, count, begin, end, detail::radix::ordered<Key, Descending>(), stream);
        if (memory && (!is_overwrite_okay || passes % 2)) keys.selector ^= 1, values.selector ^= 1;
        return error;
    }
};

template <bool Descending, class Key, class Value, class Begin, class End, class Offset, class Policy = void, class Decomposer = detail::identity_decomposer_t>
struct DispatchSegmentedRadixSort {
    static_assert(::cuda::std::is_same<Decomposer, detail::identity_decomposer_t>::value, "cub::DeviceSegmentedRadixSort with a decomposer of keys is not on this device");
    template <class Count>
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, DoubleBuffer<Key> &keys, DoubleBuffer<Value> &values,
                                                     Count items, Count segments, Begin begin, End end, int begin_bit, int end_bit,
                                                     bool, cudaStream_t stream) {
        return detail::radix::sort_segments(memory, bytes, keys, values, (reactant_parallel::Index)items, (int)segments, begin, end,
                                            detail::radix::before<Key, Descending>{begin_bit, end_bit}, stream);
    }
};
CUB_NAMESPACE_END
