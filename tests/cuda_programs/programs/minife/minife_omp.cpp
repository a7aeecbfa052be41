// minife SIDE STEPS SEED [--check]: the matrix in rows (CSR), loops joined where a step allows, one team of threads.
#include "minife.h"

constexpr int STRIP = 1024;                          // (clang 22 miscompiles "for simd reduction" of loops that store)

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const Matrix a(arguments.number(0, 20));
    const int n = a.rows, steps = arguments.number(1, 30);
    const std::vector<double> b = make_right_side(n, arguments.number(2, 1));

    const double begun = milliseconds();
    std::vector<double> solution(n), residual(b), directions(b), products(n);
    double *__restrict x = solution.data(), *__restrict r = residual.data(), *__restrict p = directions.data();
    double *__restrict q = products.data();
    const int *starts = a.starts.data(), *columns = a.columns.data();
    const double *values = a.values.data();
    double rr = 0, pq = 0, next = 0;
    const double kernel_begun = milliseconds();
#pragma omp parallel
    {
#pragma omp for simd schedule(static) reduction(+ : rr)
        for (int i = 0; i < n; ++i) rr += r[i] * r[i];
        for (int step = 0; step < steps; ++step) {
#pragma omp for schedule(static) reduction(+ : pq)
            for (int i = 0; i < n; ++i) {
                double sum = 0;
#pragma omp simd reduction(+ : sum)
                for (int k = starts[i]; k < starts[i + 1]; ++k) sum += values[k] * p[columns[k]];
                q[i] = sum;
                pq += p[i] * sum;
            }
            const double alpha = rr / pq;
#pragma omp for schedule(static) reduction(+ : next)
            for (int first = 0; first < n; first += STRIP) {
                const int last = std::min(first + STRIP, n);
                double sum = 0;
#pragma omp simd reduction(+ : sum)
                for (int i = first; i < last; ++i) {
                    x[i] += alpha * p[i];
                    r[i] -= alpha * q[i];
                    sum += r[i] * r[i];
                }
                next += sum;
            }
            const double beta = next / rr;
#pragma omp for simd schedule(static)
            for (int i = 0; i < n; ++i) p[i] = r[i] + beta * p[i];
#pragma omp single
            {
                rr = next;
                next = pq = 0;
            }
        }
    }
    const double ended = milliseconds();

    results("x", solution);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) check(a, solution, b, std::sqrt(rr));
}
