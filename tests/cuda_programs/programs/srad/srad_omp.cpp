// srad ROWS COLUMNS STEPS SEED [--check]: statistics by a reduction, then two stencils over rows.
#include "srad.h"

static float speckle(const float *image, size_t count) {
    double sum = 0, squares = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum, squares)
    for (size_t i = 0; i < count; ++i) {
        const double v = image[i];
        sum += v;
        squares += v * v;
    }
    const double mean = sum / count, variance = squares / count - mean * mean;
    return float(variance / (mean * mean));
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int rows = arguments.number(0, 256), columns = arguments.number(1, 256);
    const int steps = arguments.number(2, 20);
    const float lambda = 0.5f;
    std::vector<float> pixels(size_t(rows) * columns);
    make_inputs(rows, columns, arguments.number(3, 1), pixels);
    const std::vector<float> first = arguments.check ? pixels : std::vector<float>();

    const double begun = milliseconds();
    std::vector<float> coefficient(pixels.size()), norths(pixels.size()), souths(pixels.size()), wests(pixels.size()),
        easts(pixels.size());
    const double kernel_begun = milliseconds();
    for (int step = 0; step < steps; ++step) {
        const float q0 = speckle(pixels.data(), pixels.size());
#pragma omp parallel for schedule(static)
        for (int i = 0; i < rows; ++i) {
            const size_t row = size_t(i) * columns;
            const float *__restrict here = &pixels[row];
            const float *__restrict above = i > 0 ? here - columns : here;
            const float *__restrict below = i < rows - 1 ? here + columns : here;
            float *__restrict c = &coefficient[row], *__restrict dn = &norths[row], *__restrict ds = &souths[row];
            float *__restrict dw = &wests[row], *__restrict de = &easts[row];
            auto point = [&](int j, int left, int right) {
                const float v = here[j];
                dn[j] = above[j] - v;
                ds[j] = below[j] - v;
                dw[j] = here[left] - v;
                de[j] = here[right] - v;
                c[j] = diffusion(v, dn[j], ds[j], dw[j], de[j], q0);
            };
            point(0, 0, std::min(1, columns - 1));
#pragma omp simd
            for (int j = 1; j < columns - 1; ++j) point(j, j - 1, j + 1);
            if (columns > 1) point(columns - 1, columns - 2, columns - 1);
        }
#pragma omp parallel for schedule(static)
        for (int i = 0; i < rows; ++i) {
            const size_t row = size_t(i) * columns;
            const float *__restrict c = &coefficient[row], *__restrict below = i < rows - 1 ? c + columns : c;
            const float *__restrict dn = &norths[row], *__restrict ds = &souths[row];
            const float *__restrict dw = &wests[row], *__restrict de = &easts[row];
            float *__restrict image = &pixels[row];
#pragma omp simd
            for (int j = 0; j < columns - 1; ++j)
                image[j] += 0.25f * lambda * (c[j] * dn[j] + below[j] * ds[j] + c[j] * dw[j] + c[j + 1] * de[j]);
            const int j = columns - 1;
            image[j] += 0.25f * lambda * (c[j] * dn[j] + below[j] * ds[j] + c[j] * dw[j] + c[j] * de[j]);
        }
    }
    const double ended = milliseconds();

    results("image", pixels);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) expect_close("image", pixels, reference(first, rows, columns, steps, lambda), 1e-4);
}
