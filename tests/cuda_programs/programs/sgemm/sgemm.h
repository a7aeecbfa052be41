// D = alpha A B + beta C twice: once as the library does it, once by hand.
#pragma once
#include "../common.h"

constexpr float ALPHA = 1.5f, BETA = 0.5f;

// Row by row: A is m x k, B is k x n, C is m x n.
inline void make_inputs(long seed, std::vector<float> &a, std::vector<float> &b, std::vector<float> &c) {
    for (size_t i = 0; i < a.size(); ++i) a[i] = random_float(seed, i) - 0.5f;
    for (size_t i = 0; i < b.size(); ++i) b[i] = random_float(seed + 1, i) - 0.5f;
    for (size_t i = 0; i < c.size(); ++i) c[i] = random_float(seed + 2, i);
}

inline void finish(int m, int n, int k, const std::vector<float> &a, const std::vector<float> &b,
                   const std::vector<float> &c, const std::vector<float> &library, const std::vector<float> &own,
                   bool check) {
    results("library", library);
    results("own", own);
    if (!check) return;
    std::vector<float> got, also, wanted;
    for (int i = 0; i < m; i += std::max(1, m / 41))
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int p = 0; p < k; ++p) sum += double(a[size_t(i) * k + p]) * b[size_t(p) * n + j];
            wanted.push_back(float(ALPHA * sum + BETA * c[size_t(i) * n + j]));
            got.push_back(library[size_t(i) * n + j]);
            also.push_back(own[size_t(i) * n + j]);
        }
    expect_close("library", got, wanted, 1e-5);
    expect_close("own", also, wanted, 1e-5);
}
