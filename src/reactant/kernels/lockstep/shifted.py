"""Carried values of a loop, all iterations at once, that are what the iteration before has made without them: registers
that a stencil passes on from plane to plane.

    below, here, above = x[0], x[0], x[1]
    for k in range(1, n - 1):
        below, here, above = here, above, x[k + 1]      # here is x[k], below x[k - 1]

In iteration t such a value is its start where t = 0, else what it is made of, computed for iteration t - 1.
"""
from __future__ import annotations

from collections.abc import Mapping

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.kernels.lockstep import control
from reactant.kernels.lockstep.conditions import at_least
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Form, of_atom
from reactant.kernels.lockstep.gathering import Record
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.values import Integer, Value
from reactant.support.records import dataclass

MOST_OPERATIONS = 200
"""Operations that are computed again for the iteration before."""


@dataclass(frozen=True)
class Carried:
    """What a loop carries: its start, what an iteration passes on, and by how much it grows where it counts."""

    init: Value
    passed: ir.Value
    step: int | None


@dataclass
class Shifts:
    """The carried values of one loop. variable: the loop's own counter, which grows by `stride`."""

    machine: Machine
    op: ir.Operation
    record: Record
    variable: Form
    stride: int
    carried: Mapping[ir.Value, Carried]

    def known(self, context: Context) -> dict[ir.Value, Value]:
        """Those that an iteration has from the one before, in all iterations of a context."""
        values, arguments = self.machine.values, list(self.op.regions[0].blocks[0].arguments)
        now = {argument: values[argument] for argument in arguments}
        found = {argument: self._shifted(argument, 0, context) for argument, carried in self.carried.items()
                 if carried.step is None and self._is_shifted(argument)}
        values.update(now)
        return found

    # -- which they are

    def _is_shifted(self, argument: ir.Value, around: tuple[ir.Value, ...] = ()) -> bool:
        """Whether it is made of counters, of what lies outside of the loop, and of others like it."""
        if argument in around:
            return False
        made = self._made_of(self.carried[argument].passed)
        return made is not None and len(made[0]) <= MOST_OPERATIONS and all(
            self.carried[leaf].step is not None or self._is_shifted(leaf, (*around, argument)) for leaf in made[1])

    def _made_of(self, value: ir.Value) -> tuple[list[ir.Operation], list[ir.Value]] | None:
        """The ops of an iteration that make a value, in order, and the carried values they need; None where they do
        more than compute, and read what the loop does not write."""
        block, needed, found = self.op.regions[0].blocks[0], {value}, []
        for op in reversed([each.operation for each in block.operations]):
            if not any(result in needed for result in op.results):
                continue
            every = [op, *modules.walk(op)]
            if not all(self._only_computes(each) for each in every):
                return None
            found.append(op)
            needed.update(operand for each in every for operand in each.operands)
        return found[::-1], [argument for argument in self.carried if argument in needed]

    def _only_computes(self, op: ir.Operation) -> bool:
        if op.name == "memref.load":
            return op.operands[0] in self.machine.values \
                and self.machine.memory(op.operands[0]) not in self.record.written
        return op.name in ("scf.if", "scf.yield") or op.name.startswith(("arith.", "math."))

    # -- what they are

    def _shifted(self, argument: ir.Value, iterations: int, context: Context) -> Value:
        """What a carried value was so many iterations ago, for lanes whose loop has turned as often."""
        found = self.carried[argument]
        later = at_least(of_atom(self.record.axis), Form(iterations + 1))
        after, first = (self.machine.narrowed(context, c) for c in (later, later.negated()))
        if after is None:
            return found.init
        before = self._ago(found.passed, iterations + 1, after)
        if first is None:
            return before
        return control.merged_value(argument.type, later, context, (after, before), (first, found.init))

    def _ago(self, value: ir.Value, iterations: int, context: Context) -> Value:
        """What a value of an iteration was so many iterations ago."""
        made = self._made_of(value)
        assert made is not None
        counter = self.op.regions[0].blocks[0].arguments[0]
        values: dict[ir.Value, Value] = {counter: Integer(self.variable.plus(-iterations * self.stride), 64)}
        values.update((leaf, self._leaf(leaf, iterations, context)) for leaf in made[1])
        self.machine.values.update(values)
        for op in made[0]:
            self.machine.run(op, context)
        return self.machine.get(value)

    def _leaf(self, argument: ir.Value, iterations: int, context: Context) -> Value:
        found = self.carried[argument]
        if found.step is None:
            return self._shifted(argument, iterations, context)
        assert isinstance(found.init, Integer)
        iteration = of_atom(self.record.axis).plus(-iterations)
        return Integer(found.init.form + iteration.times(found.step), found.init.width, found.init.exact)
