template <typename T> __device__ void step_of(T *p, T *m, T *v, const T *g, T b1, T b2, T eps, T scale, T size, int n, bool outside) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, total = gridDim.x * blockDim.x;
    for (int j = i; j < n; j += total) {
        T grad = g[j] / scale;
        m[j] = b1 * m[j] + (1.f - b1) * grad;
        v[j] = b2 * v[j] + (1.f - b2) * grad * grad;
        T denom = outside ? sqrt(v[j]) + eps : sqrt(v[j] + eps);
        p[j] = p[j] - (size * (m[j] / denom + 0.01 * p[j]));
    }
}
extern "C" __global__ void adam_k(double *p, double *m, double *v, const double *g, double b1, double b2, int n, int mode) {
    step_of<double>(p, m, v, g, b1, b2, 1e-8, 2.0, 0.001, n, mode == 1);
}
