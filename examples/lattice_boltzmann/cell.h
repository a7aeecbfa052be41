// One cell of a D3Q19 lattice: moments, relaxation, and cells that a body fills in part. In units of the lattice.
#pragma once

#ifdef __CUDACC__
#define HERE __host__ __device__ inline
#else
#define HERE inline
#endif

constexpr int Q = 19;
// Velocities come in opposite pairs: 1 and 2, 3 and 4...
constexpr int CX[Q] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
constexpr int CY[Q] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
constexpr int CZ[Q] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

HERE constexpr int opposite(int i) { return i == 0 ? 0 : i % 2 ? i + 1 : i - 1; }
HERE constexpr double weight(int i) { return i == 0 ? 1.0 / 3 : i < 7 ? 1.0 / 18 : 1.0 / 36; }

struct Moments { double density, ux, uy, uz; };

HERE double equilibrium(int i, Moments m) {
    const double along = CX[i] * m.ux + CY[i] * m.uy + CZ[i] * m.uz;
    return weight(i) * m.density *
           (1 + 3 * along + 4.5 * along * along - 1.5 * (m.ux * m.ux + m.uy * m.uy + m.uz * m.uz));
}

HERE Moments moments(const double *f) {
    Moments m = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < Q; ++i) {
        m.density += f[i];
        m.ux += CX[i] * f[i];
        m.uy += CY[i] * f[i];
        m.uz += CZ[i] * f[i];
    }
    m.ux /= m.density;
    m.uy /= m.density;
    m.uz /= m.density;
    return m;
}

// Part of the collision that the body has in a cell that it fills by `solid` (Noble and Torczynski 1998).
HERE double coverage(double solid, double tau) { return solid * (tau - 0.5) / (1 - solid + tau - 0.5); }

// Populations after collision: relaxation in the fluid, what deviates from equilibrium bounces back in the body.
HERE double collided(int i, const double *f, Moments m, double tau, double cover) {
    const double fluid = (equilibrium(i, m) - f[i]) / tau;
    const double body = f[opposite(i)] - f[i] + weight(i) * m.density - equilibrium(opposite(i), m);
    return f[i] + (1 - cover) * fluid + cover * body;
}
