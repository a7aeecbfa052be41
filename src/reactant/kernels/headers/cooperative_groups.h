// Cooperative groups: blocks, tiles of a warp, the grid.
#pragma once
#include "reactant_names_aside.h"

namespace cooperative_groups {
struct thread_block {
    __RT_DEVICE_MEMBER void sync() const { __syncthreads(); }
    __RT_DEVICE_MEMBER unsigned thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    __RT_DEVICE_MEMBER unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
    __RT_DEVICE_MEMBER unsigned num_threads() const { return size(); }
    __RT_DEVICE_MEMBER dim3 group_index() const { return blockIdx; }
    __RT_DEVICE_MEMBER dim3 thread_index() const { return threadIdx; }
    __RT_DEVICE_MEMBER dim3 group_dim() const { return blockDim; }
    __RT_DEVICE_MEMBER dim3 dim_threads() const { return blockDim; }
};
__RT_DEVICE thread_block this_thread_block() { return thread_block(); }
typedef thread_block thread_group;

struct grid_group {
    __RT_DEVICE_MEMBER void sync() const { __rt_barrier_grid(); }
    __RT_DEVICE_MEMBER bool is_valid() const { return true; }
    __RT_DEVICE_MEMBER unsigned long long block_rank() const { return (blockIdx.z * gridDim.y + blockIdx.y) * (unsigned long long)gridDim.x + blockIdx.x; }
    __RT_DEVICE_MEMBER unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    __RT_DEVICE_MEMBER unsigned long long thread_rank() const { return block_rank() * this_thread_block().size() + this_thread_block().thread_rank(); }
    __RT_DEVICE_MEMBER unsigned long long size() const { return num_blocks() * this_thread_block().size(); }
    __RT_DEVICE_MEMBER unsigned long long num_threads() const { return size(); }
    __RT_DEVICE_MEMBER dim3 group_dim() const { return gridDim; }
    __RT_DEVICE_MEMBER dim3 dim_blocks() const { return gridDim; }
    __RT_DEVICE_MEMBER dim3 block_index() const { return blockIdx; }
};
__RT_DEVICE grid_group this_grid() { return grid_group(); }

template <unsigned N, class P = thread_block> struct thread_block_tile {
    __RT_DEVICE_MEMBER unsigned thread_rank() const { return this_thread_block().thread_rank() % N; }
    __RT_DEVICE_MEMBER static constexpr unsigned size() { return N; }
    __RT_DEVICE_MEMBER static constexpr unsigned num_threads() { return N; }
    __RT_DEVICE_MEMBER unsigned meta_group_rank() const { return this_thread_block().thread_rank() / N; }
    __RT_DEVICE_MEMBER unsigned meta_group_size() const { return (this_thread_block().size() + N - 1) / N; }
    __RT_DEVICE_MEMBER unsigned __mask() const { return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1u) << (this_thread_block().thread_rank() % 32 / N * N); }
    __RT_DEVICE_MEMBER void sync() const { __syncwarp(__mask()); }
    template <class T> __RT_DEVICE_MEMBER T shfl(T v, int lane) const { return __shfl_sync(__mask(), v, lane, N); }
    template <class T> __RT_DEVICE_MEMBER T shfl_up(T v, unsigned d) const { return __shfl_up_sync(__mask(), v, d, N); }
    template <class T> __RT_DEVICE_MEMBER T shfl_down(T v, unsigned d) const { return __shfl_down_sync(__mask(), v, d, N); }
    template <class T> __RT_DEVICE_MEMBER T shfl_xor(T v, int m) const { return __shfl_xor_sync(__mask(), v, m, N); }
    __RT_DEVICE_MEMBER int any(int p) const { return __any_sync(__mask(), p); }
    __RT_DEVICE_MEMBER int all(int p) const { return __all_sync(__mask(), p); }
    __RT_DEVICE_MEMBER unsigned __first() const { return this_thread_block().thread_rank() % 32 / N * N; }
    __RT_DEVICE_MEMBER unsigned ballot(int p) const { return __ballot_sync(__mask(), p) >> __first(); }
    template <class T> __RT_DEVICE_MEMBER unsigned match_any(T v) const { return __match_any_sync(__mask(), v) >> __first(); }
    template <class T> __RT_DEVICE_MEMBER unsigned match_all(T v, int &p) const { return __match_all_sync(__mask(), v, &p) >> __first(); }
};
template <unsigned N, class G> __RT_DEVICE thread_block_tile<N, G> tiled_partition(const G &) { return thread_block_tile<N, G>(); }

struct coalesced_group {
    unsigned mask;
    __RT_DEVICE_MEMBER unsigned size() const { return __popc(mask); }
    __RT_DEVICE_MEMBER unsigned num_threads() const { return __popc(mask); }
    __RT_DEVICE_MEMBER unsigned thread_rank() const { return __popc(mask & ((1u << (this_thread_block().thread_rank() % 32)) - 1u)); }
    __RT_DEVICE_MEMBER void sync() const { __syncwarp(mask); }
    __RT_DEVICE_MEMBER int any(int p) const { return __any_sync(mask, p); }
    __RT_DEVICE_MEMBER int all(int p) const { return __all_sync(mask, p); }
    __RT_DEVICE_MEMBER int __lane(int rank) const {             // of the member with this rank
        int lane = 0;
        for (int seen = -1; lane < 32; ++lane) { seen += mask >> lane & 1; if (seen == rank) break; }
        return lane;
    }
    template <class T> __RT_DEVICE_MEMBER T shfl(T v, int rank) const { return __shfl_sync(mask, v, __lane(rank)); }
    template <class T> __RT_DEVICE_MEMBER T shfl_up(T v, unsigned d) const {
        int to = (int)thread_rank() - (int)d;
        return __shfl_sync(mask, v, __lane(to < 0 ? (int)thread_rank() : to));
    }
    template <class T> __RT_DEVICE_MEMBER T shfl_down(T v, unsigned d) const {
        unsigned to = thread_rank() + d;
        return __shfl_sync(mask, v, __lane(to < size() ? to : thread_rank()));
    }
};
__RT_DEVICE coalesced_group coalesced_threads() { coalesced_group g; g.mask = __activemask(); return g; }
template <class G> __RT_DEVICE coalesced_group labeled_partition(const G &, int label) {
    coalesced_group g; g.mask = __match_any_sync(__activemask(), label); return g;
}
template <class G> __RT_DEVICE coalesced_group binary_partition(const G &g, bool p) { return labeled_partition(g, p); }

template <class G> __RT_DEVICE void sync(const G &g) { g.sync(); }

template <class T> struct plus { __RT_DEVICE_MEMBER T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { __RT_DEVICE_MEMBER T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { __RT_DEVICE_MEMBER T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { __RT_DEVICE_MEMBER T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { __RT_DEVICE_MEMBER T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { __RT_DEVICE_MEMBER T operator()(T a, T b) const { return a ^ b; } };
template <unsigned N, class P, class T, class F> __RT_DEVICE T reduce(const thread_block_tile<N, P> &g, T v, F f) {
    for (int m = N / 2; m > 0; m /= 2) v = f(v, g.shfl_xor(v, m));
    return v;
}
template <unsigned N, class P, class T, class F> __RT_DEVICE T inclusive_scan(const thread_block_tile<N, P> &g, T v, F f) {
    for (unsigned d = 1; d < N; d *= 2) { T o = g.shfl_up(v, d); if (g.thread_rank() >= d) v = f(o, v); }
    return v;
}
template <unsigned N, class P, class T> __RT_DEVICE T inclusive_scan(const thread_block_tile<N, P> &g, T v) {
    return inclusive_scan(g, v, plus<T>());
}
template <unsigned N, class P, class T, class F> __RT_DEVICE T exclusive_scan(const thread_block_tile<N, P> &g, T v, F f) {
    T o = g.shfl_up(inclusive_scan(g, v, f), 1);
    return g.thread_rank() ? o : T();
}
template <unsigned N, class P, class T> __RT_DEVICE T exclusive_scan(const thread_block_tile<N, P> &g, T v) {
    return exclusive_scan(g, v, plus<T>());
}
template <class T, class F> __RT_DEVICE T reduce(const coalesced_group &g, T v, F f) {
    T found = g.shfl(v, 0);
    for (unsigned rank = 1; rank < g.size(); ++rank) found = f(found, g.shfl(v, rank));
    return found;
}

// Copies into shared memory are done at once; waiting for them is meeting.
template <class G, class T> __RT_DEVICE void memcpy_async(const G &g, T *to, const T *from, size_t bytes) {
    for (size_t i = g.thread_rank(); i < bytes / sizeof(T); i += g.size()) to[i] = from[i];
}
template <class G, class T> __RT_DEVICE void memcpy_async(const G &g, T *to, size_t n, const T *from, size_t m) {
    memcpy_async(g, to, from, (n < m ? n : m) * sizeof(T));
}
template <class G> __RT_DEVICE void wait(const G &g) { g.sync(); }
template <unsigned N, class G> __RT_DEVICE void wait_prior(const G &g) { g.sync(); }
}  // namespace cooperative_groups
#include "reactant_names_back.h"
