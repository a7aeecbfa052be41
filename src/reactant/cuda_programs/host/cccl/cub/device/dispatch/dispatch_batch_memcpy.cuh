// cub::DeviceMemcpy::Batched and cub::DeviceCopy::Batched on this device.
#pragma once
#include <cub/config.cuh>
#include <cub/device/dispatch/tuning/tuning_batch_memcpy.cuh>
#include <cub/util_device.cuh>
#include <cub/util_type.cuh>

#include <cuda/std/cstdint>
#include <cuda/std/type_traits>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace batch_memcpy {
template <class In, class Out, class Sizes, bool Bytes> struct copies {
    In in; Out out; Sizes sizes;
    _CCCL_DEVICE void operator()(reactant_parallel::Index k) {
        if constexpr (Bytes) {
            memcpy((void *)out[k], (const void *)in[k], (size_t)sizes[k]);
        } else {
            auto from = in[k];
            auto to = out[k];
            for (reactant_parallel::Index i = 0, end = (reactant_parallel::Index)sizes[k]; i < end; ++i) to[i] = from[i];
        }
    }
};
}  // namespace batch_memcpy

template <class In, class Out, class Sizes, class Offset, class BlockOffset, class Policy = void, bool IsMemcpy = true> struct DispatchBatchMemcpy {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, In in, Out out, Sizes sizes, Offset count, cudaStream_t stream) {
        if (!memory) { bytes = 1; return cudaSuccess; }
        return reactant_parallel::elements((reactant_parallel::Index)count, batch_memcpy::copies<In, Out, Sizes, IsMemcpy>{in, out, sizes}, stream);
    }
};
}  // namespace detail
CUB_NAMESPACE_END
