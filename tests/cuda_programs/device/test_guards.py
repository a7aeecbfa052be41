"""Guards that are looked at once for a row of threads: with bounds of every size, also where numbers wrap around."""
from reactant.cuda_programs.device import compile as device

KERNELS = """
#include <cstdio>
#include <climits>
template <int W> __host__ __device__ bool inside(int i, int j, int n, unsigned m) {
    const unsigned u = i;
    if (W == 0) return i < n && j < 3;
    if (W == 1) return !(i >= n || j == 1);
    if (W == 2) return 3 * i + 1 <= n;
    if (W == 3) return n > i && i >= int(m & 127);
    if (W == 4) return u + m < unsigned(n);
    if (W == 5) return i > n || j > 2;
    if (W == 6) return (long long)i + j < (long long)n;
    return u + m >= unsigned(n) && i != 40;
}
template <int W> __global__ void guarded(int *y, int width, int n, unsigned m) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (inside<W>(i, j, n, m)) y[j * width + i] = i + 1;
}
typedef void Kernel(int *, int, int, unsigned);
typedef bool Inside(int, int, int, unsigned);
int main() {
    Kernel *kernels[] = {guarded<0>, guarded<1>, guarded<2>, guarded<3>, guarded<4>, guarded<5>, guarded<6>,
                         guarded<7>};
    Inside *known[] = {inside<0>, inside<1>, inside<2>, inside<3>, inside<4>, inside<5>, inside<6>, inside<7>};
    int *y, bad = 0, some = 0;
    cudaMallocManaged(&y, 4096 * sizeof(int));
    for (int w = 0; w < 8; ++w) for (dim3 block : {dim3(32, 2), dim3(100), dim3(7, 4)})
        for (int n : {INT_MIN, -3, 0, 1, 16, 50, 95, 96, 97, 130, 300, INT_MAX})
            for (unsigned m : {0u, 5u, 63u, 0x7fffffe0u, 0xffffffd0u}) {
                const dim3 grid(200 / block.x + 1, 4 / block.y);
                const int width = grid.x * block.x;
                cudaMemset(y, 0, 4096 * sizeof(int));
                kernels[w]<<<grid, block>>>(y, width, n, m);
                if (cudaDeviceSynchronize() != cudaSuccess) return 1;
                for (int j = 0; j < int(grid.y * block.y); ++j) for (int i = 0; i < width; ++i) {
                    const int wanted = known[w](i, j, n, m) ? i + 1 : 0;
                    bad += y[j * width + i] != wanted;
                    some += wanted != 0;
                }
            }
    printf("%d bad, %s\\n", bad, some > 100000 ? "many inside" : "few inside");
}
"""


def test_guards_of_rows(tmp_path, ran):
    source = tmp_path / "guards.cu"
    source.write_text(KERNELS)
    assert ran("-O1", str(source)).strip() == "0 bad, many inside"


def test_a_guard_is_looked_at_before_the_row(tmp_path):
    source = tmp_path / "guard.cu"
    source.write_text("__global__ void k(float *y, int n) {\n    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                      "    if (i < n) y[i] *= 2;\n}\n")
    text = device.object_ir(device.device_code(source), "guard")
    assert "%not.sure.1" in text and "icmp sle i64" in text
