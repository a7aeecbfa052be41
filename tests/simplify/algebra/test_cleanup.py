"""Folded constants equal what the reference interpreter computes, on extremes too, for every op and dtype."""
import ml_dtypes
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module
from reactant.simplify.algebra.cleanup import EXACT_BINARY, EXACT_UNARY

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "bfloat16")
BITS = {"and", "or", "xor", "not"}
INTEGER_ONLY = {"shift_left", "shift_right_logical", "shift_right_arithmetic"}
FLOAT_ONLY = {"floor", "ceil", "round_nearest_even", "round_nearest_afz", "sqrt", "is_finite"}


def values(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype) if dtype == "bfloat16" else dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, 2, 3, 7, 8, limits.max - 1] + [-1, -2, -7] * (dtype.kind == "i"),
                        dtype)
    limits = ml_dtypes.finfo(dtype)
    return np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, np.nan, np.inf, -np.inf, float(limits.max),
                     float(limits.tiny), float(limits.smallest_subnormal)], np.float64).astype(dtype)


def applies(name, dtype):
    if dtype == "bool":
        return name in BITS or name in ("add", "multiply", "maximum", "minimum")
    if dtype in INTEGERS:
        return name not in FLOAT_ONLY and not (name in ("negate", "abs", "sign") and dtype[0] == "u")
    return name not in BITS and name not in INTEGER_ONLY


def agree(builder):
    with building():
        module = build_module(builder, np.dtype(np.float32))
        assert module is not None
        expected = evaluate(module, [])[0]
        pipelines.run(module, "cleanup")
        assert set(modules.counts(module)) == {"stablehlo.constant"}, str(module)
        found = evaluate(module, [])[0]
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(*(x.astype(np.float64) if x.dtype.kind not in "biu" else x
                                    for x in (found, expected)))
    if found.dtype.kind not in "biu":
        number = ~np.isnan(expected.astype(np.float64))
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("name", sorted(EXACT_UNARY))
def test_unary(name, dtype):
    if applies(name, dtype):
        agree(lambda a: ops.create("stablehlo." + name, [(v := ops.constant(values(dtype))).type
                                                         if name != "is_finite" else
                                                         ops.tensor_type((17,), np.dtype(bool))], [v]).result
              if name != "is_finite" else ops.is_finite(ops.constant(values(dtype))))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("name", sorted(EXACT_BINARY))
def test_binary(name, dtype):
    if applies(name, dtype):
        x, y = (v.reshape(-1) for v in np.meshgrid(values(dtype), values(dtype)))
        agree(lambda a: ops.create("stablehlo." + name, [(v := ops.constant(x)).type],
                                   [v, ops.constant(np.ascontiguousarray(y))]).result)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("direction", sorted(ops.COMPARISONS))
def test_compare(direction, dtype):
    x, y = (np.ascontiguousarray(v.reshape(-1)) for v in np.meshgrid(values(dtype), values(dtype)))
    agree(lambda a: ops.compare(ops.constant(x), ops.constant(y), direction))


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, "bool"])
def test_convert(source, target):
    if source == target:
        return
    array = values(source)
    if source in FLOATS and target in INTEGERS:
        limits = np.iinfo(target)
        wide = array.astype(np.float64)
        with np.errstate(invalid="ignore"):
            array = array[(np.trunc(wide) >= limits.min) & (wide < float(limits.max))]
    agree(lambda a: ops.convert(ops.constant(array), getattr(ml_dtypes, target) if target == "bfloat16" else target))


def test_large_arrays_are_not_folded():
    with building():
        module = build_module(lambda a: ops.negate(ops.constant(np.arange(20_000.0))), np.dtype(np.float64))
        pipelines.run(module, "cleanup")
        assert modules.counts(module)["stablehlo.negate"] == 1


def test_a_broadcast_does_not_blow_up_the_program():
    with building():
        module = build_module(lambda a: ops.broadcast_in_dim(ops.constant(np.arange(8.0)), (4096, 8), (1,)),
                              np.dtype(np.float64))
        pipelines.run(module, "cleanup")
        assert modules.counts(module)["stablehlo.broadcast_in_dim"] == 1
