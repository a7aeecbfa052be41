#define TPB 32
extern "C" __global__ void lift53(const int *src, int *low, int *high, int n) {
    __shared__ int t[2 * TPB + 4];
    int base = 2 * blockIdx.x * TPB;
    for (int s = threadIdx.x; s < 2 * TPB + 4; s += TPB) {
        int g = base + s - 2;
        if (g < 0) g = -g;
        if (g >= n) g = 2 * (n - 1) - g;
        if (g < 0) g = 0;
        t[s] = src[g];
    }
    __syncthreads();
    int i = base / 2 + threadIdx.x, c = 2 * threadIdx.x + 2;
    if (2 * i + 1 <= n - 1 || 2 * i <= n - 1) {
        int d0 = t[c - 1] - ((t[c - 2] + t[c]) >> 1), d1 = t[c + 1] - ((t[c] + t[c + 2]) >> 1);
        if (2 * i + 1 <= n - 1) high[i] = d1;
        low[i] = t[c] + ((d0 + d1 + 2) >> 2);
    }
}
