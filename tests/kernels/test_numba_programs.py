"""Numba kernels as users write them, raised and (slow) native, against NumPy and plain Python."""
from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import reactant

cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")
random = pytest.importorskip("numba.cuda.random", reason="needs numba-cuda")

WAYS = [pytest.param(way, marks=pytest.mark.slow if way == "native" else []) for way in ("tensor", "native")]
Point = namedtuple("Point", "x y scale")
TABLE = np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
WEIGHTS = (0.25, 0.5, 0.25)


@cuda.jit
def tiles(a, b, out):
    """Several shared arrays, of two dimensions and of one."""
    sa, sb = cuda.shared.array((4, 8), "float32"), cuda.shared.array(32, dtype="int32")
    flag = cuda.shared.array(1, dtype="uint8")
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i = cuda.blockIdx.x * 8 + x
    sa[y, x] = a[y, i]
    sb[y * 8 + x] = b[y, i]
    if x == 0 and y == 0:
        flag[0] = 0
    cuda.syncthreads()
    if sb[y * 8 + x] > 90:
        flag[0] = 1
    cuda.syncthreads()
    out[y, i] = sa[3 - y, 7 - x] * (2 if flag[0] else 1) + sb[(y * 8 + x + 5) % 32]


def _tiles(generator):
    a, b = generator.random((4, 24)).astype(np.float32), generator.integers(0, 100, (4, 24)).astype(np.int32)
    expected = np.zeros((4, 24))
    for k in range(0, 24, 8):
        factor = np.float32(2 if (b[:, k:k + 8] > 90).any() else 1)
        expected[:, k:k + 8] = a[:, k:k + 8][::-1, ::-1] * factor + np.roll(b[:, k:k + 8].ravel(), -5).reshape(4, 8)
    return (3, (8, 4)), (a, b, np.zeros((4, 24))), {2: expected}


@cuda.jit
def dynamic(x, out):
    """Slices of the dynamic shared memory."""
    whole = cuda.shared.array(0, "float64")
    a, b = whole[:16], whole[16:]
    t = cuda.threadIdx.x
    a[t] = x[t]
    b[t] = x[t] * 2
    cuda.syncthreads()
    out[t] = a[15 - t] + b[(t + 1) % 16]


def _dynamic(generator):
    x = generator.random(16)
    return (1, 16, 0, 256), (x, np.zeros(16)), {1: x[::-1] + 2 * np.roll(x, -1)}


@cuda.jit(device=True)
def pair(p, q):
    return p * q + 1, p - q


@cuda.jit(device=True)
def nested(p, t):
    a, b = pair(p, t[0])
    c, d = pair(b, t[1])
    return a + c, (b, d)


@cuda.jit
def tuples(p, arrays, t, out):
    """Named tuples, tuples of arrays, device functions that give tuples, loops over arrays."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        v = p.x * i + p.y
        for a in arrays:
            v += a[i]
        for k, w in enumerate(arrays[0][:3]):
            v += k * w
        s, (b, d) = nested(arrays[1][i], t)
        out[i, 0], out[i, 1], out[i, 2], out[i, -1] = v * p.scale, s, b, d + t[-1]


def _tuples(generator):
    a, b = generator.random(10), generator.random(10)
    v = (2 * np.arange(10) + 3 + a + b + (a[:3] * np.arange(3)).sum()) * 4
    first, below = b * 2 + 1, b - 2
    expected = np.stack([v, first + below * 3 + 1, below, below - 3 + 7], 1)
    return (1, 32), (Point(2.0, 3.0, 4), (a, b), (2.0, 3.0, 7), np.zeros((10, 4))), {3: expected}


@cuda.jit
def leaving(x, out):
    """break, continue and else of loops in loops, by the data."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    total = 0
    for a in range(x.shape[0]):
        if x[a, i] < 0:
            continue
        if x[a, i] > 95:
            break
        k = x[a, i]
        while True:
            k //= 3
            if k == 0:
                break
            if k % 2:
                continue
            total += k
    else:
        total = -total
    out[i] = total


def _leaving(generator):
    x, expected = generator.integers(-20, 99, (12, 40)), []
    for column in x.T:
        total = 0
        for k in map(int, column):
            if k < 0:
                continue
            if k > 95:
                break
            while k := k // 3:
                total += 0 if k % 2 else k
        else:
            total = -total
        expected.append(total)
    return (2, 32), (x, np.zeros(40, np.int64)), {1: np.array(expected)}


@cuda.jit
def tables(x, out):
    """A table in constant memory, a tuple from outside, a sort in local memory."""
    table = cuda.const.array_like(TABLE)
    found = cuda.local.array(5, "float64")
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(5):
            found[k] = 0
            for j in range(3):
                found[k] += WEIGHTS[j] * table[(x[i, k] + j) % 8]
        for a in range(1, 5):
            v, b = found[a], a - 1
            while b >= 0 and found[b] > v:
                found[b + 1] = found[b]
                b -= 1
            found[b + 1] = v
        out[i] = found[2]


def _tables(generator):
    x = generator.integers(0, 8, (37, 5))
    sums = sum(w * TABLE[(x + j) % 8] for j, w in enumerate(WEIGHTS))
    return (2, 32), (x, np.zeros(37)), {1: np.median(sums, axis=1)}


@cuda.jit
def drawn(states, out, n):
    """Numba's generator, its state an array of records."""
    i = cuda.grid(1)
    if i < states.shape[0]:
        total = 0.0
        for _ in range(n):
            total += random.xoroshiro128p_uniform_float64(states, i)
        out[i] = total + random.xoroshiro128p_uniform_float32(states, i)


def _drawn(generator):
    states = np.zeros(8, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states_cpu(states, 7, 0)
    after, mask, expected = states.copy(), 2**64 - 1, []

    def uniform(s):
        a, b = int(s["s0"]), int(s["s1"])
        number, b = a + b & mask, a ^ b
        s["s0"], s["s1"] = ((a << 55 | a >> 9) & mask) ^ b ^ (b << 14 & mask), (b << 36 | b >> 28) & mask
        return (number >> 11) / 2**53
    for s in after:
        expected.append(sum(uniform(s) for _ in range(5)) + float(np.float32(uniform(s))))
    return (1, 32), (states, np.zeros(8), 5), {1: np.array(expected), 0: after}


@cuda.jit
def votes(x, out):
    i = cuda.grid(1)
    bits = cuda.ballot_sync(0xffffffff, x[i] > 0)
    out[i, 0], out[i, 1] = bits, cuda.popc(bits & ((1 << (i % 32)) - 1))
    out[i, 2], out[i, 3] = cuda.match_any_sync(0xffffffff, x[i]) & 0xffffffff, cuda.syncthreads_count(int(x[i] > 2))
    out[i, 4], out[i, 5] = cuda.ffs(x[i] & 0xff), cuda.shfl_xor_sync(-1, x[i], 3)


def _votes(generator):
    x, expected = generator.integers(-4, 5, 64).astype(np.int32), np.zeros((64, 6), np.int64)
    for i, v in enumerate(map(int, x)):
        warp, lane = x[i // 32 * 32:][:32], i % 32
        bits, same = (sum(1 << k for k in range(32) if test[k]) for test in (warp > 0, warp == v))
        first = (v & 255 & -(v & 255)).bit_length()
        expected[i] = [bits, (bits & (1 << lane) - 1).bit_count(), same, (x > 2).sum(), first, warp[lane ^ 3]]
    return (1, 64), (x, np.zeros((64, 6), np.int64)), {1: expected}


PROGRAMS = {made.__name__[1:]: made for made in (_tiles, _dynamic, _tuples, _leaving, _tables, _drawn, _votes)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, way):
    launch, arguments, expected = PROGRAMS[name](np.random.default_rng(1))
    reactant.kernel(globals()[name], lower=way)[launch](*arguments)
    for place, wanted in expected.items():
        got = arguments[place]
        for field in wanted.dtype.names or [...]:
            np.testing.assert_allclose(got[field].astype(np.float64), wanted[field].astype(np.float64), rtol=1e-12)
