// Four symbols of each word by a prefix code, the words of a block one after the other in bits.
extern "C" __global__ void encode(const unsigned *data, const unsigned *codes, const unsigned *lengths, unsigned *out, unsigned *total, int n) {
    __shared__ unsigned ends[64], packed[80];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    unsigned code = 0, length = 0;
    if (i < n)
        for (int shift = 24; shift >= 0; shift -= 8) {
            unsigned symbol = data[i] >> shift & 7;
            code = code << lengths[symbol] | codes[symbol];
            length += lengths[symbol];
        }
    ends[t] = length;
    packed[t] = 0;
    if (t < 16) packed[64 + t] = 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        unsigned before = t >= d ? ends[t - d] : 0;
        __syncthreads();
        ends[t] += before;
        __syncthreads();
    }
    unsigned start = ends[t] - length, left = 32 - start % 32, now = length < left ? length : left, rest = length - now;
    if (length) {
        atomicOr(&packed[start / 32], code >> rest << (left - now));
        if (rest) atomicOr(&packed[start / 32 + 1], (code & ((1u << rest) - 1)) << (32 - rest));
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = packed[t];
    if (t == 63) total[blockIdx.x] = ends[63];
}
