// Fourier transforms of one length: several lines at a time in vectors, or one long line on all threads.
//   Stockham's self-sorting passes: Van Loan: "Computational Frameworks for the Fast Fourier Transform" (1992), 1.7.
//   Long lines as a matrix, columns first ("four step"): Bailey, "FFTs in external or hierarchical memory" (1990).
//   Lengths with large prime factors as a convolution: Bluestein, IEEE Trans. Audio Electroacoust. 18 (1970).
// Wheels of FFT libraries on PyPI have no C interface; this is what a program can be linked with.
#pragma once
#include <cmath>
#include <vector>

#include "common/libraries.h"

namespace reactant::fft {

using namespace reactant::libraries;

// A complex number, or as many side by side as V has elements.
template <class V> struct C {
    V re, im;
    C operator+(const C &b) const { return {re + b.re, im + b.im}; }
    C operator-(const C &b) const { return {re - b.re, im - b.im}; }
    template <class R> C times(R c, R s) const { return {re * c - im * s, re * s + im * c}; }
    C over_i() const { return {im, -re}; }          // times -i
    template <class R> C scaled(R r) const { return {re * r, im * r}; }
};

template <class R> struct Lanes;
template <> struct Lanes<float> { typedef float V __attribute__((vector_size(32))); static constexpr int count = 8; };
template <> struct Lanes<double> { typedef double V __attribute__((vector_size(32))); static constexpr int count = 4; };

// exp(-2 pi i k / n): eighths of the circle are reflected, so that all are as exact as small angles.
template <class R> std::complex<R> root(uint64_t k, uint64_t n) {
    const uint64_t eighth = 8 * (k % n) / n;
    const long double turn = 6.283185307179586476925286766559005768L;
    const auto at = [=](long double x) { return turn * x / n; };
    const long double p = k % n, N = n;
    switch (eighth) {
    case 0: return {(R)cosl(at(p)), (R)-sinl(at(p))};
    case 1: return {(R)sinl(at(N / 4 - p)), (R)-cosl(at(N / 4 - p))};
    case 2: return {(R)-sinl(at(p - N / 4)), (R)-cosl(at(p - N / 4))};
    case 3: return {(R)-cosl(at(N / 2 - p)), (R)-sinl(at(N / 2 - p))};
    case 4: return {(R)-cosl(at(p - N / 2)), (R)sinl(at(p - N / 2))};
    case 5: return {(R)-sinl(at(3 * N / 4 - p)), (R)cosl(at(3 * N / 4 - p))};
    case 6: return {(R)sinl(at(p - 3 * N / 4)), (R)cosl(at(p - 3 * N / 4))};
    default: return {(R)cosl(at(N - p)), (R)sinl(at(N - p))};
    }
}

constexpr uint64_t LARGEST_FACTOR = 31, LONGEST_IN_VECTORS = 8192;

inline std::vector<int> factors_of(uint64_t n) {
    std::vector<int> found;
    for (int f : {4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
        for (; n % f == 0; n /= f) found.push_back(f);
    if (n > 1) found.assign(1, 0);          // it has a larger prime factor
    return found;
}

// The forward transform of length n; inverse ones exchange real and imaginary parts before and after.
template <class R> class Transform {
public:
    using V = typename Lanes<R>::V;
    static constexpr int lanes = Lanes<R>::count;
    const uint64_t n;

    explicit Transform(uint64_t n, bool in_one = false) : n(n), factors(factors_of(n)) {
        if (!factors.empty() && factors[0] == 0) {
            prepare_convolution();
            return;
        }
        uint64_t rows = 1;
        if (n > LONGEST_IN_VECTORS && !in_one)
            for (uint64_t d = 1; d * d <= n; ++d) if (n % d == 0) rows = d;
        if (rows >= 16) {
            columns_of = std::make_unique<Transform>(rows, true);
            rows_of = std::make_unique<Transform>(n / rows, true);
            step = (uint64_t)std::ceil(std::sqrt((double)n));
            for (uint64_t k = 0; k < step; ++k) fine.push_back(root<double>(k, n));
            for (uint64_t k = 0; k <= n / step; ++k) coarse.push_back(root<double>(k * step, n));
            return;
        }
        roots.reserve(n);
        for (uint64_t k = 0; k < n; ++k) roots.push_back(root<R>(k, n));
    }

    // Whether several lines are done at a time, by `side_by_side`.
    bool in_vectors() const { return !convolved && !rows_of; }

    // x: n numbers for each lane; y: as many, for intermediate results.
    template <class W> void side_by_side(C<W> *x, C<W> *y) const {
        C<W> *from = x, *to = y;
        uint64_t length = n, stride = 1;
        for (int factor : factors) {
            pass(factor, from, to, length, stride);
            std::swap(from, to);
            length /= factor, stride *= factor;
        }
        if (from != x) std::copy(from, from + n, x);
    }

    // One line in place, on all threads where it is long.
    void line(std::complex<R> *x) const {
        if (convolved) return convolution(x);
        if (rows_of) return as_matrix(x);
        std::vector<C<R>> scratch(n);
        side_by_side((C<R> *)x, scratch.data());
    }

private:
    std::vector<int> factors;
    std::vector<std::complex<R>> roots;
    std::unique_ptr<Transform> columns_of, rows_of, convolved;
    std::vector<std::complex<double>> fine, coarse;         // roots of n: k = coarse * step + fine
    uint64_t step = 0;
    std::vector<std::complex<R>> chirp, kernel;

    template <class W> void pass(int factor, const C<W> *x, C<W> *y, uint64_t length, uint64_t stride) const {
        if (factor == 4) radix<4>(x, y, length, stride, [](C<W> *a) {
            const C<W> p = a[0] + a[2], q = a[0] - a[2], r = a[1] + a[3], s = (a[1] - a[3]).over_i();
            a[0] = p + r, a[1] = q + s, a[2] = p - r, a[3] = q - s;
        });
        else if (factor == 2) radix<2>(x, y, length, stride, [](C<W> *a) {
            const C<W> p = a[0];
            a[0] = p + a[1], a[1] = p - a[1];
        });
        else if (factor == 3) radix<3>(x, y, length, stride, [](C<W> *a) {
            const C<W> sum = a[1] + a[2], turn = (a[1] - a[2]).over_i().scaled(R(0.86602540378443864676));
            const C<W> rest = a[0] - sum.scaled(R(0.5));
            a[0] = a[0] + sum, a[1] = rest + turn, a[2] = rest - turn;
        });
        else if (factor == 5) radix<5>(x, y, length, stride, [](C<W> *a) {
            constexpr R c1 = R(0.30901699437494742410), c2 = R(-0.80901699437494742410), s1 = R(0.95105651629515357212),
                        s2 = R(0.58778525229247312917);
            const C<W> p = a[1] + a[4], q = a[2] + a[3], r = (a[1] - a[4]).over_i(), s = (a[2] - a[3]).over_i();
            const C<W> u = a[0] + p.scaled(c1) + q.scaled(c2), v = a[0] + p.scaled(c2) + q.scaled(c1);
            const C<W> t = r.scaled(s1) + s.scaled(s2), w = r.scaled(s2) - s.scaled(s1);
            a[0] = a[0] + p + q, a[1] = u + t, a[2] = v + w, a[3] = v - w, a[4] = u - t;
        });
        else any_radix(factor, x, y, length, stride);
    }

    template <int factor, class W, class Small> void radix(const C<W> *x, C<W> *y, uint64_t length, uint64_t stride,
                                                           const Small &small) const {
        const uint64_t part = length / factor;
        for (uint64_t p = 0; p < part; ++p) {
            std::complex<R> w[factor];
            for (int k = 1; k < factor; ++k) w[k] = roots[p * k * stride];
            const C<W> *from = x + stride * p;
            C<W> *to = y + stride * factor * p;
            for (uint64_t q = 0; q < stride; ++q) {
                C<W> a[factor];
                for (int k = 0; k < factor; ++k) a[k] = from[q + stride * part * k];
                small(a);
                to[q] = a[0];
                for (int k = 1; k < factor; ++k) to[q + stride * k] = a[k].times(w[k].real(), w[k].imag());
            }
        }
    }

    template <class W> void any_radix(int factor, const C<W> *x, C<W> *y, uint64_t length, uint64_t stride) const {
        const uint64_t part = length / factor, whole = n / factor;
        for (uint64_t p = 0; p < part; ++p)
            for (uint64_t q = 0; q < stride; ++q)
                for (int k = 0; k < factor; ++k) {
                    C<W> sum = x[q + stride * p];
                    for (int j = 1; j < factor; ++j) {
                        const auto w = roots[whole * (uint64_t)(j * k % factor)];
                        sum = sum + x[q + stride * (p + part * j)].times(w.real(), w.imag());
                    }
                    const auto w = roots[p * k * stride];
                    y[q + stride * (factor * p + k)] = sum.times(w.real(), w.imag());
                }
    }

    // x(j1, j2) by rows: transforms of the columns, factors, transforms of the rows, which go to columns.
    void as_matrix(std::complex<R> *x) const {
        const uint64_t n1 = columns_of->n, n2 = rows_of->n;
        std::vector<std::complex<R>> between(n);
        in_ranges((n2 + lanes - 1) / lanes, 1, [&](uint64_t first, uint64_t last) {
            std::vector<C<V>> a(n1), b(n1);
            for (uint64_t group = first; group < last; ++group) {
                const uint64_t j2 = group * lanes, here = std::min<uint64_t>(lanes, n2 - j2);
                for (uint64_t j1 = 0; j1 < n1; ++j1)
                    for (uint64_t l = 0; l < here; ++l) put(a[j1], l, x[j1 * n2 + j2 + l]);
                columns_of->side_by_side(a.data(), b.data());
                for (uint64_t k1 = 0; k1 < n1; ++k1)
                    for (uint64_t l = 0; l < here; ++l) {
                        const uint64_t k = k1 * (j2 + l);
                        between[k1 * n2 + j2 + l] = get(a[k1], l) * std::complex<R>(coarse[k / step] * fine[k % step]);
                    }
            }
        });
        in_ranges((n1 + lanes - 1) / lanes, 1, [&](uint64_t first, uint64_t last) {
            std::vector<C<V>> a(n2), b(n2);
            for (uint64_t group = first; group < last; ++group) {
                const uint64_t k1 = group * lanes, here = std::min<uint64_t>(lanes, n1 - k1);
                for (uint64_t l = 0; l < here; ++l)
                    for (uint64_t j2 = 0; j2 < n2; ++j2) put(a[j2], l, between[(k1 + l) * n2 + j2]);
                rows_of->side_by_side(a.data(), b.data());
                for (uint64_t k2 = 0; k2 < n2; ++k2)
                    for (uint64_t l = 0; l < here; ++l) x[k2 * n1 + k1 + l] = get(a[k2], l);
            }
        });
    }

    void prepare_convolution() {
        uint64_t size = 1;
        while (size < 2 * n - 1) size *= 2;
        convolved = std::make_unique<Transform>(size);
        kernel.assign(size, 0);
        for (uint64_t k = 0; k < n; ++k) {
            chirp.push_back(root<R>((uint64_t)((unsigned __int128)k * k % (2 * n)), 2 * n));
            kernel[k] = std::conj(chirp[k]) / R(size);
            if (k) kernel[size - k] = kernel[k];
        }
        convolved->line(kernel.data());
    }

    void convolution(std::complex<R> *x) const {
        std::vector<std::complex<R>> a(kernel.size());
        for (uint64_t k = 0; k < n; ++k) a[k] = x[k] * chirp[k];
        convolved->line(a.data());
        for (uint64_t k = 0; k < a.size(); ++k) {
            const std::complex<R> product = a[k] * kernel[k];
            a[k] = {product.imag(), product.real()};        // the way back is the way with parts exchanged
        }
        convolved->line(a.data());
        for (uint64_t k = 0; k < n; ++k) x[k] = std::complex<R>(a[k].imag(), a[k].real()) * chirp[k];
    }

public:
    static void put(C<V> &to, uint64_t lane, std::complex<R> value) { to.re[lane] = value.real(), to.im[lane] = value.imag(); }
    static std::complex<R> get(const C<V> &from, uint64_t lane) { return {from.re[lane], from.im[lane]}; }
};

}  // namespace reactant::fft
