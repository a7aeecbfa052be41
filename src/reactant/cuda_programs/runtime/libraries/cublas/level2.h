// Matrices and vectors: BLAS has each routine, but for complex symmetric matrices.
#pragma once
#include <vector>

#include "blas.h"

namespace reactant::blas {

template <class T> cublasStatus_t gemv(cublasHandle_t h, cublasOperation_t op, int m, int n, const T *alpha, const T *a,
                                       int lda, const T *x, int incx, const T *beta, T *y, int incy) {
    NEED_HANDLE(h);
    NEED(known(op) && m >= 0 && n >= 0 && fits(lda, m) && incx && incy);
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        const element_of<T> one = alpha, other = beta;
        const char t = letter(op);
        if (m && n) invoke(ROUTINE(element_of<T>, "gemv"), &t, &m, &n, &one, a, &lda, x, &incx, &other, y, &incy, size_t(1));
    });
}

template <class T> cublasStatus_t gbmv(cublasHandle_t h, cublasOperation_t op, int m, int n, int kl, int ku, const T *alpha,
                                       const T *a, int lda, const T *x, int incx, const T *beta, T *y, int incy) {
    NEED_HANDLE(h);
    NEED(known(op) && m >= 0 && n >= 0 && kl >= 0 && ku >= 0 && lda > kl + ku && incx && incy);
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        const element_of<T> one = alpha, other = beta;
        const char t = letter(op);
        if (m && n) invoke(ROUTINE(element_of<T>, "gbmv"), &t, &m, &n, &kl, &ku, &one, a, &lda, x, &incx, &other, y, &incy,
                           size_t(1));
    });
}

#define REACTANT_TRIANGULAR(NAME, CONDITION, PARAMETERS, ARGUMENTS)                                            \
    template <class T> cublasStatus_t NAME(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op,      \
                                           cublasDiagType_t diag, int n, REACTANT_ALL PARAMETERS, T *x, int incx) { \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(fill) && known(op) && known(diag) && n >= 0 && incx && (CONDITION));                        \
        return run(h, [=] {                                                                                    \
            const char u = letter(fill), t = letter(op), d = letter(diag);                                     \
            if (n) invoke(ROUTINE(element_of<T>, #NAME), &u, &t, &d, &n, REACTANT_ALL ARGUMENTS, x, &incx,     \
                          size_t(1), size_t(1), size_t(1));                                                    \
        });                                                                                                    \
    }
#define REACTANT_ALL(...) __VA_ARGS__
REACTANT_TRIANGULAR(trmv, fits(lda, n), (const T *a, int lda), (a, &lda))
REACTANT_TRIANGULAR(trsv, fits(lda, n), (const T *a, int lda), (a, &lda))
REACTANT_TRIANGULAR(tbmv, k >= 0 && lda > k, (int k, const T *a, int lda), (&k, a, &lda))
REACTANT_TRIANGULAR(tbsv, k >= 0 && lda > k, (int k, const T *a, int lda), (&k, a, &lda))
REACTANT_TRIANGULAR(tpmv, ap || !n, (const T *ap), (ap))
REACTANT_TRIANGULAR(tpsv, ap || !n, (const T *ap), (ap))

// y = alpha A x + beta y; `symv` of complex elements is LAPACK's.
#define REACTANT_SYMMETRIC(NAME, CONDITION, PARAMETERS, ARGUMENTS)                                             \
    template <class T> cublasStatus_t NAME(cublasHandle_t h, cublasFillMode_t fill, int n, REACTANT_ALL PARAMETERS, \
                                           const T *x, int incx, const T *beta, T *y, int incy) {              \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(fill) && n >= 0 && incx && incy && (CONDITION));                                            \
        return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {                                  \
            const element_of<T> one = alpha, other = beta;                                                     \
            const char u = letter(fill);                                                                       \
            if (n) invoke(ROUTINE(element_of<T>, #NAME), &u, &n, REACTANT_ALL ARGUMENTS, x, &incx, &other, y,  \
                          &incy, size_t(1));                                                                   \
        });                                                                                                    \
    }
REACTANT_SYMMETRIC(symv, fits(lda, n), (const T *alpha, const T *a, int lda), (&one, a, &lda))
REACTANT_SYMMETRIC(hemv, fits(lda, n), (const T *alpha, const T *a, int lda), (&one, a, &lda))
REACTANT_SYMMETRIC(sbmv, k >= 0 && lda > k, (int k, const T *alpha, const T *a, int lda), (&k, &one, a, &lda))
REACTANT_SYMMETRIC(hbmv, k >= 0 && lda > k, (int k, const T *alpha, const T *a, int lda), (&k, &one, a, &lda))
REACTANT_SYMMETRIC(spmv, ap || !n, (const T *alpha, const T *ap), (&one, ap))
REACTANT_SYMMETRIC(hpmv, ap || !n, (const T *alpha, const T *ap), (&one, ap))

// A += alpha x x'; S is the type of alpha.
#define REACTANT_RANK1(NAME, S, CONDITION, PARAMETERS, ARGUMENTS)                                              \
    template <class T, class S> cublasStatus_t NAME(cublasHandle_t h, cublasFillMode_t fill, int n, const S *alpha, \
                                                    const T *x, int incx, REACTANT_ALL PARAMETERS) {           \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(fill) && n >= 0 && incx && (CONDITION));                                                    \
        return run(h, [=, alpha = scalar(h, alpha)] {                                                          \
            const element_of<S> one = alpha;                                                                   \
            const char u = letter(fill);                                                                       \
            if (n) invoke(ROUTINE(element_of<T>, #NAME), &u, &n, &one, x, &incx, REACTANT_ALL ARGUMENTS, size_t(1)); \
        });                                                                                                    \
    }
REACTANT_RANK1(syr, S, fits(lda, n), (T *a, int lda), (a, &lda))
REACTANT_RANK1(her, S, fits(lda, n), (T *a, int lda), (a, &lda))
REACTANT_RANK1(spr, S, ap || !n, (T *ap), (ap))
REACTANT_RANK1(hpr, S, ap || !n, (T *ap), (ap))

// A += alpha x y' + ... y x'
#define REACTANT_RANK2(NAME, CONDITION, PARAMETERS, ARGUMENTS)                                                 \
    template <class T> cublasStatus_t NAME(cublasHandle_t h, cublasFillMode_t fill, int n, const T *alpha, const T *x, \
                                           int incx, const T *y, int incy, REACTANT_ALL PARAMETERS) {          \
        NEED_HANDLE(h);                                                                                        \
        NEED(known(fill) && n >= 0 && incx && incy && (CONDITION));                                            \
        return run(h, [=, alpha = scalar(h, alpha)] {                                                          \
            const element_of<T> one = alpha;                                                                   \
            const char u = letter(fill);                                                                       \
            if (n) invoke(ROUTINE(element_of<T>, #NAME), &u, &n, &one, x, &incx, y, &incy,                     \
                          REACTANT_ALL ARGUMENTS, size_t(1));                                                  \
        });                                                                                                    \
    }
REACTANT_RANK2(her2, fits(lda, n), (T *a, int lda), (a, &lda))
REACTANT_RANK2(spr2, ap || !n, (T *ap), (ap))
REACTANT_RANK2(hpr2, ap || !n, (T *ap), (ap))

// The vector with increment 1.
template <class E> std::vector<E> straight(int n, const E *x, int increment) {
    std::vector<E> made(n);
    if (increment < 0) x -= (long)(n - 1) * increment;
    for (long i = 0; i < n; ++i) made[i] = x[i * increment];
    return made;
}

template <class T> cublasStatus_t syr2(cublasHandle_t h, cublasFillMode_t fill, int n, const T *alpha, const T *x, int incx,
                                       const T *y, int incy, T *a, int lda) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && incx && incy && fits(lda, n));
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha)] {
        const auto u = straight(n, cast(x), incx), v = straight(n, cast(y), incy);
        const E factor = alpha;
        for (long j = 0; j < n; ++j) {
            const E fu = factor * v[j], fv = factor * u[j];
            E *column = cast(a) + j * lda;
            const long first = fill == CUBLAS_FILL_MODE_LOWER ? j : 0, last = fill == CUBLAS_FILL_MODE_LOWER ? n : j + 1;
            for (long i = first; i < last; ++i) column[i] += u[i] * fu + v[i] * fv;
        }
    });
}

#define REACTANT_OUTER(NAME)                                                                                   \
    template <class T> cublasStatus_t NAME(cublasHandle_t h, int m, int n, const T *alpha, const T *x, int incx, \
                                           const T *y, int incy, T *a, int lda) {                              \
        NEED_HANDLE(h);                                                                                        \
        NEED(m >= 0 && n >= 0 && incx && incy && fits(lda, m));                                                \
        return run(h, [=, alpha = scalar(h, alpha)] {                                                          \
            const element_of<T> one = alpha;                                                                   \
            if (m && n) invoke(ROUTINE(element_of<T>, #NAME), &m, &n, &one, x, &incx, y, &incy, a, &lda);      \
        });                                                                                                    \
    }
REACTANT_OUTER(ger) REACTANT_OUTER(geru) REACTANT_OUTER(gerc)

#undef REACTANT_TRIANGULAR
#undef REACTANT_SYMMETRIC
#undef REACTANT_RANK1
#undef REACTANT_RANK2
#undef REACTANT_OUTER
#undef REACTANT_ALL

}  // namespace reactant::blas
