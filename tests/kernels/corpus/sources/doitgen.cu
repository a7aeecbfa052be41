#define NP 8
extern "C" __global__ void doitgen_k(double *a, const double *c4, int nr, int nq) {
    __shared__ double row[NP];
    int q = blockIdx.x, r = blockIdx.y, p = threadIdx.x;
    row[p] = a[(r * nq + q) * NP + p];
    __syncthreads();
    double sum = 0;
    #pragma unroll
    for (int s = 0; s < NP; s++) sum += row[s] * c4[s * NP + p];
    a[(r * nq + q) * NP + p] = sum;
}
