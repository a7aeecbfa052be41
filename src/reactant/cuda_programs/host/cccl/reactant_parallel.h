// How Thrust's and CUB's algorithms are divided over this device: kernels of one thread an element, and kernels of one
// thread a tile of many elements, which it goes through in order. What tiles there are depends on the number of elements
// alone where the order of a reduction shows in its result.
#pragma once
#include <cuda_runtime_api.h>

#include <cuda/std/type_traits>

extern "C" void reactant_work_of_next_launch(double nanoseconds);

namespace reactant_parallel {

typedef long long Index;

// ---- kernels ----
template <class F> __global__ void over_elements(F f, Index first, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) f(first + i);
}

template <class F> __global__ void over_tiles(F f) { f((Index)blockIdx.x); }

// f(i) for i in [0, count), in any order.
template <class F> cudaError_t elements(Index count, const F &f, cudaStream_t stream) {
    const Index most = Index(1) << 30;
    for (Index first = 0; first < count; first += most) {
        const int here = (int)(count - first < most ? count - first : most);
        over_elements<F><<<(here + 255) / 256, 256, 0, stream>>>(f, first, here);
    }
    return cudaPeekAtLastError();
}

// f(tile) for each tile, where all of them together take about `work` nanoseconds.
template <class F> cudaError_t tiles(Index count, double work, const F &f, cudaStream_t stream) {
    if (count <= 0) return cudaSuccess;
    reactant_work_of_next_launch(work);
    over_tiles<F><<<(unsigned)count, 1, 0, stream>>>(f);
    return cudaPeekAtLastError();
}

template <class F> cudaError_t alone(const F &f, cudaStream_t stream) { return tiles(1, 1, f, stream); }

// ---- tiles ----
struct Tiles {
    Index count, size, elements;
    __host__ __device__ Index first(Index tile) const { return tile * size; }
    __host__ __device__ Index last(Index tile) const {
        const Index end = tile * size + size;
        return end < elements ? end : elements;
    }
};

// At most `most` tiles of at least `least` elements.
inline Tiles tiles_of(Index elements, Index least = 4096, Index most = 128) {
    Index size = (elements + most - 1) / most;
    if (size < least) size = least;
    return Tiles{elements ? (elements + size - 1) / size : 0, size, elements};
}

// Tiles for what comes out the same however it is divided.
inline Tiles tiles_of_processors(Index elements, Index least = 8192) {
    int processors = 1;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    return tiles_of(elements, least, processors < 64 ? 2 * processors : 128);
}

constexpr double element_cost = 2;      // nanoseconds, about

// ---- memory that the caller gives ----
// The first call, with no memory, asks for its size, as CUB's functions do; parts are at multiples of 256 bytes.
struct Scratch {
    char *memory;
    size_t used;
    explicit Scratch(void *given) : memory((char *)(((size_t)given + 255) / 256 * 256)), used(0) {}
    template <class T> T *part(Index count) {
        T *const made = (T *)(memory + used);
        used += ((size_t)count * sizeof(T) + 255) / 256 * 256;
        return made;
    }
    // Whether only the size was asked for, which is told.
    bool told(void *given, size_t &bytes) const {
        if (!given) bytes = used + 256;
        return !given;
    }
};

template <class T> __device__ void put(T *at, const T &value) { ::new ((void *)at) T(value); }

// ---- reductions: `op` is associative and commutative for those in any order ----
template <class In, class T, class Op, class Convert> struct Reduction {
    In in; Op op; Convert convert; Tiles tiles; T *partial;
    static constexpr bool wide = ::cuda::std::is_arithmetic<T>::value;
    __device__ void operator()(Index tile) {
        Index i = tiles.first(tile);
        const Index end = tiles.last(tile);
        if constexpr (wide) {
            constexpr int lanes = 16;
            if (end - i >= 2 * lanes) {
                T sums[lanes];
                for (int k = 0; k < lanes; ++k) sums[k] = static_cast<T>(convert(in[i + k]));
                for (i += lanes; i + lanes <= end; i += lanes)
                    for (int k = 0; k < lanes; ++k) sums[k] = static_cast<T>(op(sums[k], convert(in[i + k])));
                T sum = sums[0];
                for (int k = 1; k < lanes; ++k) sum = static_cast<T>(op(sum, sums[k]));
                for (; i < end; ++i) sum = static_cast<T>(op(sum, convert(in[i])));
                put(partial + tile, sum);
                return;
            }
        }
        T sum = static_cast<T>(convert(in[i]));
        for (++i; i < end; ++i) sum = static_cast<T>(op(sum, convert(in[i])));
        put(partial + tile, sum);
    }
};

template <class T, class Out, class Op, class Init> struct ReductionEnd {
    const T *partial; Index count; Out out; Op op; Init init; bool with_init;
    __device__ void operator()(Index) {
        if (!count) { *out = static_cast<T>(init); return; }
        T sum = partial[0];
        for (Index k = 1; k < count; ++k) sum = static_cast<T>(op(sum, partial[k]));
        if (with_init) sum = static_cast<T>(op(static_cast<T>(init), sum));
        *out = sum;
    }
};

template <class T, class In, class Out, class Op, class Init, class Convert>
cudaError_t reduce(void *memory, size_t &bytes, In in, Out out, Index count, Op op, Init init, bool with_init,
                   Convert convert, cudaStream_t stream) {
    const Tiles tiles = tiles_of(count);
    Scratch scratch(memory);
    T *partial = scratch.part<T>(tiles.count);
    if (scratch.told(memory, bytes)) return cudaSuccess;
    cudaError_t error = reactant_parallel::tiles(tiles.count, element_cost * count, Reduction<In, T, Op, Convert>{in, op, convert, tiles, partial}, stream);
    if (error != cudaSuccess) return error;
    return alone(ReductionEnd<T, Out, Op, Init>{partial, tiles.count, out, op, init, with_init}, stream);
}

template <class In, class Out, class Begin, class End, class Op, class Init, class T> struct SegmentReduction {
    In in; Out out; Begin begin; End end; Op op; Init init;
    __device__ void operator()(Index segment) {
        Index i = begin[segment];
        const Index last = end[segment];
        if (i >= last) { out[segment] = static_cast<T>(init); return; }
        T sum = static_cast<T>(op(static_cast<T>(init), in[i]));
        for (++i; i < last; ++i) sum = static_cast<T>(op(sum, in[i]));
        out[segment] = sum;
    }
};

// ---- scans: three kinds of starts ----
// The totals of tiles, then each tile again from the total of those before it.
template <class In, class T, class Op> struct ScanTotals {
    In in; Op op; Tiles tiles; T *totals;
    __device__ void operator()(Index tile) {
        Index i = tiles.first(tile);
        const Index end = tiles.last(tile);
        T sum = static_cast<T>(in[i]);
        for (++i; i < end; ++i) sum = static_cast<T>(op(sum, in[i]));
        put(totals + tile, sum);
    }
};

template <class In, class Out, class T, class Op, class Init> struct Scan {
    In in; Out out; Op op; Tiles tiles; const T *totals; Init init; bool inclusive;
    static constexpr bool with_init = Init::there;
    __device__ void operator()(Index tile) {
        Index i = tiles.first(tile);
        const Index end = tiles.last(tile);
        if constexpr (with_init) {
            T sum = static_cast<T>(init.value());
            for (Index k = 0; k < tile; ++k) sum = static_cast<T>(op(sum, totals[k]));
            if (inclusive)
                for (; i < end; ++i) out[i] = sum = static_cast<T>(op(sum, in[i]));
            else
                for (; i < end; ++i) {
                    T next = static_cast<T>(op(sum, in[i]));
                    out[i] = sum;
                    sum = next;
                }
        } else {
            T sum = static_cast<T>(in[i]);
            if (tile > 0) {
                T before = totals[0];
                for (Index k = 1; k < tile; ++k) before = static_cast<T>(op(before, totals[k]));
                sum = static_cast<T>(op(before, sum));
            }
            out[i] = sum;
            for (++i; i < end; ++i) out[i] = sum = static_cast<T>(op(sum, in[i]));
        }
    }
};

struct NoStart { static constexpr bool there = false; };
template <class V> struct Start {
    static constexpr bool there = true;
    V given;
    __device__ V value() { return given; }
};

template <class T, class In, class Out, class Op, class Init>
cudaError_t scan(void *memory, size_t &bytes, In in, Out out, Index count, Op op, Init init, bool inclusive,
                 cudaStream_t stream) {
    const Tiles tiles = tiles_of(count, 16384, 64);
    Scratch scratch(memory);
    T *totals = scratch.part<T>(tiles.count);
    if (scratch.told(memory, bytes)) return cudaSuccess;
    if (tiles.count > 1) {
        const cudaError_t error = reactant_parallel::tiles(tiles.count - 1, element_cost * count, ScanTotals<In, T, Op>{in, op, tiles, totals}, stream);
        if (error != cudaSuccess) return error;
    }
    return reactant_parallel::tiles(tiles.count, element_cost * count, Scan<In, Out, T, Op, Init>{in, out, op, tiles, totals, init, inclusive}, stream);
}

// Scans that begin again where keys change. A tile's total is that of its last segment; it hides what came before where
// that segment begins in the tile.
template <class Keys, class In, class Out, class T, class Equal, class Op, class Init> struct SegmentScan {
    Keys keys; In in; Out out; Equal equal; Op op; Tiles tiles; T *totals; bool *begun; Init init; bool write;
    static constexpr bool with_init = Init::there;
    __device__ bool begins(Index i) { return i == 0 || !equal(keys[i - 1], keys[i]); }
    __device__ T start(Index i) {
        if constexpr (with_init) return static_cast<T>(op(static_cast<T>(init.value()), in[i]));
        else return static_cast<T>(in[i]);
    }
    __device__ void operator()(Index tile) {
        Index i = tiles.first(tile);
        const Index end = tiles.last(tile);
        if (!write) {
            bool any = begins(i);
            T sum = any ? start(i) : static_cast<T>(in[i]);
            for (++i; i < end; ++i) {
                if (begins(i)) sum = start(i), any = true;
                else sum = static_cast<T>(op(sum, in[i]));
            }
            put(totals + tile, sum);
            begun[tile] = any;
            return;
        }
        if (begins(i)) {
            one(i, start(i));
        } else {
            Index k = tile - 1;
            while (!begun[k]) --k;
            T sum = totals[k];
            for (++k; k < tile; ++k) sum = static_cast<T>(op(sum, totals[k]));
            next(i, sum);
        }
    }
    // Goes on from the element i with the sum up to it and with it, or before it.
    __device__ void one(Index i, T sum) {
        if constexpr (with_init) out[i] = static_cast<T>(init.value());
        else out[i] = sum;
        rest(i + 1, sum);
    }
    __device__ void next(Index i, T before) {
        const T sum = static_cast<T>(op(before, in[i]));
        if constexpr (with_init) out[i] = before;
        else out[i] = sum;
        rest(i + 1, sum);
    }
    __device__ void rest(Index i, T sum) {
        const Index end = tiles.last(i ? (i - 1) / tiles.size : 0);
        for (; i < end; ++i) {
            if (begins(i)) {
                const T first = start(i);
                if constexpr (with_init) out[i] = static_cast<T>(init.value());
                else out[i] = first;
                sum = first;
            } else {
                const T before = sum;
                sum = static_cast<T>(op(sum, in[i]));
                if constexpr (with_init) out[i] = before;
                else out[i] = sum;
            }
        }
    }
};

template <class T, class Keys, class In, class Out, class Equal, class Op, class Init>
cudaError_t scan_by_key(void *memory, size_t &bytes, Keys keys, In in, Out out, Index count, Equal equal, Op op, Init init,
                        cudaStream_t stream) {
    const Tiles tiles = tiles_of(count, 16384, 64);
    Scratch scratch(memory);
    T *totals = scratch.part<T>(tiles.count);
    bool *begun = scratch.part<bool>(tiles.count);
    if (scratch.told(memory, bytes)) return cudaSuccess;
    typedef SegmentScan<Keys, In, Out, T, Equal, Op, Init> Step;
    if (tiles.count > 1) {
        const cudaError_t error = reactant_parallel::tiles(tiles.count - 1, element_cost * count, Step{keys, in, out, equal, op, tiles, totals, begun, init, false}, stream);
        if (error != cudaSuccess) return error;
    }
    return reactant_parallel::tiles(tiles.count, element_cost * count, Step{keys, in, out, equal, op, tiles, totals, begun, init, true}, stream);
}
}  // namespace reactant_parallel
