__device__ double2 mul(double2 a, double2 b) { return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
extern "C" __global__ void fft_shared(double2 *work) {
    __shared__ double2 s[2][64];
    int t = threadIdx.x, from = 0;
    s[0][t] = work[blockIdx.x * 64 + t];
    s[0][t + 32] = work[blockIdx.x * 64 + t + 32];
    __syncthreads();
    for (int half = 32, ns = 1; half >= 1; half >>= 1, ns <<= 1) {
        int j = t & (ns - 1);
        double angle = -3.14159265358979323846 * j / ns;
        double2 a = s[from][t], b = mul(s[from][t + 32], make_double2(cos(angle), sin(angle)));
        int to = ((t - j) << 1) + j;
        s[1 - from][to] = make_double2(a.x + b.x, a.y + b.y);
        s[1 - from][to + ns] = make_double2(a.x - b.x, a.y - b.y);
        from = 1 - from;
        __syncthreads();
    }
    work[blockIdx.x * 64 + t] = s[from][t];
    work[blockIdx.x * 64 + t + 32] = s[from][t + 32];
}
