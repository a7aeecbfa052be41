"""The last stage: writes into part of an array, in the form the target runs fastest.

A write in place (`dynamic_update_slice`) touches only what it writes, but is a kernel of its own: what the array was
computed by must have been stored first, and where the new values are read off the array itself (a stencil), the array
is copied first. One select over the whole array fuses with everything around it.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.types import shape_of, size
from reactant.rewrite import match, named, one_of, producer, rest, rewrite, users, variables
from reactant.simplify.facts.indexmaps import replaced
from reactant.simplify.facts.parts import (
    LONGEST_CHAIN,
    Window,
    covers,
    disjoint,
    known_starts,
    minus,
    part,
    source,
    update_window,
)
from reactant.simplify.facts.target_costs import Costs, costs

x, y, u, s, e, t, d = variables("x y u s e t d")
FUSED = ops.ELEMENTWISE | {f"stablehlo.{n}" for n in (
    "constant", "iota", "broadcast_in_dim", "reshape", "slice", "pad", "concatenate", "reverse", "transpose")}
LOOK_BACK = 40
"""How many ops behind an update are looked at to see whether it reads the array it is written to."""


def region_mask(shape: tuple[int, ...], low: tuple[int, ...], window: tuple[int, ...]) -> ir.Value:
    """True inside a window that is smaller than the array in some dimension; one comparison a dimension, unsigned."""
    mask = None
    for d, (start, extent, whole) in enumerate(zip(low, window, shape, strict=True)):
        if extent == whole:
            continue
        place = ops.iota(shape, np.uint32, d)
        if start + extent == whole:
            inside = ops.compare(place, start, "GE")
        else:
            inside = ops.compare(ops.subtract(place, start) if start else place, extent, "LT")
        mask = inside if mask is None else ops.and_(mask, inside)
    return mask


@rewrite(match.dynamic_update_slice(x, u, rest("starts")), dtypes="number",
         example=lambda a: ops.dynamic_update_slice(ops.splat(2, v := a(3, 4)), ops.slice(v, (1, 0), (3, 3)),
                                                    [ops.constant(1, np.int64), ops.constant(9, np.int64)]),
         counter=lambda a: ops.dynamic_update_slice(ops.splat(2, v := a(3, 4)), ops.slice(v, (1, 0), (3, 3)),
                                                    [a(dtype="int64")] * 2))
def update_of_splat_is_pad(x, u, starts):
    """a splat of c with a window overwritten by u = pad(u, c)"""
    known = ops.constant_value(x)
    if costs() is None or known is None or not known.size or any(known.strides):
        return None
    low = known_starts(starts, shape_of(x), shape_of(u))
    if low is None:
        return None
    fill = ops.constant(known[(0,) * known.ndim])
    return ops.pad(u, fill, low, [n - a - k for n, a, k in zip(shape_of(x), low, shape_of(u), strict=True)])


def _slab(k: int, in_place: bool = False):
    def build(a):
        field = a(k, 20, 30) if in_place else ops.negate(a(k, 20, 30))
        return ops.dynamic_update_slice(field, a(1, 19, 30), [ops.constant(n, np.int64) for n in (1, 1, 0)])
    return build


@rewrite(match.dynamic_update_slice(x, u, rest("starts")), dtypes="number", example=(_slab(2), _slab(3)),
         counter=(_slab(9), _slab(2, in_place=True)))
def update_of_layer_is_concatenated(x, u, starts):
    """x with x[i, a:b] = u is concatenate(x[:i], x[i] with [a:b] = u, x[i + 1:]) for few layers x[i]"""
    table, shape, window = costs(), shape_of(x), shape_of(u)
    if table is None or size(shape) < table.least_elements:
        return None
    partial = [d for d in range(len(shape)) if window[d] != shape[d]]
    d = partial[0] if partial else 0
    if not partial or size(shape[:d]) != 1 or window[d] != 1 or shape[d] > table.layers or not _is_computed(x):
        return None
    low = known_starts(starts, shape_of(x), shape_of(u))
    if low is None:
        return None
    at, unit = low[d], tuple(0 if e == d else n for e, n in enumerate(low))
    layer = _layers(x, d, at, at + 1)
    if len(partial) > 1:
        layer = ops.dynamic_update_slice(layer, u, [ops.constant(n, np.int64) for n in unit])
    else:
        layer = u
    before = [_layers(x, d, 0, at)] if at else []
    after = [_layers(x, d, at + 1, shape[d])] if at + 1 < shape[d] else []
    return ops.concatenate([*before, layer, *after], d)


def _layers(x: ir.Value, dimension: int, first: int, last: int) -> ir.Value:
    extents = shape_of(x)
    return ops.slice(x, [first if d == dimension else 0 for d in range(len(extents))],
                     [last if d == dimension else n for d, n in enumerate(extents)])


def _is_computed(x: ir.Value) -> bool:
    """Whether an array is made by an op that would fuse with a select over it."""
    made = producer(x)
    return made is not None and made.name in FUSED


def _rows(n: int, dimension: int = 0):
    def build(a):
        speed = a(8)
        rows = [ops.add(a(8), ops.multiply(speed, speed)) for _ in range(n)]
        whole = ops.concatenate([ops.reshape(row, (1, 8) if dimension == 0 else (8, 1)) for row in rows], dimension)
        return ops.concatenate([ops.reshape(whole, (8 * n,)), *rows], 0)
    return build


@rewrite(match.concatenate(rest("rows"), dimension=d), made_by=("stablehlo.reshape",), example=(_rows(2), _rows(3)),
         counter=_rows(2, 1))
def concatenate_of_rows(rows, d, result_shape):
    """concatenate(reshape(x), reshape(y)) = reshape(concatenate(x, y)) where reshapes only put unit dimensions first

    XLA computes what it stores through a reshape, and what that shares with others, once more for each of them.
    """
    leading, row = result_shape[:d], tuple(result_shape[d + 1:])
    table = costs()
    if table is None or not table.flat_rows or size(leading) != 1 or not row \
            or any(shape_of(x)[d] != 1 for x in rows):
        return None
    made = [producer(x) for x in rows]
    if any(op is None or op.name != "stablehlo.reshape" or shape_of(op.operands[0]) != row for op in made):
        return None
    return ops.reshape(ops.concatenate([op.operands[0] for op in made], 0), result_shape)


def _in_place_sum(a):
    field = a(40, 40)
    inner = ops.add(ops.slice(field, (1, 1), (39, 39)), a(38, 38))
    return ops.dynamic_update_slice(field, inner, [ops.constant(1, np.int64)] * 2)


NEUTRAL = {"stablehlo.add": -0.0, "stablehlo.subtract": 0.0, "stablehlo.multiply": 1, "stablehlo.divide": 1,
           "stablehlo.maximum": -np.inf, "stablehlo.minimum": np.inf}
"""Right operands that leave any left one as it is (floating point: -0.0 + -0.0 = -0.0 - 0.0 = -0.0)."""


def _interior(name: str, start: int = 1, reads: int = 1):
    def build(a):
        field, change = ops.negate(a(40, 40)), a(38, 38)
        inner = ops.slice(field, (reads,) * 2, (reads + 38,) * 2)
        inner = ops.create("stablehlo." + name, [inner.type], [inner, change]).result
        return ops.dynamic_update_slice(field, inner, [ops.constant(start, np.int64)] * 2)
    return build


@rewrite(match.dynamic_update_slice(x, one_of(tuple(NEUTRAL), match.slice(x, start_indices=s, strides=t), y,
                                              template="op"), rest("starts")), dtypes="float",
         example=tuple(_interior(n) for n in ("add", "subtract", "multiply", "divide", "maximum", "minimum")),
         counter=(_interior("add", reads=0), _in_place_sum))
def update_by_itself_is_padded(x, s, t, y, op, starts):
    """x with x[a:b] = x[a:b] + y is x + pad(y, -0.0); likewise for -, *, /, maximum and minimum"""
    table, low = costs(), known_starts(starts, shape_of(x), shape_of(y))
    window = shape_of(y)
    if table is None or low is None or s != low or any(n != 1 for n in t) or size(shape_of(x)) < table.least_elements:
        return None
    if not _select_is_faster(table, x, y, low):
        return None
    spread = ops.pad(y, NEUTRAL[op.name], low, [n - a - k for n, a, k in zip(shape_of(x), low, window, strict=True)])
    return op.build([x, spread], shape_of(x))


def _stencil(a):
    field = a(40, 40)
    inner = ops.add(ops.slice(field, (0, 1), (38, 39)), ops.slice(field, (2, 1), (40, 39)))
    return ops.dynamic_update_slice(field, inner, [ops.constant(1, np.int64)] * 2)


def _after_computing(a):
    field = ops.multiply(a(40, 40), 2)
    return ops.dynamic_update_slice(field, a(39, 40), [ops.constant(n, np.int64) for n in (1, 0)])


def _in_place(a):
    return ops.dynamic_update_slice(a(40, 40), a(39, 40), [ops.constant(n, np.int64) for n in (1, 0)])


@rewrite(match.dynamic_update_slice(x, u, rest("starts")), dtypes="number", example=(_stencil, _after_computing),
         counter=(_in_place, lambda a: ops.dynamic_update_slice(
             ops.multiply(a(40, 40), 2), a(1, 40), [ops.constant(0, np.int64)] * 2),
             lambda a: ops.dynamic_update_slice(ops.multiply(a(40, 40), 2), a(39, 40), [a(dtype="int64")] * 2)))
def update_is_select(x, u, starts):
    """x with x[a:b] = u is select(a <= place < b, pad(u), x) where that saves storing or copying x"""
    table, shape, window = costs(), shape_of(x), shape_of(u)
    if table is None or shape == window or not size(window) or size(shape) < table.least_elements \
            or size(window) < size(shape) * min(table.select_fraction_reading, table.select_fraction):
        return None
    low = known_starts(starts, shape_of(x), shape_of(u))
    if low is None or not _select_is_faster(table, x, u, low):
        return None
    spread = ops.pad(u, 0, low, [n - a - k for n, a, k in zip(shape, low, window, strict=True)])
    return ops.select(region_mask(shape, low, window), spread, x)


def _select_is_faster(table: Costs, x: ir.Value, u: ir.Value, low: tuple[int, ...]) -> bool:
    fraction = size(shape_of(u)) / size(shape_of(x))
    if fraction < min(table.select_fraction_reading, table.select_fraction):
        return False
    if _reads_elsewhere(u, x, low, shape_of(u)):
        return fraction >= table.select_fraction_reading
    return _is_computed(x) and fraction >= table.select_fraction


def _reads_elsewhere(value: ir.Value, array: ir.Value, low: tuple[int, ...], window: tuple[int, ...]) -> bool:
    """Whether `value` is computed, through ops that fuse, from elements of `array` other than those in its place."""
    work, seen = [value], {value}
    while work and len(seen) < LOOK_BACK:
        made = creation.owner(work.pop())
        if type(made) is ir.Block or made.name not in FUSED:
            continue
        for operand in made.operands:
            if operand in seen:
                continue
            if operand == array:
                if not _reads_exactly(made, low, window):
                    return True
            else:
                seen.add(operand)
                work.append(operand)
    return False


def _reads_exactly(made: ir.OpView, low: tuple[int, ...], window: tuple[int, ...]) -> bool:
    """Whether an op is the slice at `low` of the extents `window`."""
    if made.name != "stablehlo.slice":
        return False
    starts, limits, strides = (attr.decode(made.attributes[name])
                               for name in ("start_indices", "limit_indices", "strides"))
    return starts == low and all(s == 1 for s in strides) \
        and tuple(b - a for a, b in zip(starts, limits, strict=True)) == window


# ---- reads between updates -----------------------------------------------------------------------------------------

def _ghost_rows(a):
    field = a(40, 40)
    rows = ops.dynamic_update_slice(field, ops.slice(field, (38, 0), (39, 40)), [ops.constant(0, np.int64)] * 2)
    column = ops.slice(rows, (0, 1), (40, 2))
    return ops.dynamic_update_slice(rows, column, [ops.constant(k, np.int64) for k in (0, 39)])


def _stencil_of_update(a):
    rows = ops.dynamic_update_slice(a(40, 40), a(1, 40), [ops.constant(0, np.int64)] * 2)
    return ops.add(ops.slice(rows, (0, 0), (39, 40)), ops.slice(rows, (1, 0), (40, 40)))


@rewrite(match.slice(named("w", match.dynamic_update_slice(x, u, rest("_starts"))), start_indices=s, limit_indices=e,
                     strides=t),
         example=_ghost_rows,
         counter=(_stencil_of_update, lambda a: ops.slice(
             ops.dynamic_update_slice(a(40, 40), a(1, 40), [a(dtype="int64")] * 2), (0, 0), (40, 1))))
def small_read_of_update(w, x, u, s, e, t):
    """a small slice through a window just overwritten is put together from the array before and the new content

    Reads of an array between updates of it make XLA keep several versions, each a copy of everything; reads of what
    it was before the first update do not."""
    table, window = costs(), update_window(w)
    extents = [b - a for a, b in zip(s, e, strict=True)]
    if table is None or window is None or any(k != 1 for k in t) or users(w) < 2 or size(shape_of(x)) \
            < table.least_elements or size(extents) * table.small_read > size(shape_of(x)):
        return None
    if disjoint(window, (s, e)) or covers(window, (s, e)):
        return None
    first, last, split = _common(window, s, e)
    if len(split) > 1:
        return ops.dynamic_update_slice(part(x, s, e), part(u, minus(first, window[0]), minus(last, window[0])), [
            ops.constant(a, np.int64) for a in minus(first, s)])
    return ops.concatenate(_pieces(w, s, e, split[0]), split[0])


def _common(window: Window, s: Sequence[int], e: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """What a window and the places s to e have in common (first, one past last), and the dimensions in which that is
    not all of those places."""
    first = [max(a, b) for a, b in zip(s, window[0], strict=True)]
    last = [min(a, b) for a, b in zip(e, window[1], strict=True)]
    return first, last, [d for d in range(len(s)) if (first[d], last[d]) != (s[d], e[d])]


def _pieces(value: ir.Value, s: tuple[int, ...], e: tuple[int, ...], d: int, depth: int = 0) -> list[ir.Value]:
    """The places s to e of an array as what was written there and what was there before, side by side in dimension d:
    through all updates behind one another that split them there."""
    value, s, e, steps = source(value, s, e)
    window = update_window(value) if max(steps) == 1 and depth < LONGEST_CHAIN else None
    if window is None or (common := _common(window, s, e))[2] != [d]:
        return [ops.slice(value, s, e, steps)]
    first, last, _ = common
    array, content = list(creation.owner(value).operands)[:2]
    before = _pieces(array, s, replaced(e, d, first[d]), d, depth + 1) if first[d] > s[d] else []
    after = _pieces(array, replaced(s, d, last[d]), e, d, depth + 1) if last[d] < e[d] else []
    return [*before, *_pieces(content, minus(first, window[0]), minus(last, window[0]), d, depth + 1), *after]
