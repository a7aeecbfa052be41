"""Remainders of floats: exact, with every kind of quotient, and as vector code."""
import re

import numpy as np
import pytest

import reactant
from reactant import native

RANDOM = np.random.default_rng(0)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 2.2e-308, 1.7e308, 0.1, 3.0, 2.0**53,
           2.0**60 + 2**20, 1e-300, 1e300, -2.5]


def numbers(dtype):
    """Pairs: what is special with all that is, any bits, and dividends that are multiples but for the last place."""
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(dtype)
        bits = np.frombuffer(RANDOM.bytes(40_000 * dtype.itemsize), dtype)
        divisors = (RANDOM.random(20_000) * 3).astype(dtype)
        multiples = (divisors * RANDOM.integers(1, 2**30, divisors.size).astype(dtype)).astype(dtype)
        below = np.nextafter(multiples, dtype.type(0))
        pairs = [*zip(*(a.ravel() for a in np.meshgrid(special, special)), strict=True)]
        x, y = (np.array(a, dtype) for a in zip(*pairs, strict=True))
        return (np.concatenate([x, bits[::2], multiples, below, -below]),
                np.concatenate([y, bits[1::2], divisors, divisors, divisors]))


def remainders(x, y):
    return np.fmod(x, y), x % y, x // y


@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_remainders_are_exact(name):
    x, y = numbers(np.dtype(name))
    with np.errstate(all="ignore"):
        wanted = remainders(x, y)
    for found, right in zip(reactant.jit(remainders, native="always")(x, y), wanted, strict=True):
        assert found.dtype == right.dtype
        bits = f"u{found.itemsize}"
        same = (found.view(bits) == right.view(bits)) | np.isnan(found) & np.isnan(right)
        assert same.all(), (x[~same][:3], y[~same][:3], found[~same][:3], right[~same][:3])


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_loops_are_vector_code(type_):
    loop = native.compile(f"""
func.func @rest(%a: memref<?x{type_}>, %k: {type_}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x{type_}>
  scf.for %i = %c0 to %n step %c1 {{
    %x = memref.load %a[%i] : memref<?x{type_}>
    %y = arith.remf %x, %k : {type_}
    memref.store %y, %a[%i] : memref<?x{type_}>
  }} {{native.independent}}
  return
}}""")
    assert re.search(r"fdiv <\d+ x double>", loop.as_llvm(optimized=True))      # versions nobody calls are gone
    x = (RANDOM.random(1001) * 9).astype({"f32": "f4", "f64": "f8"}[type_])
    wanted = np.fmod(x, x.dtype.type(0.7))
    loop(x, x.dtype.type(0.7))
    np.testing.assert_array_equal(x, wanted)


def gathering(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] % 1.0 * 3.0 > total % 0.75:
            total += a[i] % 1.0
    return total


def test_constant_divisors_of_numbers():
    """LLVM takes constants that all calls give out of functions of its own; their versions for several keep them."""
    a = RANDOM.random(50) * 9
    np.testing.assert_allclose(reactant.jit(gathering, native="always")(a), gathering(a), rtol=1e-14)
