"""The measurement behind `error_free`: the forms are exact as XLA compiles them, alone and in the middle of others."""
from fractions import Fraction

import numpy as np
import pytest

from reactant.ir import ops
from reactant.precision import error_free, wide
from reactant.precision.wide import Wide
from tests.precision import limbs

SIZE = 2000


def pairs(seed, dtype):
    return [[limbs.samples(SIZE, 1, dtype, 1e-3, 1e3, seed + k)[0]] for k in range(2)]


def minus_excess(form):
    def build(x, y):
        result, excess = form(x.head, y.head)
        return Wide([result, ops.negate(excess)])
    return build


FORMS = {
    "sum": (error_free.sum_and_excess, lambda x, y: x + y),
    "difference": (error_free.difference_and_excess, lambda x, y: x - y),
    "product": (error_free.product_and_excess, lambda x, y: x * y),
    "square": (lambda x, y: error_free.square_and_excess(x), lambda x, y: x * x),
    # the sum of a product that was rounded: LLVM would take both together
    "sum of products": (lambda x, y: error_free.sum_and_excess(error_free.rounded(ops.multiply(x, y)), x),
                        lambda x, y: Fraction(float(np.multiply(x, y))) + Fraction(float(x))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMS)
def test_results_and_errors_are_exact(name, dtype):
    form, truth = FORMS[name]
    given = pairs(3, dtype)
    module = limbs.program(lambda x, y: minus_excess(form)(x.first(1), y.first(1)), 2, dtype, 2, SIZE)
    high, low = limbs.run(module, [[x[0], np.zeros(SIZE, dtype)] for x in given])
    for k in range(SIZE):
        x, y = (each[0][k] for each in given)
        wanted = truth(x, y) if name == "sum of products" else truth(Fraction(float(x)), Fraction(float(y)))
        assert Fraction(float(high[k])) + Fraction(float(low[k])) == wanted, (x, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_forms_are_not_exact(dtype):
    """What the forms are there for: without them the error of a product is lost, or its sum contracted."""
    def plain(x, y):
        p = ops.multiply(x.head, y.head)
        return Wide([ops.add(p, x.head), ops.subtract(p, ops.multiply(x.head, y.head))])
    given = pairs(5, dtype)
    high, _ = limbs.run(limbs.program(plain, 2, dtype, 2, SIZE), [[x[0], np.zeros(SIZE, dtype)] for x in given])
    x, y = (each[0] for each in given)
    assert (high != x * y + x).any(), "XLA no longer contracts products and sums: the forms can be simpler"


@pytest.mark.parametrize(("dtype", "count", "bits"), [(np.float32, 2, 45.0), (np.float64, 2, 103.0)])
def test_chains_of_forms_in_one_fusion(dtype, count, bits):
    """Products, sums and products of those again, as they meet in one kernel."""
    def chain(x, y):
        p = x * y
        s = p + wide.square(x)
        return s * s + p * s
    given = [limbs.samples(SIZE // 4, count, dtype, 0.1, 10, seed, signed=False) for seed in (1, 2)]
    found = limbs.run(limbs.program(chain, 2, dtype, count, SIZE // 4), given)

    def truth(x, y):
        s = x * y + x * x
        return s * s + x * y * s
    assert limbs.worst_bits(found, given, truth) > bits - 1


def test_split_halves_multiply_exactly():
    for dtype in (np.float32, np.float64):
        x = limbs.samples(SIZE, 1, dtype, 1e-3, 1e3)[0]
        high, low = limbs.run(limbs.program(lambda v: Wide(error_free.split(v.head)), 1, dtype, 2, SIZE),
                              [[x, np.zeros(SIZE, dtype)]])
        for a, b in ((high, high), (high, low), (low, low)):
            assert all(Fraction(float(p)) == Fraction(float(s)) * Fraction(float(t))
                       for p, s, t in zip(a * b, a, b, strict=True))
        np.testing.assert_array_equal(high + low, x)
