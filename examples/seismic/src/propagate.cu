// One step of the wave equation, the source, the receivers, and the energy of the field.
#include "device.cuh"

constexpr int TILE_X = 32, TILE_Z = 8;

// `before` becomes the field one step after `now`. A block keeps its tile with halos in shared memory.
__global__ void step(Grid grid, const float *now, float *before, const float *speed) {
    extern __shared__ float tile[];
    const int width = TILE_X + 2 * HALO;
    const int x = blockIdx.x * TILE_X + threadIdx.x, z = blockIdx.y * TILE_Z + threadIdx.y;
    for (int row = threadIdx.y; row < TILE_Z + 2 * HALO; row += TILE_Z)
        for (int column = threadIdx.x; column < width; column += TILE_X) {
            const int from_x = blockIdx.x * TILE_X + column - HALO, from_z = blockIdx.y * TILE_Z + row - HALO;
            const bool there = from_x < grid.nx + HALO && from_z < grid.nz + HALO;
            tile[row * width + column] = there ? now[grid.at(from_x, from_z)] : 0.0f;
        }
    __syncthreads();
    if (x >= grid.nx || z >= grid.nz) return;
    const float *centre = tile + (threadIdx.y + HALO) * width + threadIdx.x + HALO;
    float laplacian = 2 * second_derivative[0] * centre[0];
    for (int k = 1; k <= HALO; ++k)
        laplacian += second_derivative[k] * (centre[k] + centre[-k] + centre[k * width] + centre[-k * width]);
    const size_t i = grid.at(x, z);
    const float courant = speed[i] * grid.dt / grid.h, damped = damping(grid, x, z);
    before[i] = damped * (2 * centre[0] - damped * before[i] + courant * courant * laplacian);
}

__global__ void inject(Grid grid, float *pressure, int x, int z, float amount) {
    pressure[grid.at(x, z)] += amount;
}

__global__ void record(Grid grid, const float *pressure, float *traces, int receivers, int spacing, int turn) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < receivers) traces[size_t(turn) * receivers + k] = pressure[grid.at(SPONGE + k * spacing, 2)];
}

// Kinetic energy, up to a factor: each block adds what its threads have.
__global__ void energy(Grid grid, const float *now, const float *before, const float *speed, double *sum) {
    __shared__ double parts[256];
    double mine = 0;
    for (int z = blockIdx.x; z < grid.nz; z += gridDim.x)
        for (int x = threadIdx.x; x < grid.nx; x += blockDim.x) {
            const size_t i = grid.at(x, z);
            const double change = double(now[i] - before[i]) / (speed[i] * grid.dt);
            mine += change * change;
        }
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (int(threadIdx.x) < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, parts[0]);
}
