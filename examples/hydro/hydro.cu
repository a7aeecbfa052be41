// Lagrangian hydrodynamics on unstructured hexahedra, one thread an element or a node.
// Arrays of elements, nodes and corners (corner c of element e at [c * elements + e]) are in SI units.
#include "element.h"

constexpr int THREADS = 128;
struct Clock { double step, time; unsigned long long allowed; };    // allowed: the bits of the longest step

__device__ void gather(const int *corner_nodes, int elements, int e, const double *x, const double *y, const double *z,
                       Vector *at) {
    for (int c = 0; c < CORNERS; ++c) {
        const int n = corner_nodes[c * elements + e];
        at[c] = {x[n], y[n], z[n]};
    }
}

// Where nodes are after half a step.
extern "C" __global__ void predict_nodes(int nodes, const Clock *clock, const double *x, const double *y,
                                         const double *z, const double *vx, const double *vy, const double *vz,
                                         double *hx, double *hy, double *hz) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= nodes) return;
    const double half = 0.5 * clock->step;
    hx[n] = x[n] + half * vx[n];
    hy[n] = y[n] + half * vy[n];
    hz[n] = z[n] + half * vz[n];
}

// Density, pressure and velocity gradients there: gas that no shock has reached in this half step stays on its adiabat.
extern "C" __global__ void compute_state(int elements, const int *corner_nodes, const double *hx, const double *hy,
                                         const double *hz, const double *vx, const double *vy, const double *vz,
                                         const double *mass, const double *energy, const double *volume,
                                         double *density, double *pressure, double *sound, double *expansion,
                                         double *shortest, double *rate, double *length) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements) return;
    Vector corner[CORNERS], velocity[CORNERS], gradient[CORNERS];
    gather(corner_nodes, elements, e, hx, hy, hz, corner);
    gather(corner_nodes, elements, e, vx, vy, vz, velocity);
    const double now = volume_and_gradient(corner, gradient);
    const Rates r = rates_of(corner, velocity, gradient, now);
    const double specific = energy[e] * pow(volume[e] / now, GAMMA - 1);
    density[e] = mass[e] / now;
    pressure[e] = (GAMMA - 1) * density[e] * specific;
    sound[e] = sqrt(GAMMA * (GAMMA - 1) * specific);
    expansion[e] = r.expansion;
    shortest[e] = r.shortest;
    for (int d = 0; d < DIRECTIONS; ++d) {
        rate[d * (elements + 1) + e] = r.rate[d];       // entry `elements` is 0: outside of a free side
        length[d * elements + e] = r.length[d];
    }
}

// Pressure with the viscosity of shocks, and the longest step that all elements allow.
extern "C" __global__ void add_viscosity(int elements, const int *neighbours, const double *density,
                                         const double *sound, const double *expansion, const double *shortest,
                                         const double *rate, const double *length, double *pressure, Clock *clock) {
    __shared__ double smallest[THREADS];
    const int e = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x;
    double own = FAR;
    if (e < elements) {
        double rates[DIRECTIONS], lengths[DIRECTIONS], smooth[DIRECTIONS];
        for (int d = 0; d < DIRECTIONS; ++d) {
            const double *along = rate + d * (elements + 1);
            rates[d] = along[e];
            lengths[d] = length[d * elements + e];
            smooth[d] = smoothness(along[e], along[neighbours[2 * d * elements + e]],
                                   along[neighbours[(2 * d + 1) * elements + e]]);
        }
        pressure[e] += viscosity_of(density[e], sound[e], expansion[e], rates, lengths, smooth);
        own = longest_step(sound[e], expansion[e], shortest[e]);
    }
    smallest[t] = own;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) smallest[t] = fmin(smallest[t], smallest[t + half]);
        __syncthreads();
    }
    if (t == 0) atomicMin(&clock->allowed, (unsigned long long)__double_as_longlong(smallest[0]));
}

extern "C" __global__ void compute_forces(int elements, const int *corner_nodes, const double *hx, const double *hy,
                                          const double *hz, const double *vx, const double *vy, const double *vz,
                                          const double *mass, const double *pressure, const double *sound, double *fx,
                                          double *fy, double *fz) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements) return;
    Vector corner[CORNERS], velocity[CORNERS], gradient[CORNERS], force[CORNERS];
    gather(corner_nodes, elements, e, hx, hy, hz, corner);
    gather(corner_nodes, elements, e, vx, vy, vz, velocity);
    const double now = volume_and_gradient(corner, gradient);
    corner_forces(corner, velocity, gradient, now, pressure[e], sound[e], mass[e], force);
    for (int c = 0; c < CORNERS; ++c) {
        fx[c * elements + e] = force[c].x;
        fy[c * elements + e] = force[c].y;
        fz[c * elements + e] = force[c].z;
    }
}

// Sums of the forces of up to eight corners (slots that are empty point behind all corners, where forces are 0).
extern "C" __global__ void move_nodes(int nodes, const Clock *clock, const int *node_corners, const double *fx,
                                      const double *fy, const double *fz, const double *mass, const double *free_x,
                                      const double *free_y, const double *free_z, double *x, double *y, double *z,
                                      double *vx, double *vy, double *vz, double *mx, double *my, double *mz) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= nodes) return;
    Vector sum = {0, 0, 0};
    for (int k = 0; k < CORNERS; ++k) {
        const int c = node_corners[k * nodes + n];
        sum = sum + Vector{fx[c], fy[c], fz[c]};
    }
    const double step = clock->step, scale = step / mass[n];
    const Vector before = {vx[n], vy[n], vz[n]};
    const Vector after = {free_x[n] * (before.x + scale * sum.x), free_y[n] * (before.y + scale * sum.y),
                          free_z[n] * (before.z + scale * sum.z)};
    const Vector mean = 0.5 * (before + after);
    vx[n] = after.x;
    vy[n] = after.y;
    vz[n] = after.z;
    mx[n] = mean.x;
    my[n] = mean.y;
    mz[n] = mean.z;
    x[n] += step * mean.x;
    y[n] += step * mean.y;
    z[n] += step * mean.z;
}

// Elements lose what their corner forces did to the nodes: the sum of both energies is kept to rounding.
extern "C" __global__ void update_energy(int elements, const Clock *clock, const int *corner_nodes, const double *x,
                                         const double *y, const double *z, const double *mx, const double *my,
                                         const double *mz, const double *fx, const double *fy, const double *fz,
                                         const double *mass, double *energy, double *volume) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements) return;
    Vector corner[CORNERS], velocity[CORNERS], gradient[CORNERS];
    gather(corner_nodes, elements, e, x, y, z, corner);
    gather(corner_nodes, elements, e, mx, my, mz, velocity);
    double work = 0;
    for (int c = 0; c < CORNERS; ++c) {
        const int k = c * elements + e;
        work += dot({fx[k], fy[k], fz[k]}, velocity[c]);
    }
    energy[e] = fmax(energy[e] - clock->step * work / mass[e], LEAST_ENERGY);
    volume[e] = volume_and_gradient(corner, gradient);
}

extern "C" __global__ void advance_clock(Clock *clock) {
    clock->time += clock->step;
    clock->step = next_step(__longlong_as_double((long long)clock->allowed), clock->step);
    clock->allowed = (unsigned long long)__double_as_longlong(FAR);
}
