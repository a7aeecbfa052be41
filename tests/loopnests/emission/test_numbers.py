"""Every element-wise op on every pair of special values, against the reference interpreter."""
import numpy as np
import pytest

import reactant
from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module
from tests.loopnests.running import all_compiles, run

FLOATS = [0.0, -0.0, 1.0, -1.5, 0.5, 2.0, 2.5, 3.5, -7.0, 1e-30, 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 2, 3, 5, 7, 8, 31, 63, 100, -1, -2, -3, -8, -100]
EXACT = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
ROUNDED = ["power", "atan2", "remainder"]
BITS = ["and_", "or_", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical", "remainder"]
UNARY = {"f": ["negate", "abs", "sign", "floor", "ceil", "sqrt", "round_nearest_afz", "round_nearest_even",
               "is_finite"],
         "i": ["negate", "abs", "sign", "not_", "popcnt", "count_leading_zeros"],
         "u": ["negate", "not_", "popcnt", "count_leading_zeros"], "b": ["not_"]}
ELEMENTARY = ["exponential", "exponential_minus_one", "log", "log_plus_one", "sine", "cosine", "tan", "tanh", "cbrt",
              "rsqrt", "logistic"]
DIRECTIONS = ["EQ", "NE", "LT", "LE", "GT", "GE"]
DTYPES = ["bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)), "float32", "float64"]


def values_of(dtype):
    """Special values and their pairs."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        values = np.array([False, True])
    elif dtype.kind == "f":
        values = np.array([*FLOATS, np.finfo(dtype).max], dtype)
    else:
        limits = np.iinfo(dtype)
        fitting = [v for v in INTEGERS if limits.min <= v <= limits.max]
        values = np.array([*fitting, limits.min, limits.max, limits.max - 1], dtype)
    pairs = np.stack(np.meshgrid(values, values, indexing="ij")).reshape(2, -1)
    return pairs[0].copy(), pairs[1].copy()


def module_of(builder, dtype):
    with building():
        made = build_module(builder, np.dtype(dtype))
    assert made is not None and all_compiles(made), f"{made}"
    return made


def compare(builder, dtype, arguments, exact=True, names=()):
    module = module_of(builder, dtype)
    with building():
        wanted = evaluate(module, arguments)
    for number, (x, y) in enumerate(zip(wanted, run(module, arguments), strict=True)):
        word = names[number] if names else number
        if exact:
            np.testing.assert_array_equal(y, x, err_msg=f"{word} {dtype}")
            if x.dtype.kind == "f":
                same = (np.signbit(x) == np.signbit(y)) | np.isnan(x)
                assert same.all(), f"{word} {dtype}: signs of zeros at {np.flatnonzero(~same)[:4]}"
        else:
            loose = {4: 2e-6, 8: 1e-14}[x.dtype.itemsize]
            np.testing.assert_allclose(y, x, rtol=loose, atol=np.finfo(x.dtype).tiny, err_msg=f"{word} {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_ops_of_all_special_values(dtype):
    kind = np.dtype(dtype).kind
    names = EXACT + BITS if kind in "iu" else ["and_", "or_", "xor", "maximum", "minimum"] if kind == "b" else \
        [n for n in EXACT if n not in ("maximum", "minimum")]
    x, y = values_of(dtype)
    compare(lambda a: [getattr(ops, n)(*pair) for pair in [(a(x.size), a(x.size))] for n in names], dtype, [x, y],
            names=names)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_propagate_nan(dtype):
    x, y = values_of(dtype)
    for kind, plain in (("maximum", np.maximum), ("minimum", np.minimum)):
        module = module_of(lambda a, kind=kind: [getattr(ops, kind)(a(x.size), a(x.size))], dtype)
        np.testing.assert_array_equal(run(module, [x, y])[0], plain(x, y))
        for constant in (0.0, 1.0, -np.inf, np.nan):
            module = module_of(lambda a, kind=kind, c=constant: [getattr(ops, kind)(a(x.size), c)], dtype)
            np.testing.assert_array_equal(run(module, [x])[0], plain(x, np.dtype(dtype).type(constant)))


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_minus_zero_is_below_constant_zeros(name, zero):
    x = np.array([0.0, -0.0, 1.0, -1.0])
    found = run(module_of(lambda a: [getattr(ops, name)(a(x.size), zero)], "float64"), [x])[0]
    either = np.logical_and if name == "maximum" else np.logical_or
    np.testing.assert_array_equal(np.signbit(found[:2]), either([False, True], np.signbit(zero)))
    np.testing.assert_array_equal(found, getattr(np, name)(x, zero))


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_and_selection(dtype):
    x, y = values_of(dtype)

    def build(a):
        left, right = a(x.size), a(x.size)
        tests = [ops.compare(left, right, d) for d in DIRECTIONS]
        return [*tests, ops.select(tests[2], left, right)]
    compare(build, dtype, [x, y], names=[*DIRECTIONS, "select"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inverse_functions(dtype):
    x = np.unique(values_of(dtype)[0])
    names = [f"chlo.{name}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")]
    compare(lambda a: [ops.create(n, [v.type], [v]).result for v in [a(x.size)] for n in names], dtype, [x],
            exact=False, names=names)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_ops(dtype):
    x, _ = values_of(dtype)
    names = UNARY[np.dtype(dtype).kind]
    compare(lambda a: [getattr(ops, n)(v) for v in [a(x.size)] for n in names], dtype, [x], names=names)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype):
    x, _ = values_of(dtype)
    targets = [d for d in DTYPES if d != dtype]
    compare(lambda a: [ops.convert(v, d) for v in [a(x.size)] for d in targets], dtype, [x], names=targets)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementary_functions(dtype):
    x = np.array([0.0, -0.0, 1.0, -1.5, 0.5, 2.0, 1e-5, -20.0, 30.0, np.inf, -np.inf, np.nan], dtype)
    compare(lambda a: [getattr(ops, n)(v) for v in [a(x.size)] for n in ELEMENTARY], dtype, [x], exact=False,
            names=ELEMENTARY)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_arithmetic(dtype):
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(2, 30)) + 1j * random.normal(size=(2, 30))).astype(dtype)
    y[:3] = x[:3]

    def build(a):
        left, right = a(30), a(30)
        return [ops.add(left, right), ops.subtract(left, right), ops.multiply(left, right), ops.negate(left),
                ops.real(left), ops.imag(left), ops.compare(left, right, "EQ"), ops.compare(left, right, "NE"),
                ops.select(ops.compare(left, right, "EQ"), left, right), ops.complex(ops.real(left), ops.imag(right))]
    compare_loosely(build, dtype, [x, y])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products_are_numpys(dtype):
    """Those of arrays and of single numbers, which NumPy rounds otherwise."""
    random = np.random.default_rng(3)
    x, y = (random.normal(size=(2, 1000)) + 1j * random.normal(size=(2, 1000))).astype(dtype)
    for function in (lambda x, y: x * y, lambda x, y: x * x + y, lambda x, y: x[0] * y[0], lambda x, y: np.prod(x[:9])):
        np.testing.assert_array_equal(reactant.jit(function, native="always")(x, y), function(x, y))
    edges = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    every = np.array([complex(a, b) for a in edges for b in edges], dtype)
    x, y = np.repeat(every, every.size), np.tile(every, every.size)
    with np.errstate(all="ignore"):
        wanted = x * y
    found = reactant.jit(lambda x, y: x * y, native="always")(x, y)
    np.testing.assert_array_equal(found, wanted)
    for part in (np.real, np.imag):
        there = ~np.isnan(part(wanted))
        np.testing.assert_array_equal(np.signbit(part(found))[there], np.signbit(part(wanted))[there])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sizes_of_complex_numbers(dtype):
    """As NumPy has them where it uses AVX-512 and XLA where it has fused operations, to the last bit there."""
    edges = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-30, 1e30]
    x = np.array([complex(a, b) for a in edges for b in edges], dtype)
    found, = run(module_of(lambda a: [ops.abs(a(x.size))], dtype), [x])
    wanted = np.where(np.isnan(x), np.nan, np.abs(x))       # beside NaN, infinite to C alone
    np.testing.assert_allclose(found, wanted, rtol=3 * np.finfo(dtype).eps)
    random = np.random.default_rng(1)
    x = (random.normal(size=1000) + 1j * random.normal(size=1000)).astype(dtype)
    found, = run(module_of(lambda a: [ops.abs(a(x.size))], dtype), [x])
    np.testing.assert_array_equal(found, reactant.jit(np.abs, native="never")(x))


def compare_loosely(builder, dtype, arguments):
    module = module_of(builder, dtype)
    with building():
        wanted = evaluate(module, arguments)
    for x, y in zip(wanted, run(module, arguments), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-6)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stride", [2, 3, 4, 5, 6, 7, 8, 9, 12])
def test_strides_of_short_rows(dtype, stride):
    """LLVM read strides of 6 wrong by vectors where the rows were no multiple of 4."""
    rng = np.random.default_rng(stride)
    for rows, columns in ((6, 6), (5, 7), (6, 5), (4, 9), (3, 10), (6, 13)):
        a = rng.integers(-9, 9, (rows, stride)).astype(dtype)
        b = rng.integers(-9, 9, (columns, stride)).astype(dtype)
        got = reactant.jit(lambda a, b: -(a @ b.T), native="always")(a, b)
        np.testing.assert_array_equal(got, -(a @ b.T), err_msg=f"{rows} x {columns}")


ENDS = (0, 1, -1, 5, 2**31 - 1, -2**31, 2**40, -2**40, 2**62, -2**62, 2**62 - 1, -2**62 - 1, 2**63 - 1, -2**63,
        2**64 - 1)
AT_THE_ENDS = (
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: -x + 3 * y, np.maximum,
    lambda x, y: np.minimum(x + 1, y - 1), lambda x, y: x < y, lambda x, y: (x + 7) < (y - 9),
    lambda x, y: np.where(x > y, x - 5, y + 5), lambda x, y: x // 2 + y % 3, lambda x, y: np.clip(x, 3, y),
    lambda x, y: x - np.iinfo(x.dtype).max - 1 <= y, lambda x, y: x + np.iinfo(x.dtype).min)


@pytest.mark.parametrize("which", range(len(AT_THE_ENDS)))
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64, np.uint8])
def test_integers_at_the_ends_of_their_dtypes(dtype, which):
    """They wrap as NumPy's do, and no range that is claimed for them decides a comparison wrongly."""
    function, limits = AT_THE_ENDS[which], np.iinfo(dtype)
    numbers = np.array([n for n in (*ENDS, limits.max, limits.min) if limits.min <= n <= limits.max], dtype)
    compiled = reactant.jit(function, native="always")
    for x in numbers:
        for y in numbers:
            with np.errstate(over="ignore"):
                alone, many = function(x, y), function(np.full(3, x), np.full(3, y))
            assert compiled(x, y) == alone, (x, y)
            np.testing.assert_array_equal(compiled(np.full(3, x), np.full(3, y)), many)
