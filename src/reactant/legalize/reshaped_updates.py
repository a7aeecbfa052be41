"""Updates of reshaped arrays, in a form that XLA gets right.

`dynamic_update_slice(reshape(x), u, at)`, where `u` is computed from other places of `x`, is one fusion to XLA:CPU,
which it lets write over `x` while it still reads it: it checks the reads of the reshaped array, not those of `x` (jax
0.10.2; `x.reshape(12, 2)` with rows 1: replaced by `(x[:22] + x[2:]).reshape(11, 2)` comes out wrong). So such an
update is made on `x` itself and reshaped afterwards, where its window is one of `x`, and else chosen by a mask.
Reshapes that only add or drop dimensions of one element are moved before an update by XLA itself: also `y[None]` of
an updated `y` is wrong, and gets a mask; and so are those of an array that is computed element by element, before and
after it: `y = x[i]` and `y = x[:, 1] * 2` are reshapes (a gather's result has a dimension more to XLA). That
holds through what comes between: `where(c, y, x)` becomes an update to XLA, later updates are in the same memory, and
a sum over one element is a reshape. A `scatter` that sets one window is the same to XLA.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of

UPDATE, SCATTER = "stablehlo.dynamic_update_slice", "stablehlo.scatter"
_IN_PLACE = (UPDATE, SCATTER)
RESHAPED = frozenset(f"stablehlo.{name}" for name in ("gather", "dot_general", "convolution", "reduce_window"))
"""Ops whose result XLA may compute in another shape."""
CONCERNED = (b"dynamic_update_slice", b"scatter")
"""What the bytecode of a module that `separated` may change has in it."""
AS_IT_LIES = frozenset({"stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim"})
"""Ops that XLA may make a new view of the same memory of."""
PERHAPS_NOTHING = frozenset(f"stablehlo.{name}" for name in ("slice", "pad", "concatenate", "reverse", "reduce"))
"""Ops that do nothing, or no more than a reshape, where the number of elements stays."""
UNCHANGING = frozenset(f"stablehlo.{name}" for name in (
    "select", "clamp", "convert", "real", "imag", "complex", "reduce_precision"))
"""Elementwise ops that may give an operand as it is, whatever their operands are."""
LOOK_BACK = 200
"""How many ops behind an update are looked at; behind more, it is taken to read the array."""


def separated(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which no update of a reshaped array reads the array in its former shape."""
    names = {op.name for op in modules.walk(module)}
    if UPDATE not in names and SCATTER not in names:
        return module
    made = module
    if "func.call" in names:        # XLA looks through them
        made = modules.clone(module)
        modules.inline_calls(made)
    if not _concerned(made):
        return module
    made = modules.clone(made)
    for op, shown in _concerned(made):
        with ir.InsertionPoint(op), op.location:
            plain = op.name == UPDATE and not shown and _is_view(op.operands[0])
            new = _on_the_array(op) if plain else None
            op.results[0].replace_all_uses_with(_chosen(op) if new is None else new)
        op.erase()
    return made


def _concerned(module: ir.Module) -> list[tuple[ir.Operation, bool]]:
    """The updates that XLA may get wrong, and whether the result is seen in another shape."""
    reading = [op for op in modules.walk(module) if _is_update(op) and _reads(_update(op), _base(op.operands[0])[0])]
    shown = _shown(module) if reading else set()
    found = [(op, _is_viewed(op) or op.results[0] in shown) for op in reading]
    return [(op, seen) for op, seen in found
            if seen or _is_view(op.operands[0]) or _is_moved(_base(op.operands[0])[0], _update(op))]


def _is_update(op: ir.Operation) -> bool:
    return op.name == UPDATE or op.name == SCATTER and _sets_one_window(op)


def _update(op: ir.Operation) -> ir.Value:
    return op.operands[2 if op.name == SCATTER else 1]


def _is_view(value: ir.Value) -> bool:
    return _base(value)[0] != value


def _is_moved(base: ir.Value, update: ir.Value) -> bool:
    """Whether an array is computed element by element and read in another shape: XLA may compute it in that one."""
    maker = ops.maker(base)
    if maker is None or not (maker.name in ops.ELEMENTWISE or maker.name in _IN_PLACE or maker.name in RESHAPED):
        return False
    return _comes_reshaped(base) or any(
        _may_view(op := use.owner.operation) and _reads(update, op.results[0]) for use in base.uses)


def _comes_reshaped(array: ir.Value) -> bool:
    """Whether what an array is computed of, element by element, had another shape: XLA may compute it in that one."""
    waiting, seen = [array], {array}
    while waiting:
        op = ops.maker(waiting.pop())
        if op is None:
            continue
        if op.name in RESHAPED or _source(op) is not None or len(seen) > LOOK_BACK:
            return True
        if op.name in ops.ELEMENTWISE or op.name in _IN_PLACE:
            new = [v for v in list(op.operands)[:1 if op.name in _IN_PLACE else None] if v not in seen]
            seen.update(new)
            waiting += new
    return False


def _is_viewed(op: ir.Operation) -> bool:
    """Whether the result is seen in another shape later."""
    return any(_may_view(use.owner.operation) for use in op.results[0].uses)


def _may_view(op: ir.Operation) -> bool:
    return op.name in AS_IT_LIES or _source(op) is not None


def _source(op: ir.Operation) -> ir.Value | None:
    """What an op's result may be the memory of, in the same or another shape."""
    if op.name not in AS_IT_LIES and op.name not in PERHAPS_NOTHING:
        return None
    count = prod(shape_of(op.results[0]))
    if op.name == "stablehlo.concatenate":
        return next((v for v in op.operands if prod(shape_of(v)) == count), None)
    if op.name == "stablehlo.reverse" and any(
            shape_of(op.operands[0])[d] > 1 for d in ir.DenseI64ArrayAttr(op.attributes["dimensions"])):
        return None
    return op.operands[0] if prod(shape_of(op.operands[0])) == count else None


def _shown(module: ir.Module) -> set[ir.Value]:
    """The values that XLA may see in a shape with other dimensions of one element: it goes up through choices and
    later updates, and through what does nothing."""
    shown: set[ir.Value] = set()
    for op in reversed([*modules.walk(module)]):
        source = _source(op)
        if source is not None and _long(shape_of(source)) == _long(shape_of(op.results[0])):
            shown.add(source)
        elif len(op.results) == 1 and op.results[0] in shown:
            if op.name in (UPDATE, SCATTER):
                shown.add(op.operands[0])
            elif op.name in ops.ELEMENTWISE and _may_do_nothing(op):
                shown.update(v for v in op.operands if shape_of(v) == shape_of(op.results[0]))
    return shown


def _may_do_nothing(op: ir.Operation) -> bool:
    """Whether an elementwise op may give an operand as it is."""
    if op.name in UNCHANGING or len(set(op.operands)) < len(op.operands):
        return True
    return any(_is_constant(v) for v in op.operands)


def _is_constant(value: ir.Value) -> bool:
    while (op := ops.maker(value)) is not None and op.name in AS_IT_LIES:
        value = op.operands[0]
    return op is not None and op.name == "stablehlo.constant"


def _sets_one_window(op: ir.Operation) -> bool:
    block = op.regions[0].blocks[0]
    returned = block.operations[-1].operation.operands
    if len(op.operands) != 3 or len(returned) != 1 or returned[0] != block.arguments[1]:
        return False
    numbers = str(op.attributes["scatter_dimension_numbers"])
    shape = shape_of(op.operands[1])
    vector = int(numbers.split("index_vector_dim = ")[1].split(">")[0].split(",")[0]) \
        if "index_vector_dim" in numbers else 0
    return prod(n for d, n in enumerate(shape) if d != vector) == 1


def _base(value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """What a value is a view of, and the value."""
    found = value
    while (op := ops.maker(found)) is not None and (source := _source(op)) is not None:
        found = source
    return found, value


def _reads(value: ir.Value, array: ir.Value) -> bool:
    """Whether a value may be computed from an array."""
    waiting, seen = [value], {value}
    while waiting:
        current = waiting.pop()
        if current == array or len(seen) > LOOK_BACK:
            return True
        op = ops.maker(current)
        if op is None:
            continue
        if len(op.regions) and op.name not in ("stablehlo.reduce", "stablehlo.scatter", "stablehlo.sort"):
            return True             # its regions may read anything
        new = [v for v in op.operands if v not in seen]
        seen.update(new)
        waiting += new
    return False


def _on_the_array(op: ir.Operation) -> ir.Value | None:
    """The update made on the array as it was, reshaped then; None where its window is none of that array."""
    view, update, *starts = op.operands
    base, _ = _base(view)
    if _long(shape_of(base)) == _long(shape_of(view)):
        return None                 # XLA would undo it
    if any(maker is None or maker.name != "stablehlo.reshape" for maker in _views(view, base)):
        return None
    found = _window(shape_of(base), shape_of(view), shape_of(update), starts)
    if found is None:
        return None
    places, extents = found
    return ops.reshape(ops.dynamic_update_slice(base, ops.reshape(update, extents), places), shape_of(view))


def _long(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def _views(value: ir.Value, base: ir.Value) -> list[ir.Operation | None]:
    found = []
    while value != base:
        found.append(ops.maker(value))
        value = _source(found[-1])          # type: ignore[arg-type,assignment]
    return found


def _window(old: tuple[int, ...], new: tuple[int, ...], window: tuple[int, ...],
            starts: Sequence[ir.Value]) -> tuple[list[ir.Value], list[int]] | None:
    """(starts, extents) in the old shape of a window in the new one: where dimensions stayed as they were, or one was
    split and the window is without gaps in it."""
    places, extents, position = [], [], 0
    for size in old:
        first, covered = position, 1
        while covered < size and position < len(new):
            covered *= new[position]
            position += 1
        if covered != size:
            return None
        part = [d for d in range(first, position) if new[d] != 1]
        whole = [d for d in part if window[d] == new[d]]
        if part and part[len(part) - len(whole):] != whole and len(part) > 1:
            return None
        inexact = [d for d in part if window[d] != new[d]]
        if any(window[d] != 1 for d in inexact[:-1]):
            return None
        place: ir.Value = ops.constant(0, np.int64)
        for d in part:
            place = ops.add(ops.multiply(place, new[d]), _clamped(starts[d], new[d] - window[d]))
        places.append(place)
        extents.append(prod(window[d] for d in part))
        while position < len(new) and new[position] == 1:
            position += 1
    return (places, extents) if position == len(new) else None


def _clamped(start: ir.Value, last: int) -> ir.Value:
    known = ops.constant_value(start)
    if known is not None:
        return ops.constant(min(max(int(known), 0), last), np.int64)
    wide = ops.convert(start, np.int64)
    return ops.minimum(ops.maximum(wide, ops.constant(0, np.int64)), ops.constant(last, np.int64))


def _chosen(op: ir.Operation) -> ir.Value:
    """The update by a mask over the whole array."""
    view, given = op.operands[0], 2 if op.name == SCATTER else 1
    low = fixed_starts(op) if op.name == UPDATE else None

    def made(update: ir.Value) -> ir.Value:
        if low is not None:
            high = [n - a - k for n, a, k in zip(shape_of(view), low, shape_of(update), strict=True)]
            return ops.pad(update, ops.constant(0, dtype_of(view)), low, high)
        ground = ops.splat(0, view)
        copy = op.clone().operation
        copy.operands[0], copy.operands[given] = ground, update
        return copy.results[0]
    mask = made(ops.splat(1, op.operands[given]))
    return ops.select(ops.compare(mask, ops.splat(0, view), "NE"), made(op.operands[given]), view)


def fixed_starts(op: ir.Operation) -> list[int] | None:
    """Where the window of an update lies; None where it is known only at run time."""
    known = [ops.constant_value(start) for start in list(op.operands)[2:]]
    if any(start is None for start in known):
        return None
    return [min(max(int(start), 0), n - k) for start, n, k in      # type: ignore[arg-type]
            zip(known, shape_of(op.operands[0]), shape_of(op.operands[1]), strict=True)]
