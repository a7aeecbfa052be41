"""Whole programs with a power of two for each array."""
import numpy as np
import pytest

import reactant
from tests.precision.scaled.test_numbers import SCALED, X, Y, right


def growing(x):
    for _ in range(4):          # 1e120 in the end
        x = x * 1e30
    return x.sum(), x.max(), np.argmax(x)


def test_a_loop_that_leaves_the_range_of_float32():
    x = np.array([1.0, 2.5, -3.0])
    found = reactant.jit(growing, floats=SCALED)(x)
    for a, b in zip(found, growing(x), strict=True):
        right(a, b)
    with pytest.raises(FloatingPointError):
        reactant.jit(growing, floats={"float64": "float32x2"})(x)


@pytest.mark.slow
def test_loops_and_branches_carry_exponents():
    import jax

    def steps(x, n):
        y = jax.lax.fori_loop(0, n, lambda k, y: y * 1e30, x)
        return jax.lax.cond(n > 3, lambda y: y * 1e-10, lambda y: y, y)
    with jax.enable_x64(True):
        found = reactant.jit(steps, frontend="jax", floats=SCALED)(np.array([1.5, -2.0]), 7)
    right(found, np.array([1.5, -2.0]) * 1e200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sums", "moves", "products"])
def test_other_operations(name):
    programs = {
        "sums": lambda x, y: (x.sum(), x.mean(), np.cumsum(y), x.max(), np.argmin(x), y.min()),
        "moves": lambda x, y: (np.sort(x), x[::-1], x[np.array([2, 0])], np.concatenate([x, x * 2]), x > y, np.clip(
            x, -1e60, 5e59)),
        "products": lambda x, y: (x @ x, np.outer(x, y), np.prod(x * 1e-60), x**3, y**-2, np.abs(y)**0.5)}
    program = programs[name]
    for found, wanted in zip(reactant.jit(program, floats=SCALED)(X, Y), program(X, Y), strict=True):
        right(found, wanted)


@pytest.mark.slow
def test_random_programs():
    """Chains of random operations, of numbers whose exponents are those of float64."""
    rng = np.random.default_rng(0)
    operations = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: np.sqrt(a) * b, lambda a, b: (
        np.maximum(a, b)), lambda a, b: np.where(a > b, a, b)]
    for _ in range(12):
        chosen = rng.integers(0, len(operations), 6)
        scale = 10.0 ** rng.integers(-60, 60, 3)
        arrays = [s * rng.uniform(0.5, 2, 50) for s in scale]

        def program(x, y, z, chosen=tuple(chosen)):
            for k in chosen:
                x, y, z = y, z, operations[k](x, y)
            return x, y, z
        with np.errstate(all="ignore"):
            wanted = program(*arrays)
        found = reactant.jit(program, floats=SCALED)(*arrays)
        for a, b in zip(found, wanted, strict=True):
            inside = (np.abs(b) > 1e-290) & (np.abs(b) < 1e290)
            right(a[inside], b[inside], 42)


def test_what_has_no_form_is_refused_with_its_line():
    with pytest.raises(reactant.UnsupportedError, match="complex") as caught:
        reactant.jit(lambda x: np.fft.fft(x), floats=SCALED)(np.ones(4))
    assert caught.value.code == "not-in-limbs"
    with pytest.raises(reactant.UnsupportedError, match="power of two"):
        reactant.jit(lambda x, y: x**y, floats=SCALED)(X, Y)
