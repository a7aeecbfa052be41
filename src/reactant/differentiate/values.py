"""Where reverse mode finds the values of the forward computation.

The body of `main` is computed once, in order. Inside a branch or a loop body nothing is kept unless the reverse sweep
asks for it: a `Frame` recomputes what is asked for, a `LoopFrame` recomputes or reads it from a buffer that the forward
loop filled, whichever keeps fewer bytes. Counters and values that stay the same are never kept.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops, captured
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of, size, tensor_type

EXPENSIVE = {f"stablehlo.{n}" for n in ("dot_general", "convolution", "while", "sort", "fft", "cholesky", "custom_call",
                                        "triangular_solve", "reduce_window", "scatter", "if", "case")}
"""Ops whose result is kept rather than computed again."""


def anchor() -> ir.Operation:
    """An op without meaning at the insertion point, to insert in front of; its maker erases it."""
    return ops.create("stablehlo.optimization_barrier", [], []).operation


def turns_at_run_time(most: int) -> ir.Operation:
    """Stands for the number of turns of a loop that may end early, until the forward loop counts them."""
    return ops.create("stablehlo.optimization_barrier", [tensor_type((), np.dtype(np.int64))],
                      [ops.constant(most, "int64")]).operation


class Here:
    """A frame whose values are those of the module under construction themselves."""

    def value(self, value: ir.Value) -> ir.Value:
        return value


class Known:
    """The frame of `main`: everything has been computed."""

    def __init__(self, values: dict[ir.Value, ir.Value]):
        self.values = values

    def value(self, value: ir.Value) -> ir.Value:
        return self.values[value]


class Frame:
    """The values of one block, recomputed in front of `place` when they are asked for."""

    def __init__(self, block: ir.Block, parent: Any, place: ir.Operation):
        self.parent, self.place = parent, place
        self.values: dict[ir.Value, ir.Value] = {}
        self.body = block_ops(block)[0]
        self.defined = {r: n for n, op in enumerate(self.body) for r in op.results}
        self.arguments = {a: n for n, a in enumerate(block.arguments)}

    def value(self, value: ir.Value) -> ir.Value:
        if value not in self.values:
            if value not in self.defined and value not in self.arguments:
                return self.parent.value(value)
            self._compute(value)
        return self.values[value]

    def _compute(self, value: ir.Value) -> None:
        needed: set[int] = set()
        pending = [value]
        while pending:
            each = pending.pop()
            if each in self.values:
                continue
            if each not in self.defined:
                self.values[each] = self._argument(each) if each in self.arguments else self.parent.value(each)
            elif (number := self.defined[each]) not in needed:
                if (found := self._kept(each)) is not None:
                    self.values[each] = found
                    continue
                needed.add(number)
                pending += [*self.body[number].operands, *captured(self.body[number])]
        with ir.InsertionPoint(self.place):
            for number in sorted(needed):
                known = {r: self.values[r] for r in self.body[number].results if r in self.values}
                modules.clone_with(self.body[number], self.values)
                self.values.update(known)

    def _argument(self, value: ir.Value) -> ir.Value:
        raise KeyError(value)                     # blocks of branches have no arguments

    def _kept(self, value: ir.Value) -> ir.Value | None:
        """The value from elsewhere, or None: compute it."""
        return None


def _bytes(value: ir.Value) -> int:
    shape, dtype = shape_and_dtype(value.type)
    return size(shape) * dtype.itemsize


class LoopFrame(Frame):
    """The values of turn `turn` (a 0-d int64) of a counted loop. `buffers` pairs each value that has to be kept with
    the op that stands for its buffer (rows, *shape) until the forward loop is made to fill it, before `outside`.
    """

    def __init__(self, loop: ir.Operation, trips: int, turn: ir.Value, parent: Any, place: ir.Operation,
                 outside: ir.Operation):
        block = loop.regions[1].blocks[0]
        super().__init__(block, parent, place)
        self.loop, self.turn, self.outside = loop, turn, outside
        self.rows = max(trips, 1)
        self.buffers: list[tuple[ir.Value, ir.Operation]] = []
        self.returned = block_ops(block)[1]
        self._reads: dict[int, list[ir.Value]] = {}

    def _argument(self, value: ir.Value) -> ir.Value:
        number = self.arguments[value]
        first = self.loop.operands[number]
        if self.returned[number] == value:
            return self.parent.value(first)
        step = _step(value, self.returned[number])
        if step is None:
            return self._load(value)
        with ir.InsertionPoint(self.place):
            moved = ops.multiply(ops.convert(self.turn, dtype_of(value)), step)
            return ops.add(self.parent.value(first), moved)

    def _kept(self, value: ir.Value) -> ir.Value | None:
        number = self.defined[value]
        prices = self._prices(number)
        computed = sum(prices[v] for v in self._read(number) if v in prices)
        if not computed:
            return None
        dear = self.body[number].name in EXPENSIVE
        return self._load(value) if dear or _bytes(value) < computed else None

    def _prices(self, last: int) -> dict[ir.Value, int]:
        """The fewest bytes a turn that must be kept beside what is kept already, to have each value that the body
        computes before its op `last`."""
        prices = {a: 0 if a in self.values or self._free(a) else _bytes(a) for a in self.arguments}
        for number in range(last):
            computed = sum(prices[v] for v in self._read(number) if v in prices)
            for result in self.body[number].results:
                prices[result] = 0 if result in self.values else min(computed, _bytes(result))
        return prices

    def _free(self, argument: ir.Value) -> bool:
        """Whether a carried value costs nothing: it stays the same, or counts."""
        returned = self.returned[self.arguments[argument]]
        return returned == argument or _step(argument, returned) is not None

    def _read(self, number: int) -> list[ir.Value]:
        if number not in self._reads:
            op = self.body[number]
            self._reads[number] = [*op.operands, *captured(op)] if len(op.regions) else list(op.operands)
        return self._reads[number]

    def _load(self, value: ir.Value) -> ir.Value:
        shape, dtype = shape_and_dtype(value.type)
        with ir.InsertionPoint(self.outside):
            buffer = ops.create("stablehlo.optimization_barrier", [tensor_type((self.rows, *shape), dtype)],
                                [ops.constant(0, dtype, (self.rows, *shape))]).operation
        self.buffers.append((value, buffer))
        with ir.InsertionPoint(self.place):
            zero = ops.constant(0, "int64")
            part = ops.dynamic_slice(buffer.result, [self.turn, *[zero] * len(shape)], (1, *shape))
            return ops.reshape(part, shape)

    def fill(self, made: ir.Operation | None, early: ir.Operation | None) -> list[ir.Value]:
        """Build the forward loop that fills the buffers in front of `made` (the forward loop as it was copied; else in
        front of the parent's place), put the buffers where they are read and the number of turns in place of `early`.
        Gives the results of the loop."""
        with ir.InsertionPoint(made if made is not None else self.parent.place):
            results = self._filling_loop()
        count = len(self.loop.results)
        stand_ins = [op for _, op in self.buffers]
        replaced = results[count + 1:]
        if early is not None:
            stand_ins, replaced = [early, *stand_ins], results[count:]
        for stand_in, buffer in zip(stand_ins, replaced, strict=True):
            stand_in.result.replace_all_uses_with(buffer)
            stand_in.erase()
        self.buffers = []
        return results[:count]

    def _filling_loop(self) -> list[ir.Value]:
        condition, body = (region.blocks[0] for region in self.loop.regions)
        count = len(self.loop.operands)
        outer = {v: self.parent.value(v) for v in captured(self.loop)}
        inits = [self.parent.value(x) for x in self.loop.operands]
        kept = [value for value, _ in self.buffers]

        def copied(block: ir.Block, arguments: Sequence[ir.Value]) -> tuple[dict, list[ir.Value]]:
            mapping = {**outer, **dict(zip(block.arguments, arguments, strict=False))}
            inner, returned = block_ops(block)
            for op in inner:
                modules.clone_with(op, mapping)
            return mapping, [mapping.get(v, v) for v in returned]

        def step(*arguments: ir.Value) -> list[ir.Value]:
            mapping, returned = copied(body, arguments[:count])
            turn, *buffers = arguments[count:]
            zero = ops.constant(0, "int64")
            filled = [ops.dynamic_update_slice(
                buffer, ops.reshape(mapping[value], (1, *shape_of(value))), [turn, *[zero] * len(shape_of(value))])
                for value, buffer in zip(kept, buffers, strict=True)]
            return [*returned, ops.add(turn, 1), *filled]

        empty = [ops.constant(0, dtype_of(v), (self.rows, *shape_of(v))) for v in kept]
        return ops.while_([*inits, ops.constant(0, "int64"), *empty],
                          lambda *arguments: copied(condition, arguments[:count])[1], step)


def _step(argument: ir.Value, returned: ir.Value) -> int | None:
    """What a carried integer grows by each turn, where that is a constant."""
    if isinstance(returned.owner, ir.Block) or shape_of(argument) or dtype_of(argument).kind not in "iu":
        return None
    op = returned.owner.operation
    if op.name != "stablehlo.add" or argument not in op.operands:
        return None
    left, right = op.operands
    amount = ops.constant_value(right if left == argument else left)
    return None if amount is None else int(amount)


class Values(Sequence):
    """The values of a frame for some old values; looked up when read, so that what a rule does not read costs nothing.
    """

    def __init__(self, old: Sequence[ir.Value], frame: Any):
        self.old, self.frame = list(old), frame

    def __len__(self) -> int:
        return len(self.old)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.frame.value(v) for v in self.old[index]]
        return self.frame.value(self.old[index])

    def __iter__(self) -> Iterator[ir.Value]:
        return (self.frame.value(v) for v in self.old)
