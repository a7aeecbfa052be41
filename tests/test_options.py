"""Every compile option is read somewhere, and wrong values are refused."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant import CompileOptions


def test_defaults_are_the_documented_ones():
    assert CompileOptions() == CompileOptions(optimize=True, without=(), allow=("rounding",), finite=False,
                                              unroll_limit=256, max_unroll=4096, check=True, donate=False, xla=(),
                                              native="auto", native_seconds=8.0, target=None)


@pytest.mark.parametrize(("wrong", "text"), [
    ({"allow": ("speed",)}, "allow='speed' is not one of rounding, association"),
    ({"allow": "rounding"}, "tuples of names, not one string"),
    ({"without": "shape"}, "tuples of names, not one string"),
    ({"optimize": 3.5}, "optimize is True, False, a name or a tuple of names"),
    ({"unroll_limit": -1}, "unroll_limit is a non-negative int, not -1"),
    ({"max_unroll": True}, "max_unroll is a non-negative int, not True"),
    ({"check": 1}, "check is True or False, not 1"),
    ({"target": "fpga"}, "target='fpga' is not one of cpu, gpu, tpu"),
    ({"native_seconds": -1}, "native_seconds is a number of seconds, not -1"),
    ({"native_seconds": float("nan")}, "native_seconds is a number of seconds, not nan"),
    ({"floats": {"float64": "float32x2"}, "optimize": False}, "floats is a part of the default pipeline"),
    ({"native": "sometimes"}, "native='sometimes' is not one of auto, never, always"),
])
def test_wrong_values(wrong, text):
    with pytest.raises((TypeError, ValueError), match=text):
        CompileOptions(**wrong)


def test_lists_and_mappings_become_hashable():
    options = CompileOptions(without=["shape"], xla={"b": 1, "a": 2})
    assert hash(options) == hash(CompileOptions(without=("shape",), xla=(("a", 2), ("b", 1))))


def turned_twice(x):
    return (-x.T).T


def operations(function, *args, **options):
    return reactant.jit(function, **options).lower(*args).operations()


X = np.ones((3, 4))


def test_optimize_and_without():
    assert "stablehlo.transpose" not in operations(turned_twice, X)
    assert operations(turned_twice, X, optimize=False)["stablehlo.transpose"] == 2
    assert "stablehlo.transpose" not in operations(turned_twice, X, optimize="simplify")
    assert operations(turned_twice, X, without=("shape", "chains"))["stablehlo.transpose"] == 2


def test_allow_and_finite_admit_more_rules():
    def logarithm(x):
        return np.log(1 + x)

    def cancelled(x):
        return x - x

    assert "stablehlo.log_plus_one" not in operations(logarithm, X)
    assert "stablehlo.log_plus_one" in operations(logarithm, X, allow=("rounding", "association"))
    assert "stablehlo.subtract" in operations(cancelled, X)
    assert "stablehlo.subtract" not in operations(cancelled, X, finite=True)


def accumulate(x):
    total = np.zeros(3)
    for i in range(10):
        total[i % 3] = total[i % 3] * x[i] + np.sin(total[(i + 1) % 3])
    return total


def test_unroll_limit():
    x = np.arange(10.0)
    assert "stablehlo.while" not in operations(accumulate, x, unroll_limit=100_000)
    assert operations(accumulate, x, unroll_limit=0)["stablehlo.while"] == 1
    np.testing.assert_array_equal(reactant.jit(accumulate, unroll_limit=0)(x), accumulate(x))


def shaped(x):
    total = 0.0
    for i in range(1, 7):
        total += x.reshape(-1, i)[0, -1] * i if len(x) % i == 0 else 1.0
    return total


def test_max_unroll():
    x = np.arange(12.0)
    assert reactant.jit(shaped)(x) == shaped(x)
    with pytest.raises(reactant.ReactantError, match=r"max_unroll"):
        reactant.jit(shaped, max_unroll=3)(x)


def test_check():
    def pick(x, i):
        return x[i]

    f = reactant.jit(pick, traced_argnames="i")
    with pytest.raises(IndexError):
        f(np.arange(3.0), 7)
    unchecked = reactant.jit(pick, traced_argnames="i", check=False)
    assert unchecked(np.arange(3.0), 2) == 2.0
    assert unchecked(np.arange(3.0), 7) == 2.0          # XLA clamps


def test_donate_and_xla_reach_the_executable():
    def double(x):
        x *= 2

    compiled = reactant.jit(double, donate=True).lower(X).compile()
    assert compiled.lowered._donated() == (0,)
    assert reactant.jit(double).lower(X).compile().lowered._donated() == ()
    given = reactant.array(X)
    view = given[:2]
    reactant.jit(double, donate=True)(given)        # its buffer is gone, and has been replaced
    np.testing.assert_array_equal(given, 2 * X)
    np.testing.assert_array_equal(view, 2 * X[:2])
    run = reactant.jit(turned_twice, xla={"xla_cpu_enable_fast_math": True}).lower(X).compile().executable
    assert run.xla_options["xla_cpu_enable_fast_math"] is True
