extern "C" __global__ void norm_of(const double *a, double *r, int k, int m, int n) {
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        double nrm = 0.0;
        for (int i = 0; i < m; i++) nrm += a[i * n + k] * a[i * n + k];
        r[k * n + k] = sqrt(nrm);
    }
}
extern "C" __global__ void unit(const double *a, const double *r, double *q, int k, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) q[i * n + k] = a[i * n + k] / r[k * n + k];
}
extern "C" __global__ void orthogonal(double *a, double *r, const double *q, int k, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > k && j < n) {
        r[k * n + j] = 0.0;
        for (int i = 0; i < m; i++) r[k * n + j] += q[i * n + k] * a[i * n + j];
        for (int i = 0; i < m; i++) a[i * n + j] -= q[i * n + k] * r[k * n + j];
    }
}
