// What happens in one hexahedron: geometry, viscosity and corner forces. For the kernels, and for yardstick.cpp.
#pragma once
#include <math.h>

#ifdef __CUDACC__
#define HERE __host__ __device__ inline
#else
#define HERE inline
#endif

constexpr int CORNERS = 8, DIRECTIONS = 3, SIDES = 6;
constexpr double GAMMA = 1.4;
constexpr double LINEAR = 0.5, QUADRATIC = 2.0 / 3.0;   // of the artificial viscosity
constexpr double HOURGLASS = 0.03;                      // of the forces against hourglass modes
constexpr double COURANT = 0.45, LARGEST_STRETCH = 0.1, GROWTH = 1.1, FAR = 1e30;
constexpr double LEAST_ENERGY = 1e-12;                  // J/kg

// Corner c is at (c & 1 ^ c >> 1 & 1, c >> 1 & 1, c >> 2) of the unit cube; sides turn outward.
constexpr int SIDE[SIDES][4] = {{0, 4, 7, 3}, {1, 2, 6, 5}, {0, 1, 5, 4}, {3, 7, 6, 2}, {0, 3, 2, 1}, {4, 5, 6, 7}};

struct Vector { double x, y, z; };
HERE Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
HERE Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
HERE Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
HERE double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HERE Vector cross(Vector a, Vector b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// The volume of a trilinear hexahedron, and its gradient by each corner: the mean of both triangulations of each side.
HERE double volume_and_gradient(const Vector *corner, Vector *gradient) {
    for (int c = 0; c < CORNERS; ++c) gradient[c] = {0, 0, 0};
    for (int s = 0; s < SIDES; ++s)
        for (int k = 0; k < 4; ++k) {
            const Vector b = corner[SIDE[s][(k + 1) % 4]], c = corner[SIDE[s][(k + 2) % 4]];
            const Vector d = corner[SIDE[s][(k + 3) % 4]];
            Vector &of = gradient[SIDE[s][k]];
            of = of + (1.0 / 12.0) * (cross(b, c + d) + cross(c, d));
        }
    double volume = 0;
    for (int c = 0; c < CORNERS; ++c) volume += dot(corner[c], gradient[c]);
    return volume / 3.0;
}

HERE Vector across(const Vector *at, int direction) {
    Vector sum = {0, 0, 0};
    for (int k = 0; k < 4; ++k) sum = sum + at[SIDE[2 * direction + 1][k]] - at[SIDE[2 * direction][k]];
    return 0.25 * sum;
}

struct Rates {
    double rate[DIRECTIONS], length[DIRECTIONS];        // velocity gradient along, and size in, each direction
    double expansion, shortest;                         // dV/dt / V, and the size that sound crosses first
};

HERE Rates rates_of(const Vector *corner, const Vector *velocity, const Vector *gradient, double volume) {
    const Vector edge[DIRECTIONS] = {across(corner, 0), across(corner, 1), across(corner, 2)};
    Rates r = {};
    double largest = 0;
    for (int d = 0; d < DIRECTIONS; ++d) {
        const Vector area = cross(edge[(d + 1) % 3], edge[(d + 2) % 3]);
        const double size = sqrt(dot(area, area));
        r.rate[d] = dot(area, across(velocity, d)) / volume;
        r.length[d] = volume / size;
        largest = fmax(largest, size);
    }
    for (int c = 0; c < CORNERS; ++c) r.expansion += dot(gradient[c], velocity[c]);
    r.expansion /= volume;
    r.shortest = volume / largest;
    return r;
}

// 1 where the velocity gradient is the neighbours', so that smooth compression has no viscosity; 0 at jumps and ends.
HERE double smoothness(double own, double before, double after) {
    if (own == 0) return 1;
    const double b = before / own, a = after / own;
    return fmax(0.0, fmin(fmin(0.5 * (a + b), fmin(2 * a, 2 * b)), 1.0));
}

HERE double viscosity_of(double density, double sound, double expansion, const double *rate, const double *length,
                         const double *smooth) {
    if (expansion >= 0) return 0;
    double linear = 0, quadratic = 0;
    for (int d = 0; d < DIRECTIONS; ++d) {
        const double jump = fmin(rate[d] * length[d], 0.0);
        linear -= jump * (1 - smooth[d]);
        quadratic += jump * jump * (1 - smooth[d] * smooth[d]);
    }
    return density * (LINEAR * sound * linear + QUADRATIC * quadratic);
}

HERE double longest_step(double sound, double expansion, double shortest) {
    const double closing = fmin(expansion, 0.0) * shortest;
    const double courant = COURANT * shortest / sqrt(sound * sound + 4 * QUADRATIC * closing * closing);
    return expansion == 0 ? courant : fmin(courant, LARGEST_STRETCH / fabs(expansion));
}

HERE double next_step(double allowed, double step) { return fmin(allowed, GROWTH * step); }

// Forces on the corners: pressure, and against the four modes that change no volume and no side's mean.
HERE void corner_forces(const Vector *corner, const Vector *velocity, const Vector *gradient, double volume,
                        double pressure, double sound, double mass, Vector *force) {
    for (int c = 0; c < CORNERS; ++c) force[c] = pressure * gradient[c];
    const double strength = HOURGLASS * sound * mass / cbrt(volume);
    for (int mode = 0; mode < 4; ++mode) {
        double shape[CORNERS];
        Vector place = {0, 0, 0}, speed = {0, 0, 0};
        for (int c = 0; c < CORNERS; ++c) {
            const int sx = 2 * ((c & 1) ^ (c >> 1 & 1)) - 1, sy = 2 * (c >> 1 & 1) - 1, sz = 2 * (c >> 2) - 1;
            shape[c] = mode == 0 ? sy * sz : mode == 1 ? sz * sx : mode == 2 ? sx * sy : sx * sy * sz;
            place = place + shape[c] * corner[c];
        }
        for (int c = 0; c < CORNERS; ++c) {
            shape[c] -= dot(gradient[c], place) / volume;
            speed = speed + shape[c] * velocity[c];
        }
        for (int c = 0; c < CORNERS; ++c) force[c] = force[c] - (strength * shape[c]) * speed;
    }
}
