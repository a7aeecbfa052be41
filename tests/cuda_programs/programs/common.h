// What all programs share: arguments, random numbers, a clock, result lines, comparisons with references.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

// ---- arguments: numbers in order, and --check ----
struct Arguments {
    std::vector<long> numbers;
    bool check = false;

    Arguments(int count, char **values) {
        for (int k = 1; k < count; ++k) {
            if (!std::strcmp(values[k], "--check")) check = true;
            else numbers.push_back(std::atol(values[k]));
        }
    }
    long number(size_t place, long otherwise) const { return place < numbers.size() ? numbers[place] : otherwise; }
};

// ---- random numbers: a function of seed and index, so that the order of generation does not matter (splitmix64) ----
HOST_DEVICE inline uint64_t random_bits(uint64_t seed, uint64_t index) {
    uint64_t z = (seed + 1) * 0xd1342543de82ef95ull + (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
HOST_DEVICE inline double random_unit(uint64_t seed, uint64_t index) {   // [0, 1)
    return (random_bits(seed, index) >> 11) * (1.0 / 9007199254740992.0);
}
HOST_DEVICE inline float random_float(uint64_t seed, uint64_t index) {   // [0, 1)
    return (random_bits(seed, index) >> 40) * (1.0f / 16777216.0f);
}

// ---- time: of the wall; with PROGRAMS_CLOCK=cpu, of all the process's threads (busy machines change it less) ----
inline double milliseconds() {
    static const bool cpu = std::getenv("PROGRAMS_CLOCK") && !std::strcmp(std::getenv("PROGRAMS_CLOCK"), "cpu");
    if (cpu) {
        timespec now;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
    }
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}
inline void print_times(double kernel_ms, double total_ms) {
    std::printf("kernel_ms %.4f\ntotal_ms %.4f\n", kernel_ms, total_ms);
}

// ---- results ----
inline void result(const char *name, double value) { std::printf("result %s %.10g\n", name, value); }

// Three numbers that say much of an array: its sum, a sum in which each place has its own weight, its largest value.
template <class T> void results(const char *name, const T *values, size_t count) {
    double sum = 0, weighted = 0, largest = 0;
    for (size_t i = 0; i < count; ++i) {
        const double v = double(values[i]);
        sum += v;
        weighted += v * (0.5 + random_unit(7, i));
        largest = std::max(largest, std::fabs(v));
    }
    std::printf("result %s.sum %.10g\nresult %s.weighted %.10g\nresult %s.largest %.10g\n", name, sum, name, weighted,
                name, largest);
}
template <class T> void results(const char *name, const std::vector<T> &values) {
    results(name, values.data(), values.size());
}

// ---- comparisons: the largest difference relative to the largest value ----
template <class T> void expect_close(const char *name, const T *got, const T *wanted, size_t count, double tolerance) {
    double difference = 0, largest = 0;
    bool good = true;
    for (size_t i = 0; i < count; ++i) {
        const double d = std::fabs(double(got[i]) - double(wanted[i]));
        good = good && d == d;
        difference = std::max(difference, d);
        largest = std::max(largest, std::fabs(double(wanted[i])));
    }
    if (largest > 0) difference /= largest;
    good = good && difference <= tolerance;
    std::printf("check %s: difference %.3g, at most %.3g: %s\n", name, difference, tolerance, good ? "good" : "WRONG");
    if (!good) std::exit(1);
}
template <class T> void expect_close(const char *name, const std::vector<T> &got, const std::vector<T> &wanted,
                                     double tolerance) {
    if (got.size() != wanted.size()) { std::printf("check %s: WRONG size\n", name); std::exit(1); }
    expect_close(name, got.data(), wanted.data(), got.size(), tolerance);
}
inline void expect(const char *name, bool good) {
    std::printf("check %s: %s\n", name, good ? "good" : "WRONG");
    if (!good) std::exit(1);
}
