__device__ __forceinline__ unsigned rotl(unsigned x, int r) { return (x << r) | (x >> (32 - r)); }
extern "C" __global__ void murmur(const unsigned char *data, const int *offsets, unsigned *out, int n) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n) return;
    const unsigned char *key = data + offsets[id];
    int len = offsets[id + 1] - offsets[id], nblocks = len / 4;
    unsigned h = 0x2a, k1 = 0;
    for (int i = 0; i < nblocks; i++) {
        unsigned k = key[4 * i] | key[4 * i + 1] << 8 | key[4 * i + 2] << 16 | (unsigned)key[4 * i + 3] << 24;
        k *= 0xcc9e2d51; k = rotl(k, 15); k *= 0x1b873593;
        h ^= k; h = rotl(h, 13); h = h * 5 + 0xe6546b64;
    }
    const unsigned char *tail = key + nblocks * 4;
    switch (len & 3) {
        case 3: k1 ^= tail[2] << 16;
        case 2: k1 ^= tail[1] << 8;
        case 1: k1 ^= tail[0]; k1 *= 0xcc9e2d51; k1 = rotl(k1, 15); k1 *= 0x1b873593; h ^= k1;
    }
    h ^= len; h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; h ^= h >> 16;
    out[id] = h;
}
