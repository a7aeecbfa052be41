// dwt2d WIDTH HEIGHT LEVELS TIMES SEED [--check]: rows are lines of the cache, columns are vectors; level by level.
#include "dwt2d.h"

static void row(const int *__restrict line, int *__restrict to, int n) {
    const int lows = (n + 1) / 2, highs = n / 2;
    int *__restrict high = to + lows;
#pragma omp simd
    for (int k = 0; k < (n - 1) / 2; ++k) high[k] = high_of(line[2 * k], line[2 * k + 1], line[2 * k + 2]);
    if (n % 2 == 0) high[highs - 1] = high_of(line[n - 2], line[n - 1], line[n - 2]);
    to[0] = low_of(high[0], line[0], high[0]);
#pragma omp simd
    for (int k = 1; k < highs; ++k) to[k] = low_of(high[k - 1], line[2 * k], high[k]);
    if (n % 2) to[lows - 1] = low_of(high[highs - 1], line[n - 1], high[highs - 1]);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int width = arguments.number(0, 512), height = arguments.number(1, 512);
    const int levels = arguments.number(2, 3), times = arguments.number(3, 1);
    const std::vector<int> image = make_image(width, height, arguments.number(4, 1));
    const size_t pitch = width;

    const double begun = milliseconds();
    std::vector<int> transformed(image.size()), rows(image.size());
    int *data = transformed.data(), *between = rows.data();
    const double kernel_begun = milliseconds();
    for (int time = 0; time < times; ++time) {
        int w = width, h = height;
        for (int level = 0; level < levels && w > 1 && h > 1; ++level) {
            const int *in = level ? data : image.data();
            const int lows = (h + 1) / 2, highs = h / 2;
#pragma omp parallel
            {
#pragma omp for schedule(static)
                for (int y = 0; y < h; ++y) row(in + y * pitch, between + y * pitch, w);
#pragma omp for schedule(static)
                for (int k = 0; k < highs; ++k) {
                    const int *above = between + 2 * k * pitch, *middle = above + pitch;
                    const int *below = between + mirrored(2 * k + 2, h) * pitch;
                    int *high = data + (lows + k) * pitch;
#pragma omp simd
                    for (int x = 0; x < w; ++x) high[x] = high_of(above[x], middle[x], below[x]);
                }
#pragma omp for schedule(static)
                for (int k = 0; k < lows; ++k) {
                    const int *before = data + (lows + std::max(k - 1, 0)) * pitch;
                    const int *after = data + (lows + std::min(k, highs - 1)) * pitch;
                    const int *middle = between + 2 * k * pitch;
                    int *low = data + k * pitch;
#pragma omp simd
                    for (int x = 0; x < w; ++x) low[x] = low_of(before[x], middle[x], after[x]);
                }
            }
            w = (w + 1) / 2;
            h = (h + 1) / 2;
        }
    }
    const double ended = milliseconds();

    results("transformed", transformed);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) check(transformed, image, width, height, levels);
}
