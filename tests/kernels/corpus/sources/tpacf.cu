#define BINS 20
extern "C" __global__ void angles(int *counts, const float *x, const float *y, const float *z, const float *limits, int n) {
    __shared__ float others[3][64];
    __shared__ unsigned mine[BINS][2];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    for (int k = t; k < 2 * BINS; k += 64) mine[k / 2][k & 1] = 0;
    __syncthreads();
    float a = i < n ? x[i] : 0, b = i < n ? y[i] : 0, c = i < n ? z[i] : 0;
    for (int first = 0; first < n; first += 64) {
        if (first + t < n) { others[0][t] = x[first + t]; others[1][t] = y[first + t]; others[2][t] = z[first + t]; }
        __syncthreads();
        if (i < n)
            for (int j = 0; j < 64 && first + j < n; ++j) {
                if (first + j <= i) continue;
                float cosine = a * others[0][j] + b * others[1][j] + c * others[2][j];
                int low = 0, high = BINS - 1;
                while (low < high) {
                    int middle = (low + high) / 2;
                    if (cosine >= limits[middle]) high = middle; else low = middle + 1;
                }
                atomicAdd(&mine[low][t >> 5], 1u);
            }
        __syncthreads();
    }
    if (t < BINS) atomicAdd(&counts[t], (int)(mine[t][0] + mine[t][1]));
}
