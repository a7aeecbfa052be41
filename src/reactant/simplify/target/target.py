"""The last stage: equal forms of which the target runs one much faster. Reductions, fixed powers, small products.

The families `target`, `target_updates` and `target_windows` run after everything else has settled, because what they
build (chains of slices, selects) is harder to read for the other rules. What is faster, and from which size on, is
`target_costs.py`; benchmarks/forms.py measures it. Where nothing has been measured no rule fires.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops, summation
from reactant.ir.bounds import least
from reactant.ir.types import dtype_of, is_complex, is_float, shape_of, size, tensor_type
from reactant.rewrite import Site, match, once, producer, rewrite, splat, users, uses, variables
from reactant.simplify.facts.target_costs import costs

x, y, numbers, d, p = variables("x y numbers d p")
MONOIDS = {f"stablehlo.{n}" for n in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")}


def monoid(site: Site) -> str | None:
    """The op that a reduction's region applies to (accumulator, element), where it is one op; else None."""
    body, arguments = site.body(0), site.arguments(0)
    if len(arguments) != 2 or len(body) != 1 or body[0].name not in MONOIDS:
        return None
    if {*body[0].operands} != {*arguments} or site.returned(0) != list(body[0].results):
        return None
    return body[0].name


def apply(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """A binary op of one type by name."""
    return ops.create(name, [left.type], [left, right]).result


def identity_of(name: str, dtype: np.dtype) -> object:
    """The element that leaves every other one as it is, bit for bit; None where there is none (XLA has it)."""
    word = name.partition(".")[2]
    if is_complex(dtype):
        return None
    if word == "add":
        return -0.0 if is_float(dtype) else 0
    if word in ("maximum", "minimum"):
        if is_float(dtype):
            return -math.inf if word == "maximum" else math.inf
        if dtype.kind == "b":
            return word == "minimum"
        limits = np.iinfo(dtype)
        return limits.min if word == "maximum" else limits.max
    return {"multiply": 1, "and": True if dtype.kind == "b" else -1 if dtype.kind == "i" else None,
            "or": 0, "xor": 0}.get(word)


def is_identity(name: str, init: ir.Value) -> bool:
    """Whether the start of a reduction is known to change nothing."""
    known, neutral = ops.constant_value(init), identity_of(name, dtype_of(init))
    if known is None or known.ndim or neutral is None:
        return False
    return known.tobytes() == np.asarray(neutral, known.dtype).tobytes()


def index_slice(operand: ir.Value, index: dict[int, int], shape: tuple[int, ...]) -> ir.Value:
    """The elements of `operand` at fixed places of some dimensions, which `shape` drops."""
    extents = shape_of(operand)
    low = [index.get(d, 0) for d in range(len(extents))]
    high = [index[d] + 1 if d in index else n for d, n in enumerate(extents)]
    return ops.reshape(ops.slice(operand, low, high), shape)


def _is_computed_here(operand: ir.Value) -> bool:
    """Whether a value is computed where it is read, and only there."""
    made = producer(operand)
    return made is not None and made.name in ops.ELEMENTWISE and users(operand) == 1


PLAIN = {"stablehlo." + n for n in ("add", "subtract", "multiply", "maximum", "minimum", "negate", "abs", "compare",
                                    "select", "and", "or", "not", "convert")}
"""Ops that cost no more than reading their results."""


def _is_read_in_parts(value: ir.Value, dimensions: set[int], depth: int = 8) -> bool:
    """Whether all that is made of a value are reductions over some dimensions, and slices of one index in them."""
    for use in uses(value) if depth else ():
        user = use.owner.operation
        if user.name == "stablehlo.reduce":
            fine = set(attr.decode(user.attributes["dimensions"])) == dimensions
        elif user.name == "stablehlo.slice":
            fine = all(shape_of(user.results[0])[d] == 1 for d in dimensions)
        else:
            fine = user.name in ops.ELEMENTWISE and _is_read_in_parts(user.results[0], dimensions, depth - 1)
        if not fine:
            return False
    return depth > 0


def term_at(operand: ir.Value, index: dict[int, int], shape: tuple[int, ...], depth: int = 50) -> ir.Value:
    """`index_slice`, of what element-wise ops are applied to where nothing reads their results as a whole: XLA:CPU
    fuses one slice with what is done to it, several slices of one result it reads from memory, or computes all of it
    for each (likeliest ways of 1,000 x 8 x 8: 13 us as reductions, 119 as slices of sums, 19 as sums of slices)."""
    made = producer(operand)
    if made is None or not depth or not _is_computed_here(operand) and not (
            made.name in PLAIN and _is_read_in_parts(operand, set(index))):
        return index_slice(operand, index, shape)
    parts = [term_at(v, index, shape, depth - 1) if shape_of(v) else v for v in made.operands]
    attributes = {name: made.op.attributes[name] for name in made.op.attributes}
    return ops.create(made.name, [tensor_type(shape, dtype_of(operand))], parts, attributes).result


_for_loops = [False]


@contextmanager
def for_loops() -> Iterator[None]:
    """The module becomes loops of our own, which keep what is used often. Callers hold the lock of `ir.context`."""
    before, _for_loops[0] = _for_loops[0], True
    try:
        yield
    finally:
        _for_loops[0] = before


def becomes_loops() -> bool:
    """Whether the module becomes loops of our own."""
    return _for_loops[0]


def spread(value: ir.Value, depth: int = 6) -> bool:
    """Whether more elements are made of a value's, or of a part's, than it has, through element-wise ops alone: XLA
    fuses all of that, and computes the value anew for each of them."""
    if not depth:
        return False
    for use in uses(value):
        user = use.owner.operation
        if user.name == "stablehlo.broadcast_in_dim" and size(shape_of(user.results[0])) > size(shape_of(value)):
            return True
        same = len(user.results) == 1 and not user.regions and user.name not in HEAVY \
            and size(shape_of(user.results[0])) == size(shape_of(value))
        if (same or user.name == "stablehlo.slice") and spread(user.results[0], depth - 1):
            return True
    return False


HEAVY = {"stablehlo." + n for n in ("dot_general", "convolution", "gather", "scatter", "sort", "fft", "custom_call")}
"""Ops into which XLA:CPU does not fuse what comes before."""


MOST_SPREAD = 5
"""Most elements of a reduction whose results are spread that are slices in loops of our own: those keep what they are
made of (softmax of rows of 5: 180 us with slices, of 8: 583, without 245; 400,000 float32)."""


def _reduce(*shape: int, dimensions: tuple[int, ...], body: str = "add", init: object = 0):
    return lambda a: ops.reduce(a(*shape), init, dimensions, body)


@rewrite("stablehlo.reduce", changes="rounding",
         example=(_reduce(2, 600, dimensions=(0,)), _reduce(600, 3, dimensions=(1,), body="multiply", init=1),
                  _reduce(600, 9, dimensions=(1,)),
                  _reduce(2, 300, 2, dimensions=(0, 2)), _reduce(2, 600, dimensions=(0,), body="maximum"),
                  lambda a: ops.reduce(a(2, 600), a(), (0,), "add")),
         counter=(_reduce(2, 6, dimensions=(0,)), _reduce(2, 600, dimensions=(1,)),
                  _reduce(600, 13, dimensions=(1,)), _reduce(2, 600, dimensions=(0, 1)),
                  lambda a: ops.broadcast_in_dim(ops.sqrt(ops.reduce(a(600, 3), 0, (1,), "add")), (600, 3), (0,)),
                  lambda a: ops.broadcast_in_dim(ops.slice(ops.reduce(a(600, 2, 4), 0, (2,), "add"), (0, 1), (600, 2)),
                                                 (600, 9), (0, 1))))
def reduce_of_short_dimensions(site: Site):
    """reduce(x, init) = ((init + x[0]) + x[1]) + ... over dimensions of few elements; sums of neighbours in NumPy's
    order"""
    table = costs()
    if table is None or len(site.op.results) != 1:
        return None
    operand, init = site.operands
    extents, result = shape_of(operand), shape_of(site.results[0])
    if size(extents) < table.least_elements:
        return None
    dimensions = site.attribute("dimensions")
    count = size([extents[d] for d in dimensions])
    most = table.sum_of_slices_trailing if len(extents) - 1 in dimensions else table.sum_of_slices
    if not 1 < count <= most or size(result) < count:
        return None
    dear = count > table.recomputed_terms or _is_computed_here(operand)
    if (dear and not _for_loops[0] or _for_loops[0] and count > MOST_SPREAD) and spread(site.results[0]):
        return None         # k_means of benchmarks/corpus.py: 300 us, with slices 970
    name = monoid(site)
    if name is None:
        return None
    terms = [] if is_identity(name, init) else [ops.broadcast_in_dim(init, result, ())]
    places = product(*(range(extents[d]) for d in dimensions))
    parts = [term_at(operand, dict(zip(dimensions, place, strict=True)), result) for place in places]
    if name == "stablehlo.add" and count >= summation.LANES and is_float(dtype_of(operand)) \
            and tuple(dimensions) == tuple(range(len(extents) - len(dimensions), len(extents))):
        parts = [summation.total(parts)]
    return functools.reduce(functools.partial(apply, name), terms + parts)


# ---- powers --------------------------------------------------------------------------------------------------------

def _fixed_powers() -> bool:
    table = costs()
    return table is not None and table.fixed_powers


def _at_minus_infinity(operand: ir.Value, value: float, otherwise: ir.Value) -> ir.Value:
    if least(operand) >= 0:
        return otherwise
    return ops.select(ops.compare(operand, -math.inf, "EQ"), value, otherwise)


def _root(operand: ir.Value) -> ir.Value:
    """The root, 0 of -0."""
    return ops.sqrt(operand) if least(operand) > 0 else ops.abs(ops.sqrt(operand))


@rewrite(match.power(x, 0.5), dtypes="float", changes="rounding")
def power_half_is_root(x):
    """power(x, 0.5) = |sqrt(x)| (the sign of -0 is lost), and infinity at -infinity"""
    return None if not _fixed_powers() else _at_minus_infinity(x, math.inf, _root(x))


@rewrite(match.power(x, 1.5), dtypes="float", changes="rounding")
def power_three_halves_is_root(x):
    """power(x, 1.5) = x sqrt(x), and infinity at -infinity"""
    return None if not _fixed_powers() else _at_minus_infinity(x, math.inf, ops.multiply(x, ops.sqrt(x)))


@rewrite(match.power(x, 2.5), dtypes="float", changes="rounding")
def power_five_halves_is_root(x):
    """power(x, 2.5) = (x x) sqrt(x), and infinity at -infinity"""
    if not _fixed_powers():
        return None
    return _at_minus_infinity(x, math.inf, ops.multiply(ops.multiply(x, x), _root(x)))


@rewrite(match.power(x, -2), dtypes="float", changes="rounding")
def power_minus_two_is_square(x):
    """power(x, -2) = (1 / x) (1 / x)"""
    if not _fixed_powers():
        return None
    inverse = ops.divide(ops.splat(1, x), x)
    return ops.multiply(inverse, inverse)


@rewrite(match.power(x, -1.5), dtypes="float", changes="rounding")
def power_minus_three_halves_is_root(x):
    """power(x, -1.5) = 1 / (x sqrt(x)), and zero at -infinity"""
    if not _fixed_powers():
        return None
    return _at_minus_infinity(x, 0.0, ops.divide(ops.splat(1, x), ops.multiply(x, ops.sqrt(x))))


@rewrite(match.power(x, -0.5), dtypes="float", changes="rounding")
def power_minus_half_is_root(x):
    """power(x, -0.5) = 1 / |sqrt(x)| (the sign of -0 is lost), and zero at -infinity"""
    if not _fixed_powers():
        return None
    return _at_minus_infinity(x, 0.0, ops.divide(ops.splat(1, x), _root(x)))


@rewrite(match.power(x, -2.5), dtypes="float", changes="rounding")
def power_minus_five_halves_is_root(x):
    """power(x, -2.5) = 1 / ((x x) sqrt(x)), and zero at -infinity"""
    if not _fixed_powers():
        return None
    return _at_minus_infinity(x, 0.0, ops.divide(ops.splat(1, x), ops.multiply(ops.multiply(x, x), _root(x))))


@rewrite(match.power(x, 3), dtypes="float", changes="rounding")
def power_three_is_product(x):
    """power(x, 3) = (x x) x"""
    return None if not _fixed_powers() else ops.multiply(ops.multiply(x, x), x)


@rewrite(match.power(x, 4), dtypes="float", changes="rounding")
def power_four_is_square_of_square(x):
    """power(x, 4) = (x x) (x x)"""
    if not _fixed_powers():
        return None
    square = ops.multiply(x, x)
    return ops.multiply(square, square)


# ---- magnitudes ----------------------------------------------------------------------------------------------------

SQUARES_EXACT = (1e-100, 1e100)
"""Limits whose squares neither overflow nor underflow in float64; in float32, their sixth roots are used."""


@rewrite(match.compare(match.abs(x), splat("c"), comparison_direction=d), changes="rounding",
         example=lambda a: ops.compare(ops.abs(a(4, dtype="complex128")), 2.0, "LE"),
         counter=(lambda a: ops.compare(ops.abs(a(4, dtype="complex128")), 2.0, "GT"),
                  lambda a: ops.compare(ops.abs(a(4, dtype="float64")), 2.0, "LE")))
def magnitude_below_limit(x, c, d):
    """|z| < c = re(z)^2 + im(z)^2 < c^2 for complex z: no scaled square root. (|z| > c is not: with an infinite and a
    NaN part the magnitude is infinite and the sum of squares NaN.)"""
    if costs() is None or d not in ("LT", "LE") or dtype_of(x).kind != "c":
        return None
    low, high = (limit if dtype_of(x) == np.complex128 else limit ** (1 / 6) for limit in SQUARES_EXACT)
    if not low < c < high:
        return None
    re, im = ops.real(x), ops.imag(x)
    return ops.compare(ops.add(ops.multiply(re, re), ops.multiply(im, im)), c * c, d)


@rewrite(match.compare(once(match.select(p, splat("k"), x)), splat("c"), comparison_direction=d), dtypes="real",
         example=lambda a: ops.compare(ops.select(a(4, dtype="bool"), ops.splat(3, w := a(4)), w), 2, "LE"))
def limit_of_select(p, k, x, c, d):
    """compare(select(p, k, x), c) = not p and compare(x, c), or p or compare(x, c), for numbers k and c"""
    if costs() is None or shape_of(p) != shape_of(x):
        return None
    test = ops.compare(x, c, d)
    return ops.or_(p, test) if ops.COMPARISONS[d](k, c) else ops.and_(ops.not_(p), test)


@rewrite(match.compare(once(match.reshape(once(match.select(p, splat("k"), x)))), splat("c"), comparison_direction=d),
         dtypes="real",
         example=lambda a: ops.compare(ops.reshape(ops.select(a(2, 3, dtype="bool"), ops.splat(3, w := a(2, 3)), w),
                                                   (6,)), 1, "LE"),
         counter=lambda a: ops.compare(ops.reshape(a(2, 3), (6,)), 1, "LE"))
def limit_of_reshaped_select(p, k, x, c, d, result_shape):
    """compare(reshape(select(p, k, x)), c): the reshape comes last (other comparisons let it through, see shape)"""
    found = limit_of_select(p, k, x, c, d)
    return None if found is None else ops.reshape(found, result_shape)


# ---- products ------------------------------------------------------------------------------------------------------

def _dot(left: tuple[int, ...], right: tuple[int, ...], contracting: tuple, batching: tuple = ((), ())):
    return lambda a: ops.dot_general(a(*left), a(*right), contracting_dims=contracting, batching_dims=batching)


@rewrite(match.dot_general(x, y, dot_dimension_numbers=numbers), dtypes="real", changes="rounding",
         example=(_dot((300, 4, 4), (300, 4, 4), ((2,), (1,)), ((0,), (0,))), _dot((500, 3), (3, 3), ((1,), (0,))),
                  _dot((500, 3), (3,), ((1,), (0,))), _dot((3, 400, 4), (4, 3, 2), ((2,), (0,)), ((0,), (1,)))),
         counter=(_dot((500, 8), (8, 3), ((1,), (0,))), _dot((30, 3), (3, 3), ((1,), (0,))),
                  _dot((50, 4), (4, 50), ((1,), (0,)))), by_types=True)
def small_product_is_sum(x, y, numbers, result_shape, result_dtype):
    """x . y = x[0] y[0] + x[1] y[1] + ... for a short contraction of many rows by few columns, or of many batches"""
    table = costs()
    if table is None or dtype_of(x) != result_dtype or dtype_of(y) != result_dtype:
        return None
    (cx, cy), (bx, by) = numbers.contracting_dims, numbers.batching_dims
    count = size([shape_of(x)[d] for d in cx])
    if not 1 < count <= table.unrolled_contraction:
        return None
    free_x = [d for d in range(len(shape_of(x))) if d not in (*cx, *bx)]
    free_y = [d for d in range(len(shape_of(y))) if d not in (*cy, *by)]
    columns = size([shape_of(y)[d] for d in free_y])
    batched = size([shape_of(x)[d] for d in (*bx, *(free_x if columns <= table.unrolled_free else ()))])
    if columns > table.unrolled_free or batched * columns * count < table.least_elements:
        return None
    many = len(bx)
    total = None
    for index in product(*(range(shape_of(x)[d]) for d in cx)):
        left = _spread(x, dict(zip(cx, index, strict=True)), bx, free_x, result_shape, many)
        right = _spread(y, dict(zip(cy, index, strict=True)), by, free_y, result_shape, many + len(free_x))
        part = ops.multiply(left, right)
        total = part if total is None else ops.add(total, part)
    return total


def _spread(operand: ir.Value, index: dict[int, int], batch: tuple[int, ...], free: list[int],
            result: tuple[int, ...], first: int) -> ir.Value:
    """One slice of a factor, broadcast to the shape of the product: its batch dimensions lead, its free ones are put
    at `first`."""
    kept = [d for d in range(len(shape_of(operand))) if d not in index]
    part = index_slice(operand, index, tuple(shape_of(operand)[d] for d in kept))
    place = {**{d: i for i, d in enumerate(batch)}, **{d: first + i for i, d in enumerate(free)}}
    return ops.broadcast_in_dim(part, result, [place[d] for d in kept])
