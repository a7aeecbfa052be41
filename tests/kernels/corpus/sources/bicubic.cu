__device__ double cubic(double x) {
    x = fabs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
}
extern "C" __global__ void zoom(const float *src, float *dst, int w, int h, int W, int H) {
    int X = blockIdx.x * blockDim.x + threadIdx.x, Y = blockIdx.y * blockDim.y + threadIdx.y;
    if (X >= W || Y >= H) return;
    double fx = (X + 0.5) * w / W - 0.5, fy = (Y + 0.5) * h / H - 0.5;
    int x = (int)floor(fx), y = (int)floor(fy);
    double sum = 0;
    for (int j = -1; j <= 2; j++)
        for (int i = -1; i <= 2; i++) {
            int cx = min(max(x + i, 0), w - 1), cy = min(max(y + j, 0), h - 1);
            sum += src[cy * w + cx] * cubic(fx - (x + i)) * cubic(fy - (y + j));
        }
    dst[Y * W + X] = sum;
}
