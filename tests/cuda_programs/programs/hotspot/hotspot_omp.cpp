// hotspot ROWS COLUMNS STEPS SEED [--check]: temperatures of a chip; rows are shared out, columns are vectors.
#include "hotspot.h"

static void step(const float *__restrict t, const float *__restrict power, float *__restrict next, int rows,
                 int columns, const Coefficients c) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < rows; ++i) {
        const float *here = t + size_t(i) * columns, *p = power + size_t(i) * columns;
        const float *north = i > 0 ? here - columns : here, *south = i < rows - 1 ? here + columns : here;
        float *out = next + size_t(i) * columns;
        auto point = [&](int j, int w, int e) {
            out[j] = here[j] + c.y * (north[j] + south[j] - 2 * here[j]) + c.x * (here[w] + here[e] - 2 * here[j]) +
                     c.z * (c.ambient - here[j]) + c.source * p[j];
        };
        point(0, 0, std::min(1, columns - 1));
#pragma omp simd
        for (int j = 1; j < columns - 1; ++j)
            point(j, j - 1, j + 1);
        if (columns > 1) point(columns - 1, columns - 2, columns - 1);
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int rows = arguments.number(0, 512), columns = arguments.number(1, 512);
    const int steps = arguments.number(2, 60);
    std::vector<float> temperature(size_t(rows) * columns), power(temperature.size());
    make_inputs(rows, columns, arguments.number(3, 1), temperature, power);
    const std::vector<float> first = arguments.check ? temperature : std::vector<float>();

    const double begun = milliseconds();
    std::vector<float> other(temperature.size());
    const Coefficients c = coefficients(rows, columns);
    const double kernel_begun = milliseconds();
    for (int k = 0; k < steps; ++k) {
        step(temperature.data(), power.data(), other.data(), rows, columns, c);
        temperature.swap(other);
    }
    const double ended = milliseconds();

    results("temperature", temperature);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check)
        expect_close("temperature", temperature, reference(first, power, rows, columns, steps), 1e-5);
}
