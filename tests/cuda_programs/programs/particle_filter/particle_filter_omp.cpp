// particle_filter PARTICLES SIZE FRAMES SEED [--check]: particles are shared out; the scan goes over one thread's part
// after the other.
#include <omp.h>

#include "particle_filter.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int particles = arguments.number(0, 20000), size = arguments.number(1, 128);
    const int frames = arguments.number(2, 10);
    const long seed = arguments.number(3, 1);
    const Disc disc = make_disc();
    const int pixels = int(disc.dx.size());
    const std::vector<unsigned char> video = make_video(size, frames, seed);

    const double begun = milliseconds();
    std::vector<float> x(particles, size / 2.0f), y(x), new_x(x), new_y(x), weight(particles);
    std::vector<double> cumulative(particles), parts(omp_get_max_threads() + 1), track;
    const double kernel_begun = milliseconds();
    for (int f = 1; f < frames; ++f) {
        const unsigned char *picture = &video[size_t(f) * size * size];
        const float start = random_float(seed + 13, f);
        double w = 0, wx = 0, wy = 0;
#pragma omp parallel
        {
#pragma omp for schedule(static) reduction(+ : w, wx, wy)
            for (int i = 0; i < particles; ++i) {
                predict(x[i], y[i], seed, f, i, particles);
                const float own =
                    std::exp(likelihood(picture, size, disc.dx.data(), disc.dy.data(), pixels, x[i], y[i]));
                weight[i] = own;
                w += own;
                wx += double(own) * x[i];
                wy += double(own) * y[i];
            }
            const int me = omp_get_thread_num(), team = omp_get_num_threads();
            const int first = int(long(particles) * me / team), last = int(long(particles) * (me + 1) / team);
            double sum = 0;
            for (int i = first; i < last; ++i) cumulative[i] = sum += weight[i];
            parts[me + 1] = sum;
#pragma omp barrier
            double before = 0;
            for (int k = 1; k <= me; ++k) before += parts[k];
#pragma omp simd
            for (int i = first; i < last; ++i) cumulative[i] += before;
#pragma omp barrier
#pragma omp for schedule(static)
            for (int i = 0; i < particles; ++i) {
                const double wanted = (i + double(start)) / particles * cumulative[particles - 1];
                const auto found = std::lower_bound(cumulative.begin(), cumulative.end() - 1, wanted);
                const size_t k = found - cumulative.begin();
                new_x[i] = x[k];
                new_y[i] = y[k];
            }
        }
        x.swap(new_x);
        y.swap(new_y);
        track.push_back(wx / w);
        track.push_back(wy / w);
    }
    const double ended = milliseconds();

    results("track", track);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) {
        std::vector<double> wanted;
        for (int f = 1; f < frames; ++f) { wanted.push_back(size / 2 + f); wanted.push_back(size / 2 + 2 * f); }
        expect_close("track", track, wanted, 2.0 / size);
    }
}
