// lud N SEED [--check]: blocked: the diagonal tile, the tiles in its row and column, then all tiles behind them.
#include "lud.h"

constexpr int B = 16;

static void diagonal(float *a, int n) {
    for (int k = 0; k < B - 1; ++k)
        for (int i = k + 1; i < B; ++i) {
            const float factor = a[size_t(i) * n + k] /= a[size_t(k) * n + k];
#pragma omp simd
            for (int j = k + 1; j < B; ++j) a[size_t(i) * n + j] -= factor * a[size_t(k) * n + j];
        }
}

// L X = right, in place: rows of the tile are vectors.
static void upper(const float *d, float *right, int n) {
    for (int i = 1; i < B; ++i)
        for (int k = 0; k < i; ++k) {
            const float factor = d[size_t(i) * n + k];
#pragma omp simd
            for (int j = 0; j < B; ++j) right[size_t(i) * n + j] -= factor * right[size_t(k) * n + j];
        }
}

// X U = below, in place: row by row.
static void lower(const float *d, float *below, int n) {
    for (int i = 0; i < B; ++i) {
        float *row = below + size_t(i) * n;
        for (int k = 0; k < B; ++k) {
            const float factor = row[k] /= d[size_t(k) * n + k];
            for (int j = k + 1; j < B; ++j) row[j] -= factor * d[size_t(k) * n + j];
        }
    }
}

// A row of a tile stays in vector registers while the products are added.
static void interior(float *__restrict a, const float *__restrict below, const float *__restrict right, int n) {
    for (int i = 0; i < B; ++i) {
        float sum[B] = {};
        for (int k = 0; k < B; ++k) {
            const float factor = below[size_t(i) * n + k];
#pragma omp simd
            for (int j = 0; j < B; ++j) sum[j] += factor * right[size_t(k) * n + j];
        }
#pragma omp simd
        for (int j = 0; j < B; ++j) a[size_t(i) * n + j] -= sum[j];
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = (arguments.number(0, 256) + B - 1) / B * B;
    std::vector<float> matrix(size_t(n) * n);
    make_inputs(n, arguments.number(1, 1), matrix);
    const std::vector<float> first = arguments.check ? matrix : std::vector<float>();

    const double begun = milliseconds();
    float *a = matrix.data();
#pragma omp parallel
    for (int k = 0; k < n; k += B) {
        float *corner = a + size_t(k) * n + k;
#pragma omp single
        diagonal(corner, n);
#pragma omp for schedule(static)
        for (int other = k + B; other < n; other += B) {
            upper(corner, a + size_t(k) * n + other, n);
            lower(corner, a + size_t(other) * n + k, n);
        }
#pragma omp for collapse(2) schedule(static)
        for (int i = k + B; i < n; i += B)
            for (int j = k + B; j < n; j += B)
                interior(a + size_t(i) * n + j, a + size_t(i) * n + k, a + size_t(k) * n + j, n);
    }
    const double ended = milliseconds();

    results("lu", matrix);
    print_times(ended - begun, ended - begun);
    if (arguments.check) check(matrix, first, n);
}
