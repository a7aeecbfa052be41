// cub::DeviceScan's scans by key on this device.
#pragma once
#include <cub/device/dispatch/dispatch_scan.cuh>

CUB_NAMESPACE_BEGIN
template <class Keys, class In, class Out, class Equal, class Op, class Init, class Offset,
          class Accum = ::cuda::std::__accumulator_t<Op, detail::value_t<In>, ::cuda::std::_If<::cuda::std::is_same<Init, NullType>::value, detail::value_t<In>, Init>>,
          class...>
struct DispatchScanByKey {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, Keys keys, In in, Out out, Equal equal, Op op, Init init,
                                                     Offset count, cudaStream_t stream) {
        return reactant_parallel::scan_by_key<Accum>(memory, bytes, keys, in, out, (reactant_parallel::Index)count, equal, op,
                                                     detail::scan_start<Init>::of(init), stream);
    }
};
CUB_NAMESPACE_END
