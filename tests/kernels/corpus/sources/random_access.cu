typedef unsigned long long u64;
__device__ u64 starts(long long n) {
    u64 temp = 1, ran = 2;
    if (n == 0) return 1;
    int i = 0;
    for (i = 62; i >= 0; i--) if ((n >> i) & 1) break;
    while (i > 0) {
        temp = 0;
        u64 sq = ran * ran;
        temp = sq ^ (sq >> 7);
        ran = temp;
        i -= 1;
        if ((n >> i) & 1) ran = (ran << 1) ^ ((long long)ran < 0 ? 7 : 0);
    }
    return ran;
}
extern "C" __global__ void gups(u64 *table, int size, int updates) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, total = blockDim.x * gridDim.x;
    u64 ran = starts((long long)updates / total * i);
    for (int k = i; k < updates; k += total) {
        ran = (ran << 1) ^ ((long long)ran < 0 ? 7ULL : 0ULL);
        atomicXor(&table[ran & (size - 1)], ran);
    }
}
