"""Linear functions that are called later: what they need is computed with the outputs and kept.

The program of outputs and derivative is made as one, then divided: what does not depend on the tangents (or cotangents)
goes into a first program, whose results are the outputs and the values that the rest reads; the rest is the second.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.cache import encoding
from reactant.calling import recalled
from reactant.calling import signature as sig
from reactant.calling.compiled import Compiled, Times
from reactant.calling.compiled_numpy import lower
from reactant.calling.lowered import Lowered
from reactant.calling.placing import results_of
from reactant.calling.traced import Result, Traced
from reactant.communication.executable import MeshExecutable
from reactant.communication.placement import Placement
from reactant.derivatives import by_jax
from reactant.derivatives.answers import require_real
from reactant.derivatives.by_jax import TakenByJax
from reactant.derivatives.entry import EXTRA, base_of, compiled, compiled_once, is_compiled, name_of
from reactant.derivatives.gradients import gradients_like
from reactant.derivatives.linear import prepared, primal_of, tangent_tree
from reactant.derivatives.outline import Slot, as_floating, filled, leaves_of
from reactant.differentiate import requests
from reactant.differentiate.activity import BRANCHES, block_ops, blocks_of
from reactant.differentiate.modes.division import divided
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.errors import ReactantError
from reactant.frontends.arrays.tensor import ARRAY
from reactant.frontends.jax.refusals import NotImported
from reactant.frontends.session.trace import current_trace
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import shape_and_dtype
from reactant.jax_functions import JaxJitted
from reactant.options import CompileOptions
from reactant.support.records import dataclass

CHEAP = {"stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim", "stablehlo.reshape"}
"""Ops that are done again rather than have their result kept."""


@dataclass
class Wanted:
    """What the second program is given: shape and dtype of each, and how to find them in what the user passes.
    like: which output each is like, or which argument, where that is known. trees: one like the outputs, with `Slot`s,
    and which of them vary; or those of the arguments, with True for what varies, and their numbers."""

    types: list[tuple[tuple[int, ...], np.dtype]]
    like: list[int | None]
    name: str
    mode: str
    trees: Any
    which: Sequence[int]

    def flatten(self, given: Any) -> list[Any]:
        """The values in what the user passes."""
        if self.mode == "reverse":
            return _cotangents(self.trees, self.which, self.name, given)
        return _tangents(self.trees, self.which, given)


@dataclass
class _Divided:
    early: Compiled
    late: Compiled
    wanted: Wanted


encoding.register("reactant.derivatives.outline", Slot="index kind")
encoding.register("reactant.derivatives.residuals", Wanted="types like name mode trees which")


class _DividedForm(recalled.Form):
    """Two programs in the compile cache."""

    def told(self, made: Any) -> tuple:
        if isinstance(made, TakenByJax):
            raise recalled.NotCacheable("JAX takes the derivative")
        return recalled.state_of(made.early), recalled.state_of(made.late), made.wanted

    def made(self, question: recalled.Question, state: tuple) -> _Divided:
        early, late, wanted = state
        return _Divided(recalled.program_of(question, early, 0), recalled.program_of(question, late, 1), wanted)

    def bodies(self, made: Any) -> Iterator[Any]:
        return (each.executable._body for each in (made.early, made.late))


DIVIDED = _DividedForm()


def _applied(linear: Callable, given: Any) -> Any:
    return linear(given)


class Split:
    """`begin(primals)` gives ((outputs, aux), later): `later(g)` is the derivative there, for g as often as wanted."""

    def __init__(self, function: Any, numbers: tuple[int, ...], mode: str, has_aux: bool):
        self.function, self.numbers, self.mode, self.has_aux = function, numbers, mode, has_aux
        self.jitted = compiled(function, lambda args, kwargs, _: self._traced(args, kwargs),
                               f"{'vjp' if mode == 'reverse' else 'linearize'}_{name_of(function)}",
                               of=("split", function, numbers, mode, has_aux))
        self._programs: dict[Any, _Divided | TakenByJax] = {}
        self._apply = JaxJitted(_applied, self.jitted.options)

    def begin(self, primals: tuple, kwargs: dict) -> tuple[Any, Callable[[Any], Any]]:
        key, leaves = self.jitted._sign(primals, kwargs)
        known = self._programs.get(key)
        made = known if is_compiled(self.function) else None      # else the function is traced anew
        if made is None:
            try:
                made = self._make(key) if known is not None else \
                    recalled.made(self.jitted, key, lambda: self._make(key), DIVIDED)
            except NotImported as refused:
                made = self._taken(key, refused)
            self._programs[key] = made
        if isinstance(made, TakenByJax):
            return self._by_jax(made, leaves, primals, kwargs)
        outputs, kept = made.early.run(leaves, primals, kwargs)

        def later(given: Any) -> Any:
            extra = [_fitting(x, shape, dtype, self.mode) for x, (shape, dtype)
                     in zip(made.wanted.flatten(given), made.wanted.types, strict=True)]
            return made.late.run([*kept, *extra], (), {})
        return outputs, later

    def _traced(self, args: tuple, kwargs: dict) -> Any:
        """((outputs, aux), derivative), where tangents or cotangents are arguments of the program after all others."""
        made = prepared(self.function, args, kwargs, self.numbers, self.has_aux)
        varying = made.varying(made.outputs())
        types = [made.types[i] for i in varying] if self.mode == "reverse" else [t.value().type for t in made.active]
        shapes = [shape_and_dtype(t) for t in types]
        extra = [current_trace().add_argument(shape, dtype) for shape, dtype in shapes]
        if self.mode == "reverse":
            self._outputs = made.outputs()
            results, link = primal_of(made)
            found = made.request(requests.REVERSE, varying, extra, link=link)[1]
            left = iter(found)
            derivative: Any = tuple(gradients_like(args[n], left) for n in self.numbers)
            self._wanted = Wanted(shapes, list(varying), made.name, self.mode, made.outputs(), list(varying))
        else:
            results, found = made.request(requests.FORWARD, varying, extra)
            made.take_effect(results)
            derivative = tangent_tree(made.outputs(), dict(zip(varying, found, strict=True)), made.types)
            varies = [sig.map_tree(args[n], as_floating) for n in self.numbers]
            self._wanted = Wanted(shapes, [tensor.storage.argument for tensor in made.active], made.name, self.mode,
                                  varies, self.numbers)
        return filled((made.outputs(), made.aux), results), derivative

    def _taken(self, key: tuple, refused: NotImported) -> TakenByJax:
        """The first program by JAX: ((outputs, aux), linear function)."""
        if not isinstance(base_of(self.function), JaxJitted):
            raise refused
        return TakenByJax(lambda args, kwargs, _: by_jax.linear(self.function, args, kwargs, self.numbers, self.has_aux,
                                                                self.mode),
                          key, self.jitted.__name__, self.jitted.options, EXTRA, refused.fact)

    def _by_jax(self, made: TakenByJax, leaves: list, primals: tuple, kwargs: dict) -> tuple[Any, Callable[[Any], Any]]:
        apply: Callable
        if is_compiled(self.function):
            (whole, linear), apply = made.run(leaves, primals, kwargs), self._apply
        else:
            (whole, linear), apply = made.at_once(leaves), _applied
        return whole, by_jax.later(self.function, primals, kwargs, self.numbers, self.mode, whole,
                                   lambda given: apply(linear, given))

    def _make(self, key: tuple) -> _Divided:
        options = self.jitted.options
        before = options if options.optimize is not True else options.with_(optimize="differentiated")
        with building():
            whole = lower(self.jitted.function, key[0], key[1], before)
            traced, extra = whole.traced, len(self._wanted.types)
            if self.mode == "forward":
                traced = replace(traced, module=divided(traced.module, extra))
            early, late = _divide(traced, extra)
            name, place = self.jitted.__name__, whole.placement
            first = _compiled(f"{name}_outputs", early, options, whole, place and place.of_results(results_of(early)))
            second = place and self._placed(place, first)
            return _Divided(first, _compiled(f"{name}_derivative", late, options, whole,
                                             second and second.of_results(results_of(late))), self._wanted)

    def _placed(self, whole: Placement, early: Compiled) -> Placement:
        """Where the second program gets what it is given: what is kept lies where the first one left it, cotangents are
        like outputs, tangents like arguments."""
        outputs, kept = early.lowered.traced.result
        assert isinstance(early.executable, MeshExecutable)
        places, like = early.executable.results, self._wanted.like
        if self.mode == "forward":
            extra = [None if n is None else whole.arguments[n] for n in like]
        else:
            found = dict(zip((slot.index for slot in leaves_of(self._outputs) if type(slot) is Slot),
                             (leaf for leaf in leaves_of(outputs[0])), strict=False))
            extra = [places[leaf.index] if n is not None and type(leaf := found.get(n)) is Result else None
                     for n in like]
        return Placement(whole.mesh, (*(places[each.index] for each in kept), *extra), (), whole.pads)


def _compiled(name: str, traced: Traced, options: CompileOptions, whole: Lowered,
              placement: Placement | None) -> Compiled:
    report = pipelines.run(traced.module, "default" if options.optimize is True else "none", options=options)
    lowered = Lowered(name, traced, None, report, Times(), options, on_device=whole.on_device)
    lowered.placement = placement
    return compiled_once(lowered)


def _fitting(given: Any, shape: tuple[int, ...], dtype: np.dtype, mode: str) -> Any:
    what, other = ("A cotangent", "its output") if mode == "reverse" else ("A tangent", "the argument")
    if given is None:
        return np.zeros(shape, dtype)
    if mode == "forward":
        require_real(given, dtype, what, other)
    if np.shape(given) != shape:
        raise ReactantError(f"{what} has shape {np.shape(given)}, {other} {shape}.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    if isinstance(given, (np.ndarray, np.generic, bool, int, float, complex, list, tuple)):
        array = np.asarray(given)
        return (array.real if array.dtype.kind == "c" and dtype.kind != "c" else array).astype(dtype, copy=False)
    return given.astype(dtype) if np.dtype(given.dtype) != dtype else given


def _cotangents(template: Any, varying: Sequence[int], name: str, given: Any) -> list[Any]:
    wanted, leaves = leaves_of(template), leaves_of(given, template)
    if len(leaves) != len(wanted):
        raise ReactantError(f"The cotangent has {len(leaves)} leaves, the outputs of '{name}' have {len(wanted)}.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    found: dict[int, Any] = {}
    for slot, g in zip(wanted, leaves, strict=True):
        if type(slot) is Slot and slot.index in varying:
            found[slot.index] = g if slot.index not in found else found[slot.index] + g
    return [found[i] for i in varying]


def _tangents(varies: Sequence[Any], numbers: Sequence[int], given: Any) -> list[Any]:
    """The tangents of the leaves that vary; `varies`: trees like the arguments, True for those."""
    if len(given) != len(numbers):
        raise ReactantError(f"The linear function takes {len(numbers)} tangents, not {len(given)}.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    found = []
    for kept, n, tree in zip(varies, numbers, given, strict=True):
        leaves, which = leaves_of(tree, kept), leaves_of(kept)
        if len(leaves) != len(which):
            raise ReactantError(f"The tangent of argument {n} has {len(leaves)} leaves, the argument {len(which)}.",
                                hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                                code="tangents-do-not-fit")
        found += [leaf for leaf, varying in zip(leaves, which, strict=True) if varying]
    return found


# ---- dividing ------------------------------------------------------------------------------------------------------

def _divide(traced: Traced, extra: int) -> tuple[Traced, Traced]:
    """The program of the outputs and of what is kept, and the one of the derivative: its arguments are what is kept,
    then the `extra` last arguments."""
    block = modules.function(traced.module).regions[0].blocks[0]
    arguments = list(block.arguments)
    late = set(arguments[len(arguments) - extra:])
    _split_branches(block, late)
    body, returned = block_ops(block)
    delayed = [op for op in body if any(r in late for r in op.results)]
    outputs, derivative = traced.result
    of_outputs = _Renumbered()
    outputs = of_outputs.tree(outputs)
    flags = None if traced.flags is None else of_outputs.number(traced.flags)
    of_derivative = _Renumbered()
    derivative = of_derivative.tree(derivative)

    plan = _Late(delayed, late, [returned[i] for i in of_derivative.indices])
    early_values = [returned[i] for i in of_outputs.indices]
    first = _early_module(body, set(delayed_results(delayed)), arguments[:len(arguments) - extra],
                          [*early_values, *plan.kept])
    second = plan.module(arguments[len(arguments) - extra:])
    count = len(early_values)
    kept = [Result(count + i, ARRAY) for i in range(len(plan.kept))]
    return (Traced(first, (outputs, kept), written_copies=traced.written_copies, captured=traced.captured, flags=flags,
                   errors=traced.errors),
            Traced(second, derivative))


def _split_branches(block: ir.Block, late: set[ir.Value]) -> None:
    """Make two of each conditional of which only some results depend on `late`, which learns all values that do: rules
    have put the outputs' and the derivative's branches together where they have one condition."""
    for op in block_ops(block)[0]:
        if not any(v in late for v in [*op.operands, *modules.captured(op)]):
            continue
        if op.name not in BRANCHES:
            late.update(op.results)
            continue
        for region in blocks_of(op):
            _split_branches(region, late)
        ends = [block_ops(region)[1] for region in blocks_of(op)]
        waits = [any(end[i] in late for end in ends) or op.operands[0] in late for i in range(len(op.results))]
        if all(waits):
            late.update(op.results)
            continue
        for of_late in (False, True):
            chosen = [i for i, waiting in enumerate(waits) if waiting == of_late]
            if not chosen:
                continue
            part = _part_of_branches(op, chosen)
            for i, result in zip(chosen, part.results, strict=True):
                op.results[i].replace_all_uses_with(result)
            if of_late:
                late.update(part.results)
        op.erase()


def _part_of_branches(op: ir.Operation, chosen: Sequence[int]) -> ir.Operation:
    """A conditional before `op` with some of its results, and what these need."""
    with ir.InsertionPoint(op):
        part: ir.Operation = ops.create(op.name, [op.results[i].type for i in chosen], list(op.operands),
                                        regions=len(op.regions))
    for region, block in zip(part.regions, blocks_of(op), strict=True):
        body, returned = block_ops(block)
        wanted = {returned[i] for i in chosen}
        kept = []
        for inner in reversed(body):
            if any(r in wanted for r in inner.results):
                wanted.update(inner.operands, modules.captured(inner))
                kept.append(inner)
        mapping: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(region.blocks.append()):
            for inner in reversed(kept):
                modules.clone_with(inner, mapping)
            ops.create("stablehlo.return", [], [mapping.get(returned[i], returned[i]) for i in chosen])
    return part


def delayed_results(ops_: Sequence[ir.Operation]) -> list[ir.Value]:
    return [r for op in ops_ for r in op.results]


class _Renumbered:
    """Trees of results with the results numbered in order of first use."""

    def __init__(self) -> None:
        self.indices: list[int] = []

    def number(self, index: int) -> int:
        if index not in self.indices:
            self.indices.append(index)
        return self.indices.index(index)

    def tree(self, tree: Any) -> Any:
        return sig.map_tree(tree, lambda leaf: Result(self.number(leaf.index), leaf.kind, leaf.steps, leaf.layout)
                            if isinstance(leaf, Result) else leaf)


def _early_module(body: Sequence[ir.Operation], delayed: set[ir.Value], arguments: Sequence[ir.Value],
                  results: Sequence[ir.Value]) -> ir.Module:
    made, block = new_function([a.type for a in arguments])
    mapping = dict(zip(arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for op in body:
            if not any(r in delayed for r in op.results):
                modules.clone_with(op, mapping)
        finish(made, [mapping[v] for v in results])
    return made


class _Late:
    """The second program: which ops it has, and which values it is given."""

    def __init__(self, delayed: Sequence[ir.Operation], late: set[ir.Value], results: Sequence[ir.Value]):
        self.results = results
        self.kept: list[ir.Value] = []
        self.again: list[ir.Operation] = []         # cheap ops of the first program that are done again
        self._seen: set[ir.Value] = set()
        self._late = late
        for op in delayed:
            for value in [*op.operands, *modules.captured(op)]:
                self._need(value)
        for value in results:
            self._need(value)
        self.delayed = delayed

    def _need(self, value: ir.Value) -> None:
        if value in self._late or value in self._seen:
            return
        self._seen.add(value)
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.operation.name in CHEAP:
            for operand in owner.operands:
                self._need(operand)
            self.again.append(owner.operation)
        else:
            self.kept.append(value)

    def module(self, extra: Sequence[ir.Value]) -> ir.Module:
        given = [*self.kept, *extra]
        made, block = new_function([v.type for v in given])
        mapping = dict(zip(given, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for op in [*self.again, *self.delayed]:
                modules.clone_with(op, mapping)
            finish(made, [mapping[v] for v in self.results])
        return made
