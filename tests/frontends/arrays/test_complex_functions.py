"""Branch cuts, signed zeros and infinities of complex functions, against NumPy bit by bit in the signs."""
from __future__ import annotations

import numpy as np
import pytest

import reactant

SIDES = np.array([complex(x, y) for x in (-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0) for y in (-0.0, 0.0)]
                 + [complex(x, y) for y in (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0) for x in (-0.0, 0.0)])
"""Points on the axes, from both sides."""
FAR = np.array([complex(x, y) for x in (-np.inf, -1.0, 1.0, np.inf) for y in (-np.inf, -1.0, 1.0, np.inf)
                if np.isinf(x) or np.isinf(y)])
INVERSES = ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sqrt", "log", "log2", "log10"]


def signs(z: np.ndarray) -> np.ndarray:
    return np.stack([np.where(np.isnan(p), False, np.signbit(p)) for p in (z.real, z.imag)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["D", "F"])
@pytest.mark.parametrize("name", INVERSES)
def test_branch_cuts(name, dtype):
    function = getattr(np, name)
    points = SIDES.astype(dtype)
    if name == "arctanh":
        points = points[np.abs(points.real) != 1]
    if name == "arctan":
        points = points[np.abs(points.imag) != 1]
    with np.errstate(all="ignore"):
        expected = function(points)
    found = reactant.jit(lambda z: function(z))(points)
    np.testing.assert_allclose(found, expected, rtol=1e-14 if dtype == "D" else 1e-6)
    np.testing.assert_array_equal(signs(found), signs(expected))


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "square", "conjugate"])
def test_signs_on_the_axes(name):
    function = getattr(np, name)
    expected, found = function(SIDES), reactant.jit(lambda z: function(z))(SIDES)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(signs(found), signs(expected))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*INVERSES, "exp", "absolute"])
def test_infinities(name):
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        expected = function(FAR)
    np.testing.assert_allclose(reactant.jit(lambda z: function(z))(FAR), expected, rtol=1e-14)


def test_absolute_of_infinity_beside_nan():
    z = np.array([complex(np.inf, np.nan), complex(np.nan, -np.inf), complex(np.nan, 1)])
    np.testing.assert_array_equal(reactant.jit(np.abs)(z), np.abs(z))


def test_division():
    z = np.array([1 + 2j, 0j, -3 + 1e300j, 1e-300 + 1e-300j, complex(np.inf, 1), 2j])
    w = np.array([2 - 1j, 1 + 1j, 1e300 - 1e300j, 1e-300j, 2 + 2j, 0j])
    with np.errstate(all="ignore"):
        expected = z / w, 1 / w[:5], np.reciprocal(w)
    found = reactant.jit(lambda z, w: (z / w, 1 / w[:5], np.reciprocal(w)))(z, w)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-14)


def test_integer_powers():
    z = np.random.default_rng(0).normal(size=20) + 1j * np.random.default_rng(1).normal(size=20)
    found = reactant.jit(lambda z: [z ** n for n in (0, 1, 2, 3, 7, -1, -3, 0.5, 2 + 1j)])(z)
    for n, b in zip((0, 1, 2, 3, 7, -1, -3, 0.5, 2 + 1j), found, strict=True):
        np.testing.assert_allclose(b, z ** n, rtol=1e-13)
