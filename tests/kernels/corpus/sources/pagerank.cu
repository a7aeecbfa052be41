extern "C" __global__ void push(const int *rows, const int *cols, const double *rank, double *next, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n) {
        int begin = rows[v], end = rows[v + 1];
        for (int e = begin; e < end; ++e) atomicAdd(&next[cols[e]], rank[v] / (double)(end - begin));
    }
}
extern "C" __global__ void damp(double *rank, double *next, double *change, int n) {
    __shared__ double s[64];
    int v = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    double d = 0;
    if (v < n) {
        double fresh = 0.15 / n + 0.85 * next[v];
        d = fabs(fresh - rank[v]);
        rank[v] = fresh;
        next[v] = 0;
    }
    s[t] = d;
    for (int h = 32; h > 0; h >>= 1) { __syncthreads(); if (t < h) s[t] += s[t + h]; }
    if (t == 0) atomicAdd(change, s[0]);
}
