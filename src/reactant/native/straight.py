"""Programs that are calls of native functions and nothing else, run without XLA.

XLA's way to a function and back costs some 30 us, copies arguments and results below 1 MiB, and hands the work to
another thread from some size on: `a + b` of 100,000 float64 takes 200 us of the processor through XLA, 40 so, and 35 in
NumPy. A native function reads NumPy's memory where it is, at any alignment, writes into new arrays, and has threads
that sleep between calls.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules
from reactant.ir import ops as build
from reactant.ir.locations import file_and_line
from reactant.ir.types import shape_and_dtype, size
from reactant.native import built_in
from reactant.native.function import NativeFunction, of_target
from reactant.native.in_place import writing_over
from reactant.native.steps import LEAST_FILLED, Made, Over, Result, Step, Straight

CALL = "stablehlo.custom_call"
SAME_BYTES = ("stablehlo.reshape", "stablehlo.bitcast_convert")
CONSTANT, IOTA, RETURN = "stablehlo.constant", "stablehlo.iota", "func.return"
MOST_KEPT = 16 << 20
"""Bytes of a constant that a program holds; with bigger ones it is XLA's."""
MOST_ZEROS = 64
"""Integers of a constant that are looked at, whether all are 0: where arguments begin that XLA lends."""


def write_over(program: Straight, written: dict[int, int | None]) -> None:
    """Make calls that write results where arguments lie, as far as that is right. written: numbers of results, and
    those of the arguments that get them."""
    program.write_over(*_written_over(program.steps, program.kept, program.results, {
        result: argument for result, argument in written.items()
        if argument is None or program.order(result) == program.given.get(argument)}), written)


def _written_over(steps: Sequence[Step], kept: Sequence[np.ndarray | None], results: Sequence[Result],
                  written: dict[int, int | None]) -> tuple[tuple[Over, ...], tuple[Step, ...]]:
    """Which results can be written where arguments lie, and the calls that do so.

    Nobody may read the argument after the call that makes the result, and that call only before it writes there. After
    anything is written no check may fail.
    """
    found: list[Over] = []
    calls = list(steps)
    for number in reversed(range(len(steps))):
        step = steps[number]
        if len(step.function.messages) > (step.function.workspace > 0):
            break
        asked: dict[int, tuple[int, ...]] = {}
        chosen: dict[int, Over] = {}
        for result, argument in written.items():
            made = next((m for m in step.made if m.slot == results[result][0]), None)
            if made is None or any(made is each.made for each in chosen.values()) or argument is not None and any(
                    _touches(later, argument) for later in steps[number + 1:]):
                continue
            if made.source not in (None, argument) and argument is not None and _touches(step, argument):
                continue
            target = step.slots.index(made.slot)
            asked[target] = tuple(k for k, slot in enumerate(step.slots) if slot == argument)
            chosen[target] = Over(result, argument, made)
        if chosen:
            zeros = frozenset(k for k, slot in enumerate(step.slots) if (array := kept[slot]) is not None
                              and array.dtype.kind == "i" and array.size <= MOST_ZEROS and not array.any())
            function, fine = writing_over(step.function, asked, zeros)
            over = [chosen[target] for target in fine]
            if over:
                calls[number] = Step(function, step.slots, [m for m in step.made if all(
                    m is not each.made for each in over)], step.alone, step.sizes, step.line)
                found += over
        if step.function.messages:
            break
    return tuple(found), tuple(calls)


def _touches(step: Step, slot: int) -> bool:
    """Whether a call reads what is kept there."""
    return slot in step.slots or any(made.source == slot for made in step.made)


def straight(module: ir.Module, little: bool = False,
             empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = np.empty) -> Straight | None:
    """The calls of a module whose `@main` is native calls, reshapes and constants, if any; None for others.

    little: whether there is so little to do that several threads would not be faster. empty: makes arrays.
    """
    reader = _Reader(little)
    *ops, last = [op.operation for op in reader.begin(modules.function(module).regions[0].blocks[0])]
    if not all(map(reader.read, ops)) or (call := built_in.caller()) is None:
        return None
    return Straight(reader.steps, reader.kept, reader.results(last), call, empty, reader.taken)


def _counted(op: ir.Operation, rank: int) -> np.ndarray:
    """0, 1, ... along the dimension of an iota; the others have length 1."""
    dimension = attr.decode(op.attributes["iota_dimension"])
    count = shape_and_dtype(op.results[0].type)[0][dimension]
    return np.arange(count).reshape([count if d == dimension else 1 for d in range(rank)])


class _Reader:
    """Gives the values of a block numbers, and its calls the numbers of what they read and make."""

    def __init__(self, little: bool) -> None:
        self.little = little
        self.slots: dict[ir.Value, int] = {}
        self.kept: list[np.ndarray | None] = []
        self.steps: list[Step] = []
        self.taken = 0

    def begin(self, block: ir.Block) -> ir.OperationList:
        for argument in block.arguments:
            self._new(argument)
        self.taken = len(block.arguments)
        return block.operations

    def _new(self, value: ir.Value, array: np.ndarray | None = None) -> int:
        self.slots[value] = len(self.kept)
        self.kept.append(array)
        return self.slots[value]

    def read(self, op: ir.Operation) -> bool:
        """Take an op in; False where the program needs XLA."""
        if op.name in (CONSTANT, IOTA):
            shape, dtype = shape_and_dtype(op.results[0].type)
            value = build.constant_value(op.results[0]) if op.name == CONSTANT else _counted(op, len(shape))
            if value is not None and not any(value.strides) and value.dtype == dtype \
                    and size(shape) * dtype.itemsize >= LEAST_FILLED and all(
                        use.owner.operation.name == RETURN for use in op.results[0].uses):
                one = np.array(value[(slice(1),) * value.ndim])
                self._new(op.results[0], np.broadcast_to(one, shape))
                return True
            if value is None or size(shape) * dtype.itemsize > MOST_KEPT:
                return False
            self._new(op.results[0], np.array(np.broadcast_to(value, shape), dtype, order="C"))
            return True
        if op.name in SAME_BYTES:
            self.slots[op.results[0]] = self.slots[op.operands[0]]
            return True
        function = of_target(build.target_of(op)) if op.name == CALL else None
        if function is None:
            return False
        self._call(op, function)
        return True

    def _call(self, op: ir.Operation, function: NativeFunction) -> None:
        slots, made, sizes = [], [], []
        for k, argument in enumerate(function.arguments):
            value = op.results[function.results.index(k)] if argument.role == "out" else op.operands[
                function.operands.index(k)]
            shape, dtype = shape_and_dtype(value.type)
            sizes.append(size(shape) * dtype.itemsize // argument.dtype.itemsize)
            source = self.slots[op.operands[function.operands.index(k)]] if argument.role != "out" else None
            if argument.role == "in":
                slots.append(source)
                continue
            result = op.results[function.results.index(k)]
            shape, dtype = shape_and_dtype(result.type)
            made.append(Made(self._new(result), tuple(shape), dtype, source))
            slots.append(made[-1].slot)
        line = file_and_line(op.location)
        self.steps.append(Step(function, slots, made, self.little, sizes, line))   # type: ignore[arg-type]

    def results(self, last: ir.Operation) -> list[tuple[int, tuple[int, ...], np.dtype, bool]]:
        """What the program returns."""
        own = {each.slot for step in self.steps for each in step.made}
        found = []
        for value in last.operands:
            slot, (shape, dtype) = self.slots[value], shape_and_dtype(value.type)
            found.append((slot, tuple(shape), dtype, slot in own))
            own.discard(slot)
        return found
