__device__ float alike(float a, float b, float width) { float d = b - a; return expf(-(d * d) / (2 * width * width)); }
extern "C" __global__ void bilateral(const float *src, float *dst, const float *weights, int w, int h, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0, total = 0, middle = src[y * w + x];
    for (int i = -radius; i <= radius; i++) {
        for (int j = -radius; j <= radius; j++) {
            int cx = x + j < 0 ? 0 : x + j >= w ? w - 1 : x + j, cy = y + i < 0 ? 0 : y + i >= h ? h - 1 : y + i;
            float here = src[cy * w + cx], factor = weights[i + radius] * weights[j + radius] * alike(here, middle, 0.3f);
            total += factor * here;
            sum += factor;
        }
    }
    dst[y * w + x] = total / sum;
}
