// D3Q19 lattice Boltzmann, populations f[i][z][y][x], one thread a cell. y and z are periodic; x is too, or has an
// inlet of given speed before it and an open end behind it.
#include "cell.h"

constexpr int THREADS = 128;

struct Lattice { int nx, ny, nz, periodic; };

// What streams into a cell.
__device__ void pull(Lattice l, const double *f, int x, int y, int z, double inflow, double *here) {
    const int cells = l.nx * l.ny * l.nz;
#pragma unroll
    for (int i = 0; i < Q; ++i) {
        int fx = x - CX[i];
        const int fy = (y - CY[i] + l.ny) % l.ny, fz = (z - CZ[i] + l.nz) % l.nz;
        if (l.periodic) fx = (fx + l.nx) % l.nx;
        if (fx < 0) here[i] = equilibrium(i, {1, inflow, 0, 0});
        else here[i] = f[i * cells + (fz * l.ny + fy) * l.nx + (fx < l.nx ? fx : l.nx - 1)];
    }
}

extern "C" __global__ void start(int cells, double inflow, double *f) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
#pragma unroll
    for (int i = 0; i < Q; ++i) f[i * cells + cell] = equilibrium(i, {1, inflow, 0, 0});
}

extern "C" __global__ void stream_and_collide(Lattice l, double tau, double inflow, double force, const double *solid,
                                              const double *f, double *after) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x, cells = l.nx * l.ny * l.nz;
    if (cell >= cells) return;
    double here[Q];
    pull(l, f, cell % l.nx, cell / l.nx % l.ny, cell / (l.nx * l.ny), inflow, here);
    const Moments m = moments(here);
    const double cover = coverage(solid[cell], tau);
#pragma unroll
    for (int i = 0; i < Q; ++i)
        after[i * cells + cell] = collided(i, here, m, tau, cover) + 3 * weight(i) * CX[i] * force;
}

// The momentum along x that cells of the body take in a step, summed.
extern "C" __global__ void add_drag(Lattice l, double tau, double inflow, const double *solid, const double *f,
                                    double *drag) {
    __shared__ double sum[THREADS];
    const int cell = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x;
    double taken = 0;
    if (cell < l.nx * l.ny * l.nz) {
        double here[Q];
        pull(l, f, cell % l.nx, cell / l.nx % l.ny, cell / (l.nx * l.ny), inflow, here);
        const Moments m = moments(here);
        taken = coverage(solid[cell], tau) * m.density * m.ux;
    }
    sum[t] = taken;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) sum[t] += sum[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(drag, sum[0]);
}

extern "C" __global__ void velocities(int cells, const double *f, double *ux, double *uy, double *uz) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    double here[Q];
#pragma unroll
    for (int i = 0; i < Q; ++i) here[i] = f[i * cells + cell];
    const Moments m = moments(here);
    ux[cell] = m.ux;
    uy[cell] = m.uy;
    uz[cell] = m.uz;
}
