// What Thrust's algorithms get back from the device.
#pragma once
#include <thrust/detail/config.h>

#include <thrust/detail/alignment.h>
#include <thrust/detail/temporary_array.h>
#include <thrust/distance.h>
#include <thrust/functional.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/system/cuda/config.h>
#include <thrust/system/cuda/detail/cdp_dispatch.h>
#include <thrust/system/cuda/detail/get_value.h>
#include <thrust/system/cuda/detail/par_to_seq.h>
#include <thrust/system/cuda/detail/util.h>

#include <reactant_selection.h>

THRUST_NAMESPACE_BEGIN
namespace cuda_cub {
namespace reactant {
typedef reactant_parallel::Index Index;

// algorithm(memory, bytes, T *answer, stream) once for the size of its memory, and once to run; the answer.
template <class T, class Derived, class Algorithm>
THRUST_RUNTIME_FUNCTION T answer(execution_policy<Derived> &policy, const char *name, const Algorithm &algorithm) {
    const cudaStream_t stream = cuda_cub::stream(policy);
    size_t bytes = 0;
    cuda_cub::throw_on_error(algorithm(nullptr, bytes, (T *)nullptr, stream), name);
    const size_t room = (sizeof(T) + 255) / 256 * 256;
    thrust::detail::temporary_array<unsigned char, Derived> memory(policy, room + bytes);
    unsigned char *const start = thrust::raw_pointer_cast(memory.data());
    T *const answer = thrust::detail::aligned_reinterpret_cast<T *>(start);
    cuda_cub::throw_on_error(algorithm((void *)(start + room), bytes, answer, stream), name);
    cuda_cub::throw_on_error(cuda_cub::synchronize(policy), name);
    return cuda_cub::get_value(policy, answer);
}

// Runs f() in one thread; the number that it returns.
template <class F> struct one_thread {
    F f; Index *answer;
    _CCCL_DEVICE void operator()(Index) { *answer = f(); }
};
template <class Derived, class F> THRUST_RUNTIME_FUNCTION Index alone(execution_policy<Derived> &policy, const char *name, const F &f) {
    return answer<Index>(policy, name, [&](void *memory, size_t &bytes, Index *answer, cudaStream_t stream) {
        if (!memory) { bytes = 1; return cudaSuccess; }
        return reactant_parallel::alone(one_thread<F>{f, answer}, stream);
    });
}
}  // namespace reactant
}  // namespace cuda_cub
THRUST_NAMESPACE_END
