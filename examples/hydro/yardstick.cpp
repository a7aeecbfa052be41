// The same steps as a C++ programmer writes them for CPUs: five loops, OpenMP, no temporaries that a loop can compute.
#include "element.h"
#include <algorithm>

struct Clock { double step, time; unsigned long long allowed; };

static inline void gather(const int *corner_nodes, int elements, int e, const double *x, const double *y,
                          const double *z, Vector *at) {
    for (int c = 0; c < CORNERS; ++c) {
        const int n = corner_nodes[c * elements + e];
        at[c] = {x[n], y[n], z[n]};
    }
}

extern "C" int run(int elements, int nodes, Clock *clock, double end, const int *corner_nodes, const int *node_corners,
                   const int *neighbours, const double *mass, const double *node_mass, const double *free_x,
                   const double *free_y, const double *free_z, double *x, double *y, double *z, double *vx, double *vy,
                   double *vz, double *hx, double *hy, double *hz, double *mx, double *my, double *mz, double *energy,
                   double *volume, double *pressure, double *sound, double *expansion, double *shortest, double *rate,
                   double *length, double *fx, double *fy, double *fz) {
    int steps = 0;
    double allowed = FAR;
    for (; clock->time < end; ++steps) {
        const double step = clock->step;
#pragma omp parallel
        {
#pragma omp for
            for (int n = 0; n < nodes; ++n) {
                hx[n] = x[n] + 0.5 * step * vx[n];
                hy[n] = y[n] + 0.5 * step * vy[n];
                hz[n] = z[n] + 0.5 * step * vz[n];
            }
#pragma omp for
            for (int e = 0; e < elements; ++e) {
                Vector corner[CORNERS], velocity[CORNERS], gradient[CORNERS];
                gather(corner_nodes, elements, e, hx, hy, hz, corner);
                gather(corner_nodes, elements, e, vx, vy, vz, velocity);
                const double now = volume_and_gradient(corner, gradient);
                const Rates r = rates_of(corner, velocity, gradient, now);
                const double specific = energy[e] * pow(volume[e] / now, GAMMA - 1);
                volume[e] = now;
                pressure[e] = (GAMMA - 1) * mass[e] / now * specific;
                sound[e] = sqrt(GAMMA * (GAMMA - 1) * specific);
                expansion[e] = r.expansion;
                shortest[e] = r.shortest;
                for (int d = 0; d < DIRECTIONS; ++d) {
                    rate[d * (elements + 1) + e] = r.rate[d];
                    length[d * elements + e] = r.length[d];
                }
            }
#pragma omp for reduction(min : allowed)
            for (int e = 0; e < elements; ++e) {
                Vector corner[CORNERS], velocity[CORNERS], gradient[CORNERS], force[CORNERS];
                double rates[DIRECTIONS], lengths[DIRECTIONS], smooth[DIRECTIONS];
                for (int d = 0; d < DIRECTIONS; ++d) {
                    const double *along = rate + d * (elements + 1);
                    rates[d] = along[e];
                    lengths[d] = length[d * elements + e];
                    smooth[d] = smoothness(along[e], along[neighbours[2 * d * elements + e]],
                                           along[neighbours[(2 * d + 1) * elements + e]]);
                }
                const double total = pressure[e] + viscosity_of(mass[e] / volume[e], sound[e], expansion[e], rates,
                                                                lengths, smooth);
                allowed = std::min(allowed, longest_step(sound[e], expansion[e], shortest[e]));
                gather(corner_nodes, elements, e, hx, hy, hz, corner);
                gather(corner_nodes, elements, e, vx, vy, vz, velocity);
                volume_and_gradient(corner, gradient);
                corner_forces(corner, velocity, gradient, volume[e], total, sound[e], mass[e], force);
                for (int c = 0; c < CORNERS; ++c) {
                    fx[c * elements + e] = force[c].x;
                    fy[c * elements + e] = force[c].y;
                    fz[c * elements + e] = force[c].z;
                }
            }
#pragma omp for
            for (int n = 0; n < nodes; ++n) {
                Vector sum = {0, 0, 0};
                for (int k = 0; k < CORNERS; ++k) {
                    const int c = node_corners[k * nodes + n];
                    sum = sum + Vector{fx[c], fy[c], fz[c]};
                }
                const double scale = step / node_mass[n];
                const Vector before = {vx[n], vy[n], vz[n]};
                const Vector after = {free_x[n] * (before.x + scale * sum.x), free_y[n] * (before.y + scale * sum.y),
                                      free_z[n] * (before.z + scale * sum.z)};
                const Vector mean = 0.5 * (before + after);
                vx[n] = after.x, vy[n] = after.y, vz[n] = after.z;
                mx[n] = mean.x, my[n] = mean.y, mz[n] = mean.z;
                x[n] += step * mean.x, y[n] += step * mean.y, z[n] += step * mean.z;
            }
#pragma omp for
            for (int e = 0; e < elements; ++e) {
                Vector corner[CORNERS], velocity[CORNERS], gradient[CORNERS];
                gather(corner_nodes, elements, e, x, y, z, corner);
                gather(corner_nodes, elements, e, mx, my, mz, velocity);
                double work = 0;
                for (int c = 0; c < CORNERS; ++c) {
                    const int k = c * elements + e;
                    work += dot({fx[k], fy[k], fz[k]}, velocity[c]);
                }
                energy[e] = fmax(energy[e] - step * work / mass[e], LEAST_ENERGY);
                volume[e] = volume_and_gradient(corner, gradient);
            }
        }
        clock->time += step;
        clock->step = next_step(allowed, step);
        allowed = FAR;
    }
    return steps;
}
