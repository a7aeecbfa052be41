// cfd COLUMNS ROWS STEPS SEED [--check]: cells are shared out in chunks and are vectors.
#include "cfd.h"

// As fluxes_of, without branches: sides without a cell take their own values, which are then replaced.
static inline void fluxes_of_all(float *flux, const float *u, const int *neighbours, const float *normals, int cells,
                                 int c, const Far &far) {
    const State here = state_of(u[c], u[cells + c], u[2 * cells + c], u[3 * cells + c], u[4 * cells + c]);
    for (int k = 0; k < FIELDS; ++k) flux[k] = 0;
#pragma unroll
    for (int f = 0; f < FACES; ++f) {
        const int o = neighbours[f * cells + c], from = o >= 0 ? o : c;
        const bool outside = o == FAR, wall = o == WALL;
        const float nx = normals[(f * 3 + 0) * cells + c], ny = normals[(f * 3 + 1) * cells + c];
        const float nz = normals[(f * 3 + 2) * cells + c];
        float v[FIELDS], through[FIELDS] = {};
        for (int k = 0; k < FIELDS; ++k) v[k] = outside ? far.u[k] : u[k * cells + from];
        add_flux(through, here, state_of(v[0], v[1], v[2], v[3], v[4]), nx, ny, nz, VISCOSITY);
        flux[0] += wall ? 0 : through[0];
        flux[1] += wall ? -here.pressure * nx : through[1];
        flux[2] += wall ? -here.pressure * ny : through[2];
        flux[3] += wall ? -here.pressure * nz : through[3];
        flux[4] += wall ? 0 : through[4];
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const Mesh mesh(arguments.number(0, 160), arguments.number(1, 60), arguments.number(3, 1));
    const int steps = arguments.number(2, 20), cells = mesh.cells;
    const Far far = far_field();

    const double begun = milliseconds();
    std::vector<float> state(FIELDS * size_t(cells)), old_state(state.size()), flux_of(state.size()), factors(cells);
    float *__restrict u = state.data(), *__restrict old = old_state.data(), *__restrict flux = flux_of.data();
    float *__restrict factor = factors.data();
    const int *neighbours = mesh.neighbours.data();
    const float *normals = mesh.normals.data(), *areas = mesh.areas.data();
    for (int k = 0; k < FIELDS; ++k) std::fill_n(u + k * size_t(cells), cells, far.u[k]);
    const double kernel_begun = milliseconds();
#pragma omp parallel
    for (int step = 0; step < steps; ++step) {
#pragma omp for simd schedule(static)
        for (int c = 0; c < cells; ++c) {
            for (int k = 0; k < FIELDS; ++k) old[k * cells + c] = u[k * cells + c];
            factor[c] = step_factor(state_of(u[c], u[cells + c], u[2 * cells + c], u[3 * cells + c], u[4 * cells + c]),
                                    areas[c]);
        }
        for (int stage = 0; stage < 3; ++stage) {
#pragma omp for simd schedule(static)
            for (int c = 0; c < cells; ++c) {
                float sum[FIELDS];
                fluxes_of_all(sum, u, neighbours, normals, cells, c, far);
                for (int k = 0; k < FIELDS; ++k) flux[k * cells + c] = sum[k];
            }
#pragma omp for simd schedule(static)
            for (int c = 0; c < cells; ++c) {
                const float f = factor[c] / (3 - stage);
                for (int k = 0; k < FIELDS; ++k) u[k * cells + c] = old[k * cells + c] + f * flux[k * cells + c];
            }
        }
    }
    const double ended = milliseconds();

    results("density", u, cells);
    results("energy", u + 4 * size_t(cells), cells);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) expect_close("u", state, reference(mesh, steps), 1e-4);
}
