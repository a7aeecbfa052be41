// thrust::unique, unique_copy and unique_count on this device.
#pragma once
#include <thrust/detail/config.h>
#if _CCCL_HAS_CUDA_COMPILER
#  include <cub/device/dispatch/dispatch_select_if.cuh>

#  include <thrust/system/cuda/detail/reactant_answers.h>

THRUST_NAMESPACE_BEGIN
template <typename DerivedPolicy, typename ForwardIterator, typename BinaryPredicate>
_CCCL_HOST_DEVICE ForwardIterator unique(const thrust::detail::execution_policy_base<DerivedPolicy> &exec, ForwardIterator first,
                                         ForwardIterator last, BinaryPredicate binary_pred);
template <typename DerivedPolicy, typename InputIterator, typename OutputIterator, typename BinaryPredicate>
_CCCL_HOST_DEVICE OutputIterator unique_copy(const thrust::detail::execution_policy_base<DerivedPolicy> &exec, InputIterator first,
                                             InputIterator last, OutputIterator result, BinaryPredicate binary_pred);
template <typename DerivedPolicy, typename ForwardIterator, typename BinaryPredicate>
_CCCL_HOST_DEVICE typename thrust::iterator_traits<ForwardIterator>::difference_type
unique_count(const thrust::detail::execution_policy_base<DerivedPolicy> &exec, ForwardIterator first, ForwardIterator last,
             BinaryPredicate binary_pred);

namespace cuda_cub {
namespace detail {
// In place as well: it goes through a buffer.
template <bool MayAlias, class Derived, class In, class Out, class Equal>
THRUST_RUNTIME_FUNCTION reactant::Index made_unique(execution_policy<Derived> &policy, In first, In last, Out out, Equal equal) {
    typedef reactant::Index Index;
    typedef cub::DispatchSelectIf<In, cub::NullType *, Out, Index *, cub::NullType, Equal, Index, false, MayAlias> Selection;
    return reactant::answer<Index>(policy, "unique", [&](void *memory, size_t &bytes, Index *answer, cudaStream_t stream) {
        return Selection::Dispatch(memory, bytes, first, nullptr, out, answer, cub::NullType{}, equal, (Index)thrust::distance(first, last), stream);
    });
}
template <class In, class Equal> struct begins_run {
    In first; Equal equal;
    _CCCL_DEVICE reactant::Index operator()(reactant::Index i) const { return i == 0 || !equal(first[i - 1], first[i]); }
};
struct counted_up {
    reactant::Index first;
    _CCCL_HOST_DEVICE reactant::Index operator[](reactant::Index i) const { return first + i; }
};
template <class Derived, class In, class Equal>
THRUST_RUNTIME_FUNCTION reactant::Index counted_unique(execution_policy<Derived> &policy, In first, In last, Equal equal) {
    typedef reactant::Index Index;
    return reactant::answer<Index>(policy, "unique_count", [&](void *memory, size_t &bytes, Index *answer, cudaStream_t stream) {
        return reactant_parallel::reduce<Index>(memory, bytes, counted_up{0}, answer, (Index)thrust::distance(first, last), ::cuda::std::plus<Index>(), Index(0), true, begins_run<In, Equal>{first, equal}, stream);
    });
}
}  // namespace detail

_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class In, class Out, class Equal>
Out _CCCL_HOST_DEVICE unique_copy(execution_policy<Derived> &policy, In first, In last, Out out, Equal equal) {
    THRUST_CDP_DISPATCH((out += detail::made_unique<false>(policy, first, last, out, equal);),
                        (out = thrust::unique_copy(cvt_to_seq(derived_cast(policy)), first, last, out, equal);));
    return out;
}
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class It, class Equal> It _CCCL_HOST_DEVICE unique(execution_policy<Derived> &policy, It first, It last, Equal equal) {
    It end = first;
    THRUST_CDP_DISPATCH((end += detail::made_unique<true>(policy, first, last, first, equal);),
                        (end = thrust::unique(cvt_to_seq(derived_cast(policy)), first, last, equal);));
    return end;
}
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class It, class Equal>
typename thrust::iterator_traits<It>::difference_type _CCCL_HOST_DEVICE unique_count(execution_policy<Derived> &policy, It first, It last, Equal equal) {
    typename thrust::iterator_traits<It>::difference_type count = 0;
    THRUST_CDP_DISPATCH((count = detail::counted_unique(policy, first, last, equal);),
                        (count = thrust::unique_count(cvt_to_seq(derived_cast(policy)), first, last, equal);));
    return count;
}
}  // namespace cuda_cub
THRUST_NAMESPACE_END

#  include <thrust/memory.h>
#  include <thrust/unique.h>
#endif
