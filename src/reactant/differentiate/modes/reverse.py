"""Reverse mode: a module that computes results and, from their cotangents, those of the arguments."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

import reactant.differentiate.rules  # noqa: F401 - declares the rules
from reactant.differentiate import requests
from reactant.differentiate.activity import BRANCHES, LOOP, active_values, block_ops, blocks_of, is_bent
from reactant.differentiate.declare import (
    Call,
    Contribution,
    Rule,
    differentiable,
    rule_of,
    span_of,
    transposing,
    zeros,
)
from reactant.differentiate.facts import masks
from reactant.differentiate.modes.adjoints import Adjoints
from reactant.differentiate.modes.checkpoint import Policy, measures, number_loops, restructure
from reactant.differentiate.modes.loops import NUMBER, BranchScope, LoopScope, bound_of, extend_branches
from reactant.differentiate.modes.replay import Replayed, slots_of
from reactant.differentiate.modes.updates import Term, added
from reactant.differentiate.modes.values import (
    Aliases,
    Here,
    Known,
    Main,
    Values,
    anchor,
    drop_dead,
    replace,
    stand_in,
)
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.differentiate.recognised.prepare import prepared
from reactant.differentiate.requests import target_of
from reactant.errors import NotDifferentiable
from reactant.ir import creation, modules, ops
from reactant.ir.context import building
from reactant.ir.induction import Trips
from reactant.ir.types import shape_of, tensor_type


def vjp(module: ir.Module, arguments: Sequence[int], results: Sequence[int], *, ones: bool = False,
        name: str = "main", policy: Policy | None = None) -> ir.Module:
    """A module whose `main` takes the arguments of `module` and a cotangent for each of `results` (none with `ones`:
    they are 1), and gives the results of `module` and a cotangent for each of `arguments`.

    Calls must be inlined. Raises `NotDifferentiable`.
    """
    policy = policy or Policy()
    with building():
        source = prepared(module)
        function = modules.function(source, name)
        number_loops(function)
        measured: dict[int, int] = {}
        made = _Vjp(source, arguments, results, ones, name)
        if measures(function, made.is_active(), policy):
            trial = _Vjp(modules.clone(source), arguments, results, ones, name)
            restructure(trial.function, trial.is_active(), Policy("all"), None)
            trial.run()
            measured = trial.sweep.kept
        restructure(function, made.is_active(), policy, measured)
        return made.run()


class _Vjp:
    """One function on its way to a module of cotangents."""

    def __init__(self, source: ir.Module, arguments: Sequence[int], results: Sequence[int], ones: bool, name: str):
        self.source, self.ones = source, ones
        self.function = modules.function(source, name)
        self.block = self.function.regions[0].blocks[0]
        self.arguments, self.results = arguments, results

    def active(self) -> set[ir.Value]:
        returned = block_ops(self.block)[1]
        return active_values(self.block, [self.block.arguments[i] for i in self.arguments],
                             [returned[i] for i in self.results])

    def is_active(self) -> Callable[[ir.Operation], bool]:
        """Whether a loop is on the way from the arguments to the results."""
        active = self.active()
        return lambda loop: any(r in active for r in loop.results)

    def run(self) -> ir.Module:
        """The sweep. Uses the source module up."""
        old = self.block
        body, returned = block_ops(old)
        varied, wanted = [old.arguments[i] for i in self.arguments], [returned[i] for i in self.results]
        count = len(old.arguments)
        made, block = new_function([a.type for a in old.arguments] + [v.type for v in wanted if not self.ones])
        values = dict(zip(old.arguments, list(block.arguments)[:count], strict=True))
        aliases = Aliases()
        active = self.active()
        requests.mark_taken(self.function, active)
        self.sweep = sweep = Reverse(active, aliases)
        with ir.InsertionPoint(block):
            place = anchor()
            scope = Main(old, None, place, aliases, values)
            cotangents = [ops.splat(1, v) for v in wanted] if self.ones else list(block.arguments)[count:]
            adjoint = Adjoints()
            for value, g in zip(wanted, cotangents, strict=True):
                sweep.add(adjoint, value, g)
            with masks.made_from(block, count, cotangents):
                sweep.run(body, scope, adjoint)
            given = [adjoint[v] if v in adjoint else zeros(v) for v in varied]
            drop_dead(block, given)
            results = scope.finish(block_ops(old)[1])
            place.erase()
            finish(made, results + given, self.source)
        requests.replace_taken(made)
        return made


class Reverse:
    """Sweeps backwards over blocks of the old module; adjoints are keyed by old values, only active ones have any."""

    def __init__(self, active: set[ir.Value], aliases: Aliases):
        self.active, self.aliases = active, aliases
        self.kept: dict[int, int] = {}
        """Bytes kept of one iteration of each loop, by its number."""

    def add(self, adjoint: Adjoints, value: ir.Value, contribution: Contribution) -> None:
        """Add to the adjoint of an active value."""
        if contribution is not None and value in self.active:
            adjoint.add(value, contribution)

    def run(self, body: Sequence[ir.Operation], scope: Any, adjoint: Adjoints) -> None:
        for op in reversed(body):
            if any(r in adjoint for r in op.results):
                with op.location:
                    self._step(op, scope, adjoint)

    def _with_code(self, op: ir.Operation) -> Callable[[ir.Operation, Any, Adjoints], None] | None:
        """What sweeps over an op that has code of its own: of a region, of a function."""
        if op.name == LOOP:
            return self._loop
        if op.name in BRANCHES:
            return self._branches
        return {requests.CHECKPOINT: self._checkpointed, requests.CUSTOM: self._custom}.get(target_of(op))

    def _step(self, op: ir.Operation, scope: Any, adjoint: Adjoints) -> None:
        sweep = self._with_code(op)
        if sweep is not None:
            self._as_a_whole(sweep, op, scope, adjoint)
            return
        terms = added(op)
        if terms is not None:
            self._added(op, terms, scope, adjoint)
            return
        rule = rule_of(op)
        call = Call(op, Values(op.operands, scope), Values(op.results, scope))
        cotangents = [adjoint.get(r) for r in op.results]
        wanted = [x in self.active for x in op.operands]
        found = None if rule.reverse is None else rule.reverse(call, cotangents, wanted)
        if found is None:
            found = _transposed(rule, call, cotangents, wanted)
        if op.name in masks.WITH_DATA:
            found = [masks.settled(each) if isinstance(each, ir.Value) else each for each in found]
        for operand, each in zip(op.operands, found, strict=True):
            self.add(adjoint, operand, each)

    def _as_a_whole(self, sweep: Callable[[ir.Operation, Any, Adjoints], None], op: ir.Operation, scope: Any,
                    adjoint: Adjoints) -> None:
        """Sweep over an op that has code of its own: where nothing was chosen of its results, it adds nothing."""
        unchosen = masks.common([adjoint[r] for r in op.results if r in adjoint])
        varied = [] if isinstance(unchosen, bool) else \
            [v for v in dict.fromkeys([*op.operands, *modules.captured(op)]) if v in self.active]
        adjoint.settle(varied)
        before = {v: adjoint.get(v) for v in varied}
        masks.forget()
        sweep(op, scope, adjoint)
        for v, g in before.items():
            after = adjoint.get(v)
            if after is not None and (g is None or after != g):
                adjoint[v] = ops.select(unchosen, zeros(after) if g is None else g, after)
        masks.forget()

    def _added(self, op: ir.Operation, terms: Sequence[Term], scope: Any, adjoint: Adjoints) -> None:
        """`x[window] += y`: the adjoint of x stays, that of y is its window."""
        g, varied = adjoint[op.result], [t for t in terms if t.value in self.active]
        self.add(adjoint, op.operands[0], g)
        if varied:
            starts = [scope.value(start) for start in list(op.operands)[2:]]
            window = ops.dynamic_slice(g, starts, shape_of(op.operands[1]))
            for term in varied:
                self.add(adjoint, term.value, term.cotangent(window, scope.value))

    # -- marks

    def _checkpointed(self, op: ir.Operation, scope: Any, adjoint: Adjoints) -> None:
        """What the function computes is computed again from its arguments, once its cotangents are there."""
        called = requests.function_named(op, requests.callee_of(op))
        wanted = [i for i, r in enumerate(op.results) if r in adjoint]
        varied = [i for i, x in enumerate(op.operands) if x in self.active]
        copy = called.clone(ip=ir.InsertionPoint(called)).operation        # the sweep extends what it goes over
        copy.attributes["sym_name"] = ir.StringAttr.get(requests.fresh("checkpointed"))
        block = copy.regions[0].blocks[0]

        def active() -> set[ir.Value]:
            returned = block_ops(block)[1]
            return active_values(block, [block.arguments[i] for i in varied], [returned[i] for i in wanted])

        before = active()
        restructure(copy, lambda loop: any(r in before for r in loop.results), Policy(), {})
        inside = active()
        body, returned = block_ops(block)
        given = ops.optimization_barrier(*[adjoint[op.results[i]] for i in wanted],
                                         *[scope.value(x) for x in op.operands])
        place = anchor()
        known = Known(block, None, place, self.aliases, dict(zip(block.arguments, given[len(wanted):], strict=True)))
        sweep, local = Reverse(inside, self.aliases), Adjoints()
        for i, g in zip(wanted, given, strict=False):
            sweep.add(local, returned[i], g)
        sweep.run(body, known, local)
        known.settle()
        place.erase()
        for operand, argument in zip(op.operands, block.arguments, strict=True):
            self.add(adjoint, operand, local.get(argument))

    def _custom(self, op: ir.Operation, scope: Any, adjoint: Adjoints) -> None:
        """By the user's rule for cotangents; else by the transpose of the one for tangents."""
        rule = requests.rule_of_custom(op).where(op.operands, self.active)
        call = Call(op, Values(op.operands, scope), Values(op.results, scope))
        varied = [x for x in op.operands if differentiable(x)]
        given = [adjoint[r] if r in adjoint else zeros(r) for r in op.results if differentiable(r)]
        if rule.cotangents is not None:
            found = requests.spliced_here(rule.cotangents(), [*call.operands, *call.results, *given])
        else:
            varied = [x for x in varied if x in self.active]
            directions = [zeros(x) for x in op.operands if differentiable(x)]
            swept = requests.spliced_here(_transpose(rule, op, self.active), [*call.operands, *directions, *given])
            found = swept[len(swept) - len(varied):]
        for operand, g in zip(varied, found, strict=True):
            self.add(adjoint, operand, g)

    # -- control flow

    def _branches(self, op: ir.Operation, scope: Any, adjoint: Adjoints) -> None:
        """The same choice; each branch computes again what its adjoint needs, and finds what is dear to compute."""
        outer = [v for v in modules.captured(op) if v in self.active]
        adjoint.settle([*outer, *op.results])
        scopes: list[BranchScope] = []
        changed: set[ir.Value] = set()

        def branch(block: ir.Block) -> list[ir.Value]:
            place = anchor()
            scopes.append(BranchScope(block, scope, place, self.aliases))
            body, returned = block_ops(block)
            local = Adjoints({v: adjoint[v] for v in outer if v in adjoint})
            for result, value in zip(op.results, returned, strict=True):
                self.add(local, value, adjoint.get(result))
            self.run(body, scopes[-1], local)
            changed.update(v for v in outer if v in local and not (v in adjoint and local[v] == adjoint[v]))
            results = [local[v] if v in local else zeros(v) for v in outer]
            drop_dead(place.block, results)
            return results

        chosen = scope.value(op.operands[0])
        made = ops.create(op.name, [v.type for v in outer], [chosen], regions=len(op.regions))
        for region, block in zip(made.regions, blocks_of(op), strict=True):
            ops.fill_region(region, [], lambda block=block: branch(block))
        kept = [each.chosen() for each in scopes]
        found = extend_branches(op, kept, self.aliases) if any(kept) else [{} for _ in kept]
        for each, values in zip(scopes, found, strict=True):
            each.finish(values)
            each.place.erase()
        adjoint.update((v, g) for v, g in zip(outer, made.results, strict=True) if v in changed)

    def _loop(self, op: ir.Operation, scope: Any, adjoint: Adjoints) -> None:
        slots = slots_of(op)
        if slots:
            Replayed(self, op, scope, adjoint, slots).build()
            return
        bound = bound_of(op)
        assert bound is not None, "loops without a bound are restructured before the sweep"
        self._stored(op, scope, adjoint, bound)

    def _stored(self, op: ir.Operation, scope: Any, adjoint: Adjoints, bound: Trips) -> None:
        """The iterations backwards; what their adjoints need is computed again or read from buffers the forward loop
        fills."""
        block = blocks_of(op)[1]
        body, returned = block_ops(block)
        carried = [i for i, a in enumerate(block.arguments) if a in self.active]
        outer = [v for v in modules.captured(op) if v in self.active]
        scopes: list[LoopScope] = []
        changed: set[ir.Value] = set()
        early = None if bound.exact else stand_in(tensor_type((), np.dtype(np.int64)))

        def count() -> ir.Value:
            return early.result if early is not None else ops.constant(bound.most, "int64")

        def step(iterations: ir.Value, *values: ir.Value) -> list[ir.Value]:
            masks.carried_on(inits, values)
            iteration = ops.subtract(ops.subtract(count(), 1), iterations)
            place = anchor()
            scopes.append(LoopScope(op, bound.most, iteration, scope, place, self.aliases))
            local = Adjoints(zip(outer, values[len(carried):], strict=True))
            for i, g in zip(carried, values, strict=False):
                self.add(local, returned[i], g)
            self.run(body, scopes[0], local)
            changed.update(v for v, g in zip(outer, values[len(carried):], strict=True) if local[v] != g)
            results = [local[v] if v in local else zeros(v) for v in [*(block.arguments[i] for i in carried), *outer]]
            drop_dead(place.block, [*results, iteration])
            scopes[0].settle(counted=early is not None)
            place.erase()
            return [ops.add(iterations, 1), *results]

        starts = [adjoint.get(op.results[i]) for i in carried]
        inits = [zeros(op.results[i]) if g is None else g for i, g in zip(carried, starts, strict=True)]
        inits += [adjoint[v] if v in adjoint else zeros(v) for v in outer]
        _, *made = ops.while_([ops.constant(0, "int64"), *inits],
                              lambda iterations, *_: ops.compare(iterations, count(), "LT"), step)
        adjoint.update((v, g) for v, g in zip(outer, made[len(carried):], strict=True) if v in changed)
        for i, g in zip(carried, made, strict=False):
            self.add(adjoint, op.operands[i], g)
        if NUMBER in op.attributes:
            self.kept[int(ir.IntegerAttr(op.attributes[NUMBER]).value)] = scopes[0].bytes
        if early is not None:
            extended = scopes[0].extended
            assert extended is not None
            with ir.InsertionPoint(early):
                iterations = ops.convert(scope.value(extended.count), np.int64)
            replace(early, iterations)


def _transpose(rule: requests.CustomRule, op: ir.Operation, active: Collection[ir.Value]) -> ir.Module:
    """The module of cotangents of the active operands of a call, from the user's rule for tangents: as that is linear,
    its derivative at whatever tangents."""
    assert rule.tangents is not None
    module = rule.tangents()
    block = modules.function(module).regions[0].blocks[0]
    returned = block_ops(block)[1]
    count = len(op.operands)
    places = [count + n for n, x in enumerate(filter(differentiable, op.operands)) if x in active]
    varied = active_values(block, [block.arguments[n] for n in places], returned)
    for each in modules.walk(module):
        if is_bent(each, varied):
            raise NotDifferentiable(f"The jvp rule of '{rule.name}' is not linear in the tangents (it has a "
                                    f"{each.name.partition('.')[2]} of them), so it has no transpose.",
                                    hint="Give custom_derivative a vjp rule as well.", code="derivative-rule",
                                    span=span_of(each))
    return vjp(module, places, range(len(returned)))


def _transposed(rule: Rule, call: Call, cotangents: Sequence[ir.Value | None],
                wanted: Sequence[bool]) -> list[ir.Value | None]:
    """The cotangents of the operands by the forward form of a rule: what it builds is linear in the tangents, op by op.
    """
    stand_ins = [zeros(x) if want else None for x, want in zip(call.op.operands, wanted, strict=True)]
    made: list[ir.Operation] = []
    before = creation.record(made)
    try:
        with transposing():
            tangents = rule.forward(call, stand_ins)
    finally:
        creation.record(before)
    depends = {v for v in stand_ins if v is not None}
    linear = []
    for op in made:
        if any(x in depends for x in op.operands):
            depends.update(r for r in op.results if differentiable(r))
            linear.append(op)
    sweep = Reverse(depends, Aliases())
    adjoint = Adjoints()
    for tangent, g in zip(tangents, cotangents, strict=True):
        if tangent is not None and g is not None:
            sweep.add(adjoint, tangent, g)
    sweep.run(linear, Here(), adjoint)
    return [None if v is None else adjoint.get(v) for v in stand_ins]
