"""151 single NumPy calls for `numpy_calls.py`: functions whose parameters say what they take.

`a`, `b`: vectors of n elements; `m`, `w`: matrices of about n elements; `i`, `j`: n whole numbers below n; `mask`: n
booleans; `s`: a sorted vector; `few`: 100 numbers; `p`, `q`: square matrices for products, `v`: a vector for them.
"""
import numpy as np

ANY = {  # of each dtype
    "add": lambda a, b: a + b,
    "multiply by a number": lambda a: a * 3,
    "three operations": lambda a, b: (a + b) * a - b,
    "compare": lambda a, b: a < b,
    "where": lambda a, b, mask: np.where(mask, a, b),
    "maximum": lambda a, b: np.maximum(a, b),
    "clip": lambda a: np.clip(a, 20, 70),
    "absolute": lambda a: np.abs(a),
    "square": lambda a: np.square(a),
    "negative": lambda a: -a,
    "floor divide": lambda a: a // 3,
    "remainder": lambda a: a % 7,
    "sign": lambda a: np.sign(a),
    "astype float32": lambda a: a.astype(np.float32),
    "astype int32": lambda a: a.astype(np.int32),
    "equal to a number": lambda a: a == 5,
    "row plus column": lambda m: m + m[0] + m[:, :1],
    "sum": lambda a: np.sum(a),
    "sum of rows": lambda m: m.sum(axis=1),
    "sum of columns": lambda m: m.sum(axis=0),
    "mean": lambda a: a.mean(),
    "max": lambda a: a.max(),
    "max of rows": lambda m: m.max(axis=1),
    "min of columns": lambda m: m.min(axis=0),
    "argmax": lambda a: np.argmax(a),
    "argmin": lambda a: np.argmin(a),
    "argmax of rows": lambda m: np.argmax(m, axis=1),
    "argmin of columns": lambda m: np.argmin(m, axis=0),
    "ptp": lambda a: np.ptp(a),
    "any": lambda a: (a > 99).any(),
    "all of rows": lambda m: (m >= 0).all(axis=1),
    "count_nonzero": lambda a: np.count_nonzero(a > 50),
    "cumsum": lambda a: np.cumsum(a),
    "cumsum of rows": lambda m: np.cumsum(m, axis=1),
    "cumsum of columns": lambda m: np.cumsum(m, axis=0),
    "maximum.accumulate": lambda a: np.maximum.accumulate(a),
    "diff": lambda a: np.diff(a),
    "diff of rows": lambda m: np.diff(m, axis=1),
    "diff of columns": lambda m: np.diff(m, axis=0),
    "add.reduceat": lambda a: np.add.reduceat(a, np.arange(0, a.size, 8)),
    "sort": lambda a: np.sort(a),
    "sort of rows": lambda m: np.sort(m, axis=1),
    "sort of columns": lambda m: np.sort(m, axis=0),
    "argsort": lambda a: a[np.argsort(a)],      # equal elements are in no order
    "stable argsort": lambda a: np.argsort(a, kind="stable"),
    "partition": lambda a: np.partition(a, a.size // 100)[:a.size // 100].sum(),    # in no order
    "argpartition": lambda a: a[np.argpartition(a, a.size // 2)[a.size // 2]],
    "median": lambda a: np.median(a),
    "median of rows": lambda m: np.median(m, axis=1),
    "percentile": lambda a: np.percentile(a, [5, 95]),
    "searchsorted": lambda s, a: np.searchsorted(s, a),
    "digitize": lambda a, few: np.digitize(a, np.sort(few)),
    "unique": lambda a: np.unique(a),
    "isin": lambda a, few: np.isin(a, few),
    "intersect1d": lambda a, few: np.intersect1d(a, few),
    "histogram": lambda a: np.histogram(a, bins=50, range=(0, 100))[0],
    "nonzero": lambda a: np.nonzero(a > 80)[0],
    "flatnonzero of few": lambda a: np.flatnonzero(a > 98),
    "mask": lambda a, mask: a[mask],
    "mask written": lambda a, mask: _written(a, mask),
    "take": lambda a, i: np.take(a, i),
    "index by pairs": lambda m, i, j: m[i % m.shape[0], j % m.shape[1]],
    "put": lambda a, b, i: _put(a, b, i),
    "add.at": lambda a, b, i: _added_at(a, b, i),
    "take_along_axis": lambda m: np.take_along_axis(m, np.zeros((m.shape[0], 1), int), axis=1),
    "rows by index": lambda m: m[np.arange(m.shape[0])[::-1]],
    "reverse": lambda a: a[::-1] + 0,
    "every other": lambda a: a[::2] + a[1::2],
    "write every other": lambda a: _interleaved(a),
    "write a window": lambda m: _framed(m),
    "write a column": lambda m: _column_written(m),
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "stack": lambda a, b: np.stack([a, b], axis=1),
    "vstack": lambda m: np.vstack([m, m]),
    "hstack": lambda m: np.hstack([m, m]),
    "repeat": lambda a: np.repeat(a, 3),
    "tile": lambda a: np.tile(a, 3),
    "roll": lambda a: np.roll(a, 7),
    "roll of rows": lambda m: np.roll(m, 1, axis=0),
    "roll of columns": lambda m: np.roll(m, 1, axis=1),
    "flip": lambda m: np.flip(m, axis=1) + 0,
    "transpose": lambda m: m.T.copy(),
    "transposed sum": lambda m, w: m.T + w.T,
    "pad": lambda m: np.pad(m, 2),
    "pad by edges": lambda m: np.pad(m, 1, mode="edge"),
    "pad periodically": lambda m: np.pad(m, 1, mode="wrap"),
    "tril": lambda m: np.tril(m),
    "trace": lambda m: np.trace(m),
    "diagonal": lambda m: np.diagonal(m).copy(),
    "outer": lambda a: np.outer(a[:int(a.size**0.5)], a[:int(a.size**0.5)]),
    "zeros": lambda a: np.zeros_like(a),
    "full": lambda a: np.full_like(a, 7),
    "arange": lambda a: np.arange(a.size) + a,
    "linspace": lambda a: np.linspace(0, 1, a.size),
    "meshgrid": lambda m: sum(np.meshgrid(np.arange(m.shape[1]), np.arange(m.shape[0]))),
    "five points": lambda m: m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:] - 4 * m[1:-1, 1:-1],
    "moving sums": lambda a: np.lib.stride_tricks.sliding_window_view(a, 5).sum(axis=1),
    "block sums": lambda m: m[:m.shape[0] // 4 * 4, :m.shape[1] // 4 * 4].reshape(
        m.shape[0] // 4, 4, m.shape[1] // 4, 4).sum(axis=(1, 3)),
    "in place": lambda a: _incremented(a),
    "convolve": lambda a: np.convolve(a, np.ones(7, a.dtype), mode="same"),
    "einsum of rows": lambda m: np.einsum("ij,ij->i", m, m),
    "product with a vector": lambda p, v: p @ v,
    "vector times product": lambda p, v: v @ p,
    "dot": lambda a, b: a @ b,
    "array_equal": lambda a, b: np.array_equal(a, b),
    "ravel_multi_index": lambda m, i, j: (i % m.shape[0]) * m.shape[1] + j % m.shape[1],
}

FLOATS = {
    "divide": lambda a, b: a / (b + 1),
    "sqrt": lambda a: np.sqrt(a),
    "exp": lambda a: np.exp(-a),
    "log": lambda a: np.log(a + 1),
    "sin": lambda a: np.sin(a),
    "tanh": lambda a: np.tanh(a),
    "arctan2": lambda a, b: np.arctan2(a, b),
    "hypot": lambda a, b: np.hypot(a, b),
    "power 1.5": lambda a: a**1.5,
    "power 3": lambda a: a**3,
    "floor": lambda a: np.floor(a),
    "round": lambda a: np.round(a, 2),
    "remainder of 0.1": lambda a: a % 0.1,
    "isnan": lambda a: np.isnan(a),
    "nan_to_num": lambda a: np.nan_to_num(a),
    "nansum": lambda a: np.nansum(a),
    "nanmean of rows": lambda m: np.nanmean(m, axis=1),
    "std": lambda a: a.std(),
    "var of rows": lambda m: m.var(axis=1),
    "norm": lambda a: np.linalg.norm(a),
    "norms of rows": lambda m: np.linalg.norm(m, axis=1),
    "softmax of rows": lambda m: _softmax(m),
    "normalised": lambda a: (a - a.mean()) / a.std(),
    "interp": lambda a, s: np.interp(a, s, s),
    "gradient": lambda a: np.gradient(a),
    "trapezoid": lambda a: np.trapezoid(a, dx=0.1),
    "complex modulus": lambda a, b: np.abs(a + 1j * b),
    "fft": lambda a: np.fft.fft(a),
    "rfft of rows": lambda m: np.fft.rfft(m, axis=1),
    "product": lambda p, q: p @ q,
    "product with transpose": lambda p, q: p @ q.T,
    "transpose times itself": lambda p: p.T @ p,
    "tall product": lambda m: m.T @ m,
    "batched product": lambda p: np.matmul(np.stack([p, p, p]), p),
    "cov": lambda p: np.cov(p),
    "corrcoef": lambda p: np.corrcoef(p),
    "solve": lambda p, v: np.linalg.solve(p + 100 * p.shape[0] * np.eye(p.shape[0], dtype=p.dtype), v),
    "distances": lambda p: ((p[:, None, :8] - p[None, :, :8])**2).sum(axis=-1),
}

INTEGERS = {
    "bits": lambda a, b: (a & 12) | (b ^ 3),
    "shifts": lambda a: (a >> 1) + (a << 2),
    "bincount": lambda a: np.bincount(a),
    "mask of bits": lambda a: (a & 5) == 5,
    "table look-up": lambda a: np.arange(256)[a],
}

BYTES = {  # what an image program does to them
    "threshold": lambda u: np.where(u > 127, 255, 0).astype(np.uint8),
    "bytes masked": lambda u: (u & np.uint8(77)) == np.uint8(77),
}


def _written(a, mask):
    out = a.copy()
    out[mask] = 0
    return out


def _put(a, b, i):
    out = a.copy()
    out[i] = b
    return out


def _added_at(a, b, i):
    out = a.copy()
    np.add.at(out, i, b)
    return out


def _interleaved(a):
    out = np.empty(2 * a.size, a.dtype)
    out[::2] = a
    out[1::2] = 1
    return out


def _framed(m):
    out = np.zeros_like(m)
    out[1:-1, 1:-1] = m[1:-1, 1:-1]
    return out


def _column_written(m):
    out = m.copy()
    out[:, 0] = 1
    return out


def _incremented(a):
    a += 1
    return a


def _softmax(m):
    e = np.exp(m - m.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


CALLS = {name: (function, ("float64", "float32", "int64")) for name, function in ANY.items()}
CALLS |= {name: (function, ("float64", "float32")) for name, function in FLOATS.items()}
CALLS |= {name: (function, ("int64", "int32", "uint8")) for name, function in INTEGERS.items()}
CALLS |= {name: (function, ("uint8",)) for name, function in BYTES.items()}
SIZES = {"small": 1_000, "middle": 100_000, "large": 2_000_000}


def arguments(function, n, dtype):
    """What `function` takes, by the names of its parameters."""
    random = np.random.default_rng(0)
    rows, side = max(int(n**0.5), 1), max(int(n**0.4), 2)

    def numbers(*shape):
        return (100 * random.random(shape)).astype(dtype)
    made = {
        "a": lambda: numbers(n), "b": lambda: numbers(n),
        "m": lambda: numbers(rows, n // rows), "w": lambda: numbers(rows, n // rows),
        "i": lambda: random.integers(0, n, n), "j": lambda: random.integers(0, n, n),
        "mask": lambda: random.random(n) < 0.3, "s": lambda: np.sort(numbers(n)), "few": lambda: numbers(100),
        "p": lambda: numbers(2 * side, 2 * side), "q": lambda: numbers(2 * side, 2 * side),
        "v": lambda: numbers(2 * side), "u": lambda: random.integers(0, 256, n).astype(np.uint8),
    }
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    return tuple(made[name]() for name in names)
