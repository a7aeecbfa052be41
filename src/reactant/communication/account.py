"""Why a divided program sends what it sends: for each collective, the ops that need it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxlib.mlir import ir

from reactant.communication.partition import partition, watched
from reactant.communication.price import Collective, price_of
from reactant.communication.sharding import MeshShape, Sharding
from reactant.communication.strict import Gather
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.locations import file_and_line, joined
from reactant.ir.types import shape_of
from reactant.support.records import dataclass

JOINS = "combines what each device has computed"
READS = "reads elements that other devices own"
JOINING = frozenset({"reduce", "dot_general", "dot", "convolution", "scatter", "gather", "dynamic_slice",
                     "reduce_window", "while"})
"""Ops that are computed in parts, which are combined."""
READING = frozenset({"slice", "concatenate", "pad", "dynamic_slice", "dynamic_update_slice", "gather", "scatter",
                     "reverse", "reduce_window", "convolution", "reshape", "reduce", "sort", "fft",
                     "select_and_scatter", "transpose"})
"""Ops whose result has elements at other places than its operands."""
Given = Sequence[Sharding | None]


@dataclass(frozen=True)
class Needed:
    """A collective and why it is there."""

    collective: Collective
    why: str


def account(module: ir.Module, mesh: MeshShape, inputs: Given, outputs: Given | None = None,
            pads: bool = True) -> list[Needed]:
    """The collectives of a program as `partition` divides it, those that send most first, each kind of a line once for
    each reason. Raises `NotPartitioned` where only XLA divides it."""
    with building():
        made = partition(module, mesh, inputs, outputs, pads)
        reasons = _Reasons(module, mesh, inputs, outputs, pads)
        found: dict[tuple, Needed] = {}
        for one in price_of(made.module, mesh.devices, reasons.why).collectives:
            key = one.kind, one.line, one.why
            if key in found:
                known = found[key].collective
                count = known.count + one.count
                one = replace(known, count=count, sent=_mean(known, one, "sent"), total=_mean(known, one, "total"))
            found[key] = Needed(one, one.why)
        return sorted(found.values(), key=lambda n: -n.collective.count * n.collective.total)


def _mean(first: Collective, second: Collective, name: str) -> float:
    return float(first.count * getattr(first, name) + second.count * getattr(second, name)) \
        / (first.count + second.count)


class _Reasons:
    """The ops of a program by their locations, and what is gathered."""

    def __init__(self, module: ir.Module, mesh: MeshShape, inputs: Given, outputs: Given | None, pads: bool) -> None:
        self.names: dict[str, list[str]] = {}       # all ops of a line may have one location
        for op in modules.walk(module):
            self.names.setdefault(str(op.location), []).append(op.name.removeprefix("stablehlo."))
        plan = watched(module, mesh, inputs, outputs, pads)
        self.gathers: dict[str, list[Gather]] = {}
        for gather in plan.gathers:
            maker = ops.maker(plan.axes.resolved(gather.value))
            self.gathers.setdefault("" if maker is None else str(maker.location), []).append(gather)

    def why(self, op: ir.Operation) -> str:
        """Of a collective."""
        if op.name == "stablehlo.all_gather":
            unknown = file_and_line(op.location) is None       # of arguments
            if found := self.gathers.get("" if unknown else str(op.location)):
                return " and ".join(dict.fromkeys(map(self._gathered, found[::-1])))
        does, likely = (JOINS, JOINING) if op.name == "stablehlo.all_reduce" else (READS, READING)
        named: dict[str, list[int]] = {}
        for location in joined(op.location):
            line = file_and_line(location)
            for name in likely.intersection(self.names.get(str(location), ())):
                named.setdefault(name, []).append(line[1] if line else 0)
        who = ", ".join(f"'{name}'{_lines(lines)}" for name, lines in sorted(named.items()))
        return f"{who} {does}" if who else does

    def _gathered(self, gather: Gather) -> str:
        shape = shape_of(gather.value)
        what = " and ".join(f"dimension {d}" for d in sorted(gather.dimensions))
        if gather.reader is None:
            return f"a result of shape {shape} is to be whole along {what}"
        op = ops.maker(gather.reader)
        name = "an operation" if op is None else f"'{op.name.removeprefix('stablehlo.')}'"
        return f"{name} needs all of {what} of an array of shape {shape}"


def _lines(numbers: Sequence[int]) -> str:
    different = sorted(set(numbers) - {0})
    return f" (lines {', '.join(map(str, different))})" if len(different) > 1 else ""

