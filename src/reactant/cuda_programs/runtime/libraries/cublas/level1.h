// Vectors. Increments may be negative, as in BLAS: the vector then begins at its other end.
#pragma once
#include "blas.h"

namespace reactant::blas {

template <class T> cublasStatus_t axpy(cublasHandle_t h, int n, const T *alpha, const T *x, int incx, T *y, int incy) {
    NEED_HANDLE(h);
    return run(h, [=, alpha = scalar(h, alpha)] {
        const element_of<T> a = alpha;
        if (n > 0) invoke(ROUTINE(element_of<T>, "axpy"), &n, &a, x, &incx, y, &incy);
    });
}

template <class T> cublasStatus_t copy(cublasHandle_t h, int n, const T *x, int incx, T *y, int incy) {
    NEED_HANDLE(h);
    return run(h, [=] { if (n > 0) invoke(ROUTINE(element_of<T>, "copy"), &n, x, &incx, y, &incy); });
}

template <class T> cublasStatus_t swap(cublasHandle_t h, int n, T *x, int incx, T *y, int incy) {
    NEED_HANDLE(h);
    return run(h, [=] { if (n > 0) invoke(ROUTINE(element_of<T>, "swap"), &n, x, &incx, y, &incy); });
}

// S: the type of alpha, that of the elements or its real part's. By our own loop: libraries differ in 0 times NaN.
template <class T, class S> cublasStatus_t scaled(cublasHandle_t h, int n, const S *alpha, T *x, int incx) {
    NEED_HANDLE(h);
    return run(h, [=, alpha = scalar(h, alpha)] {
        const element_of<S> a = alpha;
        auto *each_x = cast(x);
        if (incx > 0) each(n > 0 ? n : 0, 1, [=](uint64_t i) { each_x[i * incx] *= a; });
    });
}
template <class T> cublasStatus_t scal(cublasHandle_t h, int n, const T *alpha, T *x, int incx) {
    return scaled(h, n, alpha, x, incx);
}

// x' = c x + s y; y' = c y - conj(s) x
template <class T, class C, class S> cublasStatus_t rotated(cublasHandle_t h, int n, T *x, int incx, T *y, int incy,
                                                            const C *c, const S *s) {
    NEED_HANDLE(h);
    return run(h, [=, cosine = scalar(h, c), sine = scalar(h, s)] {
        const C c = cosine;
        const element_of<S> s = sine;
        auto *a = cast(x) + (incx < 0 ? (long)(1 - n) * incx : 0);
        auto *b = cast(y) + (incy < 0 ? (long)(1 - n) * incy : 0);
        for (long i = 0; i < n; ++i) {
            const auto u = a[i * incx], v = b[i * incy];
            a[i * incx] = c * u + s * v;
            b[i * incy] = c * v - conjugate(s) * u;
        }
    });
}
template <class T, class R> cublasStatus_t rot(cublasHandle_t h, int n, T *x, int incx, T *y, int incy, const R *c,
                                               const T *s) {
    return rotated(h, n, x, incx, y, incy, c, s);
}

template <class T, class R> cublasStatus_t rotg(cublasHandle_t h, T *a, T *b, R *c, T *s) {
    NEED_HANDLE(h);
    return run(h, [=] { invoke(ROUTINE(element_of<T>, "rotg"), a, b, c, s); });
}

template <class T> cublasStatus_t rotm(cublasHandle_t h, int n, T *x, int incx, T *y, int incy, const T *parameters) {
    NEED_HANDLE(h);
    return run(h, [=] { if (n > 0) invoke(ROUTINE(T, "rotm"), &n, x, &incx, y, &incy, parameters); });
}

template <class T> cublasStatus_t rotmg(cublasHandle_t h, T *d1, T *d2, T *x1, const T *y1, T *parameters) {
    NEED_HANDLE(h);
    return run(h, [=] { invoke(ROUTINE(T, "rotmg"), d1, d2, x1, y1, parameters); });
}

template <class T> cublasStatus_t dot(cublasHandle_t h, int n, const T *x, int incx, const T *y, int incy, T *result) {
    NEED_HANDLE(h);
    return run(h, [=] { *result = n > 0 ? invoke<T>(ROUTINE(T, "dot"), &n, x, &incx, y, &incy) : T(); });
}

// By the C interface: Fortran compilers disagree about functions with complex results.
template <class T> void *complex_dot(bool conjugated) {
    if constexpr (std::is_same_v<T, float2>) return routine(conjugated ? "cblas_cdotc_sub" : "cblas_cdotu_sub");
    else return routine(conjugated ? "cblas_zdotc_sub" : "cblas_zdotu_sub");
}
template <class T> cublasStatus_t any_dot(cublasHandle_t h, bool conjugated, int n, const T *x, int incx, const T *y,
                                          int incy, T *result) {
    NEED_HANDLE(h);
    return run(h, [=] {
        *cast(result) = 0;
        if (n > 0) invoke(complex_dot<T>(conjugated), n, x, incx, y, incy, result);
    });
}
template <class T> cublasStatus_t dotu(cublasHandle_t h, int n, const T *x, int incx, const T *y, int incy, T *result) {
    return any_dot(h, false, n, x, incx, y, incy, result);
}
template <class T> cublasStatus_t dotc(cublasHandle_t h, int n, const T *x, int incx, const T *y, int incy, T *result) {
    return any_dot(h, true, n, x, incx, y, incy, result);
}

template <class T> real_of<element_of<T>> size_of(T x) {
    const auto value = *cast(&x);
    if constexpr (is_complex<element_of<T>>) return std::abs(value.real()) + std::abs(value.imag());
    else return std::abs(value);
}

// The place, from 1, of the first element whose |re| + |im| is the largest or the smallest.
template <class T> cublasStatus_t extreme(cublasHandle_t h, bool largest, int n, const T *x, int incx, int *result) {
    NEED_HANDLE(h);
    return run(h, [=] {
        int found = 0;
        if (n > 0 && incx > 0) {
            auto best = size_of(x[0]);
            for (long i = 1; i < n; ++i) {
                const auto size = size_of(x[i * incx]);
                if (largest ? size > best : size < best) best = size, found = (int)i;
            }
            ++found;
        }
        *result = found;
    });
}

template <class T, class R> cublasStatus_t asum(cublasHandle_t h, const char *name, int n, const T *x, int incx, R *result) {
    NEED_HANDLE(h);
    return run(h, [=] { *result = n > 0 && incx > 0 ? invoke<R>(routine(name), &n, x, &incx) : R(); });
}

}  // namespace reactant::blas
