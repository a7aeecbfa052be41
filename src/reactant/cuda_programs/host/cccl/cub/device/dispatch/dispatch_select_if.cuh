// cub::DeviceSelect and cub::DevicePartition on this device.
#pragma once
#include <cub/device/dispatch/dispatch_scan.cuh>

#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace select {
template <class...> struct policy_hub;
template <class Selected, class Rejected> struct partition_distinct_output_t {
    using selected_iterator_t = Selected;
    using rejected_iterator_t = Rejected;
    Selected selected_it;
    Rejected rejected_it;
};
template <class> struct is_partition_distinct_output_t : ::cuda::std::false_type {};
template <class S, class R> struct is_partition_distinct_output_t<partition_distinct_output_t<S, R>> : ::cuda::std::true_type {};

template <class In, class Flags, class Out, class Number, class Op, class Equal, bool KeepRejects> struct chooser {
    typedef reactant_parallel::Index Index;
    In in; Flags flags; Out out; Number number; Op op; Equal equal; Index count; Index *also;
    static constexpr bool by_op = !::cuda::std::is_same<Op, NullType>::value, by_equality = !::cuda::std::is_same<Equal, NullType>::value;
    static constexpr bool by_flags = !::cuda::std::is_same<value_t<Flags>, NullType>::value;
    _CCCL_DEVICE bool chosen(Index i) {
        if constexpr (by_equality) return i == 0 || !equal(in[i - 1], in[i]);
        else if constexpr (by_op && by_flags) return static_cast<bool>(op(flags[i]));
        else if constexpr (by_op) return static_cast<bool>(op(in[i]));
        else return static_cast<bool>(flags[i]);
    }
    _CCCL_DEVICE void write(Index i, Index to) {
        if constexpr (is_partition_distinct_output_t<Out>::value) out.selected_it[to] = in[i];
        else out[to] = in[i];
    }
    _CCCL_DEVICE void other(Index i, Index to) {
        if constexpr (KeepRejects && is_partition_distinct_output_t<Out>::value) out.rejected_it[to] = in[i];
        else if constexpr (KeepRejects) out[count - 1 - to] = in[i];
    }
    _CCCL_DEVICE void end(Index chosen) {
        *number = chosen;
        if (also) *also = chosen;
    }
};
}  // namespace select
}  // namespace detail

template <class In, class Flags, class Out, class Number, class Op, class Equal, class Offset, bool KeepRejects, bool MayAlias = false, class...>
struct DispatchSelectIf {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Flags flags, Out out, Number number, Op op,
                                                     Equal equal, Offset items, cudaStream_t stream) {
        typedef reactant_parallel::Index Index;
        const Index count = (Index)items;
        reactant_parallel::Scratch scratch(memory);
        if constexpr (MayAlias && !KeepRejects && !detail::select::is_partition_distinct_output_t<Out>::value) {
            typedef detail::value_t<In> T;
            T *const buffer = scratch.part<T>(count);
            Index *const chosen = scratch.part<Index>(1);
            typedef detail::select::chooser<In, Flags, T *, Number, Op, Equal, false> Chooser;
            const cudaError_t error = reactant_parallel::select(scratch, memory, bytes, count, Chooser{in, flags, buffer, number, op, equal, count, chosen}, stream);
            if (!memory || error != cudaSuccess) return error;
            return reactant_parallel::elements(count, reactant_parallel::FromBuffer<T, Out>{buffer, out, chosen}, stream);
        } else {
            typedef detail::select::chooser<In, Flags, Out, Number, Op, Equal, KeepRejects> Chooser;
            return reactant_parallel::select(scratch, memory, bytes, count, Chooser{in, flags, out, number, op, equal, count, nullptr}, stream);
        }
    }
};
CUB_NAMESPACE_END
