// Each thread of a block of 8 x 4 has four results; beside them the block loads what lies on either side.
#define REACH 4
#define EACH 4
__constant__ float weights[2 * REACH + 1] = {0.1f, 0.3f, -0.2f, 0.5f, 1.0f, 0.25f, 0.125f, -0.4f, 0.7f};
extern "C" __global__ void along_rows(const float *x, float *y, int width, int height) {
    __shared__ float line[4][(EACH + 2) * 8];
    int tx = threadIdx.x, ty = threadIdx.y, first = blockIdx.x * EACH * 8, row = blockIdx.y * 4 + ty;
    for (int part = 0; part < EACH + 2; ++part) {
        int at = first + (part - 1) * 8 + tx;
        line[ty][part * 8 + tx] = row < height && at >= 0 && at < width ? x[row * width + at] : 0;
    }
    __syncthreads();
    for (int part = 1; part <= EACH; ++part) {
        int at = first + (part - 1) * 8 + tx;
        float sum = 0;
        for (int k = -REACH; k <= REACH; ++k) sum += weights[k + REACH] * line[ty][part * 8 + tx + k];
        if (row < height && at < width) y[row * width + at] = sum;
    }
}
extern "C" __global__ void along_columns(const float *x, float *y, int width, int height) {
    __shared__ float line[8][(EACH + 2) * 4 + 1];
    int tx = threadIdx.x, ty = threadIdx.y, first = blockIdx.y * EACH * 4, column = blockIdx.x * 8 + tx;
    for (int part = 0; part < EACH + 2; ++part) {
        int at = first + (part - 1) * 4 + ty;
        line[tx][part * 4 + ty] = column < width && at >= 0 && at < height ? x[at * width + column] : 0;
    }
    __syncthreads();
    for (int part = 1; part <= EACH; ++part) {
        int at = first + (part - 1) * 4 + ty;
        float sum = 0;
        for (int k = -REACH; k <= REACH; ++k) sum += weights[k + REACH] * line[tx][part * 4 + ty + k];
        if (column < width && at < height) y[at * width + column] = sum;
    }
}
