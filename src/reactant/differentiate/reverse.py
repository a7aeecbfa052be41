"""Reverse mode: a module that computes results and, from their cotangents, those of the arguments."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

import reactant.differentiate.rules  # noqa: F401 - declares the rules
from reactant.differentiate import requests
from reactant.differentiate.activity import BRANCHES, LOOP, active_values, block_ops, blocks_of, captured
from reactant.differentiate.checkpoint import Policy
from reactant.differentiate.declare import (
    Call,
    Contribution,
    Into,
    NotDifferentiable,
    Rule,
    differentiable,
    line_of,
    rule_of,
    transposing,
    zeros,
)
from reactant.differentiate.forward import finish, new_function
from reactant.differentiate.prepare import prepared
from reactant.differentiate.requests import target_of
from reactant.differentiate.values import Frame, Here, Known, LoopFrame, Values, anchor, turns_at_run_time
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.induction import trips

Adjoints = dict[ir.Value, ir.Value]


def vjp(module: ir.Module, arguments: Sequence[int], results: Sequence[int], *, ones: bool = False,
        name: str = "main", policy: Policy | None = None) -> ir.Module:
    """A module whose `main` takes the arguments of `module` and a cotangent for each of `results` (none with `ones`:
    they are 1), and gives the results of `module` and a cotangent for each of `arguments`.

    Calls must be inlined. Raises `NotDifferentiable`.
    """
    with building():
        source = prepared(module)
        old = modules.function(source, name).regions[0].blocks[0]
        body, returned = block_ops(old)
        varied, wanted = [old.arguments[i] for i in arguments], [returned[i] for i in results]
        count = len(old.arguments)
        made, block = new_function([a.type for a in old.arguments] + [v.type for v in wanted if not ones])
        values = dict(zip(old.arguments, list(block.arguments)[:count], strict=True))
        with ir.InsertionPoint(block):
            for op in body:
                modules.clone_with(op, values)
            cotangents = [ops.splat(1, v) for v in wanted] if ones else list(block.arguments)[count:]
            sweep = Reverse(active_values(old, varied, wanted))
            adjoint: Adjoints = {}
            for value, g in zip(wanted, cotangents, strict=True):
                sweep.add(adjoint, value, g)
            sweep.run(body, Known(values), adjoint)
            given = [adjoint[v] if v in adjoint else zeros(v) for v in varied]
            finish(made, [values[v] for v in returned] + given, source)
        return made


class Reverse:
    """Sweeps backwards over blocks of the old module; adjoints are keyed by old values, only active ones have any."""

    def __init__(self, active: set[ir.Value]):
        self.active = active

    def add(self, adjoint: Adjoints, value: ir.Value, contribution: Contribution) -> None:
        """Add to the adjoint of an active value."""
        if contribution is None or value not in self.active:
            return
        before = adjoint.get(value)
        if isinstance(contribution, Into):
            adjoint[value] = contribution.put(zeros(value) if before is None else before)
        else:
            adjoint[value] = contribution if before is None else ops.add(before, contribution)

    def run(self, body: Sequence[ir.Operation], frame: Any, adjoint: Adjoints) -> None:
        for op in reversed(body):
            if any(r in adjoint for r in op.results):
                with op.location:
                    self._step(op, frame, adjoint)

    def _step(self, op: ir.Operation, frame: Any, adjoint: Adjoints) -> None:
        if op.name == LOOP:
            self._loop(op, frame, adjoint)
            return
        if op.name in BRANCHES:
            self._branches(op, frame, adjoint)
            return
        target = target_of(op)
        if target == requests.CHECKPOINT:
            self._checkpointed(op, frame, adjoint)
            return
        if target == requests.CUSTOM:
            self._custom(op, frame, adjoint)
            return
        rule = rule_of(op)
        call = Call(op, Values(op.operands, frame), Values(op.results, frame))
        cotangents = [adjoint.get(r) for r in op.results]
        wanted = [x in self.active for x in op.operands]
        found = None if rule.reverse is None else rule.reverse(call, cotangents, wanted)
        if found is None:
            found = _transposed(rule, call, cotangents, wanted)
        for operand, each in zip(op.operands, found, strict=True):
            self.add(adjoint, operand, each)

    # -- marks

    def _checkpointed(self, op: ir.Operation, frame: Any, adjoint: Adjoints) -> None:
        """What the function computes is computed again from its arguments, once its cotangents are there."""
        block = requests.function_named(op, requests.callee_of(op)).regions[0].blocks[0]
        body, returned = block_ops(block)
        wanted = [i for i, r in enumerate(op.results) if r in adjoint]
        inside = active_values(block, [block.arguments[i] for i, x in enumerate(op.operands) if x in self.active],
                               [returned[i] for i in wanted])
        given = ops.optimization_barrier(*[adjoint[op.results[i]] for i in wanted],
                                         *[frame.value(x) for x in op.operands])
        place = anchor()
        known = Frame(block, None, place)
        known.values.update(zip(block.arguments, given[len(wanted):], strict=True))
        sweep, local = Reverse(inside), {}
        for i, g in zip(wanted, given, strict=False):
            sweep.add(local, returned[i], g)
        sweep.run(body, known, local)
        place.erase()
        for operand, argument in zip(op.operands, block.arguments, strict=True):
            self.add(adjoint, operand, local.get(argument))

    def _custom(self, op: ir.Operation, frame: Any, adjoint: Adjoints) -> None:
        """By the user's rule for cotangents; else by the transpose of the one for tangents."""
        rule = requests.rule_of_custom(op)
        call = Call(op, Values(op.operands, frame), Values(op.results, frame))
        varied = [x for x in op.operands if differentiable(x)]
        if rule.cotangents is not None:
            given = [adjoint[r] if r in adjoint else zeros(r) for r in op.results if differentiable(r)]
            found = requests.spliced_here(rule.cotangents(), [*call.operands, *call.results, *given])
        else:
            assert rule.tangents is not None
            module = rule.tangents()

            def forward(call: Call, tangents: Sequence[ir.Value | None]) -> list[ir.Value | None]:
                directions = [zeros(x) if t is None else t for x, t in zip(call.inputs, tangents, strict=True)
                              if differentiable(x)]
                moved = iter(requests.spliced_here(module, [*call.operands, *directions]))
                return [next(moved) if differentiable(r) else None for r in op.results]

            cotangents = [adjoint.get(r) for r in op.results]
            wanted = [x in self.active for x in op.operands]
            swept = _transposed(Rule(rule.name, forward), call, cotangents, wanted)
            found = [g for x, g in zip(op.operands, swept, strict=True) if differentiable(x)]
        for operand, g in zip(varied, found, strict=True):
            self.add(adjoint, operand, g)

    # -- control flow

    def _branches(self, op: ir.Operation, frame: Any, adjoint: Adjoints) -> None:
        """The same choice; each branch computes again what its adjoint needs."""
        outer = [v for v in captured(op) if v in self.active]

        def branch(block: ir.Block) -> list[ir.Value]:
            place = anchor()
            body, returned = block_ops(block)
            local = {v: adjoint[v] for v in outer if v in adjoint}
            for result, value in zip(op.results, returned, strict=True):
                self.add(local, value, adjoint.get(result))
            self.run(body, Frame(block, frame, place), local)
            place.erase()
            return [local[v] if v in local else zeros(v) for v in outer]

        chosen = frame.value(op.operands[0])
        made = ops.create(op.name, [v.type for v in outer], [chosen], regions=len(op.regions))
        for region, block in zip(made.regions, blocks_of(op), strict=True):
            ops.fill_region(region, [], lambda block=block: branch(block))
        adjoint.update(zip(outer, made.results, strict=True))

    def _loop(self, op: ir.Operation, frame: Any, adjoint: Adjoints) -> None:
        """The turns backwards; what their adjoints need is recomputed or read from buffers the forward loop fills."""
        bound = trips(op)
        if bound is None:
            raise NotDifferentiable(
                "reverse mode needs a loop whose number of turns has a bound that is known while compiling; this one's "
                "is known only at run time. Loop over a range of static length (break may leave it early), or use "
                f"forward mode: reactant.jvp, or jacobian(mode='forward').{line_of(op)}")
        block = blocks_of(op)[1]
        body, returned = block_ops(block)
        carried = [i for i, a in enumerate(block.arguments) if a in self.active]
        outer = [v for v in captured(op) if v in self.active]
        frames: list[LoopFrame] = []
        outside = anchor()
        early = None if bound.exact else turns_at_run_time(bound.most)

        def count() -> ir.Value:
            return early.result if early is not None else ops.constant(bound.most, "int64")

        def step(turns: ir.Value, *values: ir.Value) -> list[ir.Value]:
            place = anchor()
            with ir.InsertionPoint(place):
                turn = ops.subtract(ops.subtract(count(), 1), turns)
            frames.append(LoopFrame(op, bound.most, turn, frame, place, outside))
            local = dict(zip(outer, values[len(carried):], strict=True))
            for i, g in zip(carried, values, strict=False):
                self.add(local, returned[i], g)
            self.run(body, frames[0], local)
            place.erase()
            arguments = [block.arguments[i] for i in carried]
            return [ops.add(turns, 1), *(local[v] if v in local else zeros(v) for v in [*arguments, *outer])]

        starts = [adjoint.get(op.results[i]) for i in carried]
        inits = [zeros(op.results[i]) if g is None else g for i, g in zip(carried, starts, strict=True)]
        inits += [adjoint[v] if v in adjoint else zeros(v) for v in outer]
        _, *made = ops.while_([ops.constant(0, "int64"), *inits],
                              lambda turns, *_: ops.compare(turns, count(), "LT"), step)
        adjoint.update(zip(outer, made[len(carried):], strict=True))
        for i, g in zip(carried, made, strict=False):
            self.add(adjoint, op.operands[i], g)
        if frames[0].buffers or early is not None:
            _fill(op, frames[0], frame, early)
        outside.erase()


def _fill(op: ir.Operation, loop: LoopFrame, frame: Any, early: ir.Operation | None) -> None:
    """Let the forward loop fill the buffers, and count its turns for `early`; where it has been copied already, the
    filling one replaces the copy."""
    copied = [frame.values.get(r) for r in op.results]
    present = next((v.owner.operation for v in copied if v is not None and v.owner.name == LOOP), None)
    results = loop.fill(present, early)
    if present is not None:
        for old, new in zip(present.results, results, strict=True):
            old.replace_all_uses_with(new)
        frame.values.update(zip(op.results, results, strict=True))
        present.erase()


def _transposed(rule: Rule, call: Call, cotangents: Sequence[ir.Value | None],
                wanted: Sequence[bool]) -> list[ir.Value | None]:
    """The cotangents of the operands by the forward form of a rule: what it builds is linear in the tangents, op by op.
    """
    stand_ins = [zeros(x) if want else None for x, want in zip(call.op.operands, wanted, strict=True)]
    made: list[ir.Operation] = []
    before = ops.record(made)
    try:
        with transposing():
            tangents = rule.forward(call, stand_ins)
    finally:
        ops.record(before)
    depends = {v for v in stand_ins if v is not None}
    linear = []
    for op in made:
        if any(x in depends for x in op.operands):
            depends.update(r for r in op.results if differentiable(r))
            linear.append(op)
    sweep = Reverse(depends)
    adjoint: Adjoints = {}
    for tangent, g in zip(tangents, cotangents, strict=True):
        if tangent is not None and g is not None:
            sweep.add(adjoint, tangent, g)
    sweep.run(linear, Here(), adjoint)
    return [None if v is None else adjoint.get(v) for v in stand_ins]
