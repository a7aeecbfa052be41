#define mix(a, b, c) { a -= c; a ^= ((c << 4) | (c >> 28)); c += b; b -= a; b ^= ((a << 6) | (a >> 26)); a += c; c -= b; c ^= ((b << 8) | (b >> 24)); b += a; }
__device__ unsigned hashed(unsigned length, unsigned initval, const unsigned *k) {
    unsigned a, b, c;
    a = b = c = 0xdeadbeef + length + initval;
    while (length > 12) { a += k[0]; b += k[1]; c += k[2]; mix(a, b, c); length -= 12; k += 3; }
    switch (length) {
        case 12: c += k[2]; b += k[1]; a += k[0]; break;
        case 11: c += k[2] & 0xffffff; b += k[1]; a += k[0]; break;
        case 10: c += k[2] & 0xffff; b += k[1]; a += k[0]; break;
        case 9: c += k[2] & 0xff; b += k[1]; a += k[0]; break;
        case 8: b += k[1]; a += k[0]; break;
        case 7: b += k[1] & 0xffffff; a += k[0]; break;
        case 4: a += k[0]; break;
        case 1: a += k[0] & 0xff; break;
        case 0: return c;
        default: a += k[0] & 0xffff;
    }
    c ^= b; c -= ((b << 14) | (b >> 18)); a ^= c; a -= ((c << 11) | (c >> 21));
    return c ^ a;
}
extern "C" __global__ void jenkins(const unsigned *lengths, const unsigned *initvals, const unsigned *keys, unsigned *out, int n) {
    int id = blockDim.x * blockIdx.x + threadIdx.x;
    if (id >= n) return;
    out[id] = hashed(lengths[id], initvals[id], keys + id * 15);
}
