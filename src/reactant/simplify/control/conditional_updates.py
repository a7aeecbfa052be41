"""Updates under a condition: a small window is chosen and written, instead of one of two whole arrays.

    if p: a[i] = u            a[i] = u if p else a[i]

So a loop keeps its array in place, and sees which window each iteration writes. Arrays that are mostly overwritten are
chosen whole as before.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import creation, ops
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of, size
from reactant.rewrite import Site, defined_in, match, one_of, rewrite, users, variables
from reactant.rewrite.site import operation
from reactant.simplify.control.control_flow import SPECULATABLE, computed, if_of
from reactant.simplify.selection.indexing import BODIES, _window_shape
from reactant.support.records import dataclass

p, x, y, i, d = variables("p x y i d")
UPDATE = "stablehlo.dynamic_update_slice"
LONGEST = 16
"""Most updates behind one another that are moved."""
NUMBERS = 64
"""Most numbers that both branches of an `if` may compute to be computed always: choosing a branch costs XLA:CPU as much
as a hundred of them."""
SMALL = 2
"""Windows are chosen rather than arrays where the array has at least this many times their elements."""


@dataclass(frozen=True)
class Write:
    """One update: what, where, and the array after it."""

    update: ir.Value
    starts: tuple[ir.Value, ...]
    result: ir.Value


def _chain(value: ir.Value, within: ir.Operation | None = None) -> list[Write]:
    """The updates by which a value is made, first one first, and the array they start from behind them as a write of
    nothing. Only updates that nothing else reads, and in an `if` those of the branch."""
    found: list[Write] = []
    while (made := creation.made(value, UPDATE)) is not None and users(value) == 1 and len(found) < LONGEST \
            and (within is None or defined_in(value, within)):
        array, update, *starts = made.operands
        found.append(Write(update, tuple(starts), value))
        value = array
    return [*found[::-1], Write(value, (), value)]


def _bases(left: ir.Value, right: ir.Value, within: ir.Operation | None = None) -> tuple[list[Write], list[Write],
                                                                                         ir.Value] | None:
    """The updates of two values since the array that both come from, where there is one."""
    one, other = _chain(left, within), _chain(right, within)
    first, second = one.pop().update, other.pop().update
    for writes, base, target in ((one, first, second), (other, second, first)):
        if base != target:      # one may come from an update of the other's
            places = [n for n, write in enumerate(writes) if write.result == target]
            if not places:
                continue
            del writes[:places[0] + 1]
            first = second = target
            break
    if first != second or not one and not other:
        return None
    total = sum(size(shape_of(write.update)) for write in (one if _same_places(one, other) else (*one, *other)))
    return (one, other, first) if SMALL * total <= size(shape_of(left)) else None


def _same_places(one: Sequence[Write], other: Sequence[Write]) -> bool:
    return len(one) == len(other) and all(
        a.starts == b.starts and a.update.type == b.update.type for a, b in zip(one, other, strict=True))


def _apply(array: ir.Value, condition: ir.Value, one: Sequence[Write], other: Sequence[Write]) -> ir.Value:
    """The array after `one` where the condition holds, after `other` where not."""
    if _same_places(one, other):
        for a, b in zip(one, other, strict=True):
            array = ops.dynamic_update_slice(array, ops.select(condition, a.update, b.update), a.starts)
        return array
    for write in one:
        old = ops.dynamic_slice(array, write.starts, shape_of(write.update))
        array = ops.dynamic_update_slice(array, ops.select(condition, write.update, old), write.starts)
    for write in other:
        old = ops.dynamic_slice(array, write.starts, shape_of(write.update))
        array = ops.dynamic_update_slice(array, ops.select(condition, old, write.update), write.starts)
    return array


def _place(a):
    return [a(dtype="int32")]


def _updated(array, a, n=1):
    return ops.dynamic_update_slice(array, a(n), _place(a))


def _at_one_place(a):
    array, place = a(7), _place(a)
    return ops.select(a(dtype="bool"), ops.dynamic_update_slice(array, a(2), place),
                      ops.dynamic_update_slice(array, a(2), place))


@rewrite(match.select(p, x, y), made_by=("stablehlo.dynamic_update_slice",),
         example=(lambda a: ops.select(a(dtype="bool"), _updated(v := a(7), a), v),
                  lambda a: ops.select(a(dtype="bool"), v := a(7), _updated(v, a)), _at_one_place,
                  lambda a: ops.select(a(dtype="bool"), _updated(_updated(v := a(7), a), a), _updated(v, a))),
         counter=(lambda a: ops.select(a(dtype="bool"), _updated(v := a(7), a, 5), v),
                  lambda a: ops.select(a(7, dtype="bool"), _updated(v := a(7), a), v),
                  lambda a: ops.select(a(dtype="bool"), _updated(a(7), a), a(7))))
def select_of_updates(p, x, y):
    """select(p, update(x, u, i), x) = update(x, select(p, u, x[i]), i) for one condition and a small window"""
    found = None if shape_of(p) or not shape_of(x) else _bases(x, y)
    return None if found is None else _apply(found[2], p, found[0], found[1])


# ---- scatters ------------------------------------------------------------------------------------------------------

def _one_window(a, body, kind="int32"):
    return ops.scatter(a(5, 7), a(1, dtype=kind), a(2, 1), body, update_window_dims=(0, 1), inserted_window_dims=(),
                       scatter_dims_to_operand_dims=(1,), index_vector_dim=0)


@rewrite(one_of(("stablehlo.scatter",), x, i, y, scatter_dimension_numbers=d, template="t"), dtypes="number",
         example=(lambda a: _one_window(a, "second"), lambda a: _one_window(a, "add", "int64"),
                  lambda a: ops.scatter(a(5, 3), a(1, 2, dtype="int64"), a(1), "maximum", update_window_dims=(),
                                        inserted_window_dims=(0, 1), scatter_dims_to_operand_dims=(1, 0),
                                        index_vector_dim=1)),
         counter=lambda a: ops.scatter(a(5, 3), a(2, 1, dtype="int64"), a(2, 3), "add", update_window_dims=(1,),
                                       inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,),
                                       index_vector_dim=1))
def scatter_of_one_window_is_update(x, i, y, d, t):
    """scatter of one window = update where the window lies inside the array, nothing where it sticks out"""
    indices, extents = shape_of(i), shape_of(x)
    batch = [m for k, m in enumerate(indices) if k != d.index_vector_dim]
    if size(batch) != 1 or d.input_batching_dims or t.body not in BODIES or 0 in shape_of(y) \
            or dtype_of(i).kind not in "iu":
        return None
    window = _window_shape(d, shape_of(y), len(extents))
    if any(k > n for k, n in zip(window, extents, strict=True)):
        return None
    flat = ops.reshape(i, (size(indices),))
    starts = [ops.constant(0, dtype_of(i))] * len(extents)
    inside = ops.constant(True)
    for number, axis in enumerate(d.scatter_dims_to_operand_dims):
        starts[axis] = start = ops.reshape(ops.slice(flat, (number,), (number + 1,)), ())
        most = min(extents[axis] - window[axis], int(np.iinfo(dtype_of(i)).max))
        inside = ops.and_(inside, ops.and_(ops.compare(start, 0, "GE"), ops.compare(start, most, "LE")))
    old = ops.dynamic_slice(x, starts, window)
    new = ops.reshape(y, window)
    if t.body != "second":
        new = ops.create(f"stablehlo.{t.body}", [new.type], [old, new]).result
    return ops.dynamic_update_slice(x, ops.select(inside, new, old), starts)


# ---- branches ------------------------------------------------------------------------------------------------------

A, U, I = "tensor<7xf32>", "tensor<1xf32>", "tensor<i32>"  # noqa: E741 - types by what they are of
_HEAD = f"(%p: tensor<i1>, %x: {A}, %u: {U}, %i: {I}) -> {A} {{\n"


def _branch(name: str, array: str = "%x", op: str = "sine") -> str:
    return (f"%v{name} = stablehlo.{op} %u : {U} "
            f"%w{name} = stablehlo.dynamic_update_slice {array}, %v{name}, %i : ({A}, {U}, {I}) -> {A} "
            f"stablehlo.return %w{name} : {A}")


_MOVED = (f"%c = stablehlo.constant dense<1> : {I} %j = stablehlo.add %i, %c : {I} "
          f"%w = stablehlo.dynamic_update_slice %x, %u, %j : ({A}, {U}, {I}) -> {A} stablehlo.return %w : {A}")


@rewrite("stablehlo.if",
         example=tuple(f"{_HEAD}{if_of(then, otherwise, A)}return %r : {A}\n}}" for then, otherwise in (
             (_branch("a"), _branch("b", op="cosine")), (_branch("a"), f"stablehlo.return %x : {A}"),
             (f"stablehlo.return %x : {A}", _MOVED))),
         counter=f"{_HEAD}{if_of(f'%a = stablehlo.negate %x : {A} stablehlo.return %a : {A}', _branch('b'), A)}"
                 f"return %r : {A}\n}}")
def if_of_updates(site: Site):
    """if p then update(x, u, i) else x = update(x, if p then u else x[i], i) for a small window"""
    condition, then, otherwise = site.operands[0], site.returned(0), site.returned(1)
    found = {}
    for i, (a, b) in enumerate(zip(then, otherwise, strict=True)):
        bases = _bases(a, b, site.op)
        if bases is not None and not defined_in(bases[2], site.op) and shape_of(a):
            behind = [_behind_starts(write.starts, site) for write in (*bases[0], *bases[1])]
            if all(each is not None for each in behind):
                found[i] = (bases, behind)
    return _without_updates(site, condition, found) if found else None


def _behind_starts(starts: Sequence[ir.Value], site: Site) -> list[ir.Operation] | None:
    """The ops of a branch behind the starts of an update, in order; None where they make more than numbers."""
    found: dict[ir.Value, ir.Operation] = {}
    work = [v for v in starts if defined_in(v, site.op)]
    while work:
        value = work.pop()
        if value in found:
            continue
        op = operation(value)
        if op is None:
            return None
        if op.name not in SPECULATABLE or op.regions or size(shape_of(value)) > 1 \
                or op.block not in (site.block(0), site.block(1)):
            return None
        found[value] = op
        work.extend(v for v in op.operands if defined_in(v, site.op))
    return [op for region in (0, 1) for op in site.body(region) if len(op.results) == 1 and op.results[0] in found]


def _without_updates(site: Site, condition: ir.Value, found: dict) -> list[ir.Value]:
    """The `if` gives what is written; the updates come after it."""
    mapping: dict[ir.Value, ir.Value] = {}
    for _, behind in found.values():
        for op in (each for one in behind for each in one):
            if op.results[0] not in mapping:
                site.clone(op, mapping)
    returned = [site.returned(0), site.returned(1)]
    kept = [i for i in range(len(site.results)) if i not in found]
    sides: list[list[ir.Value | ir.Type]] = [[side[i] for i in kept] for side in returned]
    spans = {}
    for i, ((one, other, _), _) in found.items():
        spans[i] = len(sides[0])
        if _same_places(one, other):
            sides[0] += [write.update for write in one]
            sides[1] += [write.update for write in other]
        else:
            sides[0] += [*(w.update for w in one), *(w.update.type for w in other)]
            sides[1] += [*(w.update.type for w in one), *(w.update for w in other)]
    types = [v if isinstance(v, ir.Type) else v.type for v in sides[0]]
    made = ops.create("stablehlo.if", types, [condition], regions=2)
    for region, side in enumerate(sides):
        terminator = site.terminator(region)
        with ir.InsertionPoint(terminator):
            values = [_zeros(v) if isinstance(v, ir.Type) else v for v in side]
        site.set_returned(terminator, values)
        site.take_block(region, made, region)
    results = dict(zip(kept, made.results, strict=False))
    for i, ((one, other, base), _) in found.items():
        parts = list(made.results)[spans[i]:]
        if _same_places(one, other):
            one = other = [_moved(w, part, mapping) for w, part in zip(one, parts, strict=False)]
        else:
            one, other = ([_moved(w, part, mapping) for w, part in zip(writes, given, strict=False)]
                          for writes, given in ((one, parts), (other, parts[len(one):])))
        results[i] = _apply(base, condition, one, other)
    return [results[i] for i in range(len(site.results))]


_SCALARS = "".join(f"%a{n + 1} = stablehlo.add %a{n}, %u : {U} " for n in range(16))


def _scalar_if(then: str) -> str:
    return (f"(%p: tensor<i1>, %x: {A}, %u: {U}, %i: {I}) -> {U} {{\n"
            + if_of(f"%a0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : ({A}, {I}) -> {U} {then}"
                  f"stablehlo.return %a16 : {U}", f"stablehlo.return %u : {U}", U) + f"return %r : {U}\n}}")


@rewrite("stablehlo.if",
         example=(_scalar_if(_SCALARS), _scalar_if(_SCALARS).replace("1xf32", "3xf32").replace("[1]", "[3]")),
         counter=(_scalar_if(_SCALARS.replace("add", "power")),
                  _scalar_if(_SCALARS).replace("1xf32", "5xf32").replace("[1]", "[5]")))
def if_of_numbers_is_select(site: Site):
    """if p then a else b = select(p, a, b) where both compute a few numbers"""
    both = [child for region in (0, 1) for child in site.body(region)]
    if any(child.name not in SPECULATABLE or child.name == UPDATE for child in both) \
            or sum(computed(child) for child in both if child.name != "stablehlo.constant") > NUMBERS:
        return None
    then, otherwise = site.inline(0, []), site.inline(1, [])
    return [a if a == b else ops.select(site.operands[0], a, b) for a, b in zip(then, otherwise, strict=True)]


def _zeros(type_: ir.Type) -> ir.Value:
    shape, dtype = shape_and_dtype(type_)
    return ops.constant(0, dtype, shape)


def _moved(write: Write, update: ir.Value, mapping: dict[ir.Value, ir.Value]) -> Write:
    return Write(update, tuple(mapping.get(s, s) for s in write.starts), write.result)
