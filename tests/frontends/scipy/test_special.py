"""scipy.special over grids that hold the edges of each function."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import reactant
from reactant.errors import UnsupportedError
from reactant.frontends.scipy import special
from tests.oracle import check

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-10, 1e3, -1e3]
REAL = np.concatenate([np.linspace(-30, 30, 61), EDGES, [0.5, 1.0, 2.0, 6.5]])
POSITIVE = np.concatenate([np.linspace(0.05, 20, 13), [0.0, 1.0, 100.0, np.inf, np.nan]])
UNIT = np.concatenate([np.linspace(0, 1, 21), [1e-10, -0.5, 1.5, np.nan]])


def grid(*axes):
    return tuple(m.ravel() for m in np.meshgrid(*axes))


ARGUMENTS = {
    **{n: grid(POSITIVE[::2], POSITIVE[1::2], UNIT[::2]) for n in ("betainc", "betaincc")},
    **{n: grid(POSITIVE, REAL[::5]) for n in ("boxcox", "boxcox1p", "huber")},
    **{n: grid(POSITIVE, POSITIVE) for n in ("gammainc", "gammaincc", "kl_div", "rel_entr", "xlogy", "xlog1py")},
    "betaln": grid(POSITIVE, POSITIVE),
    "poch": grid([-7.0, -2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 7.0, 8.0, 30.0, 1e3, 1e6],
                 [-9.5, -5, -1, -0.5, 0, 0.1, 2, 3.5, 20]),
    **{n: grid(POSITIVE[:-2], POSITIVE) for n in ("chdtr", "chdtrc", "pdtr", "pdtrc")},
    **{n: grid(POSITIVE[1:-2:2], POSITIVE[2:-2:2], POSITIVE[1:]) for n in ("fdtr", "fdtrc")},
    "stdtr": grid(POSITIVE[1:-2], REAL),
    "zeta": grid([-1.0, 0.5, 1.0, 1.5, 2.0, 3.0, 40.0, np.inf, np.nan], [*EDGES, 0.5, 1.0, -0.5, -3.0, 2.5]),
    "erfinv": (np.concatenate([UNIT, -UNIT]),), "logit": (UNIT,), "ndtri": (UNIT,), "exp1": (POSITIVE,),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(special._FUNCTIONS))
def test_against_scipy(name):
    function = getattr(scipy.special, name)
    arguments = ARGUMENTS.get(name, (REAL,))
    check(lambda *a: function(*a), *arguments, rtol=1e-9, atol=1e-300)


def test_calls_like_those_of_ufuncs():
    def f(x, n):
        out = np.zeros(3)
        scipy.special.erf(x, out=out)
        return out, scipy.special.expit(x.astype(np.float32)), scipy.special.gammaln(n), scipy.special.erf(x[0])
    check(f, np.array([0.1, -2.0, 3.0]), np.array([3, 4, 5]), rtol=1e-6)


def test_python_functions_of_scipy_are_followed():
    check(lambda x: (scipy.special.logsumexp(x), scipy.special.softmax(x, axis=0), scipy.special.log_softmax(x)),
          np.array([[0.1, 2.0], [-3.0, 4.0]]), rtol=1e-12)


@pytest.mark.slow
def test_second_derivatives_of_long_even_functions():
    x = np.array([-2.5, -0.6, 0.0, 0.2, 2.2])
    first = 1 - 2 * x * scipy.special.dawsn(x)
    along = np.ones(5)

    def slope(x):
        return reactant.jvp(lambda x: scipy.special.dawsn(x), (x,), (along,))[1]
    np.testing.assert_allclose(slope(x), first, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(reactant.jvp(slope, (x,), (along,))[1], -2 * scipy.special.dawsn(x) - 2 * x * first,
                               rtol=1e-11, atol=1e-15)


def test_derivatives_pass_through():
    x = np.array([0.3, 1.7])
    slope = reactant.grad(lambda x: scipy.special.erf(x).sum())(x)
    np.testing.assert_allclose(slope, 2 / np.sqrt(np.pi) * np.exp(-x * x))
    slope = reactant.grad(lambda x: scipy.special.gammaln(x).sum())(x)
    np.testing.assert_allclose(slope, scipy.special.digamma(x))


@pytest.mark.parametrize("f, text", [(lambda x: scipy.special.j0(x), "scipy.special.j0 is not supported"),
                                     (lambda x: scipy.special.erf(x + 1j), "complex numbers")])
def test_what_is_refused(f, text):
    with pytest.raises(UnsupportedError, match=text):
        reactant.jit(f)(np.ones(3))


@pytest.mark.slow
def test_slope_of_students_distribution():
    freedom, places = np.array([0.5, 1.0, 3.0, 1e3])[:, None], np.array([0.0, 1e-9, -0.02, 0.5])
    slope = reactant.grad(lambda t: scipy.special.stdtr(freedom, t).sum())(np.broadcast_to(places, (4, 4)))
    np.testing.assert_allclose(slope, scipy.stats.t.pdf(places, freedom), rtol=1e-6)


@pytest.mark.slow
def test_slopes_in_loops_batches_and_single_precision():
    x = np.linspace(0.1, 3, 7)

    def turned(x):
        for _ in range(3):
            x = scipy.special.erfcx(x) + 0.1 * scipy.special.log_ndtr(x)
        return x

    h = 1e-6
    slope = (turned(x + h) - turned(x - h)) / (2 * h)
    np.testing.assert_allclose(reactant.grad(lambda x: turned(x).sum())(x), slope, rtol=1e-7)
    rows = reactant.vmap(reactant.grad(lambda x: turned(x).sum()))(np.stack([x, x + 1]))
    np.testing.assert_allclose(rows[0], slope, rtol=1e-7)
    single = reactant.grad(lambda x: turned(x).sum())(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, slope, rtol=1e-4)


@pytest.mark.slow
def test_slopes_where_the_form_changes():
    """betaln at 8, and of equal arguments to second order."""
    places = np.array([[8.0, 2.5], [3.0, 3.0], [9.0, 9.0]])
    matrix = np.array([reactant.hessian(lambda p: scipy.special.betaln(p[0], p[1]))(p) for p in places])
    slopes = np.array([reactant.grad(lambda p: scipy.special.betaln(p[0], p[1]))(p) for p in places])
    total = places.sum(1, keepdims=True)
    np.testing.assert_allclose(slopes, scipy.special.digamma(places) - scipy.special.digamma(total), rtol=1e-9)
    second = scipy.special.polygamma(1, places)[:, :, None] * np.eye(2) - scipy.special.polygamma(1, total)[:, :, None]
    np.testing.assert_allclose(matrix, second, rtol=1e-7)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function, x, slope", [
    (lambda x: scipy.special.boxcox(2.0, x), 0.0, np.log(2) ** 2 / 2),
    (lambda x: scipy.special.boxcox1p(2.0, x), 0.0, np.log(3) ** 2 / 2),
    (lambda x: scipy.special.poch(1.5, x), 0.0, scipy.special.digamma(1.5)),
    (lambda x: scipy.special.gammainc(2.5, x), 0.5, 0.1613138163460956),
    (lambda x: scipy.special.gammaincc(x, 1.5), 1.0, 0.3192853006630692),
    (lambda x: scipy.special.chdtr(2.0, x), 0.0, 0.5),
    (lambda x: scipy.special.exp1(x), 1.0, -np.exp(-1.0)),
    (lambda x: scipy.special.expi(x), -2.0, -np.exp(-2.0) / 2),
    (lambda x: scipy.special.pdtr(2.0, x), 0.7, -0.7 ** 2 / 2 * np.exp(-0.7)),
])
def test_slopes_in_each_argument(function, x, slope):
    np.testing.assert_allclose(reactant.grad(function)(x), slope, rtol=1e-8)
    np.testing.assert_allclose(reactant.jvp(function, (x,), (1.0,))[1], slope, rtol=1e-8)


@pytest.mark.slow
def test_derivatives_of_polygamma():
    """Python code around a ufunc that has another name."""
    x = np.array([0.3, 1.5, -0.5])
    for n in (0, 2):
        first = reactant.grad(lambda x, n=n: scipy.special.polygamma(n, x).sum())
        np.testing.assert_allclose(first(x), scipy.special.polygamma(n + 1, x), rtol=1e-12)
        second = reactant.grad(lambda x, first=first: first(x).sum())
        np.testing.assert_allclose(second(x), scipy.special.polygamma(n + 2, x), rtol=1e-12)
