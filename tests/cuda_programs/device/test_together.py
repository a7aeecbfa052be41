"""Barriers of the grid, thread by thread; the rest of these files is tested by test_arrange and test_groups."""

SOURCE = """#include <cooperative_groups.h>
#include <cstdio>
__global__ void rounds(int *x, int n) {
    auto grid = cooperative_groups::this_grid();
    const int i = grid.thread_rank();
    for (int k = 0; k < 4; ++k) {
        const int next = x[(i + 5) % n] + 1;
        grid.sync();
        x[i] = next;
        grid.sync();
    }
}
int main() {
    const int n = 6 * 40;
    int *x, y[n], z[n], number = n;
    cudaMallocManaged(&x, n * sizeof(int));
    for (int i = 0; i < n; ++i) x[i] = y[i] = i;
    void *arguments[] = {&x, &number};
    if (cudaLaunchCooperativeKernel((void *)rounds, 6, 40, arguments) || cudaDeviceSynchronize()) return 1;
    for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < n; ++i) z[i] = y[(i + 5) % n] + 1;
        for (int i = 0; i < n; ++i) y[i] = z[i];
    }
    for (int i = 0; i < n; ++i) if (x[i] != y[i]) return printf("%d: %d, not %d\\n", i, x[i], y[i]);
    return 0;
}
"""


def test_the_grid_meets(ran, tmp_path):
    source = tmp_path / "grid.cu"
    source.write_text(SOURCE)
    assert ran(str(source)) == ""
