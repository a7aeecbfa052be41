extern "C" __global__ void intersect(const int *rows, const int *cols, const int *a, const int *b, double *weight, int pairs) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs) return;
    int i = rows[a[p]], ie = rows[a[p] + 1], j = rows[b[p]], je = rows[b[p] + 1], common = 0;
    int total = (ie - i) + (je - j);
    while (i < ie && j < je) {
        int x = cols[i], y = cols[j];
        if (x == y) { ++common; ++i; ++j; }
        else if (x < y) ++i;
        else ++j;
    }
    weight[p] = total - common > 0 ? (double)common / (double)(total - common) : 0.0;
}
