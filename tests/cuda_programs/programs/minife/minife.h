// Finite elements (trilinear cubes) for the Poisson equation in a cube, solved by conjugate gradients.
#pragma once
#include "../common.h"

constexpr int NEAR = 27;

struct Matrix {                                      // rows of up to NEAR entries
    int rows;
    std::vector<int> starts, columns;
    std::vector<double> values;

    // Stiffness of inner nodes: K x M x M + M x K x M + M x M x K, with K = (-1, 2, -1), M = (1, 4, 1) / 6.
    explicit Matrix(int side) : rows(side * side * side), starts(rows + 1) {
        const double k[2] = {2, -1}, m[2] = {4.0 / 6, 1.0 / 6};
        for (int r = 0; r < rows; ++r) {
            const int x = r % side, y = r / side % side, z = r / (side * side);
            starts[r] = int(columns.size());
            for (int dz = -1; dz <= 1; ++dz)
                for (int dy = -1; dy <= 1; ++dy)
                    for (int dx = -1; dx <= 1; ++dx) {
                        if (std::min({x + dx, y + dy, z + dz}) < 0 || std::max({x + dx, y + dy, z + dz}) >= side)
                            continue;
                        const int a = dx != 0, b = dy != 0, c = dz != 0;
                        columns.push_back(r + (dz * side + dy) * side + dx);
                        values.push_back(k[a] * m[b] * m[c] + m[a] * k[b] * m[c] + m[a] * m[b] * k[c]);
                    }
        }
        starts[rows] = int(columns.size());
    }
};

inline std::vector<double> make_right_side(int rows, long seed) {
    std::vector<double> b(rows);
    for (int i = 0; i < rows; ++i) b[i] = 1 + 0.1 * random_unit(seed, i);
    return b;
}

// The residual that the solver has is the true one.
inline void check(const Matrix &a, const std::vector<double> &x, const std::vector<double> &b, double residual) {
    double norm = 0;
    for (int r = 0; r < a.rows; ++r) {
        double sum = b[r];
        for (int k = a.starts[r]; k < a.starts[r + 1]; ++k) sum -= a.values[k] * x[a.columns[k]];
        norm += sum * sum;
    }
    norm = std::sqrt(norm);
    double right = 0;
    for (double v : b) right += v * v;
    expect("residual", std::fabs(norm - residual) < 1e-8 * std::sqrt(right));
}
