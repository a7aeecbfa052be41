"""Loops that reduce, in each iteration, what one range of a key selects: the elements are put in the order of the
ranges first, and an iteration looks at its own alone.

    for i in range(n): v[i] = data[(low[i] <= key) & (key < high[i])].mean()

Between two neighbouring ones of all the loop's bounds, no comparison tells keys apart. So each key gets the number of
the gap it lies in (`codes`), a stable sort by these puts equal ones together, and what an iteration selects is a window
of the result, whether ranges are in order, overlap, or are empty. Within a gap elements keep their order: what is added
up is what it was, gap by gap. Native loops run over the window alone. """
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.raised import Raised
from reactant.batching.raising import FLIPPED, Plan
from reactant.batching.roles import Count
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.bounds import combined_by
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import CHANGED, Site, defined_in, rewrite
from reactant.rewrite.site import operation, uses
from reactant.simplify.control.loop_lifting import counter_of, iteration_number
from reactant.simplify.facts.contents import is_splat
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, counted
from reactant.support.records import dataclass

BROADCAST, REDUCE, AND = (f"stablehlo.{n}" for n in ("broadcast_in_dim", "reduce", "and"))
PLACE = np.dtype(np.int64)
"""Of places of windows: native loops read masks of such comparisons as loop bounds."""


@dataclass(frozen=True)
class Bound:
    """A comparison of every element of a key with a number of the iteration: `key direction number`."""
    key: ir.Value
    number: ir.Value
    direction: str


@dataclass(frozen=True)
class Range:
    """What selects keys between two bounds; the same one twice where it asks for equality."""
    mask: ir.Value
    low: Bound
    high: Bound


N = "tensor<24xf32>"
_TYPES = f"({N}, {N}) -> tensor<24xi1>"
_MASK = f"""%low = stablehlo.dynamic_slice %y, %i, sizes = [1] : ({N}, tensor<i32>) -> tensor<1xf32>
%lows = stablehlo.broadcast_in_dim %low, dims = [0] : (tensor<1xf32>) -> {N}
%high = stablehlo.dynamic_slice %y, %next, sizes = [1] : ({N}, tensor<i32>) -> tensor<1xf32>
%highs = stablehlo.broadcast_in_dim %high, dims = [0] : (tensor<1xf32>) -> {N}
%above = stablehlo.compare LE, %lows, %x, FLOAT : {_TYPES}
%below = stablehlo.compare LT, %x, %highs, FLOAT : {_TYPES}
%mask = stablehlo.and %above, %below : tensor<24xi1>
"""
_SUM = f"""%f = stablehlo.constant dense<0.0> : tensor<f32>
%none = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {N}
%square = stablehlo.multiply %x, %x : {N}
%chosen = stablehlo.select %mask, %square, %none : tensor<24xi1>, {N}
%sum = stablehlo.reduce(%chosen init: %f) applies stablehlo.add across dimensions = [0] : ({N}, tensor<f32>) -> \
tensor<f32>
%row = stablehlo.reshape %sum : (tensor<f32>) -> tensor<1xf32>
%b = stablehlo.dynamic_update_slice %a, %row, %i : ({N}, tensor<1xf32>, tensor<i32>) -> {N}"""
_OUT = f"%w = stablehlo.constant dense<0.0> : {N}"


def _loop(body: str, trips: int = 20) -> str:
    return counted([("%a", "%w", "%b", N)], body, "%r#1", N, trips, before=_OUT).replace("tensor<3xf32>", N)


_EQUAL = _MASK[:_MASK.index("%high =")] + f"%mask = stablehlo.compare EQ, %x, %lows, FLOAT : {_TYPES}\n"
_CLOSED = _MASK.replace("compare LT", "compare LE")


@rewrite("stablehlo.while", holds=(REDUCE,), changes="rounding",
         example=(_loop(_MASK + _SUM), _loop(_EQUAL + _SUM), _loop(_CLOSED + _SUM),
                  _loop(_MASK.replace("compare LE", "compare LT").replace("compare LT, %x", "compare LE, %x") + _SUM)),
         counter=(_loop(_MASK + _SUM, trips=2),
                  _loop(_MASK.replace("%low,", "%low0,").replace("%low =", "%low0 =")
                        .replace("%lows =", "%zero0 = stablehlo.slice %a [0:1] : (" + N + ") -> tensor<1xf32>\n"
                                            "%low1 = stablehlo.add %low0, %zero0 : tensor<1xf32>\n%lows =")
                        .replace("%low0, dims", "%low1, dims") + _SUM),
                  _loop(_EQUAL.replace("compare EQ", "compare NE") + _SUM)))
def ranges_of_a_key_are_windows(site: Site):
    """reductions of what ranges of a key select, a range an iteration: of windows of the elements in order of the
    ranges"""
    table = costs()
    if table is None or not table.key_ranges:
        return None
    found = next(_ranges(site, table.least_elements), None)
    if found is None:
        return None
    plan = Plan.of(site.op)
    if plan is None or not plan.iterations.exact or plan.count < table.key_ranges:
        return None
    counts = {a for a, i in plan.number.items() if isinstance(plan.roles[i], Count)}
    numbers = [found.low.number, found.high.number]
    inside = [v for v in dict.fromkeys(numbers) if defined_in(v, site.op)]
    if not counts or not plan.behind(inside)[1] & counts or not plan.behind(inside)[1] <= counts:
        return None
    results = _reductions(site, found)
    if not results:
        return None
    raised = Raised(plan, [], inside)
    raised.build()
    everyone = [ops.reshape(raised.batcher.full(v), (plan.count,)) if v in inside else
                ops.broadcast_in_dim(ops.reshape(v, ()), (plan.count,), ()) for v in numbers]
    order, starts, ends = _sorted(found, *everyone)
    return _in_windows(site, plan, found, results, (order, starts, ends))


# ---- finding -------------------------------------------------------------------------------------------------------

def _ranges(site: Site, least: int) -> Iterator[Range]:
    """The ranges by which the body of a loop selects."""
    for op in site.body(BODY):
        if op.name not in ("stablehlo.compare", AND) or len(shape_of(op.results[0])) != 1 \
                or size(shape_of(op.results[0])) < least:
            continue
        if op.name == AND:
            bounds = [_bound(operation(v), site.op) for v in op.operands]
            if None in bounds or bounds[0].key != bounds[1].key:
                continue
            bounds.sort(key=lambda bound: bound.direction)      # GE, GT, LE, LT
            if bounds[0].direction[0] == "G" and bounds[1].direction[0] == "L":
                yield Range(op.results[0], *bounds)
        elif (bound := _bound(op, site.op)) is not None and bound.direction == "EQ":
            yield Range(op.results[0], bound, bound)


def _bound(op: ir.Operation | None, loop: ir.Operation) -> Bound | None:
    """What a comparison of a fixed key with one number says."""
    if op is None or op.name != "stablehlo.compare":
        return None
    direction = attr.decode(op.attributes["comparison_direction"])
    for key, other, says in ((*op.operands, direction), (*list(op.operands)[::-1], FLIPPED.get(direction, direction))):
        made = ops.made_by(other, "broadcast_in_dim")
        if made is not None and size(shape_of(made.operands[0])) == 1 and not defined_in(key, loop) \
                and dtype_of(key).kind in "iuf" and ops.made_by(key, "iota") is None:
            return Bound(key, made.operands[0], says)
    return None


def _reductions(site: Site, found: Range) -> list[ir.Operation]:
    """The reductions in which all that a mask selects ends; none where it has other readers, or they read what cannot
    be put in order."""
    block, length = site.block(BODY), size(shape_of(found.mask))
    reached, results = [found.mask], []
    for value in reached:
        for use in uses(value):
            op = use.owner.operation
            if op.block != block:
                return []
            if op.name == REDUCE:
                if len(op.results) != 1 or 0 not in attr.decode(op.attributes["dimensions"]) \
                        or use.operand_number != 0 or combined_by(op) is None:
                    return []
                results.append(op)
            elif not _row_by_row(op, length):
                return []
            elif op.results[0] not in reached:
                reached.append(op.results[0])
    results = list(dict.fromkeys(results))
    return results if all(_may_be_ordered(op.operands[0], site, found, {}) for op in results) else []


def _row_by_row(op: ir.Operation, length: int) -> bool:
    """Whether rows of an op's result are made of the same rows of its operands."""
    if len(op.results) != 1 or shape_of(op.results[0])[:1] != (length,):
        return False
    if op.name == BROADCAST:
        dimensions = attr.decode(op.attributes["broadcast_dimensions"])
        return tuple(dimensions[:1]) == (0,) and shape_of(op.operands[0])[:1] == (length,)
    if op.name == "stablehlo.reshape":
        return shape_of(op.operands[0])[:1] == (length,)
    return op.name in ops.ELEMENTWISE


def _is_same_everywhere(op: ir.Operation, length: int) -> bool:
    """Whether all rows of an op's result are one."""
    if op.name == BROADCAST:
        dimensions = list(attr.decode(op.attributes["broadcast_dimensions"]))
        return 0 not in dimensions or shape_of(op.operands[0])[dimensions.index(0)] == 1
    known = ops.constant_value(op.results[0])
    return known is not None and is_splat(known)


def _may_be_ordered(value: ir.Value, site: Site, found: Range, known: dict[ir.Value, bool]) -> bool:
    """Whether rows of a value can be had in another order."""
    length = size(shape_of(found.mask))
    if value == found.mask or not defined_in(value, site.op) or shape_of(value)[:1] != (length,):
        return True
    if value not in known:
        op = operation(value)
        known[value] = op is not None and op.block == site.block(BODY) and (
            _is_same_everywhere(op, length)
            or _row_by_row(op, length) and all(_may_be_ordered(v, site, found, known) for v in op.operands))
    return known[value]


# ---- building ------------------------------------------------------------------------------------------------------

def _sorted(found: Range, lows: ir.Value, highs: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The elements' places in the order of the ranges; where each iteration's begin and end there."""
    key, count = found.low.key, shape_of(lows)[0]
    same = found.low is found.high
    numbers = lows if same else ops.concatenate([lows, highs], 0)
    if is_float(dtype_of(key)):     # NaN, which nothing is less than, has no place among them
        numbers = ops.select(ops.compare(numbers, numbers, "EQ"), numbers, np.inf)
    numbers = ops.sort([numbers], 0, "LT")[0]
    low, high = ("GE", "LE") if same else (found.low.direction, found.high.direction)
    apart = (low, high) != ("GE", "LT")
    gaps = (shape_of(numbers)[0] + 1) * (2 if apart else 1) + 1
    code = np.dtype(next(t for t in (np.uint8, np.uint16, np.uint32) if gaps <= np.iinfo(t).max))
    codes = ops.convert(_codes(numbers, key, apart), code)
    places = ops.iota(shape_of(key), np.int32, 0)
    codes, order = ops.sort([codes, places], 0, "LT")
    starts, ends = (ops.convert(ops.add(_codes(numbers, side, apart), int(says in after)), code)
                    for side, says, after in ((lows, low, ("GT",)), (highs, high, ("LE",))))
    starts, ends = (_how_many(codes, each, "LT") for each in (starts, ends))
    if is_float(dtype_of(key)):     # nothing is between a number and NaN
        ordered = ops.and_(ops.compare(lows, lows, "EQ"), ops.compare(highs, highs, "EQ"))
        ends = ops.select(ordered, ends, starts)
    assert shape_of(starts) == (count,)
    return order, *(ops.convert(each, PLACE) for each in (starts, ends))


def _codes(numbers: ir.Value, values: ir.Value, apart: bool) -> ir.Value:
    """Which gap between sorted numbers each value lies in. apart: what equals one has a code of its own, 2 k - 1 where
    k numbers are at most as great; else it is in the gap above."""
    found = _how_many(numbers, values, "LE")
    if not apart:
        return found
    last = _taken(numbers, ops.maximum(ops.subtract(found, 1), 0))
    return ops.subtract(ops.multiply(found, 2), ops.convert(ops.compare(last, values, "EQ"), dtype_of(found)))


def _how_many(numbers: ir.Value, values: ir.Value, direction: str) -> ir.Value:
    """For each value, how many of sorted numbers are less than it (LT), or at most as great (LE), by bisection."""
    count, shape = shape_of(numbers)[0], shape_of(values)
    found = ops.constant(0, np.int32, shape)
    step = 1 << (count.bit_length() - 1)
    while step:
        last = ops.add(found, step - 1)
        seen = _taken(numbers, ops.minimum(last, count - 1))
        more = ops.and_(ops.compare(seen, values, direction), ops.compare(last, count, "LT"))
        found = ops.select(more, ops.add(found, step), found)
        step //= 2
    return found


def _taken(rows: ir.Value, places: ir.Value) -> ir.Value:
    """Rows of an array."""
    extents = shape_of(rows)[1:]
    return ops.gather(rows, ops.reshape(places, (*shape_of(places), 1)), offset_dims=range(1, 1 + len(extents)),
                      collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1, slice_sizes=(1, *extents))


def _in_windows(site: Site, plan: Plan, found: Range, results: Sequence[ir.Operation],
                ordering: tuple[ir.Value, ir.Value, ir.Value]) -> object:
    """Let the loop reduce windows of what is in order."""
    order, *ends = ordering
    shape, made = shape_of(found.mask), {}
    length = shape[0]
    for value in _read(site, results, found.mask):
        maker = operation(value)
        made[value] = value if maker is not None and _is_same_everywhere(maker, length) else _taken(value, order)
    role = counter_of(plan)
    for op in results:
        mapping = dict(made)
        with ir.InsertionPoint(op):
            iteration = iteration_number(plan, plan.arguments[role.index], role)
            low, high = (ops.minimum(ops.maximum(ops.reshape(ops.dynamic_slice(v, [iteration], (1,)), ()), 0), length)
                         for v in ends)
            high = ops.maximum(low, high)
            places = ops.iota(shape, PLACE, 0)
            mapping[found.mask] = ops.and_(ops.compare(places, ops.broadcast_in_dim(low, shape, ()), "GE"),
                                           ops.compare(places, ops.broadcast_in_dim(high, shape, ()), "LT"))
            _copied(op.operands[0], site, mapping, length)
            site.substitute(op.results[0], site.clone(op, mapping).results[0])
    return CHANGED


def _read(site: Site, results: Sequence[ir.Operation], mask: ir.Value) -> list[ir.Value]:
    """The arrays of rows from outside of the loop that reductions are made from."""
    length = size(shape_of(mask))
    found: dict[ir.Value, None] = {}
    seen = [op.operands[0] for op in results]
    for value in seen:
        if shape_of(value)[:1] != (length,) or value == mask:
            continue
        if not defined_in(value, site.op):
            found[value] = None
        elif not _is_same_everywhere(owner := operation(value), length):
            seen.extend(v for v in owner.operands if v not in seen)
    return list(found)


def _copied(value: ir.Value, site: Site, mapping: dict[ir.Value, ir.Value], length: int) -> None:
    """Copy what a value is made from, with rows in another order."""
    if value in mapping or not defined_in(value, site.op) or shape_of(value)[:1] != (length,):
        return
    op = operation(value)
    if not _is_same_everywhere(op, length):
        for operand in op.operands:
            _copied(operand, site, mapping, length)
        site.clone(op, mapping)
