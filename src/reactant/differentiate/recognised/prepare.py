"""A copy of the module in a form that the rules can follow: floats that travel as their bits travel as floats.

NumPy's order of floats is sorted as integers, whose bits are the floats'. Such a sort gets the floats as another
operand, and who turned its keys back into floats reads those. The sign of one float put on another is a choice of
that and its negative; choices that change no derivative are marked (see `signs`).

1 / (1 + exp(-x)) becomes the logistic function, which XLA computes in the same way: its derivative y (1 - y) needs y
alone.

log(exp a + exp b) is marked, however it is computed (see `smooth`).

Q and R are marked as such where no more is read of what LAPACK packs (see `factors`).

Determinants by LU are marked (see `determinants`).

A solution by LU, U^-1 L^-1 P b, is marked as one of A x = P b: its derivative needs no derivative of L and U.

Constants that simplification has moved out of the body of a sort or a reduction go back in: rules copy bodies.

Calls of native code that was chosen only for its speed become the operations that it stands for.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops
from reactant.differentiate.declare import NATIVE_FORMS, attributes_of, native_name
from reactant.differentiate.recognised import determinants, factors, roots, signs, smooth, spectral
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, is_float, shape_of, tensor_type


def prepared(module: ir.Module) -> ir.Module:
    """The copy."""
    copy = modules.silence(modules.clone(module))
    for op in [op for op in modules.walk(copy) if op.name == "stablehlo.custom_call"]:
        form = NATIVE_FORMS.get(native_name(op))
        if form is not None:
            with op.location, ir.InsertionPoint(op):
                for old, new in zip(op.results, form(list(op.operands)), strict=True):
                    old.replace_all_uses_with(new)
            op.erase()
    for op in [op for op in modules.walk(copy) if len(op.regions) and op.name in WITH_BODIES]:
        _constants_inside(op)
    for op in [op for op in modules.walk(copy) if op.name == "stablehlo.custom_call"]:
        _mark_solution(op)
    for op in [op for op in modules.walk(copy) if op.name == "stablehlo.divide"]:
        _to_logistic(op)
    smooth.mark(copy)
    signs.mark(copy)
    determinants.mark(copy)
    factors.mark(copy)
    for op in [op for op in modules.walk(copy) if op.name == "stablehlo.bitcast_convert"]:
        if is_float(dtype_of(op.result)) and dtype_of(op.operands[0]).itemsize == dtype_of(op.result).itemsize:
            with op.location, ir.InsertionPoint(op):
                found = _sorted(op.operands[0], op.result) or _signed(op.operands[0], op.result)
            if found is not None:
                op.result.replace_all_uses_with(found)
    roots.mark(copy)
    spectral.mark(copy)
    return copy


WITH_BODIES = {f"stablehlo.{name}" for name in ("sort", "reduce", "reduce_window", "scatter", "select_and_scatter",
                                               "map", "all_reduce", "reduce_scatter")}


def _constants_inside(op: ir.Operation) -> None:
    outside = [value for value in modules.captured(op) if ops.constant_value(value) is not None]
    for region in op.regions:
        block = region.blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            inside = {value: ops.constant(ops.constant_value(value), dtype_of(value)) for value in outside}
        for each in [child.operation for child in block.operations]:
            for number, operand in enumerate(each.operands):
                if operand in inside:
                    each.operands[number] = inside[operand]


def _to_logistic(op: ir.Operation) -> None:
    total = ops.made_by(op.operands[1], "add")
    if total is None or not is_float(dtype_of(op.result)) or not _is(op.operands[0], 1):
        return
    for one, other in (tuple(total.operands), tuple(total.operands)[::-1]):
        raised = ops.made_by(other, "exponential")
        negated = None if raised is None else ops.made_by(raised.operands[0], "negate")
        if negated is not None and _is(one, 1):
            with op.location, ir.InsertionPoint(op):
                op.result.replace_all_uses_with(ops.logistic(negated.operands[0]))
            return


SOLUTION = "reactant.solution"
"""Marks a barrier over (x, P b, packed L and U, pivots, A): its first result is the solution of A x = b."""
_TRIANGLES = ("lapack_strsm_ffi", "lapack_dtrsm_ffi", "lapack_ctrsm_ffi", "lapack_ztrsm_ffi")


def _mark_solution(op: ir.Operation) -> None:
    inner = _triangle(op, "U", "N")
    lower = None if inner is None else ops.made_by(inner[1], "custom_call")
    outer = None if lower is None else _triangle(lower, "L", "U")
    if inner is None or outer is None or inner[0] != outer[0]:
        return
    factor = inner[0]
    guarded = ops.made_by(factor, "select")
    factor = factor if guarded is None else guarded.operands[1]
    made = ops.made_by(factor, "custom_call")
    if made is None or not ops.target_of(made).endswith("getrf_ffi") or made.results[0] != factor:
        return
    if any(use.owner.operation.name == "stablehlo.optimization_barrier" for use in op.result.uses):
        return                                                           # marked already
    solution, values = op.result, [op.result, outer[1], *list(made.results)[:2], made.operands[0]]
    with op.location, ir.InsertionPoint(op):
        barrier = ops.create("stablehlo.optimization_barrier", [v.type for v in values], values,
                             {SOLUTION: ir.UnitAttr.get()}).operation
    barrier.move_after(op)
    solution.replace_all_uses_except(barrier.results[0], barrier)


def _triangle(op: ir.Operation, uplo: str, diagonal: str) -> tuple[ir.Value, ir.Value] | None:
    """The operands of a plain solve from the left with one triangle."""
    if ops.target_of(op) not in _TRIANGLES:
        return None
    config = ir.DictAttr(op.attributes["mhlo.backend_config"])
    letters = "".join(chr(ir.IntegerAttr(config[name]).value) for name in ("side", "uplo", "trans_x", "diag"))
    return (op.operands[0], op.operands[1]) if letters == f"L{uplo}N{diagonal}" else None


def _flipped(value: ir.Value) -> ir.Value | None:
    """The integer k where value = k xor ((k >> sign) >>> 1), which orders bits as floats and is its own inverse."""
    outer = ops.made_by(value, "xor")
    if outer is None:
        return None
    for bits, mask in (tuple(outer.operands), tuple(outer.operands)[::-1]):
        low = ops.made_by(mask, "shift_right_logical")
        high = None if low is None else ops.made_by(low.operands[0], "shift_right_arithmetic")
        if low is not None and high is not None and high.operands[0] == bits and _is(low.operands[1], 1) \
                and _is(high.operands[1], 8 * dtype_of(value).itemsize - 1):
            return bits
    return None


def _is(value: ir.Value, number: int) -> bool:
    known = ops.constant_value(value)
    return known is not None and bool((known == number).all())


def _floats(bits: ir.Value, dtype: object) -> ir.Value | None:
    """The floats of which these are the bits."""
    made = ops.made_by(bits, "bitcast_convert")
    return made.operands[0] if made is not None and dtype_of(made.operands[0]) == dtype else None


MOVES = ("slice", "dynamic_slice", "reshape", "transpose", "reverse", "broadcast_in_dim", "gather")
"""Ops whose result is made of elements of their first operand."""


def _sorted(bits: ir.Value, result: ir.Value) -> ir.Value | None:
    """The floats in the order of a sort of their keys, moved as the keys were."""
    key = _flipped(bits)
    return None if key is None else _floats_of_key(key, dtype_of(result))


def _floats_of_key(key: ir.Value, dtype: object) -> ir.Value | None:
    """The floats that sorted keys stand for: what came out of the sort, or moved parts of it."""
    joined = ops.made_by(key, "concatenate")
    if joined is not None:
        parts = [_floats_of_key(part, dtype) for part in joined.operands]
        dimension = int(ir.IntegerAttr(joined.attributes["dimension"]).value)
        return None if None in parts else ops.concatenate([part for part in parts if part is not None], dimension)
    moved = ops.made_by(key, *MOVES)
    if moved is not None:
        floats = _floats_of_key(moved.operands[0], dtype)
        return None if floats is None else ops.create(
            moved.name, [tensor_type(shape_of(key), dtype_of(floats))], [floats, *list(moved.operands)[1:]],
            attributes_of(moved)).result
    extreme = ops.made_by(key, "reduce")
    if extreme is not None:
        return _extreme_of_keys(extreme, dtype)
    sort = ops.made_by(key, "sort")
    if sort is None:
        return None
    unsorted = _flipped(sort.operands[list(sort.results).index(key)])
    floats = None if unsorted is None else _floats(unsorted, dtype)
    return None if floats is None else _sorted_with(sort, floats)


def _extreme_of_keys(reduce: ir.Operation, dtype: object) -> ir.Value | None:
    """The floats of the largest or the smallest keys: the end of a sort. NaN is the largest."""
    unsorted, start = _flipped(reduce.operands[0]), ops.constant_value(reduce.operands[1])
    floats = None if unsorted is None else _floats(unsorted, dtype)
    word = {op.name: op.name.partition(".")[2] for op in block_ops(reduce.regions[0].blocks[0])[0]}
    if floats is None or start is None or set(word) not in ({"stablehlo.maximum"}, {"stablehlo.minimum"}):
        return None
    name, = word.values()
    limit = np.iinfo(start.dtype)
    if start != (limit.min if name == "maximum" else limit.max):
        return None
    if name == "minimum":
        floats = ops.select(ops.compare(floats, floats, "NE"), ops.splat(np.inf, floats), floats)
    return ops.reduce(floats, -np.inf if name == "maximum" else np.inf, attr.decode(reduce.attributes["dimensions"]),
                      name)


def _sorted_with(sort: ir.Operation, floats: ir.Value) -> ir.Value:
    """What a sort makes of one more operand."""
    if floats in list(sort.operands):
        return sort.results[list(sort.operands).index(floats)]
    block = sort.regions[0].blocks[0]
    body, returned = block_ops(block)

    def comparator(*arguments: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(block.arguments, arguments, strict=False))
        for op in body:
            modules.clone_with(op, mapping)
        return [mapping.get(v, v) for v in returned]

    with ir.InsertionPoint(sort):
        made = ops.sort([*sort.operands, floats], int(ir.IntegerAttr(sort.attributes["dimension"]).value), comparator)
    for old, new in zip(sort.results, made, strict=False):
        old.replace_all_uses_with(new)
    return made[-1]


def _signed(bits: ir.Value, result: ir.Value) -> ir.Value | None:
    """x or -x, where the bits are those of x but the sign, which is that of another float."""
    union, dtype = ops.made_by(bits, "or"), dtype_of(result)
    parts = [] if union is None else [part for v in union.operands if (part := ops.made_by(v, "and")) is not None]
    if len(parts) != 2:
        return None
    top = 1 << (8 * dtype.itemsize - 1)
    found = {}
    for part in parts:
        floats = _floats(part.operands[0], dtype)
        mask = ops.constant_value(part.operands[1])
        if floats is None or mask is None or not mask.size or not (mask == mask.flat[0]).all():
            return None
        found[int(mask.flat[0]) % (2 * top)] = floats
    if set(found) != {top, top - 1}:
        return None
    return signs.with_sign(found[top - 1], found[top])
