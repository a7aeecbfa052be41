"""Reductions, windows, sorts and scatters, whose regions take limbs.

Sums are done in lanes, products in a tree of elementwise operations: errors grow slower than the number of elements,
and processors work on many at once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_and_dtype, size, tensor_type
from reactant.precision import trees, wide
from reactant.precision.conversion import Conversion, declare
from reactant.precision.rules.structure import attributes_of
from reactant.precision.values import Value, WideComplex, flat
from reactant.precision.wide import Wide

TREES = ("stablehlo.add", "stablehlo.multiply")


@declare("reduce")
def reduce(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """By lanes or a tree where it is a sum or product; else with the region on limbs."""
    if len(operands) == 2 and _combiner(op) in TREES:
        return [_tree(c, op, *operands)]
    return _with_region(c, op, operands)


@declare("scatter")
def scatter(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """With the region on limbs; complex numbers that are set or added to, the real parts before the imaginary ones."""
    x, indices, update = operands[0], operands[len(op.results)], operands[-1]
    if len(op.results) > 1:
        raise c.refusal(op, "a scatter of several arrays has no form for them")
    if not isinstance(x, WideComplex):
        return _with_region(c, op, (_told_apart(x) if isinstance(x, Wide) else x, *operands[1:]))
    block = op.regions[0].blocks[0]
    added = _combiner(op) == "stablehlo.add"
    if not added and list(block.operations[len(block.operations) - 1].operation.operands) != [block.arguments[1]]:
        raise c.refusal(op, "a scatter of complex numbers that neither sets nor adds them has no form")
    assert isinstance(indices, ir.Value) and isinstance(update, WideComplex)
    return [WideComplex(_scattered(op, x.re, indices, update.re, added),
                        _scattered(op, x.im, indices, update.im, added))]


def _scattered(op: ir.Operation, x: Wide, indices: ir.Value, update: Wide, added: bool) -> Wide:
    """The scatter of one part."""
    x = _told_apart(x)
    made = ops.create("stablehlo.scatter", results=[limb.type for limb in x.limbs], attributes=attributes_of(op),
                      operands=[*x.limbs, indices, *update.limbs], regions=1)

    def body(*arguments: ir.Value) -> Sequence[ir.Value]:
        old, new = Wide(arguments[:x.count]), Wide(arguments[x.count:])
        return (old + new if added else new).limbs
    ops.fill_region(made.regions[0], [tensor_type((), x.dtype)] * 2 * x.count, body)
    return Wide(list(made.results))


def _told_apart(x: Wide) -> Wide:
    """Inputs that are the same zeros would get one place in memory from XLA:CPU (jaxlib 0.10.2), and all results were
    those of the first."""
    tiny = float(ml_dtypes.finfo(x.dtype).smallest_subnormal)
    apart = [-0.0, tiny, -tiny]
    return Wide([x.head, *(ops.splat(other, limb) if wide.is_zero(limb) else limb
                           for limb, other in zip(x.limbs[1:], apart, strict=False))])


@declare("reduce_window")
def reduce_window(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """Dimension by dimension, windows of twice the length from pairs of windows: cumulative sums have windows of all
    lengths. Raises where the window moves over values of several kinds."""
    count = len(op.results)
    rank = len(shape_and_dtype(op.operands[0].type)[0])
    ones = (1,) * rank

    def told(name: str) -> tuple[int, ...]:
        return tuple(attr.decode(op.attributes[name])) if name in op.attributes else ones
    window, strides, base, dilation = (told(name) for name in (
        "window_dimensions", "window_strides", "base_dilations", "window_dilations"))
    padding = np.asarray(attr.decode(op.attributes["padding"])).reshape(rank, 2) if "padding" in op.attributes \
        else np.zeros((rank, 2), int)
    low, high = ([int(n) for n in padding[:, k]] for k in (0, 1))
    parts: list[Value] = []
    for x, init in zip(operands[:count], operands[count:], strict=True):
        starts = iter(flat([init]))

        def padded(limb: ir.Value, starts: Iterator[ir.Value] = starts) -> ir.Value:
            return ops.pad(limb, next(starts), low, high, [n - 1 for n in base])
        parts.append(_each(x, padded))
    for d in range(rank):
        if window[d] > 1:
            parts = _window(c, op, parts, d, window[d], dilation[d])
    shape = shape_and_dtype(op.results[0].type)[0]
    stops = [(n - 1) * s + 1 for n, s in zip(shape, strides, strict=True)]
    if 0 in shape:
        return [_each(part, lambda limb: ops.constant(0, shape_and_dtype(limb.type)[1], shape)) for part in parts]
    return [_each(part, lambda limb: ops.slice(limb, [0] * rank, stops, strides)) for part in parts]


def _each(x: Value, function: Callable[[ir.Value], ir.Value]) -> Value:
    return function(x) if isinstance(x, ir.Value) else x.each(function)


def _window(c: Conversion, op: ir.Operation, parts: list[Value], dimension: int, width: int, dilation: int
            ) -> list[Value]:
    """Reductions of `width` elements each, `dilation` apart, along a dimension."""
    def extent(values: list[Value]) -> int:
        return shape_and_dtype(flat(values)[0].type)[0][dimension]

    def cut(values: list[Value], start: int, length: int) -> list[Value]:
        shape = shape_and_dtype(flat(values)[0].type)[0]
        first, last = [0] * len(shape), list(shape)
        first[dimension], last[dimension] = start, start + length
        return [_each(value, lambda limb: ops.slice(limb, first, last)) for value in values]

    found: list[Value] | None = None
    done, length, powers = 0, 1, parts
    left = extent(parts) - (width - 1) * dilation
    while True:
        if width & length:
            # what is done covers the first elements of a window
            taken = cut(powers, done * dilation, extent(powers) - done * dilation)
            keep = min(extent(taken), extent(found)) if found is not None else extent(taken)
            found = cut(taken, 0, keep) if found is None else \
                c.combined(op.regions[0], *cut(found, 0, keep), *cut(taken, 0, keep))
            done += length
        if done == width:
            return cut(found, 0, max(left, 0)) if found is not None else parts
        size_ = extent(powers) - length * dilation
        powers = c.combined(op.regions[0], *cut(powers, 0, size_), *cut(powers, length * dilation, size_))
        powers = c.grouped(ops.optimization_barrier(*flat(powers)), [value.type for value in op.results])
        length *= 2


def _with_region(c: Conversion, op: ir.Operation, operands: tuple[Value, ...]) -> list[Value]:
    types = [value.type for value in op.results]
    made = ops.create(op.name, results=c.types(types), operands=flat(operands), attributes=attributes_of(op),
                      regions=1)
    c.region(op.regions[0], made.regions[0])
    return c.grouped(list(made.results), types)


def _combiner(op: ir.Operation) -> str | None:
    """The operation that a region of one operation does with its two arguments."""
    block = op.regions[0].blocks[0]
    body = [each.operation for each in block.operations]
    if len(body) == 2 and set(body[0].operands) == set(block.arguments) and \
            list(body[1].operands) == list(body[0].results):
        return body[0].name
    return None


def _tree(c: Conversion, op: ir.Operation, x: Value, init: Value) -> Value:
    assert not isinstance(x, ir.Value) and not isinstance(init, ir.Value)
    removed = tuple(attr.decode(op.attributes["dimensions"]))
    shape = x.shape
    kept = [d for d in range(len(shape)) if d not in removed]
    rest = tuple(shape[d] for d in kept)
    count = size([shape[d] for d in removed])
    start = init.each(lambda limb: ops.broadcast_in_dim(limb, rest, ()))
    if not count or not size(rest):
        return start
    gathered: Any = x.each(lambda limb: ops.reshape(ops.transpose(limb, (*removed, *kept)), (count, *rest)))

    def combine(a: Any, b: Any) -> Any:
        return c.combined(op.regions[0], a, b)[0]
    found = trees.total(gathered) if _combiner(op) == "stablehlo.add" else trees.reduced(gathered, combine)
    return combine(start, found)


@declare("sort")
def sort(c: Conversion, op: ir.Operation, *operands: Value) -> list[Value]:
    """Limbs are moved together; the comparison gets them as pairs."""
    types = [value.type for value in op.results]
    made = ops.create("stablehlo.sort", results=c.types(types), operands=flat(operands), attributes=attributes_of(op),
                      regions=1)
    old = op.regions[0].blocks[0]
    scalars = [tensor_type((), shape_and_dtype(value.type)[1]) for value in made.results for _ in range(2)]
    block = made.regions[0].blocks.append(*scalars, arg_locs=[ir.Location.current] * len(scalars))
    sides = [c.grouped([block.arguments[2 * k + side] for k in range(len(made.results))], types) for side in (0, 1)]
    with ir.InsertionPoint(block):
        c.values.update(zip(old.arguments, [side[k] for k in range(len(types)) for side in sides], strict=True))
        ops.create("stablehlo.return", results=[], operands=flat(c.block(old)))
    return c.grouped(list(made.results), types)
