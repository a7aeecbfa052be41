"""The batched version of a program: `batched_module`, and `Batcher` for blocks of ops.

Only what depends on batched values is batched, always along a new dimension 0. An `if` whose condition is batched
becomes both branches and a select; a loop that elements leave at different times runs until the last has left, and
those that have left keep what they had. Loops that need not end run only for elements that reach them.
"""
from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

import reactant.batching.rules  # noqa: F401 - declares the rules
from reactant.batching.analysis import BARRIER, BRANCHES, LOOP, Spread, block_ops, reads, stops_masked
from reactant.batching.declare import Call, NotBatchable, batched_type, repeated, rule_of, spread
from reactant.batching.progressions import Progression, number_or_value, progression_of
from reactant.batching.rules.reduction import NEUTRAL, single_body
from reactant.ir import creation, modules, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.rewrite import captures, pure
from reactant.support.records import dataclass


class Batcher:
    """Rebuilds ops for a whole batch at the insertion point.

    values: old value to new one; an old value that is not there stands for itself (it comes from around the ops).
    batched: the old values whose new ones have the batch in front.
    """

    def __init__(self, count: int, batched: set[ir.Value], values: dict[ir.Value, ir.Value] | None = None):
        self.size, self.batched = count, batched
        self.values: dict[ir.Value, ir.Value] = {} if values is None else values
        self.progressions: dict[ir.Value, Progression] = {}
        self.mask: ir.Value | None = None
        """Where set, which elements (size,) really reach these ops."""

    def value(self, old: ir.Value) -> ir.Value:
        """The new value for an old one, as it is."""
        return self.values.get(old, old)

    def full(self, old: ir.Value) -> ir.Value:
        """The new value with the batch in front."""
        return self.value(old) if old in self.batched else repeated(self.value(old), self.size)

    def as_(self, old: ir.Value, batched: bool) -> ir.Value:
        return self.full(old) if batched else self.value(old)

    def run(self, body: Sequence[ir.Operation]) -> None:
        """Rebuild ops in order."""
        for op in body:
            with op.location:
                self._step(op)

    def _step(self, op: ir.Operation) -> None:
        if not any(r in self.batched for r in op.results) and not any(v in self.batched for v in reads(op)):
            creation.note(modules.clone_with(op, self.values))
        elif op.name == LOOP:
            self._loop(op)
        elif op.name in BRANCHES:
            self._branches(op)
        elif op.name == BARRIER:
            made = ops.optimization_barrier(*map(self.value, op.operands))
            self.values.update(zip(op.results, made, strict=True))
        else:
            self._op(op)

    def _op(self, op: ir.Operation) -> None:
        if not self.size:       # no element to slice or gather from
            self.values.update((r, ops.constant(0, dtype_of(r), (0, *shape_of(r)))) for r in op.results)
            return
        self._note_progression(op)
        rule = rule_of(op) if not any(v in self.batched for v in captures(op)) else None
        found = None
        if rule is not None and (self.mask is None or pure(op)):
            found = rule(Call(op, [self.value(v) for v in op.operands], [v in self.batched for v in op.operands],
                              self.size, [self.progressions.get(v) for v in op.operands], self.values))
        self.values.update(zip(op.results, self.one_by_one(op) if found is None else found, strict=True))

    def _note_progression(self, op: ir.Operation) -> None:
        if not self.progressions or len(op.results) != 1:
            return

        def known(old: ir.Value) -> Progression | ir.Value | int | None:
            if old in self.batched:
                return self.progressions.get(old)
            return number_or_value(old, self.value(old)) if not shape_of(old) else None

        found = progression_of(op, known, self.size) if any(v in self.progressions for v in op.operands) else None
        if found is not None:
            self.progressions[op.results[0]] = found

    # -- one element after the other

    def one_by_one(self, op: ir.Operation) -> list[ir.Value]:
        """The results of an op for each element of the batch in turn, in a loop."""
        zero, count = ops.constant(0, np.int64), self.size
        types = [batched_type(r, count) for r in op.results]
        if not types and self.mask is None:
            raise NotBatchable(f"'{op.name}' has no batched form.")
        empty = [ops.constant(0, dtype_of(r), (count, *shape_of(r))) for r in op.results]

        def iteration(i: ir.Value, *made: ir.Value) -> list[ir.Value]:
            def run() -> list[ir.Value]:
                elements = {v: self._element(v, i) for v in reads(op) if v in self.batched}
                copy = modules.clone_with(op, ChainMap(elements, self.values))
                creation.note(copy)
                return list(copy.results)

            if self.mask is not None and not pure(op):
                reached = ops.reshape(ops.dynamic_slice(self.mask, [i], (1,)), ())
                found = ops.if_(reached, run, lambda: [ops.splat(0, r) for r in op.results],
                                [r.type for r in op.results])
            else:
                found = run()
            after = [ops.dynamic_update_slice(whole, ops.reshape(r, (1, *shape_of(r))), [i, *[zero] * len(shape_of(r))])
                     for whole, r in zip(made, found, strict=True)]
            return [ops.add(i, 1), *after]

        return ops.while_([zero, *empty], lambda i, *_: ops.compare(i, count, "LT"), iteration)[1:]

    def _element(self, old: ir.Value, i: ir.Value) -> ir.Value:
        shape, zero = shape_of(old), ops.constant(0, np.int64)
        return ops.reshape(ops.dynamic_slice(self.value(old), [i, *[zero] * len(shape)], (1, *shape)), shape)

    # -- control flow

    def _inside(self, block: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
        """Rebuild a block's ops with new arguments; gives the old values that it returns."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        body, returned = block_ops(block)
        self.run(body)
        return returned

    def _loop(self, op: ir.Operation) -> None:
        condition, iteration = (region.blocks[0] for region in op.regions)
        flags = [a in self.batched for a in iteration.arguments]
        _, (predicate,) = block_ops(condition)
        inits = [self.as_(v, flag) for v, flag in zip(op.operands, flags, strict=True)]
        if predicate in self.batched or stops_masked(op, self.mask is not None):
            results = self._loop_with_mask(condition, iteration, inits)
        else:
            results = ops.while_(
                inits, lambda *new: self.value(self._inside(condition, new)[0]),
                lambda *new: [self.as_(v, flag) for v, flag in zip(self._inside(iteration, new), flags, strict=True)])
        self.values.update(zip(op.results, results, strict=True))

    def _loop_with_mask(self, condition: ir.Block, iteration: ir.Block, inits: Sequence[ir.Value]) -> list[ir.Value]:
        """Runs while any element goes on; carries who does, and keeps the values of those that do not."""
        def goes_on(arguments: Sequence[ir.Value]) -> ir.Value:
            return self.full(self._inside(condition, arguments)[0])

        def body(going: ir.Value, *before: ir.Value) -> list[ir.Value]:
            outer, self.mask = self.mask, going
            after = [select(going, self.full(v), old)
                     for v, old in zip(self._inside(iteration, before), before, strict=True)]
            self.mask = outer
            return [ops.and_(going, goes_on(after)), *after]

        first = goes_on(inits)
        if self.mask is not None:
            first = ops.and_(self.mask, first)
        return ops.while_([first, *inits], lambda going, *_: ops.reduce(going, False, [0], "or"), body)[1:]

    def _branches(self, op: ir.Operation) -> None:
        blocks = [region.blocks[0] for region in op.regions]
        if op.operands[0] in self.batched:
            results = self._all_branches(op, blocks)
        else:
            flags = [r in self.batched for r in op.results]
            types = [batched_type(r, self.size) if flag else r.type for r, flag in zip(op.results, flags, strict=True)]
            made = ops.create(op.name, types, [self.value(op.operands[0])], regions=len(blocks))
            for region, block in zip(made.regions, blocks, strict=True):
                ops.fill_region(region, [], self._branch(block, flags))
            results = list(made.results)
        self.values.update(zip(op.results, results, strict=True))

    def _branch(self, block: ir.Block, flags: Sequence[bool]) -> Callable[[], list[ir.Value]]:
        return lambda: [self.as_(v, flag) for v, flag in zip(self._inside(block, []), flags, strict=True)]

    def _all_branches(self, op: ir.Operation, blocks: Sequence[ir.Block]) -> list[ir.Value]:
        """Every branch for every element, and a choice; an index out of range takes the last."""
        index, outer = self.value(op.operands[0]), self.mask
        if op.name == "stablehlo.if":
            taken = [index, ops.not_(index)]
        else:
            taken = [ops.compare(index, number, "EQ") for number in range(len(blocks) - 1)]
            others = [ops.not_(t) for t in taken]
            last = others[0] if others else ops.constant(True, bool, (self.size,))
            for other in others[1:]:
                last = ops.and_(last, other)
            taken.append(last)
        found = []
        for block, here in zip(blocks, taken, strict=True):
            self.mask = here if outer is None else ops.and_(outer, here)
            found.append([self.full(v) for v in self._inside(block, [])])
        self.mask = outer
        results = found[-1]
        for here, values in list(zip(taken, found, strict=True))[-2::-1]:
            results = [a if a == b else select(here, a, b) for a, b in zip(values, results, strict=True)]
        return results


def batches(op: ir.Operation, batched: set[ir.Value]) -> bool:
    """Whether an op, and what is inside it, has a batched form other than a loop over the elements."""
    if not any(v in batched for v in reads(op)):
        return True
    if op.name in (LOOP, *BRANCHES):
        return all(batches(child.operation, batched) for region in op.regions for child in region.blocks[0]
                   if child.operation.name != "stablehlo.return")
    if op.name == BARRIER:
        return True
    if rule_of(op) is None or any(v in batched for v in captures(op)):
        return False
    starts = STARTS.get(op.name)
    if starts is None or not any(v in batched for v in starts(list(op.operands))):
        return True
    return op.name == "stablehlo.reduce" and len(op.results) == 1 and single_body(op) in NEUTRAL


STARTS: dict[str, Callable[[list[ir.Value]], list[ir.Value]]] = {
    "stablehlo.reduce": lambda operands: operands[len(operands) // 2:],
    "stablehlo.reduce_window": lambda operands: operands[len(operands) // 2:],
    "stablehlo.select_and_scatter": lambda operands: operands[2:]}
"""Operands that have to be the same for all elements."""


def select(mask: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """For each element of the batch a or b."""
    return ops.select(spread(mask, shape_of(a)[1:]), a, b)


# ---- functions -----------------------------------------------------------------------------------------------------

@dataclass
class Batched:
    """A batched function: its module, and for each result whether it has the batch in front (dimension 0)."""

    module: ir.Module
    batched: tuple[bool, ...]


def batched_module(module: ir.Module, dimensions: Sequence[int | None], count: int, name: str = "main",
                   everything: bool = False) -> Batched:
    """The function `name` of a module for a whole batch of some arguments.

    dimensions: for each argument which dimension of the new argument runs over the batch (negative ones count from the
        end), None for those that are the same for all elements.
    count: the size of the batch.
    everything: results that do not depend on the batch are repeated, so that all have it in front.

    The module itself is not changed; calls are inlined. Raises `NotBatchable` for ops that cannot be batched.
    """
    with building():
        source = modules.clone(module)
        modules.inline_calls(source)
        old = modules.function(source, name).regions[0].blocks[0]
        seeds = [a for a, d in zip(old.arguments, dimensions, strict=True) if d is not None]
        body, returned = block_ops(old)
        found = Spread(seeds)
        found.run(body)
        types = [a.type if d is None else _argument_type(a, d, count)
                 for a, d in zip(old.arguments, dimensions, strict=True)]
        made, main, block = new_function(types)
        with ir.InsertionPoint(block):
            batcher = Batcher(count, found.batched)
            for a, d, new in zip(old.arguments, dimensions, block.arguments, strict=True):
                batcher.values[a] = new if d is None else moved(new, d, 0)
            batcher.run(body)
            flags = tuple(everything or v in found.batched for v in returned)
            results = [batcher.as_(v, flag) for v, flag in zip(returned, flags, strict=True)]
            ops.create("func.return", [], results)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [r.type for r in results]))
        _copy_symbols(source, made, name)
        modules.verify(made)
        return Batched(made, flags)


def _argument_type(old: ir.Value, dimension: int, count: int) -> ir.Type:
    shape = list(shape_of(old))
    shape.insert(dimension % (len(shape) + 1), count)
    return tensor_type(tuple(shape), dtype_of(old))


def moved(x: ir.Value, source: int, destination: int) -> ir.Value:
    """`np.moveaxis` of one dimension."""
    rank = len(shape_of(x))
    order = [d for d in range(rank) if d != source % rank]
    order.insert(destination % rank, source % rank)
    return ops.transpose(x, order)


def _copy_symbols(source: ir.Module, made: ir.Module, name: str) -> None:
    """What ops name: comparators of custom calls, meshes."""
    with ir.InsertionPoint(made.body):
        for each in source.body:
            if each.operation.attributes["sym_name"].value not in (name, "main"):
                each.operation.clone()


def new_function(types: Sequence[ir.Type]) -> tuple[ir.Module, ir.Operation, ir.Block]:
    """A module with an unfinished `main` over arguments of `types`."""
    made = ir.Module.create()
    with ir.InsertionPoint(made.body):
        main = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get("main"), "sym_visibility": ir.StringAttr.get("public"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(types), []))})
    return made, main, main.regions[0].blocks.append(*types)
