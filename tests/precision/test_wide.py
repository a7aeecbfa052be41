"""Arithmetic of limbs against mpmath: bits, numbers of operations, and what is no number."""
import mpmath
import numpy as np
import pytest

from reactant.precision import wide
from tests.precision import limbs

OPERATIONS = {
    "add": (lambda x, y: x + y, lambda x, y: x + y, 2, 23),
    "subtract": (lambda x, y: x - y, lambda x, y: x - y, 2, 23),
    "multiply": (lambda x, y: x * y, lambda x, y: x * y, 2, 24),
    "divide": (lambda x, y: x / y, lambda x, y: x / y, 2, 29),
    "sqrt": (wide.sqrt, mpmath.sqrt, 1, 60),
    "square": (wide.square, lambda x: x * x, 1, 20),
}
"""By name: what is built, the truth, the arguments, and at most how many operations of two float32 limbs."""


@pytest.mark.parametrize(("dtype", "count", "bits"), [
    (np.float32, 2, 45.5), (np.float64, 2, 103.5), (np.float32, 3, 71.0), (np.float64, 4, 210.0)])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "sqrt"])
def test_bits(name, dtype, count, bits):
    if count > 2 and name in ("subtract", "sqrt") or (count == 4 and name == "divide"):
        pytest.skip("more limbs are done once for each kind")
    build, truth, arguments, _ = OPERATIONS[name]
    size = 400
    given = [limbs.samples(size, count, dtype, 1e-3, 1e3, seed, signed=arguments == 2) for seed in range(arguments)]
    found = limbs.run(limbs.program(build, arguments, dtype, count, size), given)
    assert limbs.worst_bits(found, given, truth) > bits - (0.5 if name == "divide" and count == 2 else 0)


def test_sums_that_cancel():
    size = 400
    x, y = (limbs.samples(size, 2, np.float32, 1, 2, seed, signed=False) for seed in (1, 2))
    y = [-x[0], y[1]]
    found = limbs.run(limbs.program(OPERATIONS["add"][0], 2, np.float32, 2, size), [x, y])
    assert limbs.worst_bits(found, [x, y], lambda a, b: a + b) > 90


@pytest.mark.parametrize("name", OPERATIONS)
def test_number_of_operations(name):
    build, _, arguments, most = OPERATIONS[name]
    assert limbs.operations(limbs.program(build, arguments, np.float32, 2, 8)) <= most


@pytest.mark.parametrize(("name", "most"), [("add", 20), ("multiply", 21)])
def test_number_of_operations_of_finite_numbers(name, most):
    with wide.finite():
        module = limbs.program(OPERATIONS[name][0], 2, np.float32, 2, 8)
    assert limbs.operations(module) <= most


SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e37, 1e-30], np.float32)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_zeros_infinities_and_nan_are_those_of_one_limb(name, count):
    build, truth, _, _ = OPERATIONS[name]
    x, y = (each.ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    rest = [np.zeros(x.size, np.float32)] * (count - 1)
    found = limbs.run(limbs.program(build, 2, np.float32, count, x.size), [[x, *rest], [y, *rest]])
    with np.errstate(all="ignore"):
        wanted = truth(x, y)
    np.testing.assert_array_equal(found[0], wanted)
    np.testing.assert_array_equal(np.signbit(found[0][wanted == 0]), np.signbit(wanted[wanted == 0]))
    assert not np.isnan(found[1]).any() or (np.isnan(found[1]) <= np.isnan(found[0])).all()
