// Arrays of the tests' programs: numbers that Python knows, results into a file that Python reads.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define GOOD(CALL)                                                                                         \
    do {                                                                                                   \
        if (const int status_ = int(CALL)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #CALL, status_);            \
            std::exit(1);                                                                                  \
        }                                                                                                  \
    } while (0)

// Number k of series `seed`, from -1 to 1 in steps of 1/512: what is added and multiplied little is exact.
inline double number(uint32_t seed, uint32_t k) {
    uint32_t z = (seed * 0x9e3779b9u) ^ (k * 0x85ebca6bu + 0x165667b1u);
    z = (z ^ (z >> 15)) * 0x2c1b3c6du;
    z = (z ^ (z >> 12)) * 0x297a2d39u;
    return double((z ^ (z >> 15)) % 1025) / 512 - 1;
}

template <class T> struct Scalars { using Part = T; static constexpr int parts = 1; };
template <> struct Scalars<float2> { using Part = float; static constexpr int parts = 2; };
template <> struct Scalars<double2> { using Part = double; static constexpr int parts = 2; };

// Device memory with the numbers of a series.
template <class T> T *numbers(uint32_t seed, size_t count) {
    using Part = typename Scalars<T>::Part;
    std::vector<Part> made(count * Scalars<T>::parts);
    for (size_t k = 0; k < made.size(); ++k) made[k] = Part(number(seed, uint32_t(k)));
    T *device;
    GOOD(cudaMalloc(&device, (count ? count : 1) * sizeof(T)));
    GOOD(cudaMemcpy(device, made.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}
template <class T> T *on_device(const std::vector<T> &host) {
    T *device;
    GOOD(cudaMalloc(&device, (host.size() ? host.size() : 1) * sizeof(T)));
    GOOD(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

// The file: a line "name type count" and the bytes, each.
inline FILE *&results() { static FILE *file = nullptr; return file; }
template <class T> const char *type_name();
template <> inline const char *type_name<float>() { return "f4"; }
template <> inline const char *type_name<double>() { return "f8"; }
template <> inline const char *type_name<float2>() { return "c8"; }
template <> inline const char *type_name<double2>() { return "c16"; }
template <> inline const char *type_name<int>() { return "i4"; }
template <> inline const char *type_name<unsigned>() { return "u4"; }
template <class T> void save(const std::string &name, const T *device, size_t count) {
    std::vector<T> host(count);
    GOOD(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    std::fprintf(results(), "%s %s %zu\n", name.c_str(), type_name<T>(), count);
    std::fwrite(host.data(), sizeof(T), count, results());
}
template <class T> void save(const std::string &name, T value) {
    std::fprintf(results(), "%s %s 1\n", name.c_str(), type_name<T>());
    std::fwrite(&value, sizeof(T), 1, results());
}
