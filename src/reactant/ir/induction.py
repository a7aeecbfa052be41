"""What is known of a loop before it runs: counters, trip counts, ranges of integers. Analysis only, no rules.

A counter is a carried integer that every iteration increases by the same constant. A trip count is exact where the
condition is a comparison of a counter with a constant or a conjunction of such, an upper bound where it has other terms
too, or where start or bound are known to lie in a range. """
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.support.records import dataclass

DEPTH = 14
"""How many ops behind a value are looked at for its range."""
_limits = cache(np.iinfo)


@dataclass(frozen=True)
class Counter:
    """Carried value `index` starts at `start` (None where known only at run time) and grows by `step` each
    iteration."""

    index: int
    start: int | None
    step: int


@dataclass(frozen=True)
class Trips:
    """At most `most` iterations; exactly as many where `exact`. `counted`: nothing but counters and integers from
    outside decides, so that an iteration beyond the last is one whose condition does not hold."""

    most: int
    exact: bool
    counted: bool = field(default=True, compare=False)


def scalar(value: ir.Value) -> int | None:
    """The number of a 0-d integer constant, else None."""
    known = ops.constant_value(value) if dtype_of(value).kind in "iu" and not shape_of(value) else None
    return None if known is None else int(known)


def counters(loop: ir.Operation) -> dict[int, Counter]:
    """The counters of a while op by the index of their carried value."""
    found: dict[int, Counter] = creation.found("counters", loop, _counters)
    return found


def _counters(loop: ir.Operation) -> dict[int, Counter]:
    block = loop.regions[1].blocks[0]
    pairs = zip(block.arguments, block.operations[-1].operands, strict=True)
    found = (_counter(loop, i, argument, value) for i, (argument, value) in enumerate(pairs))
    return {counter.index: counter for counter in found if counter is not None}


def _counter(loop: ir.Operation, index: int, argument: ir.Value, value: ir.Value) -> Counter | None:
    """The counter that the carried value `index` is, of which the body makes `value` out of `argument`."""
    if argument.type not in _scalar_integers():
        return None
    made = creation.made(value, "stablehlo.add", "stablehlo.subtract")
    if made is None or made.operands[0] != argument:
        return None
    step = scalar(made.operands[1])
    return Counter(index, scalar(loop.operands[index]), -step if made.name.endswith("subtract") else step) \
        if step else None


@cache
def _scalar_integers() -> frozenset[ir.Type]:
    return frozenset(tensor_type((), np.dtype(f"{kind}{bits}")) for kind in ("int", "uint") for bits in (8, 16, 32, 64))


class _Counters(dict[int, Counter | None]):
    """The counters of a loop, each found when it is asked for."""

    def __init__(self, loop: ir.Operation):
        self.loop, self.block = loop, loop.regions[1].blocks[0]

    def __missing__(self, index: int) -> Counter | None:
        self[index] = found = _counter(self.loop, index, self.block.arguments[index],
                                       self.block.operations[-1].operands[index])
        return found


def trips(loop: ir.Operation, known: dict[int, Any] | None = None) -> Trips | None:
    """How many iterations a while op has; None where nothing bounds it."""
    found: Trips | None = creation.found("trips", loop, lambda op: _trips(op, known))
    return found


def _trips(loop: ir.Operation, known: dict[int, Any] | None) -> Trips | None:
    known = _Counters(loop) if known is None else known
    block = loop.regions[0].blocks[0]
    terms = _terms(block.operations[-1].operands[0])
    found = [bound for term in terms if (bound := _iterations(term, block, known, loop)) is not None]
    if not found:
        return None
    counted = len(terms) == len(found)
    return Trips(min(b.most for b in found), counted and all(b.exact for b in found), counted)


def _terms(value: ir.Value) -> list[ir.Value]:
    """The terms of a conjunction, each once."""
    found: dict[ir.Value, None] = {}
    waiting, seen = [value], set()      # not by recursion: the checks of a long program are one conjunction
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        both = creation.made(current, "stablehlo.and")
        if both is None:
            found[current] = None
        else:
            waiting += reversed([*both.operands])
    return [*found]


_FLIPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}


def _iterations(term: ir.Value, block: ir.Block, known: dict[int, Any], loop: ir.Operation) -> Trips | None:
    """After how many iterations a comparison of a counter becomes false: exact for numbers, at most so many for a
    counter of step 1 or -1 that starts, or a bound that lies, in a known range; none of one that is false."""
    comparison = creation.made(term, "stablehlo.compare")
    if comparison is None:
        number = ops.constant_value(term)
        return Trips(0, True) if number is not None and not number.any() else None
    left, right = comparison.operands
    direction = attr.decode(comparison.attributes["comparison_direction"])
    found = _counter_of(left, block, known)
    if found is None:
        left, right, direction = right, left, _FLIPPED.get(direction, "EQ")
        found = _counter_of(left, block, known)
    if found is None:
        return None
    counter, offset = found
    step = counter.step
    starts = (counter.start,) * 2 if counter.start is not None else range_of(loop.operands[counter.index])
    exact = counter.start is not None and scalar(right) is not None
    bounds = range_of(right) if not _in_loop(right, loop) else None
    if starts is None or bounds is None or (not exact and abs(step) != 1):
        return None
    # the furthest way: from the first of the starts to the last of the bounds
    start = (starts[0] if step > 0 else starts[1]) + offset
    bound = bounds[1] if step > 0 else bounds[0]
    if direction == "LE":
        direction, bound = "LT", bound + 1
    elif direction == "GE":
        direction, bound = "GT", bound - 1
    if direction == "NE" and exact and (bound - start) * step >= 0 and (bound - start) % step == 0:
        iterations = (bound - start) // step
    elif direction == "LT" and step > 0:
        iterations = max(0, math.ceil((bound - start) / step))
    elif direction == "GT" and step < 0:
        iterations = max(0, math.ceil((start - bound) / -step))
    elif exact and ((direction == "LT" and start >= bound) or (direction == "GT" and start <= bound)):
        iterations = 0
    else:
        return None
    limits = _limits(dtype_of(left))
    reached = (start, start + iterations * step, *(s + offset for s in starts))
    return Trips(iterations, exact) if limits.min <= min(reached) and max(reached) <= limits.max else None


def _counter_of(value: ir.Value, block: ir.Block, known: dict[int, Any]) -> tuple[Counter, int] | None:
    """The counter that a value of a loop's condition is, and the number that is added to it."""
    offset: int | None = 0
    owner = creation.owner(value)
    if not isinstance(owner, ir.Block) and owner.name == "stablehlo.add":
        value, offset = owner.operands[0], scalar(owner.operands[1])
        owner = creation.owner(value)
    if offset is None or not isinstance(owner, ir.Block) or owner != block:
        return None
    index = value.arg_number
    counter = known[index] if index in known or isinstance(known, _Counters) else None
    return None if counter is None else (counter, offset)


def _in_loop(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is made in the condition of a loop, other than as a constant."""
    if scalar(value) is not None:
        return False
    owner = creation.owner(value)
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    return block == loop.regions[0].blocks[0]


# ---- ranges --------------------------------------------------------------------------------------------------------

Range = tuple[int, int]
"""Least and greatest element, both included."""
Handler = Callable[[Any, int], "Range | None"]


def range_of(value: ir.Value, depth: int = DEPTH) -> Range | None:
    """Bounds of all elements of an integer value, of any shape; None where nothing is known but its type."""
    kept = creation.kept()
    if kept is None:
        return _range_of(value, depth)
    key = "range", hash(value)
    known = kept.get(key)
    if known is None or known[0] < depth:
        known = depth, _range_of(value, depth)
        kept[key] = known
    return known[1]


def _range_of(value: ir.Value, depth: int) -> Range | None:
    dtype = dtype_of(value)
    if dtype.kind not in "iu" or not depth:
        return None
    owner = creation.owner(value)
    if isinstance(owner, ir.Block):
        return _range_of_carried(value, owner)
    handler = _RANGES.get(owner.name)
    if handler is not None:
        found = handler(owner, depth - 1)
    elif (moved := _MOVED.get(owner.name)) is not None:
        found = moved(owner, value.result_number, depth - 1)
    else:
        return None
    limits = _limits(dtype)
    return found if found is not None and limits.min <= found[0] and found[1] <= limits.max else None


def _range_of_carried(value: ir.Value, block: ir.Block) -> Range | None:
    loop = block.owner.operation
    if loop.name != "stablehlo.while" or shape_of(value):
        return None
    known = creation.found("counters asked for", loop, _Counters)
    counter = known[value.arg_number]
    if counter is None or (iterations := trips(loop, known)) is None:
        return None
    in_body = block == loop.regions[1].blocks[0]
    starts = (counter.start,) * 2 if counter.start is not None else range_of(loop.operands[counter.index])
    if starts is None or counter.start is None and not _bounds_loop(counter, loop, known):
        return None
    first = starts[0] if counter.step > 0 else starts[1]
    last = first + (max(iterations.most - 1, 0) if in_body else iterations.most) * counter.step
    reached = (first, last) if in_body else (*starts, last)
    return min(reached), max(reached)


def _bounds_loop(counter: Counter, loop: ir.Operation, known: dict[int, Any]) -> bool:
    """Whether the loop goes on only while this counter stays inside its bound, which then is the only one."""
    block = loop.regions[0].blocks[0]
    terms = _terms(block.operations[-1].operands[0])
    comparison = creation.made(terms[0], "stablehlo.compare") if len(terms) == 1 else None
    return comparison is not None and any((found := _counter_of(side, block, known)) is not None and found[0] == counter
               for side in comparison.operands)


def _constant(op: ir.OpView, _: int) -> Range | None:
    content = ops.constant_value(op.result)
    if content is None or not content.size:
        return None
    uniform = not any(content.strides)
    return (int(content[(0,) * content.ndim]),) * 2 if uniform else (int(content.min()), int(content.max()))


def _corners(function: Callable[[int, int], int]) -> Handler:
    def handler(op: ir.OpView, depth: int) -> Range | None:
        a = range_of(op.operands[0], depth)
        b = None if a is None else range_of(op.operands[1], depth)
        if a is None or b is None:
            return None
        found = [function(x, y) for x in a for y in b]
        return min(found), max(found)
    return handler


def _same(op: ir.OpView, depth: int) -> Range | None:
    return range_of(op.operands[0], depth)


def _union(values: Iterable[ir.Value], depth: int) -> Range | None:
    found: Range | None = None
    for value in values:
        here = range_of(value, depth)
        if here is None:
            return None
        found = here if found is None else (min(found[0], here[0]), max(found[1], here[1]))
    return found


def _full(value: ir.Value, depth: int) -> Range:
    """The range of a value, that of its type where nothing is known."""
    limits = _limits(dtype_of(value))
    return range_of(value, depth) or (limits.min, limits.max)


def _extreme(function: Callable[[int, int], int]) -> Handler:
    def handler(op: ir.OpView, depth: int) -> Range | None:
        a, b = (_full(v, depth) for v in op.operands)
        return function(a[0], b[0]), function(a[1], b[1])
    return handler


def _clamp(op: ir.OpView, depth: int) -> Range | None:
    low, x, high = (_full(v, depth) for v in op.operands)
    return min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])


def _remainder(op: ir.OpView, depth: int) -> Range | None:
    divisor = range_of(op.operands[1], depth)
    if divisor is None or divisor[0] < 1:
        return None
    x, most = _full(op.operands[0], depth), divisor[1] - 1
    return (0 if x[0] >= 0 else max(x[0], -most)), (min(x[1], most) if x[1] >= 0 else 0)


def _divide(op: ir.OpView, depth: int) -> Range | None:
    divisor = range_of(op.operands[1], depth)
    x = None if divisor is None or divisor[0] < 1 else range_of(op.operands[0], depth)
    if x is None or divisor is None:
        return None
    found = [int(math.copysign(abs(a) // b, a)) if a else 0 for a in x for b in divisor]
    return min(found), max(found)


def _and(op: ir.OpView, depth: int) -> Range | None:
    masks = [r for v in op.operands if (r := range_of(v, depth)) is not None and r[0] >= 0]
    return (0, min(r[1] for r in masks)) if masks else None


def _bits(op: ir.OpView, depth: int) -> Range | None:
    """Or and exclusive or of what is not negative have no bit above the highest of both."""
    a = range_of(op.operands[0], depth)
    b = None if a is None or a[0] < 0 else range_of(op.operands[1], depth)
    return None if a is None or b is None or b[0] < 0 else (0, (1 << max(a[1], b[1]).bit_length()) - 1)


def _negate(op: ir.OpView, depth: int) -> Range | None:
    x = range_of(op.operands[0], depth)
    return None if x is None else (-x[1], -x[0])


def _abs(op: ir.OpView, depth: int) -> Range | None:
    x = range_of(op.operands[0], depth)
    if x is None:
        return None
    return (0 if x[0] <= 0 <= x[1] else min(map(abs, x))), max(map(abs, x))


def _iota(op: ir.OpView, _: int) -> Range | None:
    extent = shape_of(op.result)[attr.decode(op.attributes["iota_dimension"])]
    return (0, extent - 1) if extent else None


def _convert(op: ir.OpView, depth: int) -> Range | None:
    kind = dtype_of(op.operands[0]).kind
    return (0, 1) if kind == "b" else range_of(op.operands[0], depth) if kind in "iu" else None


def _select(op: ir.OpView, depth: int) -> Range | None:
    """select(a > b, b, a) is the lesser of both, and so on; anything else one or the other."""
    condition, *chosen = op.operands
    a = range_of(chosen[0], depth)
    b = None if a is None else range_of(chosen[1], depth)
    if a is None or b is None:      # where one is not known, what it was made from may be looked through in vain
        return None
    made = creation.made(condition, "stablehlo.compare")
    if made is not None and set(made.operands) == set(chosen):
        direction = attr.decode(made.attributes["comparison_direction"])
        if direction in ("LT", "LE", "GT", "GE"):
            least = (direction in ("LT", "LE")) == (made.operands[0] == chosen[0])
            choose = min if least else max
            return choose(a[0], b[0]), choose(a[1], b[1])
    return min(a[0], b[0]), max(a[1], b[1])


_RANGES = {f"stablehlo.{name}": handler for name, handler in {
    "constant": _constant, "iota": _iota, "add": _corners(lambda x, y: x + y), "subtract": _corners(lambda x, y: x - y),
    "multiply": _corners(lambda x, y: x * y), "negate": _negate, "abs": _abs, "maximum": _extreme(max),
    "minimum": _extreme(min), "clamp": _clamp, "remainder": _remainder, "divide": _divide, "and": _and,
    "or": _bits, "xor": _bits, "convert": _convert, "select": _select,
    **dict.fromkeys(("broadcast_in_dim", "reshape", "transpose", "reverse", "slice", "dynamic_slice", "gather"), _same),
    "concatenate": lambda op, depth: _union(op.operands, depth),
    **dict.fromkeys(("dynamic_update_slice", "pad"), lambda op, depth: _union(list(op.operands)[:2], depth)),
}.items()}


def _sorted(op: ir.OpView, number: int, depth: int) -> Range | None:
    return range_of(op.operands[number], depth)


def _greatest(op: ir.OpView, number: int, depth: int) -> Range | None:
    """The greatest elements along the last dimension, and their places in it."""
    extent = shape_of(op.operands[0])[-1]
    return range_of(op.operands[0], depth) if number == 0 else (0, extent - 1) if extent else None


_MOVED: dict[str, Callable[[ir.OpView, int, int], Range | None]] = {
    "stablehlo.sort": _sorted, "chlo.top_k": _greatest}
"""Of ops with several results."""
