"""Products of matrices in native code."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant


def agrees(f, *arguments):
    """Native code against XLA's."""
    found, expected = reactant.jit(f, native="always")(*arguments), jax.jit(f)(*arguments)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def numbers(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 9, shape).astype(dtype)
    made = rng.normal(size=shape)
    return (made + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.complex64])
@pytest.mark.parametrize("rows, depth, columns", [(8, 3, 64), (20, 16, 16), (9, 48, 8), (31, 49, 17), (7, 16, 16),
                                                  (10, 0, 40), (0, 16, 16), (12, 1, 200)])
def test_rows_by_rows(rows, depth, columns, dtype):
    agrees(lambda a, b: a @ b.T, numbers(rows, depth, dtype=dtype), numbers(columns, depth, dtype=dtype))


@pytest.mark.parametrize("subscripts, left, right", [
    ("bik,bjk->bij", (3, 10, 16), (3, 16, 16)),
    ("bik,jbk->bij", (3, 10, 16), (16, 3, 16)),
    ("ikl,jkl->ij", (10, 4, 5), (16, 4, 5)),
    ("ikl,jlk->ij", (10, 4, 5), (16, 5, 4)),
    ("ik,jmk->ijm", (10, 16), (4, 9, 16)),
    ("hik,hjk->ijh", (2, 9, 16), (2, 16, 16)),
    ("ijk,k->ij", (4, 5, 16), (16,)),
    ("bik,bk->bi", (3, 10, 16), (3, 16)),
])
def test_dimensions_in_any_order(subscripts, left, right):
    agrees(lambda a, b: jnp.einsum(subscripts, a, b) * 2, numbers(*left), numbers(*right, seed=1))


def recurrent(w, x):
    """A network: the weights belong outside of both loops."""
    def iteration(h, row):
        h = jax.lax.fori_loop(0, 3, lambda _, h: jnp.sin(h @ w.T), h)
        return h + row, h.sum()
    return jax.lax.scan(iteration, x[0], x)


@pytest.mark.slow
def test_factors_from_outside_are_turned_outside():
    w, x = numbers(16, 16) / 4, numbers(5, 20, 16)
    agrees(recurrent, w, x)
    agrees(lambda x: recurrent(jnp.asarray(w), x), x)


def test_factors_that_change_in_the_loop():
    def f(w, x):
        def iteration(carried, _):
            w, h = carried
            h = h @ w.T
            w = w * 0.9 + h[:16] * 0.01
            return (w, h), h @ (w + 1).T
        return jax.lax.scan(iteration, (w, x), None, length=4)
    agrees(f, numbers(16, 16) / 9, numbers(20, 16))


def test_factors_in_branches():
    def f(w, x, flag):
        return jax.lax.cond(flag, lambda: x @ w.T, lambda: x @ (w * 2).T)
    for flag in (True, False):
        agrees(f, numbers(16, 16), numbers(20, 16), np.bool_(flag))


@pytest.mark.slow
def test_the_gradient_of_a_network():
    agrees(jax.grad(lambda w, x: recurrent(w, x)[0].sum()), numbers(16, 16) / 4, numbers(5, 20, 16))
