extern "C" __global__ void mean_of(double *mean, const double *data, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++) mean[j] += data[i * m + j];
        mean[j] /= (double)n;
    }
}
extern "C" __global__ void centred(const double *mean, double *data, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) data[i * m + j] -= mean[j];
}
extern "C" __global__ void covariances(double *cov, const double *data, int m, int n) {
    int j1 = blockIdx.x * blockDim.x + threadIdx.x;
    if (j1 < m) {
        for (int j2 = j1; j2 < m; j2++) {
            double s = 0.0;
            for (int i = 0; i < n; i++) s += data[i * m + j1] * data[i * m + j2];
            cov[j1 * m + j2] = s / (n - 1);
            cov[j2 * m + j1] = cov[j1 * m + j2];
        }
    }
}
