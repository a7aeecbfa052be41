"""The last stage: products of matrices in the form for which the target has its fastest code."""
from __future__ import annotations

from contextlib import nullcontext
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, nbytes, real_dtype, shape_of, size
from reactant.loopnests.calls import product_calls
from reactant.rewrite import Site, defined_in, one_of, producer, rewrite, variables
from reactant.rewrite.pattern import Template
from reactant.simplify.facts.nan_guards import finite
from reactant.simplify.facts.target_costs import costs, may_call

x, y, d, t = variables("x y d t")
PRODUCT = one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=d, template="t")


def _dot(left: tuple[int, ...], right: tuple[int, ...], contracting: tuple, batching: tuple = ((), ()),
         dtype: str = "float32"):
    return lambda a: ops.dot_general(a(*left, dtype=dtype), a(*right, dtype=dtype), contracting_dims=contracting,
                                     batching_dims=batching)


@rewrite(PRODUCT, changes="rounding", example=_dot((4, 5, 6), (4, 5, 7), ((1, 0), (1, 0))),
         counter=(_dot((4, 5, 6), (4, 5, 7), ((0, 1), (0, 1))), _dot((4, 5), (5, 7), ((1,), (0,)))), by_types=True)
def contracted_in_order(x, y, d, t, result_shape):
    """the pairs of dimensions that are contracted, in the order they have in memory: else both factors are copied"""
    left, right = d.contracting_dims
    if len(left) < 2 or costs() is None:
        return None
    pairs = sorted(zip(left, right, strict=True))
    if list(left) == [a for a, _ in pairs]:
        return None
    first, second = zip(*pairs, strict=True)
    numbers = attr.dot_dimension_numbers(d.batching_dims, (first, second))
    return t.build((x, y), result_shape, dot_dimension_numbers=numbers)


def _complex(left: tuple[int, ...], right: tuple[int, ...], own: int, other: int):
    return lambda a: ops.dot_general(a(*left), a(*right), contracting_dims=((own,), (other,)))


LEAST_SIDE = 32
"""Rows and columns of a product of complex matrices from which it is worth four."""
Parts: TypeAlias = tuple[ir.Value, ir.Value | None]
"""The real and the imaginary part of a complex value; None where it is made of real numbers."""


@rewrite(PRODUCT, dtypes="complex", changes="rounding",
         example=(_complex((32, 2), (2, 33), 1, 0), _complex((2, 32), (33, 2), 0, 1),
                  lambda a: ops.dot_general(a(32, 2), ops.convert(a(2, 33, dtype="float32"), a.dtype),
                                            contracting_dims=((1,), (0,)))),
         counter=(_complex((32, 2), (2, 31), 1, 0), _complex((400, 4), (4,), 1, 0)))
def complex_product_is_real_ones(x, y, d, t, result_shape, result_dtype):
    """(a + ib) (c + id) = (ac - bd) + i (ad + bc), of matrices, if that is finite: XLA's fast code is for real ones"""
    table = costs()
    if table is None or not table.complex_product or len(result_shape) != 2 or min(result_shape) < LEAST_SIDE \
            or _goes_to_blas(t.op) and not _is_real(x) and not _is_real(y) or any(map(len, d.batching_dims)) \
            or dtype_of(x) != result_dtype or dtype_of(y) != result_dtype \
            or (made := producer(x)) is not None and made.name == "stablehlo.optimization_barrier":
        return None
    contracted = [shape_of(x)[k] for k in d.contracting_dims[0]]
    if size(result_shape) * size(contracted) < table.complex_product:
        return None
    real, imaginary = _product_of_parts(t, _parts(x), _parts(y), result_shape)
    found = ops.complex(real, imaginary)
    return ops.if_(finite(real, imaginary), lambda: [found],
                   lambda: [t.build((ops.optimization_barrier(x)[0], y), result_shape)], [found.type])[0]


def _goes_to_blas(op: ir.Operation) -> bool:
    """Whether a product becomes a call, for which factors lie well in any order."""
    return may_call() and product_calls.taken(op)


def _product_of_parts(t: Template, x: Parts, y: Parts, shape: tuple[int, ...]) -> tuple[ir.Value, ir.Value]:
    (a, b), (c, d) = x, y
    real = _real_product(t, a, c, shape)
    if b is not None and d is not None:
        real = ops.subtract(real, _real_product(t, b, d, shape))
    mixed = [_real_product(t, left, right, shape) for left, right in ((a, d), (b, c))
             if left is not None and right is not None]
    if not mixed:
        return real, ops.constant(0, dtype_of(real), shape)
    return real, mixed[0] if len(mixed) == 1 else ops.add(*mixed)


def _is_real(value: ir.Value) -> bool:
    """Whether a complex value is made of real numbers."""
    made = producer(value)
    return made is not None and made.name == "stablehlo.convert" and dtype_of(made.operands[0]).kind != "c"


def _parts(value: ir.Value) -> Parts:
    if _is_real(value):
        return ops.convert(value.owner.operands[0], real_dtype(dtype_of(value))), None
    return ops.real(value), ops.imag(value)


def _real_product(template: Template, x: ir.Value, y: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    attributes = {key: template.op.attributes[key] for key in template.op.attributes}
    return ops.create(template.name, [ops.tensor_type(shape, dtype_of(x))], [x, y], attributes).result


WORTH = 1 << 15
"""Products of numbers from which a product of matrices is looked at."""
LINE = 64
"""Columns of float32 of which XLA's fast code for x' wants a multiple: others it reads as fast as they lie. Times of
the plain form over that of x' made first, x' y of 6,000 rows by columns of both: float32 64 1.2, 100 0.9, 128 1.3, 200
0.9, 256 1.3, 400 0.8; float64 64 1.0, 100 1.4, 128 1.7, 200 1.5, 400 1.5. (y' x)' over x' y, float32: 128 and 40
2.2, 128 and 100 1.6, 200 and 20 1.6, 100 and 64 0.9, 1024 and 100 2.9."""
FEW = {4: 32, 8: 16}
"""By bytes of a number: columns of a factor from which it may pay to transpose anything;"""
LEAST_ROWS, TIMES = 24, 2
"""of float64, those from which it is the factor itself, and how many times as many columns the other one has for it to
pay from fewer on ((20000, 10)' (20000, 10) 1.0, (50000, 20)' (50000, 20) 0.49, (4000, 64)' (4000, 64) 1.7)."""
MOST_TURNED, MANY, MOST_COMPUTED = 16 << 20, 400, 1 << 20
"""Bytes of a factor up to which a transposed copy of it is made; columns of the other from which at any size, of what
is not computed here; bytes of a float32 one that is, which XLA then makes twice. Times of the plain form over that with
the copy, float64, computed and not: 15 MB of 200 columns 1.3 and 1.4, 30 MB of 200 0.8 and 1.1, of 400 1.0 and 1.5, 48
MB of 64 0.4 and 0.4; float32 computed: 1 MB 1.2, 2 MB 0.7 to 1.1, 8 MB 0.8, 24 MB 0.3."""


@rewrite("stablehlo.dot_general",
         example=(_dot((6, 64), (6, 96), ((0,), (0,)), dtype="float64"), _dot((4, 64), (4, 128), ((0,), (0,))),
                  _dot((4, 32), (4, 256), ((0,), (0,)), dtype="float64"),
                  _dot((24, 32), (64, 24), ((0,), (1,)), dtype="float64"), _dot((64, 60), (64, 10), ((0,), (0,))),
                  _dot((64, 60), (64, 10), ((0,), (0,)), dtype="float64"), _dot((64, 24), (32, 64), ((0,), (1,)))),
         counter=(_dot((24, 32), (32, 64), ((1,), (0,))), _dot((2000, 20), (2000, 20), ((0,), (0,))),
                  _dot((300, 100), (300, 64), ((0,), (0,))), _dot((300, 60), (300, 2), ((0,), (0,))),
                  _dot((30, 4), (30, 5), ((0,), (0,))), _dot((300, 120), (300,), ((0,), (0,)))))
def transposed_factor(site: Site):
    """x' y, where x is contracted along its rows = the same with x transposed first, or (y' x)': XLA's fast code wants
    rows on the left"""
    table, numbers = costs(), attr.decode(site.op.attributes["dot_dimension_numbers"])
    if numbers.contracting_dims[0] != (0,) or table is None or not table.transposed_factor or _goes_to_blas(site.op):
        return None
    (x, y), product = site.operands, site.results[0]
    if len(shape_of(x)) != 2 or dtype_of(product).name not in ("float32", "float64") \
            or dtype_of(x) != dtype_of(product) or dtype_of(y) != dtype_of(product):
        return None
    (place,), shape, own = numbers.contracting_dims[1], shape_of(product), shape_of(x)[1]
    columns = size(shape) // max(own, 1)
    if columns < table.transposed_factor or size(shape_of(x)) * columns < WORTH:
        return None
    attributes = {key: site.op.attributes[key] for key in site.op.attributes}

    def multiplied(first: ir.Value, second: ir.Value, left: int, right: int, shape: tuple[int, ...]) -> ir.Value:
        attributes["dot_dimension_numbers"] = attr.dot_dimension_numbers(((), ()), ((left,), (right,)))
        type_ = ops.tensor_type(shape, dtype_of(product))
        return ops.create(site.op.name, [type_], [first, second], attributes).result

    way = _way(own, columns, shape_of(x)[0], dtype_of(x).itemsize, place, len(shape) == 2)
    if way == "factor" and _is_too_big(x, columns):
        return None
    if way is None:
        return None
    if way == "factor":
        return [multiplied(_turned(x, site.op), y, 1, place, shape)]
    first, at = (_turned(y, site.op), 1) if way == "both" else (y, place)
    return [_turned(multiplied(first, x, at, 0, shape[::-1]))]


def _is_too_big(x: ir.Value, columns: int) -> bool:
    """Whether a transposed copy of a factor costs more than it saves."""
    size_, computed = nbytes(x), not isinstance(x.owner, ir.Block)
    if dtype_of(x).itemsize == 4 and computed:
        return size_ > MOST_COMPUTED
    return size_ > MOST_TURNED and (computed or columns < MANY)


def _way(own: int, columns: int, rows: int, itemsize: int, place: int, matrix: bool) -> str | None:
    """What of x' y is turned: the "factor" x, the "product", the other factor and the product ("both"); or nothing.
    own, columns: of x and of y, of so many rows each; y has its own in dimension `place`."""
    if place == 1 and matrix and own * columns <= (own + columns) * rows:
        return "product"
    if own < FEW[itemsize] and place == 0:
        return None
    if itemsize == 4:
        if matrix and place == 0 and 2 * columns <= rows and (
                4 * columns <= own or own % LINE == 0 and columns % LINE and columns < own):
            return "product"
        return "factor" if own % LINE == 0 and (columns % LINE == 0 or columns >= 2 * own) else None
    if matrix and place == 0 and own * columns + columns * rows < own * rows:
        return "both"
    return "factor" if own >= LEAST_ROWS or own >= FEW[itemsize] and columns >= TIMES * own else None


def _turned(value: ir.Value, op: ir.Operation | None = None) -> ir.Value:
    """A matrix transposed in memory: XLA would put the transpose into the product before or behind it. Made for an
    op, it is made once for all iterations of loops around that."""
    if op is None:
        return ops.transpose(ops.optimization_barrier(value)[0], (1, 0))
    with _once(value, op):
        return ops.optimization_barrier(ops.transpose(value, (1, 0)))[0]


def _once(value: ir.Value, op: ir.Operation) -> ir.InsertionPoint | nullcontext:
    """Where something is made of an operand: before the outermost loop around the op that does not make it."""
    found, parent = None, op.parent
    while parent is not None and parent.name not in ("func.func", "builtin.module") and not defined_in(value, parent):
        if parent.name == "stablehlo.while":
            found = parent
        parent = parent.parent
    return nullcontext() if found is None else ir.InsertionPoint(found)
