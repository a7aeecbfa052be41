"""Polynomials as coefficient arrays."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

P, Q = np.array([1.0, -2.0, 0.5, 3.0]), np.array([2, -1])
X, Y = np.linspace(-1, 2, 7), np.array([0.5, 1.0, -0.3, 2.0, 1.5, 0.1, -1.0])


@pytest.mark.parametrize("f, args", [
    (lambda p, x: np.polyval(p, x), (P, X)), (lambda p, x: np.polyval(p, x), (Q, np.arange(4))),
    (lambda p, x: np.polyval(p, x), (P, 2.0)), (lambda p, x: np.polyval(p, x), (np.zeros(0), X)),
    (lambda p, q: (np.polyadd(p, q), np.polysub(q, p), np.polyadd(q, q)), (P, Q)),
    (lambda p: (np.polyder(p), np.polyder(p, 2), np.polyder(p, 0)), (P,)), (lambda p: np.polyder(p, -1), (P,)),
    (lambda p: (np.polyint(p), np.polyint(p, 2), np.polyint(p, 2, k=[1, 2]), np.polyint(p, 2, k=5)), (Q,)),
    (lambda p: np.polyint(p, 3, k=[1, 2]), (P,)), (lambda p: np.polyint(p, -1), (P,)),
    (lambda r: np.poly(r), (P,)), (lambda r: np.poly(r), (Q,)),
    (lambda r: np.poly(r), (np.array([[2.0, 1], [-1, 3]]),)),
    (lambda r: np.poly(r), (np.ones((2, 3)),)),
    (lambda x, y: np.polyfit(x, y, 2), (X, Y)), (lambda x, y: np.polyfit(x, y, 1, w=x * x + 1), (X, Y)),
    (lambda x, y: np.polyfit(x, y, 1, cov=True), (X, Y)), (lambda x, y: np.polyfit(x, y, 2, cov="unscaled"), (X, Y)),
    (lambda x, y: np.polyfit(x, y, 2, full=True), (X, Y)),
    (lambda x, y: np.polyfit(x, np.stack([y, -y], axis=1), 2), (X, Y)),
    (lambda x, y: np.polyfit(x, y, 2), (X, Y[1:])), (lambda x, y: np.polyfit(x, y, -1), (X, Y)),
])
def test_against_numpy(f, args):
    check(f, *args, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f, text", [
    (lambda p: np.polymul(p, p), "Use np.convolve"), (lambda p: np.roots(p), "companion matrix"),
    (lambda p: np.polydiv(p, p), "size of the remainder"), (lambda p: np.poly1d(p), "polynomial objects cannot be"),
    (lambda p: np.poly(p + 1j), "complex roots")])
def test_what_depends_on_values_is_refused(f, text):
    with pytest.raises(reactant.errors.UnsupportedError, match=rf"(?s)^.*{text}"):
        reactant.jit(f)(P)


# ---- np.polynomial: the functions that run as the Python code they are ------------------------------------------

KINDS = {"polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag", "hermite": "herm",
         "hermite_e": "herme"}
C, C2, C3 = np.array([0.5, 0.3, -0.2, 0.1]), np.arange(12.0).reshape(3, 4) / 10, np.arange(24.0).reshape(2, 3, 4) / 9
T = np.linspace(0.1, 0.9, 7)
FOLLOWED = {"val": lambda f: (f, T, C), "val2d": lambda f: (f, T, T[::-1].copy(), C2),
            "val3d": lambda f: (f, T, T[::-1].copy(), T * T, C3), "grid2d": lambda f: (f, T, T[:3], C2),
            "grid3d": lambda f: (f, T, T[:3], T[:2], C3), "der": lambda f: (lambda c: f(c, 2), C),
            "int": lambda f: (lambda c: f(c, 2, k=[1, 2]), C), "fit": lambda f: (lambda x, y: f(x, y, 2), T, T**3),
            "vander": lambda f: (lambda x: f(x, 3), T), "vander2d": lambda f: (lambda x, y: f(x, y, [2, 1]), T, T * T),
            "vander3d": lambda f: (lambda x, y, z: f(x, y, z, [1, 2, 1]), T, T * T, T + 1)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_numpy_polynomial(kind):
    module = getattr(np.polynomial, kind)
    for name, of in FOLLOWED.items():
        check(*of(getattr(module, KINDS[kind] + name)), rtol=1e-8, atol=1e-11)
    if kind != "polynomial":
        check(getattr(module, KINDS[kind] + "weight"), T)
        check(lambda x: x * getattr(module, KINDS[kind] + "gauss")(7)[0], T)


@pytest.mark.parametrize("f", [np.polynomial.polynomial.polyadd, np.polynomial.chebyshev.chebmul])
def test_functions_that_drop_coefficients_are_refused(f):
    with pytest.raises(reactant.errors.UnsupportedError, match="polyval"):
        reactant.jit(lambda p: f(p, p))(P)
