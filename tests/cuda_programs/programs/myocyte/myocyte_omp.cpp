// myocyte CELLS STEPS SEED [--check]: strips of cells are shared out; a strip goes through all steps in vectors.
#include "myocyte.h"

constexpr int STRIP = 64;

// One step of cells first ... last - 1.
static void all_of(float *__restrict v, float *__restrict m, float *__restrict h, float *__restrict n,
                   float *__restrict top, const float *strengths, const float *sodiums, int first, int last, int step) {
#pragma omp simd
    for (int i = first; i < last; ++i) {
        const Cell c = runge_kutta({v[i], m[i], h[i], n[i]}, stimulus_at(step, strengths[i]), sodiums[i], STEP);
        v[i] = c.v;
        m[i] = c.m;
        h[i] = c.h;
        n[i] = c.n;
        top[i] = c.v > top[i] ? c.v : top[i];
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int cells = arguments.number(0, 2048), steps = arguments.number(1, 400);
    std::vector<float> state(4 * size_t(cells)), strength(cells), sodium(cells), highest(cells, -100.0f);
    make_inputs(cells, arguments.number(2, 1), state, strength, sodium);
    const std::vector<float> first = state;

    const double begun = milliseconds();
    float *v = state.data(), *m = v + cells, *h = m + cells, *n = h + cells, *top = highest.data();
    const float *strengths = strength.data(), *sodiums = sodium.data();
#pragma omp parallel for schedule(static)
    for (int strip = 0; strip < cells; strip += STRIP) {
        const int last = std::min(strip + STRIP, cells);
        for (int step = 0; step < steps; ++step) all_of(v, m, h, n, top, strengths, sodiums, strip, last, step);
    }
    const double ended = milliseconds();

    results("state", state);
    results("highest", highest);
    print_times(ended - begun, ended - begun);
    if (arguments.check) check(first, state, strength, sodium, cells, steps);
}
