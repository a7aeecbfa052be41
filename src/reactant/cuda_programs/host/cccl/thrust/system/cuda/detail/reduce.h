// thrust::reduce on this device.
#pragma once
#include <thrust/detail/config.h>
#if _CCCL_HAS_CUDA_COMPILER
#  include <thrust/system/cuda/detail/reactant_answers.h>

THRUST_NAMESPACE_BEGIN
template <typename DerivedPolicy, typename InputIterator, typename T, typename BinaryFunction>
_CCCL_HOST_DEVICE T reduce(const thrust::detail::execution_policy_base<DerivedPolicy> &exec, InputIterator first, InputIterator last,
                           T init, BinaryFunction binary_op);

namespace cuda_cub {
namespace detail {
template <class Derived, class In, class Size, class T, class Op>
THRUST_RUNTIME_FUNCTION T reduced(execution_policy<Derived> &policy, In first, Size count, T init, Op op) {
    return reactant::answer<T>(policy, "reduce", [&](void *memory, size_t &bytes, T *answer, cudaStream_t stream) {
        return reactant_parallel::reduce<T>(memory, bytes, first, answer, (reactant::Index)count, op, init, true, ::cuda::std::__identity(), stream);
    });
}
}  // namespace detail

_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class In, class Size, class T, class Op>
_CCCL_HOST_DEVICE T reduce_n(execution_policy<Derived> &policy, In first, Size count, T init, Op op) {
    THRUST_CDP_DISPATCH((init = detail::reduced(policy, first, count, init, op);),
                        (init = thrust::reduce(cvt_to_seq(derived_cast(policy)), first, first + count, init, op);));
    return init;
}
template <class Derived, class In, class T, class Op>
_CCCL_HOST_DEVICE T reduce(execution_policy<Derived> &policy, In first, In last, T init, Op op) {
    return cuda_cub::reduce_n(policy, first, thrust::distance(first, last), init, op);
}
template <class Derived, class In, class T> _CCCL_HOST_DEVICE T reduce(execution_policy<Derived> &policy, In first, In last, T init) {
    return cuda_cub::reduce(policy, first, last, init, plus<T>());
}
template <class Derived, class In>
_CCCL_HOST_DEVICE typename iterator_traits<In>::value_type reduce(execution_policy<Derived> &policy, In first, In last) {
    typedef typename iterator_traits<In>::value_type T;
    return cuda_cub::reduce(policy, first, last, T(0), plus<T>());
}
}  // namespace cuda_cub
THRUST_NAMESPACE_END

#  include <thrust/memory.h>
#  include <thrust/reduce.h>
#endif
