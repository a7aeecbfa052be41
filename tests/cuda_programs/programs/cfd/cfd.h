// The Euler equations of a gas on an unstructured mesh of cells with four neighbours each, explicit Runge-Kutta steps.
#pragma once
#include "../common.h"

constexpr int FACES = 4, FIELDS = 5;                     // density, momentum x, y, z, energy: field by field
constexpr float GAMMA = 1.4f, MACH = 1.2f, ANGLE = 0.05f;
constexpr int WALL = -1, FAR = -2;

struct Far { float u[FIELDS]; };

inline Far far_field() {
    const float density = 1.4f, pressure = 1, speed = MACH * std::sqrt(GAMMA * pressure / density);
    const float vx = speed * std::cos(ANGLE), vy = speed * std::sin(ANGLE);
    return {{density, density * vx, density * vy, 0,
             pressure / (GAMMA - 1) + 0.5f * density * (vx * vx + vy * vy)}};
}

struct Mesh {
    int cells;
    std::vector<int> neighbours;                         // face by face
    std::vector<float> normals, areas;                   // normals: face by face, x y z by turns of cells

    // A strip of deformed squares with a bump below, its cells in random order inside groups, like a mesher's.
    Mesh(int columns, int rows, long seed) : cells(columns * rows), neighbours(FACES * cells),
                                            normals(3 * FACES * size_t(cells)), areas(cells) {
        std::vector<int> number(cells), group(64);
        for (int first = 0; first < cells; first += 64) {
            const int here = std::min(64, cells - first);
            for (int k = 0; k < here; ++k) group[k] = k;
            for (int k = here - 1; k > 0; --k) std::swap(group[k], group[random_bits(seed, first + k) % (k + 1)]);
            for (int k = 0; k < here; ++k) number[first + k] = first + group[k];
        }
        auto px = [&](int i, int) { return float(i); };
        auto py = [&](int i, int j) {
            const float t = (i - columns * 0.4f) / (columns * 0.2f), bump = t > 0 && t < 1 ? t * (1 - t) : 0;
            return j + 0.4f * rows * bump * (1 - float(j) / rows);
        };
        for (int j = 0; j < rows; ++j)
            for (int i = 0; i < columns; ++i) {
                const int c = number[j * columns + i];
                const int next[FACES] = {j > 0 ? number[(j - 1) * columns + i] : WALL,
                                         i < columns - 1 ? number[j * columns + i + 1] : FAR,
                                         j < rows - 1 ? number[(j + 1) * columns + i] : FAR,
                                         i > 0 ? number[j * columns + i - 1] : FAR};
                const float x[FACES] = {px(i, j), px(i + 1, j), px(i + 1, j + 1), px(i, j + 1)};
                const float y[FACES] = {py(i, j), py(i + 1, j), py(i + 1, j + 1), py(i, j + 1)};
                float area = 0;
                for (int f = 0; f < FACES; ++f) {
                    const int g = (f + 1) % FACES;
                    neighbours[f * cells + c] = next[f];
                    normals[(f * 3 + 0) * size_t(cells) + c] = y[g] - y[f];
                    normals[(f * 3 + 1) * size_t(cells) + c] = x[f] - x[g];
                    normals[(f * 3 + 2) * size_t(cells) + c] = 0;
                    area += 0.5f * (x[f] * y[g] - x[g] * y[f]);
                }
                areas[c] = area;
            }
    }
};

struct State { float density, mx, my, mz, energy, vx, vy, vz, pressure, speed, sound; };

HOST_DEVICE inline State state_of(float density, float mx, float my, float mz, float energy) {
    State s;
    s.density = density; s.mx = mx; s.my = my; s.mz = mz; s.energy = energy;
    s.vx = mx / density; s.vy = my / density; s.vz = mz / density;
    const float v2 = s.vx * s.vx + s.vy * s.vy + s.vz * s.vz;
    s.pressure = (GAMMA - 1) * (energy - 0.5f * density * v2);
    s.speed = sqrtf(v2);
    s.sound = sqrtf(GAMMA * s.pressure / density);
    return s;
}

// Adds the flux through one face to a cell (the mean of both sides, and a term of artificial viscosity).
HOST_DEVICE inline void add_flux(float *flux, const State &a, const State &b, float nx, float ny, float nz,
                                 float viscosity) {
    const float length = sqrtf(nx * nx + ny * ny + nz * nz);
    const float k = length * viscosity * 0.5f * (a.speed + b.speed + a.sound + b.sound);
    const float va = a.vx * nx + a.vy * ny + a.vz * nz, vb = b.vx * nx + b.vy * ny + b.vz * nz;
    const float p = 0.5f * (a.pressure + b.pressure);
    flux[0] += k * (b.density - a.density) - 0.5f * (a.density * va + b.density * vb);
    flux[1] += k * (b.mx - a.mx) - 0.5f * (a.mx * va + b.mx * vb) - p * nx;
    flux[2] += k * (b.my - a.my) - 0.5f * (a.my * va + b.my * vb) - p * ny;
    flux[3] += k * (b.mz - a.mz) - 0.5f * (a.mz * va + b.mz * vb) - p * nz;
    flux[4] += k * (b.energy - a.energy) - 0.5f * ((a.energy + a.pressure) * va + (b.energy + b.pressure) * vb);
}
constexpr float VISCOSITY = 0.5f;

// Fluxes into one cell.
HOST_DEVICE inline void fluxes_of(float *flux, const float *u, const int *neighbours, const float *normals, int cells,
                                  int c, const Far &far) {
    const State here = state_of(u[c], u[cells + c], u[2 * cells + c], u[3 * cells + c], u[4 * cells + c]);
    const State out = state_of(far.u[0], far.u[1], far.u[2], far.u[3], far.u[4]);
    for (int k = 0; k < FIELDS; ++k) flux[k] = 0;
    for (int f = 0; f < FACES; ++f) {
        const int o = neighbours[f * cells + c];
        const float nx = normals[(f * 3 + 0) * cells + c], ny = normals[(f * 3 + 1) * cells + c];
        const float nz = normals[(f * 3 + 2) * cells + c];
        if (o >= 0) {
            add_flux(flux, here, state_of(u[o], u[cells + o], u[2 * cells + o], u[3 * cells + o], u[4 * cells + o]), nx,
                     ny, nz, VISCOSITY);
        } else if (o == FAR) {
            add_flux(flux, here, out, nx, ny, nz, VISCOSITY);
        } else {                                         // a wall: pressure alone
            flux[1] -= here.pressure * nx;
            flux[2] -= here.pressure * ny;
            flux[3] -= here.pressure * nz;
        }
    }
}

HOST_DEVICE inline float step_factor(const State &s, float area) {
    return 0.25f / (sqrtf(area) * (s.speed + s.sound));
}

inline std::vector<float> reference(const Mesh &m, int steps) {
    const int n = m.cells;
    const Far far = far_field();
    std::vector<float> u(FIELDS * size_t(n)), old, fluxes(u.size()), factor(n);
    for (int k = 0; k < FIELDS; ++k) std::fill_n(&u[k * size_t(n)], n, far.u[k]);
    for (int step = 0; step < steps; ++step) {
        old = u;
        for (int c = 0; c < n; ++c)
            factor[c] = step_factor(state_of(u[c], u[n + c], u[2 * n + c], u[3 * n + c], u[4 * n + c]), m.areas[c]);
        for (int stage = 0; stage < 3; ++stage) {
            for (int c = 0; c < n; ++c) {
                float flux[FIELDS];
                fluxes_of(flux, u.data(), m.neighbours.data(), m.normals.data(), n, c, far);
                for (int k = 0; k < FIELDS; ++k) fluxes[k * n + c] = flux[k];
            }
            for (int k = 0; k < FIELDS; ++k)
                for (int c = 0; c < n; ++c) u[k * n + c] = old[k * n + c] + factor[c] / (3 - stage) * fluxes[k * n + c];
        }
    }
    return u;
}
