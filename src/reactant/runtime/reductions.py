"""Reductions in the form that reads NumPy's memory where it is.

XLA:CPU computes a reduction in a library or, by its own tree rewrite, as windows; both take an aligned buffer and
neither fuses the slice that reads a borrowed argument, which then has to be copied (sum of 6000x6000 f64: 15 ms for the
copy, 8 for the sum; NumPy takes 15). Without either, the reduction is one loop that fuses what comes before it, and as
fast as the library (8 ms); but a long sum is then one long chain of additions, which rounds badly: relative error 3e-3
for 16M float32 of 0.1. So sums are split here into steps of at most `DEPTH` additions. Error for 4M float32 of 0.1, by
that depth: 512: 4e-6, 128: 2e-6, 64: 9e-7, as XLA's tree has it; no slower. Products of a matrix and a vector become
sums.

This is for modules with big NumPy arguments in which all reductions are over trailing dimensions and nothing expensive
would be computed twice by fusing (`fits`).
"""
from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import context, modules, ops, types
from reactant.runtime.compile_options import FUSION_OPTION
from reactant.runtime.facts import Facts

DEPTH = 64
"""Most additions in one chain."""

OPTIONS: dict[str, Any] = {FUSION_OPTION: "", "xla_disable_hlo_passes": "tree_reduction_rewriter"}
"""No library fusions, and no tree rewrite: a reduction is a loop of its own."""

ENOUGH_TO_SHARE = 64
"""Results from which XLA's threads can share a loop that makes all steps of each. For fewer, the second step is written
as windows, with which nothing fuses: the first step is then a loop of its own, with many results to share (sum of
squares of 6000x6000 f64: 13 ms instead of 34)."""

CONCERNED = frozenset({"stablehlo.reduce", "stablehlo.dot_general", "stablehlo.dot"})
EXACT = frozenset({"stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or"})
"""Combiners for which the order makes no difference."""

EXPENSIVE = frozenset("stablehlo." + name for name in """
    exponential exponential_minus_one log log_plus_one logistic power sine cosine tan tanh atan2 cbrt while sort fft
    convolution reduce_window gather scatter custom_call triangular_solve cholesky if case rng_bit_generator
    """.split())
"""Operations beside which fusing reductions would compute too much twice, or which want the library."""


def fits(module: ir.Module, facts: Facts) -> bool:
    """Whether `in_steps` can be applied and pays."""
    if not CONCERNED & set(facts.operations) or EXPENSIVE & set(facts.operations):
        return False
    with context.building():
        return all(_reduce_fits(op) if op.name == "stablehlo.reduce" else _vector_product(op)
                   for op in modules.walk(module)
                   if op.name in CONCERNED)


def _reduce_fits(op: ir.Operation) -> bool:
    if len(op.operands) != 2:
        return False
    body = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    shape, dtype = types.shape_and_dtype(op.operands[0].type)
    dimensions = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    if len(body) != 2 or sorted(dimensions) != list(range(len(shape) - len(dimensions), len(shape))):
        return False
    if body[0] in EXACT or (body[0] == "stablehlo.add" and types.is_integer(dtype)):
        return True
    start = ops.constant_value(op.operands[1])
    return body[0] == "stablehlo.add" and start is not None and not start.any()


def _vector_product(op: ir.Operation) -> bool:
    """A product with a vector along the last dimension of the other side, nothing batched, all of one dtype."""
    if op.name != "stablehlo.dot_general":
        return False
    (left, right), result = op.operands, op.results[0]
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left_rank, right_rank = len(types.shape_of(left)), len(types.shape_of(right))
    if numbers.lhs_batching_dimensions or 1 not in (left_rank, right_rank):
        return False
    last = [left_rank - 1], [right_rank - 1]
    return ((list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)) == last
            and types.dtype_of(left) == types.dtype_of(right) == types.dtype_of(result))


def in_steps(module: ir.Module) -> ir.Module:
    """A copy of a module that `fits`, with products of vectors as sums and long sums in steps."""
    with context.building():
        changed = modules.clone(module)
        for op in list(modules.walk(changed)):
            if op.name == "stablehlo.dot_general":
                _replace(op, _product_in_steps)
            elif op.name == "stablehlo.reduce" and _is_long_sum(op):
                _replace(op, _sum_in_steps)
        return changed


def _replace(op: ir.Operation, build: Any) -> None:
    with ir.InsertionPoint(op), op.location:
        op.results[0].replace_all_uses_with(build(op))
    op.erase()


def _is_long_sum(op: ir.Operation) -> bool:
    shape, dtype = types.shape_and_dtype(op.operands[0].type)
    dimensions = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    adds = op.regions[0].blocks[0].operations[0].operation.name == "stablehlo.add"
    return adds and not types.is_integer(dtype) and types.size([shape[axis] for axis in dimensions]) > DEPTH


def _product_in_steps(op: ir.Operation) -> ir.Value:
    """a . b = sum over the last dimension of a * b, the vector broadcast."""
    left, right = op.operands
    matrix, vector = (left, right) if len(types.shape_of(left)) > 1 else (right, left)
    shape = types.shape_of(matrix)
    return _sum(ops.multiply(matrix, ops.broadcast_in_dim(vector, shape, [len(shape) - 1])), len(shape) - 1)


def _sum_in_steps(op: ir.Operation) -> ir.Value:
    shape = types.shape_of(op.operands[0])
    return _sum(op.operands[0], len(shape) - len(ir.DenseI64ArrayAttr(op.attributes["dimensions"])))


def _sum(x: ir.Value, kept: int) -> ir.Value:
    """The sum over all dimensions from `kept` on, in steps of at most `DEPTH`."""
    shape = types.shape_of(x)
    outer, length = types.size(shape[:kept]), types.size(shape[kept:])
    zero = ops.constant(0, types.dtype_of(x))
    rows = ops.reshape(x, (outer, length))
    shared = outer >= ENOUGH_TO_SHARE
    while length > DEPTH:
        step = _step(length)
        whole = length // step
        parts = ops.reduce(ops.reshape(ops.slice(rows, (0, 0), (outer, whole * step)), (outer, whole, step)),
                           zero, (2,), "add")
        if length % step:
            rest = ops.reduce(ops.slice(rows, (0, whole * step), (outer, length)), zero, (1,), "add")
            parts = ops.concatenate([parts, ops.reshape(rest, (outer, 1))], 1)
        rows, = ops.optimization_barrier(parts)  # or XLA would merge the steps into one again
        length = types.shape_of(rows)[1]
        if not shared and length > DEPTH:
            shared = True
            padding = -length % DEPTH
            rows = ops.reduce_window(rows, zero, "add", (1, DEPTH), (1, DEPTH), [(0, 0), (0, padding)])
            length = types.shape_of(rows)[1]
    return ops.reshape(ops.reduce(rows, zero, (1,), "add"), shape[:kept])


def _step(length: int) -> int:
    """The largest divisor of `length` from half of `DEPTH` on; `DEPTH` where there is none."""
    return next((step for step in range(DEPTH, DEPTH // 2 - 1, -1) if length % step == 0), DEPTH)
