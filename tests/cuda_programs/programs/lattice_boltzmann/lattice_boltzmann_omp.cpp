// lattice_boltzmann N STEPS [--check]: rows are shared out; cells away from walls are vectors.
#include "lattice_boltzmann.h"

static void row(const float *__restrict from, float *__restrict to, int n, int y, float omega) {
    const size_t plane = size_t(n) * n;
    const float *here = from + size_t(y) * n, *south = here - n, *north = here + n;
    float *out = to + size_t(y) * n;
    cell(from, to, n, 0, y, omega);
#pragma omp simd
    for (int x = 1; x < n - 1; ++x) {
        float f[Q] = {here[x], here[plane + x - 1], south[2 * plane + x], here[3 * plane + x + 1], north[4 * plane + x],
                      south[5 * plane + x - 1], south[6 * plane + x + 1], north[7 * plane + x + 1],
                      north[8 * plane + x - 1]};
        collide(f, omega);
        for (int q = 0; q < Q; ++q) out[q * plane + x] = f[q];
    }
    cell(from, to, n, n - 1, y, omega);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 128), steps = arguments.number(1, 50);
    const float omega = 1.2f;
    std::vector<float> f = make_fluid(n);

    const double begun = milliseconds();
    std::vector<float> next(f.size());
    const double kernel_begun = milliseconds();
    for (int k = 0; k < steps; ++k) {
#pragma omp parallel for schedule(static)
        for (int y = 0; y < n; ++y) {
            if (y > 0 && y < n - 1)
                row(f.data(), next.data(), n, y, omega);
            else
                for (int x = 0; x < n; ++x) cell(f.data(), next.data(), n, x, y, omega);
        }
        f.swap(next);
    }
    const double ended = milliseconds();

    print_times(ended - kernel_begun, ended - begun);
    finish(f, n, steps, omega, arguments.check);
}
