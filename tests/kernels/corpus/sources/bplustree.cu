extern "C" __global__ void find_k(const int *keys, const int *children, const int *wanted, int *place, int *answer, int height) {
    __shared__ int next;
    int t = threadIdx.x, b = blockIdx.x;
    for (int i = 0; i < height; i++) {
        if (t == 0) next = place[b];
        __syncthreads();
        if (keys[place[b] * 9 + t] <= wanted[b] && keys[place[b] * 9 + t + 1] > wanted[b]) {
            if (i == height - 1) answer[b] = children[place[b] * 9 + t];
            else next = children[place[b] * 9 + t];
        }
        __syncthreads();
        if (t == 0) place[b] = next;
        __syncthreads();
    }
}
