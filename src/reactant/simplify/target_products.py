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


@rewrite("stablehlo.dot_general",
         example=(_dot((300, 40), (300, 50), ((0,), (0,))), _dot((64, 80), (32, 64), ((0,), (1,)), dtype="float64")),
         counter=(_dot((40, 300), (300, 50), ((1,), (0,))), _dot((300, 40), (300, 2), ((0,), (0,))),
                  _dot((30, 4), (30, 5), ((0,), (0,))), _dot((300, 40), (300,), ((0,), (0,)))))
def transposed_factor(site: Site):
    """x' y, where x is contracted along its rows = the same with x transposed first: XLA's fast code wants its rows"""
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
    with _once(x, site.op):
        turned, = ops.optimization_barrier(ops.transpose(x, (1, 0)))    # XLA would put the transpose into the product
    attributes = {key: site.op.attributes[key] for key in site.op.attributes}
    attributes["dot_dimension_numbers"] = attr.dot_dimension_numbers(((), ()), ((1,), numbers.contracting_dims[1]))
    return list(ops.create(site.op.name, [product.type], [turned, y], attributes).results)


def _once(value: ir.Value, op: ir.Operation) -> ir.InsertionPoint | nullcontext:
    """Where something is made of an operand: before the outermost loop around the op that does not make it."""
    found, parent = None, op.parent
    while parent is not None and parent.name not in ("func.func", "builtin.module") and not defined_in(value, parent):
        if parent.name == "stablehlo.while":
            found = parent
        parent = parent.parent
    return nullcontext() if found is None else ir.InsertionPoint(found)
