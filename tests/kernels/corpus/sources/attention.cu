extern "C" __global__ void attend(const double *q, const double *keys, const double *values, double *out, int n, int d) {
    extern __shared__ double buffer[];
    double *score = buffer, *row = buffer + n;
    int i = blockIdx.x, t = threadIdx.x;
    if (t < d) row[t] = q[i * d + t];
    __syncthreads();
    for (int j = t; j < n; j += blockDim.x) {
        double s = 0;
        for (int c = 0; c < d; ++c) s += row[c] * keys[j * d + c];
        score[j] = j <= i ? exp(s / sqrt((double)d)) : 0.0;
    }
    __syncthreads();
    double total = 0;
    for (int j = 0; j < n; ++j) total += score[j];
    if (t < d) {
        double o = 0;
        for (int j = 0; j < n; j++) o += score[j] * values[j * d + t];
        out[i * d + t] = o / total;
    }
}
