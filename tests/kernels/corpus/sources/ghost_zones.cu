// The cheapest way down a wall, several rows a launch: a block's columns and those beside them that it needs for that.
extern "C" __global__ void cheapest(const int *cost, const int *before, int *after, int width, int first, int rows) {
    __shared__ int here[32], next[32];
    int t = threadIdx.x, column = blockIdx.x * (32 - 2 * rows) + t - rows;
    bool there = column >= 0 && column < width;
    here[t] = there ? before[column] : 1 << 20;
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
        bool inner = there && t > r && t < 31 - r;
        if (inner) next[t] = min(here[t], min(here[t - 1], here[t + 1])) + cost[(first + r) * width + column];
        __syncthreads();
        if (inner) here[t] = next[t];
        __syncthreads();
    }
    if (there && t >= rows && t < 32 - rows) after[column] = here[t];
}
