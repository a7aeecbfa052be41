// Maxwell's equations as a C++ programmer writes them for CPUs: two loops over elements a stage, the number of nodes a
// constant, nothing stored of the sides. OpenMP.
#include <math.h>

static const double A[] = {0.0, -567301805773.0 / 1357537059087.0, -2404267990393.0 / 2016746695238.0,
                           -3550918686646.0 / 2091501179385.0, -1275806237668.0 / 842570457699.0};
static const double B[] = {1432997174477.0 / 9575080441755.0, 5161836677717.0 / 13612068292357.0,
                           1720146321549.0 / 2090206949498.0, 3134564353537.0 / 4481467310338.0,
                           2277821191437.0 / 14882151754819.0};

template <int N> static void run(int elements, const double *D, const double *ax, const double *ay, const double *bx,
                                 const double *by, const double *jacobian, double weight, const int *own,
                                 const int *outside, const double *wall, const double *normal_x,
                                 const double *normal_y, double *hx, double *hy, double *ez, double *kept_x,
                                 double *kept_y, double *kept_z, double dt, int steps) {
    constexpr int NODES = N * N, ENDS = 4 * N;
    for (int stage = 0; stage < 5 * steps; ++stage) {
        const double a = A[stage % 5], b = B[stage % 5];
#pragma omp parallel for
        for (int e = 0; e < elements; ++e) {
            const int first = e * NODES;
            double side_x[NODES] = {}, side_y[NODES] = {}, side_z[NODES] = {};
            for (int k = e * ENDS; k < (e + 1) * ENDS; ++k) {
                const double length = sqrt(normal_x[k] * normal_x[k] + normal_y[k] * normal_y[k]);
                const double nx = normal_x[k] / length, ny = normal_y[k] / length;
                const int here = own[k], there = outside[k];
                const double jump_x = hx[here] - hx[there], jump_y = hy[here] - hy[there];
                const double jump_z = ez[here] - (1 - 2 * wall[k]) * ez[there], along = nx * jump_x + ny * jump_y;
                const double scale = 0.5 * length / weight;
                side_x[here - first] += scale * (ny * jump_z + along * nx - jump_x);
                side_y[here - first] += scale * (-nx * jump_z + along * ny - jump_y);
                side_z[here - first] += scale * (ny * jump_x - nx * jump_y - jump_z);
            }
            double across_x[NODES], across_y[NODES], across_z[NODES], up_x[NODES], up_y[NODES], up_z[NODES];
            for (int m = 0; m < NODES; ++m) {
                const int n = first + m;
                across_x[m] = ax[n] * ez[n], across_y[m] = ay[n] * ez[n], across_z[m] = ax[n] * hy[n] - ay[n] * hx[n];
                up_x[m] = bx[n] * ez[n], up_y[m] = by[n] * ez[n], up_z[m] = bx[n] * hy[n] - by[n] * hx[n];
            }
            for (int j = 0; j < N; ++j)
                for (int i = 0; i < N; ++i) {
                    double by_x = 0, by_y = 0, curl = 0;
                    for (int k = 0; k < N; ++k) {
                        const double f = D[i * N + k], s = D[j * N + k];
                        by_x += f * across_x[j * N + k] + s * up_x[k * N + i];
                        by_y += f * across_y[j * N + k] + s * up_y[k * N + i];
                        curl += f * across_z[j * N + k] + s * up_z[k * N + i];
                    }
                    const int m = j * N + i, n = first + m;
                    const double scale = dt / jacobian[n];
                    kept_x[n] = a * kept_x[n] + scale * (side_x[m] - by_y);
                    kept_y[n] = a * kept_y[n] + scale * (side_y[m] + by_x);
                    kept_z[n] = a * kept_z[n] + scale * (side_z[m] + curl);
                }
        }
#pragma omp parallel for simd
        for (int n = 0; n < elements * NODES; ++n) {
            hx[n] += b * kept_x[n];
            hy[n] += b * kept_y[n];
            ez[n] += b * kept_z[n];
        }
    }
}

extern "C" int propagate(int count, int elements, const double *D, const double *ax, const double *ay,
                         const double *bx, const double *by, const double *jacobian, double weight, const int *own,
                         const int *outside, const double *wall, const double *normal_x, const double *normal_y,
                         double *hx, double *hy, double *ez, double *kept_x, double *kept_y, double *kept_z, double dt,
                         int steps) {
    const auto of_order = count == 4 ? run<4> : count == 5 ? run<5> : count == 6 ? run<6> : nullptr;
    if (!of_order) return 1;
    of_order(elements, D, ax, ay, bx, by, jacobian, weight, own, outside, wall, normal_x, normal_y, hx, hy, ez, kept_x,
             kept_y, kept_z, dt, steps);
    return 0;
}
