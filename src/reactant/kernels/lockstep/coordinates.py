"""Lanes by block and thread: each axis of a machine as the number of the block and that of the thread in it, whether or
not the machine tells them apart. For index tables; no lanes are made over these axes."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from reactant.kernels.lockstep.conditions import Compare, Several, both, either
from reactant.kernels.lockstep.data import Axis, Choice, Condition, Division, Form, Span, combined, of_atom
from reactant.kernels.lockstep.forms import at_domain, axes_of, choice, floor_division
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Coordinates:
    """`forms`: a machine's axis in coordinates; `back`: a coordinate in a machine's axes; `domain`: all coordinates at
    their full extents; `blocks`: those that tell blocks apart."""

    forms: Mapping[Axis, Form]
    back: Mapping[Axis, Form]
    domain: Mapping[Axis, Span]
    blocks: frozenset[Axis]

    def machine_axes(self, axis: Axis) -> tuple[Axis, ...]:
        """The machine's axes that a coordinate is part of; axes of loops are their own."""
        return (axis,) if axis not in self.back else tuple(axes_of(self.back[axis]))

    def of_form(self, form: Form) -> Form:
        """A static form over coordinates."""
        result = Form(form.constant)
        for atom, c in form.terms:
            if isinstance(atom, Axis):
                part = self.forms.get(atom, of_atom(atom))
            elif isinstance(atom, Division):
                part = floor_division(self.of_form(atom.form), atom.divisor, self.domain)
            else:
                assert isinstance(atom, Choice)
                part = choice(self.of_condition(atom.condition), self.of_form(atom.chosen), self.of_form(atom.other),
                              atom.bounds)
            result = combined(result, part, c)
        return at_domain(result, self.domain)

    def of_condition(self, condition: Condition) -> Condition:
        """A static condition over coordinates."""
        if isinstance(condition, Compare):
            return Compare(self.of_form(condition.form), condition.kind).at_domain(self.domain)
        if isinstance(condition, Several):
            parts = [self.of_condition(part) for part in condition.parts]
            return both(*parts) if condition.every else either(*parts)
        return condition


def coordinates(axes: Sequence[Axis], grid: Sequence[int], block: Sequence[int]) -> Coordinates | None:
    """None where an axis lies across blocks and threads in another way than one after the other."""
    forms: dict[Axis, Form] = {}
    back: dict[Axis, Form] = {}
    domain: dict[Axis, Span] = {}
    blocks: set[Axis] = set()
    for axis in axes:
        d = axis.dimension
        if grid[d] == 1 or axis.radix * axis.extent <= block[d]:
            found = [axis]
        elif axis.radix % block[d] == 0:
            found = [axis]
            blocks.add(axis)
        elif axis.radix == 1 and axis.extent == grid[d] * block[d]:
            outer = Axis(f"block {axis.name}", grid[d], axis.order, d, block[d])
            inner = Axis(f"thread {axis.name}", block[d], axis.order, d)
            forms[axis] = of_atom(outer).times(block[d]) + of_atom(inner)
            quotient = floor_division(of_atom(axis), block[d], {})
            back[outer], back[inner] = quotient, of_atom(axis) - quotient.times(block[d])
            domain |= {outer: Span(0, grid[d]), inner: Span(0, block[d])}
            blocks.add(outer)
            continue
        else:
            return None
        for a in found:
            back[a], domain[a] = of_atom(a), Span(0, a.extent)
    return Coordinates(forms, back, domain, frozenset(blocks))


def outside_span(axis: Axis, span: Span) -> list[Condition]:
    """That an axis is at a place of a span."""
    at = of_atom(axis)
    found: list[Condition] = [] if span.low == 0 else [Compare(at.plus(-span.low), "GE")]
    if span.last < axis.extent - 1:
        found.append(Compare(Form(span.last) - at, "GE"))
    if span.step > 1 and span.count > 1:
        rest = at.plus(-span.low)
        found.append(Compare(rest - floor_division(rest, span.step, {}).times(span.step), "EQ"))
    return found
