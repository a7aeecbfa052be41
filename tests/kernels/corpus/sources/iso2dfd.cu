#define HALF 4
__constant__ double coeff[HALF + 1] = {-2.8, 1.6, -0.2, 0.025, -0.0018};
extern "C" __global__ void iso(double *next, const double *prev, const double *vel, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= HALF && r < rows - HALF && c >= HALF && c < cols - HALF) {
        int g = r * cols + c;
        double value = prev[g] * coeff[0];
        for (int i = 1; i <= HALF; i++) value += coeff[i] * (prev[g + i] + prev[g - i] + prev[g + i * cols] + prev[g - i * cols]);
        next[g] = 2.0 * prev[g] - next[g] + value * vel[g];
    }
}
