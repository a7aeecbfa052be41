"""Every thread of a launch runs once, in three dimensions, for blocks of all shapes."""
import os

SOURCE = """#include <cstdio>
__device__ int place(int nx, int ny) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    return ((blockIdx.z * blockDim.z + threadIdx.z) * ny + y) * nx + x;
}
__global__ void plain(int *count, int nx, int ny) { count[place(nx, ny)] += threadIdx.x + 1; }
__global__ void guarded(int *count, int nx, int ny, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < limit) count[place(nx, ny)] += threadIdx.x + 1;
}
__global__ void looped(int *count, int nx, int ny, int times) {
    const int at = place(nx, ny);
    for (int k = 0; k < times; ++k) count[at] += threadIdx.x > 3 ? 2 : 1;
}
__global__ void bordered(int *count, const int *from, int nx, int ny) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, at = place(nx, ny);
    count[at] += from[x > 0 ? at - 1 : at] + 2 * from[x < nx - 1 ? at + 1 : at] + from[at - x + min(x, nx - 3)];
}
int main() {
    const dim3 blocks[] = {dim3(16), dim3(40, 2), dim3(8, 8, 2), dim3(1, 64), dim3(33, 3), dim3(5), dim3(128)};
    const dim3 grids[] = {dim3(3), dim3(2, 3), dim3(3, 2, 2), dim3(1, 1, 4)};
    int bad = 0, *count, *from;
    cudaMallocManaged(&count, 1 << 20); cudaMallocManaged(&from, 1 << 20);
    for (dim3 b : blocks) for (dim3 g : grids) {
        const int nx = g.x * b.x, ny = g.y * b.y, n = nx * ny * g.z * b.z, limit = nx - 7;
        for (int i = 0; i < n; ++i) count[i] = 0, from[i] = i * 7 % 13;
        plain<<<g, b>>>(count, nx, ny); guarded<<<g, b>>>(count, nx, ny, limit); looped<<<g, b>>>(count, nx, ny, 5);
        if (nx > 3) bordered<<<g, b>>>(count, from, nx, ny);
        cudaDeviceSynchronize();
        for (int i = 0; i < n; ++i) {
            const int x = i % nx, t = x % b.x, row = i - x;
            int sum = t + 1 + (x < limit ? t + 1 : 0) + 5 * (t > 3 ? 2 : 1);
            const int third = row + (x < nx - 3 ? x : nx - 3);
            if (nx > 3) sum += from[x > 0 ? i - 1 : i] + 2 * from[x < nx - 1 ? i + 1 : i] + from[third];
            if (count[i] != sum && bad++ < 5) printf("%u %u: [%d] %d, not %d\\n", b.x, g.x, i, count[i], sum);
        }
    }
    return bad != 0;
}
"""


def test_every_thread_runs_once(ran, tmp_path):
    source = tmp_path / "threads.cu"
    source.write_text(SOURCE)
    for threads in ("1", "3"):
        assert ran(str(source), env=os.environ | {"REACTANT_CUDA_THREADS": threads}) == ""
