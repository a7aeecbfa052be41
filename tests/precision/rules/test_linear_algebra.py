"""Linear algebra of programs whose floats are limbs."""
import mpmath
import numpy as np
import pytest

import reactant

RNG = np.random.default_rng(0)
A = RNG.standard_normal((7, 7))
RIGHT = RNG.standard_normal((7, 2))
POSITIVE = A @ A.T + np.eye(7)
TALL = RNG.standard_normal((6, 3))
TWO = {"float64": "float32x2"}
slow = pytest.mark.slow


def lu(a):
    import scipy.linalg
    return scipy.linalg.lu_factor(a)


COMPLEX = A + 1j * RNG.standard_normal((7, 7))
PROGRAMS = {
    "solve": (lambda a: np.linalg.solve(a, RIGHT), A), "stack": (np.linalg.inv, np.stack([A, POSITIVE])),
    "lu": (lu, A), "complex solve": (lambda a: np.linalg.solve(a, RIGHT), COMPLEX), "complex lu": (lu, COMPLEX),
    "complex qr": (np.linalg.qr, COMPLEX), "upper": (lambda a: np.linalg.cholesky(a, upper=True), POSITIVE),
    "complex cholesky": (np.linalg.cholesky, COMPLEX @ COMPLEX.conj().T + np.eye(7)), "det": (np.linalg.det, A),
    "complete": (lambda a: np.linalg.qr(a, mode="complete"), TALL)}


@pytest.mark.parametrize("name", [name if name == "lu" else pytest.param(name, marks=slow) for name in PROGRAMS])
def test_programs(name):
    function, a = PROGRAMS[name]
    found, wanted = reactant.jit(function, floats=TWO)(a), function(a)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=0, atol=2.0**-42 * np.abs(other).max())


@pytest.mark.slow
def test_no_factor():
    with pytest.raises(np.linalg.LinAlgError):
        reactant.jit(np.linalg.cholesky, floats=TWO)(-POSITIVE)
    with pytest.raises(np.linalg.LinAlgError):
        reactant.jit(lambda a: np.linalg.solve(a, RIGHT), floats=TWO)(np.zeros((7, 7)))
    found = reactant.jit(np.linalg.qr, floats=TWO)(np.zeros((3, 3)))
    np.testing.assert_array_equal(found[0], np.eye(3))
    assert reactant.jit(np.linalg.inv, floats=TWO)(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.slow
def test_a_condition_that_float32_does_not_hold():
    a = np.array([[1 / (i + j + 1) for i in range(8)] for j in range(8)])        # 1.5e10
    found = reactant.jit(lambda a: np.linalg.solve(a, a.sum(1)), floats={"float64": "float64x2"})(a)
    with mpmath.workprec(300):
        wanted = mpmath.lu_solve(mpmath.matrix(a), mpmath.matrix(a) * mpmath.ones(8, 1))
    np.testing.assert_allclose(np.asarray(found), [float(x) for x in wanted], rtol=1e-15)
