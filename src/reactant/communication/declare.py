"""What a rule says of an op: which dimensions go together, what is needed of operands, and the op of one device."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jaxlib.mlir import ir

from reactant.communication.axes import Tie
from reactant.communication.blocks import Demand, Grid
from reactant.communication.emission import Part
from reactant.communication.local_program import LocalProgram
from reactant.communication.plan import Plan
from reactant.ir.types import shape_of


class Rule:
    """How an op is computed on parts of arrays. As it stands: on whole operands, by every device."""

    def ties(self, op: ir.Operation) -> Iterable[Tie]:
        """Dimensions of operands and results that are divided alike."""
        return ()

    def enter(self, plan: Plan, op: ir.Operation) -> None:
        """Choose the blocks of the values in an op's regions."""

    def grid(self, plan: Plan, op: ir.Operation, result: ir.Value, dimension: int) -> Grid | None:
        """The blocks of a dimension that some axes divide; None where every device has all of it. `plan.free` where it
        can be had in any blocks."""
        return None

    def movable(self, plan: Plan, op: ir.Operation) -> bool:
        """Whether more of the results than what devices own can be computed."""
        return True

    def together(self, plan: Plan, op: ir.Operation) -> bool:
        """Whether devices tell one another what they have of the results: each the same elements, then."""
        return False

    def goes_round(self, op: ir.Operation, dimension: int) -> bool:
        """Whether a result around the ends of a cyclic dimension is computed from operands that are known there."""
        return False

    def demand(self, plan: Plan, op: ir.Operation, demands: Sequence[Demand | None]) -> None:
        """Say what is needed of the operands, where this is needed of the results (None: nothing)."""
        everyone = plan.everyone
        for operand in op.operands:
            plan.need(operand, everyone, {})

    def emit(self, program: LocalProgram, op: ir.Operation) -> Sequence[Part]:
        """Write the op for one device."""
        return program.on_whole(op)


def alike(first: ir.Value, *others: ir.Value) -> Iterable[Tie]:
    """The ties of values of one rank, each of whose dimensions is divided as it is in the others."""
    for d in range(len(shape_of(first))):
        yield [(value, d) for value in (first, *others)]


_rules: dict[str, Rule] = {}
WHOLE = Rule()


def rule(*names: str) -> Callable[[type[Rule]], type[Rule]]:
    """Declare a class as the rule of these ops, of StableHLO where no other dialect is named."""
    def declare(kind: type[Rule]) -> type[Rule]:
        made = kind()
        for name in names:
            _rules[name if "." in name else f"stablehlo.{name}"] = made
        return kind
    return declare


def rule_of(op: ir.Operation) -> Rule:
    """The rule of an op."""
    return _rules.get(op.name, WHOLE)
