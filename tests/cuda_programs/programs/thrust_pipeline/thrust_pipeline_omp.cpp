// thrust_pipeline PARTICLES SIDE TIMES SEED [--check]: a stable counting sort by cells, each thread its part; loops.
#include <omp.h>

#include "thrust_pipeline.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int particles = arguments.number(0, 50000), side = arguments.number(1, 32), times = arguments.number(2, 1);
    const int cells = side * side;
    std::vector<float> x(particles), y(particles), mass(particles), cell_mass(cells);
    std::vector<int> starts(cells);
    make_inputs(particles, arguments.number(3, 1), x, y, mass);
    Summary s = {};

    const double begun = milliseconds();
    std::vector<int> keys(particles), order(particles);
    std::vector<float> sorted_mass(particles);
    std::vector<std::vector<int>> counts(omp_get_max_threads(), std::vector<int>(cells));
    const double kernel_begun = milliseconds();
    for (int time = 0; time < times; ++time) {
        double energy = 0;
        int occupied = 0, dense = 0;
        float heaviest = 0;
        const float limit = 2.0f * particles / cells;
#pragma omp parallel
        {
            const int me = omp_get_thread_num(), team = omp_get_num_threads();
            const int first = int(long(particles) * me / team), last = int(long(particles) * (me + 1) / team);
            std::vector<int> &own = counts[me];
            std::fill(own.begin(), own.end(), 0);
#pragma omp simd
            for (int i = first; i < last; ++i) keys[i] = cell_of(x[i], y[i], side);
            for (int i = first; i < last; ++i) ++own[keys[i]];
#pragma omp barrier
#pragma omp single
            {
                int sum = 0;
                for (int c = 0; c < cells; ++c) {
                    starts[c] = sum;
                    for (int k = 0; k < team; ++k) {
                        const int here = counts[k][c];
                        counts[k][c] = sum;
                        sum += here;
                    }
                }
            }
            for (int i = first; i < last; ++i) {
                const int to = own[keys[i]]++;
                order[to] = i;
                sorted_mass[to] = mass[i];
            }
#pragma omp barrier
#pragma omp for schedule(guided) reduction(+ : occupied, dense) reduction(max : heaviest)
            for (int c = 0; c < cells; ++c) {
                const int end = c + 1 < cells ? starts[c + 1] : particles;
                float sum = 0;
#pragma omp simd reduction(+ : sum)
                for (int i = starts[c]; i < end; ++i) sum += sorted_mass[i];
                cell_mass[c] = sum;
                occupied += end > starts[c];
                dense += sum > limit;
                heaviest = std::max(heaviest, sum);
            }
#pragma omp for simd schedule(static) reduction(+ : energy)
            for (int i = 0; i < particles; ++i) energy += 0.5 * double(mass[i]) * (x[i] * x[i] + y[i] * y[i]);
        }
        s = {energy, occupied, dense, heaviest};
    }
    const double ended = milliseconds();

    print_times(ended - kernel_begun, ended - begun);
    finish(x, y, mass, side, starts, cell_mass, s, arguments.check);
}
