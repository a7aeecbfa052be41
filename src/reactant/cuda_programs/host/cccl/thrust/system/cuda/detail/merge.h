// thrust::merge and merge_by_key on this device.
#pragma once
#include <thrust/detail/config.h>
#if _CCCL_HAS_CUDA_COMPILER
#  include <thrust/merge.h>
#  include <thrust/pair.h>
#  include <thrust/system/cuda/detail/reactant_answers.h>

THRUST_NAMESPACE_BEGIN
namespace cuda_cub {
namespace detail {
template <class Derived, class A, class B, class Out, class ItemsA, class ItemsB, class ItemsOut, class Less>
THRUST_RUNTIME_FUNCTION reactant::Index merged(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Out out, ItemsA items_a,
                                               ItemsB items_b, ItemsOut items_out, Less less) {
    const reactant::Index count_a = (reactant::Index)thrust::distance(a, a_end), count_b = (reactant::Index)thrust::distance(b, b_end);
    cuda_cub::throw_on_error(reactant_parallel::merge(a, count_a, b, count_b, out, items_a, items_b, items_out, less, cuda_cub::stream(policy)), "merge");
    cuda_cub::throw_on_error(cuda_cub::synchronize_optional(policy), "merge");
    return count_a + count_b;
}
}  // namespace detail

_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class A, class B, class Out, class Less>
Out _CCCL_HOST_DEVICE merge(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Out out, Less less) {
    THRUST_CDP_DISPATCH((const reactant_parallel::NoItems none{}; out += detail::merged(policy, a, a_end, b, b_end, out, none, none, none, less);),
                        (out = thrust::merge(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, out, less);));
    return out;
}
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class A, class B, class ItemsA, class ItemsB, class Out, class ItemsOut, class Less>
pair<Out, ItemsOut> _CCCL_HOST_DEVICE merge_by_key(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, ItemsA items_a, ItemsB items_b,
                                                   Out out, ItemsOut items_out, Less less) {
    auto ends = thrust::make_pair(out, items_out);
    THRUST_CDP_DISPATCH((const reactant::Index count = detail::merged(policy, a, a_end, b, b_end, out, items_a, items_b, items_out, less);
                         ends = thrust::make_pair(out + count, items_out + count);),
                        (ends = thrust::merge_by_key(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, items_a, items_b, out, items_out, less);));
    return ends;
}
}  // namespace cuda_cub
THRUST_NAMESPACE_END
#endif
