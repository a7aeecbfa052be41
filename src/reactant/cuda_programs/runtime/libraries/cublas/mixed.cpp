// Products and vectors whose elements are of several types: in float, or in double where that is what they need.
#include "batched.h"

using namespace reactant;
using namespace reactant::blas;

namespace {

size_t bytes_of(cudaDataType type) {
    switch (type) {
    case CUDA_R_8I: case CUDA_R_8U: return 1;
    case CUDA_R_16F: case CUDA_R_16BF: return 2;
    case CUDA_R_32F: case CUDA_R_32I: return 4;
    case CUDA_R_64F: case CUDA_C_32F: return 8;
    case CUDA_C_64F: return 16;
    default: return 0;
    }
}

// body(T()) for real types of elements.
template <class Body> void with_real(cudaDataType type, const Body &body) {
    switch (type) {
    case CUDA_R_8I: return body(int8_t());
    case CUDA_R_16F: return body(_Float16());
    case CUDA_R_16BF: return body(__bf16());
    case CUDA_R_32I: return body(int32_t());
    case CUDA_R_64F: return body(double());
    default: return body(float());
    }
}

template <class W> void widened(const void *from, cudaDataType type, long rows, long columns, long leading, W *to) {
    with_real(type, [=](auto element) {
        using T = decltype(element);
        each(columns, rows, [=](uint64_t j) {
            for (long i = 0; i < rows; ++i) to[i + j * rows] = (W)((const T *)from)[i + j * leading];
        });
    });
}
template <class W> void narrowed(const W *from, long rows, long columns, void *to, cudaDataType type, long leading) {
    with_real(type, [=](auto element) {
        using T = decltype(element);
        each(columns, rows, [=](uint64_t j) {
            for (long i = 0; i < rows; ++i) {
                T &at = ((T *)to)[i + j * leading];
                if constexpr (std::is_same_v<T, int32_t>) at = (int32_t)(int64_t)from[i + j * rows];
                else at = (T)from[i + j * rows];
            }
        });
    });
}

struct Product {
    cublasOperation_t opa, opb; int m, n, k; cudaDataType a_type, b_type, c_type; int lda, ldb, ldc; cublasComputeType_t compute;
};

cudaDataType scalar_type(const Product &p) {
    if (p.c_type == CUDA_C_32F || p.c_type == CUDA_C_64F) return p.c_type;
    switch (p.compute) {
    case CUBLAS_COMPUTE_16F: case CUBLAS_COMPUTE_16F_PEDANTIC: return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F: case CUBLAS_COMPUTE_64F_PEDANTIC: return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I: case CUBLAS_COMPUTE_32I_PEDANTIC: return CUDA_R_32I;
    default: return CUDA_R_32F;
    }
}

// W: what is computed in. Matrices of another type are copied.
template <class W> void in_type(const Product &p, cudaDataType own, const void *a, const void *b, void *c, W alpha, W beta) {
    const int a_rows = p.opa == CUBLAS_OP_N ? p.m : p.k, a_columns = p.opa == CUBLAS_OP_N ? p.k : p.m;
    const int b_rows = p.opb == CUBLAS_OP_N ? p.k : p.n, b_columns = p.opb == CUBLAS_OP_N ? p.n : p.k;
    std::vector<W> wide_a, wide_b, wide_c;
    int lda = p.lda, ldb = p.ldb, ldc = p.ldc;
    if (p.a_type != own) {
        wide_a.resize((size_t)a_rows * a_columns);
        widened(a, p.a_type, a_rows, a_columns, lda, wide_a.data());
        a = wide_a.data(), lda = std::max(1, a_rows);
    }
    if (p.b_type != own) {
        wide_b.resize((size_t)b_rows * b_columns);
        widened(b, p.b_type, b_rows, b_columns, ldb, wide_b.data());
        b = wide_b.data(), ldb = std::max(1, b_rows);
    }
    W *to = (W *)c;
    if (p.c_type != own) {
        wide_c.resize((size_t)p.m * p.n);
        if (beta != W(0)) widened(c, p.c_type, p.m, p.n, ldc, wide_c.data());
        to = wide_c.data(), ldc = std::max(1, p.m);
    }
    product<W>(p.opa, p.opb, p.m, p.n, p.k, alpha, (const W *)a, lda, (const W *)b, ldb, beta, to, ldc);
    if (p.c_type != own) narrowed(wide_c.data(), p.m, p.n, c, p.c_type, p.ldc);
}

void computed(const Product &p, const void *a, const void *b, void *c, const char *alpha, const char *beta) {
    const cudaDataType type = scalar_type(p);
    if (type == CUDA_C_32F) return product<std::complex<float>>(
        p.opa, p.opb, p.m, p.n, p.k, *(const std::complex<float> *)alpha, (const std::complex<float> *)a, p.lda,
        (const std::complex<float> *)b, p.ldb, *(const std::complex<float> *)beta, (std::complex<float> *)c, p.ldc);
    if (type == CUDA_C_64F) return product<std::complex<double>>(
        p.opa, p.opb, p.m, p.n, p.k, *(const std::complex<double> *)alpha, (const std::complex<double> *)a, p.lda,
        (const std::complex<double> *)b, p.ldb, *(const std::complex<double> *)beta, (std::complex<double> *)c, p.ldc);
    double x = 0, y = 0;
    with_real(type, [&](auto element) {
        using T = decltype(element);
        x = (double)*(const T *)alpha, y = (double)*(const T *)beta;
    });
    // Sums of integers are exact in double.
    if (type == CUDA_R_64F || type == CUDA_R_32I) in_type<double>(p, CUDA_R_64F, a, b, c, x, y);
    else in_type<float>(p, CUDA_R_32F, a, b, c, (float)x, (float)y);
}

bool there(const Product &p) {
    const bool small = p.a_type == CUDA_R_16F || p.a_type == CUDA_R_16BF, integers = p.a_type == CUDA_R_8I;
    switch (scalar_type(p)) {
    case CUDA_R_16F: return p.a_type == CUDA_R_16F && p.b_type == CUDA_R_16F && p.c_type == CUDA_R_16F;
    case CUDA_R_32I: return integers && p.b_type == CUDA_R_8I && p.c_type == CUDA_R_32I;
    case CUDA_R_32F: return p.a_type == p.b_type && (small || integers || p.a_type == CUDA_R_32F)
                         && (p.c_type == CUDA_R_32F || (small && p.c_type == p.a_type));
    default: return p.a_type == p.c_type && p.b_type == p.c_type;
    }
}

struct Known { char bytes[16]; };
Known told(cublasHandle_t h, const void *address, size_t bytes) {
    Known made{};
    if (h->pointers == CUBLAS_POINTER_MODE_HOST) std::copy_n((const char *)address, bytes, made.bytes);
    return made;
}

// at(i): the three matrices of problem i.
template <class At> cublasStatus_t products(cublasHandle_t h, const Product &p, const void *alpha, const void *beta, int count,
                                            const At &at) {
    NEED_HANDLE(h);
    NEED(gemm_fits(p.opa, p.opb, p.m, p.n, p.k, p.lda, p.ldb, p.ldc) && count >= 0 && alpha && beta);
    if (!there(p)) {
        explain("no product of elements %d and %d to %d, computed in %d", p.a_type, p.b_type, p.c_type, p.compute);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const size_t bytes = bytes_of(scalar_type(p));
    const bool of_device = h->pointers == CUBLAS_POINTER_MODE_DEVICE;
    return run(h, [=, x = told(h, alpha, bytes), y = told(h, beta, bytes)] {
        const char *first = of_device ? (const char *)alpha : x.bytes, *second = of_device ? (const char *)beta : y.bytes;
        problems(count, double(p.m) * p.n * p.k, [&](int i) {
            const void *a, *b;
            void *c;
            at(i, &a, &b, &c);
            computed(p, a, b, c, first, second);
        });
    });
}

// ---- vectors ----

std::complex<double> loaded(const void *x, cudaDataType type, long i) {
    if (type == CUDA_C_32F) return ((const std::complex<float> *)x)[i];
    if (type == CUDA_C_64F) return ((const std::complex<double> *)x)[i];
    double found = 0;
    with_real(type, [&](auto element) { found = (double)((const decltype(element) *)x)[i]; });
    return found;
}
void stored(void *x, cudaDataType type, long i, std::complex<double> value) {
    if (type == CUDA_C_32F) ((std::complex<float> *)x)[i] = (std::complex<float>)value;
    else if (type == CUDA_C_64F) ((std::complex<double> *)x)[i] = value;
    else with_real(type, [&](auto element) { ((decltype(element) *)x)[i] = (decltype(element))value.real(); });
}
long begun(int n, int increment) { return increment < 0 ? (long)(1 - n) * increment : 0; }

cublasStatus_t dotted(cublasHandle_t h, bool conjugated, int n, const void *x, cudaDataType x_type, int incx, const void *y,
                      cudaDataType y_type, int incy, void *result, cudaDataType result_type) {
    NEED_HANDLE(h);
    NEED(bytes_of(x_type) && bytes_of(y_type) && bytes_of(result_type));
    return run(h, [=] {
        std::complex<double> sum = 0;
        for (long i = 0; i < n; ++i) {
            const auto u = loaded(x, x_type, begun(n, incx) + i * incx), v = loaded(y, y_type, begun(n, incy) + i * incy);
            sum += (conjugated ? std::conj(u) : u) * v;
        }
        stored(result, result_type, 0, sum);
    });
}

}  // namespace

extern "C" {

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b, cudaDataType b_type,
                            int ldb, const void *beta, void *c, cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
    return products(h, {opa, opb, m, n, k, a_type, b_type, c_type, lda, ldb, ldc, compute}, alpha, beta, 1,
                    [=](int, const void **to_a, const void **to_b, void **to_c) { *to_a = a, *to_b = b, *to_c = c; });
}
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                   const void *alpha, const void *const *a, cudaDataType a_type, int lda,
                                   const void *const *b, cudaDataType b_type, int ldb, const void *beta, void *const *c,
                                   cudaDataType c_type, int ldc, int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
    return products(h, {opa, opb, m, n, k, a_type, b_type, c_type, lda, ldb, ldc, compute}, alpha, beta, count,
                    [=](int i, const void **to_a, const void **to_b, void **to_c) { *to_a = a[i], *to_b = b[i], *to_c = c[i]; });
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType a_type, int lda, long long stride_a,
                                          const void *b, cudaDataType b_type, int ldb, long long stride_b, const void *beta,
                                          void *c, cudaDataType c_type, int ldc, long long stride_c, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
    return products(h, {opa, opb, m, n, k, a_type, b_type, c_type, lda, ldb, ldc, compute}, alpha, beta, count,
                    [=](int i, const void **to_a, const void **to_b, void **to_c) {
                        *to_a = (const char *)a + i * stride_a * (long long)bytes_of(a_type);
                        *to_b = (const char *)b + i * stride_b * (long long)bytes_of(b_type);
                        *to_c = (char *)c + i * stride_c * (long long)bytes_of(c_type);
                    });
}
cublasStatus_t cublasSgemmEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                             const float *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
                             cudaDataType b_type, int ldb, const float *beta, void *c, cudaDataType c_type, int ldc) {
    return cublasGemmEx(h, opa, opb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t cublasCgemmEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                             const cuComplex *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
                             cudaDataType b_type, int ldb, const cuComplex *beta, void *c, cudaDataType c_type, int ldc) {
    return cublasGemmEx(h, opa, opb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
// Numbers of half precision are 16 bits here: the host's compiler calls them otherwise than programs do.
cublasStatus_t cublasHgemm(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                           const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                           int ldc) {
    return cublasGemmEx(h, opa, opb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, CUDA_R_16F, ldc,
                        CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t cublasHgemmBatched(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                  const void *alpha, const void *const *a, int lda, const void *const *b, int ldb,
                                  const void *beta, void *const *c, int ldc, int count) {
    return cublasGemmBatchedEx(h, opa, opb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, CUDA_R_16F, ldc,
                               count, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                         const void *alpha, const void *a, int lda, long long stride_a, const void *b, int ldb,
                                         long long stride_b, const void *beta, void *c, int ldc, long long stride_c, int count) {
    return cublasGemmStridedBatchedEx(h, opa, opb, m, n, k, alpha, a, CUDA_R_16F, lda, stride_a, b, CUDA_R_16F, ldb, stride_b,
                                      beta, c, CUDA_R_16F, ldc, stride_c, count, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasAxpyEx(cublasHandle_t h, int n, const void *alpha, cudaDataType alpha_type, const void *x,
                            cudaDataType x_type, int incx, void *y, cudaDataType y_type, int incy, cudaDataType) {
    NEED_HANDLE(h);
    NEED(bytes_of(alpha_type) && bytes_of(x_type) && bytes_of(y_type));
    const bool of_device = h->pointers == CUBLAS_POINTER_MODE_DEVICE;
    return run(h, [=, known = told(h, alpha, bytes_of(alpha_type))] {
        const auto factor = loaded(of_device ? alpha : known.bytes, alpha_type, 0);
        for (long i = 0; i < n; ++i) {
            const long at = begun(n, incy) + i * incy;
            stored(y, y_type, at, factor * loaded(x, x_type, begun(n, incx) + i * incx) + loaded(y, y_type, at));
        }
    });
}
cublasStatus_t cublasDotEx(cublasHandle_t h, int n, const void *x, cudaDataType x_type, int incx, const void *y,
                           cudaDataType y_type, int incy, void *result, cudaDataType result_type, cudaDataType) {
    return dotted(h, false, n, x, x_type, incx, y, y_type, incy, result, result_type);
}
cublasStatus_t cublasDotcEx(cublasHandle_t h, int n, const void *x, cudaDataType x_type, int incx, const void *y,
                            cudaDataType y_type, int incy, void *result, cudaDataType result_type, cudaDataType) {
    return dotted(h, true, n, x, x_type, incx, y, y_type, incy, result, result_type);
}
cublasStatus_t cublasNrm2Ex(cublasHandle_t h, int n, const void *x, cudaDataType x_type, int incx, void *result,
                            cudaDataType result_type, cudaDataType) {
    NEED_HANDLE(h);
    NEED(bytes_of(x_type) && bytes_of(result_type));
    return run(h, [=] {
        double largest = 0, sum = 0;
        for (long i = 0; i < n && incx > 0; ++i) largest = std::max(largest, std::abs(loaded(x, x_type, i * incx)));
        for (long i = 0; i < n && incx > 0 && largest > 0; ++i) sum += std::norm(loaded(x, x_type, i * incx) / largest);
        stored(result, result_type, 0, largest > 0 ? largest * __builtin_sqrt(sum) : 0.0);
    });
}
cublasStatus_t cublasScalEx(cublasHandle_t h, int n, const void *alpha, cudaDataType alpha_type, void *x, cudaDataType x_type,
                            int incx, cudaDataType) {
    NEED_HANDLE(h);
    NEED(bytes_of(alpha_type) && bytes_of(x_type));
    const bool of_device = h->pointers == CUBLAS_POINTER_MODE_DEVICE;
    return run(h, [=, known = told(h, alpha, bytes_of(alpha_type))] {
        const auto factor = loaded(of_device ? alpha : known.bytes, alpha_type, 0);
        for (long i = 0; i < n && incx > 0; ++i) stored(x, x_type, i * incx, factor * loaded(x, x_type, i * incx));
    });
}

}  // extern "C"
