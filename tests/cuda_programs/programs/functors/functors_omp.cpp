// functors N STEPS SEED [--check]: loops that are templates, called with functors and with lambdas.
#include "functors.h"

template <class Body> void for_each_index(int n, Body body) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) body(i);
}

template <class T, class Map> T sum_of(int n, Map map) {
    T sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int i = 0; i < n; ++i) sum += map(i);
    return sum;
}
template <class T, class Map> T largest_of(int n, T least, Map map) {
    T largest = least;
#pragma omp parallel for simd schedule(static) reduction(max : largest)
    for (int i = 0; i < n; ++i) largest = std::fmax(largest, map(i));
    return largest;
}

template <class Force>
double follow(const char *name, const Force &force, const std::vector<float> &first_x,
              const std::vector<float> &first_v, int steps, bool check) {
    const int n = int(first_x.size());
    std::vector<float> positions = first_x, velocities = first_v;
    float *x = positions.data(), *v = velocities.data();
    const double begun = milliseconds();
    double largest = 0;
    for (int k = 0; k < steps; ++k) {
        for_each_index(n, [=](int i) { verlet(force, x[i], v[i], 0.01f); });
        if (k % 10 != 9) continue;
        largest = std::max(largest, largest_of(n, 0.0, [=](int i) { return double(std::fabs(x[i])); }));
    }
    const double energy = sum_of<double>(n, [=](int i) { return 0.5 * double(v[i]) * v[i]; });
    const double kernel_ms = milliseconds() - begun;
    std::printf("result %s.largest %.10g\nresult %s.energy %.10g\n", name, largest, name, energy);
    results(name, positions);
    if (check) {
        std::vector<float> wanted = first_x, wanted_v = first_v;
        reference(force, wanted, wanted_v, steps);
        expect_close(name, positions, wanted, 1e-3);
    }
    return kernel_ms;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 20000), steps = arguments.number(1, 50);
    std::vector<float> x(n), v(n);
    make_inputs(arguments.number(2, 1), x, v);
    const double begun = milliseconds();
    double kernel_ms = follow("hooke", Hooke{1.5f}, x, v, steps, arguments.check);
    kernel_ms += follow("duffing", Duffing{0.5f, 1.0f}, x, v, steps, arguments.check);
    kernel_ms += follow("morse", Morse{1.2f}, x, v, steps, arguments.check);
    print_times(kernel_ms, milliseconds() - begun);
}
