"""Polynomials as coefficient arrays."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.support import check

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
    (lambda p: np.polydiv(p, p), "size of the remainder"), (lambda p: np.poly1d(p), "Use np.polyval"),
    (lambda p: np.poly(p + 1j), "complex roots")])
def test_what_depends_on_values_is_refused(f, text):
    with pytest.raises(reactant.errors.UnsupportedError, match=text):
        reactant.jit(f)(P)
