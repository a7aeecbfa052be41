"""How often a program executes an op: the program with a counter through all of its control flow."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

import reactant
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.ir import modules, ops
from reactant.ir.context import building


def executions(lowered, name: str):
    """A function of the arrays of a lowered program: how often ops called `name` are executed."""
    with building():
        module = modules.parse(lowered.as_text())
        modules.inline_calls(module)
        block = modules.function(module).regions[0].blocks[0]
        made, new = new_function([a.type for a in block.arguments])
        with ir.InsertionPoint(new):
            counter = _Counter(name)
            _, count = counter.run(block, dict(zip(block.arguments, new.arguments, strict=True)),
                                   ops.constant(0, np.int64))
            finish(made, [count])
        text = str(made)
    return lambda *arrays: int(reactant.load(text)(*arrays))


class _Counter:
    def __init__(self, name: str):
        self.name = name

    def run(self, block: ir.Block, known: dict, count: ir.Value) -> tuple[list[ir.Value], ir.Value]:
        """Copy a block; what it returns, and the count after it."""
        *body, last = [op.operation for op in block.operations]
        for op in body:
            if op.name == "stablehlo.while":
                results = self.loop(op, known, count)
            elif op.name in ("stablehlo.if", "stablehlo.case"):
                results = self.branches(op, known, count)
            else:
                modules.clone_with(op, known)
                count = ops.add(count, 1) if op.name == self.name else count
                continue
            known.update(zip(op.results, results, strict=False))
            count = results[-1]
        return [known.get(v, v) for v in last.operands], count

    def inside(self, block: ir.Block, known: dict, values: Sequence[ir.Value], count: ir.Value) -> list[ir.Value]:
        results, after = self.run(block, known | dict(zip(block.arguments, values, strict=False)), count)
        return [*results, after]

    def loop(self, op: ir.Operation, known: dict, count: ir.Value) -> list[ir.Value]:
        condition, body = (region.blocks[0] for region in op.regions)
        return ops.while_([*(known.get(v, v) for v in op.operands), count],
                          lambda *a: self.inside(condition, known, a[:-1], a[-1])[0],
                          lambda *a: self.inside(body, known, a[:-1], a[-1]))

    def branches(self, op: ir.Operation, known: dict, count: ir.Value) -> list[ir.Value]:
        chosen = known.get(op.operands[0], op.operands[0])
        made = ops.create(op.name, [*(r.type for r in op.results), count.type], [chosen], regions=len(op.regions))
        for region, old in zip(made.regions, op.regions, strict=True):
            ops.fill_region(region, [], lambda old=old: self.inside(old.blocks[0], known, (), count))
        return list(made.results)
