// Fourier transforms of many rows of 1024 complex numbers (Stockham, radix 4), there and back again, times a filter.
#pragma once
#include "../common.h"

constexpr int N = 1024, STAGES = 5, QUARTER = N / 4;

struct Complex { float re, im; };

HOST_DEVICE inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
HOST_DEVICE inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
HOST_DEVICE inline Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Four numbers by the transform of length 4; sign -1 is forward.
HOST_DEVICE inline void butterfly(Complex *v, float sign) {
    const Complex a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
    const Complex turned = {-sign * d.im, sign * d.re};
    v[0] = a + c;
    v[1] = b + turned;
    v[2] = a - c;
    v[3] = b - turned;
}

inline void make_inputs(int rows, long seed, std::vector<Complex> &data, std::vector<Complex> &roots,
                        std::vector<float> &filter) {
    for (size_t i = 0; i < size_t(rows) * N; ++i)
        data[i] = {random_float(seed, 2 * i) - 0.5f, random_float(seed, 2 * i + 1) - 0.5f};
    for (int k = 0; k < N; ++k) {
        roots[k] = {float(std::cos(2 * M_PI * k / N)), float(-std::sin(2 * M_PI * k / N))};
        const int frequency = std::min(k, N - k);
        filter[k] = float(std::exp(-1e-5 * frequency * frequency)) / N;
    }
}

// Some rows: the transform of length N by its definition, filtered, and back.
inline void check(const std::vector<Complex> &before, const std::vector<Complex> &after,
                  const std::vector<float> &filter, int rows, int times) {
    std::vector<float> got, wanted;
    for (int r = 0; r < rows; r += std::max(1, rows / 2)) {
        std::vector<double> re(N), im(N);
        for (int k = 0; k < N; ++k)
            for (int j = 0; j < N; ++j) {
                const double angle = -2 * M_PI * (long(j) * k % N) / N, c = std::cos(angle), s = std::sin(angle);
                const Complex x = before[size_t(r) * N + j];
                re[k] += x.re * c - x.im * s;
                im[k] += x.re * s + x.im * c;
            }
        for (int j = 0; j < N; j += 101) {
            double x = 0, y = 0;
            for (int k = 0; k < N; ++k) {
                const double angle = 2 * M_PI * (long(j) * k % N) / N, c = std::cos(angle), s = std::sin(angle);
                const double f = std::pow(double(filter[k]) * N, times) / N;
                x += f * (re[k] * c - im[k] * s);
                y += f * (re[k] * s + im[k] * c);
            }
            wanted.push_back(float(x));
            wanted.push_back(float(y));
            got.push_back(after[size_t(r) * N + j].re);
            got.push_back(after[size_t(r) * N + j].im);
        }
    }
    expect_close("filtered", got, wanted, 1e-4);
}
