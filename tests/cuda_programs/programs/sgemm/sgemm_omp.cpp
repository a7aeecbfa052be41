// sgemm M N K SEED [--check]: by hand both times: packed panels for the cache, rows by vectors in registers.
#include "sgemm.h"

constexpr int ROWS = 6, COLUMNS = 16, DEPTH = 256, PANEL = 96;      // a panel of A is PANEL x DEPTH

// ROWS x COLUMNS results from packed A (column by column) and packed B (row by row).
static void tile(const float *__restrict a, const float *__restrict b, int depth, float (&sum)[ROWS][COLUMNS]) {
    float s[ROWS][COLUMNS] = {};
    for (int p = 0; p < depth; ++p)
        for (int i = 0; i < ROWS; ++i)
#pragma omp simd
            for (int j = 0; j < COLUMNS; ++j) s[i][j] += a[p * ROWS + i] * b[p * COLUMNS + j];
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) sum[i][j] = s[i][j];
}

static void multiply(const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta) {
    const int panels = (n + COLUMNS - 1) / COLUMNS;
    std::vector<float> packed_b(size_t(panels) * COLUMNS * DEPTH);
#pragma omp parallel
    {
        std::vector<float> packed_a(size_t(PANEL) * DEPTH);
        for (int first = 0; first < k; first += DEPTH) {
            const int depth = std::min(DEPTH, k - first);
#pragma omp for schedule(static)
            for (int q = 0; q < panels; ++q)
                for (int p = 0; p < depth; ++p)
                    for (int j = 0; j < COLUMNS; ++j) {
                        const int column = q * COLUMNS + j;
                        packed_b[(size_t(q) * depth + p) * COLUMNS + j] =
                            column < n ? b[size_t(first + p) * n + column] : 0;
                    }
#pragma omp for schedule(dynamic)
            for (int top = 0; top < m; top += PANEL) {
                const int rows = std::min(PANEL, m - top), groups = (rows + ROWS - 1) / ROWS;
                for (int g = 0; g < groups; ++g)
                    for (int p = 0; p < depth; ++p)
                        for (int i = 0; i < ROWS; ++i) {
                            const int row = g * ROWS + i;
                            packed_a[(size_t(g) * depth + p) * ROWS + i] =
                                row < rows ? a[size_t(top + row) * k + first + p] : 0;
                        }
                for (int q = 0; q < panels; ++q)
                    for (int g = 0; g < groups; ++g) {
                        float sum[ROWS][COLUMNS];
                        tile(&packed_a[size_t(g) * depth * ROWS], &packed_b[size_t(q) * depth * COLUMNS], depth, sum);
                        const int i_end = std::min(ROWS, rows - g * ROWS), j_end = std::min(COLUMNS, n - q * COLUMNS);
                        for (int i = 0; i < i_end; ++i) {
                            float *to = c + size_t(top + g * ROWS + i) * n + q * COLUMNS;
                            for (int j = 0; j < j_end; ++j) to[j] = alpha * sum[i][j] + (first ? to[j] : beta * to[j]);
                        }
                    }
            }
        }
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int m = arguments.number(0, 200), n = arguments.number(1, 200), k = arguments.number(2, 200);
    std::vector<float> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n);
    make_inputs(arguments.number(3, 1), a, b, c);

    const double begun = milliseconds();
    std::vector<float> once = c, again = c;
    const double kernel_begun = milliseconds();
    multiply(a.data(), b.data(), once.data(), m, n, k, ALPHA, BETA);
    multiply(a.data(), b.data(), again.data(), m, n, k, ALPHA, BETA);
    const double ended = milliseconds();

    print_times(ended - kernel_begun, ended - begun);
    finish(m, n, k, a, b, c, once, again, arguments.check);
}
