// gaussian N SEED [--check]: for each column, rows are shared out and go in vectors; one team of threads.
#include "gaussian.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 256);
    std::vector<float> matrix(size_t(n) * n), right(n);
    make_inputs(n, arguments.number(1, 1), matrix, right);
    const std::vector<float> first = arguments.check ? matrix : std::vector<float>(), first_right = right;

    const double begun = milliseconds();
    float *a = matrix.data(), *b = right.data();
#pragma omp parallel
    for (int k = 0; k < n - 1; ++k) {
        const float *__restrict pivot = a + size_t(k) * n;
#pragma omp for schedule(static)
        for (int i = k + 1; i < n; ++i) {
            float *__restrict row = a + size_t(i) * n;
            const float factor = row[k] / pivot[k];
#pragma omp simd
            for (int j = k; j < n; ++j) row[j] -= factor * pivot[j];
            b[i] -= factor * b[k];
        }
    }
    const double kernel_ended = milliseconds();
    const std::vector<float> x = back_substituted(matrix, right, n);
    const double ended = milliseconds();

    results("x", x);
    print_times(kernel_ended - begun, ended - begun);
    if (arguments.check) check(first, first_right, x, n);
}
