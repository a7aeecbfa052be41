"""Arrays of every dtype for table tests: ordinary values and the awkward ones."""
from __future__ import annotations

import numpy as np

REAL = "?bhilBHILefd"
ALL = REAL + "FD"
"""Every dtype of the NumPy frontend, as dtype characters."""
INTEGERS, FLOATS, COMPLEX = "bhilBHIL", "efd", "FD"


def edges(dtype: str) -> np.ndarray:
    """A vector of the values at which functions change behaviour: zeros of both signs, extremes, infinities, NaN."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        limits = np.iinfo(dtype)
        some = [0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1] + ([-1, -2, -7] if kind == "i" else [100, 5])
        return np.array(some, dtype)
    real = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 100.5, -1e3, 1e-3, np.inf, -np.inf, np.nan]
    if kind == "f":
        return np.array([*real, 2.5, 3.5, -2.5, 0.999, 1.001, -0.5, 1 / 3], dtype)
    return np.array([complex(a, b) for a in real for b in real], dtype)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every edge with every edge; a sample of the pairs for complex numbers."""
    x = edges(dtype)
    if np.dtype(dtype).kind != "c":
        return np.repeat(x, x.size), np.tile(x, x.size)
    order = np.random.default_rng(0).permutation(x.size)
    return np.concatenate([x, x]), np.concatenate([x[order], x])


def ordinary(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Values of moderate size."""
    random, kind = np.random.default_rng(seed + sum(shape)), np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return random.integers(0 if kind == "u" else -50, 50, shape).astype(dtype)
    x = random.normal(size=shape)
    return (x + 1j * random.normal(size=shape) if kind == "c" else x).astype(dtype)


def awkward(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Values of moderate size, the first of them replaced by edges (a repeated value too)."""
    x = ordinary(dtype, *shape, seed=seed) * (10 if np.dtype(dtype).kind in "fc" else 1)
    x = np.asarray(x, dtype)
    some = edges(dtype)[:x.size // 2]
    x.flat[:some.size] = some
    return x
