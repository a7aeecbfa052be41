// Thrust's set operations on this device: Thrust's sequential ones, in one thread of the device.
#pragma once
#include <thrust/detail/config.h>
#if _CCCL_HAS_CUDA_COMPILER
#  include <thrust/pair.h>
#  include <thrust/set_operations.h>
#  include <thrust/system/cuda/detail/reactant_answers.h>

THRUST_NAMESPACE_BEGIN
namespace cuda_cub {
#  define REACTANT_SET_OPERATION(NAME)                                                                                              \
    namespace reactant {                                                                                                            \
    template <class A, class B, class Out, class Less> struct NAME##_in_order {                                                     \
        A a, a_end; B b, b_end; Out out; Less less;                                                                                 \
        _CCCL_DEVICE Index operator()() { return thrust::distance(out, thrust::NAME(thrust::seq, a, a_end, b, b_end, out, less)); } \
    };                                                                                                                              \
    }                                                                                                                               \
    _CCCL_EXEC_CHECK_DISABLE                                                                                                        \
    template <class Derived, class A, class B, class Out, class Less>                                                               \
    Out _CCCL_HOST_DEVICE NAME(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Out out, Less less) {                 \
        THRUST_CDP_DISPATCH((out += reactant::alone(policy, #NAME, reactant::NAME##_in_order<A, B, Out, Less>{a, a_end, b, b_end, out, less});), \
                            (out = thrust::NAME(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, out, less);));                \
        return out;                                                                                                                 \
    }
REACTANT_SET_OPERATION(set_difference)
REACTANT_SET_OPERATION(set_intersection)
REACTANT_SET_OPERATION(set_symmetric_difference)
REACTANT_SET_OPERATION(set_union)
#  undef REACTANT_SET_OPERATION

// With values.
namespace reactant {
template <class A, class B, class Va, class Vb, class Out, class ValuesOut, class Less> struct set_difference_by_key_in_order {
    A a, a_end; B b, b_end; Va va; Vb vb; Out out; ValuesOut values_out; Less less;
    _CCCL_DEVICE Index operator()() {
        return thrust::distance(out, thrust::set_difference_by_key(thrust::seq, a, a_end, b, b_end, va, vb, out, values_out, less).first);
    }
};
}  // namespace reactant
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class A, class B, class Va, class Vb, class Out, class ValuesOut, class Less>
pair<Out, ValuesOut> _CCCL_HOST_DEVICE set_difference_by_key(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Va va, Vb vb, Out out,
                                                            ValuesOut values_out, Less less) {
    auto ends = thrust::make_pair(out, values_out);
    THRUST_CDP_DISPATCH((typedef reactant::set_difference_by_key_in_order<A, B, Va, Vb, Out, ValuesOut, Less> Run;
                         const reactant::Index count = reactant::alone(policy, "set_difference_by_key", Run{a, a_end, b, b_end, va, vb, out, values_out, less});
                         ends = thrust::make_pair(out + count, values_out + count);),
                        (ends = thrust::set_difference_by_key(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, va, vb, out, values_out, less);));
    return ends;
}

namespace reactant {
template <class A, class B, class Va, class Out, class ValuesOut, class Less> struct set_intersection_by_key_in_order {
    A a, a_end; B b, b_end; Va va; Out out; ValuesOut values_out; Less less;
    _CCCL_DEVICE Index operator()() {
        return thrust::distance(out, thrust::set_intersection_by_key(thrust::seq, a, a_end, b, b_end, va, out, values_out, less).first);
    }
};
}  // namespace reactant
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class A, class B, class Va, class Out, class ValuesOut, class Less>
pair<Out, ValuesOut> _CCCL_HOST_DEVICE set_intersection_by_key(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Va va, Out out,
                                                              ValuesOut values_out, Less less) {
    auto ends = thrust::make_pair(out, values_out);
    THRUST_CDP_DISPATCH((typedef reactant::set_intersection_by_key_in_order<A, B, Va, Out, ValuesOut, Less> Run;
                         const reactant::Index count = reactant::alone(policy, "set_intersection_by_key", Run{a, a_end, b, b_end, va, out, values_out, less});
                         ends = thrust::make_pair(out + count, values_out + count);),
                        (ends = thrust::set_intersection_by_key(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, va, out, values_out, less);));
    return ends;
}

namespace reactant {
template <class A, class B, class Va, class Vb, class Out, class ValuesOut, class Less> struct set_symmetric_difference_by_key_in_order {
    A a, a_end; B b, b_end; Va va; Vb vb; Out out; ValuesOut values_out; Less less;
    _CCCL_DEVICE Index operator()() {
        return thrust::distance(out, thrust::set_symmetric_difference_by_key(thrust::seq, a, a_end, b, b_end, va, vb, out, values_out, less).first);
    }
};
}  // namespace reactant
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class A, class B, class Va, class Vb, class Out, class ValuesOut, class Less>
pair<Out, ValuesOut> _CCCL_HOST_DEVICE set_symmetric_difference_by_key(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Va va, Vb vb, Out out,
                                                                      ValuesOut values_out, Less less) {
    auto ends = thrust::make_pair(out, values_out);
    THRUST_CDP_DISPATCH((typedef reactant::set_symmetric_difference_by_key_in_order<A, B, Va, Vb, Out, ValuesOut, Less> Run;
                         const reactant::Index count = reactant::alone(policy, "set_symmetric_difference_by_key", Run{a, a_end, b, b_end, va, vb, out, values_out, less});
                         ends = thrust::make_pair(out + count, values_out + count);),
                        (ends = thrust::set_symmetric_difference_by_key(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, va, vb, out, values_out, less);));
    return ends;
}

namespace reactant {
template <class A, class B, class Va, class Vb, class Out, class ValuesOut, class Less> struct set_union_by_key_in_order {
    A a, a_end; B b, b_end; Va va; Vb vb; Out out; ValuesOut values_out; Less less;
    _CCCL_DEVICE Index operator()() {
        return thrust::distance(out, thrust::set_union_by_key(thrust::seq, a, a_end, b, b_end, va, vb, out, values_out, less).first);
    }
};
}  // namespace reactant
_CCCL_EXEC_CHECK_DISABLE
template <class Derived, class A, class B, class Va, class Vb, class Out, class ValuesOut, class Less>
pair<Out, ValuesOut> _CCCL_HOST_DEVICE set_union_by_key(execution_policy<Derived> &policy, A a, A a_end, B b, B b_end, Va va, Vb vb, Out out,
                                                       ValuesOut values_out, Less less) {
    auto ends = thrust::make_pair(out, values_out);
    THRUST_CDP_DISPATCH((typedef reactant::set_union_by_key_in_order<A, B, Va, Vb, Out, ValuesOut, Less> Run;
                         const reactant::Index count = reactant::alone(policy, "set_union_by_key", Run{a, a_end, b, b_end, va, vb, out, values_out, less});
                         ends = thrust::make_pair(out + count, values_out + count);),
                        (ends = thrust::set_union_by_key(cvt_to_seq(derived_cast(policy)), a, a_end, b, b_end, va, vb, out, values_out, less);));
    return ends;
}
}  // namespace cuda_cub
THRUST_NAMESPACE_END
#endif
