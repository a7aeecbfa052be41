"""Random loops of one thread each: reductions and recurrences of every type along rows, columns and shared memory."""
from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

TYPES = {"float": np.float32, "double": np.float64, "int": np.int32, "unsigned": np.uint32, "long long": np.int64,
         "short": np.int16, "unsigned char": np.uint8, "signed char": np.int8, "unsigned long long": np.uint64}
SIZE = 60_000
"""Elements of what is read: more than any thread reaches."""
TILE = 2048
BODIES = {
    "sum": "a += X;", "product": "a *= X + 1;", "greatest": "a = X > a ? X : a;", "least": "a = a < X ? a : X;",
    "place": "if (X > a) { a = X; at = j; }", "count": "a += X > c;", "difference": "a = X - a;",
    "both": "a += X; at = j - at;", "polynomial": "a = a * 3 + X;"}
REAL = {"fmax": "a = fmax(a, X);", "fmin": "a = fmin(a, X);"}
WHOLE = {"xor": "a ^= X + j;", "or": "a |= X;", "and": "a &= X;", "shift": "a = (a << 3) ^ (a >> 2) ^ X;"}


@dataclass(frozen=True)
class Loop:
    """A kernel of `name`, and its launch."""

    name: str
    source: str
    dtype: np.dtype
    result: np.dtype
    iterations: int
    threads: int
    seed: int

    def arguments(self) -> tuple:
        """(what is read, what is written, how far some threads go, a threshold, iterations, threads that write)."""
        rng = np.random.default_rng(self.seed)
        if self.dtype.kind == "f":
            x = rng.standard_normal(SIZE).astype(self.dtype)
        else:
            x = rng.integers(0 if self.dtype.kind == "u" else -100, 100, SIZE).astype(self.dtype)
        lengths = rng.integers(0, self.iterations, 8).astype(np.int32)
        return (x, np.zeros(3 * self.threads, self.result), lengths, int(rng.integers(0, 50)), self.iterations,
                3 * self.threads - int(rng.integers(0, 9)))


def random_loop(seed: int) -> Loop:
    r = random.Random(seed)
    kind = r.choice(list(TYPES))
    real = kind in ("float", "double")
    total = kind if r.random() < 0.6 else "double" if real else r.choice(["int", "long long", "unsigned"])
    n, stride = r.choice([3, 5, 7, 12, 17, 33, 40, 64, 100]), r.choice([1, 1, 2, 3, 5, 32, 100])
    shared, threads = r.random() < 0.35 and n * stride + 40 < TILE, r.choice([32, 64, 96, 48, 20])
    body = r.choice(list((BODIES | (REAL if real else WHOLE)).values())).replace("X", f"row[j * {stride}]")
    leave = "if (j % 3 == 1) continue;" if real else f"if (row[j * {stride}] == c) break;"
    body = r.choice(["", "", "", f"if (row[j * {stride}] > c) ", f"{leave} "]) + body
    start = r.choice(["0", "lane", "i % 3", "lane & 3", "1"])
    end, step = r.choice(["n", "n", "n - 1", "lengths[i % 8]", "min(n, lane + 5)"]), r.choice([1, 1, 2, 4, 8, 32, 3])
    head = f"for (int j = {start}; j < {end}; j += {step})" if r.random() < 0.75 else \
        f"for (int j = {end} - 1; j >= {start}; j -= {step})"
    if shared:
        row = (f"__shared__ {kind} tile[{TILE}]; for (int q = threadIdx.x; q < {TILE}; q += blockDim.x) "
               f"tile[q] = x[blockIdx.x * 5 + q]; __syncthreads(); const {kind} *row = tile + lane;")
    else:
        row = f"const {kind} *row = x + {r.choice(['i', 'i * n', '(i / 32) * n', 'lane * 7', '(i % 5) * n + 1'])};"
    name = f"k{seed}"
    parameters = f"const {kind} *x, {total} *out, const int *lengths, int c, int n, int m"
    source = f"""extern "C" __global__ void {name}({parameters}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, at = -1;
    {row}
    {total} a = 1;
    {head} {{ {body} }}
    if (i < m) out[i] = ({total})(a + at);
}}
"""
    return Loop(name, source, np.dtype(TYPES[kind]), np.dtype(TYPES[total]), n, threads, seed)
