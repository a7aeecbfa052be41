// heartwall POINTS SIZE FRAMES SEED [--check]: points are shared out; the shifts of a row are a vector.
#include "heartwall.h"

constexpr int LANES = 24;                            // SHIFTS, and some that are not looked at

static void track(const float *picture, int size, Point &p, float *patch) {
    float window[WINDOW * WINDOW + LANES] = {};
    const int left = p.x - WINDOW / 2, top = p.y - WINDOW / 2;
    for (int y = 0; y < WINDOW; ++y)
        for (int x = 0; x < WINDOW; ++x)
            window[y * WINDOW + x] = picture[inside(top + y, size) * size + inside(left + x, size)];
    float best = -1e30f;
    int sx = 0, sy = 0;
    for (int shift = 0; shift < SHIFTS; ++shift) {
        float product[LANES] = {}, sum[LANES] = {}, squares[LANES] = {};
        for (int y = 0; y < PATCH; ++y)
            for (int x = 0; x < PATCH; ++x) {
                const float *at = window + (shift + y) * WINDOW + x, weight = patch[y * PATCH + x];
#pragma omp simd
                for (int s = 0; s < LANES; ++s) {
                    const float v = at[s] - 100;
                    product[s] += weight * v;
                    sum[s] += v;
                    squares[s] += v * v;
                }
            }
        for (int s = 0; s < SHIFTS; ++s) {
            const float variance = squares[s] - sum[s] * sum[s] / (PATCH * PATCH);
            const float c = product[s] / std::sqrt(std::max(variance, 1.0f));
            if (c > best) {
                best = c;
                sx = s;
                sy = shift;
            }
        }
    }
    p.x += sx - REACH;
    p.y += sy - REACH;
    float sum = 0;
    for (int y = 0; y < PATCH; ++y)
        for (int x = 0; x < PATCH; ++x) sum += window[(sy + y) * WINDOW + sx + x];
    const float mean = sum / (PATCH * PATCH);
    for (int y = 0; y < PATCH; ++y)
        for (int x = 0; x < PATCH; ++x) {
            float &old = patch[y * PATCH + x];
            old += RENEWAL * (window[(sy + y) * WINDOW + sx + x] - mean - old);
        }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int count = arguments.number(0, 50), size = arguments.number(1, 192), frames = arguments.number(2, 10);
    const std::vector<float> video = make_video(size, frames, arguments.number(3, 1));
    std::vector<Point> points = make_points(count, size, frames);
    const std::vector<Point> first = points;

    const double begun = milliseconds();
    std::vector<float> patches(size_t(count) * PATCH * PATCH);
    for (int i = 0; i < count; ++i) patch_of(video.data(), size, points[i], &patches[size_t(i) * PATCH * PATCH]);
    const double kernel_begun = milliseconds();
    for (int f = 1; f < frames; ++f)
#pragma omp parallel for schedule(static)
        for (int i = 0; i < count; ++i)
            track(&video[size_t(f) * size * size], size, points[i], &patches[size_t(i) * PATCH * PATCH]);
    const double ended = milliseconds();

    results("points", &points[0].x, 2 * points.size());
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check)
        expect_close("points", &points[0].x, &reference(video, first, size, frames)[0].x, 2 * points.size(), 0.02);
}
