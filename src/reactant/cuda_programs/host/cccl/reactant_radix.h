// Stable sorting of numbers by their digits of eight bits, least significant first; digits that all keys share are left
// out. Each tile counts its digits, and writes its keys behind those of the tiles before it.
#pragma once
#include "reactant_parallel.h"

namespace reactant_parallel {

// Twiddle: `Bits bits(const Key &)`, an unsigned number in whose order the keys are.
template <class Key, class Item, class Twiddle> struct Digits {
    const Key *keys; Key *keys_to; const Item *items; Item *items_to; Tiles tiles; Index *counts; int shift, width;
    Twiddle twiddle; bool write;
    __device__ unsigned digit(const Key &key) { return (unsigned)(twiddle.bits(key) >> shift) & ((1u << width) - 1); }
    __device__ void operator()(Index tile) {
        const Index first = tiles.first(tile), last = tiles.last(tile);
        const int many = 1 << width;
        if (!write) {
            Index *const mine = counts + tile * 256;
            for (int d = 0; d < 256; ++d) mine[d] = 0;
            for (Index i = first; i < last; ++i) ++mine[digit(keys[i])];
            return;
        }
        Index at[256];
        Index sum = 0;
        for (int d = 0; d < many; ++d) {
            at[d] = sum;
            for (Index k = 0; k < tiles.count; ++k) {
                if (k < tile) at[d] += counts[k * 256 + d];
                sum += counts[k * 256 + d];
            }
        }
        for (Index i = first; i < last; ++i) {
            const Index to = at[digit(keys[i])]++;
            put(keys_to + to, keys[i]);
            if (items) put(items_to + to, items[i]);
        }
    }
};

// Which bits differ among the keys: a pass over digits that are all the same is none.
template <class Key, class Bits, class Twiddle> struct Differences {
    const Key *keys; Tiles tiles; Bits *different; Twiddle twiddle;
    __device__ void operator()(Index tile) {
        const Bits first = twiddle.bits(keys[0]);
        Bits found = 0;
        for (Index i = tiles.first(tile), end = tiles.last(tile); i < end; ++i) found |= twiddle.bits(keys[i]) ^ first;
        different[tile] = found;
    }
};

// Sorts between (keys, items) and (others, other_items): where it ends up does not depend on the keys, so that it can be
// part of a graph. A pass over digits that all agree copies.
template <class Key, class Item, class Twiddle> struct Pass {
    Digits<Key, Item, Twiddle> digits; const typename Twiddle::Bits *different;
    __device__ bool needed() {
        typename Twiddle::Bits found = 0;
        for (Index k = 0; k < digits.tiles.count; ++k) found |= different[k];
        return (found >> digits.shift) & (typename Twiddle::Bits)((1u << digits.width) - 1);
    }
    __device__ void operator()(Index tile) {
        if (needed()) { digits(tile); return; }
        if (!digits.write) return;
        for (Index i = digits.tiles.first(tile), end = digits.tiles.last(tile); i < end; ++i) {
            put(digits.keys_to + i, digits.keys[i]);
            if (digits.items) put(digits.items_to + i, digits.items[i]);
        }
    }
};

// The number of passes for bits [begin, end).
inline int radix_passes(int begin, int end) { return end > begin ? (end - begin + 7) / 8 : 0; }

// keys -> after each pass in `first` and `second` by turns; `keys` may be `second`.
template <class Key, class Item, class Twiddle>
cudaError_t radix_sort(Scratch &scratch, void *memory, size_t &bytes, const Key *keys, const Item *items, Key *first, Item *first_items,
                       Key *second, Item *second_items, Index count, int begin, int end, Twiddle twiddle, cudaStream_t stream) {
    typedef typename Twiddle::Bits Bits;
    const Tiles tiles = tiles_of_processors(count);
    Index *counts = scratch.part<Index>(tiles.count * 256);
    Bits *different = scratch.part<Bits>(tiles.count);
    if (scratch.told(memory, bytes) || !count) return cudaSuccess;
    const double work = element_cost * count;
    cudaError_t error = reactant_parallel::tiles(tiles.count, work / 4, Differences<Key, Bits, Twiddle>{keys, tiles, different, twiddle}, stream);
    for (int shift = begin; shift < end && error == cudaSuccess; shift += 8) {
        const int width = end - shift < 8 ? end - shift : 8;
        Pass<Key, Item, Twiddle> pass{{keys, first, items, first_items, tiles, counts, shift, width, twiddle, false}, different};
        error = reactant_parallel::tiles(tiles.count, work, pass, stream);
        pass.digits.write = true;
        if (error == cudaSuccess) error = reactant_parallel::tiles(tiles.count, work, pass, stream);
        keys = first, items = first_items;
        Key *const keys_kept = first;
        Item *const items_kept = first_items;
        first = second, first_items = second_items, second = keys_kept, second_items = items_kept;
    }
    return error;
}
}  // namespace reactant_parallel
