__device__ inline void compare_swap(unsigned &a, unsigned &va, unsigned &b, unsigned &vb, unsigned dir) {
    if ((a > b) == dir) { unsigned t = a; a = b; b = t; t = va; va = vb; vb = t; }
}
extern "C" __global__ void bitonic(unsigned *keys, unsigned *vals, int length, int dir) {
    __shared__ unsigned s_key[64], s_val[64];
    keys += blockIdx.x * 64 + threadIdx.x;
    vals += blockIdx.x * 64 + threadIdx.x;
    s_key[threadIdx.x] = keys[0]; s_val[threadIdx.x] = vals[0];
    s_key[threadIdx.x + 32] = keys[32]; s_val[threadIdx.x + 32] = vals[32];
    for (unsigned size = 2; size < length; size <<= 1) {
        unsigned ddd = dir ^ ((threadIdx.x & (size / 2)) != 0);
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            compare_swap(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], ddd);
        }
    }
    for (unsigned stride = length / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        compare_swap(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], dir);
    }
    __syncthreads();
    keys[0] = s_key[threadIdx.x]; vals[0] = s_val[threadIdx.x];
    keys[32] = s_key[threadIdx.x + 32]; vals[32] = s_val[threadIdx.x + 32];
}
