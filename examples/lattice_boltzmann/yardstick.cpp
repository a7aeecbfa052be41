// The same steps as a C++ programmer writes them for CPUs: one pass over the cells, rows of x inside, OpenMP over planes.
#include "cell.h"
#include <utility>

extern "C" void run(int nx, int ny, int nz, int periodic, double tau, double inflow, double force, const double *solid,
                    double *f, double *other, int steps) {
    const long cells = long(nx) * ny * nz;
    for (int s = 0; s < steps; ++s) {
#pragma omp parallel for collapse(2)
        for (int z = 0; z < nz; ++z)
            for (int y = 0; y < ny; ++y) {
                const double *from[Q];
                const long row = (long(z) * ny + y) * nx;
                for (int i = 0; i < Q; ++i) {
                    const int fy = y - CY[i] < 0 ? ny - 1 : y - CY[i] == ny ? 0 : y - CY[i];
                    const int fz = z - CZ[i] < 0 ? nz - 1 : z - CZ[i] == nz ? 0 : z - CZ[i];
                    from[i] = f + i * cells + (long(fz) * ny + fy) * nx;
                }
                const auto at = [&](int x, const double *here) {
                    const Moments m = moments(here);
                    const double cover = coverage(solid[row + x], tau);
                    for (int i = 0; i < Q; ++i)
                        other[i * cells + row + x] = collided(i, here, m, tau, cover) + 3 * weight(i) * CX[i] * force;
                };
                for (int x : {0, nx - 1}) {
                    double here[Q];
                    for (int i = 0; i < Q; ++i) {
                        const int fx = x - CX[i];
                        if (periodic) here[i] = from[i][fx < 0 ? nx - 1 : fx == nx ? 0 : fx];
                        else here[i] = fx < 0 ? equilibrium(i, {1, inflow, 0, 0}) : from[i][fx < nx ? fx : nx - 1];
                    }
                    at(x, here);
                }
#pragma GCC ivdep
                for (int x = 1; x < nx - 1; ++x) {
                    double here[Q];
                    for (int i = 0; i < Q; ++i) here[i] = from[i][x - CX[i]];
                    at(x, here);
                }
            }
        std::swap(f, other);
    }
}
