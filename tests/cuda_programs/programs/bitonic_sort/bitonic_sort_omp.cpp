// bitonic_sort LOG2_N SEED [--check]: short distances in pieces that stay in the cache, minima and maxima in vectors.
#include "bitonic_sort.h"

constexpr size_t INSIDE = 1 << 14;

// Numbers `distance` apart, for `distance` numbers from `low` on.
static void exchange(unsigned *low, size_t distance, bool upward) {
    unsigned *__restrict a = low, *__restrict b = low + distance;
    if (upward)
#pragma omp simd
        for (size_t i = 0; i < distance; ++i) {
            const unsigned x = a[i], y = b[i];
            a[i] = std::min(x, y);
            b[i] = std::max(x, y);
        }
    else
#pragma omp simd
        for (size_t i = 0; i < distance; ++i) {
            const unsigned x = a[i], y = b[i];
            a[i] = std::max(x, y);
            b[i] = std::min(x, y);
        }
}

// All distances from `first` down, in `count` numbers that begin at number `place` of all.
static void merge(unsigned *keys, size_t place, size_t count, size_t size, size_t first) {
    for (size_t distance = first; distance > 0; distance /= 2)
        for (size_t i = 0; i < count; i += 2 * distance)
            exchange(keys + place + i, distance, ((place + i) & size) == 0);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const size_t n = size_t(1) << std::max(10l, arguments.number(0, 14)), inside = std::min(n, INSIDE);
    std::vector<unsigned> sorted(n);
    make_inputs(arguments.number(1, 1), sorted);
    const std::vector<unsigned> before = arguments.check ? sorted : std::vector<unsigned>();

    const double begun = milliseconds();
    unsigned *keys = sorted.data();
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t place = 0; place < n; place += inside)
            for (size_t size = 2; size <= inside; size *= 2) merge(keys, place, inside, size, size / 2);
        for (size_t size = 2 * inside; size <= n; size *= 2) {
            for (size_t distance = size / 2; distance >= inside; distance /= 2) {
#pragma omp for schedule(static)
                for (size_t k = 0; k < n / 2; k += inside / 2) {            // pieces of pairs
                    const size_t low = k / distance * 2 * distance + k % distance;
                    unsigned *__restrict a = keys + low, *__restrict b = keys + low + distance;
                    const bool upward = (low & size) == 0;
#pragma omp simd
                    for (size_t i = 0; i < inside / 2; ++i) {
                        const unsigned x = a[i], y = b[i], least = std::min(x, y), most = std::max(x, y);
                        a[i] = upward ? least : most;
                        b[i] = upward ? most : least;
                    }
                }
            }
#pragma omp for schedule(static)
            for (size_t place = 0; place < n; place += inside) merge(keys, place, inside, size, inside / 2);
        }
    }
    const double ended = milliseconds();

    print_times(ended - begun, ended - begun);
    finish(before, sorted, arguments.check);
}
