// cub::DeviceReduce::ReduceByKey and cub::DeviceRunLengthEncode::Encode on this device.
#pragma once
#include <cub/device/dispatch/dispatch_scan.cuh>

#include <reactant_selection.h>

CUB_NAMESPACE_BEGIN
template <class Keys, class KeysOut, class In, class Out, class Number, class Equal, class Op, class Offset,
          class Accum = ::cuda::std::__accumulator_t<Op, detail::value_t<In>, detail::value_t<In>>, class...>
struct DispatchReduceByKey {
    CUB_RUNTIME_FUNCTION static cudaError_t Dispatch(void *memory, size_t &bytes, Keys keys, KeysOut keys_out, In in, Out out,
                                                     Number number, Equal equal, Op op, Offset count, cudaStream_t stream) {
        reactant_parallel::Scratch scratch(memory);
        typedef reactant_parallel::RunReduction<Keys, KeysOut, In, Out, Number, Equal, Op, Accum> Chooser;
        return reactant_parallel::select(scratch, memory, bytes, (reactant_parallel::Index)count,
                                         Chooser{{keys, equal, (reactant_parallel::Index)count}, keys_out, in, out, number, op}, stream);
    }
};
CUB_NAMESPACE_END
