// CUDA's products of small matrices by the threads of a warp (nvcuda::wmma), with shuffles: the lanes hold each matrix in
// row-major order, an equal part each. Which element a fragment's x[] has where is unspecified in CUDA, too. Products are
// summed in the accumulator's type, of halves in float.
#pragma once
#include "cuda_fp16.h"
#include "cuda_bf16.h"

namespace nvcuda { namespace wmma {

struct matrix_a {}; struct matrix_b {}; struct accumulator {};
struct row_major {}; struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32 {}; }

namespace reactant {
template <class T> struct Element { using Stored = T; using Wide = T; };
template <> struct Element<__half> { using Stored = __half; using Wide = float; };
template <> struct Element<__nv_bfloat16> { using Stored = __nv_bfloat16; using Wide = float; };
template <> struct Element<precision::tf32> { using Stored = float; using Wide = float; };
template <> struct Element<signed char> { using Stored = signed char; using Wide = int; };
template <> struct Element<unsigned char> { using Stored = unsigned char; using Wide = int; };

// What products are summed in, and a sum as satf wants it: the nearest finite number, 0 for NaN.
template <class D> struct Sum { using Type = typename Element<D>::Wide; };
template <> struct Sum<int> { using Type = long long; };
template <class D> struct Greatest;
template <> struct Greatest<__half> { static constexpr float value = 65504.0f; };
template <> struct Greatest<float> { static constexpr float value = 3.402823466e38f; };
template <> struct Greatest<double> { static constexpr double value = 1.7976931348623157e308; };
template <> struct Greatest<int> { static constexpr long long value = 2147483647; };
template <class D, class S> __attribute__((device)) D finite(S sum) {
    constexpr S greatest = Greatest<D>::value, least = -greatest - (S)((S)1 / (S)2 == 0);
    return sum != sum ? (D)(S)0 : (D)(sum > greatest ? greatest : sum < least ? least : sum);
}

// The shapes that CUDA has, for each type of the factors.
template <class T> constexpr bool has_shape(int m, int n, int k) {
    return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <> constexpr bool has_shape<precision::tf32>(int m, int n, int k) { return m == 16 && n == 16 && k == 8; }
template <> constexpr bool has_shape<double>(int m, int n, int k) { return m == 8 && n == 8 && k == 4; }

template <class Use, int M, int N, int K> struct Extent;
template <int M, int N, int K> struct Extent<matrix_a, M, N, K> { static constexpr int rows = M, columns = K; };
template <int M, int N, int K> struct Extent<matrix_b, M, N, K> { static constexpr int rows = K, columns = N; };
template <int M, int N, int K> struct Extent<accumulator, M, N, K> { static constexpr int rows = M, columns = N; };

static __inline__ __attribute__((device)) int lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}
template <class Layout> struct IsRows { static constexpr bool value = true; };
template <> struct IsRows<col_major> { static constexpr bool value = false; };
}

template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
    using Extent = reactant::Extent<Use, M, N, K>;
public:
    using element_type = T;
    using storage_element_type = typename reactant::Element<T>::Stored;
    static constexpr int reactant_rows = Extent::rows, reactant_columns = Extent::columns;
    static constexpr int num_elements = Extent::rows * Extent::columns / 32, num_storage_elements = num_elements;
    storage_element_type x[num_elements];
};

static __inline__ __attribute__((device)) float __float_to_tf32(float x) {      // ties away from zero, as cvt.rna
    return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);
}

template <class Use, int M, int N, int K, class T, class L, class V>
__attribute__((device)) void fill_fragment(fragment<Use, M, N, K, T, L> &to, const V &value) {
    for (int e = 0; e < to.num_elements; ++e) to.x[e] = value;
}

namespace reactant {
template <class F, class S> __attribute__((device)) void load(F &to, const S *from, unsigned stride, bool rows) {
    __syncwarp();
    for (int e = 0; e < F::num_elements; ++e) {
        unsigned place = lane() * F::num_elements + e, i = place / F::reactant_columns, j = place % F::reactant_columns;
        to.x[e] = from[rows ? i * stride + j : j * stride + i];
    }
    __syncwarp();
}
}

template <class Use, int M, int N, int K, class T, class L>
__attribute__((device)) void load_matrix_sync(fragment<Use, M, N, K, T, L> &to,
        const typename reactant::Element<T>::Stored *from, unsigned stride) {
    reactant::load(to, from, stride, reactant::IsRows<L>::value);
}
template <int M, int N, int K, class T>
__attribute__((device)) void load_matrix_sync(fragment<accumulator, M, N, K, T> &to, const T *from, unsigned stride,
                                              layout_t layout) {
    reactant::load(to, from, stride, layout == mem_row_major);
}
template <int M, int N, int K, class T>
__attribute__((device)) void store_matrix_sync(T *to, const fragment<accumulator, M, N, K, T> &from, unsigned stride,
                                               layout_t layout) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp();
    for (int e = 0; e < F::num_elements; ++e) {
        unsigned place = reactant::lane() * F::num_elements + e, i = place / N, j = place % N;
        to[layout == mem_row_major ? i * stride + j : j * stride + i] = from.x[e];
    }
    __syncwarp();
}

// Each lane's elements of the result are of one row i, from column j0 on; of a factor's row, the element that a lane has to
// give is the same in all lanes, or for b one of two.
template <int M, int N, int K, class T, class LA, class LB, class C, class D>
__attribute__((device)) void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, LA> &a,
        const fragment<matrix_b, M, N, K, T, LB> &b, const fragment<accumulator, M, N, K, C> &c, bool satf = false) {
    static_assert(reactant::has_shape<T>(M, N, K), "nvcuda::wmma has no product of this shape and type");
    using Factor = typename reactant::Element<T>::Wide;
    using Sum = typename reactant::Sum<D>::Type;
    constexpr int OF_A = M * K / 32, OF_B = K * N / 32, OF_C = M * N / 32;
    const int lane = reactant::lane(), i = lane * OF_C / N, j0 = lane * OF_C % N;
    Sum sum[OF_C];
    for (int q = 0; q < OF_C; ++q) sum[q] = (Sum)c.x[q];
#pragma unroll 1
    for (int k = 0; k < K; ++k) {
        const Factor left = __shfl_sync(0xffffffffu, (Factor)a.x[k % OF_A], (i * K + k) / OF_A);
#pragma unroll 1
        for (int q = 0; q < OF_C; ++q) {
            const int from = (k * N + j0 + q) / OF_B;
            Factor right = __shfl_sync(0xffffffffu, (Factor)b.x[q % OF_B], from);
            for (int other = OF_C; other < OF_B; other += OF_C) {
                const Factor there = __shfl_sync(0xffffffffu, (Factor)b.x[(other + q) % OF_B], from);
                if (j0 % OF_B == other) right = there;
            }
            sum[q] += (Sum)left * (Sum)right;
        }
    }
    for (int q = 0; q < OF_C; ++q) d.x[q] = satf ? reactant::finite<D>(sum[q]) : (D)sum[q];
}

} }
