"""Why the loops that are left in a program are loops: what each iteration needs of the one before."""
from __future__ import annotations

from collections import Counter

from jaxlib.mlir import ir

from reactant.batching.analysis import reads
from reactant.batching.raising import UPDATE, Plan
from reactant.batching.roles import Recurrent
from reactant.ir import induction, modules
from reactant.rewrite.report import short_place, source_line
from reactant.support.records import dataclass

MOST_NEEDS = 6
"""Values of one loop that are named."""


@dataclass(frozen=True)
class Stayed:
    """A loop that is left: its line (`file:line`, or ""), and why."""

    place: str
    why: str

    def __str__(self) -> str:
        where = f"loop of {short_place(self.place)}" if self.place else "a loop of no line"
        return f"{where}: {self.why}"


def stayed(module: ir.Module) -> list[Stayed]:
    """The loops that are left in a module, in the order of its text."""
    return [Stayed(source_line(op.location), _why(op)) for op in modules.walk(module) if op.name == "stablehlo.while"]


def _why(loop: ir.Operation) -> str:
    plan = Plan.of(loop)
    if plan is None:
        return _uncounted(loop)
    own = [i for i, role in plan.roles.items() if isinstance(role, Recurrent)]
    if not own:
        return "its iterations could be done at once; as a loop it needs less memory or time"
    needs = Counter(_need(plan.returned[i], plan.arguments[i]) for i in own)
    said = [text + (f" ({n} values)" if n > 1 else "") for text, n in needs.most_common(MOST_NEEDS)]
    more = len(needs) - MOST_NEEDS
    said += [f"and {more} more"] if more > 0 else []
    return f"an iteration needs what the one before made: {'; '.join(said)}"


def _uncounted(loop: ir.Operation) -> str:
    found = induction.trips(loop)
    if found is not None and found.most < 2:
        return "it has one iteration at most"
    if found is not None and not found.counted or _is_computed(loop):
        return "what its iterations compute decides when it ends"
    return "how many iterations it has is only known at run time"


def _is_computed(loop: ir.Operation) -> bool:
    """Whether the condition reads carried values that are neither counters nor always the same."""
    condition, body = (region.blocks[0] for region in loop.regions)
    (predicate,), counters = condition.operations[-1].operands, induction.counters(loop)
    same = [argument == value for argument, value in
            zip(body.arguments, body.operations[-1].operands, strict=True)]
    read: set[ir.Value] = set()
    waiting = [predicate]
    while waiting:
        value = waiting.pop()
        if value not in read:
            read.add(value)
            waiting += [] if isinstance(value.owner, ir.Block) else reads(value.owner.operation)
    return any(argument in read and i not in counters and not same[i] for i, argument in enumerate(condition.arguments))


def _need(value: ir.Value, argument: ir.Value) -> str:
    """A carried value by its type, and the line that makes it."""
    made = value.owner if not isinstance(value.owner, ir.Block) else None
    kind = str(argument.type).removeprefix("tensor<").removesuffix(">").replace("x", " x ") \
        if argument.type.shape else str(argument.type.element_type)
    line = short_place(source_line(made.operation.location)) if made is not None else ""
    where = f", made in {line}" if line else ""
    if made is not None and made.operation.name == UPDATE:
        return f"elements ({kind}) that {line or 'it'} writes and later iterations read"
    return f"{kind}{where}"
