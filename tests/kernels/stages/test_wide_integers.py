"""Integers of 128 bits, as counter-based random numbers and hashes use them, against Python's."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = r"""
typedef unsigned long long u64;
typedef unsigned __int128 u128;
extern "C" __global__ void pcg64(u64 *out, u64 seed, int draws) {
    int i = threadIdx.x;
    u128 factor = ((u128)2549297995355413924ull << 64) + 4865540595714422341ull;
    u128 increment = (u128)(2 * i + 1) << 64 | 0xda3e39cb94b95bdbull, state = (increment + seed) * factor + increment;
    for (int d = 0; d < draws; d++) {
        state = state * factor + increment;
        u64 folded = (u64)(state >> 64) ^ (u64)state;
        unsigned by = state >> 122;
        out[i * draws + d] = folded >> by | folded << (-by & 63);
    }
}
extern "C" __global__ void all(const u64 *a, const u64 *b, u64 *o) {
    int i = threadIdx.x, s = (7 * i) % 128;
    u128 x = (u128)a[i] << 64 | b[i], y = (u128)b[i] << 64 | a[i];
    __int128 p = x, q = y, product = (__int128)(long long)a[i] * (long long)b[i];
    u128 found[8] = {x + y, x - y, x * y, x >> s ^ y << s, (u128)(p >> s), ~(x & y) | (x ^ y), (u128)product,
                     (x < y ? x : y) ^ (u128)(p > q ? p : q)};
    for (int k = 0; k < 8; k++) { o[17 * i + 2 * k] = found[k]; o[17 * i + 2 * k + 1] = found[k] >> 64; }
    o[17 * i + 16] = (x < y) + 2 * (x == y) + 4 * (p <= q) + 8 * __popcll(a[i]);
}
extern "C" __global__ void odd(const u64 *a, u64 *o) {
    unsigned _BitInt(97) x = (unsigned _BitInt(97))a[threadIdx.x] * a[threadIdx.x];
    x += x << 40;
    o[2 * threadIdx.x] = x; o[2 * threadIdx.x + 1] = x >> 64;
}
"""
MASK, WIDE = (1 << 64) - 1, (1 << 128) - 1


def signed(x, width=128):
    return x - (1 << width) if x >> (width - 1) else x


def pcg64(i, seed, draws):
    factor, increment = 2549297995355413924 << 64 | 4865540595714422341, (2 * i + 1) << 64 | 0xda3e39cb94b95bdb
    state, out = ((increment + seed) * factor + increment) & WIDE, []
    for _ in range(draws):
        state = (state * factor + increment) & WIDE
        folded, by = (state >> 64) ^ (state & MASK), state >> 122
        out.append((folded >> by | folded << (-by & 63)) & MASK)
    return out


def of_all(i, a, b):
    s, x, y = (7 * i) % 128, a << 64 | b, b << 64 | a
    p, q = signed(x), signed(y)
    found = [x + y, x - y, x * y, x >> s ^ y << s, p >> s, ~(x & y) | (x ^ y), signed(a, 64) * signed(b, 64),
             min(x, y) ^ max(p, q)]
    flags = (x < y) + 2 * (x == y) + 4 * (p <= q) + 8 * a.bit_count()
    return [half for v in found for half in (v & MASK, (v >> 64) & MASK)] + [flags]


@pytest.mark.sampled(100)
@pytest.mark.parametrize("lower", ["tensor", "native"])
def test_128_bits(lower):
    module = reactant.cuda.load(SOURCE, lower=lower)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2**64, 32, dtype=np.uint64) for _ in range(2))
    a[:5], b[:5] = [0, MASK, 1 << 63, MASK, 5], [0, MASK, 1, 0, 5]
    draws, found, odd = np.zeros((32, 3), np.uint64), np.zeros((32, 17), np.uint64), np.zeros((32, 2), np.uint64)
    module.pcg64[1, 32](draws, 99, 3)
    module.all[1, 32](a, b, found)
    module.odd[1, 32](a, odd)
    numbers = [int(x) for x in a]
    assert draws.tolist() == [pcg64(i, 99, 3) for i in range(32)]
    assert found.tolist() == [of_all(i, x, int(y)) for i, (x, y) in enumerate(zip(numbers, b, strict=True))]
    squares = [(x * x & (1 << 97) - 1) * (1 + (1 << 40)) & (1 << 97) - 1 for x in numbers]
    assert odd.tolist() == [[x & MASK, x >> 64] for x in squares]
