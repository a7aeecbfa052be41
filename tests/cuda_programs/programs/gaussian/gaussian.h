// Gaussian elimination without pivoting of a system whose matrix decays away from its diagonal, and back substitution.
#pragma once
#include "../common.h"

inline void make_inputs(int n, long seed, std::vector<float> &a, std::vector<float> &b) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) a[size_t(i) * n + j] = 10 * std::exp(-0.1f * std::abs(i - j));
        a[size_t(i) * n + i] += 5;
        b[i] = 1 + random_float(seed, i);
    }
}

inline std::vector<float> back_substituted(const std::vector<float> &a, const std::vector<float> &b, int n) {
    std::vector<float> x(n);
    for (int i = n - 1; i >= 0; --i) {
        double sum = b[i];
        for (int j = i + 1; j < n; ++j) sum -= double(a[size_t(i) * n + j]) * x[j];
        x[i] = float(sum / a[size_t(i) * n + i]);
    }
    return x;
}

inline void check(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &x, int n) {
    std::vector<float> product(n);
    for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int j = 0; j < n; ++j) sum += double(a[size_t(i) * n + j]) * x[j];
        product[i] = float(sum);
    }
    expect_close("a x", product, b, 1e-4);
}
