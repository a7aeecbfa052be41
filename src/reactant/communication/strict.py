"""`shard="strict"`: programs in which an array that is divided would be gathered are refused."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.automatic import NotPartitioned
from reactant.communication.plan import Box, Plan, Wanted
from reactant.errors import Related, ShardingError, Span
from reactant.ir import ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import shape_of
from reactant.support.records import dataclass


@dataclass(eq=False)
class Gather:
    """A value of which each device wants all of some divided dimensions, and the first result of the op that does;
    None: the program's results are to lie so."""

    value: ir.Value
    dimensions: frozenset[int]
    reader: ir.Value | None
    location: ir.Location | None


class Watching(Plan):
    """A plan that notes what is gathered."""

    def __init__(self, *told: object) -> None:
        super().__init__(*told)     # type: ignore[arg-type]
        self.gathers: list[Gather] = []

    def need(self, value: ir.Value, where: np.ndarray, wanted: Mapping[int, Wanted],
             cyclic: frozenset[int] = frozenset(), box: Box | None = None) -> None:
        super().need(value, where, wanted, cyclic, box)
        gathered = frozenset(d for d, g in self.divided(value).items()
                             if d not in wanted or wanted[d].grid.axes != g.axes)
        if gathered and not self.probing:
            self.gathers.append(Gather(value, gathered, self.reader, self.reading))


def require_divided(plan: Watching, results: Sequence[ir.Value], asked: Collection[int]) -> None:
    """Raise `ShardingError` where something is gathered; `asked`: results which the user wants whole."""
    wanted = {plan.axes.resolved(results[number]) for number in asked}
    found = [g for g in plan.gathers if g.reader is not None or plan.axes.resolved(g.value) not in wanted]
    if found:
        raise _refused(plan, found[-1], len(found))      # plans are made from the end


def refused(error: NotPartitioned) -> ShardingError:
    """What is said of a program that is left to XLA's partitioner."""
    return ShardingError(f"shard=\"strict\": {error.fact}, so that XLA would divide the program, and may gather whole "
                         "arrays.", hint="Take that out of the function, or leave out shard=\"strict\".",
                         code="strict-sharding", span=error.span)


def _refused(plan: Watching, gather: Gather, count: int) -> ShardingError:
    value, shape = gather.value, shape_of(gather.value)
    divided = {d: plan.axes[value][d] for d in sorted(gather.dimensions)}
    what = " and ".join(f"dimension {d} (of {shape[d]}, divided over {' and '.join(map(repr, axes))})"
                        for d, axes in divided.items())
    free = next((d for d, axes in enumerate(plan.axes[value]) if not axes and shape[d] > 1), None)
    cure = f"Divide another one, dimension {free} say" if free is not None else "Divide another array"
    if gather.reader is None:
        who, place = "a result is to lie so that each device has", file_and_line(_made_at(value))
        cure = "Say out_shardings= for it, or divide the argument that it is written into"
    else:
        op = ops.maker(gather.reader)
        name = "an operation" if op is None else f"'{op.name.removeprefix('stablehlo.')}'"
        who, place = f"{name} needs", None if gather.location is None else file_and_line(gather.location)
    return ShardingError(f"shard=\"strict\": {who} all of {what} of an array of shape {shape}.",
                         hint=f"{cure}; or leave out shard=\"strict\", and it is gathered.", code="strict-sharding",
                         span=Span.at(place),
                         related=(Related(f"{count - 1} more operations gather."),) if count > 1 else ())


def _made_at(value: ir.Value) -> ir.Location:
    made = ops.maker(value)
    return ir.Location.unknown() if made is None else made.location
