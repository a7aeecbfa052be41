// kmeans POINTS CLUSTERS STEPS SEED [--check]: strips of points are vectors; sums of each thread's own points.
#include "kmeans.h"

constexpr int STRIP = 64;

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int points = arguments.number(0, 20000), clusters = std::min(long(MAX_CLUSTERS), arguments.number(1, 16));
    const int steps = arguments.number(2, 10);
    std::vector<float> all_features(size_t(points) * FEATURES), centres(clusters * FEATURES);
    std::vector<int> member(points);
    make_inputs(points, clusters, arguments.number(3, 1), all_features, centres);
    std::vector<float> wanted = centres;

    const double begun = milliseconds();
    const float *features = all_features.data();
    for (int step = 0; step < steps; ++step) {
        double sums[MAX_CLUSTERS * FEATURES] = {};
        int counts[MAX_CLUSTERS] = {};
#pragma omp parallel for schedule(static) reduction(+ : sums[:MAX_CLUSTERS * FEATURES], counts[:MAX_CLUSTERS])
        for (int first = 0; first < points; first += STRIP) {
            const int here = std::min(STRIP, points - first);
            float nearest[STRIP];
            int best[STRIP] = {};
            std::fill_n(nearest, STRIP, 3e38f);
            for (int c = 0; c < clusters; ++c) {
                float d[STRIP] = {};
                for (int f = 0; f < FEATURES; ++f) {
                    const float *x = features + size_t(f) * points + first, y = centres[c * FEATURES + f];
#pragma omp simd
                    for (int i = 0; i < here; ++i) d[i] += (x[i] - y) * (x[i] - y);
                }
#pragma omp simd
                for (int i = 0; i < here; ++i) {
                    best[i] = d[i] < nearest[i] ? c : best[i];
                    nearest[i] = std::min(d[i], nearest[i]);
                }
            }
            for (int i = 0; i < here; ++i) {
                member[first + i] = best[i];
                ++counts[best[i]];
                double *sum = sums + best[i] * FEATURES;
                for (int f = 0; f < FEATURES; ++f) sum[f] += features[size_t(f) * points + first + i];
            }
        }
        new_centres(centres, sums, counts, clusters);
    }
    const double ended = milliseconds();

    results("centres", centres);
    results("member", member);
    print_times(ended - begun, ended - begun);
    if (arguments.check) {
        reference(all_features, wanted, member, points, clusters, steps);
        expect_close("centres", centres, wanted, 1e-3);
    }
}
