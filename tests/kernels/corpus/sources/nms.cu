__device__ inline double overlap(const double *a, const double *b) {
    double left = fmax(a[0], b[0]), right = fmin(a[2], b[2]), top = fmax(a[1], b[1]), bottom = fmin(a[3], b[3]);
    double w = fmax(right - left + 1, 0.0), h = fmax(bottom - top + 1, 0.0), s = w * h;
    return s / ((a[2] - a[0] + 1) * (a[3] - a[1] + 1) + (b[2] - b[0] + 1) * (b[3] - b[1] + 1) - s);
}
extern "C" __global__ void nms_k(int n, double threshold, const double *boxes, unsigned long long *mask) {
    const int row = blockIdx.y, col = blockIdx.x;
    const int row_size = min(n - row * 64, 64), col_size = min(n - col * 64, 64);
    __shared__ double b[64 * 5];
    if (threadIdx.x < col_size) for (int d = 0; d < 5; d++) b[threadIdx.x * 5 + d] = boxes[(64 * col + threadIdx.x) * 5 + d];
    __syncthreads();
    if (threadIdx.x < row_size) {
        const int cur = 64 * row + threadIdx.x;
        const double *mine = boxes + cur * 5;
        unsigned long long t = 0;
        int start = 0;
        if (row == col) start = threadIdx.x + 1;
        for (int i = start; i < col_size; i++) if (overlap(mine, b + i * 5) > threshold) t |= 1ULL << i;
        mask[cur * ((n + 63) / 64) + col] = t;
    }
}
