// Acoustic waves in layered ground: p_tt = c(x, z)^2 (p_xx + p_zz) + source, second order in time, eighth in space.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>

constexpr int HALO = 4;                     // of the stencil, on each side
constexpr int SPONGE = 40;                  // points in which waves are damped, on three sides

struct Grid {
    int nx, nz;                             // points, without halos
    float h, dt;                            // metres, seconds
    __host__ __device__ size_t pitch() const { return size_t(nx) + 2 * HALO; }
    __host__ __device__ size_t at(int x, int z) const { return (size_t(z) + HALO) * pitch() + x + HALO; }
    size_t points() const { return pitch() * (size_t(nz) + 2 * HALO); }
};

#define CHECK(CALL)                                                                              \
    do {                                                                                         \
        const cudaError_t error_ = (CALL);                                                       \
        if (error_ != cudaSuccess) {                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));      \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

