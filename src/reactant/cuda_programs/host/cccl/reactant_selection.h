// What is chosen and moved together: each tile counts what it chooses, then writes it behind what the tiles before it
// have chosen. What is written may overlap what is read only where `reactant_selection` says so.
#pragma once
#include "reactant_parallel.h"

namespace reactant_parallel {

// Chooser: `bool chosen(Index)`, `void write(Index from, Index to)`, `void other(Index from, Index to)` for those that
// are not chosen, `to` counted among them, and `void end(Index chosen)`.
template <class Chooser> struct Selection {
    Chooser chooser; Tiles tiles; Index *counts; bool write;
    __device__ void operator()(Index tile) {
        const Index first = tiles.first(tile), last = tiles.last(tile);
        if (!write) {
            Index count = 0;
            for (Index i = first; i < last; ++i) count += chooser.chosen(i) ? 1 : 0;
            counts[tile] = count;
            return;
        }
        Index before = 0;
        for (Index k = 0; k < tile; ++k) before += counts[k];
        Index to = before;
        for (Index i = first; i < last; ++i) {
            if (chooser.chosen(i)) chooser.write(i, to++);
            else chooser.other(i, i - to);
        }
        if (tile + 1 == tiles.count) chooser.end(to);
    }
};

template <class Chooser> struct SelectionOfNone {
    Chooser chooser;
    __device__ void operator()(Index) { chooser.end(0); }
};

template <class Chooser> cudaError_t select(Scratch &scratch, void *memory, size_t &bytes, Index count, const Chooser &chooser, cudaStream_t stream) {
    const Tiles tiles = tiles_of_processors(count, 4096);
    Index *counts = scratch.part<Index>(tiles.count);
    if (scratch.told(memory, bytes)) return cudaSuccess;
    if (!count) return alone(SelectionOfNone<Chooser>{chooser}, stream);
    const cudaError_t error = reactant_parallel::tiles(tiles.count, element_cost * count, Selection<Chooser>{chooser, tiles, counts, false}, stream);
    if (error != cudaSuccess) return error;
    return reactant_parallel::tiles(tiles.count, element_cost * count, Selection<Chooser>{chooser, tiles, counts, true}, stream);
}

// Copies a buffer of n elements, n known on the device, to where they belong.
template <class T, class Out> struct FromBuffer {
    const T *buffer; Out out; const Index *count;
    __device__ void operator()(Index i) { if (i < *count) out[i] = buffer[i]; }
};

// ---- where a run of equal elements begins ----
template <class Keys, class Equal> struct Runs {
    Keys keys; Equal equal; Index count;
    __device__ bool begins(Index i) { return i == 0 || !equal(keys[i - 1], keys[i]); }
    __device__ Index end_of(Index i) {
        for (++i; i < count && equal(keys[i - 1], keys[i]); ++i) {}
        return i;
    }
};

// Reduces the values of each run; runs are reduced where they begin, into other tiles if need be.
template <class Keys, class KeysOut, class In, class Out, class Number, class Equal, class Op, class T> struct RunReduction {
    Runs<Keys, Equal> runs; KeysOut keys_out; In in; Out out; Number number; Op op;
    __device__ bool chosen(Index i) { return runs.begins(i); }
    __device__ void write(Index i, Index to) {
        T sum = static_cast<T>(in[i]);
        keys_out[to] = runs.keys[i];
        for (++i; i < runs.count && runs.equal(runs.keys[i - 1], runs.keys[i]); ++i) sum = static_cast<T>(op(sum, in[i]));
        out[to] = sum;
    }
    __device__ void other(Index, Index) {}
    __device__ void end(Index chosen) { *number = chosen; }
};

// ---- merging and sorting by comparisons: stable ----
template <class Less> struct Sorting {
    Less less;
    // How many of the first `diagonal` elements of a merge come from a; of equal ones those of a come first.
    template <class A, class B> __device__ Index split(A a, Index na, B b, Index nb, Index diagonal) {
        Index low = diagonal > nb ? diagonal - nb : 0, high = diagonal < na ? diagonal : na;
        while (low < high) {
            const Index middle = (low + high) / 2;
            if (less(b[diagonal - 1 - middle], a[middle])) high = middle;
            else low = middle + 1;
        }
        return low;
    }
};

struct NoItems {};

// Part of a merge of two sorted ranges, with items that go with their keys.
template <class A, class B, class Out, class ItemsA, class ItemsB, class ItemsOut, class Less> struct Merging {
    A a; B b; Out out; ItemsA items_a; ItemsB items_b; ItemsOut items_out; Index na, nb, size; Less less;
    static constexpr bool with_items = !::cuda::std::is_same<ItemsOut, NoItems>::value;
    __device__ void operator()(Index part) {
        Sorting<Less> sorting{less};
        Index at = part * size;
        const Index end = at + size < na + nb ? at + size : na + nb;
        Index i = sorting.split(a, na, b, nb, at), j = at - i;
        for (; at < end; ++at) {
            if (j >= nb || (i < na && !less(b[j], a[i]))) {
                out[at] = a[i];
                if constexpr (with_items) items_out[at] = items_a[i];
                ++i;
            } else {
                out[at] = b[j];
                if constexpr (with_items) items_out[at] = items_b[j];
                ++j;
            }
        }
    }
};

template <class A, class B, class Out, class ItemsA, class ItemsB, class ItemsOut, class Less>
cudaError_t merge(A a, Index na, B b, Index nb, Out out, ItemsA items_a, ItemsB items_b, ItemsOut items_out, Less less,
                  cudaStream_t stream) {
    const Tiles tiles = tiles_of_processors(na + nb);
    return reactant_parallel::tiles(tiles.count, 3 * element_cost * (na + nb), Merging<A, B, Out, ItemsA, ItemsB, ItemsOut, Less>{a, b, out, items_a, items_b, items_out, na, nb, tiles.size, less}, stream);
}

// Sorts each tile: runs of 16 by insertion, which are merged between the buffer and the target. It ends in `keys`.
template <class In, class ItemsIn, class Key, class Item, class Less> struct TileSort {
    In in; ItemsIn items_in; Key *keys, *other; Item *items, *other_items; Tiles tiles; Less less;
    static constexpr bool with_items = !::cuda::std::is_same<Item, NoItems>::value;
    static constexpr Index run = 16;
    __device__ void operator()(Index tile) { sort(tiles.first(tile), tiles.last(tile)); }
    __device__ void sort(Index first, Index last) {
        int merges = 0;
        for (Index size = run; size < last - first; size *= 2) ++merges;
        const bool swapped = merges % 2;
        for (Index at = first; at < last; at += run) insert(at, at + run < last ? at + run : last, swapped ? other : keys, swapped ? other_items : items);
        Key *from = swapped ? other : keys, *to = swapped ? keys : other;
        Item *items_from = swapped ? other_items : items, *items_to = swapped ? items : other_items;
        for (Index size = run; size < last - first; size *= 2) {
            for (Index at = first; at < last; at += 2 * size) merge_runs(from, to, items_from, items_to, at, at + size, at + 2 * size, last);
            Key *const keys_kept = from;
            Item *const items_kept = items_from;
            from = to, to = keys_kept, items_from = items_to, items_to = items_kept;
        }
    }
    __device__ void insert(Index first, Index last, Key *keys_to, Item *items_to) {
        for (Index i = first; i < last; ++i) {
            const Key key = in[i];
            Index k = i;
            put(keys_to + i, key);
            if constexpr (with_items) {
                const Item item = items_in[i];
                put(items_to + i, item);
                for (; k > first && less(key, keys_to[k - 1]); --k) keys_to[k] = keys_to[k - 1], items_to[k] = items_to[k - 1];
                items_to[k] = item;
            } else {
                for (; k > first && less(key, keys_to[k - 1]); --k) keys_to[k] = keys_to[k - 1];
            }
            keys_to[k] = key;
        }
    }
    __device__ void merge_runs(const Key *from, Key *to, const Item *items_from, Item *items_to, Index i, Index middle, Index end, Index last) {
        if (middle > last) middle = last;
        if (end > last) end = last;
        Index j = middle;
        for (Index at = i; at < end; ++at) {
            const bool second = i >= middle || (j < end && less(from[j], from[i]));
            const Index k = second ? j++ : i++;
            put(to + at, from[k]);
            if constexpr (with_items) put(items_to + at, items_from[k]);
        }
    }
};

// One round of merges of neighbouring tiles of `width` elements each, in parts of `size` elements.
template <class Key, class Item, class Less> struct TileMerge {
    const Key *from; Key *to; const Item *items_from; Item *items_to; Index count, width, size; Less less;
    static constexpr bool with_items = !::cuda::std::is_same<Item, NoItems>::value;
    __device__ void operator()(Index part) {
        Sorting<Less> sorting{less};
        Index at = part * size;
        const Index end = at + size < count ? at + size : count;
        while (at < end) {
            const Index pair = at / (2 * width) * (2 * width);
            const Index middle = pair + width < count ? pair + width : count, stop = pair + 2 * width < count ? pair + 2 * width : count;
            const Index here = stop < end ? stop : end;
            Index i = pair + sorting.split(from + pair, middle - pair, from + middle, stop - middle, at - pair);
            Index j = middle + (at - pair) - (i - pair);
            for (; at < here; ++at) {
                const bool second = i >= middle || (j < stop && less(from[j], from[i]));
                const Index k = second ? j++ : i++;
                put(to + at, from[k]);
                if constexpr (with_items) put(items_to + at, items_from[k]);
            }
        }
    }
};

template <class Key, class Item, class Out, class ItemsOut> struct SortEnd {
    const Key *keys; const Item *items; Out out; ItemsOut items_out;
    __device__ void operator()(Index i) {
        out[i] = keys[i];
        if constexpr (!::cuda::std::is_same<Item, NoItems>::value) items_out[i] = items[i];
    }
};

template <class Key, class Item, class In, class ItemsIn, class Out, class ItemsOut, class Less>
cudaError_t merge_sort(void *memory, size_t &bytes, In in, ItemsIn items_in, Out out, ItemsOut items_out, Index count,
                       Less less, cudaStream_t stream) {
    constexpr bool with_items = !::cuda::std::is_same<Item, NoItems>::value;
    const Tiles tiles = tiles_of_processors(count);
    Scratch scratch(memory);
    Key *keys = scratch.part<Key>(count), *other = scratch.part<Key>(count);
    Item *items = with_items ? scratch.part<Item>(count) : nullptr, *other_items = with_items ? scratch.part<Item>(count) : nullptr;
    if (scratch.told(memory, bytes) || !count) return cudaSuccess;
    const double work = 10 * element_cost * count;
    cudaError_t error = reactant_parallel::tiles(tiles.count, work, TileSort<In, ItemsIn, Key, Item, Less>{in, items_in, keys, other, items, other_items, tiles, less}, stream);
    for (Index width = tiles.size; width < count && error == cudaSuccess; width *= 2) {
        error = reactant_parallel::tiles(tiles.count, work, TileMerge<Key, Item, Less>{keys, other, items, other_items, count, width, tiles.size, less}, stream);
        Key *const keys_kept = keys;
        Item *const items_kept = items;
        keys = other, other = keys_kept, items = other_items, other_items = items_kept;
    }
    if (error != cudaSuccess) return error;
    return elements(count, SortEnd<Key, Item, Out, ItemsOut>{keys, items, out, items_out}, stream);
}
}  // namespace reactant_parallel
