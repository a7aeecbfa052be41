"""Half precision of float64 and of wide integers is the nearest, as if there were no float32 between them."""
from fractions import Fraction

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import reactant
from reactant import native
from reactant.ir import rounding

HALVES = [np.dtype(np.float16), rounding.BFLOAT16]
WIDTHS = {"float16": "f16", "bfloat16": "bf16"}


def nearest(numbers, dtype):
    """By exact fractions."""
    limits = ml_dtypes.finfo(dtype)

    def one(number):
        if isinstance(number, float) and (number in (0.0, np.inf, -np.inf) or number != number):
            return number
        size, sign = abs(Fraction(number)), -1 if number < 0 else 1
        exponent = size.numerator.bit_length() - size.denominator.bit_length() if size else 0
        exponent -= size < Fraction(2) ** exponent
        step = Fraction(2) ** (max(exponent, int(limits.minexp)) - int(limits.nmant))
        found = round(size / step) * step
        return sign * (float(found) if found < Fraction(2) ** int(limits.maxexp) else np.inf)

    return np.array([one(number) for number in numbers.tolist()])


def hard_floats(dtype):
    """Numbers beside the middle of two halves, at every exponent, and beyond the last."""
    limits, random = ml_dtypes.finfo(dtype), np.random.default_rng(3)
    exponents = np.arange(int(limits.minexp) - int(limits.nmant) - 2, int(limits.maxexp), dtype=float)
    step = 2.0 ** (np.maximum(exponents, float(limits.minexp)) - float(limits.nmant))
    middle = step * (random.integers(0, 1 << int(limits.nmant), len(step)) + 0.5)
    middle = np.concatenate([middle + 2.0 ** exponents, middle])
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 1e-310, float(limits.max), float(limits.max) * (1 + 2.0**-12)]
    some = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, 0), middle * (1 + 2.0**-40),
                           special])
    return np.concatenate([some, -some])


def hard_integers(source, dtype):
    """Integers beside the middle of two halves."""
    limits, bits = np.iinfo(source), int(ml_dtypes.finfo(dtype).nmant) + 2
    some = [(odd << shift) + near for shift in range(1, 8 * np.dtype(source).itemsize - bits)
            for odd in ((1 << bits - 1) + 1, (1 << bits) - 1, (1 << bits) - 3) for near in (-1, 0, 1)]
    some += [limits.min, limits.max, 0, *(-number for number in some)]
    return np.array([number for number in some if limits.min <= number <= limits.max], source)


def same(got, wanted):
    got = np.asarray(got).astype(float)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def _stored(x, dtype):
    made = np.zeros(len(x), dtype)
    made[:] = x
    return made


def _stored_one_by_one(x, dtype):
    made = np.zeros(len(x), dtype)
    for i in range(len(x)):
        made[i] = x[i]
    return made


def _in_a_branch(x, dtype):
    return x.astype(dtype) if x[0] != 12345 else np.zeros(len(x), dtype)


WAYS = [lambda x, dtype: x.astype(dtype), lambda x, dtype: np.asarray(x, dtype), _stored, _stored_one_by_one,
        _in_a_branch, lambda x, dtype: np.stack([x.astype(dtype)] * 3)[1]]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["never", "always"])
def test_floats(way, dtype, how):
    x = hard_floats(dtype)
    same(reactant.jit(lambda x: way(x, dtype), native=how)(x), nearest(x, dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("how", ["never", "always"])
def test_integers(source, dtype, how):
    n = hard_integers(source, dtype)
    same(reactant.jit(lambda n: n.astype(dtype), native=how)(n), nearest(n, dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_is_known_when_the_program_is_made(dtype):
    """Arrays made in the program, its numbers, and conversions by our rules."""
    x = hard_floats(dtype)
    x = x[np.isfinite(x)][::7]
    same(reactant.jit(lambda y: np.array(list(map(float, x))).astype(dtype))(np.zeros(1)), nearest(x, dtype))
    same(rounding.astype(x, dtype), nearest(x, dtype))
    bits = int(ml_dtypes.finfo(dtype).nmant)
    near = 1 + 2.0 ** -(bits + 1) + 2.0**-40
    made = reactant.jit(lambda y: np.full(3, near).astype(dtype) + y)(np.zeros(3, dtype))
    same(made, np.full(3, 1 + 2.0**-bits))


def test_eight_bits():
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        x = hard_floats(np.dtype(dtype))
        x = x[abs(x) < float(ml_dtypes.finfo(dtype).max)]
        same(rounding.astype(x, np.dtype(dtype)), nearest(x, dtype))
        same(reactant.jit(lambda x, dtype=dtype: x.astype(dtype))(x), nearest(x, dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_native_code(dtype):
    kind = WIDTHS[dtype.name]
    convert = native.compile(f"""
        func.func @convert(%x: memref<?xf64>, %y: memref<?x{kind}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = memref.dim %x, %c0 : memref<?xf64>
          scf.for %i = %c0 to %n step %c1 {{
            %a = memref.load %x[%i] : memref<?xf64>
            %b = arith.truncf %a : f64 to {kind}
            memref.store %b, %y[%i] : memref<?x{kind}>
          }}
          return
        }}""")
    x = hard_floats(dtype)
    made = np.zeros(len(x), dtype)
    convert(x, made)
    same(made, nearest(x, dtype))


@pytest.mark.parametrize("lower", ["tensor", "native"])
def test_kernels(lower):
    pytest.importorskip("ziglang", reason="needs ziglang")
    kernel = reactant.cuda.load("""
        #include <cuda_fp16.h>
        __global__ void halve(const double* x, __half* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = __double2half(x[i]);
        }""", lower=lower)["halve"]
    x = hard_floats(np.dtype(np.float16))
    y = np.zeros(len(x), np.float16)
    kernel[len(x) // 64 + 1, 64](x, y, len(x))
    same(y, nearest(x, np.float16))


def test_slopes_go_through():
    def loss(x):
        return np.sum(x.astype(np.float16).astype(np.float64) * np.arange(1.0, 5.0))
    np.testing.assert_array_equal(reactant.grad(loss)(np.array([1.1, 2.2, 3.3, 4.4])), np.arange(1.0, 5.0))


def test_jax_functions_stay():
    """They are as jax computes them."""
    with jax.enable_x64(True):
        x = hard_floats(rounding.BFLOAT16)
        np.testing.assert_array_equal(
            np.asarray(reactant.jit(lambda x: jnp.asarray(x).astype(jnp.bfloat16))(x)).view(np.uint16),
            np.asarray(jax.jit(lambda x: x.astype(jnp.bfloat16))(x)).view(np.uint16))
