// radix_sort N SEED [--check]: digits of eight bits; each thread counts and moves its own part of the keys.
#include <omp.h>

#include "radix_sort.h"

constexpr int BITS = 8, DIGITS = 1 << BITS;

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 20000);
    std::vector<unsigned> keys(n), values(n);
    make_inputs(arguments.number(1, 1), keys, values);
    const std::vector<unsigned> before = arguments.check ? keys : std::vector<unsigned>();

    const double begun = milliseconds();
    std::vector<unsigned> other_keys(n), other_values(n);
    std::vector<unsigned> counts(size_t(omp_get_max_threads()) * DIGITS);
    const double kernel_begun = milliseconds();
#pragma omp parallel
    {
        const int me = omp_get_thread_num(), team = omp_get_num_threads();
        const int first = int(long(n) * me / team), last = int(long(n) * (me + 1) / team);
        unsigned *from = keys.data(), *to = other_keys.data();
        unsigned *from_values = values.data(), *to_values = other_values.data();
        for (int shift = 0; shift < 32; shift += BITS) {
            unsigned count[DIGITS] = {};
            for (int i = first; i < last; ++i) ++count[from[i] >> shift & (DIGITS - 1)];
            std::copy_n(count, DIGITS, &counts[size_t(me) * DIGITS]);
#pragma omp barrier
            unsigned sum = 0;
            for (int d = 0; d < DIGITS; ++d)
                for (int k = 0; k < team; ++k) {
                    if (k == me) count[d] = sum;
                    sum += counts[size_t(k) * DIGITS + d];
                }
            for (int i = first; i < last; ++i) {
                const unsigned place = count[from[i] >> shift & (DIGITS - 1)]++;
                to[place] = from[i];
                to_values[place] = from_values[i];
            }
            std::swap(from, to);
            std::swap(from_values, to_values);
#pragma omp barrier
        }
    }
    const double ended = milliseconds();

    print_times(ended - kernel_begun, ended - begun);
    finish(before, keys, values, arguments.check);
}
