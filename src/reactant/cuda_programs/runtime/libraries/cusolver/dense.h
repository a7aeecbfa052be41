// Dense systems, factors, eigenvalues: LAPACK's, with work space of its own.
#pragma once
#include "cublas/batched.h"
#include "cusolverDn.h"

struct cusolverDnContext { cudaStream_t stream = nullptr; };
struct syevjInfo { bool sorted = true; };
struct gesvdjInfo { bool sorted = true; };

#undef NEED
#undef NEED_HANDLE
#define NEED_HANDLE(HANDLE) if (!(HANDLE)) return CUSOLVER_STATUS_NOT_INITIALIZED
#define NEED(CONDITION)                                                                                        \
    if (!(CONDITION)) {                                                                                        \
        reactant::explain("%s: it needs %s", __func__, #CONDITION);                                            \
        return CUSOLVER_STATUS_INVALID_VALUE;                                                                  \
    }

namespace reactant::solver {

using namespace reactant::libraries;
using namespace reactant::blas;
using H = cusolverDnHandle_t;
using Status = cusolverStatus_t;

template <class Work> Status run(H handle, Work work) {
    return in_stream(handle->stream, std::move(work)) ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}

// LAPACK's routines ask for work space, and say how much: body(address, &size) is called twice.
template <class E, class Body> void with_work(const Body &body) {
    E wanted{};
    int size = -1;
    body(&wanted, &size);
    size = std::max(1, (int)(std::real(wanted) * (1 + 1e-6)));          // single precision says large sizes a bit too small
    std::vector<E> work(size);
    body(work.data(), &size);
}

inline Status sized(H handle, bool sensible, int *size) {
    NEED_HANDLE(handle);
    NEED(sensible && size);
    *size = 1;              // programs allocate it; LAPACK's own is allocated here
    return CUSOLVER_STATUS_SUCCESS;
}

template <class T> Status getrf_bufferSize(H h, int m, int n, T *, int lda, int *size) {
    return sized(h, m >= 0 && n >= 0 && fits(lda, m), size);
}
template <class T> Status getrf(H h, int m, int n, T *a, int lda, T *, int *pivots, int *info) {
    NEED_HANDLE(h);
    NEED(m >= 0 && n >= 0 && fits(lda, m) && info && (pivots || m == n));
    return run(h, [=] {
        *info = 0;
        if (!pivots) *info = factors_in_place(n, cast(a), lda);
        else if (m && n) invoke(ROUTINE(element_of<T>, "getrf"), &m, &n, a, &lda, pivots, info);
    });
}
template <class T> Status getrs(H h, cublasOperation_t op, int n, int right_sides, const T *a, int lda, const int *pivots,
                                T *b, int ldb, int *info) {
    NEED_HANDLE(h);
    NEED(known(op) && n >= 0 && right_sides >= 0 && fits(lda, n) && fits(ldb, n) && info);
    return run(h, [=] {
        *info = 0;
        solved(op, n, right_sides, cast(a), lda, pivots, cast(b), ldb);
    });
}

template <class T> Status potrf_bufferSize(H h, cublasFillMode_t fill, int n, T *, int lda, int *size) {
    return sized(h, known(fill) && n >= 0 && fits(lda, n), size);
}
template <class E> void cholesky(const char *name, cublasFillMode_t fill, int n, E *a, int lda, int *info) {
    const char u = letter(fill);
    *info = 0;
    if (n) invoke(routine(prefix_of<E>, name), &u, &n, a, &lda, info, size_t(1));
}
template <class T> Status potrf(H h, cublasFillMode_t fill, int n, T *a, int lda, T *, int, int *info) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && fits(lda, n) && info);
    return run(h, [=] { cholesky("potrf", fill, n, cast(a), lda, info); });
}
template <class T> Status potri_bufferSize(H h, cublasFillMode_t fill, int n, T *a, int lda, int *size) {
    return potrf_bufferSize(h, fill, n, a, lda, size);
}
template <class T> Status potri(H h, cublasFillMode_t fill, int n, T *a, int lda, T *, int, int *info) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && fits(lda, n) && info);
    return run(h, [=] { cholesky("potri", fill, n, cast(a), lda, info); });
}
template <class E> void with_cholesky(cublasFillMode_t fill, int n, int right_sides, const E *a, int lda, E *b, int ldb,
                                      int *info) {
    const char u = letter(fill);
    *info = 0;
    if (n && right_sides) invoke(ROUTINE(E, "potrs"), &u, &n, &right_sides, a, &lda, b, &ldb, info, size_t(1));
}
template <class T> Status potrs(H h, cublasFillMode_t fill, int n, int right_sides, const T *a, int lda, T *b, int ldb,
                                int *info) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && right_sides >= 0 && fits(lda, n) && fits(ldb, n) && info);
    return run(h, [=] { with_cholesky(fill, n, right_sides, cast(a), lda, cast(b), ldb, info); });
}
template <class T> Status potrfBatched(H h, cublasFillMode_t fill, int n, T **a, int lda, int *info, int count) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && fits(lda, n) && count >= 0 && (info || !count));
    return run(h, [=] {
        problems(count, double(n) * n * n, [=](int i) { cholesky("potrf", fill, n, cast(a[i]), lda, info + i); });
    });
}
template <class T> Status potrsBatched(H h, cublasFillMode_t fill, int n, int right_sides, T **a, int lda, T **b, int ldb,
                                       int *info, int count) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && fits(lda, n) && fits(ldb, n) && count >= 0 && info);
    return run(h, [=] {
        *info = 0;
        problems(count, double(n) * n * right_sides, [=](int i) {
            int failed;
            with_cholesky(fill, n, right_sides, cast((const T *)a[i]), lda, cast(b[i]), ldb, &failed);
        });
    });
}

template <class T> Status geqrf_bufferSize(H h, int m, int n, T *, int lda, int *size) {
    return sized(h, m >= 0 && n >= 0 && fits(lda, m), size);
}
template <class T> Status geqrf(H h, int m, int n, T *a, int lda, T *tau, T *, int, int *info) {
    NEED_HANDLE(h);
    NEED(m >= 0 && n >= 0 && fits(lda, m) && info);
    return run(h, [=] {
        *info = 0;
        if (m && n) with_work<element_of<T>>([=](auto *work, int *size) {
            invoke(ROUTINE(element_of<T>, "geqrf"), &m, &n, a, &lda, tau, work, size, info);
        });
    });
}
template <class T> const char *orthogonal(const char *of_real, const char *of_complex) {
    return is_complex<element_of<T>> ? of_complex : of_real;
}
template <class T> Status orgqr_bufferSize(H h, int m, int n, int k, const T *, int lda, const T *, int *size) {
    return sized(h, m >= n && n >= k && k >= 0 && fits(lda, m), size);
}
template <class T> Status orgqr(H h, int m, int n, int k, T *a, int lda, const T *tau, T *, int, int *info) {
    NEED_HANDLE(h);
    NEED(m >= n && n >= k && k >= 0 && fits(lda, m) && info);
    return run(h, [=] {
        *info = 0;
        if (n) with_work<element_of<T>>([=](auto *work, int *size) {
            invoke(routine(prefix_of<element_of<T>>, orthogonal<T>("orgqr", "ungqr")), &m, &n, &k, a, &lda, tau, work, size,
                   info);
        });
    });
}
template <class T> Status ormqr_bufferSize(H h, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, const T *,
                                           int lda, const T *, const T *, int ldc, int *size) {
    return sized(h, known(side) && known(op) && m >= 0 && n >= 0 && k >= 0 && fits(lda, side == CUBLAS_SIDE_LEFT ? m : n)
                 && fits(ldc, m), size);
}
template <class T> Status ormqr(H h, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, const T *a, int lda,
                                const T *tau, T *c, int ldc, T *, int, int *info) {
    NEED_HANDLE(h);
    NEED(known(side) && known(op) && m >= 0 && n >= 0 && k >= 0 && k <= (side == CUBLAS_SIDE_LEFT ? m : n)
         && fits(lda, side == CUBLAS_SIDE_LEFT ? m : n) && fits(ldc, m) && info);
    NEED(!is_complex<element_of<T>> || op != CUBLAS_OP_T);
    return run(h, [=] {
        const char s = letter(side), t = op == CUBLAS_OP_N ? 'N' : is_complex<element_of<T>> ? 'C' : 'T';
        *info = 0;
        if (m && n && k) with_work<element_of<T>>([&](auto *work, int *size) {
            invoke(routine(prefix_of<element_of<T>>, orthogonal<T>("ormqr", "unmqr")), &s, &t, &m, &n, &k, a, &lda, tau, c,
                   &ldc, work, size, info, size_t(1), size_t(1));
        });
    });
}

// ---- singular values ----

template <class E, class R> void singular(char jobu, char jobvt, int m, int n, E *a, int lda, R *s, E *u, int ldu, E *vt,
                                          int ldvt, int *info) {
    std::vector<R> real_work(is_complex<E> ? 5 * (size_t)std::min(m, n) + 1 : 0);
    *info = 0;
    if (!m || !n) return;
    with_work<E>([&](E *work, int *size) {
        if constexpr (is_complex<E>)
            invoke(ROUTINE(E, "gesvd"), &jobu, &jobvt, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, size, real_work.data(),
                   info, size_t(1), size_t(1));
        else
            invoke(ROUTINE(E, "gesvd"), &jobu, &jobvt, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, size, info, size_t(1),
                   size_t(1));
    });
}
inline bool is_job(signed char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; }

template <class T> Status gesvd_bufferSize(H h, int m, int n, int *size) { return sized(h, m >= 0 && n >= 0, size); }
// Of more columns than rows, too, which NVIDIA's library does not take.
template <class T, class R> Status gesvd(H h, signed char jobu, signed char jobvt, int m, int n, T *a, int lda, R *s, T *u,
                                         int ldu, T *vt, int ldvt, T *, int, R *, int *info) {
    NEED_HANDLE(h);
    NEED(is_job(jobu) && is_job(jobvt) && !(jobu == 'O' && jobvt == 'O') && m >= 0 && n >= 0 && fits(lda, m) && info);
    NEED((jobu == 'N' || jobu == 'O' || fits(ldu, m)) && ldu >= 1 && ldvt >= 1);
    NEED((jobvt != 'A' || fits(ldvt, n)) && (jobvt != 'S' || fits(ldvt, std::min(m, n))));
    return run(h, [=] { singular(jobu, jobvt, m, n, cast(a), lda, s, cast(u), ldu, cast(vt), ldvt, info); });
}
template <class T, class R> Status gesvdj_bufferSize(H h, cusolverEigMode_t, int, int m, int n, const T *, int lda, const R *,
                                                     const T *, int, const T *, int, int *size, gesvdjInfo_t) {
    return sized(h, m >= 0 && n >= 0 && fits(lda, m), size);
}
// The right vectors by columns, not as rows.
template <class T, class R> Status gesvdj(H h, cusolverEigMode_t jobz, int economic, int m, int n, T *a, int lda, R *s, T *u,
                                          int ldu, T *v, int ldv, T *, int, int *info, gesvdjInfo_t parameters) {
    NEED_HANDLE(h);
    NEED(m >= 0 && n >= 0 && fits(lda, m) && info && parameters);
    NEED(jobz == CUSOLVER_EIG_MODE_NOVECTOR || (fits(ldu, m) && fits(ldv, n)));
    using E = element_of<T>;
    return run(h, [=] {
        const bool vectors = jobz == CUSOLVER_EIG_MODE_VECTOR;
        const int few = std::min(m, n), rows = economic ? few : n, leading = std::max(1, rows);
        const char job = !vectors ? 'N' : economic ? 'S' : 'A';
        std::vector<E> vt(vectors ? (size_t)leading * std::max(1, n) : 1);
        singular(job, job, m, n, cast(a), lda, s, vectors ? cast(u) : vt.data(), vectors ? ldu : 1, vt.data(),
                 vectors ? leading : 1, info);
        if (vectors)
            for (long j = 0; j < rows; ++j)
                for (long i = 0; i < n; ++i) cast(v)[i + j * ldv] = conjugate(vt[j + i * leading]);
    });
}

// ---- eigenvalues of symmetric and Hermitian matrices ----

template <class T, class R> Status syevd_bufferSize(H h, cusolverEigMode_t, cublasFillMode_t fill, int n, const T *, int lda,
                                                    const R *, int *size) {
    return sized(h, known(fill) && n >= 0 && fits(lda, n), size);
}
// call(work, size, real work and its size..., integers, their number): real work is for complex elements only.
template <class E, class R, class Call> void with_three(const Call &call) {
    E wanted{};
    R real_wanted{};
    int size = -1, real_size = -1, integers_wanted = 0, integers = -1;
    call(&wanted, &size, &real_wanted, &real_size, &integers_wanted, &integers);
    size = std::max(1, (int)(std::real(wanted) * (1 + 1e-6)));
    real_size = std::max(1, (int)(real_wanted * (1 + 1e-6)));
    integers = std::max(1, integers_wanted);
    std::vector<E> work(size);
    std::vector<R> real_work(real_size);
    std::vector<int> integer_work(integers);
    call(work.data(), &size, real_work.data(), &real_size, integer_work.data(), &integers);
}
template <class T, class R> Status syevd(H h, cusolverEigMode_t jobz, cublasFillMode_t fill, int n, T *a, int lda, R *w, T *,
                                         int, int *info) {
    NEED_HANDLE(h);
    NEED(known(fill) && n >= 0 && fits(lda, n) && info);
    using E = element_of<T>;
    return run(h, [=] {
        const char job = jobz == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N', u = letter(fill);
        *info = 0;
        if (n) with_three<E, R>([&](E *work, int *size, R *real, int *real_size, int *integer, int *integers) {
            if constexpr (is_complex<E>)
                invoke(ROUTINE(E, "heevd"), &job, &u, &n, a, &lda, w, work, size, real, real_size, integer, integers, info,
                       size_t(1), size_t(1));
            else
                (void)real, (void)real_size, invoke(ROUTINE(E, "syevd"), &job, &u, &n, a, &lda, w, work, size, integer,
                                                    integers, info, size_t(1), size_t(1));
        });
    });
}
template <class T, class R> Status syevj_bufferSize(H h, cusolverEigMode_t jobz, cublasFillMode_t fill, int n, const T *a,
                                                    int lda, const R *w, int *size, syevjInfo_t) {
    return syevd_bufferSize(h, jobz, fill, n, a, lda, w, size);
}
template <class T, class R> Status syevj(H h, cusolverEigMode_t jobz, cublasFillMode_t fill, int n, T *a, int lda, R *w,
                                         T *work, int size, int *info, syevjInfo_t parameters) {
    NEED(parameters);
    return syevd(h, jobz, fill, n, a, lda, w, work, size, info);
}
template <class T, class R> Status sygvd_bufferSize(H h, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t fill, int n,
                                                    const T *, int lda, const T *, int ldb, const R *, int *size) {
    return sized(h, known(fill) && n >= 0 && fits(lda, n) && fits(ldb, n), size);
}
template <class T, class R> Status sygvd(H h, cusolverEigType_t type, cusolverEigMode_t jobz, cublasFillMode_t fill, int n,
                                         T *a, int lda, T *b, int ldb, R *w, T *, int, int *info) {
    NEED_HANDLE(h);
    NEED(type >= CUSOLVER_EIG_TYPE_1 && type <= CUSOLVER_EIG_TYPE_3 && known(fill) && n >= 0 && fits(lda, n) && fits(ldb, n)
         && info);
    using E = element_of<T>;
    return run(h, [=] {
        const char job = jobz == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N', u = letter(fill);
        const int kind = type;
        *info = 0;
        if (n) with_three<E, R>([&](E *work, int *size, R *real, int *real_size, int *integer, int *integers) {
            if constexpr (is_complex<E>)
                invoke(ROUTINE(E, "hegvd"), &kind, &job, &u, &n, a, &lda, b, &ldb, w, work, size, real, real_size, integer,
                       integers, info, size_t(1), size_t(1));
            else
                (void)real, (void)real_size, invoke(ROUTINE(E, "sygvd"), &kind, &job, &u, &n, a, &lda, b, &ldb, w, work, size,
                                                    integer, integers, info, size_t(1), size_t(1));
        });
    });
}

}  // namespace reactant::solver
