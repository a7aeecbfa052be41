#define PAR 12
typedef struct { double x, y, z; } XYZ;
extern "C" __global__ void lava(const double4 *rv, const double *qv, double4 *fv, const int *first, const int *nei, double a2) {
    __shared__ double4 rA[PAR], rB[PAR];
    __shared__ double qB[PAR];
    int bx = blockIdx.x, t = threadIdx.x, k = 0, pointer;
    while (t < PAR) { rA[t] = rv[bx * PAR + t]; t += blockDim.x; }
    t = threadIdx.x;
    __syncthreads();
    for (k = 0; k < 1 + nei[bx]; k++) {
        if (k == 0) pointer = bx; else pointer = first[bx * 3 + k - 1];
        while (t < PAR) { rB[t] = rv[pointer * PAR + t]; qB[t] = qv[pointer * PAR + t]; t += blockDim.x; }
        t = threadIdx.x;
        __syncthreads();
        while (t < PAR) {
            for (int j = 0; j < PAR; j++) {
                double r2 = rA[t].w + rB[j].w - (rA[t].x * rB[j].x + rA[t].y * rB[j].y + rA[t].z * rB[j].z);
                double vij = exp(-a2 * r2), fs = 2 * vij;
                XYZ d = {rA[t].x - rB[j].x, rA[t].y - rB[j].y, rA[t].z - rB[j].z};
                fv[bx * PAR + t].w += qB[j] * vij;
                fv[bx * PAR + t].x += qB[j] * fs * d.x;
                fv[bx * PAR + t].y += qB[j] * fs * d.y;
                fv[bx * PAR + t].z += qB[j] * fs * d.z;
            }
            t += blockDim.x;
        }
        t = threadIdx.x;
        __syncthreads();
    }
}
