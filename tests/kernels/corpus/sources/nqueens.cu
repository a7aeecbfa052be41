extern "C" __global__ void queens(int n, int depth, const unsigned *left, const unsigned *down, const unsigned *right, int *solutions, int total) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= total) return;
    unsigned mask = (1u << n) - 1, m[10], l[10], d[10], r[10], bm[10];
    int i = 0, count = 0;
    m[0] = left[t] | down[t] | right[t]; l[0] = left[t]; d[0] = down[t]; r[0] = right[t]; bm[0] = mask & ~m[0];
    while (i >= 0) {
        if (bm[i] == 0) { --i; continue; }
        unsigned bit = bm[i] & -bm[i];
        bm[i] ^= bit;
        if (i + 1 == depth) { ++count; continue; }
        l[i + 1] = (l[i] | bit) << 1; d[i + 1] = d[i] | bit; r[i + 1] = (r[i] | bit) >> 1;
        bm[i + 1] = mask & ~(l[i + 1] | d[i + 1] | r[i + 1]);
        ++i;
    }
    solutions[t] = count;
}
