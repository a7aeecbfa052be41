"""dynamic_slice of an array just updated, where the update changes none or one element of what is read.

A triangular loop writes `A[k + 1:, k]` as a whole column in which a mask keeps the rows up to k. A read of row k does
not meet what is changed, so it may come from before the update: then nothing stands between the array and its reads.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.induction import range_of, scalar
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, named, rest, rewrite, variables
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import counted
from reactant.simplify.layout.dynamic_slicing import Window

x, u, n, _u = variables("x u n _u")
SLICE, READ, UPDATE = "stablehlo.slice", "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"


def access(op: ir.Operation) -> Window | None:
    """Where a slice or update lies at the most, if no start of it is ever clamped; None where that is not known."""
    if op.name == SLICE:
        return tuple(attr.decode(op.attributes["start_indices"])), tuple(attr.decode(op.attributes["limit_indices"]))
    low, high = [], []
    for start, extent, whole in zip(*_place(op), shape_of(op.operands[0]), strict=True):
        if extent == whole:
            found: tuple[int, int] | None = (0, 0)
        else:
            found = range_of(start)
        if found is None or found[0] < 0 or found[1] + extent > whole:
            return None
        low.append(found[0])
        high.append(found[1] + extent)
    return tuple(low), tuple(high)


def _place(op: ir.Operation) -> tuple[list[ir.Value], Sequence[int]]:
    """Starts and extents of a dynamic_slice or dynamic_update_slice."""
    if op.name == READ:
        return list(op.operands)[1:], shape_of(op.results[0])
    return list(op.operands)[2:], shape_of(op.operands[1])


A, R = "tensor<40x50xf32>", "tensor<1x50xf32>"
I1, B1 = "tensor<i32>", "tensor<30x1xi1>"


def _masked(direction: str, bound: str, row: str, first: int = 10, trips: int = 30) -> str:
    """A loop that writes column i from row `first` on, changing it below row i + 1 only, then reads row `row`."""
    body = f"""%f = stablehlo.constant dense<{first}> : {I1}
%k = stablehlo.add %i, %f : {I1}
%c = stablehlo.dynamic_slice %a, %f, %k, sizes = [30, 1] : ({A}, {I1}, {I1}) -> tensor<30x1xf32>
%d = stablehlo.negate %c : tensor<30x1xf32>
%j = stablehlo.iota dim = 0 : tensor<30x1xi32>
%l = stablehlo.broadcast_in_dim {bound}, dims = [] : ({I1}) -> tensor<30x1xi32>
%m = stablehlo.compare {direction}, %j, %l : (tensor<30x1xi32>, tensor<30x1xi32>) -> {B1}
%e = stablehlo.select %m, %d, %c : {B1}, tensor<30x1xf32>
%b = stablehlo.dynamic_update_slice %a, %e, %f, %k : ({A}, tensor<30x1xf32>, {I1}, {I1}) -> {A}
%o = stablehlo.dynamic_slice %b, {row}, %zero, sizes = [1, 50] : ({A}, {I1}, {I1}) -> {R}
%h = stablehlo.add %g, %o : {R}"""
    return counted((("%a", "%x", "%b", A), ("%g", "%y", "%h", R)), body, "%r#2", R, trips).replace(
        "%x: tensor<3xf32>", f"%x: {A}").replace("%y: tensor<3xf32>", f"%y: {R}")


@rewrite(match.dynamic_slice(named("w", match.dynamic_update_slice(x, _u, rest("_others"))), rest("starts"),
                             slice_sizes=n),
         example=(_masked("GE", "%next", "%k"), _masked("GT", "%i", "%k"), _masked("LT", "%i", "%k"),
                  _masked("LE", "%i", "%k").replace("%m, %d, %c", "%m, %c, %d")),
         counter=(_masked("GE", "%i", "%k"), _masked("LE", "%i", "%k"), _masked("GE", "%next", "%k", trips=31),
                  _masked("GE", "%next", "%n"), _masked("LT", "%next", "%k"),
                  _masked("GE", "%next", "%k").replace("%m, %d, %c", "%m, %d, %d")))
def read_beside_masked_update(w, x, result, starts, n):
    """dynamic_slice(x with u written) = dynamic_slice(x) where u, within the places read, is what was there before"""
    update, read = creation.owner(w).operation, creation.owner(result).operation
    changes = _changes(update)
    if not changes or access(update) is None or access(read) is None:
        return None
    for d, least, bound in changes:
        other, width = _start(read, 1 + d, n[d]), n[d]
        written = _sum(_start(update, 2 + d, shape_of(update.operands[1])[d]), bound)
        if written is None or (written[0] is None) != (other[0] is None) \
                or (other[0] is not None and written[0] != other[0]):
            continue
        if other[1] + width <= written[1] if least else written[1] <= other[1]:
            return ops.dynamic_slice(x, starts, n)
    return None


def _diagonal(first: str = "%zero", second: str = "%i", element: str = "1x1", trips: int = 38) -> str:
    """A loop that writes an element of the diagonal, then reads its column from row 2 on."""
    body = f"""%f = stablehlo.constant dense<2> : {I1}
%e = stablehlo.dynamic_slice %a, %i, {second}, sizes = [1, 1] : ({A}, {I1}, {I1}) -> tensor<1x1xf32>
%d = stablehlo.negate %e : tensor<1x1xf32>
%b = stablehlo.dynamic_update_slice %a, %d, %i, {second} : ({A}, tensor<1x1xf32>, {I1}, {I1}) -> {A}
%o = stablehlo.dynamic_slice %b, %f, {first}, sizes = [38, 1] : ({A}, {I1}, {I1}) -> tensor<38x1xf32>
%h = stablehlo.add %g, %o : tensor<38x1xf32>"""
    return counted((("%a", "%x", "%b", A), ("%g", "%y", "%h", "tensor<38x1xf32>")), body, "%r#2", "tensor<38x1xf32>",
                   trips).replace("%x: tensor<3xf32>", f"%x: {A}").replace("%y: tensor<3xf32>", "%y: tensor<38x1xf32>")


@rewrite(match.dynamic_slice(match.dynamic_update_slice(x, u, rest("others")), rest("starts"), slice_sizes=n),
         example=(_diagonal("%i"), _diagonal(), _diagonal(second="%one"), _diagonal(second="%zero")),
         counter=(_diagonal("%i", trips=41), _diagonal("%n"),
                  _diagonal("%i").replace("40x50", "40x7")))
def small_read_of_element_update(x, u, others, starts, result, n):
    """a small part of x with one element written = that part of x with that element selected"""
    table, read = costs(), creation.owner(result).operation
    if table is None or size(shape_of(u)) != 1 or size(n) == 1 or size(shape_of(x)) < table.least_elements \
            or size(n) * table.small_read > size(shape_of(x)) or access(read) is None \
            or access(creation.owner(read.operands[0]).operation) is None:
        return None
    mask = None
    for d, extent in enumerate(n):
        at, low = others[d], ops.constant(0, dtype_of(starts[d])) if extent == shape_of(x)[d] else starts[d]
        if shape_of(x)[d] == 1 or (extent == 1 and at == low):
            continue
        here = ops.compare(ops.iota(n, np.int64, d), ops.broadcast_in_dim(
            ops.subtract(ops.convert(at, np.int64), ops.convert(low, np.int64)), n, ()), "EQ")
        mask = here if mask is None else ops.and_(mask, here)
    return ops.select(mask, ops.broadcast_in_dim(ops.reshape(u, ()), n, ()), ops.dynamic_slice(x, starts, n))


# ---- what is known of accesses -------------------------------------------------------------------------------------

Affine = tuple["ir.Value | None", int]
"""A scalar as another one plus a number (None: the number alone)."""


def _offset(value: ir.Value) -> Affine:
    known, more = scalar(value), 0
    while known is None and (made := creation.made(value, "stablehlo.add", "stablehlo.subtract")) is not None:
        step = scalar(made.operands[1])
        if step is None:
            break
        more += step if made.name.endswith("add") else -step
        value = made.operands[0]
        known = scalar(value)
    return (value, more) if known is None else (None, known + more)


def _start(op: ir.Operation, operand: int, extent: int) -> Affine:
    """Where an access that is never clamped starts; one of all of a dimension starts at 0 whatever it says."""
    whole = shape_of(op.operands[0])[operand - (1 if op.name == READ else 2)]
    return (None, 0) if extent == whole else _offset(op.operands[operand])


def _sum(a: Affine, b: Affine) -> Affine | None:
    if a[0] is not None and b[0] is not None:
        return None
    return (b[0] if a[0] is None else a[0]), a[1] + b[1]


def _changes(update: ir.Operation) -> list[tuple[int, bool, Affine]]:
    """Where an update writes something new, as half-spaces (dimension, whether from the bound on or before it, bound);
    bounds count from the start of the update. Elsewhere it writes what was in its own place before."""
    content = update.operands[1]
    choice = _through_reshapes(content)
    made = creation.made(choice, "stablehlo.select")
    if made is None:
        return []
    mask, new, old = made.operands
    flipped = _is_own_place(new, update)
    if not (flipped or _is_own_place(old, update)) or shape_of(mask) != shape_of(new):
        return []
    long, mine = ([d for d, k in enumerate(shape_of(v)) if k != 1] for v in (content, choice))
    if [shape_of(content)[d] for d in long] != [shape_of(choice)[d] for d in mine]:
        return []
    places = dict(zip(mine, long, strict=True))
    return [(places[d], least != flipped, bound) for d, least, bound in _half_spaces(mask, not flipped) if d in places]


def _half_spaces(mask: ir.Value, several: bool) -> list[tuple[int, bool, Affine]]:
    """Half-spaces in which a mask of places compared with scalars lies; with `several`, of all terms of an and."""
    op = creation.owner(mask)
    if isinstance(op, ir.Block):
        return []
    if op.name == "stablehlo.and" and several:
        return [each for term in op.operands for each in _half_spaces(term, several)]
    if op.name == "stablehlo.broadcast_in_dim":
        dims = attr.decode(op.attributes["broadcast_dimensions"])
        below = shape_of(op.operands[0])
        return [(dims[d], least, bound) for d, least, bound in _half_spaces(op.operands[0], several)
                if below[d] == shape_of(mask)[dims[d]]]   # one place repeated says nothing of the others
    if op.name != "stablehlo.compare":
        return []
    place, bound = op.operands
    direction = attr.decode(op.attributes["comparison_direction"])
    iota, spread = creation.made(place, "stablehlo.iota"), creation.made(bound, "stablehlo.broadcast_in_dim")
    if direction not in _BOUNDS or iota is None or spread is None or dtype_of(place).kind != "i":
        return []
    number = spread.operands[0]
    if shape_of(number) or range_of(number) is None or range_of(place) is None:   # nothing wraps
        return []
    least, more = _BOUNDS[direction]
    base, offset = _offset(number)
    return [(attr.decode(iota.attributes["iota_dimension"]), least, (base, offset + more))]


_BOUNDS = {"GE": (True, 0), "GT": (True, 1), "LT": (False, 0), "LE": (False, 1)}
"""Whether a comparison of a place with a bound holds from it on (or before it), and what to add to the bound."""


def _is_own_place(value: ir.Value, update: ir.Operation) -> bool:
    """Whether a value is what an update overwrites, up to dimensions of one element."""
    array, content, *starts = update.operands
    value = _through_reshapes(value)
    read = creation.made(value, READ, SLICE)
    if read is None or read.operands[0] != array:
        return False
    if shape_of(value) != shape_of(content):
        return False
    if read.name == READ:
        return list(read.operands)[1:] == list(starts)
    return [scalar(start) for start in starts] == list(attr.decode(read.attributes["start_indices"])) \
        and all(k == 1 for k in attr.decode(read.attributes["strides"]))


def _through_reshapes(value: ir.Value) -> ir.Value:
    """What a value is made of by adding and dropping dimensions of one element."""
    while (made := creation.made(value, "stablehlo.reshape")) is not None \
            and [k for k in shape_of(value) if k != 1] == [k for k in shape_of(made.operands[0]) if k != 1]:
        value = made.operands[0]
    return value
