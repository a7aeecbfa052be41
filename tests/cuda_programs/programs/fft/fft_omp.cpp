// fft ROWS TIMES SEED [--check]: rows are shared out; real and imaginary parts apart, butterflies in vectors.
#include "fft.h"

// One stage: groups of `length` numbers; from `in` to `out`, both N real parts and then N imaginary ones.
static void stage(const float *__restrict in, float *__restrict out, const float *__restrict roots, int length,
                  float sign) {
    const int step = QUARTER / length;
    auto four = [&](int j, int k, int to) {
        Complex v[4];
        for (int r = 0; r < 4; ++r) v[r] = {in[j + r * QUARTER], in[N + j + r * QUARTER]};
        for (int r = 1; r < 4; ++r) v[r] = v[r] * Complex{roots[r * k * step], -sign * roots[N + r * k * step]};
        butterfly(v, sign);
        for (int r = 0; r < 4; ++r) {
            out[to + r * length] = v[r].re;
            out[N + to + r * length] = v[r].im;
        }
    };
    if (length >= 16) {                              // the numbers of a group are the vector
        for (int group = 0; group < step; ++group)
#pragma omp simd
            for (int k = 0; k < length; ++k) four(group * length + k, k, group * length * 4 + k);
    } else {                                         // groups are the vector
        for (int k = 0; k < length; ++k)
#pragma omp simd
            for (int group = 0; group < step; ++group) four(group * length + k, k, group * length * 4 + k);
    }
}

// In place; five stages end in the other array.
static float *transform(float *a, float *b, const float *roots, float sign) {
    int length = 1;
    for (int s = 0; s < STAGES; ++s, length *= 4) {
        stage(a, b, roots, length, sign);
        std::swap(a, b);
    }
    return a;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int rows = arguments.number(0, 64), times = arguments.number(1, 2);
    std::vector<Complex> data(size_t(rows) * N), roots(N);
    std::vector<float> filter(N);
    make_inputs(rows, arguments.number(2, 1), data, roots, filter);
    const std::vector<Complex> first = arguments.check ? data : std::vector<Complex>();

    const double begun = milliseconds();
    std::vector<float> parts(2 * N);
    for (int k = 0; k < N; ++k) {
        parts[k] = roots[k].re;
        parts[N + k] = roots[k].im;
    }
    for (int time = 0; time < times; ++time)
#pragma omp parallel for schedule(static)
        for (int r = 0; r < rows; ++r) {
            alignas(64) float a[2 * N], b[2 * N];
            Complex *row = &data[size_t(r) * N];
            for (int k = 0; k < N; ++k) {
                a[k] = row[k].re;
                a[N + k] = row[k].im;
            }
            float *there = transform(a, b, parts.data(), -1);
#pragma omp simd
            for (int k = 0; k < N; ++k) {
                there[k] *= filter[k];
                there[N + k] *= filter[k];
            }
            const float *back = transform(there, there == a ? b : a, parts.data(), 1);
            for (int k = 0; k < N; ++k) row[k] = {back[k], back[N + k]};
        }
    const double ended = milliseconds();

    results("data", &data[0].re, 2 * data.size());
    print_times(ended - begun, ended - begun);
    if (arguments.check) check(first, data, filter, rows, times);
}
