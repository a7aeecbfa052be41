// cub::DeviceAdjacentDifference on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/detail/type_traits.cuh>
#include <cub/util_debug.cuh>
#include <cub/util_device.cuh>
#include <cub/util_math.cuh>
#include <cub/util_type.cuh>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace adjacent_difference {
template <class In, class T> struct copy {
    In in; T *to;
    _CCCL_DEVICE void operator()(reactant_parallel::Index i) { reactant_parallel::put<T>(to + i, in[i]); }
};
template <class In, class Out, class Op, bool Left> struct difference {
    In in; Out out; Op op; reactant_parallel::Index count;
    _CCCL_DEVICE void operator()(reactant_parallel::Index i) {
        if (i == (Left ? 0 : count - 1)) out[i] = in[i];
        else out[i] = op(in[i], in[Left ? i - 1 : i + 1]);
    }
};
}  // namespace adjacent_difference
}  // namespace detail

template <class In, class Out, class Op, class Offset, bool MayAlias, bool ReadLeft, class...> struct DispatchAdjacentDifference {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Out out, Offset items, Op op, cudaStream_t stream) {
        typedef detail::value_t<In> T;
        const reactant_parallel::Index count = (reactant_parallel::Index)items;
        reactant_parallel::Scratch scratch(memory);
        if constexpr (MayAlias) {
            T *const kept = scratch.part<T>(count);
            if (scratch.told(memory, bytes)) return cudaSuccess;
            const cudaError_t error = reactant_parallel::elements(count, detail::adjacent_difference::copy<In, T>{in, kept}, stream);
            if (error != cudaSuccess) return error;
            return reactant_parallel::elements(count, detail::adjacent_difference::difference<const T *, Out, Op, ReadLeft>{kept, out, op, count}, stream);
        } else {
            if (scratch.told(memory, bytes)) return cudaSuccess;
            return reactant_parallel::elements(count, detail::adjacent_difference::difference<In, Out, Op, ReadLeft>{in, out, op, count}, stream);
        }
    }
};
CUB_NAMESPACE_END
