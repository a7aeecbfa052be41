"""Which values of a program depend on the batch, decided before anything is built."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.ir.induction import trips
from reactant.rewrite.site import captures

LOOP, BRANCHES, BARRIER = "stablehlo.while", ("stablehlo.if", "stablehlo.case"), "stablehlo.optimization_barrier"
RANDOM = {"stablehlo.rng"}
"""Ops that give every element of the batch something else although they take the same."""


def block_ops(block: ir.Block) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops of a block without its terminator, and what that returns."""
    *body, terminator = [op.operation for op in block]
    return body, list(terminator.operands)


def reads(op: ir.Operation) -> list[ir.Value]:
    """Operands of an op and what its regions use from outside."""
    return [*op.operands, *captures(op)] if len(op.regions) else list(op.operands)


class Spread:
    """The set of values that depend on the batch; it only grows."""

    def __init__(self, seeds: Iterable[ir.Value]):
        self.batched = set(seeds)

    def run(self, body: Sequence[ir.Operation], masked: bool = False) -> None:
        """Follow ops in order. `masked`: they run for some elements of the batch only."""
        for op in body:
            if op.name == LOOP:
                self._loop(op, masked)
            elif op.name in BRANCHES:
                self._branches(op, masked)
            elif op.name == BARRIER:
                self.batched.update(r for r, x in zip(op.results, op.operands, strict=True) if x in self.batched)
            elif op.name in RANDOM or any(value in self.batched for value in reads(op)):
                self.batched.update(op.results)

    def _loop(self, op: ir.Operation, masked: bool) -> None:
        """To a fixed point: what an iteration makes batched is batched from the start. Where elements stop at different
        times, everything carried is."""
        condition, iteration = (region.blocks[0] for region in op.regions)
        carried = [init in self.batched for init in op.operands]
        while True:
            for block in (condition, iteration):
                self.batched.update(a for a, flag in zip(block.arguments, carried, strict=True) if flag)
            body, (predicate,) = block_ops(condition)
            self.run(body, masked)
            stops_apart = predicate in self.batched or stops_masked(op, masked)
            body, returned = block_ops(iteration)
            self.run(body, masked or predicate in self.batched)
            after = [stops_apart or flag or value in self.batched
                     for flag, value in zip(carried, returned, strict=True)]
            if after == carried:
                break
            carried = after
        self.batched.update(r for r, flag in zip(op.results, carried, strict=True) if flag)

    def _branches(self, op: ir.Operation, masked: bool) -> None:
        chosen = op.operands[0] in self.batched
        flags = [chosen] * len(op.results)
        for region in op.regions:
            body, returned = block_ops(region.blocks[0])
            self.run(body, masked or chosen)
            flags = [flag or value in self.batched for flag, value in zip(flags, returned, strict=True)]
        self.batched.update(r for r, flag in zip(op.results, flags, strict=True) if flag)


def stops_masked(op: ir.Operation, masked: bool) -> bool:
    """Whether a loop has to ask for each element whether it runs at all: it might never end where it should not run."""
    return masked and trips(op) is None
