__device__ int below(const double *cdf, int n, double value) {
    int index = -1;
    for (int x = 0; x < n; x++) if (cdf[x] >= value) { index = x; break; }
    return index == -1 ? n - 1 : index;
}
extern "C" __global__ void find_index(const double *ax, const double *ay, const double *cdf, const double *u, double *xj, double *yj, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        int index = below(cdf, n, u[i]);
        xj[i] = ax[index];
        yj[i] = ay[index];
    }
    __syncthreads();
}
