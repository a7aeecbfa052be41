"""Greatest and least numbers among which NaN wins.

XLA:CPU gives reductions of some thousand elements to a library that passes NaN over: the greatest of 4096 numbers, one
of them NaN, is a number (jax 0.10.2: `jnp.max(jnp.zeros(4096).at[1].set(jnp.nan))`). It gets them as -min(-x), which
the library does not know, and rows in steps, which vector code takes. us by the library, as whole rows, and in steps:
512 x 512 float32 50, 294 and 87, 2000 x 2000 512, 4008 and 960. Where what comes of it is NaN anyway, as a softmax is
by its sum, the library stays.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, is_float, shape_of, size

CONCERNED = (b"maximum", b"minimum")
"""One of them is in the bytecode of a module that `kept` may change."""
LEAST = 2048
"""Elements up to which XLA reduces itself."""
STEP = 32
"""Numbers side by side that a row is reduced to first."""
OTHER = {"stablehlo.maximum": "stablehlo.minimum", "stablehlo.minimum": "stablehlo.maximum"}
STRICT = frozenset(f"stablehlo.{name}" for name in (
    "add", "subtract", "multiply", "divide", "negate", "exponential", "exponential_minus_one", "log", "log_plus_one",
    "tanh", "logistic", "sqrt", "rsqrt", "abs", "convert"))
"""Element-wise ops whose result is NaN where an operand is, if they make floats of floats."""
GOES_ON = STRICT | {f"stablehlo.{name}" for name in ("select", "compare", "is_finite", "and", "or", "not")}
"""Element-wise ops through which what the library has lost goes on."""
VIEWS = frozenset(f"stablehlo.{name}" for name in ("broadcast_in_dim", "reshape", "slice", "transpose", "reverse"))
DECIDING = ("broadcast_dimensions", "start_indices", "limit_indices", "strides", "permutation", "dimensions")
FAR = 300
"""Values that are looked at behind an extreme; it is taken to be lost behind more."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which the library does not know those reductions."""
    return modules.altered(module, _is_concerned, _alter)


def _is_concerned(op: ir.Operation) -> bool:
    if op.name not in ("stablehlo.reduce", "stablehlo.reduce_window") or len(op.results) != 1 \
            or not is_float(dtype_of(op.results[0])) or size(shape_of(op.operands[0])) < LEAST:
        return False
    body = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    if len(body) != 2 or body[0] not in OTHER:
        return False
    if op.name == "stablehlo.reduce":
        return not _is_nan_in_any_case(op)
    return "window_strides" in op.attributes and list(attr.decode(op.attributes["window_strides"])) == \
        list(attr.decode(op.attributes["window_dimensions"]))      # XLA makes a reduction of those


def over_devices(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which NaN wins where several devices reduce parts of an array: what they send each
    other are their extremes, among which XLA:CPU passes NaN over (jax 0.10.2), and how many NaN they have met. Of
    reductions it knows no others there than plain ones."""
    windows = modules.altered(module, lambda op: op.name == "stablehlo.reduce_window" and _is_concerned(op), _alter)
    return modules.altered(windows, _is_extreme, _count)


def _is_extreme(op: ir.Operation) -> bool:
    if op.name != "stablehlo.reduce" or len(op.results) != 1 or not is_float(dtype_of(op.results[0])):
        return False
    return any(inner.operation.name in OTHER for inner in op.regions[0].blocks[0].operations)


def _count(op: ir.Operation) -> None:
    x, found = op.operands[0], op.clone().operation.results[0]
    met = ops.reduce(ops.convert(ops.compare(x, x, "NE"), np.int32), 0, attr.decode(op.attributes["dimensions"]), "add")
    nan = ops.splat(math.nan, found)
    op.results[0].replace_all_uses_with(ops.select(ops.compare(met, 0, "NE"), nan, found))
    op.erase()


def _alter(op: ir.Operation) -> None:
    inner = op.regions[0].blocks[0].operations[0].operation
    other = OTHER[inner.name]

    def combined(one: ir.Value, two: ir.Value) -> ir.Value:
        return ops.negate(ops.create(other, [one.type], [ops.negate(one), ops.negate(two)]).results[0])

    if op.name == "stablehlo.reduce":
        op.operands[0] = _in_steps(op, combined)
    with ir.InsertionPoint(inner):
        made = combined(*inner.operands)
    inner.results[0].replace_all_uses_with(made)
    inner.erase()


def _in_steps(op: ir.Operation, combined: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """What a reduction is to reduce, with long rows made short."""
    (x, init), shape = op.operands, shape_of(op.operands[0])
    *before, last = shape
    if len(shape) - 1 not in attr.decode(op.attributes["dimensions"]) or last < 2 * STEP:
        return x
    whole, zeros = last // STEP * STEP, [0] * len(shape)
    rows = ops.slice(x, zeros, [*before, whole]) if whole < last else x
    parts = [ops.reduce(ops.reshape(rows, (*before, whole // STEP, STEP)), init, [len(before)], combined)]
    if whole < last:
        parts.append(ops.slice(x, [*zeros[1:], whole], shape))
    found = parts[0] if len(parts) == 1 else ops.concatenate(parts, len(before))
    return ops.optimization_barrier(found)[0]       # or XLA would make one reduction of both again


def _is_nan_in_any_case(op: ir.Operation) -> bool:
    """Whether what comes of an extreme is NaN where NaN is among the numbers, whatever the extreme is: a sum over the
    same numbers, or over what is made of them, is in all of it.

        e = exp(x - max(x)); e / sum(e)
    """
    rows = _Rows(op)
    lost: dict[ir.Value, Places] = {op.results[0]: tuple(range(len(rows.kept)))}
    waiting = [op.results[0]]
    while waiting:
        value = waiting.pop()
        for use in value.uses:
            user = use.owner.operation
            result = user.results[0] if len(user.results) == 1 else None
            if user.name == "stablehlo.reduce" and result in rows.everywhere and rows.among.get(value) == lost[value]:
                continue
            places = _places(user, value, lost[value])
            if places is not None and rows.everywhere.get(result) == places:
                continue
            if places is None or lost.get(result, places) != places or len(lost) > FAR:
                return False
            if result not in lost:
                lost[result] = places
                waiting.append(result)
    return True


Places = tuple[Any, ...]
"""The dimensions of a value in which the places of the result are, or how it was viewed since that was known."""


class _Rows:
    """What is made of the numbers that a reduction goes through, by value: where the places of the result are.

    `among`: has NaN among the numbers of a row where the operand has. `parts`: has it where some of these are NaN.
    `everywhere`: is NaN in all places of the row then.
    """

    def __init__(self, op: ir.Operation) -> None:
        x = op.operands[0]
        self.dimensions = tuple(attr.decode(op.attributes["dimensions"]))
        self.kept = tuple(d for d in range(len(shape_of(x))) if d not in self.dimensions)
        self.length = shape_of(x)[self.dimensions[0]] if len(self.dimensions) == 1 else 0
        self.among: dict[ir.Value, Places] = {x: self.kept}
        self.everywhere: dict[ir.Value, Places] = {}
        self.parts: dict[ir.Value, tuple[Places, frozenset[int]]] = {}
        self.waiting = [x]
        while self.waiting and len(self.among) + len(self.everywhere) + len(self.parts) <= FAR:
            value = self.waiting.pop()
            for use in value.uses:
                user = use.owner.operation
                if len(user.results) == 1 and user.results[0] not in self.everywhere:
                    self._note(user, value)

    def _note(self, user: ir.Operation, value: ir.Value) -> None:
        result, strict = user.results[0], user.name in STRICT and _of_floats(user)
        if value in self.everywhere:
            places = _places(user, value, self.everywhere[value])
            if places is not None and (strict or user.name in VIEWS):
                self._found(self.everywhere, result, places)
        elif value in self.among:
            if user.name == "stablehlo.reduce" and self.among[value] == self.kept and value == user.operands[0] \
                    and tuple(attr.decode(user.attributes["dimensions"])) == self.dimensions and _is_sum(user):
                self._found(self.everywhere, result, tuple(range(len(self.kept))))
            elif strict:
                self._found(self.among, result, self.among[value])
            elif user.name == "stablehlo.slice" and self.length and shape_of(value)[self.dimensions[0]] == self.length:
                places = _places(user, value, self.among[value])
                first, end, step = (attr.decode(user.attributes[name])[self.dimensions[0]]
                                    for name in ("start_indices", "limit_indices", "strides"))
                if places is not None and len(range(first, end, step)) == 1:
                    self._found(self.parts, result, (places, frozenset((first,))))
        elif strict or user.name in VIEWS:
            places = _places(user, value, self.parts[value][0])
            there = [self.parts[v] for v in user.operands if v in self.parts]
            if places is None or strict and any(each[0] != places for each in there):
                return
            parts = frozenset[int]().union(*(each[1] for each in there))
            if len(parts) == self.length:
                self._found(self.everywhere, result, places)
            elif result not in self.parts or self.parts[result][1] != parts:
                self.parts.pop(result, None)
                self._found(self.parts, result, (places, parts))

    def _found(self, where: dict[ir.Value, Any], value: ir.Value, told: Any) -> None:
        if value not in where:
            where[value] = told
            self.waiting.append(value)


def _is_sum(op: ir.Operation) -> bool:
    body = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return len(op.results) == 1 and body[0] == "stablehlo.add" and len(body) == 2


def _of_floats(op: ir.Operation) -> bool:
    return all(is_float(dtype_of(value)) for value in (*op.operands, *op.results))


def _places(op: ir.Operation, value: ir.Value, places: Places) -> Places | None:
    """Where in an op's result the places of an operand are; None if that isn't known."""
    known = _dimensions(op, value, places) if all(isinstance(d, int) for d in places) or op.name in GOES_ON else \
        _on_diagonal(op, places)
    if known is None and op.name in VIEWS:
        how = tuple((name, str(op.attributes[name])) for name in DECIDING if name in op.attributes)
        return places, op.name, how, shape_of(op.results[0])        # where any other is after this view
    return known


def _on_diagonal(op: ir.Operation, places: Places) -> Places | None:
    """Where the places of a square matrix are on its diagonal: of its numbers in a row, each that is n + 1 further."""
    laid = op.operands[0].owner
    if op.name != "stablehlo.slice" or isinstance(laid, ir.Block) or laid.operation.name != "stablehlo.reshape":
        return None
    n, = shape_of(op.results[0]) if len(shape_of(op.results[0])) == 1 else (0,)
    first, step = (attr.decode(op.attributes[name]) for name in ("start_indices", "strides"))
    square = shape_of(laid.operation.operands[0]) == (n, n) and (tuple(first), tuple(step)) == ((0,), (n + 1,))
    return (0,) if square and places[0] in ((0,), (1,)) else None


def _dimensions(op: ir.Operation, value: ir.Value, places: Places) -> Places | None:
    shape, result = shape_of(value), shape_of(op.results[0]) if len(op.results) else ()
    if op.name in GOES_ON:
        return places if shape == result else None
    if op.name == "stablehlo.slice":
        return places if all(shape[d] == result[d] for d in places) else None
    if op.name == "stablehlo.reduce" and len(op.results) == 1 and value == op.operands[0]:
        gone = attr.decode(op.attributes["dimensions"])
        return None if set(places) & set(gone) else tuple(d - sum(g < d for g in gone) for d in places)
    if op.name == "stablehlo.gather" and value == op.operands[0]:
        numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
        rows = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
        if any(d not in rows for d in places):
            return None
        batch = [d for d in range(len(result)) if d not in numbers.offset_dims]
        return tuple(batch[rows[d] - (rows[d] > numbers.index_vector_dim)] for d in places)
    if op.name == "stablehlo.broadcast_in_dim":
        dimensions = attr.decode(op.attributes["broadcast_dimensions"])
        return tuple(dimensions[d] for d in places) if all(shape[d] == result[dimensions[d]] for d in places) else None
    if op.name == "stablehlo.reshape":
        old, new = ([d for d, n in enumerate(each) if n > 1] for each in (shape, result))
        if [shape[d] for d in old] == [result[d] for d in new] and all(d in old for d in places):
            return tuple(new[old.index(d)] for d in places)
    return None
