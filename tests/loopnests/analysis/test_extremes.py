"""Reductions to the greatest or least number that pass NaN over."""
import numpy as np
import pytest

import reactant
from reactant.ir import ops
from reactant.ir.context import building
from reactant.rewrite.selftest import build_module
from tests.loopnests.running import run, written


def module_of(dtype="float64", **options):
    with building():
        return build_module(lambda a: reduction(a, **options), np.dtype(dtype))


def reduction(a, better="GT", other=False, start=None, axes=(1,)):
    """The region that NumPy's fmax (fmin for LT) becomes, or one that keeps NaN."""
    def body(p, q):
        chosen = ops.compare(q, p, better)
        return ops.select(chosen if other else ops.or_(chosen, ops.compare(p, p, "NE")), q, p)
    start = (-np.inf if better == "GT" else np.inf) if start is None else start
    return ops.reduce(a(7, 40), start, axes, body)


def numbers(dtype):
    x = np.random.default_rng(0).standard_normal((7, 40)).astype(dtype)
    x[0, ::3], x[1], x[2, 1:], x[3] = np.nan, np.nan, np.nan, -np.inf
    x[4], x[5, 7] = -0.0, np.inf
    return x


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("better, known", [("GT", np.fmax), ("LT", np.fmin)])
def test_extremes_of_numbers(better, known, dtype):
    module = module_of(dtype, better=better)
    text = written(module).text
    assert "arith.maximumf" in text or "arith.minimumf" in text
    start = -np.inf if better == "GT" else np.inf
    (found,) = run(module, [numbers(dtype)])
    expected = known.reduce(numbers(dtype), axis=1, initial=start)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("options", [{"other": True}, {"start": np.nan}])
def test_others_stay(options):
    assert "arith.maximumf" not in written(module_of(**options)).text


def test_whole_programs():
    x = numbers("float64")
    x[1, 5] = 3

    def f(x):
        return np.nanmax(x, axis=1), np.nanmin(x, axis=0), np.fmax.reduce(x, axis=None)
    for found, expected in zip(reactant.jit(f, native="always")(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)
