// thrust::reduce_by_key on this device.
#pragma once
#include <thrust/detail/config.h>
#if _CCCL_HAS_CUDA_COMPILER
#  include <thrust/pair.h>
#  include <thrust/system/cuda/detail/reactant_answers.h>

THRUST_NAMESPACE_BEGIN
template <typename DerivedPolicy, typename InputIterator1, typename InputIterator2, typename OutputIterator1, typename OutputIterator2,
          typename BinaryPredicate, typename BinaryFunction>
_CCCL_HOST_DEVICE thrust::pair<OutputIterator1, OutputIterator2>
reduce_by_key(const thrust::detail::execution_policy_base<DerivedPolicy> &exec, InputIterator1 keys_first, InputIterator1 keys_last,
              InputIterator2 values_first, OutputIterator1 keys_output, OutputIterator2 values_output, BinaryPredicate binary_pred,
              BinaryFunction binary_op);

namespace cuda_cub {
namespace detail {
template <class Derived, class Keys, class In, class KeysOut, class Out, class Equal, class Op>
THRUST_RUNTIME_FUNCTION reactant::Index reduced_by_key(execution_policy<Derived> &policy, Keys keys, Keys last, In in, KeysOut keys_out,
                                                       Out out, Equal equal, Op op) {
    typedef reactant::Index Index;
    const Index count = (Index)thrust::distance(keys, last);
    typedef typename iterator_traits<In>::value_type Value;
    typedef ::cuda::std::__accumulator_t<Op, Value, Value> T;
    return reactant::answer<Index>(policy, "reduce_by_key", [&](void *memory, size_t &bytes, Index *answer, cudaStream_t stream) {
        reactant_parallel::Scratch scratch(memory);
        typedef reactant_parallel::RunReduction<Keys, KeysOut, In, Out, Index *, Equal, Op, T> Chooser;
        return reactant_parallel::select(scratch, memory, bytes, count, Chooser{{keys, equal, count}, keys_out, in, out, answer, op}, stream);
    });
}
}  // namespace detail

_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class Keys, class In, class KeysOut, class Out, class Equal, class Op>
pair<KeysOut, Out> _CCCL_HOST_DEVICE reduce_by_key(execution_policy<Derived> &policy, Keys keys, Keys last, In in, KeysOut keys_out, Out out,
                                                   Equal equal, Op op) {
    auto ends = thrust::make_pair(keys_out, out);
    THRUST_CDP_DISPATCH((const reactant::Index count = detail::reduced_by_key(policy, keys, last, in, keys_out, out, equal, op);
                         ends = thrust::make_pair(keys_out + count, out + count);),
                        (ends = thrust::reduce_by_key(cvt_to_seq(derived_cast(policy)), keys, last, in, keys_out, out, equal, op);));
    return ends;
}
}  // namespace cuda_cub
THRUST_NAMESPACE_END

#  include <thrust/memory.h>
#  include <thrust/reduce.h>
#endif
