"""Reductions over leading dimensions: chunks, tiles, rows that remain, several results, other combiners."""
import numpy as np
import pytest

import reactant


def field(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape)


SHAPES = [(5, 7), (4, 1000), (1000, 4), (1003, 65), (517, 300), (70, 5000), (33, 4100), (2, 600, 30), (600, 3, 40),
          (40, 30, 20, 10)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums(shape):
    x = field(*shape)
    run = reactant.jit(lambda a: (a.sum(tuple(range(a.ndim - 1))), (a * a).max(0)), native="always")
    total, most = run(x)
    np.testing.assert_allclose(total, x.sum(tuple(range(x.ndim - 1))), rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(most, (x * x).max(0))


@pytest.mark.parametrize("name, function", [
    ("product", lambda a: np.prod(1 + a / 1000, axis=0)),
    ("argmax", lambda a: np.argmax(a, axis=0)),
    ("all", lambda a: np.all(a > -4, axis=0)),
    ("minimum of integers", lambda a: np.min((a * 1000).astype(np.int32), axis=0)),
    ("complex", lambda a: np.sum(a + 2j * a, axis=0)),
    ("float32", lambda a: np.sum(a.astype(np.float32), axis=0)),
    ("triangle", lambda a: np.sum(np.tril(a), axis=0)),
    ("windows", lambda a: np.sum(a[3:-2, 1:] * a[2:-3, :-1], axis=0)),
    ("statistics", lambda a: (a - a.mean(0)) / np.sqrt(((a - a.mean(0)) ** 2).mean(0))),
], ids=lambda x: x if isinstance(x, str) else "")
def test_combiners(name, function):
    for shape in ((1029, 130), (130, 1029)):
        x = field(*shape)
        got, wanted = reactant.jit(function, native="always")(x), function(x)
        assert got.dtype == wanted.dtype
        rtol = 2e-4 if got.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol / 2)


def test_nan_and_signs():
    x = field(900, 50)
    x[500, 3], x[:, 5], x[7, 8] = np.nan, -0.0, np.inf
    total, most = reactant.jit(lambda a: (a.sum(0), a.max(0)), native="always")(x)
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-11)
    np.testing.assert_array_equal(most, x.max(0))
    assert np.signbit(most[5])
