// monte_carlo PATHS STEPS SEED [--check]: strips of paths are shared out; the generator and the walks go in vectors.
#include "monte_carlo.h"

constexpr int STRIP = 64;

// Philox 4x32-10 (Salmon and others, 2011): ten rounds of products and exclusive ors.
static inline void philox(uint32_t *c, uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = 0xd2511f53ull * c[0], b = 0xcd9e8d57ull * c[2];
        const uint32_t c0 = uint32_t(b >> 32) ^ c[1] ^ key0, c2 = uint32_t(a >> 32) ^ c[3] ^ key1;
        c[0] = c0;
        c[1] = uint32_t(b);
        c[2] = c2;
        c[3] = uint32_t(a);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
}

// Two normal numbers of two integers, by Box and Muller.
static inline void normals(uint32_t x, uint32_t y, float &first, float &second) {
    const float scale = 2.3283064e-10f, turn = scale * 6.2831855f;
    const float u = x * scale + scale / 2, v = y * turn + turn / 2, radius = std::sqrt(-2 * std::log(u));
    first = radius * std::sin(v);
    second = radius * std::cos(v);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int paths = arguments.number(0, 20000), steps = (arguments.number(1, 32) + 3) / 4 * 4;
    const uint64_t seed = arguments.number(2, 1);

    const double begun = milliseconds();
    const Option o = OPTION;
    const float dt = o.time / steps, drift = (o.rate - 0.5f * o.volatility * o.volatility) * dt;
    const float spread = o.volatility * std::sqrt(dt);
    double payoffs = 0, squares = 0, lasts = 0;
#pragma omp parallel for schedule(static) reduction(+ : payoffs, squares, lasts)
    for (int first = 0; first < paths; first += STRIP) {
        const int here = std::min(STRIP, paths - first);
        float logarithm[STRIP] = {}, sum[STRIP] = {}, z[4][STRIP];
        uint32_t bits[4][STRIP];
        for (int k = 0; k < steps; k += 4) {
#pragma omp simd
            for (int i = 0; i < here; ++i) {
                uint32_t c[4] = {uint32_t(k / 4), 0, uint32_t(first + i), 0};
                philox(c, uint32_t(seed), uint32_t(seed >> 32));
                for (int n = 0; n < 4; ++n) bits[n][i] = c[n];
            }
#pragma omp simd
            for (int i = 0; i < here; ++i) {
                normals(bits[0][i], bits[1][i], z[0][i], z[1][i]);
                normals(bits[2][i], bits[3][i], z[2][i], z[3][i]);
            }
            for (int n = 0; n < 4; ++n)
#pragma omp simd
                for (int i = 0; i < here; ++i) {
                    logarithm[i] += drift + spread * z[n][i];
                    sum[i] += std::exp(logarithm[i]);
                }
        }
        for (int i = 0; i < here; ++i) {
            const double payoff = std::max(o.start * sum[i] / steps - o.strike, 0.0f);
            payoffs += payoff;
            squares += payoff * payoff;
            lasts += o.start * std::exp(logarithm[i]);
        }
    }
    const double ended = milliseconds();

    print_times(ended - begun, ended - begun);
    finish({payoffs, squares, lasts}, paths, arguments.check);
}
