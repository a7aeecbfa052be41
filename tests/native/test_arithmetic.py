"""`arith` and `math` in native code, op by op and dtype by dtype, against NumPy."""
from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from reactant import native
from reactant.errors import UnsupportedError

N = 203
TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
         "i16": np.int16, "i32": np.int32, "i64": np.int64, "i1": np.bool_}
UNSIGNED = {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64")


def elementwise(body: str, inputs: list[str], output: str, n: int = N) -> native.NativeFunction:
    """`for i: out[i] = body(a0[i], a1[i]...)`; the body defines %r."""
    arguments = [f"%a{i}: memref<{n}x{t}>" for i, t in enumerate(inputs)] + [f"%out: memref<{n}x{output}>"]
    loads = "\n".join(f"      %x{i} = memref.load %a{i}[%i] : memref<{n}x{t}>" for i, t in enumerate(inputs))
    return native.compile(f"""
    func.func @elementwise({', '.join(arguments)}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {n} : index
      scf.for %i = %c0 to %n step %c1 {{
{loads}
        {body}
        memref.store %r, %out[%i] : memref<{n}x{output}>
      }}
      return
    }}""", roles=["in"] * len(inputs) + ["out"])


def run(body: str, inputs: list[str], output: str, *arrays: np.ndarray) -> np.ndarray:
    result = np.zeros(len(arrays[0]), TYPES[output])
    elementwise(body, inputs, output, len(arrays[0]))(*arrays, result)
    return result


def floats(kind: str, seed: int = 0) -> np.ndarray:
    """Ordinary and extreme floats."""
    generator = np.random.default_rng(seed)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 6e-8, -3e-39, 65504.0, 1e-310, 3e38]
    ordinary = generator.normal(size=N - len(special)) * 10.0 ** generator.integers(-3, 4, N - len(special))
    with np.errstate(over="ignore"):
        return generator.permutation(np.concatenate([special, ordinary])).astype(TYPES[kind])


def integers(kind: str, seed: int = 0) -> np.ndarray:
    info = np.iinfo(TYPES[kind])
    generator = np.random.default_rng(seed)
    special = [0, 1, -1, info.min, info.max, 2, 7]
    return generator.permutation(np.concatenate([
        special, generator.integers(info.min, info.max, N - len(special), dtype=np.int64, endpoint=True)])
    ).astype(TYPES[kind])


def same(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(result.view(np.uint8).reshape(len(result), -1)[~_nan(expected)],
                                  expected.view(np.uint8).reshape(len(result), -1)[~_nan(expected)])
    np.testing.assert_array_equal(_nan(result), _nan(expected))


def _nan(a: np.ndarray) -> np.ndarray:
    return np.isnan(a.astype(np.float64)) if a.dtype.kind not in "iub" else np.zeros(len(a), bool)


FLOAT_BINARY = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "remf": np.fmod,
                "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin}


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_float_binary(name, kind):
    a, b = floats(kind, 1), floats(kind, 2)
    if name in ("maxnumf", "minnumf", "maximumf", "minimumf"):
        a, b = a + np.zeros_like(a), b + np.zeros_like(b)       # which zero is taken is not NumPy's to say
        a, b = (np.where(v == 0, np.zeros_like(v), v) for v in (a, b))
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[name](a, b).astype(a.dtype)
    same(run(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, a, b), expected)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["maximumf", "minimumf", "maxnumf", "minnumf"])
def test_minus_zero_is_below_zero(name, kind):
    a, b = np.array([[-0.0, 0.0, -0.0, 0.0], [0.0, -0.0, -0.0, 0.0]], {"f32": np.float32, "f64": np.float64}[kind])
    found = run(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, a, b)
    assert list(np.signbit(found)) == ([False, False, True, False] if "max" in name else [True, True, True, False])


INTEGER_BINARY = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and,
                  "ori": np.bitwise_or, "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum}


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer_binary(name, kind):
    a, b = integers(kind, 1), integers(kind, 2)
    with np.errstate(over="ignore"):
        same(run(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, a, b), INTEGER_BINARY[name](a, b))


@pytest.mark.parametrize("kind", INTEGERS)
def test_shifts_are_total(kind):
    a, width = integers(kind, 1), 8 * np.dtype(TYPES[kind]).itemsize
    b = np.random.default_rng(2).integers(-2, width + 3, N).astype(TYPES[kind])
    by = b.astype(np.int64) % 2**width if width < 64 else b.astype(object) % 2**64
    table = {"shli": [x << min(int(s), width) for x, s in zip(a.tolist(), by, strict=True)],
             "shrsi": [x >> min(int(s), width) for x, s in zip(a.tolist(), by, strict=True)],
             "shrui": [(x % 2**width) >> min(int(s), width) for x, s in zip(a.tolist(), by, strict=True)]}
    for name, expected in table.items():
        result = run(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, a, b)
        assert [int(v) % 2**width for v in result] == [v % 2**width for v in expected]
    same(run(f"%c = arith.constant 3 : {kind}\n%r = arith.shrsi %x0, %c : {kind}", [kind], kind, a), a >> 3)


def _toward_zero(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    quotients, rests = [], []
    info = np.iinfo(a.dtype)
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        q = -1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        quotients.append((q - info.min) % (info.max - info.min + 1) + info.min)
        rests.append(x if y == 0 else x - q * y)
    return np.array(quotients, dtype=object), np.array(rests, dtype=object)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("signed", [True, False])
def test_division_is_total(kind, signed):
    a, b = integers(kind, 1), integers(kind, 2)
    b[::5] = 0
    a[::7], b[::7] = np.iinfo(a.dtype).min, -1
    x, y = (a, b) if signed else (a.view(UNSIGNED[kind]), b.view(UNSIGNED[kind]))
    quotient, rest = _toward_zero(x, y)
    s = "si" if signed else "ui"
    mask = (1 << 8 * a.itemsize) - 1
    for name, expected in ((f"div{s}", quotient), (f"rem{s}", rest)):
        result = run(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, a, b)
        assert [int(v) & mask for v in result] == [v & mask for v in expected]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", ["floordivsi", "ceildivsi"])
def test_rounded_division(name, kind):
    a, b = integers(kind, 1), integers(kind, 2)
    b[b == 0] = 3
    b[b == -1] = -2
    expected = [x // y if name == "floordivsi" else -(-x // y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert run(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, a, b).tolist() == expected


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("to", FLOATS)
def test_float_conversions_round_once(kind, to):
    if kind == to:
        return
    a = floats(kind, 3)
    if kind == "f64":   # halves of two last places: rounding twice shows
        a[:50] = 1 + np.arange(50) * 2.0**-11 + 2.0**-40
    op = "extf" if np.dtype(TYPES[to]).itemsize > np.dtype(TYPES[kind]).itemsize else "truncf"
    if np.dtype(TYPES[to]).itemsize == np.dtype(TYPES[kind]).itemsize:
        op = "convertf"
    with np.errstate(all="ignore"):
        expected = a.astype(np.float64).astype(TYPES[to])
        if to == "bf16" and kind == "f64":   # ml_dtypes goes through float32: rounds twice
            single = a.astype(np.float32)
            beyond = np.abs(single.astype(np.float64)) > np.abs(a)
            towards = np.nextafter(single, np.where(beyond, 0, np.sign(a) * np.inf).astype(np.float32))
            odd = np.where((single.astype(np.float64) != a) & (single.view(np.uint32) % 2 == 0), towards, single)
            expected = np.where(np.isfinite(a), odd, single).astype(TYPES[to])
    same(run(f"%r = arith.{op} %x0 : {kind} to {to}", [kind], to, a), expected)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("how", ["fptosi", "fptoui"])
def test_floats_to_integers_clamp(kind, to, how):
    """As PTX converts: to 32 bits at least, clamped; narrower integers are the low bits of that."""
    a = floats(kind, 4)
    table = TYPES if how == "fptosi" else UNSIGNED
    info = np.iinfo(table["i32" if to in ("i8", "i16") else to])
    expected = [0 if np.isnan(x) else info.min if x <= info.min else info.max if x >= info.max else int(x)
                for x in a.astype(np.float64)]
    found = run(f"%r = arith.{how} %x0 : {kind} to {to}", [kind], to, a).view(table[to])
    np.testing.assert_array_equal(found, np.array(expected, info.dtype).astype(table[to]))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("to", ["f64", "f32", "f16"])
@pytest.mark.parametrize("how", ["sitofp", "uitofp"])
def test_integers_to_floats(kind, to, how):
    a = integers(kind, 5)
    x = a if how == "sitofp" else a.view(UNSIGNED[kind])
    with np.errstate(over="ignore"):
        expected = np.array([_nearest(int(v), to) for v in x], TYPES[to])
    same(run(f"%r = arith.{how} %x0 : {kind} to {to}", [kind], to, a), expected)


def _nearest(value: int, to: str) -> float:
    if to == "f64":
        return float(value)
    if to == "f32":
        return np.float32(np.int64(value) if value < 2**63 else np.uint64(value))
    return np.float16(float(value)) if abs(value) < 2**53 else np.float16(np.copysign(np.inf, value))


@pytest.mark.parametrize("kind", FLOATS)
def test_compare_floats(kind):
    a, b = floats(kind, 6), floats(kind, 7)
    b[::3] = a[::3]
    x, y = a.astype(np.float64), b.astype(np.float64)
    unordered = np.isnan(x) | np.isnan(y)
    tests = {"eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": (x != y) & ~unordered}
    table = {**{f"o{k}": v for k, v in tests.items()}, **{f"u{k}": v | unordered for k, v in tests.items()},
             "ord": ~unordered, "uno": unordered, "false": unordered & False, "true": unordered | True}
    for name, expected in table.items():
        same(run(f"%r = arith.cmpf {name}, %x0, %x1 : {kind}", [kind, kind], "i1", a, b), expected)


@pytest.mark.parametrize("kind", INTEGERS)
def test_compare_integers(kind):
    a, b = integers(kind, 6), integers(kind, 7)
    b[::3] = a[::3]
    u, v = a.view(UNSIGNED[kind]), b.view(UNSIGNED[kind])
    table = {"eq": a == b, "ne": a != b, "slt": a < b, "sle": a <= b, "sgt": a > b, "sge": a >= b,
             "ult": u < v, "ule": u <= v, "ugt": u > v, "uge": u >= v}
    for name, expected in table.items():
        same(run(f"%r = arith.cmpi {name}, %x0, %x1 : {kind}", [kind, kind], "i1", a, b), expected)


@pytest.mark.parametrize("kind", [*FLOATS, *INTEGERS, "i1"])
def test_constants_and_select(kind):
    dtype = TYPES[kind]
    text = {"i1": "true"}.get(kind, "-3.25" if kind in FLOATS else "-3")
    constant = "true" if kind == "i1" else f"{text} : {kind}"
    chosen = np.arange(N) % 3 == 0
    a = np.zeros(N, dtype)
    expected = np.where(chosen, np.array(True if kind == "i1" else float(text)).astype(dtype), a)
    same(run(f"%k = arith.constant {constant}\n%r = arith.select %x0, %k, %x1 : {kind}", ["i1", kind], kind,
             chosen, a), expected)


@pytest.mark.parametrize("text", ["0x7FC00001", "0xFF800000", "0x7FA00001"])
def test_special_constants_keep_their_bits(text):
    result = run(f"%r = arith.constant {text} : f32", ["f32"], "f32", np.zeros(3, np.float32))
    assert result.view(np.uint32)[0] == int(text, 16)


def test_other_roundings_are_refused():
    with pytest.raises(UnsupportedError, match="Native code rounds to nearest"):
        run("%r = arith.truncf %x0 upward : f64 to f32", ["f64"], "f32", np.zeros(3))
    assert run("%r = arith.truncf %x0 to_nearest_even : f64 to f32", ["f64"], "f32", np.ones(3)).tolist() == [1, 1, 1]


@pytest.mark.machine_code
@pytest.mark.parametrize("kind, least", [("f32", "0xFF800000"), ("f64", "0xFFF0000000000000")])
@pytest.mark.parametrize("name, sign", [("maximumf", 1), ("minimumf", -1)])
def test_masked_extremes_are_vector_code(name, sign, kind, least):
    least = least if sign > 0 else least.replace("FF", "7F", 1)
    made = native.compile(f"""
    func.func @f(%x: memref<500x{kind}>, %m: memref<500xi8>, %y: memref<1x{kind}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c500 = arith.constant 500 : index
      %least = arith.constant {least} : {kind}
      %best = scf.for %i = %c0 to %c500 step %c1 iter_args(%a = %least) -> ({kind}) {{
        %v = memref.load %x[%i] : memref<500x{kind}>
        %n = memref.load %m[%i] : memref<500xi8>
        %p = arith.trunci %n : i8 to i1
        %s = arith.select %p, %v, %least : {kind}
        %b = arith.{name} %a, %s : {kind}
        scf.yield %b : {kind}
      }}
      memref.store %best, %y[%c0] : memref<1x{kind}>
      return
    }}""")
    assert re.search(rf"llvm.{name[:-1]}.v\d+{kind}", made.as_llvm(optimized=True))
    x = np.random.default_rng(0).standard_normal(500).astype({"f32": np.float32, "f64": np.float64}[kind])
    mask, result = (x * sign < 0.5).astype(np.int8), np.empty(1, x.dtype)
    made(x, mask, result)
    assert result[0] == sign * max(sign * x[mask != 0])
    x[7] = np.nan
    made(x, mask | 1, result)
    assert np.isnan(result[0])
    made(x, mask * 0, result)
    assert result[0] == -sign * np.inf


@pytest.mark.machine_code
def test_numbers_that_fit_become_integers_in_vector_code():
    function = elementwise("%r = arith.fptosi %x0 {native.fits} : f32 to i8", ["f32"], "i8")
    x = np.linspace(-128, 127, N, dtype=np.float32)
    out = np.empty(N, np.int8)
    function(x, out)
    np.testing.assert_array_equal(out, x.astype(np.int8))
    text = function.as_llvm(optimized=True)
    assert re.search(r"fptosi <\d+ x float>", text) and ".sat." not in text


@pytest.mark.machine_code
def test_short_loops_are_vector_code():
    """Also where the number of iterations is no multiple of a vector's."""
    function = elementwise("%r = math.exp %x0 : f32", ["f32"], "f32", 13)
    assert re.search(r"fmul (\w+ )*<\d+ x float>", function.as_llvm(optimized=True))
