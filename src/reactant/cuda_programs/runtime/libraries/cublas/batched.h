// Many small problems: shared out over the pool's threads, each by one thread of OpenBLAS.
#pragma once
#include <vector>

#include "level3.h"

namespace reactant::blas {

// body(i) for each problem. A few large ones are better off one after another, each with all of OpenBLAS's threads.
template <class Body> void problems(int count, double cost, const Body &body) {
    if (count < 2 || (count < 2 * processors() && cost > 1e7)) {
        for (int i = 0; i < count; ++i) body(i);
        return;
    }
    OneThread one;
    each(count, cost > 1e9 ? 1000000000 : (uint64_t)cost + 64, [&](uint64_t i) { body((int)i); });
}

template <class T> cublasStatus_t gemmBatched(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m, int n,
                                              int k, const T *alpha, const T *const *a, int lda, const T *const *b, int ldb,
                                              const T *beta, T *const *c, int ldc, int count) {
    NEED_HANDLE(h);
    NEED(gemm_fits(opa, opb, m, n, k, lda, ldb, ldc) && count >= 0);
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        problems(count, double(m) * n * k, [=](int i) {
            product<E>(opa, opb, m, n, k, alpha, cast(a[i]), lda, cast(b[i]), ldb, beta, cast(c[i]), ldc);
        });
    });
}

template <class T> cublasStatus_t gemmStridedBatched(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m,
                                                     int n, int k, const T *alpha, const T *a, int lda, long long stride_a,
                                                     const T *b, int ldb, long long stride_b, const T *beta, T *c, int ldc,
                                                     long long stride_c, int count) {
    NEED_HANDLE(h);
    NEED(gemm_fits(opa, opb, m, n, k, lda, ldb, ldc) && count >= 0);
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        problems(count, double(m) * n * k, [=](int i) {
            product<E>(opa, opb, m, n, k, alpha, cast(a) + i * stride_a, lda, cast(b) + i * stride_b, ldb, beta,
                       cast(c) + i * stride_c, ldc);
        });
    });
}

template <class E> void applied(cublasOperation_t op, int m, int n, E alpha, const E *a, int lda, const E *x, int incx,
                                E beta, E *y, int incy) {
    const char t = letter(op);
    if (m && n) invoke(ROUTINE(E, "gemv"), &t, &m, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy, size_t(1));
}
template <class T> cublasStatus_t gemvBatched(cublasHandle_t h, cublasOperation_t op, int m, int n, const T *alpha,
                                              const T *const *a, int lda, const T *const *x, int incx, const T *beta,
                                              T *const *y, int incy, int count) {
    NEED_HANDLE(h);
    NEED(known(op) && m >= 0 && n >= 0 && fits(lda, m) && incx && incy && count >= 0);
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        problems(count, double(m) * n, [=](int i) {
            applied<element_of<T>>(op, m, n, alpha, cast(a[i]), lda, cast(x[i]), incx, beta, cast(y[i]), incy);
        });
    });
}
template <class T> cublasStatus_t gemvStridedBatched(cublasHandle_t h, cublasOperation_t op, int m, int n, const T *alpha,
                                                     const T *a, int lda, long long stride_a, const T *x, int incx,
                                                     long long stride_x, const T *beta, T *y, int incy, long long stride_y,
                                                     int count) {
    NEED_HANDLE(h);
    NEED(known(op) && m >= 0 && n >= 0 && fits(lda, m) && incx && incy && count >= 0);
    return run(h, [=, alpha = scalar(h, alpha), beta = scalar(h, beta)] {
        problems(count, double(m) * n, [=](int i) {
            applied<element_of<T>>(op, m, n, alpha, cast(a) + i * stride_a, lda, cast(x) + i * stride_x, incx, beta,
                                   cast(y) + i * stride_y, incy);
        });
    });
}

template <class T> cublasStatus_t trsmBatched(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill,
                                              cublasOperation_t op, cublasDiagType_t diag, int m, int n, const T *alpha,
                                              const T *const *a, int lda, T *const *b, int ldb, int count) {
    NEED_HANDLE(h);
    NEED(sided_fits(side, fill, op, diag, m, n, lda, ldb) && count >= 0);
    using E = element_of<T>;
    return run(h, [=, alpha = scalar(h, alpha)] {
        problems(count, double(m) * n * (side == CUBLAS_SIDE_LEFT ? m : n), [=](int i) {
            triangular<E>(ROUTINE(E, "trsm"), side, fill, op, diag, m, n, alpha, cast(a[i]), lda, cast(b[i]), ldb);
        });
    });
}

// ---- factors ----

// Without rows exchanged, which is what no pivots ask for; the 1-based column of the first pivot that is 0, or 0.
template <class E> int factors_in_place(int n, E *a, long lda) {
    int info = 0;
    for (long k = 0; k < n; ++k) {
        if (a[k + k * lda] == E(0)) { if (!info) info = (int)k + 1; continue; }
        const E inverse = E(1) / a[k + k * lda];
        for (long i = k + 1; i < n; ++i) a[i + k * lda] *= inverse;
        for (long j = k + 1; j < n; ++j)
            for (long i = k + 1; i < n; ++i) a[i + j * lda] -= a[i + k * lda] * a[k + j * lda];
    }
    return info;
}
template <class E> int factors(int n, E *a, int lda, int *pivots) {
    if (!pivots) return factors_in_place(n, a, lda);
    int info = 0;
    if (n) invoke(ROUTINE(E, "getrf"), &n, &n, a, &lda, pivots, &info);
    return info;
}
// B = inverse of op(A) times B, from factors; rows of B are exchanged where there are pivots.
template <class E> void solved(cublasOperation_t op, int n, int right_sides, const E *a, int lda, const int *pivots, E *b,
                               int ldb) {
    const char t = letter(op);
    int info = 0;
    if (!n || !right_sides) return;
    if (pivots) return invoke(ROUTINE(E, "getrs"), &t, &n, &right_sides, a, &lda, pivots, b, &ldb, &info, size_t(1));
    void *trsm = ROUTINE(E, "trsm");
    const auto lower = [=] { triangular<E>(trsm, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, op, CUBLAS_DIAG_UNIT, n,
                                           right_sides, E(1), a, lda, b, ldb); };
    const auto upper = [=] { triangular<E>(trsm, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, op, CUBLAS_DIAG_NON_UNIT, n,
                                           right_sides, E(1), a, lda, b, ldb); };
    if (op == CUBLAS_OP_N) lower(), upper();
    else upper(), lower();
}
template <class E> void inverted(int n, const E *a, int lda, const int *pivots, E *c, int ldc) {
    for (long j = 0; j < n; ++j)
        for (long i = 0; i < n; ++i) c[i + j * ldc] = E(i == j);
    solved(CUBLAS_OP_N, n, n, a, lda, pivots, c, ldc);
}

template <class T> cublasStatus_t getrfBatched(cublasHandle_t h, int n, T *const *a, int lda, int *pivots, int *info,
                                               int count) {
    NEED_HANDLE(h);
    NEED(n >= 0 && count >= 0 && fits(lda, n) && (info || !count));
    return run(h, [=] {
        problems(count, double(n) * n * n, [=](int i) {
            info[i] = factors(n, cast(a[i]), lda, pivots ? pivots + (long)i * n : nullptr);
        });
    });
}

template <class T> cublasStatus_t getrsBatched(cublasHandle_t h, cublasOperation_t op, int n, int right_sides,
                                               const T *const *a, int lda, const int *pivots, T *const *b, int ldb,
                                               int *info, int count) {
    NEED_HANDLE(h);
    NEED(info);
    *info = !known(op) ? -1 : n < 0 ? -2 : right_sides < 0 ? -3 : !fits(lda, n) ? -5 : !fits(ldb, n) ? -8 : count < 0 ? -10 : 0;
    NEED(*info == 0);
    return run(h, [=] {
        problems(count, double(n) * n * right_sides, [=](int i) {
            solved(op, n, right_sides, cast(a[i]), lda, pivots ? pivots + (long)i * n : nullptr, cast(b[i]), ldb);
        });
    });
}

template <class E> int first_zero(int n, const E *a, int lda) {
    for (long i = 0; i < n; ++i)
        if (a[i * (lda + 1)] == E(0)) return (int)i + 1;
    return 0;
}
template <class T> cublasStatus_t getriBatched(cublasHandle_t h, int n, const T *const *a, int lda, const int *pivots,
                                               T *const *c, int ldc, int *info, int count) {
    NEED_HANDLE(h);
    NEED(n >= 0 && count >= 0 && fits(lda, n) && fits(ldc, n) && (info || !count));
    return run(h, [=] {
        problems(count, double(n) * n * n, [=](int i) {
            info[i] = first_zero(n, cast(a[i]), lda);
            if (!info[i]) inverted(n, cast(a[i]), lda, pivots ? pivots + (long)i * n : nullptr, cast(c[i]), ldc);
        });
    });
}

template <class T> cublasStatus_t matinvBatched(cublasHandle_t h, int n, const T *const *a, int lda, T *const *inverse,
                                                int ldi, int *info, int count) {
    NEED_HANDLE(h);
    NEED(n >= 0 && n <= 32 && count >= 0 && fits(lda, n) && fits(ldi, n) && (info || !count));
    using E = element_of<T>;
    return run(h, [=] {
        problems(count, double(n) * n * n, [=](int i) {
            std::vector<E> copy((size_t)n * n);
            std::vector<int> pivots(n);
            for (long j = 0; j < n; ++j) std::copy_n(cast(a[i]) + j * lda, n, copy.data() + j * n);
            info[i] = factors(n, copy.data(), n > 1 ? n : 1, pivots.data());
            if (!info[i]) inverted(n, copy.data(), n > 1 ? n : 1, pivots.data(), cast(inverse[i]), ldi);
        });
    });
}

template <class T> cublasStatus_t geqrfBatched(cublasHandle_t h, int m, int n, T *const *a, int lda, T *const *tau,
                                               int *info, int count) {
    NEED_HANDLE(h);
    NEED(info);
    *info = m < 0 ? -1 : n < 0 ? -2 : !fits(lda, m) ? -4 : count < 0 ? -7 : 0;
    NEED(*info == 0);
    using E = element_of<T>;
    return run(h, [=] {
        problems(count, double(m) * n * n, [=](int i) {
            std::vector<E> work((size_t)n * 32 + 1);
            int size = (int)work.size(), failed = 0;
            if (m && n) invoke(ROUTINE(E, "geqrf"), &m, &n, a[i], &lda, tau[i], work.data(), &size, &failed);
        });
    });
}

}  // namespace reactant::blas
