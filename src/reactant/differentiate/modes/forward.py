"""Forward mode: a module that computes results and their tangents."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

import reactant.differentiate.rules  # noqa: F401 - declares the rules
from reactant.differentiate import requests
from reactant.differentiate.activity import BRANCHES, LOOP, active_values, block_ops, blocks_of
from reactant.differentiate.declare import Call, differentiable, rule_of, zeros
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.differentiate.recognised.prepare import prepared
from reactant.differentiate.requests import target_of
from reactant.ir import modules, ops, splice
from reactant.ir.context import building


def jvp(module: ir.Module, arguments: Sequence[int], results: Sequence[int], name: str = "main") -> ir.Module:
    """A module whose `main` takes the arguments of `module` and a tangent for each of `arguments`, and gives the
    results of `module` and a tangent for each of `results`.

    Calls must be inlined. Raises `NotDifferentiable`.
    """
    with building():
        source = prepared(module)
        old = modules.function(source, name).regions[0].blocks[0]
        body, returned = block_ops(old)
        varied = [old.arguments[i] for i in arguments]
        wanted = [returned[i] for i in results]
        types = [a.type for a in old.arguments] + [v.type for v in varied]
        made, block = new_function(types)
        inputs = list(block.arguments)
        transform = Forward(active_values(old, varied, wanted), made)
        transform.primal.update(zip(old.arguments, inputs, strict=False))
        transform.tangent.update({v: t for v, t in zip(varied, inputs[len(old.arguments):], strict=True)
                                  if v in transform.active})
        with ir.InsertionPoint(block):
            transform.run(body)
            finish(made, [transform.primal[v] for v in returned] + [transform.tangent_or_zero(v) for v in wanted],
                   source)
        return made


class Forward:
    """Rebuilds blocks of the old module with tangents beside the values; both maps are keyed by old values."""

    def __init__(self, active: set[ir.Value], made: ir.Module):
        self.active, self.made = active, made
        self.primal: dict[ir.Value, ir.Value] = {}
        self.tangent: dict[ir.Value, ir.Value] = {}

    def tangent_or_zero(self, value: ir.Value) -> ir.Value:
        found = self.tangent.get(value)
        return zeros(self.primal[value]) if found is None else found

    def run(self, body: Sequence[ir.Operation]) -> None:
        for op in body:
            with op.location:
                self._step(op)

    def _step(self, op: ir.Operation) -> None:
        if not any(r in self.active for r in op.results):
            modules.clone_with(op, self.primal)
        elif op.name == LOOP:
            self._loop(op)
        elif op.name in BRANCHES:
            self._branches(op)
        elif target_of(op) == requests.CHECKPOINT:
            self._checkpointed(op)
        elif target_of(op) == requests.CUSTOM:
            self._custom(op)
        else:
            rule = rule_of(op)
            copy = modules.clone_with(op, self.primal)
            call = Call(op, list(copy.operands), list(copy.results))
            tangents = rule.forward(call, [self.tangent.get(x) for x in op.operands])
            self.tangent.update({r: t for r, t in zip(op.results, tangents, strict=True)
                                 if t is not None and r in self.active})

    def _learn(self, op: ir.Operation, made: Sequence[ir.Value], active: Sequence[int]) -> None:
        count = len(op.results)
        self.primal.update(zip(op.results, made[:count], strict=True))
        self.tangent.update({op.results[i]: t for i, t in zip(active, made[count:], strict=True)
                             if op.results[i] in self.active})

    def _checkpointed(self, op: ir.Operation) -> None:
        """The function with its tangents, computed again by whoever differentiates that."""
        varied = [i for i, x in enumerate(op.operands) if x in self.tangent]
        active = [i for i, r in enumerate(op.results) if r in self.active]
        inner = jvp(requests.apart(op, requests.callee_of(op)), varied, active, requests.callee_of(op))
        requests.adopt_functions(inner, self.made.operation)
        block = modules.function(inner).regions[0].blocks[0]
        callee = requests.private_function(
            self.made, [a.type for a in block.arguments], lambda inputs: splice.copied(block, inputs), "jvp")
        types = [r.type for r in op.results] + [op.results[i].type for i in active]
        operands = [self.primal[x] for x in op.operands] + [self.tangent[op.operands[i]] for i in varied]
        self._learn(op, requests.checkpointed(callee, operands, types), active)

    def _custom(self, op: ir.Operation) -> None:
        """By the user's rule for tangents."""
        rule = requests.rule_of_custom(op)
        if rule.tangents is None:
            raise rule.no_tangents(op)
        inputs = [self.primal.get(x, x) for x in op.operands]
        if rule.results is None:
            modules.clone_with(op, self.primal)
        else:
            self.primal.update(zip(op.results, requests.spliced_here(rule.results(), inputs), strict=True))
        directions = [zeros(v) if x not in self.tangent else self.tangent[x]
                      for x, v in zip(op.operands, inputs, strict=True) if differentiable(x)]
        moved = requests.spliced_here(rule.tangents(), [*inputs, *directions])
        self.tangent.update((r, t) for r, t in zip(filter(differentiable, op.results), moved, strict=True)
                            if r in self.active)

    def _branches(self, op: ir.Operation) -> None:
        active = [i for i, r in enumerate(op.results) if r in self.active]

        def branch(block: ir.Block) -> list[ir.Value]:
            body, returned = block_ops(block)
            self.run(body)
            return [self.primal[v] for v in returned] + [self.tangent_or_zero(returned[i]) for i in active]

        types = [r.type for r in op.results] + [op.results[i].type for i in active]
        made = ops.create(op.name, types, [self.primal[op.operands[0]]], regions=len(op.regions))
        for region, block in zip(made.regions, blocks_of(op), strict=True):
            ops.fill_region(region, [], lambda block=block: branch(block))
        self._learn(op, list(made.results), active)

    def _loop(self, op: ir.Operation) -> None:
        condition, body = blocks_of(op)
        active = [i for i, a in enumerate(body.arguments) if a in self.active]
        count = len(op.operands)

        def test(*arguments: ir.Value) -> list[ir.Value]:
            tests, returned = block_ops(condition)
            mapping = dict(zip(condition.arguments, arguments, strict=False))
            mapping.update({v: self.primal[v] for v in modules.captured(op) if v in self.primal})
            for each in tests:
                modules.clone_with(each, mapping)
            return [mapping.get(v, v) for v in returned]

        def step(*arguments: ir.Value) -> list[ir.Value]:
            self.primal.update(zip(body.arguments, arguments, strict=False))
            self.tangent.update(zip([body.arguments[i] for i in active], arguments[count:], strict=True))
            inner, returned = block_ops(body)
            self.run(inner)
            return [self.primal[v] for v in returned] + [self.tangent_or_zero(returned[i]) for i in active]

        inits = [self.primal[x] for x in op.operands] + [self.tangent_or_zero(op.operands[i]) for i in active]
        self._learn(op, ops.while_(inits, test, step), active)
