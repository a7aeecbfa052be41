// LU decomposition without pivoting, in place, of a matrix whose diagonal dominates.
#pragma once
#include "../common.h"

inline void make_inputs(int n, long seed, std::vector<float> &a) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            a[size_t(i) * n + j] = random_float(seed, size_t(i) * n + j) - 0.5f + (i == j ? 0.5f * n : 0);
}

// The product L U of what was found, against the matrix itself: sampled rows.
inline void check(const std::vector<float> &lu, const std::vector<float> &a, int n) {
    std::vector<float> got, wanted;
    for (int i = 0; i < n; i += std::max(1, n / 37))
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int k = 0; k <= std::min(i, j); ++k)
                sum += (k == i ? 1.0 : double(lu[size_t(i) * n + k])) * lu[size_t(k) * n + j];
            got.push_back(float(sum));
            wanted.push_back(a[size_t(i) * n + j]);
        }
    expect_close("product", got, wanted, 1e-5);
}
