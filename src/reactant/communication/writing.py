"""Writes the program of one device: op by op, what is moved exchanged together."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.communication.declare import rule_of
from reactant.communication.local_program import LocalProgram
from reactant.communication.plan import Plan
from reactant.ir import modules
from reactant.loopnests.choice.profitability import HOLDERS


def write_block(program: LocalProgram, block: ir.Block) -> None:
    """Write the ops of a block; values that are moved are exchanged together, as many as can be."""
    levels = Levels(program.plan, block)
    for k, written in enumerate(levels.ops):
        if k == 0:
            for argument in block.arguments:
                if argument in program.parts and not program.plan.of(argument).moved:
                    program.gather(argument)
        for op in written:
            _write(program, op)
        program.finish([*(block.arguments if k == 0 else ()), *(r for op in written for r in op.results)])


def _write(program: LocalProgram, op: ir.Operation) -> None:
    asked = [r not in program.plan.axes.same and program.plan.of(r).demand is not None for r in op.results]
    if not any(asked) and len(op.results):
        return
    with op.location:
        for result, part in zip(op.results, rule_of(op).emit(program, op), strict=True):
            if result not in program.plan.axes.same:
                program.parts[result] = part
                if program.plan.of(result).demand is not None and not program.plan.of(result).moved:
                    program.gather(result)


class Levels:
    """The ops of a block in the order in which they are written: those that need no exchange, those that need one..."""

    def __init__(self, plan: Plan, block: ir.Block) -> None:
        self.plan = plan
        self.level: dict[ir.Value, int] = {}
        self.ops: list[list[ir.Operation]] = [[]]
        for argument in block.arguments:
            self.level[argument] = 0
        for each in block.operations:
            op = each.operation
            if op.name in ("stablehlo.return", "func.return"):
                continue
            level = max((self._after(v, op) for v in self._read(op)), default=0)
            while len(self.ops) <= level:
                self.ops.append([])
            self.ops[level].append(op)
            for result in op.results:
                self.level[result] = level

    def _read(self, op: ir.Operation) -> set[ir.Value]:
        """What an op reads: some rules read what their operands are parts of."""
        asked = self.plan.asked.get(op.results[0], set()) if len(op.results) else set()
        return {*op.operands, *modules.captured(op), *asked}

    def _after(self, value: ir.Value, reader: ir.Operation) -> int:
        value = self.plan.axes.resolved(value)
        if value not in self.level:
            return 0
        waits = self.plan.of(value).moved and (len(reader.regions) > 0 and reader.name in HOLDERS
                                               or not len(reader.results)
                                               or (reader.results[0], value) in self.plan.beyond)
        return self.level[value] + waits
