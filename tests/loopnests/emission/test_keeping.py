"""Chains in which each element is used several times: what is written grows with their length, not faster."""
import numpy as np
import pytest

import reactant
from reactant.loopnests import stage


def radix_two(stages):
    """A Fourier transform by products with a 2 x 2 matrix, transposes and factors."""
    n = 2**stages
    k, j = np.mgrid[0:2, 0:2]
    butterfly = np.exp(-1j * np.pi * k * j)
    rows, columns = np.mgrid[0:2, 0:n]

    def transform(x):
        y = x + 0j
        for s in range(stages):
            turned = np.transpose(np.reshape(y, (2**s, 2, 2 ** (stages - s - 1))), (1, 0, 2))
            factor = np.exp(-2j * np.pi * rows[:, : 2**s] * columns[:, : 2**s] / 2 ** (s + 1))
            factor = np.repeat(np.reshape(factor, (2, 2**s, 1)), 2 ** (stages - s - 1), axis=2)
            y = np.reshape(butterfly @ np.reshape(np.reshape(turned, n) * np.reshape(factor, n), (2, n // 2)), n)
        return y
    return transform, (np.random.default_rng(0).standard_normal(n),)


def products(size, rows):
    """Products with a matrix from the left, each turned."""
    def make(stages):
        def chain(x, w):
            for _ in range(stages):
                x = np.tanh((w @ x.reshape(size, -1)).T.reshape(x.shape))
            return x
        random = np.random.default_rng(1)
        return chain, (random.standard_normal(rows), random.standard_normal((size, size)))
    return make


def turned_gradient(stages):
    """The gradient of turned products: a sum over all stages."""
    def chain(x, w):
        for _ in range(stages):
            x = (w @ x).T * 0.5 + x
        return (x * x).sum()
    random = np.random.default_rng(2)
    return reactant.grad(chain), (random.random((8, 8)) / 8, random.random((8, 8)) / 8)


def sums_of_pairs(stages):
    """Each element is a short sum of the one before."""
    def chain(x):
        for _ in range(stages):
            x = np.tanh(x.reshape(-1, 2).sum(axis=1))
        return x
    return chain, (np.random.default_rng(3).random((2**stages, 3))[:, 0].copy(),)


def lines(monkeypatch, make, stages):
    """Lines that are written for a program whose results are NumPy's."""
    function, arguments = make(stages)
    found = []

    def noted(*given, written=stage.write_function, **named):
        made = written(*given, **named)
        found.append(made.text.count("\n"))
        return made
    with monkeypatch.context() as patch:
        patch.setattr(stage, "write_function", noted)
        result = reactant.jit(function, native="always")(*arguments)
    np.testing.assert_allclose(result, reactant.jit(function, native="never")(*arguments), rtol=1e-9, atol=1e-12)
    return sum(found)


@pytest.mark.slow
@pytest.mark.parametrize("make", [radix_two, products(2, 64), products(3, 81), products(8, 64), turned_gradient,
                                  sums_of_pairs])
def test_what_is_written_grows_with_the_chain(monkeypatch, make):
    short, long = (lines(monkeypatch, make, stages) for stages in (6, 12))
    assert 0 < long < 2.6 * short


def test_what_is_used_once_is_not_kept(monkeypatch):
    def distances(x, y):
        return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))

    def written(*given, made=stage.write_function, **named):
        found = made(*given, **named)
        sizes.append([b.size for b in found.workspace])
        return found
    sizes = []
    monkeypatch.setattr(stage, "write_function", written)
    x, y = np.random.default_rng(4).random((2, 40, 3))
    np.testing.assert_allclose(reactant.jit(distances, native="always")(x, y), distances(x, y), rtol=1e-12)
    assert sizes == [[]]
