"""What is known of a run-time integer array while tracing: bounds, distinctness, and whether two values are the same.

Cheap look-ups through the ops that made a value; "unknown" is always a right answer. They decide index checks, whether
a scatter may meet an element twice, and whether two slices have one extent.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

_DEPTH = 12
_KEEP = {"stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim", "stablehlo.slice",
         "stablehlo.reverse", "stablehlo.gather", "stablehlo.dynamic_slice", "stablehlo.optimization_barrier"}
"""Ops whose result elements are all elements of the first operand."""

_EXTREMES = ("stablehlo.maximum", "stablehlo.minimum")

Interval = tuple[int, int]

_COUNTERS: dict[ir.Value, Interval] = {}
"""Of the arguments of blocks that are being traced (values are of one thread)."""


@contextlib.contextmanager
def between(counter: ir.Value, found: Interval) -> Iterator[None]:
    """Meanwhile, an argument of a block is known to have these bounds."""
    _COUNTERS[counter] = found
    try:
        yield
    finally:
        del _COUNTERS[counter]


def bounds(value: ir.Value, depth: int = _DEPTH) -> Interval | None:
    """Inclusive bounds of the elements of an integer value, or None."""
    if isinstance(value.owner, ir.Block):
        return _COUNTERS.get(value)
    if depth == 0 or dtype_of(value).kind not in "iu":
        return None
    op = value.owner
    name = op.name
    if name == "stablehlo.constant":
        known = ops.constant_value(value)
        return (int(known.min()), int(known.max())) if known.size else (0, -1)
    if name == "stablehlo.iota":
        extent = shape_of(value)[int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)]
        return _fits((0, max(extent - 1, 0)), value)
    operands = list(op.operands)
    if name in _KEEP:
        return bounds(operands[0], depth - 1)
    if name == "stablehlo.convert":
        if dtype_of(operands[0]).kind == "b":
            return (0, 1)
        return _fits(bounds(operands[0], depth - 1), value)
    if name == "stablehlo.select":
        return _modulo(operands, depth) or _union(bounds(operands[1], depth - 1), bounds(operands[2], depth - 1))
    if name == "stablehlo.concatenate":
        found = bounds(operands[0], depth - 1)
        for operand in operands[1:]:
            found = _union(found, bounds(operand, depth - 1))
        return found
    if name == "stablehlo.sort":
        number = next(n for n, r in enumerate(op.results) if r == value)
        return bounds(operands[number], depth - 1)
    if name == "stablehlo.reduce" and len(operands) == 2:
        return _reduced(op, value, depth)
    rule = _ARITHMETIC.get(name)
    if rule is None:
        return None
    sides = [bounds(o, depth - 1) for o in operands]
    if name in _EXTREMES and sides != [None, None]:
        limits = np.iinfo(dtype_of(value))
        sides = [s or (int(limits.min), int(limits.max)) for s in sides]
    return _fits(rule(*sides), value)


def _reduced(op: ir.Operation, value: ir.Value, depth: int) -> Interval | None:
    """The bounds of sums and extremes: how many there are of what is counted."""
    (element, start), body = op.operands, op.regions[0].blocks[0].operations
    kind, whole, first = body[0].name, bounds(element, depth - 1), bounds(start, depth - 1)
    if len(body) != 2 or whole is None or first is None:
        return None
    if kind in _EXTREMES:
        return _ARITHMETIC[kind](whole, first)
    if kind != "stablehlo.add":
        return None
    count = int(np.prod(shape_of(element))) // max(int(np.prod(shape_of(value))), 1)
    return _fits((count * whole[0] + first[0], count * whole[1] + first[1]), value)


def _modulo(operands: list[ir.Value], depth: int) -> Interval | None:
    """The range of NumPy's `x % y` for positive y, as `elementwise` builds it: the remainder, plus y where the signs of
    remainder and y differ."""
    condition, shifted, rest = operands
    if any(isinstance(v.owner, ir.Block) for v in operands) or (
            condition.owner.name, shifted.owner.name, rest.owner.name) != (
            "stablehlo.and", "stablehlo.add", "stablehlo.remainder"):
        return None
    divisor = rest.owner.operands[1]
    sign = condition.owner.operands[1].owner
    if isinstance(sign, ir.Block) or sign.name != "stablehlo.compare" or isinstance(sign.operands[0].owner, ir.Block):
        return None
    mixed = sign.operands[0].owner
    if list(shifted.owner.operands) != [rest, divisor] or mixed.name != "stablehlo.xor" \
            or list(mixed.operands) != [rest, divisor]:
        return None
    found = bounds(divisor, depth - 1)
    return (0, found[1] - 1) if found is not None and found[0] > 0 else None


def _fits(found: Interval | None, value: ir.Value) -> Interval | None:
    """None where the bounds leave the dtype (it would wrap)."""
    if found is None:
        return None
    limits = np.iinfo(dtype_of(value))
    return found if limits.min <= found[0] and found[1] <= limits.max else None


def _union(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def _both(rule):  # type: ignore[no-untyped-def]
    return lambda a, b: None if a is None or b is None else rule(a, b)


def _corners(a: Interval, b: Interval) -> Interval:
    products = [p * q for p in a for q in b]
    return min(products), max(products)


def _remainder(a: Interval | None, b: Interval | None) -> Interval | None:
    """C's remainder: sign of the dividend."""
    if b is None or b[0] <= 0:
        return None
    top = b[1] - 1
    return (0 if a is not None and a[0] >= 0 else -top, min(top, a[1]) if a is not None and a[1] >= 0 else top)


def _maximum(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else (max(a[0], b[0]), max(a[1], b[1]))


def _minimum(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else (min(a[0], b[0]), min(a[1], b[1]))


def _clamp(low: Interval | None, x: Interval | None, high: Interval | None) -> Interval | None:
    if low is None or high is None:
        return None
    x = x or (low[0], high[1])
    return min(max(x[0], low[0]), high[1]), max(min(x[1], high[1]), low[0])


_ARITHMETIC = {
    "stablehlo.add": _both(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    "stablehlo.subtract": _both(lambda a, b: (a[0] - b[1], a[1] - b[0])),
    "stablehlo.multiply": _both(_corners),
    "stablehlo.remainder": _remainder,
    "stablehlo.maximum": _maximum, "stablehlo.minimum": _minimum, "stablehlo.clamp": _clamp,
    "stablehlo.negate": lambda a: None if a is None else (-a[1], -a[0]),
}


def distinct(value: ir.Value, depth: int = _DEPTH) -> bool:
    """Whether the elements of an integer value are provably all different."""
    if depth == 0 or isinstance(value.owner, ir.Block):
        return False
    op, shape = value.owner, shape_of(value)
    if int(np.prod(shape)) <= 1:
        return True
    if op.name == "stablehlo.constant":
        known = ops.constant_value(value)
        return np.unique(known).size == known.size
    if op.name == "stablehlo.iota":
        return max(shape) == int(np.prod(shape)) == shape[int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)]
    operands = list(op.operands)
    if op.name in ("stablehlo.reverse", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice",
                   "stablehlo.dynamic_slice", "stablehlo.negate"):
        return distinct(operands[0], depth - 1)
    if op.name == "stablehlo.convert":
        return _fits(bounds(operands[0]), value) is not None and distinct(operands[0], depth - 1)
    if op.name in ("stablehlo.add", "stablehlo.subtract"):
        return any(distinct(a, depth - 1) and _uniform(b) for a, b in (operands, operands[::-1]))
    if op.name == "stablehlo.sort" and len(shape) == 1:
        number = next(n for n, r in enumerate(op.results) if r == value)
        return distinct(operands[number], depth - 1)
    return False


def _uniform(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block):
        return False
    if value.owner.name == "stablehlo.constant":
        known = ops.constant_value(value)
        return bool(known.size) and bool((known == known.reshape(-1)[0]).all())
    return value.owner.name == "stablehlo.broadcast_in_dim" and not shape_of(value.owner.operands[0])


def same(a: object, b: object, depth: int = 24) -> bool:
    """Whether two values (or ints) are computed alike from the same values: equal content for sure."""
    if isinstance(a, int) or isinstance(b, int):
        return _number(a) is not None and _number(a) == _number(b)
    if a == b:
        return True
    if depth == 0 or a.type != b.type or isinstance(a.owner, ir.Block) or isinstance(b.owner, ir.Block):
        return False
    p, q = a.owner, b.owner
    if p == q and p.name in ("stablehlo.if", "stablehlo.case"):
        return all(same(_returned(r, _place(a)), _returned(r, _place(b)), depth - 1) for r in p.regions)
    if p == q or p.name != q.name or len(p.regions) or len(p.operands) != len(q.operands) or len(p.results) != 1:
        return False
    if _attributes(p) != _attributes(q):
        return False
    return all(same(x, y, depth - 1) for x, y in zip(p.operands, q.operands, strict=True))


def _place(result: ir.Value) -> int:
    return ir.OpResult(result).result_number


def _returned(region: ir.Region, place: int) -> ir.Value:
    return region.blocks[0].operations[len(region.blocks[0].operations) - 1].operands[place]


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    names = [n if isinstance(n, str) else n.name for n in op.attributes]     # jaxlib versions differ here
    return {name: op.attributes[name] for name in names}


def _number(x: object) -> int | None:
    if isinstance(x, int):
        return x
    known = ops.constant_value(x)
    return int(known) if known is not None and known.size == 1 else None


def linear(value: ir.Value | int, depth: int = _DEPTH) -> tuple[list[tuple[ir.Value, int]], int]:
    """A 0-d integer as sum of (value, factor) terms and a constant."""
    number = _number(value)
    if number is not None:
        return [], number
    op = value.owner
    if isinstance(op, ir.Block) or depth == 0:
        return [(value, 1)], 0
    operands = list(op.operands)
    if op.name in ("stablehlo.add", "stablehlo.subtract"):
        (a, p), (b, q) = (linear(o, depth - 1) for o in operands)
        sign = 1 if op.name == "stablehlo.add" else -1
        return _collected([*a, *((v, sign * f) for v, f in b)]), p + sign * q
    if op.name == "stablehlo.multiply":
        for x, y in (operands, operands[::-1]):
            factor = _number(y)
            if factor is not None:
                terms, rest = linear(x, depth - 1)
                return [(v, f * factor) for v, f in terms], rest * factor
    if op.name == "stablehlo.negate":
        terms, rest = linear(operands[0], depth - 1)
        return [(v, -f) for v, f in terms], -rest
    return [(value, 1)], 0


def _collected(terms: list[tuple[ir.Value, int]]) -> list[tuple[ir.Value, int]]:
    """Terms of the same value merged; those that cancel dropped."""
    merged: list[tuple[ir.Value, int]] = []
    for value, factor in terms:
        for n, (known, other) in enumerate(merged):
            if same(value, known):
                merged[n] = (known, other + factor)
                break
        else:
            merged.append((value, factor))
    return [(v, f) for v, f in merged if f]


def distance(a: ir.Value | int, b: ir.Value | int) -> tuple[list[tuple[ir.Value, int]], int]:
    """`a - b` as `linear` gives it."""
    (p, c), (q, d) = linear(a), linear(b)
    return _collected([*p, *((v, -f) for v, f in q)]), c - d


def difference(a: ir.Value | int, b: ir.Value | int) -> int | None:
    """`a - b` where it is the same number whatever the run-time values are, else None."""
    terms, rest = distance(a, b)
    return None if terms else rest
