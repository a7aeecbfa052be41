__device__ double atomic_max(double *address, double val) {
    unsigned long long *p = (unsigned long long *)address;
    unsigned long long old = *p, assumed;
    do {
        assumed = old;
        if (__longlong_as_double(assumed) >= val) break;
        old = atomicCAS(p, assumed, (unsigned long long)__double_as_longlong(val));
    } while (assumed != old);
    return __longlong_as_double(old);
}
extern "C" __global__ void extremes(const double *x, const int *label, double *most, unsigned int *count, int n) {
    __shared__ unsigned int hist[8];
    if (threadIdx.x < 8) hist[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomic_max(&most[label[i]], x[i]);
        atomicAdd(&hist[label[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < 8 && hist[threadIdx.x] > 0) atomicAdd(&count[threadIdx.x], hist[threadIdx.x]);
}
