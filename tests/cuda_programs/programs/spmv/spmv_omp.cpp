// spmv ROWS PER_ROW STEPS SEED [--check]: rows are shared out by their entries; a row's sum is a vector reduction.
#include "spmv.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const Matrix a(arguments.number(0, 10000), arguments.number(1, 16), arguments.number(3, 1));
    const int steps = arguments.number(2, 20), n = a.rows;

    const double begun = milliseconds();
    std::vector<float> vector_x(n, 1.0f), vector_y(n);
    float *__restrict x = vector_x.data(), *__restrict y = vector_y.data();
    const int *starts = a.starts.data(), *columns = a.columns.data();
    const float *values = a.values.data();
    double norm = 0, last = 0;
    const double kernel_begun = milliseconds();
#pragma omp parallel
    for (int step = 0; step < steps; ++step) {
#pragma omp for schedule(dynamic, 512) reduction(+ : norm)
        for (int r = 0; r < n; ++r) {
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int k = starts[r]; k < starts[r + 1]; ++k) sum += values[k] * x[columns[k]];
            y[r] = sum;
            norm += double(sum) * sum;
        }
        const double root = std::sqrt(norm);
#pragma omp for simd schedule(static)
        for (int r = 0; r < n; ++r) x[r] = float(y[r] / root);
#pragma omp single
        {
            last = root;
            norm = 0;
        }
    }
    const double ended = milliseconds();

    print_times(ended - kernel_begun, ended - begun);
    finish(a, vector_x, last, steps, arguments.check);
}
