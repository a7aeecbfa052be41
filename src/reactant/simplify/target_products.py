"""The last stage: products of matrices in the form for which the target has its fastest code."""
from __future__ import annotations

from contextlib import nullcontext

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import Site, defined_in, one_of, rewrite, variables
from reactant.simplify.target_costs import costs

x, y, d, t = variables("x y d t")
PRODUCT = one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=d, template="t")


def _dot(left: tuple[int, ...], right: tuple[int, ...], contracting: tuple, batching: tuple = ((), ()),
         dtype: str = "float32"):
    return lambda a: ops.dot_general(a(*left, dtype=dtype), a(*right, dtype=dtype), contracting_dims=contracting,
                                     batching_dims=batching)


@rewrite(PRODUCT, changes="rounding", example=_dot((4, 5, 6), (4, 5, 7), ((1, 0), (1, 0))),
         counter=(_dot((4, 5, 6), (4, 5, 7), ((0, 1), (0, 1))), _dot((4, 5), (5, 7), ((1,), (0,)))))
def contracted_in_order(x, y, d, t, result_shape):
    """the pairs of dimensions that are contracted, in the order they have in memory: else both factors are copied"""
    left, right = d.contracting_dims
    pairs = sorted(zip(left, right, strict=True))
    if costs() is None or list(left) == [a for a, _ in pairs]:
        return None
    first, second = zip(*pairs, strict=True)
    numbers = attr.dot_dimension_numbers(d.batching_dims, (first, second))
    return t.build((x, y), result_shape, dot_dimension_numbers=numbers)


WORTH = 1 << 15
"""Products of numbers from which a product of matrices is looked at."""
FEW, LEAST_ROWS, TIMES = {4: 32, 8: 16}, {4: 64, 8: 24}, {4: 8, 8: 2}
"""By bytes of a number: columns of a factor from which it may pay to transpose anything; those from which it is the
factor itself (times of the plain form over that of x', float32 and float64: (20000, 10)' (20000, 10) 0.65 and 1.0,
(50000, 20)' (50000, 20) 0.47 and 0.49, (4000, 32)' (4000, 32) 0.84 and 1.0, (4000, 64)' (4000, 64) 1.1 and 1.7); and
how many times as many columns the other one has for it to pay from fewer on (rows of 32 and 256: 1.2 to 1.5)."""


@rewrite("stablehlo.dot_general",
         example=(_dot((32, 64), (32, 96), ((0,), (0,))), _dot((16, 32), (16, 256), ((0,), (0,))),
                  _dot((24, 32), (64, 24), ((0,), (1,)), dtype="float64"),
                  _dot((64, 60), (64, 10), ((0,), (0,))), _dot((64, 24), (32, 64), ((0,), (1,)))),
         counter=(_dot((24, 32), (32, 64), ((1,), (0,))), _dot((2000, 20), (2000, 20), ((0,), (0,))),
                  _dot((300, 60), (300, 2), ((0,), (0,))),
                  _dot((30, 4), (30, 5), ((0,), (0,))), _dot((300, 120), (300,), ((0,), (0,)))))
def transposed_factor(site: Site):
    """x' y, where x is contracted along its rows = the same with x transposed first, or (y' x)' where that moves less:
    XLA's fast code wants rows on the left"""
    table, (x, y) = costs(), site.operands
    if table is None or not table.transposed_factor or len(shape_of(x)) != 2:
        return None
    product = site.results[0]
    numbers = attr.decode(site.op.attributes["dot_dimension_numbers"])
    if numbers.contracting_dims[0] != (0,) or dtype_of(product).name not in ("float32", "float64") \
            or dtype_of(x) != dtype_of(product) or dtype_of(y) != dtype_of(product):
        return None
    columns = size(shape_of(product)) // max(shape_of(x)[1], 1)
    if columns < table.transposed_factor or size(shape_of(x)) * columns < WORTH:
        return None
    attributes = {key: site.op.attributes[key] for key in site.op.attributes}

    def multiplied(first: ir.Value, second: ir.Value, contracted: int, shape: tuple[int, ...]) -> ir.Value:
        attributes["dot_dimension_numbers"] = attr.dot_dimension_numbers(((), ()), ((1,), (contracted,)))
        type_ = ops.tensor_type(shape, dtype_of(product))
        return ops.create(site.op.name, [type_], [first, second], attributes).result

    (place,), shape, own = numbers.contracting_dims[1], shape_of(product), shape_of(x)[1]
    itemsize = dtype_of(x).itemsize
    if own < FEW[itemsize] and place == 0:
        return None
    if len(shape) == 2 and size(shape) + (size(shape_of(y)) if place == 0 else 0) < size(shape_of(x)):
        turned = _turned(y, site.op) if place == 0 else y
        return [_turned(multiplied(turned, x, 0, shape[::-1]))]
    if own < LEAST_ROWS[itemsize] and (own < FEW[itemsize] or columns < TIMES[itemsize] * own):
        return None
    return [multiplied(_turned(x, site.op), y, place, shape)]


def _turned(value: ir.Value, op: ir.Operation | None = None) -> ir.Value:
    """A matrix transposed in memory: XLA would put the transpose into the product before or behind it. Made for an
    op, it is made once for all turns of loops around that."""
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
