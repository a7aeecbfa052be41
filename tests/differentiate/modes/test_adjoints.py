"""Cotangents of parts of an array: joined where they lie apart, added where they meet."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant


def windows_of(random, shape):
    """Some windows: rows, columns, blocks, single elements."""
    for _ in range(random.integers(1, 9)):
        yield tuple((lambda a, b: slice(a, max(b, a + 1)))(*sorted(random.integers(0, n, 2)))
                    if random.random() < 0.6 else slice(None) for n in shape)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_any_windows(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 6, random.integers(1, 4)))
    windows = list(windows_of(random, shape))

    def f(x):
        total = jnp.sum(x) * (seed % 2)
        for number, window in enumerate(windows):
            total = total + (number + 1) * jnp.sum(jnp.sin(x[window]))
            if number == 3:
                total = total + jax.lax.cond(total > 0, lambda: jnp.sum(x[0] ** 2), lambda: jnp.sum(x[-1]))
        return total

    x = random.normal(size=shape).astype(np.float32)
    np.testing.assert_allclose(reactant.grad(f)(x), jax.grad(f)(x), rtol=1e-4, atol=1e-5)
    along = reactant.jvp(lambda x: reactant.grad(f)(x), (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(along, jax.jvp(jax.grad(f), (x,), (np.ones_like(x),))[1], rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_parts_beside_each_other_are_joined():
    def rows(x):
        h = np.zeros(3)
        for k in [0, 2, 1, 3]:
            h = np.tanh(h + x[k])
        return h.sum()

    def elements(x):
        return x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]

    for f, x in ((rows, np.ones((4, 3))), (elements, np.ones((2, 2)))):
        found = reactant.jit(reactant.grad(f)).lower(x).operations()
        assert "stablehlo.pad" not in found and found["stablehlo.concatenate"] == 1
        reactant.check_derivatives(f, x)


def test_parts_that_meet_are_added():
    def differences(x):
        return (np.diff(x) ** 2).sum() + x[1:-1].sum()

    x = np.linspace(0, 2, 7) ** 2
    reactant.check_derivatives(differences, x)


def test_what_nobody_reads_has_no_derivative():
    """The zeros between parts are no values, which times an infinite slope would be no numbers."""
    def f(x):
        root = np.sqrt(x)
        return root[0] * root[2] + root[3]

    np.testing.assert_allclose(reactant.grad(f)(np.array([4.0, 0.0, 9.0, 1.0, 0.0])), [0.75, 0, 1 / 3, 0.5, 0])


def test_an_element_is_put_into_the_cotangent_of_the_whole():
    """Whoever read first: the whole is not added to zeros with one element."""
    def f(x, i):
        y = np.sin(x)
        return y[i] * np.sum(np.exp(y))

    x = np.linspace(0.2, 1.0, 9)
    operations = reactant.grad(f).lower(x, np.int64(3)).operations()
    assert operations["stablehlo.dynamic_update_slice"] == 1 and "stablehlo.pad" not in operations
    text = reactant.grad(f).lower(x, np.int64(3)).as_text()
    assert not [line for line in text.splitlines() if "stablehlo.add" in line and ": tensor<9xf64>" in line]
    assert reactant.check_derivatives(lambda x: f(x, 3), x)
