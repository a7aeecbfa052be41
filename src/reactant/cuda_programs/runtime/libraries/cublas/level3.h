// Matrices and matrices, column by column; and what cuBLAS adds to BLAS.
#pragma once
#include "blas.h"

namespace reactant::blas {

// C = alpha op(A) op(B) + beta C, of elements that BLAS has.
template <class E> void product(cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k, E alpha, const E *a,
                                int lda, const E *b, int ldb, E beta, E *c, int ldc) {
    const char ta = letter(opa), tb = letter(opb);
    if (m && n) invoke(ROUTINE(E, "gemm"), &ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, size_t(1),
                       size_t(1));
}

inline bool gemm_fits(cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k, int lda, int ldb, int ldc) {
    return known(opa) && known(opb) && m >= 0 && n >= 0 && k >= 0 && fits(lda, opa == CUBLAS_OP_N ? m : k)
        && fits(ldb, opb == CUBLAS_OP_N ? k : n) && fits(ldc, m);
}

template <class T> cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                       const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c,
                                       int ldc) {
    NEED_HANDLE(h);
    NEED(gemm_fits(opa, opb, m, n, k, lda, ldb, ldc));
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        product<element_of<T>>(opa, opb, m, n, k, alpha, cast(a), lda, cast(b), ldb, beta, cast(c), ldc);
    });
}
template <class T> cublasStatus_t gemm3m(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                         const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c,
                                         int ldc) {
    return gemm(h, opa, opb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

#define REACTANT_SIDED(NAME)                                                                                   \
    template <class T> cublasStatus_t NAME(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, \
                                           const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, \
                                           T *c, int ldc) {                                                    \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(side) && known(fill) && m >= 0 && n >= 0 && fits(lda, side == CUBLAS_SIDE_LEFT ? m : n)     \
             && fits(ldb, m) && fits(ldc, m));                                                                 \
        return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {                                  \
            const element_of<T> one = alpha, other = beta;                                                     \
            const char s = letter(side), u = letter(fill);                                                     \
            if (m && n) invoke(ROUTINE(element_of<T>, #NAME), &s, &u, &m, &n, &one, a, &lda, b, &ldb, &other, c, \
                               &ldc, size_t(1), size_t(1));                                                    \
        });                                                                                                    \
    }
REACTANT_SIDED(symm) REACTANT_SIDED(hemm)

// C = alpha op(A) op(A)' + beta C, one triangle of it. ' is the transpose, for `her...` the conjugate one.
#define REACTANT_RANK_K(NAME, OPS)                                                                             \
    template <class T, class S> cublasStatus_t NAME(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, int n, \
                                                    int k, const S *alpha, const T *a, int lda, const S *beta, T *c, \
                                                    int ldc) {                                                 \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(fill) && (OPS) && n >= 0 && k >= 0 && fits(lda, op == CUBLAS_OP_N ? n : k) && fits(ldc, n)); \
        return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {                                  \
            const element_of<S> one = alpha, other = beta;                                                     \
            const char u = letter(fill), t = letter(op);                                                       \
            if (n) invoke(ROUTINE(element_of<T>, #NAME), &u, &t, &n, &k, &one, a, &lda, &other, c, &ldc, size_t(1), \
                          size_t(1));                                                                          \
        });                                                                                                    \
    }
#define REACTANT_RANK_2K(NAME, OPS)                                                                            \
    template <class T, class S> cublasStatus_t NAME(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, int n, \
                                                    int k, const T *alpha, const T *a, int lda, const T *b, int ldb, \
                                                    const S *beta, T *c, int ldc) {                            \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(fill) && (OPS) && n >= 0 && k >= 0 && fits(lda, op == CUBLAS_OP_N ? n : k)                  \
             && fits(ldb, op == CUBLAS_OP_N ? n : k) && fits(ldc, n));                                         \
        return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {                                  \
            const element_of<T> one = alpha;                                                                   \
            const element_of<S> other = beta;                                                                  \
            const char u = letter(fill), t = letter(op);                                                       \
            if (n) invoke(ROUTINE(element_of<T>, #NAME), &u, &t, &n, &k, &one, a, &lda, b, &ldb, &other, c, &ldc, \
                          size_t(1), size_t(1));                                                               \
        });                                                                                                    \
    }
#define REACTANT_PLAIN (known(op) && !(is_complex<element_of<T>> && op == CUBLAS_OP_C))
#define REACTANT_HERMITIAN (op == CUBLAS_OP_N || op == CUBLAS_OP_C)
REACTANT_RANK_K(syrk, REACTANT_PLAIN) REACTANT_RANK_K(herk, REACTANT_HERMITIAN)
REACTANT_RANK_2K(syr2k, REACTANT_PLAIN) REACTANT_RANK_2K(her2k, REACTANT_HERMITIAN)

// C = alpha op(A) op(B)' + beta C where that is known to be symmetric: one triangle of a product.
template <class T, class S> cublasStatus_t triangle(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op,
                                                    cublasOperation_t turned, int n, int k, const T *alpha, const T *a,
                                                    int lda, const T *b, int ldb, const S *beta, T *c, int ldc) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && k >= 0 && (op == CUBLAS_OP_N || op == turned) && fits(lda, op == CUBLAS_OP_N ? n : k)
         && fits(ldb, op == CUBLAS_OP_N ? n : k) && fits(ldc, n));
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        const E one = alpha, other = element_of<S>(beta);
        const char u = letter(fill), ta = letter(op), tb = op == CUBLAS_OP_N ? letter(turned) : 'N';
        if (n) invoke(ROUTINE(E, "gemmt"), &u, &ta, &tb, &n, &k, &one, a, &lda, b, &ldb, &other, c, &ldc, size_t(1),
                      size_t(1), size_t(1));
        if (turned == CUBLAS_OP_C)
            for (long i = 0; i < n; ++i) cast(c)[i * (ldc + 1)] = std::real(cast(c)[i * (ldc + 1)]);
    });
}
template <class T> cublasStatus_t syrkx(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, int n, int k,
                                        const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c,
                                        int ldc) {
    if (!is_complex<element_of<T>> && op == CUBLAS_OP_C) op = CUBLAS_OP_T;
    return triangle(h, fill, op, CUBLAS_OP_T, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <class T, class S> cublasStatus_t herkx(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, int n, int k,
                                                 const T *alpha, const T *a, int lda, const T *b, int ldb, const S *beta,
                                                 T *c, int ldc) {
    return triangle(h, fill, op, CUBLAS_OP_C, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class E> void triangular(const void *name, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                                   cublasDiagType_t diag, int m, int n, E alpha, const E *a, int lda, E *b, int ldb) {
    const char s = letter(side), u = letter(fill), t = letter(op), d = letter(diag);
    if (m && n) invoke((void *)name, &s, &u, &t, &d, &m, &n, &alpha, a, &lda, b, &ldb, size_t(1), size_t(1), size_t(1),
                       size_t(1));
}
inline bool sided_fits(cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag, int m,
                       int n, int lda, int ldb) {
    return known(side) && known(fill) && known(op) && known(diag) && m >= 0 && n >= 0
        && fits(lda, side == CUBLAS_SIDE_LEFT ? m : n) && fits(ldb, m);
}

template <class T> cublasStatus_t trsm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                                       cublasDiagType_t diag, int m, int n, const T *alpha, const T *a, int lda, T *b,
                                       int ldb) {
    NEED_HANDLE(h);
    NEED(sided_fits(side, fill, op, diag, m, n, lda, ldb));
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha)] {
        triangular<E>(ROUTINE(E, "trsm"), side, fill, op, diag, m, n, alpha, cast(a), lda, cast(b), ldb);
    });
}

// Not in place, as BLAS has it: C = alpha op(A) B. C may be B.
template <class T> cublasStatus_t trmm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
                                       cublasDiagType_t diag, int m, int n, const T *alpha, const T *a, int lda, const T *b,
                                       int ldb, T *c, int ldc) {
    NEED_HANDLE(h);
    NEED(sided_fits(side, fill, op, diag, m, n, lda, ldb) && fits(ldc, m) && (c != b || ldc == ldb));
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha)] {
        if (c != b) each(n, m, [=](uint64_t j) { std::copy(b + j * ldb, b + j * ldb + m, c + j * ldc); });
        triangular<E>(ROUTINE(E, "trmm"), side, fill, op, diag, m, n, alpha, cast(a), lda, cast(c), ldc);
    });
}

template <class E> E at(const E *a, long leading, cublasOperation_t op, long i, long j) {
    return op == CUBLAS_OP_N ? a[i + j * leading] : op == CUBLAS_OP_T ? a[j + i * leading] : conjugate(a[j + i * leading]);
}

// C = alpha op(A) + beta op(B); a factor of 0 leaves its matrix unread.
template <class T> cublasStatus_t geam(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n,
                                       const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, T *c,
                                       int ldc) {
    NEED_HANDLE(h);
    NEED(known(opa) && known(opb) && m >= 0 && n >= 0 && fits(lda, opa == CUBLAS_OP_N ? m : n)
         && fits(ldb, opb == CUBLAS_OP_N ? m : n) && fits(ldc, m));
    NEED((c != a || (opa == CUBLAS_OP_N && lda == ldc)) && (c != b || (opb == CUBLAS_OP_N && ldb == ldc)));
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        const E x = alpha, y = beta;
        const bool reads_a = x != E(0), reads_b = y != E(0);
        constexpr int TILE = 32;        // of rows and columns: what is read across stays in the cache
        const uint64_t tiles = (m + TILE - 1) / TILE, across = (n + TILE - 1) / TILE;
        each(tiles * across, TILE * TILE, [=](uint64_t tile) {
            const long i0 = tile % tiles * TILE, j0 = tile / tiles * TILE;
            for (long j = j0; j < std::min<long>(n, j0 + TILE); ++j)
                for (long i = i0; i < std::min<long>(m, i0 + TILE); ++i) {
                    E sum = 0;
                    if (reads_a) sum += x * at(cast(a), lda, opa, i, j);
                    if (reads_b) sum += y * at(cast(b), ldb, opb, i, j);
                    cast(c)[i + j * ldc] = sum;
                }
        });
    });
}

// C = diag(x) A or A diag(x)
template <class T> cublasStatus_t dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n, const T *a, int lda,
                                       const T *x, int incx, T *c, int ldc) {
    NEED_HANDLE(h);
    NEED(known(side) && m >= 0 && n >= 0 && fits(lda, m) && fits(ldc, m));
    return run(h, [=] {
        const auto *first = cast(x) + (incx < 0 ? (long)(1 - (side == CUBLAS_SIDE_LEFT ? m : n)) * incx : 0);
        each(n, m, [=](uint64_t j) {
            for (long i = 0; i < m; ++i)
                cast(c)[i + j * ldc] = cast(a)[i + j * lda] * first[(side == CUBLAS_SIDE_LEFT ? i : (long)j) * incx];
        });
    });
}

template <class T, class Body> cublasStatus_t of_packed(cublasHandle_t h, cublasFillMode_t fill, int n, int lda, Body body) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && fits(lda, n));
    return run(h, [=] {
        long place = 0;
        for (long j = 0; j < n; ++j)
            for (long i = fill == CUBLAS_FILL_MODE_LOWER ? j : 0; i < (fill == CUBLAS_FILL_MODE_LOWER ? n : j + 1); ++i)
                body(place++, i + j * lda);
    });
}
template <class T> cublasStatus_t tpttr(cublasHandle_t h, cublasFillMode_t fill, int n, const T *ap, T *a, int lda) {
    return of_packed<T>(h, fill, n, lda, [=](long from, long to) { a[to] = ap[from]; });
}
template <class T> cublasStatus_t trttp(cublasHandle_t h, cublasFillMode_t fill, int n, const T *a, int lda, T *ap) {
    return of_packed<T>(h, fill, n, lda, [=](long to, long from) { ap[to] = a[from]; });
}

#undef REACTANT_SIDED
#undef REACTANT_RANK_K
#undef REACTANT_RANK_2K
#undef REACTANT_PLAIN
#undef REACTANT_HERMITIAN

}  // namespace reactant::blas
