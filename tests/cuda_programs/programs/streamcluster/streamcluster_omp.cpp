// streamcluster POINTS DIMENSIONS CANDIDATES SEED [--check]: strips of points are vectors; each thread has own sums.
#include "streamcluster.h"

constexpr int STRIP = 256;

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const long seed = arguments.number(3, 1);
    Problem p(arguments.number(0, 8192), arguments.number(1, 32), arguments.number(2, 40), seed);
    Problem other = p;
    const int n = p.points;

    const double begun = milliseconds();
    std::vector<int> open{0}, place(n, -1);
    std::vector<float> distance(n);
    place[0] = 0;
    for (int k = 0; k < p.candidates; ++k) {
        const int c = p.candidate(k, seed);
        if (place[c] >= 0) continue;
        const size_t centres = open.size();
        std::vector<long long> sums(centres);
        long long *lower = sums.data(), moved = 0;
#pragma omp parallel for schedule(static) reduction(+ : moved, lower[:centres])
        for (int first = 0; first < n; first += STRIP) {
            const int here = std::min(STRIP, n - first);
            float sum[STRIP] = {};
            for (int d = 0; d < p.dimensions; ++d) {
                const float *x = &p.x[size_t(d) * n + first], y = p.x[size_t(d) * n + c];
#pragma omp simd
                for (int i = 0; i < here; ++i) sum[i] += (x[i] - y) * (x[i] - y);
            }
            for (int i = 0; i < here; ++i) {
                distance[first + i] = sum[i];
                const long long difference = (long long)std::floor(double(sum[i] - p.cost[first + i]) / QUANTUM);
                if (difference < 0) moved -= difference;
                else lower[place[p.centre[first + i]]] += difference;
            }
        }
        std::vector<double> stay;
        for (long long v : sums) stay.push_back(v * QUANTUM);
        std::vector<char> closed(centres);
        if (p.gain(moved * QUANTUM, stay, open, closed) <= 0) continue;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; ++i)
            if (distance[i] < p.cost[i] || closed[place[p.centre[i]]]) {
                p.centre[i] = c;
                p.cost[i] = distance[i];
            }
        std::vector<int> kept;
        for (size_t m = 0; m < centres; ++m) {
            place[open[m]] = -1;
            if (!closed[m]) kept.push_back(open[m]);
        }
        kept.push_back(c);
        open.swap(kept);
        for (size_t m = 0; m < open.size(); ++m) place[open[m]] = int(m);
    }
    const double ended = milliseconds();

    const double total = p.total(open.size());
    result("centres", open.size());
    result("total", total);
    results("cost", p.cost);
    print_times(ended - begun, ended - begun);
    if (arguments.check) {
        int centres;
        const double wanted = reference(other, seed, centres);
        expect_close("total", &total, &wanted, 1, 1e-5);
        expect("centres", centres == int(open.size()));
    }
}
