extern "C" __global__ void far_apart(float *data, int stride) {
    int pos = blockIdx.x * blockDim.x + threadIdx.x, low = pos & (stride - 1), i = 4 * (pos - low) + low;
    float a = data[i], b = data[i + stride], c = data[i + 2 * stride], d = data[i + 3 * stride];
    float e = a + c, f = a - c, g = b + d, h = b - d;
    data[i] = e + g;
    data[i + stride] = e - g;
    data[i + 2 * stride] = f + h;
    data[i + 3 * stride] = f - h;
}
extern "C" __global__ void in_blocks(float *data) {
    __shared__ float held[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    for (int i = t; i < 256; i += blockDim.x) held[i] = data[base + i];
    for (int stride = 64; stride > 0; stride >>= 2) {
        int low = t & (stride - 1), i = 4 * (t - low) + low;
        __syncthreads();
        float a = held[i], b = held[i + stride], c = held[i + 2 * stride], d = held[i + 3 * stride];
        float e = a + c, f = a - c, g = b + d, h = b - d;
        held[i] = e + g;
        held[i + stride] = e - g;
        held[i + 2 * stride] = f + h;
        held[i + 3 * stride] = f - h;
    }
    __syncthreads();
    for (int i = t; i < 256; i += blockDim.x) data[base + i] = held[i];
}
