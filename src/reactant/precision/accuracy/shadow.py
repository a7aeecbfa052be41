"""A module made anew so that every float has its companion in more precision, and what happens to errors is measured.

The program itself stays what it is: its floats are computed as before, and decide all branches. Its companions take
part in the same operations. Operations that round are measured: the *local* error is that of the operation on rounded
companions, so that what was wrong before does not count; with the *error* of its result it says how much was
amplified. `@main` has one more argument, a truth for each source line: the companions on a line that has it are
rounded, operation by operation, as if that line alone had the program's precision. With its last element companions
are made a little wrong in their last places, which says how many of their own digits can be believed.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, shape_of, size, tensor_type
from reactant.precision.accuracy import measures
from reactant.precision.accuracy.ledger import Entry, Ledger, Notes, Place
from reactant.precision.accuracy.pieces import in_pieces
from reactant.precision.accuracy.twins import Twin, digits_of, has_digits
from reactant.precision.values import Value
from reactant.support.records import dataclass

MOVES = {f"stablehlo.{name}" for name in """
    broadcast_in_dim complex concatenate dynamic_slice dynamic_update_slice gather get_tuple_element imag negate abs
    optimization_barrier pad real reshape reverse select slice transpose tuple""".split()} | {"chlo.conj"}
"""What gives numbers of its operands, or their magnitudes, as they are."""
GIVEN = {f"stablehlo.{name}" for name in "bitcast_convert constant iota rng rng_bit_generator".split()}
"""What makes numbers that are exact by definition."""
FLOAT64 = np.dtype(np.float64)

@dataclass
class Shadow:
    """A module with its companions. entries: what its last results say, in their order. lines: those of the mask.
    outputs: for each result how many companions' parts it has. twin: the name of their format."""

    module: ir.Module
    entries: list[Entry]
    lines: list[Place | None]
    outputs: list[int]
    twin: str


def lines_of(module: ir.Module) -> list[Place | None]:
    """The source lines of operations that round, in the order of the program."""
    return list(dict.fromkeys(file_and_line(op.location) for op in modules.walk(module)
                              if op.parent is not None and rounds(op)))


def rounds(op: ir.Operation) -> bool:
    """Whether an operation makes floats that differ from what they are exactly."""
    return op.name not in (*MOVES, *GIVEN, *CONTROL, "stablehlo.return", "func.return") \
        and any(has_digits(r.type) for r in op.results)


TOGETHER = 6
"""Results that may become one kernel."""
CONTROL: dict[str, Callable[[Shadowing, ir.Operation], None]] = {}
"""What makes loops, branches and sorts anew, by the names of operations."""


class Shadowing:
    """The work on one module: what its values have become."""

    def __init__(self, module: ir.Module, twin: Twin):
        self.module, self.twin = module, twin
        self.plain: dict[ir.Value, ir.Value] = {}
        self.wide: dict[ir.Value, Value] = {}
        self.masks: dict[Place | None, ir.Value] = {}
        self.random = np.random.default_rng(0)
        self.notes = Notes()
        self.ledger = Ledger(self.notes, self.rows)
        self.fresh: list[ir.Value] = []     # what no barrier is behind

    def run(self) -> Shadow:
        """Make `@main` anew."""
        old = modules.function(self.module)
        kind = ir.FunctionType(ir.TypeAttr(old.attributes["function_type"]).value)
        lines = lines_of(old)
        inputs = [*kind.inputs, tensor_type((len(lines) + 1,), np.dtype(bool))]
        with ir.InsertionPoint(old), old.location:
            new = ir.Operation.create("func.func", results=[], operands=[], regions=1, attributes={
                "sym_name": old.attributes["sym_name"],
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, []))})
        block = new.regions[0].blocks.append(*inputs, arg_locs=[old.location] * len(inputs))
        before = old.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            with old.location:
                *arguments, mask = block.arguments
                *alone, self.shaken = (ops.reshape(ops.slice(mask, (k,), (k + 1,)), ()) for k in range(len(lines) + 1))
                self.masks = dict(zip(lines, alone, strict=True))
                for argument, value in zip(before.arguments, arguments, strict=True):
                    self.give(argument, value)
            returned = self.block(before)
            with old.location:
                self.ledger.flush()
                parts = [self.twin.parts(self.wide[v]) if has_digits(v.type) else [] for v in returned]
                results = [*(self.plain[v] for v in returned), *(p for each in parts for p in each),
                           *self.notes.vectors()]
                ops.create("func.return", results=[], operands=results)
        new.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [r.type for r in results]))
        old.erase()
        modules.run_passes(self.module, "func.func(cse)")
        in_pieces(self.module)
        return Shadow(self.module, self.notes.entries, lines, [len(each) for each in parts], self.twin.name)

    def give(self, old: ir.Value, new: ir.Value) -> None:
        """What a value has become, exactly."""
        self.plain[old] = new
        if has_digits(old.type):
            self.wide[old] = self.twin.widen(new)

    def block(self, block: ir.Block) -> list[ir.Value]:
        """Make the operations of a block anew; gives the old values that it returns."""
        for op in block:
            op = op.operation
            if op.name in ("func.return", "stablehlo.return"):
                return list(op.operands)
            with op.location:
                self.operation(op)
        return []

    def operation(self, op: ir.Operation) -> None:
        """Make one operation, its companion, and what is measured of it."""
        if op.name in CONTROL:
            self.ledger.ask(*(v for v in modules.captured(op) if v in self.wide and has_digits(v.type)))
            self.ledger.flush()
            self.settle()
            CONTROL[op.name](self, op)
            return
        modules.clone_with(op, self.plain)
        of_integers = op.name == "stablehlo.convert" and has_digits(op.results[0].type)
        if op.name in GIVEN or not (of_integers or any(v in self.wide for v in self.used(op))):
            for result in op.results:
                self.give(result, self.plain[result])
        elif any(has_digits(v.type) for v in (*self.used(op), *op.results)):
            self.companions(op)
        else:
            wide = {v: self.other(v) for v in self.used(op)}
            modules.clone_with(op, wide)
            self.wide.update((result, wide[result]) for result in op.results)

    def other(self, value: ir.Value) -> Value:
        """The companion of a value; itself where it has none."""
        return self.wide.get(value, self.plain[value])

    def used(self, op: ir.Operation) -> list[ir.Value]:
        """What an operation, and its regions, use."""
        return [*op.operands, *modules.captured(op)]

    def companions(self, op: ir.Operation) -> None:
        """The wide results of an operation, and its measures."""
        numbers = [r for r in op.results if has_digits(r.type)]
        if not numbers and op.name not in DECIDING:
            return
        wide = self.twin.operation(op, [self.other(v) for v in op.operands],
                                   {v: self.other(v) for v in modules.captured(op)})
        if wide is None:        # there is nothing to compute
            for result in op.results:
                self.give(result, self.plain[result])
            return
        for result, found in zip(op.results, wide, strict=True):
            if has_digits(result.type) or op.name == "stablehlo.custom_call":
                self.wide[result] = found
            elif op.name in DECIDING:
                assert isinstance(found, ir.Value)
                self.note_truth(op, self.plain[result], found)
        if rounds(op):
            self.measure(op, numbers)

    def measure(self, op: ir.Operation, numbers: Sequence[ir.Value]) -> None:
        """Note the errors of an operation's results, and round its companions where the mask says so."""
        place = file_and_line(op.location)
        rounded: dict[ir.Value, Any] = {v: self.twin.rounded(self.wide[v], dtype_of(v)) if has_digits(v.type)
                                        else self.other(v) for v in self.used(op)}
        modules.clone_with(op, rounded)
        operands = [v for v in op.operands if has_digits(v.type)]
        for result in op.results:
            if result in self.wide and result not in numbers:       # what a factorisation exchanges
                self.wide[result] = self.twin.chosen(self.masks[place], rounded[result], self.wide[result])
        for result in numbers:
            if size(shape_of(result)):
                wide, local, digits = self.wide[result], rounded[result], digits_of(dtype_of(result))
                self.ledger.put(Entry("number", place, op.name, digits, 3, 2), result, self.twin.rows(local, wide),
                                operands)
                shaken = self.twin.chosen(self.shaken, self.twin.shaken(wide, self.part()), wide)
                self.wide[result] = self.twin.chosen(self.masks[place], self.twin.widen(local), shaken)
                self.fresh.append(result)
        if len(self.fresh) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Put a barrier behind what has been computed since the last one: compilers would compute it again for each of
        its uses, and again what that is computed from."""
        if self.fresh:
            parts = [[self.plain[v], *self.twin.parts(self.wide[v])] for v in self.fresh]
            kept = iter(ops.optimization_barrier(*(part for each in parts for part in each)))
            for value, each in zip(self.fresh, parts, strict=True):
                self.plain[value], *wide = (next(kept) for _ in each)
                self.wide[value] = self.twin.whole(wide, dtype_of(value))
        self.fresh = []

    def part(self) -> float:
        """From a half to 1, or less than none: another one for each operation, since equal ones would cancel."""
        found = self.random.uniform(0.5, 1.0)
        return found if self.random.random() < 0.5 else -found

    def rows(self, value: ir.Value) -> list[measures.Row]:
        """An old value, as it is measured."""
        return self.twin.rows(self.plain[value], self.wide[value])

    def note_truth(self, op: ir.Operation, mine: ir.Value, other: ir.Value) -> None:
        """Note how often a comparison, or another whole number, is another one in more precision."""
        different = ops.compare(mine, other, "NE")
        count = ops.constant(float(size(shape_of(mine))), FLOAT64)
        self.notes.add([Entry("truth", file_and_line(op.location), op.name, 0, 0, 2)], None,
                       measures.vector([measures.how_many(different), count]))

    @contextmanager
    def noting(self) -> Iterator[Notes]:
        """Inside, what is measured is noted apart; values that are made there are forgotten afterwards."""
        notes, ledger = self.notes, self.ledger
        self.notes, self.fresh = Notes(), []
        self.ledger = Ledger(self.notes, self.rows, ledger)
        try:
            yield self.notes
            self.ledger.flush()
        finally:
            self.notes, self.ledger, self.fresh = notes, ledger, []


DECIDING = {"stablehlo.compare", "stablehlo.convert", "stablehlo.reduce", "stablehlo.is_finite"}
"""Operations whose whole numbers and truths are looked at: whether they are the same in more precision."""

