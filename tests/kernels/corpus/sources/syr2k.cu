extern "C" __global__ void syr2k_k(const double *a, const double *b, double *c, double alpha, double beta, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j > i) return;
    c[i * n + j] *= beta;
    for (int k = 0; k < m; k++)
        c[i * n + j] += alpha * a[i * m + k] * b[j * m + k] + alpha * b[i * m + k] * a[j * m + k];
}
