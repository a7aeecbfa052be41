// lulesh SIDE STEPS [--check]: loops over elements, nodes, elements in one team of threads.
#include "lulesh.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    Mesh m(arguments.number(0, 48));
    const int steps = arguments.number(1, 100), count = m.elements;
    Mesh other = m;

    const double begun = milliseconds();
    std::vector<double> forces_x(CORNERS * size_t(count)), forces_y(forces_x), means_x(m.nodes), means_y(m.nodes);
    double *__restrict fx = forces_x.data(), *__restrict fy = forces_y.data();
    double *__restrict mx = means_x.data(), *__restrict my = means_y.data();
    double *__restrict x = m.x.data(), *__restrict y = m.y.data(), *__restrict vx = m.vx.data();
    double *__restrict vy = m.vy.data(), *__restrict energy = m.energy.data();
    const double *mass = m.mass.data(), *node_mass = m.node_mass.data();
    const int *corner_nodes = m.corner_nodes.data(), *starts = m.starts.data(), *corners = m.corners.data();
    const unsigned char *fixed = m.fixed.data();
    double step = FIRST_STEP, time = 0, allowed = 1e30;
    const double kernel_begun = milliseconds();
#pragma omp parallel
    for (int k = 0; k < steps; ++k) {
#pragma omp for simd schedule(static) reduction(min : allowed)
        for (int e = 0; e < count; ++e) {
            double px[CORNERS], py[CORNERS], ux[CORNERS], uy[CORNERS];
            for (int c = 0; c < CORNERS; ++c) {
                const int n = corner_nodes[c * count + e];
                px[c] = x[n];
                py[c] = y[n];
                ux[c] = vx[n];
                uy[c] = vy[n];
            }
            const Element r = corner_forces(px, py, ux, uy, mass[e], energy[e]);
            for (int c = 0; c < CORNERS; ++c) {
                fx[c * count + e] = r.force_x[c];
                fy[c * count + e] = r.force_y[c];
            }
            allowed = std::fmin(allowed, r.step);
        }
#pragma omp single
        {
            step = next_step(allowed, step);
            time += step;
            allowed = 1e30;
        }
#pragma omp for schedule(static)
        for (int n = 0; n < m.nodes; ++n) {
            double ax = 0, ay = 0;
            for (int s = starts[n]; s < starts[n + 1]; ++s) {
                ax += fx[corners[s]];
                ay += fy[corners[s]];
            }
            const double ox = vx[n], oy = vy[n];
            vx[n] = fixed[n] & 1 ? 0 : ox + step * ax / node_mass[n];
            vy[n] = fixed[n] & 2 ? 0 : oy + step * ay / node_mass[n];
            mx[n] = 0.5 * (ox + vx[n]);
            my[n] = 0.5 * (oy + vy[n]);
            x[n] += step * mx[n];
            y[n] += step * my[n];
        }
#pragma omp for simd schedule(static)
        for (int e = 0; e < count; ++e) {
            double work = 0;
            for (int c = 0; c < CORNERS; ++c) {
                const int n = corner_nodes[c * count + e];
                work += fx[c * count + e] * mx[n] + fy[c * count + e] * my[n];
            }
            energy[e] = std::max(energy[e] - step * work / mass[e], 1e-9);
        }
    }
    const double ended = milliseconds();

    finish(m, time);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) {
        const double wanted = reference(other, steps);
        expect_close("time", &time, &wanted, 1, 1e-9);
        expect_close("energy", m.energy, other.energy, 1e-8);
    }
}
