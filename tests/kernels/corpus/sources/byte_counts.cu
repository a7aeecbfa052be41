// Every thread counts in bytes of its own, which lie 32 apart.
__device__ void count(unsigned char *own, unsigned digit) { own[digit * 32] += 1; }
extern "C" __global__ void digits(unsigned *sums, const unsigned *data, int n) {
    __shared__ unsigned char counts[16 * 32];
    int t = threadIdx.x;
    for (int digit = 0; digit < 16; ++digit) counts[digit * 32 + t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        for (int shift = 4; shift < 32; shift += 8) count(counts + t, data[i] >> shift & 15);
    __syncthreads();
    if (t < 16) {
        unsigned sum = 0;
        for (int other = 0; other < 32; ++other) sum += counts[t * 32 + (other + t & 31)];
        sums[blockIdx.x * 16 + t] = sum;
    }
}
