"""Integers of a kernel as forms: constant + sum of coefficient * atom, over the lanes of the launch.

An atom is an axis of the lane grid, a floor division, a choice, or a number known only at run time. Where all atoms
are axes a form is affine and a memory access with it is a slice; with choices and divisions it is still known at
compile time.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np

from reactant.kernels.lockstep.data import (
    Atom,
    Axis,
    Choice,
    Condition,
    Division,
    Domain,
    Form,
    Range,
    Run,
    combined,
    of_atom,
)

# ---- what a form depends on ----------------------------------------------------------------------------------------

def axes_of(form: Form) -> set[Axis]:
    """The axes along which a form may vary."""
    found: set[Axis] = set()
    for atom, _ in form.terms:
        found |= axes_of_atom(atom)
    return found


def axes_of_atom(atom: Atom) -> set[Axis]:
    if isinstance(atom, Axis):
        return {atom}
    if isinstance(atom, Division):
        return axes_of(atom.form)
    if isinstance(atom, Run):
        return set(atom.lanes.axes)
    return axes_of(atom.chosen) | axes_of(atom.other) | atom.condition.axes()


def is_static(form: Form) -> bool:
    """Whether the compiler knows the form for each lane."""
    return all(is_static_atom(atom) for atom, _ in form.terms)


def is_static_atom(atom: Atom) -> bool:
    if isinstance(atom, Axis):
        return True
    if isinstance(atom, Division):
        return is_static(atom.form)
    if isinstance(atom, Run):
        return False
    return is_static(atom.chosen) and is_static(atom.other) and atom.condition.is_static()


def is_affine(form: Form) -> bool:
    return all(isinstance(atom, Axis) for atom, _ in form.terms)


# ---- ranges --------------------------------------------------------------------------------------------------------

def range_of(form: Form, domain: Domain) -> Range:
    low = high = form.constant
    while len(form.terms) > 1:
        divided = [(atom, c) for atom, c in form.terms if isinstance(atom, Division)]
        divided.sort(key=lambda term: -len(term[0].form.terms))         # a remainder of remainders is one
        rest = next((r for term in divided if (r := remainder_in(form, *term)) is not None), None)
        if rest is None:
            break
        form, (least, most) = rest
        low, high = low + least, high + most
    for atom, c in form.terms:
        bounds = range_of_atom(atom, domain)
        if bounds is None:
            return None
        low += c * bounds[0 if c > 0 else 1]
        high += c * bounds[1 if c > 0 else 0]
    return low, high


def remainder_in(form: Form, atom: Division, c: int) -> tuple[Form, tuple[int, int]] | None:
    """A form with terms k x - k d floor(x / d) as what else there is in it, without the constant, and the range of k
    times the remainder."""
    if c % atom.divisor or not all(form.coefficient(a) == -c // atom.divisor * k for a, k in atom.form.terms):
        return None
    factor = -c // atom.divisor
    rest = form - (atom.form - of_atom(atom).times(atom.divisor)).times(factor)
    ends = (0, factor * (atom.divisor - 1))
    # the remainder counts the constant of what is divided, too
    shift = factor * atom.form.constant
    return Form(0, rest.terms), (min(ends) - shift, max(ends) - shift)


def range_of_atom(atom: Atom, domain: Domain) -> Range:
    if isinstance(atom, Axis):
        span = domain.get(atom)
        return (0, atom.extent - 1) if span is None else (span.low, span.last)
    if isinstance(atom, Run):
        return atom.bounds
    if isinstance(atom, Division):
        bounds = range_of(atom.form, domain)
        return None if bounds is None else (bounds[0] // atom.divisor, bounds[1] // atom.divisor)
    if atom.bounds is not None:
        return atom.bounds
    chosen = bounds_of(atom.chosen, domain, facts_of(atom.condition))
    other = bounds_of(atom.other, domain, facts_of(atom.condition.negated()))
    if chosen is None or other is None:
        return None
    return min(chosen[0], other[0]), max(chosen[1], other[1])


Facts = Sequence[Form]
"""Forms that are not negative wherever an access happens."""


def facts_of(condition: Condition) -> tuple[Form, ...]:
    """Forms that are not negative where a condition holds."""
    return condition.facts()


def bounds_of(form: Form, domain: Domain, facts: Facts) -> Range:
    """The range of a form where the facts hold."""
    bounds = range_of(form, domain)
    if bounds is None or not form.terms:
        return bounds
    return -_most(form.times(-1), -bounds[0], domain, facts), _most(form, bounds[1], domain, facts)


def _most(form: Form, most: int, domain: Domain, facts: Facts) -> int:
    """The most that a form is, which is at most `most`: adding what is not negative takes terms away. What each fact
    says by itself is always seen, then what several say together, the best first."""
    while True:
        best: tuple[int, Form] | None = None
        for fact in facts:
            if not fact.terms:
                continue
            atom, c = fact.terms[0]
            coefficient = form.coefficient(atom)
            factor = -(coefficient // c)
            if factor <= 0 or coefficient % c:
                continue
            larger = combined(form, fact, factor)
            bounds = range_of(larger, domain)
            if bounds is not None and bounds[1] < (most if best is None else best[0]):
                best = bounds[1], larger
        if best is None:
            return most
        most, form = best


def assuming(form: Form, condition: Condition, holds: bool) -> Form:
    """The form where a condition holds, or where it does not."""
    result = Form(form.constant)
    for atom, c in form.terms:
        part = of_atom(atom)
        if isinstance(atom, Choice) and atom.condition == condition:
            part = assuming(atom.chosen if holds else atom.other, condition, holds)
        elif isinstance(atom, Choice):
            part = choice(atom.condition, assuming(atom.chosen, condition, holds),
                          assuming(atom.other, condition, holds), atom.bounds)
        result = combined(result, part, c)
    return result


def within(bounds: Range, low: int, high: int) -> bool:
    """Whether a range is known and lies in low..high."""
    return bounds is not None and low <= bounds[0] and bounds[1] <= high


# ---- arithmetic that is not affine ---------------------------------------------------------------------------------

def floor_division(form: Form, divisor: int, domain: Domain) -> Form:
    """floor(form / divisor) for a positive divisor, as far as ranges and common factors tell."""
    if divisor == 1:
        return form
    whole = Form(form.constant // divisor, tuple((a, c // divisor) for a, c in form.terms if c % divisor == 0))
    rest = Form(form.constant % divisor, tuple((a, c) for a, c in form.terms if c % divisor))
    bounds = range_of(rest, domain)
    if bounds is not None and bounds[0] // divisor == bounds[1] // divisor:
        return whole.plus(bounds[0] // divisor)
    if not rest.terms:
        return whole
    factor = gcd(divisor, *(abs(c) for _, c in rest.terms))
    rest = Form(rest.constant // factor, tuple((a, c // factor) for a, c in rest.terms))
    divisor //= factor
    if len(rest.terms) == 1 and not rest.constant and rest.terms[0][1] == 1 and isinstance(rest.terms[0][0], Division):
        inner = rest.terms[0][0]
        return whole + floor_division(inner.form, inner.divisor * divisor, domain)
    return whole + of_atom(Division(rest, divisor)) if divisor > 1 else whole + rest


def at_domain(form: Form, domain: Domain) -> Form:
    """The form with axes of one place replaced by it and divisions done that the domain decides."""
    result = Form(form.constant)
    for atom, c in form.terms:
        if isinstance(atom, Axis) and atom in domain and domain[atom].count == 1:
            result = result.plus(c * domain[atom].low)
        elif isinstance(atom, Division):
            result = result + floor_division(at_domain(atom.form, domain), atom.divisor, domain).times(c)
        elif isinstance(atom, Choice):
            result = result + _choice_at(atom, domain).times(c)
        else:
            result = combined(result, Form(0, ((atom, 1),)), c)
    return result


def _choice_at(atom: Choice, domain: Domain) -> Form:
    condition = atom.condition.at_domain(domain)
    known = condition.known
    if known is not None:
        return at_domain(atom.chosen if known else atom.other, domain)
    return choice(condition, at_domain(atom.chosen, domain), at_domain(atom.other, domain), atom.bounds)


def choice(condition: Condition, chosen: Form, other: Form, bounds: Range = None) -> Form:
    """The form that is `chosen` where the condition holds."""
    if chosen == other:
        return chosen
    return of_atom(Choice(condition, chosen, other, bounds))


# ---- contents ------------------------------------------------------------------------------------------------------

KNOWN_ELEMENTS = 1 << 18
"""Static forms are evaluated for all their lanes up to this many."""
KNOWN_PLACES = 1 << 22
"""Those of one axis up to this many: what wraps around or stays at an edge is a few progressions."""


def content(form: Form, domain: Domain, axes: tuple[Axis, ...]) -> np.ndarray:
    """The values of a static form over the places of `axes`, in their order."""
    places = spread(domain, axes)
    return np.broadcast_to(evaluated(form, places), tuple(domain[a].count for a in axes))


def spread(domain: Domain, axes: tuple[Axis, ...]) -> dict[Axis, np.ndarray]:
    """The places of each axis, shaped to broadcast against each other."""
    return {a: domain[a].places().reshape([-1 if b is a else 1 for b in axes]) for a in axes}


def evaluated(form: Form, places: Mapping[Axis, np.ndarray]) -> np.ndarray:
    total: np.ndarray = np.int64(form.constant)
    for atom, c in form.terms:
        total = total + c * _evaluated_atom(atom, places)
    return total


def _evaluated_atom(atom: Atom, places: Mapping[Axis, np.ndarray]) -> np.ndarray:
    if isinstance(atom, Axis):
        return places[atom]
    if isinstance(atom, Division):
        return evaluated(atom.form, places) // atom.divisor
    assert isinstance(atom, Choice)
    return np.where(atom.condition.evaluated(places), evaluated(atom.chosen, places), evaluated(atom.other, places))


def divisions(form: Form) -> list[Division]:
    """All divisions inside a form."""
    found: list[Division] = []
    for atom, _ in form.terms:
        if isinstance(atom, Division):
            found += [atom, *divisions(atom.form)]
        elif isinstance(atom, Choice):
            found += [*divisions(atom.chosen), *divisions(atom.other),
                      *(d for f in atom.condition.forms() for d in divisions(f))]
    return found

