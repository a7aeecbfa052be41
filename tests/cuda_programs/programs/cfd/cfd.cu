// cfd COLUMNS ROWS STEPS SEED [--check]: a thread per cell; fields are stored one after the other.
#include "cfd.h"
#include "../cuda_check.h"

constexpr int THREADS = 192;

__constant__ Far far;

__global__ void step_factors(const float *u, const float *areas, float *factor, int cells) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cells)
        factor[c] = step_factor(state_of(u[c], u[cells + c], u[2 * cells + c], u[3 * cells + c], u[4 * cells + c]),
                                areas[c]);
}

__global__ void fluxes(const float *u, const int *neighbours, const float *normals, float *out, int cells) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cells) return;
    float flux[FIELDS];
    fluxes_of(flux, u, neighbours, normals, cells, c, far);
    for (int k = 0; k < FIELDS; ++k) out[k * cells + c] = flux[k];
}

__global__ void time_step(float *u, const float *old, const float *factor, const float *flux, int cells, int stage) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cells) return;
    const float f = factor[c] / (3 - stage);
    for (int k = 0; k < FIELDS; ++k) u[k * cells + c] = old[k * cells + c] + f * flux[k * cells + c];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const Mesh mesh(arguments.number(0, 160), arguments.number(1, 60), arguments.number(3, 1));
    const int steps = arguments.number(2, 20), cells = mesh.cells;
    const Far outside = far_field();
    std::vector<float> u(FIELDS * size_t(cells));
    for (int k = 0; k < FIELDS; ++k) std::fill_n(&u[k * size_t(cells)], cells, outside.u[k]);

    const double begun = milliseconds();
    const size_t bytes = u.size() * sizeof(float);
    float *device_u, *old, *flux, *factor, *normals, *areas;
    int *neighbours;
    CUDA_CHECK(cudaMalloc(&device_u, bytes));
    CUDA_CHECK(cudaMalloc(&old, bytes));
    CUDA_CHECK(cudaMalloc(&flux, bytes));
    CUDA_CHECK(cudaMalloc(&factor, cells * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&areas, cells * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&normals, mesh.normals.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&neighbours, mesh.neighbours.size() * sizeof(int)));
    CUDA_CHECK(cudaMemcpyToSymbol(far, &outside, sizeof outside));
    CUDA_CHECK(cudaMemcpy(device_u, u.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(areas, mesh.areas.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(normals, mesh.normals.data(), mesh.normals.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(neighbours, mesh.neighbours.data(), mesh.neighbours.size() * sizeof(int),
                          cudaMemcpyHostToDevice));
    const int blocks = (cells + THREADS - 1) / THREADS;
    const double kernel_begun = milliseconds();
    for (int step = 0; step < steps; ++step) {
        CUDA_CHECK(cudaMemcpy(old, device_u, bytes, cudaMemcpyDeviceToDevice));
        step_factors<<<blocks, THREADS>>>(device_u, areas, factor, cells);
        for (int stage = 0; stage < 3; ++stage) {
            fluxes<<<blocks, THREADS>>>(device_u, neighbours, normals, flux, cells);
            time_step<<<blocks, THREADS>>>(device_u, old, factor, flux, cells, stage);
        }
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(u.data(), device_u, bytes, cudaMemcpyDeviceToHost));
    for (float *p : {device_u, old, flux, factor, normals, areas}) CUDA_CHECK(cudaFree(p));
    CUDA_CHECK(cudaFree(neighbours));
    const double total_ms = milliseconds() - begun;

    results("density", u.data(), cells);
    results("energy", &u[4 * size_t(cells)], cells);
    print_times(kernel_ms, total_ms);
    if (arguments.check) expect_close("u", u, reference(mesh, steps), 1e-4);
}
