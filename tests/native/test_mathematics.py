"""`math` in native code: accuracy against mpmath over the whole range, special values against NumPy, vector code."""
from __future__ import annotations

import re
import time
import warnings

import mpmath
import numpy as np
import pytest

from reactant import native
from tests.native.test_arithmetic import TYPES, elementwise, floats, run, same

N = 256


def spread(low: float, high: float, seed: int) -> np.ndarray:
    """Numbers of both signs, evenly spread over powers of ten."""
    generator = np.random.default_rng(seed)
    return generator.choice([-1, 1], N) * 10.0 ** generator.uniform(low, high, N)


def positive(low: float, high: float, seed: int) -> np.ndarray:
    """Half over powers of ten, half around one."""
    generator = np.random.default_rng(seed)
    return np.concatenate([10.0 ** generator.uniform(low, high, N // 2), 1 + generator.uniform(-0.5, 1, N // 2)])


def between(low: float, high: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, N)


FUNCTIONS = {
    "exp": (mpmath.exp, between(-745, 709)), "exp2": (lambda x: mpmath.mpf(2) ** x, between(-1074, 1023)),
    "expm1": (mpmath.expm1, np.concatenate([spread(-20, 0, 1)[:128], between(-40, 700)[:128]])),
    "log": (mpmath.log, positive(-320, 308, 2)), "log2": (lambda x: mpmath.log(x, 2), positive(-320, 308, 3)),
    "log10": (mpmath.log10, positive(-320, 308, 4)),
    "log1p": (mpmath.log1p, np.concatenate([spread(-20, -0.01, 5)[:128], 10 ** between(-1, 300)[:128]])),
    "sin": (mpmath.sin, spread(-10, 20, 6)), "cos": (mpmath.cos, spread(-10, 20, 7)),
    "tan": (mpmath.tan, spread(-10, 20, 8)),
    "asin": (mpmath.asin, between(-1, 1)), "acos": (mpmath.acos, between(-1, 1)),
    "atan": (mpmath.atan, spread(-10, 10, 9)),
    "sinh": (mpmath.sinh, spread(-10, 2.8, 10)), "cosh": (mpmath.cosh, spread(-10, 2.8, 11)),
    "tanh": (mpmath.tanh, spread(-10, 1.5, 12)), "asinh": (mpmath.asinh, spread(-10, 100, 13)),
    "acosh": (mpmath.acosh, 1 + 10 ** between(-5, 100)), "atanh": (mpmath.atanh, between(-1, 1)),
    "cbrt": (mpmath.cbrt, positive(-300, 300, 14)), "erf": (mpmath.erf, spread(-10, 0.7, 15)),
    "erfc": (mpmath.erfc, between(-5, 25)), "sqrt": (mpmath.sqrt, positive(-300, 300, 16)),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), positive(-300, 300, 17)),
}
PAIRS = {"powf": (lambda x, y: x ** y, 10 ** between(-5, 5, 1), between(-60, 60, 2)),
         "atan2": (mpmath.atan2, spread(-10, 10, 18), spread(-10, 10, 19))}


def errors(results: np.ndarray, exact: list, dtype: type) -> np.ndarray:
    """In units in the last place of the exact result."""
    found = []
    for result, value in zip(results, exact, strict=True):
        nearest = dtype(float(value))
        if not np.isfinite(nearest) or not np.isfinite(result):
            found.append(0.0 if result == nearest else np.inf)
        else:
            found.append(float(abs(mpmath.mpf(float(result)) - value) / mpmath.mpf(float(np.spacing(np.abs(nearest))))))
    return np.array(found)


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *PAIRS])
def test_accuracy(name, kind):
    function, *numbers = (FUNCTIONS | PAIRS)[name]
    dtype = TYPES[kind]
    with warnings.catch_warnings(), np.errstate(over="ignore", under="ignore"):
        warnings.simplefilter("ignore")
        largest = {"f64": 1e308, "f32": 3e38, "f16": 6e4, "bf16": 3e38}[kind]
        given = [np.clip(x, -largest, largest).astype(dtype) for x in numbers]
        given = [np.where(x == 0, dtype(1), x) for x in given]
    operands = ", ".join(f"%x{i}" for i in range(len(given)))
    results = run(f"%r = math.{name} {operands} : {kind}", [kind] * len(given), kind, *given)
    with mpmath.workprec(200), np.errstate(all="ignore"):
        exact = [function(*(mpmath.mpf(float(v)) for v in row)) for row in zip(*given, strict=True)]
        if kind in ("f16", "bf16"):     # rounded twice at most
            expected = np.array([float(e) for e in exact]).astype(dtype)
            unit = np.spacing(expected) if kind == "f16" else expected / dtype(128)
            close = np.abs(results.astype(float) - expected.astype(float)) <= np.abs(unit.astype(float))
            assert (close | (results == expected)).all()
            return
        worst = errors(results, exact, dtype).max()
    assert worst <= (4.0 if name == "erfc" else 2.0), f"{worst} units in the last place"


NUMPY = {"exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
         "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
         "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
         "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "sqrt": np.sqrt}
TINY = {"f64": 5e-324, "f32": 1.4e-45}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 0.5, 2.0, -2.0,
           3.0, -3.0, 0.99, 1e10, -1e-10, 1e300, -745.2, 709.8, 1e-40, 3.4e38, 88.8, -104.0, 1023.5, -1075.5, 2.5, -0.5]


@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize("name", NUMPY)
def test_special_values(name, kind):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(TYPES[kind])
        expected = NUMPY[name](x)
        result = run(f"%r = math.{name} %x0 : {kind}", [kind], kind, x)
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        good = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[good]), np.signbit(expected[good]))
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(x.dtype).eps, atol=2 * TINY[kind])


@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize("name, function", [("powf", np.power), ("atan2", np.arctan2)])
def test_special_pairs(name, function, kind):
    with np.errstate(all="ignore"):
        x, y = (v.ravel().astype(TYPES[kind]) for v in np.meshgrid(SPECIAL, SPECIAL))
        expected = function(x, y)
        result = run(f"%r = math.{name} %x0, %x1 : {kind}", [kind, kind], kind, x, y)
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        good = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[good]), np.signbit(expected[good]))
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(x.dtype).eps, atol=2 * TINY[kind])


EXACT = {"absf": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "roundeven": np.rint, "isnan": np.isnan,
         "isinf": np.isinf, "isfinite": np.isfinite}


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name, kind):
    x = floats(kind, 8)
    output = "i1" if name.startswith("is") else kind
    with np.errstate(all="ignore"):
        same(run(f"%r = math.{name} %x0 : {kind}", [kind], output, x), EXACT[name](x))


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
def test_copysign_fma_and_round(kind):
    x, y, z = floats(kind, 8), floats(kind, 9), floats(kind, 10)
    same(run(f"%r = math.copysign %x0, %x1 : {kind}", [kind] * 2, kind, x, y), np.copysign(x, y))
    away = run(f"%r = math.round %x0 : {kind}", [kind], kind, np.array([0.5, 1.5, -2.5, 2.4]).astype(TYPES[kind]))
    assert away.astype(float).tolist() == [1, 2, -3, 2]
    if kind in ("f16", "bf16", "f32"):
        with np.errstate(all="ignore"):
            finite = [np.where(np.isfinite(v.astype(float)) & (np.abs(v.astype(float)) < 1e9), v, v.dtype.type(1))
                      for v in (x, y, z)]
            exact = [mpmath.mpf(float(a)) * float(b) + float(c) for a, b, c in zip(*finite, strict=True)]
            expected = np.array([float(e) for e in exact]).astype(TYPES[kind])
            got = run(f"%r = math.fma %x0, %x1, %x2 : {kind}", [kind] * 3, kind, *finite)
            assert np.mean(got == expected) > 0.99     # the expected numbers are rounded twice


@pytest.mark.parametrize("kind", ["i8", "i16", "i32", "i64"])
def test_counting_bits(kind):
    dtype = TYPES[kind]
    x = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 100, dtype, endpoint=True)
    x[:3] = 0, -1, 1
    width = 8 * x.itemsize
    texts = [format(int(v) % 2**width, f"0{width}b") for v in x]
    table = {"ctpop": [t.count("1") for t in texts], "ctlz": [len(t) - len(t.lstrip("0")) for t in texts],
             "cttz": [len(t) - len(t.rstrip("0")) for t in texts]}
    for name, expected in table.items():
        assert run(f"%r = math.{name} %x0 : {kind}", [kind], kind, x).tolist() == expected


def test_integer_powers():
    x, n = np.array([2.0, -3.0, 0.5, 7.0, 0.0]), np.array([10, 3, -4, 0, 0], np.int32)
    assert run("%r = math.fpowi %x0, %x1 : f64, i32", ["f64", "i32"], "f64", x, n).tolist() == [1024, -27, 16, 1, 1]
    x, n = np.array([2, -3, -1, 1, 5, 2]), np.array([10, 3, -3, -7, 0, -1])
    assert run("%r = math.ipowi %x0, %x1 : i64", ["i64", "i64"], "i64", x, n).tolist() == [1024, -27, -1, 1, 1, 0]


@pytest.mark.machine_code
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "powf", "tanh", "erf", "asin", "cbrt"])
@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_loops_with_functions_are_vector_code(name, kind):
    count = 2 if name == "powf" else 1
    made = elementwise(f"%r = math.{name} {', '.join(['%x0', '%x1'][:count])} : {kind}", [kind] * count, kind, 4096)
    loop = made.as_llvm(optimized=True)
    number = "double" if kind == "f64" else "float"
    assert re.search(rf"store <(\d+) x {number}>", loop), "the loop is not vectorised"


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "expm1", "log1p"])
def test_floats_are_computed_in_floats(name):
    """Twice as many at a time as doubles."""
    made = elementwise(f"%r = math.{name} %x0 : f32", ["f32"], "f32", 4096)
    assert "double" not in made.as_llvm(optimized=True)


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_numbers_that_underflow_cost_no_more(kind):
    """Masked entries of a softmax are exp(-inf): the routine multiplies no numbers that leave the range."""
    made = elementwise(f"%r = math.exp %x0 : {kind}", [kind], kind, 4096)
    dtype = np.dtype({"f64": np.float64, "f32": np.float32}[kind])
    result, seconds = np.empty(4096, dtype), {}
    for name, x in (("usual", np.full(4096, -1, dtype)), ("masked", np.full(4096, -np.inf, dtype))):
        runs = []
        for _ in range(200):
            begun = time.perf_counter()
            made(x, result)
            runs.append(time.perf_counter() - begun)
        seconds[name] = min(runs)
    assert not result.any() and seconds["masked"] < 2.5 * seconds["usual"]


SPECIAL_FUNCTIONS = {
    "erfinv": (mpmath.erfinv, np.concatenate([between(-1, 1)[:60], [1 - 1e-15, 1e-12, -1e-300, 0.5, -0.99999]])),
    "erfcinv": (lambda x: mpmath.erfinv(1 - x),
                np.concatenate([between(0, 2)[:40], 10 ** between(-280, -1)[:10], [0.5, 1.0]])),
    "normcdfinv": (lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1),
                   np.concatenate([between(0, 1)[:40], 10 ** between(-280, -1)[:10]])),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
              np.concatenate([between(-5, 30)[:60], [24.999, 25.001, 1e5, -20.0]])),
}
FUNCTIONS_BY_CALL = {"tgamma": (mpmath.gamma, between(0.1, 150)), "lgamma": (mpmath.loggamma, between(3, 1e4)),
                     "pow": PAIRS["powf"], "expm1": FUNCTIONS["expm1"],
                     "hypot": (mpmath.hypot, spread(-3, 3, 1), spread(-3, 3, 2))}
UNITS = {"erfcx": 5, "tgamma": 10, "lgamma": 5, "normcdfinv": 4, "erfinv": 4, "erfcinv": 4}
"""Allowed errors where more than two units in the last place (the C library's functions are its own)."""


def called(name: str, kind: str, *arrays: np.ndarray) -> np.ndarray:
    """A function that a module declares and calls by its C name."""
    n, types = len(arrays[0]), ", ".join([kind] * len(arrays))
    arguments = ", ".join(f"%a{i}: memref<{n}x{kind}>" for i in range(len(arrays)))
    loads = "\n".join(f"%x{i} = memref.load %a{i}[%i] : memref<{n}x{kind}>" for i in range(len(arrays)))
    operands = ", ".join(f"%x{i}" for i in range(len(arrays)))
    result = np.zeros(n, TYPES[kind])
    native.compile(f"""
    func.func private @{name}({types}) -> {kind}
    func.func @f({arguments}, %o: memref<{n}x{kind}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {n} : index
      scf.for %i = %c0 to %n step %c1 {{
        {loads}
        %r = func.call @{name}({operands}) : ({types}) -> {kind}
        memref.store %r, %o[%i] : memref<{n}x{kind}>
      }}
      return
    }}""")(*arrays, result)
    return result


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*SPECIAL_FUNCTIONS, *FUNCTIONS_BY_CALL])
@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_functions_called_by_name(name, kind):
    function, *numbers = (SPECIAL_FUNCTIONS | FUNCTIONS_BY_CALL)[name]
    with np.errstate(all="ignore"):
        given = [np.clip(x, -1e38, 1e38).astype(TYPES[kind]) for x in numbers]
        given = [np.where(np.abs(x) < 1e-37, TYPES[kind](0.25), x) if kind == "f32" else x for x in given]
    results = called(name + ("f" if kind == "f32" else ""), kind, *given)
    with mpmath.workprec(1100), np.errstate(all="ignore"):
        exact = [mpmath.sign(row[0]) * mpmath.inf if name == "erfinv" and abs(row[0]) == 1
                 else function(*(mpmath.mpf(float(v)) for v in row)) for row in zip(*given, strict=True)]
        worst = errors(results, exact, TYPES[kind]).max()
    assert worst <= UNITS.get(name, 2), worst
