extern "C" __global__ void rank_step(int *next, int *rank, int *next2, int *rank2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int r = rank[i], p = next[i];
        if (p != -1) { r += rank[p]; p = next[p]; }
        next2[i] = p;
        rank2[i] = r;
    }
}
