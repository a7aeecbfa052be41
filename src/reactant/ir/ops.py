"""Builders of StableHLO and CHLO operations: one function an op, named as the op (`and_`, `or_`, `not_`, `if_`,
`while_`, `return_` where Python owns the word).

Operands are `ir.Value`s; where at least one operand is a value, the others may be Python or NumPy numbers, which become
splat constants of the value's type. Result types are computed here, because `Operation.create` with a known type costs
a quarter of the generated builders. Ops are inserted at the current insertion point with the current location.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import rounding
from reactant.ir.creation import create, owner
from reactant.ir.types import Shape, dtype_of, real_dtype, shape_and_dtype, shape_of, tensor_type

Operand: TypeAlias = ir.Value | int | float | complex | bool | np.generic
Body: TypeAlias = str | Callable[..., "ir.Value | Sequence[ir.Value]"]


# ---- constants -------------------------------------------------------------------------------------------------

def constant(value: object, dtype: object = None, shape: Shape | None = None) -> ir.Value:
    """A constant with the content of `value` (number or array); with `shape`, a splat of that shape."""
    if (kind := type(value)) in _NUMBERS and dtype is not None and (value or kind is not float) and value == value:
        types, attributes = _number(kind, value, dtype, () if shape is None else tuple(shape))
        return create("stablehlo.constant", types, [], attributes).result
    array = _array(value, dtype)
    if shape is None or array.ndim:
        attribute = attr.dense(array if shape is None else np.broadcast_to(array, shape))
    else:
        attribute = attr.full(shape, array)
    return create("stablehlo.constant", results=[attribute.type], operands=[], attributes={"value": attribute}).result


_NUMBERS = (int, float, bool)


def _array(value: object, dtype: Any) -> np.ndarray:
    return np.asarray(value, dtype) if dtype is None or np.dtype(dtype) not in rounding.SMALL else \
        rounding.astype(np.asarray(value), np.dtype(dtype))


@lru_cache(maxsize=65536)
def _number(kind: type, value: float, dtype: Any, shape: Shape) -> tuple[list[ir.Type], dict[str, ir.Attribute]]:
    """Type and attribute of a splat of a Python number; not for zeros of floats, whose signs no cache tells apart, and
    for NaN."""
    attribute = attr.full(shape, _array(value, dtype))
    return [attribute.type], {"value": attribute}


def splat(value: object, like: ir.Value) -> ir.Value:
    """A constant of the type of `like` whose elements are all `value`."""
    shape, dtype = shape_and_dtype(like.type)
    return constant(value, dtype, shape)


def iota(shape: Shape, dtype: object, dimension: int) -> ir.Value:
    """0, 1, 2... along `dimension`."""
    return create("stablehlo.iota", results=[tensor_type(tuple(shape), np.dtype(dtype))], operands=[],
                   attributes={"iota_dimension": attr.integer(dimension)}).result


def content_of(constant: ir.OpView) -> ir.Attribute | None:
    """The attribute that is the content of a `stablehlo.constant`; None where it is complex: the bindings cannot cast
    it, and raise an error that has all of it as text."""
    return None if dtype_of(constant.operation.results[0]).kind == "c" else constant.attributes["value"]


def constant_value(value: ir.Value) -> np.ndarray | None:
    """The array of a `stablehlo.constant` result, else None."""
    made = owner(value)
    if type(made) is not stablehlo.ConstantOp:
        return None
    found = getattr(made, "content", None)
    if found is None:
        attribute = content_of(made)
        found = attr.elements(attribute) if attribute is not None else attr.complex_elements(
            made.get_asm(use_local_scope=True, assume_verified=True))   # nothing is numbered there
        made.content = found
    return found


def distinct(content: np.ndarray) -> np.ndarray:
    """The numbers of an array, in which one that is everywhere comes once."""
    return content.reshape(-1)[:1] if content.size and not any(content.strides) else content


def maker(value: ir.Value) -> ir.Operation | None:
    """The op that makes a value; None for what a block is given."""
    made = value.owner
    return None if isinstance(made, ir.Block) else made.operation


def made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    """The op that makes a value where it is one of these of StableHLO, named without the dialect; else None."""
    made = maker(value)
    return made if made is not None and made.name.removeprefix("stablehlo.") in names else None


def target_of(op: ir.Operation) -> str:
    """The target of a custom call; "" for other ops."""
    return ir.StringAttr(op.attributes["call_target_name"]).value if op.name == "stablehlo.custom_call" else ""


# ---- elementwise -----------------------------------------------------------------------------------------------

def _values(*operands: Operand) -> list[ir.Value]:
    """Numbers among the operands become splats of the first value's type."""
    for operand in operands:
        if isinstance(operand, ir.Value):
            return [o if isinstance(o, ir.Value) else splat(o, operand) for o in operands]
    raise TypeError("an op needs at least one ir.Value among its operands")


def _unary(name: str) -> Callable[[ir.Value], ir.Value]:
    def build(x: ir.Value) -> ir.Value:
        return create(name, results=[x.type], operands=[x]).result
    build.__name__, build.__doc__ = name.split(".")[1], f"`{name}`, elementwise."
    return build


def _binary(name: str) -> Callable[[Operand, Operand], ir.Value]:
    def build(x: Operand, y: Operand) -> ir.Value:
        if not (isinstance(x, ir.Value) and isinstance(y, ir.Value)):
            x, y = _values(x, y)
        return create(name, results=[x.type], operands=[x, y]).result
    build.__name__, build.__doc__ = name.split(".")[1], f"`{name}`, elementwise; operands of one type."
    return build


UNARY = ("cbrt", "ceil", "cosine", "count_leading_zeros", "exponential", "exponential_minus_one", "floor", "log",
         "log_plus_one", "logistic", "negate", "not", "popcnt", "round_nearest_afz", "round_nearest_even", "rsqrt",
         "sign", "sine", "sqrt", "tan", "tanh")
BINARY = ("add", "and", "atan2", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder", "shift_left",
          "shift_right_arithmetic", "shift_right_logical", "subtract", "xor")
CHLO_UNARY = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf",
              "erf_inv", "erfc", "lgamma", "sinh", "square")
CHLO_BINARY = ("next_after", "polygamma", "zeta")
ELEMENTWISE = {f"stablehlo.{n}" for n in (*UNARY, *BINARY, "abs", "compare", "select", "clamp", "convert", "complex",
                                          "real", "imag", "is_finite", "reduce_precision")} \
    | {f"chlo.{n}" for n in (*CHLO_UNARY, *CHLO_BINARY)}
"""Ops that work element by element on operands of one shape (`select`/`clamp` also allow scalar predicate/bounds)."""
if TYPE_CHECKING:
    def __getattr__(name: str) -> Callable[..., ir.Value]: ...   # the builders made from the tables below

_KEYWORDS = {"and", "or", "not", "if", "while", "return"}

for _name in UNARY:
    globals()[_name + "_" if _name in _KEYWORDS else _name] = _unary("stablehlo." + _name)
for _name in BINARY:
    globals()[_name + "_" if _name in _KEYWORDS else _name] = _binary("stablehlo." + _name)
for _name in CHLO_UNARY:
    globals()[_name] = _unary("chlo." + _name)
for _name in CHLO_BINARY:
    globals()[_name] = _binary("chlo." + _name)


@cache
def _with_dtype(type_: ir.Type, dtype: np.dtype) -> ir.Type:
    return tensor_type(shape_and_dtype(type_)[0], dtype)


def abs(x: ir.Value) -> ir.Value:  # noqa: A001 - the op's name
    """`stablehlo.abs`; complex in, real out."""
    return create("stablehlo.abs", results=[_with_dtype(x.type, real_dtype(dtype_of(x)))], operands=[x]).result


def real(x: ir.Value) -> ir.Value:
    return create("stablehlo.real", results=[_with_dtype(x.type, real_dtype(dtype_of(x)))], operands=[x]).result


def imag(x: ir.Value) -> ir.Value:
    return create("stablehlo.imag", results=[_with_dtype(x.type, real_dtype(dtype_of(x)))], operands=[x]).result


def complex(re: Operand, im: Operand) -> ir.Value:  # noqa: A001
    """`stablehlo.complex` of two float tensors of one type."""
    re, im = _values(re, im)
    dtype = np.dtype(np.complex64 if dtype_of(re) == np.float32 else np.complex128)
    return create("stablehlo.complex", results=[_with_dtype(re.type, dtype)], operands=[re, im]).result


def is_finite(x: ir.Value) -> ir.Value:
    return create("stablehlo.is_finite", results=[_with_dtype(x.type, np.dtype(bool))], operands=[x]).result


def is_inf(x: ir.Value) -> ir.Value:
    return create("chlo.is_inf", results=[_with_dtype(x.type, np.dtype(bool))], operands=[x]).result


def convert(x: ir.Value, dtype: object) -> ir.Value:
    """`stablehlo.convert` to `dtype`; the value itself where it has it."""
    dtype = np.dtype(dtype)
    if dtype_of(x) == dtype:
        return x
    return create("stablehlo.convert", results=[_with_dtype(x.type, dtype)], operands=[x]).result


def bitcast_convert(x: ir.Value, dtype: Any) -> ir.Value:
    """`stablehlo.bitcast_convert`; between widths the trailing dimension appears or disappears."""
    dtype = np.dtype(dtype)
    shape, old = shape_and_dtype(x.type)
    wide, narrow = old.itemsize, dtype.itemsize
    if wide > narrow:
        shape = (*shape, wide // narrow)
    elif wide < narrow:
        shape = shape[:-1]
    return create("stablehlo.bitcast_convert", results=[tensor_type(shape, dtype)], operands=[x]).result


def reduce_precision(x: ir.Value, exponent_bits: int, mantissa_bits: int) -> ir.Value:
    """`stablehlo.reduce_precision`: round to a float of these widths."""
    width = ir.IntegerType.get_signless(32)
    return create("stablehlo.reduce_precision", results=[x.type], operands=[x],
                   attributes={"exponent_bits": ir.IntegerAttr.get(width, exponent_bits),
                               "mantissa_bits": ir.IntegerAttr.get(width, mantissa_bits)}).result


COMPARISONS: dict[str, np.ufunc] = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
                                    "GT": np.greater, "GE": np.greater_equal}
"""What the directions of `compare` ask, of numbers and arrays of NumPy's."""


def compare(x: Operand, y: Operand, direction: str, total_order: bool = False) -> ir.Value:
    """`stablehlo.compare`: direction EQ, NE, LT, LE, GT or GE."""
    x, y = _values(x, y)
    kind = dtype_of(x).kind
    order = "TOTALORDER" if total_order else {"b": "UNSIGNED", "u": "UNSIGNED", "i": "SIGNED"}.get(kind, "FLOAT")
    attributes = {"comparison_direction": attr.comparison_direction(direction),
                  "compare_type": attr.comparison_type(order)}
    return create("stablehlo.compare", results=[_with_dtype(x.type, np.dtype(bool))], operands=[x, y],
                   attributes=attributes).result


def select(predicate: ir.Value, on_true: Operand, on_false: Operand) -> ir.Value:
    """`stablehlo.select`; `predicate` has the shape of the branches or is 0-d. One branch may be a number."""
    on_true, on_false = _values(on_true, on_false)
    return create("stablehlo.select", results=[on_true.type], operands=[predicate, on_true, on_false]).result


def clamp(low: Operand, x: ir.Value, high: Operand) -> ir.Value:
    """`stablehlo.clamp`; bounds have the shape of `x` or are 0-d."""
    low, high = (b if isinstance(b, ir.Value) else constant(b, dtype_of(x)) for b in (low, high))
    return create("stablehlo.clamp", results=[x.type], operands=[low, x, high]).result


# ---- shape -----------------------------------------------------------------------------------------------------

def reshape(x: ir.Value, shape: Sequence[int]) -> ir.Value:
    shape = tuple(shape)
    old, dtype = shape_and_dtype(x.type)
    if old == shape:
        return x
    return create("stablehlo.reshape", [tensor_type(shape, dtype)], [x]).result


def transpose(x: ir.Value, permutation: Sequence[int]) -> ir.Value:
    permutation = tuple(permutation)
    shape, dtype = shape_and_dtype(x.type)
    if permutation == tuple(range(len(shape))):
        return x
    return create("stablehlo.transpose", operands=[x],
                   results=[tensor_type(tuple(shape[p] for p in permutation), dtype)],
                   attributes={"permutation": attr.integers(permutation)}).result


def broadcast_in_dim(x: ir.Value, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> ir.Value:
    """`stablehlo.broadcast_in_dim`; the value itself where nothing changes."""
    shape, dims = tuple(shape), tuple(broadcast_dimensions)
    old, dtype = shape_and_dtype(x.type)
    if old == shape and dims == tuple(range(len(shape))):
        return x
    return create("stablehlo.broadcast_in_dim", results=[tensor_type(shape, dtype)], operands=[x],
                   attributes={"broadcast_dimensions": attr.integers(dims)}).result


def reverse(x: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    if not dimensions:
        return x
    return create("stablehlo.reverse", results=[x.type], operands=[x],
                   attributes={"dimensions": attr.integers(tuple(sorted(dimensions)))}).result


# ---- slicing ---------------------------------------------------------------------------------------------------

def slice(x: ir.Value, start_indices: Sequence[int], limit_indices: Sequence[int],  # noqa: A001
          strides: Sequence[int] | None = None) -> ir.Value:
    result, attributes = _slice(x.type, tuple(start_indices), tuple(limit_indices), strides and tuple(strides))
    return x if result is None else create("stablehlo.slice", [result], [x], attributes).result


@lru_cache(maxsize=16384)
def _slice(type_: ir.Type, start: Shape, limit: Shape, strides: Shape | None) -> tuple:
    """Result type (None: all of it) and attributes."""
    strides = strides or (1,) * len(start)
    old, dtype = shape_and_dtype(type_)
    shape = tuple(max(0, -(-(b - a) // s)) for a, b, s in zip(start, limit, strides, strict=True))
    return (None if shape == old else tensor_type(shape, dtype)), {
        "start_indices": attr.integers(start), "limit_indices": attr.integers(limit), "strides": attr.integers(strides)}


def pad(x: ir.Value, value: Operand, low: Sequence[int], high: Sequence[int],
        interior: Sequence[int] | None = None) -> ir.Value:
    """`stablehlo.pad`; `value` is 0-d or a number; negative `low`/`high` crop."""
    low, high = tuple(low), tuple(high)
    interior = (0,) * len(low) if interior is None else tuple(interior)
    old, dtype = shape_and_dtype(x.type)
    if not (any(low) or any(high) or any(interior)):
        return x
    shape = tuple(a + n + b + max(n - 1, 0) * i for n, a, b, i in zip(old, low, high, interior, strict=True))
    if not isinstance(value, ir.Value):
        value = constant(value, dtype)
    return create("stablehlo.pad", results=[tensor_type(shape, dtype)], operands=[x, value],
                   attributes={"edge_padding_low": attr.integers(low), "edge_padding_high": attr.integers(high),
                               "interior_padding": attr.integers(interior)}).result


def concatenate(xs: Sequence[ir.Value], dimension: int) -> ir.Value:
    if len(xs) == 1:
        return xs[0]
    shape, dtype = shape_and_dtype(xs[0].type)
    total = sum(shape_of(x)[dimension] for x in xs)
    return create("stablehlo.concatenate", operands=list(xs),
                   results=[tensor_type((*shape[:dimension], total, *shape[dimension + 1:]), dtype)],
                   attributes={"dimension": attr.integer(dimension)}).result


def dynamic_slice(x: ir.Value, start_indices: Sequence[ir.Value], slice_sizes: Sequence[int]) -> ir.Value:
    """Window of `slice_sizes` at run-time starts (0-d integers of one type), clamped into bounds."""
    return create("stablehlo.dynamic_slice", results=[tensor_type(tuple(slice_sizes), dtype_of(x))],
                   operands=[x, *start_indices], attributes={"slice_sizes": attr.integers(tuple(slice_sizes))}).result


def dynamic_update_slice(x: ir.Value, update: ir.Value, start_indices: Sequence[ir.Value]) -> ir.Value:
    """`x` with the window at run-time starts (clamped into bounds) replaced by `update`."""
    return create("stablehlo.dynamic_update_slice", results=[x.type], operands=[x, update, *start_indices]).result


# ---- gather, scatter, sort -------------------------------------------------------------------------------------

def gather(x: ir.Value, indices: ir.Value, *, offset_dims: Sequence[int], collapsed_slice_dims: Sequence[int],
           start_index_map: Sequence[int], index_vector_dim: int, slice_sizes: Sequence[int],
           operand_batching_dims: Sequence[int] = (), start_indices_batching_dims: Sequence[int] = (),
           indices_are_sorted: bool = False) -> ir.Value:
    """`stablehlo.gather`; starts are clamped so that every window lies inside `x`. No windows of an array too small for
    one, which the op's verifier refuses, are an empty array."""
    ishape = shape_of(indices)
    batch = [n for d, n in enumerate(ishape) if d != index_vector_dim]
    hidden = {*collapsed_slice_dims, *operand_batching_dims}
    window = [n for d, n in enumerate(slice_sizes) if d not in hidden]
    rank, offsets = len(batch) + len(window), set(offset_dims)
    batch_, window_ = iter(batch), iter(window)
    shape = tuple(next(window_) if d in offsets else next(batch_) for d in range(rank))
    if 0 in shape and any(n > extent for n, extent in zip(slice_sizes, shape_of(x), strict=True)):
        return constant(0, dtype_of(x), shape)
    numbers = stablehlo.GatherDimensionNumbers.get(list(offset_dims), list(collapsed_slice_dims),
                                                   list(operand_batching_dims), list(start_indices_batching_dims),
                                                   list(start_index_map), index_vector_dim)
    return create("stablehlo.gather", results=[tensor_type(shape, dtype_of(x))], operands=[x, indices],
                   attributes={"dimension_numbers": numbers, "slice_sizes": attr.integers(tuple(slice_sizes)),
                               "indices_are_sorted": attr.boolean(indices_are_sorted)}).result


def scatter(x: ir.Value, indices: ir.Value, updates: ir.Value, body: Body, *, update_window_dims: Sequence[int],
            inserted_window_dims: Sequence[int], scatter_dims_to_operand_dims: Sequence[int], index_vector_dim: int,
            input_batching_dims: Sequence[int] = (), scatter_indices_batching_dims: Sequence[int] = (),
            indices_are_sorted: bool = False, unique_indices: bool = False) -> ir.Value:
    """`stablehlo.scatter` of one input; windows out of bounds are skipped. `body(old, update)`; "second" overwrites."""
    numbers = stablehlo.ScatterDimensionNumbers.get(list(update_window_dims), list(inserted_window_dims),
                                                    list(input_batching_dims), list(scatter_indices_batching_dims),
                                                    list(scatter_dims_to_operand_dims), index_vector_dim)
    op = create("stablehlo.scatter", results=[x.type], operands=[x, indices, updates], regions=1,
                 attributes={"scatter_dimension_numbers": numbers,
                             "indices_are_sorted": attr.boolean(indices_are_sorted),
                             "unique_indices": attr.boolean(unique_indices)})
    _combine(op, [dtype_of(x)] * 2, body)
    return op.result


def sort(operands: Sequence[ir.Value], dimension: int, comparator: Body = "LT",
         is_stable: bool = True) -> list[ir.Value]:
    """`stablehlo.sort` of several operands of one shape. `comparator` is a direction applied in total order to the
    first operand, or a callable of the pairs (a0, b0, a1, b1, ...)."""
    op = create("stablehlo.sort", results=[x.type for x in operands], operands=list(operands), regions=1,
                 attributes={"dimension": attr.integer(dimension), "is_stable": attr.boolean(is_stable)})
    if isinstance(comparator, str):
        direction = comparator
        total = dtype_of(operands[0]).kind not in "biu"

        def comparator(a: ir.Value, b: ir.Value, *_: ir.Value) -> ir.Value:
            return compare(a, b, direction, total_order=total)
    _combine(op, [dtype_of(x) for x in operands for _ in range(2)], comparator)
    return list(op.results)


# ---- reductions ------------------------------------------------------------------------------------------------

def _combine(op: ir.Operation, dtypes: Sequence[np.dtype], body: Body, region: int = 0) -> None:
    """Fill a region whose arguments are numbers of `dtypes`; `body` is the name of an op, "second" for one that gives
    its second argument, or a callable."""
    def build(*arguments: ir.Value) -> Any:
        if body == "second":
            return arguments[1]
        if isinstance(body, str):
            return create("stablehlo." + body, results=[arguments[0].type], operands=arguments).result
        return body(*arguments)
    fill_region(op.regions[region], [tensor_type((), np.dtype(d)) for d in dtypes], build)


def reduce(inputs: Any, inits: Any, dimensions: Sequence[int], body: Body) -> Any:
    """`stablehlo.reduce`. One value in, one value out; lists in, list out. `body` is an op name ("add", "maximum"...)
    or a callable of (accumulators..., elements...)."""
    single = isinstance(inputs, ir.Value)
    xs = [inputs] if single else list(inputs)
    zs = [inits] if single else list(inits)
    zs = [z if isinstance(z, ir.Value) else constant(z, dtype_of(x)) for x, z in zip(xs, zs, strict=True)]
    removed = {int(d) for d in dimensions}
    shape = tuple(n for d, n in enumerate(shape_of(xs[0])) if d not in removed)
    op = create("stablehlo.reduce", operands=[*xs, *zs], regions=1,
                 results=[tensor_type(shape, dtype_of(x)) for x in xs],
                 attributes={"dimensions": attr.integers(tuple(sorted(removed)))})
    _combine(op, [dtype_of(x) for x in xs] * 2, body)
    return op.result if single else list(op.results)


def reduce_window(x: ir.Value, init: Operand, body: Body, window_dimensions: Sequence[int],
                  window_strides: Sequence[int] | None = None, padding: Sequence[Sequence[int]] | None = None,
                  base_dilations: Sequence[int] | None = None,
                  window_dilations: Sequence[int] | None = None) -> ir.Value:
    """`stablehlo.reduce_window` of one input; `padding` is a (low, high) pair per dimension."""
    shape, dtype = shape_and_dtype(x.type)
    rank = len(shape)
    ones = (1,) * rank
    window, stride = tuple(window_dimensions), tuple(window_strides or ones)
    base, dilation = tuple(base_dilations or ones), tuple(window_dilations or ones)
    padding = tuple(tuple(p) for p in (padding or ((0, 0),) * rank))
    init = init if isinstance(init, ir.Value) else constant(init, dtype)
    result = []
    for d in range(rank):
        extent = (0 if shape[d] == 0 else (shape[d] - 1) * base[d] + 1) + sum(padding[d])
        reach = (window[d] - 1) * dilation[d] + 1
        result.append(0 if extent < reach else (extent - reach) // stride[d] + 1)
    op = create("stablehlo.reduce_window", results=[tensor_type(tuple(result), dtype)], operands=[x, init], regions=1,
                 attributes={"window_dimensions": attr.integers(window), "window_strides": attr.integers(stride),
                             "base_dilations": attr.integers(base), "window_dilations": attr.integers(dilation),
                             "padding": attr.integer_matrix(padding)})
    _combine(op, [dtype] * 2, body)
    return op.result


# ---- contractions and linear algebra ---------------------------------------------------------------------------

def dot_general(x: ir.Value, y: ir.Value, *, contracting_dims: tuple[Sequence[int], Sequence[int]],
                batching_dims: tuple[Sequence[int], Sequence[int]] = ((), ()), dtype: object = None,
                precision: ir.Attribute | None = None) -> ir.Value:
    """`stablehlo.dot_general`; result dims are batch, free of `x`, free of `y`. Full precision unless `precision`
    (a `precision_config` attribute) says otherwise."""
    xs, ys = shape_of(x), shape_of(y)
    batch = [xs[d] for d in batching_dims[0]]
    free_x = [n for d, n in enumerate(xs) if d not in {*batching_dims[0], *contracting_dims[0]}]
    free_y = [n for d, n in enumerate(ys) if d not in {*batching_dims[1], *contracting_dims[1]}]
    if precision is None:
        precision = attr.parse("[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]")
    return create("stablehlo.dot_general", operands=[x, y],
                   results=[tensor_type((*batch, *free_x, *free_y), np.dtype(dtype or dtype_of(x)))],
                   attributes={"dot_dimension_numbers": attr.dot_dimension_numbers(batching_dims, contracting_dims),
                               "precision_config": precision}).result


def fft(x: ir.Value, kind: str, lengths: Sequence[int]) -> ir.Value:
    """`stablehlo.fft` over the trailing dimensions; kind FFT, IFFT, RFFT or IRFFT."""
    shape, dtype = shape_and_dtype(x.type)
    lengths = tuple(lengths)
    lead = shape[:-1] if kind in ("RFFT", "IRFFT") else shape
    if kind == "RFFT":
        shape, dtype = (*lead, lengths[-1] // 2 + 1), np.dtype(np.complex64 if dtype == np.float32 else np.complex128)
    elif kind == "IRFFT":
        shape, dtype = (*lead, lengths[-1]), real_dtype(dtype)
    return create("stablehlo.fft", results=[tensor_type(shape, dtype)], operands=[x],
                   attributes={"fft_type": stablehlo.FftTypeAttr.get(kind),
                               "fft_length": attr.integers(lengths)}).result


def cholesky(x: ir.Value, lower: bool = True) -> ir.Value:
    return create("stablehlo.cholesky", results=[x.type], operands=[x],
                   attributes={"lower": attr.boolean(lower)}).result


def triangular_solve(a: ir.Value, b: ir.Value, *, left_side: bool = True, lower: bool = True,
                     unit_diagonal: bool = False, transpose_a: str = "NO_TRANSPOSE") -> ir.Value:
    """`stablehlo.triangular_solve`: x with op(a) x = b (left) or x op(a) = b."""
    return create("stablehlo.triangular_solve", results=[b.type], operands=[a, b],
                   attributes={"left_side": attr.boolean(left_side), "lower": attr.boolean(lower),
                               "unit_diagonal": attr.boolean(unit_diagonal),
                               "transpose_a": stablehlo.TransposeAttr.get(transpose_a)}).result


def custom_call(target: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], *,
                attributes: dict[str, ir.Attribute] | None = None) -> list[ir.Value]:
    """`stablehlo.custom_call @target` without side effects."""
    return list(create("stablehlo.custom_call", results=list(results), operands=list(operands),
                        attributes={"call_target_name": attr.string(target), "has_side_effect": attr.boolean(False),
                                    **(attributes or {})}).results)


def rng_bit_generator(state: ir.Value, shape: Shape, dtype: object,
                      algorithm: str = "THREE_FRY") -> tuple[ir.Value, ir.Value]:
    """(new state, uniform random bits of an unsigned `dtype`)."""
    op = create("stablehlo.rng_bit_generator", results=[state.type, tensor_type(tuple(shape), np.dtype(dtype))],
                 operands=[state], attributes={"rng_algorithm": stablehlo.RngAlgorithmAttr.get(algorithm)})
    return op.results[0], op.results[1]


def rng_uniform(low: float, high: float, shape: Shape, dtype: object = np.float32) -> ir.Value:
    """Uniform random numbers in [low, high), different in every run."""
    bounds = [constant(low, dtype), constant(high, dtype), constant(np.array(shape, np.int64))]
    return create("stablehlo.rng", results=[tensor_type(tuple(shape), np.dtype(dtype))], operands=bounds,
                   attributes={"rng_distribution": stablehlo.RngDistributionAttr.get("UNIFORM")}).result


def optimization_barrier(*xs: ir.Value) -> list[ir.Value]:
    return list(create("stablehlo.optimization_barrier", results=[x.type for x in xs], operands=list(xs)).results)


# ---- control flow ----------------------------------------------------------------------------------------------

def fill_region(region: ir.Region, types: Sequence[ir.Type], body: Callable[..., Sequence[ir.Value]]) -> None:
    """Append a block with arguments of `types`, build `body(*arguments)` in it and return its results."""
    block = region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))
    with ir.InsertionPoint(block):
        results = body(*block.arguments)
        create("stablehlo.return", results=[], operands=[results] if isinstance(results, ir.Value) else list(results))


def while_(inits: Sequence[ir.Value], condition: Callable[..., ir.Value],
           body: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
    """`stablehlo.while` over carried values; `condition` and `body` take the carried values."""
    types = [x.type for x in inits]
    op = create("stablehlo.while", results=types, operands=list(inits), regions=2)
    fill_region(op.regions[0], types, condition)
    fill_region(op.regions[1], types, body)
    return list(op.results)


def if_(predicate: ir.Value, then: Callable[[], Sequence[ir.Value]], otherwise: Callable[[], Sequence[ir.Value]],
        types: Sequence[ir.Type]) -> list[ir.Value]:
    """`stablehlo.if` with results of `types`."""
    return _branches("stablehlo.if", predicate, (then, otherwise), types)


def case(index: ir.Value, branches: Sequence[Callable[[], Sequence[ir.Value]]],
         types: Sequence[ir.Type]) -> list[ir.Value]:
    """`stablehlo.case`; out-of-range indices run the last branch."""
    return _branches("stablehlo.case", index, branches, types)


def _branches(name: str, chooser: ir.Value, branches: Sequence[Callable[[], Sequence[ir.Value]]],
              types: Sequence[ir.Type]) -> list[ir.Value]:
    op = create(name, results=list(types), operands=[chooser], regions=len(branches))
    for region, branch in zip(op.regions, branches, strict=True):
        fill_region(region, [], branch)
    return list(op.results)


def call(callee: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]) -> list[ir.Value]:
    """`func.call @callee`."""
    return list(create("func.call", results=list(results), operands=list(operands),
                        attributes={"callee": ir.FlatSymbolRefAttr.get(callee)}).results)


__all__ = sorted(n for n in globals() if not n.startswith("_") and n not in ("annotations", "element_type"))
