__device__ unsigned long long skip(unsigned long long seed, unsigned long long n) {
    const unsigned long long m = 9223372036854775808ULL;
    unsigned long long a = 2806196910506780709ULL, c = 1ULL, a_new = 1, c_new = 0;
    n = n % m;
    while (n > 0) {
        if (n & 1) { a_new *= a; c_new = c_new * a + c; }
        c *= (a + 1); a *= a; n >>= 1;
    }
    return (a_new * seed + c_new) % m;
}
__device__ double lcg(unsigned long long *seed) {
    const unsigned long long m = 9223372036854775808ULL, a = 2806196910506780709ULL;
    *seed = (a * (*seed) + 1ULL) % m;
    return (double)(*seed) / (double)m;
}
__device__ long grid_search(long n, double quarry, const double *A) {
    long lower = 0, upper = n - 1, length = upper - lower;
    while (length > 1) {
        long at = lower + length / 2;
        if (A[at] > quarry) upper = at; else lower = at;
        length = upper - lower;
    }
    return lower;
}
extern "C" __global__ void lookup(const double *egrid, const double *xs, const int *mats, double *verify, int lookups, int n, int nmat) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lookups) return;
    unsigned long long seed = skip(1070ULL, 2 * i);
    double e = lcg(&seed);
    int mat = (int)(lcg(&seed) * nmat);
    long idx = grid_search(n, e, egrid);
    double macro[3] = {0, 0, 0}, f = (egrid[idx + 1] - e) / (egrid[idx + 1] - egrid[idx] + 1e-3);
    for (int j = 0; j < mats[mat]; j++)
        for (int k = 0; k < 3; k++) macro[k] += xs[((idx + 1) * 4 + j) * 3 + k] - f * (xs[((idx + 1) * 4 + j) * 3 + k] - xs[(idx * 4 + j) * 3 + k]);
    double max = -1.0;
    int max_idx = 0;
    for (int j = 0; j < 3; j++) if (macro[j] > max) { max = macro[j]; max_idx = j; }
    verify[i] = max_idx + 1 + max;
}
