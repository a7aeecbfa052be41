"""`shard="auto"`: how a program's arguments lie, chosen by what it is estimated to take.

What is divided decides what moves, and one array mostly decides how the others lie. So each way to divide one of the
largest arrays is tried, the rest following from the program; from the best of them on, one argument after the other is
tried otherwise, as long as that is worth it. A try is the program divided by our partitioner (`price`), and the time
that a machine takes for it (`roofline`); XLA compiles the best few, to see what they really send.
"""
from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.automatic import NotPartitioned
from reactant.communication.executable import MeshExecutable
from reactant.communication.machines import Machine, machine_of
from reactant.communication.placement import Placement
from reactant.communication.price import Collective, Price, price_of
from reactant.communication.roofline import Time, time_of
from reactant.communication.sharding import MeshShape, Sharding
from reactant.communication.traffic import Traffic
from reactant.errors import ReactantError, in_one_line
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import nbytes, shape_of
from reactant.runtime.meshes import axes_of
from reactant.support import progress
from reactant.support.records import dataclass

SEARCHING, ALTOGETHER = 12.0, 24.0
"""Seconds after which nothing more is tried, and nothing more compiled."""
SEEDS, BEAM, CONFIRMED, SHOWN, MOST_WAYS = 4, 2, 3, 4, 16
"""Of how many of the largest arrays each way is tried; from how many of these the search goes on; how many XLA
compiles, and `explain` shows; ways of one array."""
WORTH_IT = 0.99
FULL = 0.9
"""The part of a device's memory that a program may take."""

Given = tuple[Sharding | None, ...]


@dataclass(frozen=True)
class Candidate:
    """One way in which the arguments lie. moved: what XLA has compiled moves, where it has."""

    inputs: tuple[Sharding, ...]
    price: Price
    time: Time
    fits: bool
    moved: Traffic | None = None

    @property
    def rank(self) -> tuple[bool, float]:
        """What is better is less."""
        return not self.fits, self.time.total


@dataclass(frozen=True)
class Choice:
    """What was compared, the chosen one first; `whole`: everything on each device."""

    labels: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    whole: Candidate
    tried: int
    seconds: float
    machine: str
    failed: tuple[str, ...] = ()
    """What the partitioner said of ways that it could not take."""

    @property
    def chosen(self) -> Candidate:
        return self.candidates[0]

    def __str__(self) -> str:
        lines = [f"arguments lie as is estimated best of {self.tried} ways on {self.chosen.price.devices} devices "
                 f"({self.machine}), found in {self.seconds:.1f} s:",
                 f"    {'time':>9} = {'computing':>9} + {'sending':>9}  {'sent, all':>10}  {'messages':>8}  "
                 f"{'memory':>8}  XLA says"]
        shown = self.candidates[:SHOWN]
        for candidate in (*shown, *(() if self.whole in shown else (self.whole,))):
            lines.append("    " + self._row(candidate))
        if self.failed:
            lines.append(f"    {len(self.failed)} ways could not be tried: {self.failed[0]}")
        return "\n".join(lines)

    def _row(self, candidate: Candidate) -> str:
        found, price = candidate.time, candidate.price
        ways = ", ".join(f"{label} {sharding}" for label, sharding in zip(self.labels, candidate.inputs, strict=True)
                         if not sharding.is_replicated) or "everything whole on each device"
        said = "" if candidate.moved is None else f"{_amount(candidate.moved.bytes)} in {candidate.moved.count}"
        return (f"{_time(found.total):>9} = {_time(found.computing):>9} + {_time(found.sending):>9}  "
                f"{_amount(price.total):>10}  {price.count:8.0f}  {_amount(price.held):>8}  {said:14}  {ways}"
                f"{'' if candidate.fits else ' (does not fit into the memory)'}")


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def _amount(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


_KNOWN: OrderedDict[tuple, Choice] = OrderedDict()
"""Choices made lately: a program is mostly explained after it has run."""
KEPT = 32


def chosen(module: ir.Module, general: bytes | None, placement: Placement, labels: Sequence[str], *,
           name: str = "main", written: Mapping[int, int] | None = None,
           callbacks: Sequence[Callable] = ()) -> tuple[Placement, Choice]:
    """The placement with shardings of all arguments, and what was compared.

    module, general: as in `placement.partitioned`. labels: what arguments are called. written: the results that lie as
    arguments do, by the numbers of these. Arguments of which the placement has a sharding keep it.
    """
    with building():
        key = (general or modules.bytecode(module), placement, tuple(labels))
        found = _KNOWN.get(key)
        if found is None:
            with progress.step(f"choosing how the arguments of {name!r} lie"):
                found = _Search(module, general, placement, labels, name, callbacks).best()
            _KNOWN[key] = found
            while len(_KNOWN) > KEPT:
                _KNOWN.popitem(last=False)
    arguments = tuple(given or placement.named(sharding) for given, sharding in
                      zip(placement.arguments, found.chosen.inputs, strict=True))
    results = list(placement.results)
    for argument, result in (written or {}).items():
        results[result] = arguments[argument]
    return replace(placement, arguments=arguments, results=tuple(results)), found


class _Search:
    """One search; ways that have been tried are not tried again."""

    def __init__(self, module: ir.Module, general: bytes | None, placement: Placement, labels: Sequence[str], name: str,
                 callbacks: Sequence[Callable]) -> None:
        self.begun = time.monotonic()
        self.given, self.labels, self.name, self.callbacks = placement, tuple(labels), name, tuple(callbacks)
        self.module, self.general = module, general
        self.source = module if general is None else modules.parse(general)
        self.mesh = placement.shape
        device = placement.mesh.devices.flat[0]
        self.machine: Machine = machine_of(device.device_kind, device.platform)
        block = modules.function(self.source).regions[0].blocks[0]
        self.shapes = [shape_of(a) for a in block.arguments]
        self.bytes = [nbytes(a) for a in block.arguments]
        results = list(block.operations)[-1].operands
        self.fixed: Given = tuple(_ours(s, len(shape)) for s, shape in
                                  zip(placement.arguments, self.shapes, strict=True))
        self.outputs: Given = tuple(_ours(s, len(shape_of(v))) for s, v in
                                    zip(placement.results, results, strict=True))
        self.free = sorted((n for n, s in enumerate(self.fixed) if s is None and ways(self.shapes[n], self.mesh)),
                           key=lambda n: -self.bytes[n])
        self.tried: dict[Given, Candidate | None] = {}
        self.failed: list[str] = []
        self.left_to_xla = False

    def best(self) -> Choice:
        """Search, confirm, and put what was found in order."""
        whole = self.candidate(tuple(s or Sharding.replicated(len(shape)) for s, shape in
                                     zip(self.fixed, self.shapes, strict=True)))
        if whole is None:
            raise ReactantError(f"shard=\"auto\": '{self.name}' cannot be put on {self.mesh}: {self.failed[0]}",
                                hint="Give in_shardings, or a smaller mesh.", code="auto-sharding")
        for number in self.free[:1 if self.left_to_xla else SEEDS]:
            for way in ways(self.shapes[number], self.mesh):
                if self.seconds() < SEARCHING:
                    self.candidate(_with(self.fixed, number, way))
        if not self.left_to_xla:
            for start, found in sorted(self.known(), key=lambda item: item[1].rank)[:BEAM]:
                self.improve(start, found)
        different: dict[tuple, Candidate] = {}
        for _, each in sorted(self.known(), key=lambda item: item[1].rank):
            different.setdefault(each.inputs, each)
        best = self.confirmed(list(different.values()))
        return Choice(self.labels, tuple(best), whole, len(different), self.seconds(), self.machine.name,
                      tuple(self.failed))

    def known(self) -> list[tuple[Given, Candidate]]:
        """What has been tried."""
        return [(given, found) for given, found in self.tried.items() if found is not None]

    def seconds(self) -> float:
        """For how long the search has gone on."""
        return time.monotonic() - self.begun

    def improve(self, given: Given, best: Candidate) -> None:
        """Try other ways for one argument after the other, and keep what is better."""
        better = True
        while better:
            better = False
            for number in self.free:
                whole = Sharding.replicated(len(self.shapes[number]))
                for way in (*ways(self.shapes[number], self.mesh), whole):
                    if way == best.inputs[number] or self.seconds() >= SEARCHING:
                        continue
                    other = _with(given, number, way)
                    if other in self.tried or (found := self.candidate(other)) is None:
                        continue
                    if found.rank < (not best.fits, WORTH_IT * best.time.total):
                        best, given, better = found, other, True

    def candidate(self, given: Given) -> Candidate | None:
        """The program where some arguments lie so, the others as it comes; None where that cannot be done."""
        if given not in self.tried:
            try:
                self.tried[given] = self._divided(given) if not self.left_to_xla else self._by_xla(given)
            except Exception as error:  # noqa: BLE001 - the search goes on with other ways; `explain` tells
                self.tried[given] = None
                self.failed.append(f"{type(error).__name__}: {in_one_line(error)}".splitlines()[0])
        return self.tried[given]

    def _divided(self, given: Given) -> Candidate:
        from reactant.communication.partition import partition  # which takes 12 ms to load
        try:
            made = partition(self.source, self.mesh, given, self.outputs, self.given.pads)
        except NotPartitioned:
            self.left_to_xla = True
            return self._by_xla(given)
        return self._of(tuple(made.inputs), price_of(made.module, self.mesh.devices))

    def _of(self, inputs: tuple[Sharding, ...], price: Price, moved: Traffic | None = None) -> Candidate:
        return Candidate(inputs, price, time_of(price, self.machine), price.held <= FULL * self.machine.capacity, moved)

    def _compiled(self, given: Given) -> MeshExecutable:
        named = tuple(None if s is None else self.given.named(s) for s in given)
        return MeshExecutable(self.module, replace(self.given, arguments=named), name=self.name, general=self.general,
                              callbacks=self.callbacks)

    def _by_xla(self, given: Given) -> Candidate:
        """The same of a program that only XLA divides: compiled, and looked at."""
        made = self._compiled(given)
        moved, costs, sizes = made.traffic(), made.cost_analysis(), made.memory_analysis()
        held = 0 if sizes is None else sizes.argument_size_in_bytes + sizes.output_size_in_bytes \
            + sizes.temp_size_in_bytes
        price = Price(self.mesh.devices, costs.get("flops", 0.0), 0.0, costs.get("bytes accessed", 0.0), float(held),
                      of_traffic(moved))
        return self._of(tuple(made.partitioned.inputs), price, moved)

    def confirmed(self, found: list[Candidate]) -> list[Candidate]:
        """The candidates in their order, the best few by what they move as XLA has compiled them."""
        count, longest = 0, 0.0
        for place, each in enumerate(found):
            if count == CONFIRMED or self.seconds() + longest > ALTOGETHER:
                break
            if each.moved is None and each.price.collectives and each.fits:
                begun = time.monotonic()
                moved = self._compiled(each.inputs).traffic()
                price = replace(each.price, collectives=of_traffic(moved))
                found[place] = replace(each, moved=moved, time=time_of(price, self.machine))
                longest = max(longest, time.monotonic() - begun)
            count += 1
        return sorted(found, key=lambda c: c.rank)


def of_traffic(moved: Traffic) -> tuple[Collective, ...]:
    """What XLA has compiled, as collectives that all devices take part in alike."""
    return tuple(Collective(m.kind.replace("-", "_"), m.line, m.count, moved.devices,
                            m.bytes / m.count / moved.devices, m.bytes / m.count) for m in moved.moved if m.count)


def ways(shape: Sequence[int], mesh: MeshShape) -> list[Sharding]:
    """How an array can be divided so that each device has some of it: each axis of the mesh divides one dimension, or
    none. Those that divide most come first, and of these those that divide longer dimensions."""
    found: dict[Sharding, tuple[int, int]] = {}
    if not all(shape):
        return []
    names = [name for name, count in zip(mesh.names, mesh.sizes, strict=True) if count > 1]
    for places in itertools.product((*range(len(shape)), None), repeat=len(names)):
        axes = tuple(tuple(n for n, p in zip(names, places, strict=True) if p == d) for d in range(len(shape)))
        way = Sharding(axes)
        if not way.is_replicated and all(n >= k for n, k in zip(shape, way.parts(mesh), strict=True)):
            parts = int(np.prod(way.parts(mesh)))
            found[way] = (-parts, -sum(n for n, a in zip(shape, axes, strict=True) if a))
    return sorted(found, key=lambda way: found[way])[:MOST_WAYS]


def _with(given: Given, number: int, way: Sharding) -> Given:
    return (*given[:number], way, *given[number + 1:])


def _ours(sharding: Any, rank: int) -> Sharding | None:
    return None if sharding is None else Sharding(axes_of(sharding, rank))
