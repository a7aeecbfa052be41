"""The last stage: diagonals by selects, transforms of real numbers by halves, the place of the greatest element by two
plain reductions, small tables by selects, and what loops hand on from iteration to iteration last."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.induction import counters
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import Site, match, one_of, producer, rewrite, splat, users, uses, variables
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import counted
from reactant.simplify.linear.fourier import as_real, conjugate, is_real, transform
from reactant.simplify.target.target import becomes_loops

x, y, i, d, k, n, low, high, interior = variables("x y i d k n low high interior")

# ---- diagonals -----------------------------------------------------------------------------------------------------

def _diagonal(a, shape=(5,), low=0, high=0, interior=5, result=(5, 5)):
    sides = ([0] * (len(shape) - 1) + [k] for k in (low, high, interior))
    return ops.reshape(ops.pad(a(*shape), a(), *sides), result)


@rewrite(match.reshape(match.pad(x, y, edge_padding_low=low, edge_padding_high=high, interior_padding=interior)),
         example=(_diagonal, lambda a: _diagonal(a, (3, 4), 2, 0, 6, (3, 4, 6)),
                  lambda a: _diagonal(a, (3,), 4, 5, 4, (5, 4))),
         counter=(lambda a: _diagonal(a, interior=4, high=4), lambda a: _diagonal(a, (4,), 2, 4, 5, (5, 5)),
                  lambda a: _diagonal(a, (3, 5), result=(15, 5)), lambda a: _diagonal(a, (1,), 1, 2, 2, (2, 2))))
def diagonal_is_chosen(x, y, low, high, interior, result_shape):
    """numbers at even distances of a row-major matrix, one further to the right in each row = a choice by row and
    column: XLA divides every place of a padded vector by the distance"""
    shape, rank = shape_of(x), len(result_shape)
    if rank != len(shape) + 1 or result_shape[:-2] != shape[:-1] or shape[-1] < 2 or any(low[:-1]) or any(high[:-1]) \
            or any(interior[:-1]) or interior[-1] != result_shape[-1] or low[-1] < 0 or high[-1] < 0:
        return None
    columns = result_shape[-1]
    row, column = divmod(low[-1], columns)
    if column + shape[-1] > columns:
        return None
    sides = ([0] * (rank - 2) + [k] for k in (column, columns - column - shape[-1]))
    spread = ops.broadcast_in_dim(ops.pad(x, y, *sides), result_shape, [*range(rank - 2), rank - 1])
    rows, places = (ops.iota(result_shape[-2:], np.int32, k) for k in (0, 1))
    here = ops.compare(ops.add(rows, column - row) if row != column else rows, places, "EQ")
    if rank > 2:
        here = ops.broadcast_in_dim(here, result_shape, (rank - 2, rank - 1))
    return ops.select(here, spread, ops.broadcast_in_dim(y, result_shape, ()))


# ---- zeros that are added ------------------------------------------------------------------------------------------

SUMS = {f"stablehlo.{name}" for name in ("add", "subtract", "dot_general", "convolution", "reduce", "reduce_window")}
"""Ops that add up: of what sign their zeros are is not promised."""


@rewrite(match.add(x, 0.0), dtypes="float",
         example=(lambda a: ops.add(a(4), 0.0), lambda a: [w := ops.add(a(4), 0.0), ops.subtract(w, a(4))]),
         counter=(lambda a: ops.add(ops.reduce(a(3, 4), 0, [1], "add"), 0.0),
                  lambda a: ops.subtract(ops.add(a(4), 0.0), a(4))))
def sum_with_zero(x, result):
    """x + 0 = 0 where x is -0, and x: XLA takes x + 0 for x. Not where all add more: zeros of sums have any sign"""
    made = producer(x)
    if made is not None and made.name in SUMS or all(use.owner.operation.name in SUMS for use in uses(result)):
        return None
    return ops.select(ops.compare(x, 0.0, "EQ"), 0.0, x)


@rewrite(one_of(("stablehlo.add", "stablehlo.subtract"), x, splat("c"), template="t"), dtypes="complex",
         example=(lambda a: ops.add(a(4, dtype="complex64"), 0j),
                  lambda a: ops.subtract(a(4, dtype="complex64"), complex(-0.0, 0.0))),
         counter=(lambda a: ops.add(a(4, dtype="complex64"), complex(-0.0, -0.0)),
                  lambda a: ops.add(a(4, dtype="complex64"), 1j)))
def complex_sum_with_zero(x, c, t):
    """z + 0 = the same of its parts"""
    zeros = np.array([c.real, c.imag]) * (1 if t.name == "stablehlo.add" else -1)
    if np.any(zeros) or np.signbit(zeros).all():
        return None
    return ops.complex(*(part if np.signbit(zero) else ops.add(part, 0.0)
                         for part, zero in zip((ops.real(x), ops.imag(x)), zeros, strict=True)))


# ---- transforms of real numbers ------------------------------------------------------------------------------------

@rewrite(transform(x), changes="rounding",
         example=(lambda a: ops.fft(ops.convert(a(5, 8, dtype="float32"), np.complex64), "FFT", (8,)),
                  lambda a: ops.fft(ops.complex(a(2, 5, 3, 6, dtype="float32"), 0.0), "FFT", (5, 3, 6))),
         counter=(lambda a: ops.fft(a(5, 8, dtype="complex64"), "FFT", (8,)),
                  lambda a: ops.fft(ops.convert(a(3, 8, dtype="float32"), np.complex64), "FFT", (8,)),
                  lambda a: ops.fft(ops.convert(a(8, 9, dtype="float32"), np.complex64), "FFT", (8, 9))))
def transform_of_real_from_half(x, k, n, t, result_shape):
    """fft(x) = rfft(x), then its conjugate the other way round, for real x"""
    table, last = costs(), n[-1]
    # half of an odd number is no faster where it has great prime factors (1,000,003: half as fast)
    if table is None or not 0 < table.real_transform <= size(result_shape) or str(k) != "FFT" or last % 2 \
            or not is_real(x):
        return None
    half = ops.fft(as_real(x), "RFFT", n)
    rank = len(result_shape)
    rest = ops.slice(half, [0] * (rank - 1) + [1], [*result_shape[:-1], last // 2])
    for axis in range(rank - len(n), rank - 1):     # -k is n - k; 0 stays where it is
        zero, others = ([*(0,) * axis, first, *(0,) * (rank - axis - 1)] for first in (0, 1))
        end = list(shape_of(rest))
        zeros = ops.slice(rest, zero, [*end[:axis], 1, *end[axis + 1:]])
        rest = ops.concatenate([zeros, ops.reverse(ops.slice(rest, others, end), (axis,))], axis)
    return ops.concatenate([half, conjugate(ops.reverse(rest, (rank - 1,)))], rank - 1)


# ---- the greatest element and its place ----------------------------------------------------------------------------

DECIDED = {"stablehlo.and": np.logical_and, "stablehlo.or": np.logical_or, "stablehlo.not": np.logical_not,
           "stablehlo.select": lambda p, a, b: a if p else b}
"""Ops that do nothing with numbers but choose among them."""
MANY = 16
"""Most ops of a region that chooses between two pairs."""


def _chosen(site: Site) -> Callable[..., list[object]] | None:
    """The region of a reduction as a function, if it only compares and chooses."""
    body, returned = site.body(0), site.returned(0)
    if len(body) > MANY or any(op.name not in DECIDED and op.name != "stablehlo.compare" for op in body):
        return None

    def run(*numbers: object) -> list[object]:
        known = dict(zip(site.arguments(0), numbers, strict=True))
        for op in body:
            values = [known[v] for v in op.operands]
            function = DECIDED.get(op.name)
            if function is None:
                function = ops.COMPARISONS[attr.decode(op.attributes["comparison_direction"])]
            known[op.results[0]] = function(*values)
        return [known[v] for v in returned]
    return run


def _cases(dtype: np.dtype) -> Iterator[tuple[object, int, object, int]]:
    """All ways in which two numbers and their places can compare: a region that only compares and chooses is known by
    what it does in these."""
    numbers = [1.0, 2.0, np.nan] if is_float(dtype) else [1, 2]
    for a, c in product(numbers, numbers):
        for b, e in ((3, 5), (5, 3)):
            yield a, b, c, e


def _extreme(site: Site) -> str | None:
    """"maximum" or "minimum" where a reduction of (number, place) finds the first extreme, or the first NaN."""
    run = _chosen(site)
    if run is None:
        return None
    dtype = dtype_of(site.operands[0])
    for name, better in (("maximum", np.greater), ("minimum", np.less)):
        def first(a: object, b: int, c: object, e: int, better: Callable = better) -> tuple[object, int]:
            if np.isnan(a) or np.isnan(c):              # type: ignore[call-overload]
                both = np.isnan(a) and np.isnan(c)      # type: ignore[call-overload]
                # of two NaN a region may keep either: reductions take them in order
                return (a, b) if both or np.isnan(a) else (c, e)    # type: ignore[call-overload]
            return (a, b) if better(a, c) or a == c and b < e else (c, e)
        if all(np.array_equal(np.array(run(*case), float), np.array(first(*case), float), equal_nan=True)
               for case in _cases(dtype) if not (case[0] != case[0] and case[2] != case[2] and case[1] > case[3])):
            return name
    return None


def _argument_of_extreme(a, direction="GT", shape=(40, 30)):
    """What JAX makes of argmax (argmin for LT), for examples."""
    def body(p, k, q, m):
        better = ops.compare(p, q, direction)
        if a.dtype.kind == "f":
            better = ops.or_(better, ops.compare(p, p, "NE"))
        tie = ops.and_(ops.compare(p, q, "EQ"), ops.compare(k, m, "LT"))
        return [ops.select(better, p, q), ops.select(ops.or_(better, tie), k, m)]
    limits = np.finfo(a.dtype) if a.dtype.kind == "f" else np.iinfo(a.dtype)
    worst = limits.min if direction == "GT" else limits.max
    if a.dtype.kind == "f":
        worst = -np.inf if direction == "GT" else np.inf
    return ops.reduce([a(*shape), ops.iota(shape, "int32", 1)], [worst, 0], (1,), body)


@rewrite("stablehlo.reduce", dtypes="real",
         example=(lambda a: _argument_of_extreme(a)[1], lambda a: _argument_of_extreme(a, "LT")[1],
                  lambda a: _argument_of_extreme(a)),
         counter=(lambda a: _argument_of_extreme(a, shape=(4, 3))[1],
                  lambda a: ops.reduce(a(40, 30), 0, (1,), "add")))
def argmax_is_two_reductions(site: Site):
    """the greatest (least) element and its place by one reduction of pairs = the extreme, then the first place of it"""
    table = costs()
    if table is None or not table.argmax_as_reductions or len(site.results) != 2 \
            or size(shape_of(site.operands[0])) < table.argmax_as_reductions:
        return None
    values, places, init, first = site.operands
    along, made, zero = site.attribute("dimensions"), producer(places), ops.constant_value(first)
    worst, dtype, counter = ops.constant_value(init), dtype_of(values), dtype_of(places)
    shape = shape_of(values)
    if dtype.kind == "b":
        return None
    if len(along) != 1 or made is None or made.name != "stablehlo.iota" or made["iota_dimension"] != along[0] \
            or zero is None or zero.ndim or zero != 0 or worst is None or shape[along[0]] == 0:
        return None
    if becomes_loops() and any(n > 1 for n in shape[along[0] + 1:]):
        return None     # one pass with the columns side by side; along a row it would be one number after the other
    name = _extreme(site)
    limits = None if is_float(dtype) else np.iinfo(dtype)
    lowest = -np.inf if limits is None else limits.min
    highest = np.inf if limits is None else limits.max
    if name is None or worst != (lowest if name == "maximum" else highest):
        return None
    best = ops.reduce(values, init, along, name)
    kept = [k for k in range(len(shape)) if k != along[0]]
    hit = ops.compare(values, ops.broadcast_in_dim(best, shape, kept), "EQ")
    if is_float(dtype):
        hit = ops.or_(hit, ops.compare(values, values, "NE"))
    behind = np.iinfo(counter).max
    place = ops.reduce(ops.select(hit, places, behind), behind, along, "minimum")
    return [best, place]


# ---- small tables --------------------------------------------------------------------------------------------------

def _looked_up(a, rows, count=2000, kind="int32"):
    return ops.gather(a(rows), a(count, 1, dtype=kind), offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0],
                      index_vector_dim=1, slice_sizes=[1])


@rewrite(match.gather(x, i, dimension_numbers=d, slice_sizes=n),
         example=(lambda a: _looked_up(a, 3), lambda a: _looked_up(a, 2, kind="int8"), lambda a: _looked_up(a, 1)),
         counter=(lambda a: _looked_up(a, 100), lambda a: _looked_up(a, 3, 5),
                  lambda a: _looked_up(a, 3, kind="uint8")))
def gather_of_small_table_is_selects(x, i, d, n, result_shape):
    """x[i] for few numbers x = select(i <= 0, x[0], select(i <= 1, x[1], ... )): out of range is the nearest"""
    table, shape = costs(), shape_of(x)
    if table is None or len(shape) != 1 or not 1 <= shape[0] <= table.gather_as_selects or d.offset_dims \
            or d.collapsed_slice_dims != (0,) or d.operand_batching_dims or size(result_shape) < 1_000 \
            or size(shape_of(i)) != size(result_shape) or dtype_of(i).kind != "i":
        return None
    places = ops.reshape(i, result_shape)

    def row(k: int) -> ir.Value:
        return ops.broadcast_in_dim(ops.reshape(ops.slice(x, (k,), (k + 1,)), ()), result_shape, ())
    total = row(shape[0] - 1)
    for k in range(shape[0] - 2, -1, -1):
        total = ops.select(ops.compare(places, k, "LE"), row(k), total)
    return total


# ---- chains from iteration to iteration
# ----------------------------------------------------------------------------------------

EITHER_ORDER = ("stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or", "stablehlo.xor",
                "stablehlo.add", "stablehlo.multiply")
"""Ops that may be done in any order, the last two of integers."""
FAR = 12
"""Ops behind one another that are looked through for what a loop carries."""
_V = "tensor<3xf32>"
_LEAST = f"""%f = stablehlo.abs %a : {_V}
%g = stablehlo.minimum %f, %x : {_V}
%h = stablehlo.minimum %g, %y : {_V}
%b = stablehlo.add %h, %x : {_V}"""


@rewrite(one_of(EITHER_ORDER, x, y, template="t"), dtypes="real", by_types=True, nested=True,
         example=(counted([("%a", "%x", "%b", _V)], _LEAST, "%r#1"),
                  counted([("%a", "%x", "%b", _V)], _LEAST.replace("%f, %x", "%x, %f").replace("%g, %y", "%y, %g"),
                          "%r#1"),
                  counted([("%a", "%x", "%b", _V)], _LEAST, "%r#1").replace("f32", "i32")),
         counter=(counted([("%a", "%x", "%b", _V)], _LEAST.replace("%f, %x", "%f, %a"), "%r#1"),
                  counted([("%a", "%x", "%b", _V)], _LEAST.replace("minimum", "add"), "%r#1"),
                  lambda a: ops.minimum(ops.minimum(a(4), a(4)), a(4))))
def what_is_carried_comes_last(x, y, t, result_shape, result_dtype):
    """min(min(c, x), y) = min(c, min(x, y)) where c is what the iteration before has made: one op to wait for, not
    two"""
    if costs() is None or t.name in EITHER_ORDER[-2:] and result_dtype.kind not in "iu":
        return None
    for inner, other in ((x, y), (y, x)):
        made = producer(inner)
        body = None if made is None or made.name != t.name or users(inner) != 1 else _iteration(made.op)
        for carried, free in (tuple(made.operands), tuple(made.operands)[::-1]) if made and body else ():
            if _waits(carried, body) and not _waits(free, body) and not _waits(other, body):
                return t.build((carried, t.build((free, other), result_shape)), result_shape)
    return None


def _iteration(op: ir.Operation) -> ir.Block | None:
    """The body of the loop in whose every iteration an op is done."""
    parent = op.parent
    return op.block if parent is not None and parent.operation.name == "stablehlo.while" else None


def _waits(value: ir.Value, body: ir.Block, depth: int = FAR) -> bool:
    """Whether a value in the body of a loop is made of what the iteration before has made, other than a counter."""
    owner = creation.owner(value)
    if isinstance(owner, ir.Block):
        return owner == body and list(body.arguments).index(value) not in counters(body.owner.operation)
    op = owner.operation
    return op.block == body and (not depth or any(_waits(v, body, depth - 1) for v in op.operands))
