"""Dividing loops: what depends on some late arguments goes into loops of its own, which read what the others keep.

The tangents of a loop travel through the same loop as its values. Where the values are wanted now and the tangents
later, the loop becomes two: one of values, which keeps of each iteration what tangents need (a minimum cut decides, as
for reverse mode), and one of tangents, which reads that. Loops whose number of iterations has no bound stay whole. """
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import BRANCHES, LOOP, block_ops, blocks_of
from reactant.differentiate.modes.loops import LARGE, LoopScope
from reactant.differentiate.modes.values import Aliases, Main, anchor, drop_dead, replace, stand_in
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.induction import trips
from reactant.ir.types import nbytes, tensor_type


def divided(module: ir.Module, extra: int) -> ir.Module:
    """The module with its loops divided: what depends on the last `extra` arguments of `main`, and what does not."""
    with building():
        whole = modules.function(module).regions[0].blocks[0]
        late = _dependent(whole, list(whole.arguments)[len(whole.arguments) - extra:])
        return _Division(module, whole, late, extra).module()


def _dependent(block: ir.Block, arguments: Sequence[ir.Value]) -> set[ir.Value]:
    """The values of a block, inner ones included, that depend on some arguments."""
    found = set(arguments)
    _spread(block, found)
    return found


def _spread(block: ir.Block, found: set[ir.Value]) -> None:
    for op in block_ops(block)[0]:
        if op.name == LOOP:
            condition, body = blocks_of(op)
            late = [i for i, x in enumerate(op.operands) if x in found]
            while True:
                found.update(body.arguments[i] for i in late)
                _spread(body, found)
                after = [i for i, v in enumerate(block_ops(body)[1]) if v in found or body.arguments[i] in found]
                if after == late:
                    break
                late = after
            found.update(op.results[i] for i in late)
            found.update(condition.arguments[i] for i in late)
            _spread(condition, found)
        elif op.name in BRANCHES and op.operands[0] not in found:
            for inner in blocks_of(op):
                _spread(inner, found)
                found.update(r for r, v in zip(op.results, block_ops(inner)[1], strict=True) if v in found)
        elif any(v in found for v in [*op.operands, *modules.captured(op)]):
            found.update(op.results)
            for inner in blocks_of(op):
                found.update(inner.arguments)
                _spread(inner, found)


class _Division:
    """One module on its way. `twin`: values that depend on nothing late, as values of a module that has only those."""

    def __init__(self, module: ir.Module, block: ir.Block, late: set[ir.Value], extra: int):
        self.source, self.block, self.late, self.extra = module, block, late, extra
        self.twin: dict[ir.Value, ir.Value] = {}
        self.aliases = Aliases()

    def module(self) -> ir.Module:
        count = len(self.block.arguments) - self.extra
        body, returned = block_ops(self.block)
        early, block = new_function([a.type for a in list(self.block.arguments)[:count]])
        self.twin.update(zip(self.block.arguments, block.arguments, strict=False))
        with ir.InsertionPoint(block):
            self.early(body)
            finish(early, [self.twin[v] for v in returned if v not in self.late])
        made, new = new_function([a.type for a in self.block.arguments])
        given = list(new.arguments)
        with ir.InsertionPoint(new):
            place = anchor()
            scope = Main(block, None, place, self.aliases, dict(zip(block.arguments, given, strict=False)))
            moved = dict(zip(list(self.block.arguments)[count:], given[count:], strict=True))
            self.run(body, scope, moved)
            late = [moved[v] for v in returned if v in self.late]
            drop_dead(new, late)
            results, left = iter(scope.finish(block_ops(block)[1])), iter(late)
            place.erase()
            finish(made, [next(left) if v in self.late else next(results) for v in returned], self.source)
        return made

    # -- what depends on nothing late

    def early(self, body: Sequence[ir.Operation]) -> None:
        """Copy the ops of a body without what is late."""
        for op in body:
            if op.name == LOOP and any(r in self.late for r in op.results):
                self._early_loop(op)
            elif op.name in BRANCHES and op.operands[0] not in self.late and any(r in self.late for r in op.results):
                self._early_branches(op)
            elif not any(r in self.late for r in op.results):
                modules.clone_with(op, self.twin)

    def _early_loop(self, op: ir.Operation) -> None:
        condition, body = blocks_of(op)
        numbers = [i for i, r in enumerate(op.results) if r not in self.late]
        if not numbers:
            return

        def inside(block: ir.Block, arguments: Sequence[ir.Value], wanted: Sequence[int] | None) -> list[ir.Value]:
            self.twin.update(zip([block.arguments[i] for i in numbers], arguments, strict=True))
            inner, returned = block_ops(block)
            self.early(inner)
            return [self.twin.get(v, v) for v in (returned if wanted is None else [returned[i] for i in wanted])]

        with op.location:
            made = ops.while_([self.twin.get(op.operands[i], op.operands[i]) for i in numbers],
                              lambda *a: inside(condition, a, None)[0], lambda *a: inside(body, a, numbers))
        self.twin.update(zip([op.results[i] for i in numbers], made, strict=True))

    def _early_branches(self, op: ir.Operation) -> None:
        numbers = [i for i, r in enumerate(op.results) if r not in self.late]

        def inside(block: ir.Block) -> list[ir.Value]:
            inner, returned = block_ops(block)
            self.early(inner)
            return [self.twin.get(returned[i], returned[i]) for i in numbers]

        if numbers:
            predicate = self.twin[op.operands[0]]
            made = ops.create(op.name, [op.results[i].type for i in numbers], [predicate], regions=len(op.regions))
            for region, block in zip(made.regions, blocks_of(op), strict=True):
                ops.fill_region(region, [], lambda block=block: inside(block))
            self.twin.update(zip([op.results[i] for i in numbers], made.results, strict=True))

    # -- what is late

    def run(self, body: Sequence[ir.Operation], scope: Any, moved: dict[ir.Value, ir.Value]) -> None:
        """Build the late ops of a body at the insertion point; `moved` has late values, and gets more."""
        for op in body:
            if any(r in self.late for r in op.results):
                with op.location:
                    if not (op.name == LOOP and self._loop(op, scope, moved)):
                        self._whole(op, scope, moved)

    def _whole(self, op: ir.Operation, scope: Any, moved: dict[ir.Value, ir.Value]) -> None:
        mapping = {v: self.value(v, scope, moved) for v in dict.fromkeys([*op.operands, *modules.captured(op)])}
        modules.clone_with(op, mapping)
        moved.update({r: mapping[r] for r in op.results})

    def value(self, value: ir.Value, scope: Any, moved: dict[ir.Value, ir.Value]) -> ir.Value:
        return moved[value] if value in moved else scope.value(self.twin[value])

    def _loop(self, op: ir.Operation, scope: Any, moved: dict[ir.Value, ir.Value]) -> bool:
        """The loop of the late values alone; False where the number of iterations has no bound."""
        bound = trips(op)
        numbers = [i for i, r in enumerate(op.results) if r in self.late]
        kept = next((r for r in op.results if r not in self.late), None)
        if bound is None or kept is None:
            return False
        state = sum(nbytes(r) for r in op.results if r not in self.late)
        if not bound.exact and bound.most * state > LARGE:
            return False
        twin = self.twin[kept].owner.operation
        body, returned = block_ops(blocks_of(op)[1])
        early = None if bound.exact else stand_in(tensor_type((), np.dtype(np.int64)))
        scopes: list[LoopScope] = []

        def count() -> ir.Value:
            return early.result if early is not None else ops.constant(bound.most, "int64")

        def step(iteration: ir.Value, *values: ir.Value) -> list[ir.Value]:
            place = anchor()
            scopes.append(LoopScope(twin, bound.most, iteration, scope, place, self.aliases))
            local = dict(moved)
            local.update(zip([blocks_of(op)[1].arguments[i] for i in numbers], values, strict=True))
            self.run(body, scopes[0], local)
            results = [self.value(returned[i], scopes[0], local) for i in numbers]
            drop_dead(place.block, [*results, iteration])
            scopes[0].settle(counted=early is not None)
            place.erase()
            return [ops.add(iteration, 1), *results]

        inits = [self.value(op.operands[i], scope, moved) for i in numbers]
        _, *made = ops.while_([ops.constant(0, "int64"), *inits],
                              lambda iteration, *_: ops.compare(iteration, count(), "LT"), step)
        moved.update(zip([op.results[i] for i in numbers], made, strict=True))
        if early is not None:
            assert scopes[0].extended is not None
            with ir.InsertionPoint(early):
                iterations = ops.convert(scope.value(scopes[0].extended.count), np.int64)
            replace(early, iterations)
        return True
