"""Programs as checked native code, at sizes on both sides of every threshold: nothing leaves its buffer, and the
results are NumPy's."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reactant
from reactant.loopnests.emission import column_sums, scatter, tiles, time_tiling
from reactant.loopnests.sorts import sort_keys
from reactant.native import bounds, emission, numpy_sorts, workspace
from reactant.runtime.layout import BIG


def relaxed(x):
    for _ in range(3):
        x = x.copy()
        x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def waves(x):
    """A chain of stencils with arrays of its own, run tile by tile."""
    u, v = x, x * 0.5
    for _ in range(2):
        g = np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u
        v = v + 0.1 * g
        u = u + 0.1 * v
    return u, v.sum(0)


def escaping(x):
    """Iterations of a loop whose elements do not need each other."""
    z, count = np.zeros_like(x), np.zeros(x.shape, np.int64)
    for _ in range(12):
        inside = np.abs(z) < 2
        z = np.where(inside, z * z + x, z)
        count += inside
    return z, count


def recurrence(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def from_the_end(x):
    y = np.zeros_like(x)
    for i in range(len(x) - 1, 0, -1):
        y[i - 1] = y[i] * 0.3 + x[i]
    return y


def centred(x):
    c = x - x.mean(0)
    return (c * c).sum(0), np.abs(c).max(1), (c * x).sum()


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def scanned(x):
    return np.cumsum(x, 0), np.cumsum(x, 1)[:, ::-1]


def ordered(x):
    return np.sort(x, 1), np.argsort(x, 1, kind="stable"), np.sort(x, 0)[::2]


def added_at(x):
    k = (np.abs(x.ravel()) * 1000).astype(np.int64) % 37
    total = np.zeros(37)
    np.add.at(total, k, x.ravel())
    last = np.zeros(37)
    last[k] = x.ravel()
    return total, last, np.bincount(k, minlength=40)


def windows(x):
    flat, total = x.ravel(), np.zeros(8)
    starts = (np.abs(np.resize(flat, 9)) * len(flat) / 8).astype(np.int64) % len(flat)
    for i in range(8):
        total[i] = flat[starts[i]:starts[i + 1]].sum() + flat[starts[i]]
    return total


def padded(x):
    p = np.pad(x, 2, mode="edge")
    return sum(p[i:i + x.shape[0], j:j + x.shape[1]] * (i - j + 0.5) for i in range(5) for j in range(0, 5, 2))


def joined(x):
    return np.concatenate([x[::-1], np.sin(x), x[1:3] * 2], 0)[:, 1:], np.stack([x, x.T[:1] @ x + x], 1)[::2]


def rows_by_index(x):
    k = np.argsort(x[:, 0])
    y = x[k] * 2
    y[k[::2]] = x[k[1::2][:1]] + 1
    return y, np.take(x, k % x.shape[1], axis=1)


def local_rows(x):
    """Arrays that only an iteration of the loop has, too big for the stack."""
    total = np.zeros(x.shape[1])
    for row in x:
        work = np.cumsum(row) * 0.5
        total = total + work[::-1] * row
    return total


def products(x):
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        total = np.tanh(total + x[i]) + x[i, 0] * x[i]
    return total, x.T[:3] @ x


def as_complex(x):
    return escaping(x * (0.3 + 0.2j))


PROGRAMS = {f.__name__: f for f in (
    relaxed, waves, escaping, recurrence, from_the_end, centred, softmax, scanned, ordered, added_at, windows, padded,
    joined, rows_by_index, local_rows, products, as_complex)}
GRADIENTS = (relaxed, waves, recurrence, from_the_end, centred, products, local_rows)
SMALL_SIZES = [(2, 2), (3, 5), (4, 8), (5, 9), (8, 7), (9, 16), (17, 17), (16, 31), (33, 32), (65, 3), (3, 65),
               (64, 64)]
NEAR = time_tiling.STRIP_BYTES // 8
LARGE_SIZES = {
    "strips": (3, NEAR // 3 + 1), "strips exactly": (2, NEAR), "rows of threads": (1021, 67),
    "column tiles": (40, column_sums.TILE + 5), "column tiles exactly": (33, 2 * column_sums.TILE),
    "lent": (300, BIG // 2400 + 3), "tiles": (tiles.LEAST_ROWS + 3, tiles.LEAST_BYTES // 8 // 64 + 1),
    "tiles of many rows": (tiles.LEAST_BYTES // 8 // 97 + 5, 101), "local arrays": (9, emission.LARGE_LOCAL // 8 + 3),
    "sorts in halves": (3, sort_keys.HALVES + 7), "networks": (40, numpy_sorts.SHORT["i64"] + 1),
    "networks exactly": (41, numpy_sorts.SHORT["i32"]), "copies of totals": (3, scatter.LEAST_UPDATES // 3 + 5),
    "workspace": (workspace.LEAST // 8 // 500 + 3, 501), "far rows": (70, tiles.FAR // 8 // 64 + 9)}


@pytest.fixture
def checks(monkeypatch):
    monkeypatch.setenv(bounds.VARIABLE, "1")


def numbers(shape, dtype):
    return np.random.default_rng(shape[0]).normal(size=shape).astype(dtype)


def compare(function, x, **options):
    run = reactant.jit(function, **options)
    expected, found = function(x.copy()), run(x.copy())
    tolerance = 1e-10 if x.dtype == np.float64 else 2e-3
    both = zip(expected, found, strict=True) if isinstance(expected, tuple) else [(expected, found)]
    for wanted, got in both:
        scale = max(float(np.abs(wanted).max(initial=0)), 1.0)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale)
    return run


@pytest.mark.sampled(32)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", SMALL_SIZES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_small_sizes(name, size, dtype, checks):
    compare(PROGRAMS[name], numbers(size, dtype), native="always")


@pytest.mark.slow
@pytest.mark.parametrize("native", ["always", "auto"])
@pytest.mark.parametrize("size", LARGE_SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_sizes(name, size, native, checks):
    dtype = np.float32 if "exactly" in size else np.float64
    compare(PROGRAMS[name], numbers(LARGE_SIZES[size], dtype), native=native)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(5, 7), (70, 33), (300, 1000), (70, tiles.FAR // 8 // 64 + 9)], ids=str)
@pytest.mark.parametrize("function", GRADIENTS, ids=lambda f: f.__name__)
def test_gradients(function, size, checks):
    """Reverse sweeps keep rows, which come to more than XLA's temporaries hold."""
    def loss(x):
        found = function(x)
        return sum((part * part).sum() for part in (found if isinstance(found, tuple) else (found,)))
    x = numbers(size, np.float64) * 0.1
    checked = reactant.jit(reactant.grad(loss), native="always")(x)
    with pytest.MonkeyPatch.context() as without:
        without.delenv(bounds.VARIABLE)
        plain = reactant.jit(reactant.grad(loss), native="never")(x)
        np.testing.assert_allclose(checked, plain, rtol=1e-9, atol=1e-13 * np.abs(plain).max())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("n", [1, 7, 16, 17])
@pytest.mark.parametrize("batch", [1, 9])
def test_factorizations(batch, n, checks):
    random = np.random.default_rng(n)
    a = random.normal(size=(batch, n, n)) + n * np.eye(n)
    b = random.normal(size=(batch, n, 3))

    def solved(a, b):
        lower = np.linalg.cholesky(a @ a.transpose(0, 2, 1))
        return np.linalg.solve(a, b), lower, np.linalg.det(a)
    for x, y in zip(reactant.jit(solved, native="always")(a, b), solved(a, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11 * np.abs(y).max())


@pytest.mark.slow
def test_lowered_thresholds(checks, monkeypatch):
    """Small arrays take the ways of big ones."""
    monkeypatch.setattr(tiles, "LEAST_BYTES", 1 << 10)
    monkeypatch.setattr(tiles, "LEAST_ROWS", 8)
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 11)
    monkeypatch.setattr(time_tiling, "STRIP_BYTES", 256)
    monkeypatch.setattr(workspace, "LEAST", 64)
    monkeypatch.setattr(emission, "LARGE_LOCAL", 64)
    monkeypatch.setattr(emission, "STACK", 128)
    for name in ("waves", "escaping", "local_rows"):
        compare(PROGRAMS[name], numbers((37, 29), np.float64), native="always")
    x = numbers((37, 29), np.float64)
    slope = reactant.grad(lambda x: (waves(x)[0] ** 2).sum())
    made = reactant.jit(slope, native="always")(x)
    monkeypatch.delenv(bounds.VARIABLE)
    np.testing.assert_allclose(made, reactant.jit(slope, native="never")(x), rtol=1e-10)


FUZZ = ["kernels/test_gradient_fuzz.py", "kernels/test_loops_fuzz.py", "kernels/test_nests_fuzz.py",
        "kernels/test_source_fuzz.py", "kernels/test_tensors_fuzz.py", "loopnests/test_random_programs.py",
        "native/test_kernel_fuzz.py"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZ)
def test_fuzz_in_this_mode(name):
    """Random programs and kernels, as programs of their own would run them."""
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests / name],
        cwd=tests.parent, capture_output=True, text=True, env={**os.environ, bounds.VARIABLE: "1"}, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_fuzz_is_all_of_it():
    """The list above names every file of random programs of native code."""
    tests = Path(__file__).parents[1]
    found = [p for room in ("kernels", "loopnests", "native") for p in (tests / room).glob("test_*.py")
             if "fuzz" in p.name or "random" in p.name]
    assert sorted(FUZZ) == sorted(str(p.relative_to(tests)) for p in found)
