extern "C" __global__ void bucketcount(const float *x, const float *pivots, int *place, unsigned int *counts, int n) {
    __shared__ unsigned int held[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) held[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float v = x[i];
        int low = 0, step = 128;
        while (step > 0) {
            if (v >= pivots[low + step - 1]) low += step;
            step /= 2;
        }
        place[i] = low;
        atomicAdd(&held[low], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) if (held[i]) atomicAdd(&counts[i], held[i]);
}
