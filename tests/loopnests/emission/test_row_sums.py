"""Reductions over trailing dimensions whose rows share numbers: groups of rows, rows that remain, other combiners."""
import numpy as np
import pytest

import reactant
from tests.loopnests.emission.test_control import native_text

RANDOM = np.random.default_rng(0)


def field(*shape):
    return RANDOM.standard_normal(shape)


def as_dtype(a, dtype):
    return (a * 9).astype(dtype) if np.dtype(dtype).kind != "c" else (a + 1j * a[..., ::-1]).astype(dtype)


def lower_part(a, x):
    return np.tril(a) @ x


def in_windows(a, x):
    return a[1:-2, 3:] @ x[3:]


def turned(a, x):
    return a[:, ::-1] @ x


def of_blocks(a, x):
    return (a.reshape(len(a), -1, 2) * x.reshape(-1, 2)).sum((1, 2))


def steps(a, x):
    y = np.zeros(len(a))
    for i in range(2, len(a)):
        y[i] = (a[:, :i] @ x[:i]).sum()
    return y


CASES = {
    "product": lambda a, x: a @ x, "of several": lambda a, x: (a @ x, a @ (x * 2), (a * x).max(1)),
    "distance": lambda a, x: ((a - x) ** 2).sum(1), "least": lambda a, x: np.abs(a - x).min(1),
    "any": lambda a, x: (a > x).any(1), "lower part": lower_part, "windows": in_windows, "turned": turned,
    "blocks": of_blocks, "both ways": lambda a, x: (a @ x, x[:len(a)] @ a), "pairs": lambda a, x: a @ a.T + x[0],
    "outer": lambda a, x: np.abs(a[:, None, :] - a[None, :9, :]).sum(2), "place": lambda a, x: (a * x).argmax(1),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(4, 64), (11, 66), (10, 130), (33, 1000)], ids=str)
def test_programs(name, shape):
    a, x = field(*shape), field(shape[1])
    got, wanted = reactant.jit(CASES[name], native="always")(a, x), CASES[name](a, x)
    for mine, right in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, wanted)), strict=True):
        assert mine.dtype == right.dtype
        np.testing.assert_allclose(mine, right, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    a, x = as_dtype(field(23, 129), dtype), as_dtype(field(129), dtype)
    got, wanted = reactant.jit(lambda a, x: a @ x, native="always")(a, x), a @ x
    assert got.dtype == wanted.dtype
    rtol = 1e-6 if got.dtype in (np.float32, np.complex64) else 1e-14
    np.testing.assert_allclose(got, wanted, atol=rtol * np.abs(wanted).max())       # of sums, some are near zero


THIN = {
    "columns": lambda a, b: a @ b, "turned columns": lambda a, b: a @ np.ascontiguousarray(b.T).T,
    "rows": lambda a, b: b.T @ a[:, :len(b)].T, "of the turned": lambda a, b: a[:len(b)].T @ b[:len(a)],
    "rows of the turned": lambda a, b: b[:len(a)].T @ a[:len(b)],
    "with more": lambda a, b: np.maximum(a @ b, 0) + (a @ b).sum(), "inner": lambda a, b: np.inner(a, b.T * 2),
    "in a sum": lambda a, b: np.einsum("ij,jk->ki", a, b), "squares": lambda a, b: ((a[:, None] - b.T) ** 2).sum(2),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name, count, dtype", [
    *((name, count, "float64") for name in THIN for count in (2, 6, 17)),
    *((name, 5, dtype) for name in ("columns", "of the turned") for dtype in ("float32", "complex128", "int32"))])
def test_thin_products(name, count, dtype):
    for rows, terms in ((64, 64), (71, 130)):
        a, b = as_dtype(field(rows, terms), dtype), as_dtype(field(terms, count), dtype)
        got, wanted = reactant.jit(THIN[name], native="always")(a, b), THIN[name](a, b)
        assert got.dtype == wanted.dtype
        rtol = 1e-3 if got.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * 10)


def subspace_iteration(a, v, iterations):
    for _ in range(iterations):
        v = a @ v
        v = v / np.sqrt((v * v).sum(0))
    return v


@pytest.mark.slow
def test_thin_products_in_loops():
    a, v = field(90, 90), field(90, 4)
    a = a @ a.T
    for mode in ("always", "auto"):
        np.testing.assert_allclose(reactant.jit(subspace_iteration, native=mode)(a, v, 30),
                                   subspace_iteration(a, v, 30), rtol=1e-8, atol=1e-9)


def test_bounds_that_depend_on_the_iteration():
    a, x = field(70, 70), field(70)
    np.testing.assert_allclose(reactant.jit(steps, native="always")(a, x), steps(a, x), rtol=1e-10, atol=1e-10)


def test_on_threads():
    for rows in (1201, 1204):
        a, x = field(rows, 801), field(801)
        np.testing.assert_allclose(reactant.jit(lambda a, x: a @ x)(a, x), a @ x, rtol=1e-11, atol=1e-10)


def test_signs_and_nan():
    a, x = np.full((9, 80), -0.0), np.ones(80)
    a[3, 7], a[5, 8], a[6, 9] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(reactant.jit(lambda a, x: a @ x, native="always")(a, x), a @ x)


def test_rows_are_grouped_where_they_share_something():
    a, x = field(40, 100), field(100)

    def grouped(function):
        return "step %c4" in (text := native_text(function, a, x)) or "constant 4 : index" in text
    assert grouped(lambda a, x: a @ x)
    assert not grouped(lambda a, x: (a * x[0]).sum(1)), "nothing to share"
    assert not grouped(lambda a, x: a * x)
