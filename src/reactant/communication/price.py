"""What one run of a divided program costs each device: arithmetic, memory, and what it sends, from its text alone.

As XLA will compile it, more or less: what it fuses is `ir.traffic`'s guess, and of collectives it may join some.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import field, replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import cost, traffic
from reactant.ir.context import building
from reactant.ir.induction import trips
from reactant.ir.locations import file_and_line
from reactant.ir.modules import function
from reactant.ir.types import dtype_of, nbytes
from reactant.support.records import dataclass

COLLECTIVES = frozenset(f"stablehlo.{name}" for name in (
    "collective_permute", "all_gather", "all_reduce", "reduce_scatter", "all_to_all", "collective_broadcast"))


@dataclass(frozen=True)
class Collective:
    """A collective that runs `count` times. group: how many devices take part in one. sent: the bytes that a device
    sends each time; total: that all of them send. line: the first one of the program that needs it, and why it does."""

    kind: str
    line: tuple[str, int] | None
    count: float
    group: int
    sent: float
    total: float
    why: str = ""

    @property
    def steps(self) -> float:
        """Messages that wait for one another each time: trees, where all devices need something of all."""
        if self.kind == "collective_permute":
            return 1
        deep = math.ceil(math.log2(max(self.group, 2)))
        return 2 * deep if self.kind == "all_reduce" else deep


@dataclass(frozen=True)
class Price:
    """Of one run, for one device: `flops`, `doubles` of them with 64 bits; bytes from and to memory; the bytes that
    its memory must have room for. `known`: whether all loops' iterations are (others count as one)."""

    devices: int
    flops: float = 0.0
    doubles: float = 0.0
    memory: float = 0.0
    held: float = 0.0
    collectives: tuple[Collective, ...] = ()
    known: bool = field(default=True, compare=False)

    @property
    def count(self) -> float:
        """How many collectives run."""
        return sum(c.count for c in self.collectives)

    @property
    def total(self) -> float:
        """The bytes that devices send to one another, all of them together."""
        return sum(c.count * c.total for c in self.collectives)

    @property
    def sent(self) -> float:
        """The bytes that the device which sends most sends, at most."""
        return sum(c.count * c.sent for c in self.collectives)


def price_of(module: ir.Module, devices: int, why: Callable[[ir.Operation], str] = lambda op: "") -> Price:
    """The price of a program that `partition` made for so many devices. why: what is said of each collective."""
    with building():
        main = function(module)
        counted = _Counted(why)
        inner = [op for op in main.regions[0].blocks[0].operations if op.operation.name == "sdy.manual_computation"]
        block = inner[0].operation.regions[0].blocks[0] if inner else main.regions[0].blocks[0]
        counted.block(block, 1.0)
        merged: dict[tuple, float] = {}
        for c in counted.collectives:
            key = (c.kind, c.line, c.group, c.sent, c.total, c.why)
            merged[key] = merged.get(key, 0.0) + c.count
        found = tuple(Collective(kind, line, count, *rest) for (kind, line, *rest), count in merged.items())
        return Price(devices, counted.flops, counted.doubles, traffic.estimate(module)["bytes"],
                     _held(block), found, counted.known)


class _Counted:
    """Sums over the ops of a program, those in loops as often as they run."""

    def __init__(self, why: Callable[[ir.Operation], str]) -> None:
        self.why = why
        self.flops = self.doubles = 0.0
        self.collectives: list[Collective] = []
        self.known = True

    def block(self, block: ir.Block, times: float) -> None:
        for each in block.operations:
            op = each.operation
            if op.name == "stablehlo.while":
                count = trips(op)
                exact = count is not None and count.exact
                self.known &= exact
                for region in op.regions:
                    self.block(region.blocks[0], times * (count.most if count is not None and exact else 1))
            elif op.name in ("stablehlo.if", "stablehlo.case"):
                self._dearest(op, times)
            elif op.name in COLLECTIVES:
                self.collectives.append(replace(_collective(op), count=times, why=self.why(op)))
            elif len(op.results):
                flops = times * cost.of_operation(op).flops
                self.flops += flops
                self.doubles += flops if dtype_of(op.results[0]) in (np.float64, np.complex128) else 0.0

    def _dearest(self, op: ir.Operation, times: float) -> None:
        branches = []
        for region in op.regions:
            branch = _Counted(self.why)
            branch.block(region.blocks[0], times)
            branches.append(branch)
        most = max(branches, key=lambda b: (sum(c.count * c.total for c in b.collectives), b.flops))
        self.flops, self.doubles = self.flops + most.flops, self.doubles + most.doubles
        self.collectives += most.collectives
        self.known &= most.known


def _collective(op: ir.Operation) -> Collective:
    given = sum(nbytes(x) for x in op.operands)
    kind, line = op.name.removeprefix("stablehlo."), file_and_line(op.location)
    if kind == "collective_permute":
        pairs = attr.elements(op.attributes["source_target_pairs"])
        moved = int((pairs[:, 0] != pairs[:, 1]).sum())
        return Collective(kind, line, 1, 2, given if moved else 0.0, given * moved)
    groups = attr.elements(op.attributes["replica_groups"])
    count, group = groups.shape
    each = given * (group - 1) if kind == "all_gather" else given * (group - 1) / group
    if kind == "all_reduce":
        each *= 2
    return Collective(kind, line, 1, group, each, each * group * count)


def _held(block: ir.Block) -> float:
    """The most bytes that are in memory at once."""
    given = sum(nbytes(a) for a in block.arguments if isinstance(a.type, ir.RankedTensorType))
    return max([float(given), *(held for _, held in held_over(block))])


def held_over(block: ir.Block) -> Iterator[tuple[ir.Operation, float]]:
    """The ops of a block in order, with the bytes that are in memory while each runs: what the block is given, and of
    what it computes what is stored, from where it is made to where it is last read."""
    last: dict[ir.Value, int] = {}
    written = [op.operation for op in block.operations]
    returned = set(written[-1].operands) if written else set()
    for place, op in enumerate(written):
        for value in _read(op):
            last[value] = place
    now = float(sum(nbytes(a) for a in block.arguments if isinstance(a.type, ir.RankedTensorType)))
    ends: dict[int, float] = {}
    for place, op in enumerate(written):
        made = sum(nbytes(r) for r in op.results if op.name not in traffic.FUSED or r in returned)
        inside = max((_held(region.blocks[0]) for region in op.regions
                      if op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case")), default=0.0)
        yield op, now + max(made, inside)
        now += made
        end = max((last.get(r, place) for r in op.results), default=place)
        ends[end] = ends.get(end, 0.0) + made
        now -= ends.pop(place, 0.0)


def _read(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.operands
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                yield from _read(inner.operation)

