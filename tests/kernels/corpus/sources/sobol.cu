#define k_2powneg32 2.3283064E-10F
extern "C" __global__ void sobol_k(int n_vectors, int n_dims, const unsigned *directions, float *output) {
    __shared__ unsigned int v[32];
    directions += 32 * blockIdx.y;
    output += n_vectors * blockIdx.y;
    if (threadIdx.x < 32) v[threadIdx.x] = directions[threadIdx.x];
    __syncthreads();
    int i0 = threadIdx.x + blockIdx.x * blockDim.x, stride = gridDim.x * blockDim.x;
    unsigned int g = i0 ^ (i0 >> 1), X = 0, mask;
    for (unsigned int k = 0; k < __ffs(stride) - 1; k++) { mask = -(g & 1); X ^= mask & v[k]; g = g >> 1; }
    if (i0 < n_vectors) output[i0] = (float)X * k_2powneg32;
    unsigned int v_log2 = v[__ffs(stride) - 2], v_stride = v[__ffs(stride) - 1];
    for (unsigned int i = i0 + stride; i < n_vectors; i += stride) {
        X ^= v_log2 ^ v[__ffs(~((i - stride) | (stride - 1))) - 1];
        (void)v_stride;
        output[i] = (float)X * k_2powneg32;
    }
}
