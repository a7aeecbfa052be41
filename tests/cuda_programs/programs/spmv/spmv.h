// The largest eigenvalue of a sparse matrix by power iteration.
#pragma once
#include "../common.h"

struct Matrix {                                      // CSR
    int rows;
    std::vector<int> starts, columns;
    std::vector<float> values;

    // A band and random places, symmetric in effect by a strong diagonal.
    Matrix(int rows, int per_row, long seed) : rows(rows), starts(rows + 1) {
        std::vector<int> here;
        for (int r = 0; r < rows; ++r) {
            starts[r] = int(columns.size());
            here.assign(1, r);
            const int count = 1 + random_bits(seed, r) % (2 * per_row - 1);
            for (int k = 1; k < count; ++k) {
                const uint64_t bits = random_bits(seed + 1, uint64_t(r) * 4096 + k);
                here.push_back(int(k % 2 ? bits % rows : (r + bits % 200) % rows));
            }
            std::sort(here.begin(), here.end());
            here.erase(std::unique(here.begin(), here.end()), here.end());
            for (int c : here) {
                columns.push_back(c);
                values.push_back(c == r ? 2 : random_float(seed + 2, uint64_t(r) * 4096 + c % 4096) / per_row);
            }
        }
        starts[rows] = int(columns.size());
    }
};

inline double reference(const Matrix &a, int steps) {
    std::vector<double> x(a.rows, 1.0), y(a.rows);
    double norm = 0;
    for (int step = 0; step < steps; ++step) {
        norm = 0;
        for (int r = 0; r < a.rows; ++r) {
            double sum = 0;
            for (int k = a.starts[r]; k < a.starts[r + 1]; ++k) sum += a.values[k] * x[a.columns[k]];
            y[r] = sum;
            norm += sum * sum;
        }
        norm = std::sqrt(norm);
        for (int r = 0; r < a.rows; ++r) x[r] = y[r] / norm;
    }
    return norm;
}

inline void finish(const Matrix &a, const std::vector<float> &x, double norm, int steps, bool check) {
    result("eigenvalue", norm);
    results("x", x);
    if (!check) return;
    const double wanted = reference(a, steps);
    expect_close("eigenvalue", &norm, &wanted, 1, 1e-4);
}
