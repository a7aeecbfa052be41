"""Conditions of a kernel: which lanes do something. What bounds an axis narrows the domain; the rest becomes a mask."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reactant.kernels.lockstep.data import Axis, Condition, Domain, Form, Lanes, Span
from reactant.kernels.lockstep.forms import KNOWN_PLACES, at_domain, axes_of, evaluated, is_static, range_of, spread
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Known(Condition):
    value: bool

    @property
    def known(self) -> bool:
        return self.value

    def axes(self) -> set[Axis]:
        return set()

    def is_static(self) -> bool:
        return True

    def forms(self) -> list[Form]:
        return []

    def at_domain(self, domain: Domain) -> Condition:
        return self

    def evaluated(self, places: Mapping[Axis, np.ndarray]) -> np.ndarray:
        return np.bool_(self.value)

    def negated(self) -> Condition:
        return FALSE if self.value else TRUE


TRUE, FALSE = Known(True), Known(False)


@dataclass(frozen=True)
class Compare(Condition):
    """form >= 0 (GE), form == 0 (EQ) or form != 0 (NE)."""

    form: Form
    kind: str

    def axes(self) -> set[Axis]:
        return axes_of(self.form)

    def is_static(self) -> bool:
        return is_static(self.form)

    def forms(self) -> list[Form]:
        return [self.form]

    def facts(self) -> tuple[Form, ...]:
        return (self.form,) if self.kind == "GE" else ()

    def at_domain(self, domain: Domain) -> Condition:
        form = at_domain(self.form, domain)
        bounds = range_of(form, domain)
        if bounds is not None:
            low, high = bounds
            if self.kind == "GE" and (low >= 0 or high < 0):
                return TRUE if low >= 0 else FALSE
            if self.kind != "GE" and (low > 0 or high < 0):
                return TRUE if self.kind == "NE" else FALSE
            if self.kind != "GE" and low == high == 0:
                return FALSE if self.kind == "NE" else TRUE
            if self.kind == "NE" and (low == 0 or high == 0):                # at an end of its range: an inequality
                return Compare(form.times(1 if low == 0 else -1).plus(-1), "GE")
        return self if form == self.form else Compare(form, self.kind)

    def evaluated(self, places: Mapping[Axis, np.ndarray]) -> np.ndarray:
        value = evaluated(self.form, places)
        return value >= 0 if self.kind == "GE" else value == 0 if self.kind == "EQ" else value != 0

    def negated(self) -> Condition:
        if self.kind == "GE":
            return Compare(self.form.times(-1).plus(-1), "GE")
        return Compare(self.form, "NE" if self.kind == "EQ" else "EQ")


@dataclass(frozen=True)
class Given(Condition):
    """One known only at run time; `lanes` holds booleans."""

    lanes: Lanes
    negative: bool = False

    def axes(self) -> set[Axis]:
        return set(self.lanes.axes)

    def is_static(self) -> bool:
        return False

    def forms(self) -> list[Form]:
        return []

    def at_domain(self, domain: Domain) -> Condition:
        return self

    def negated(self) -> Condition:
        return Given(self.lanes, not self.negative)


@dataclass(frozen=True)
class Several(Condition):
    """All of the parts, or some of them."""

    parts: tuple[Condition, ...]
    every: bool

    def axes(self) -> set[Axis]:
        return set().union(*(part.axes() for part in self.parts))

    def is_static(self) -> bool:
        return all(part.is_static() for part in self.parts)

    def forms(self) -> list[Form]:
        return [form for part in self.parts for form in part.forms()]

    def facts(self) -> tuple[Form, ...]:
        return tuple(form for part in self.parts for form in part.facts()) if self.every else ()

    def at_domain(self, domain: Domain) -> Condition:
        parts = [part.at_domain(domain) for part in self.parts]
        return both(*parts) if self.every else either(*parts)

    def evaluated(self, places: Mapping[Axis, np.ndarray]) -> np.ndarray:
        first, *others = (part.evaluated(places) for part in self.parts)
        for other in others:
            first = first & other if self.every else first | other
        return first

    def negated(self) -> Condition:
        return Several(tuple(part.negated() for part in self.parts), not self.every)


def both(*parts: Condition) -> Condition:
    """All of them hold."""
    return _joined(parts, True)


def either(*parts: Condition) -> Condition:
    """At least one holds."""
    return _joined(parts, False)


def _joined(parts: Sequence[Condition], every: bool) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        if part.known is not None:
            if part.known != every:
                return part
            continue
        inner = part.parts if isinstance(part, Several) and part.every == every else (part,)
        flat += [each for each in inner if each not in flat]
    # p and (p or q) is p, p or (p and q) is p
    flat = [part for part in flat if not (isinstance(part, Several) and part.every != every
                                          and any(inner in flat for inner in part.parts))]
    if not flat:
        return TRUE if every else FALSE
    return flat[0] if len(flat) == 1 else Several(tuple(flat), every)


def at_least(x: Form, y: Form) -> Condition:
    return Compare(x - y, "GE")


def terms_of(condition: Condition) -> tuple[Condition, ...]:
    """The parts of which all hold."""
    if condition.known:
        return ()
    return condition.parts if isinstance(condition, Several) and condition.every else (condition,)


# ---- narrowing -----------------------------------------------------------------------------------------------------

def narrowed(domain: Domain, condition: Condition, depth: int = 3) -> tuple[dict[Axis, Span], Condition] | None:
    """A domain and what is left of the condition on it, together the lanes of `domain` for which it holds; None where
    there are none."""
    spans = dict(domain)
    parts: Sequence[Condition] = (condition,)
    for _ in range(8):
        before = dict(spans)
        joined = both(*parts).at_domain(spans)
        if joined.known is False:
            return None
        parts = joined.parts if isinstance(joined, Several) and joined.every else (joined,)
        left: list[Condition] = []
        for part in parts:
            kept = _narrow(spans, part)
            if kept is None:
                return None
            left.append(kept)
        parts = left
        if spans == before:
            break
    remaining = both(*parts).at_domain(spans)
    if remaining.known is False:
        return None
    decided = _decided(spans, remaining) if depth else remaining
    if decided is None:
        return None
    return (spans, remaining) if decided is remaining else narrowed(spans, decided, depth - 1)


MOST_ALTERNATIVES = 6


def _decided(spans: Domain, condition: Condition) -> Condition | None:
    """A condition without the alternatives that the rest of it rules out; itself where there are none, None where it
    never holds."""
    parts = list(terms_of(condition))
    for k, part in enumerate(parts):
        if not isinstance(part, Several) or part.every or not part.is_static() or len(part.parts) > MOST_ALTERNATIVES:
            continue
        others = [other for n, other in enumerate(parts) if n != k and other.is_static()]
        depth = 1 if len(parts) < 4 else 0
        left = [way for way in part.parts if narrowed(spans, both(way, *others), depth) is not None]
        if not left:
            return None
        for way in list(left):                           # what another alternative covers is none of its own
            if any(narrowed(spans, both(way, other.negated(), *others), depth) is None
                   for other in left if other is not way):
                left.remove(way)
        if len(left) < len(part.parts):
            return both(*parts[:k], either(*left), *parts[k + 1:])
    return condition


def _narrow(spans: dict[Axis, Span], part: Condition) -> Condition | None:
    """Narrow spans in place by one condition; what is left of it, None where it never holds."""
    part = part.at_domain(spans)
    if part.known is not None:
        return part if part.known else None
    if isinstance(part, Compare) and part.kind in ("GE", "EQ"):
        for sign in (1, -1) if part.kind == "EQ" else (1,):
            if not _bounded(spans, part.form.times(sign)):
                return None
    part = part.at_domain(spans)
    if part.known is not None:
        return part if part.known else None
    return _by_table(spans, part)


def _bounded(spans: dict[Axis, Span], form: Form) -> bool:
    """Narrow the axes of an inequality form >= 0, each as if the others were as favourable as they can be."""
    for atom, c in form.terms:
        if not isinstance(atom, Axis) or atom not in spans:
            continue
        others = Form(form.constant, tuple((a, k) for a, k in form.terms if a is not atom))
        bounds = range_of(others, spans)
        if bounds is None:
            continue
        span = spans[atom]
        limit = -(bounds[1] // c) if c > 0 else bounds[1] // -c      # c x + most >= 0
        if c > 0:
            skipped = max(0, -(-(limit - span.low) // span.step))
            span = Span(span.low + skipped * span.step, span.count - skipped, span.step)
        elif limit < span.last:
            span = Span(span.low, (limit - span.low) // span.step + 1, span.step)
        if span.count <= 0:
            return False
        spans[atom] = span
    return True


def _by_table(spans: dict[Axis, Span], part: Condition) -> Condition | None:
    """Narrow by a static condition of one axis, where it holds for an arithmetic progression of places."""
    axes = part.axes() & set(spans)
    if len(axes) != 1 or not part.is_static():
        return part
    (axis,) = axes
    span = spans[axis]
    if span.count > KNOWN_PLACES:
        return part
    truth = np.broadcast_to(part.evaluated(spread(spans, (axis,))), (span.count,))
    found = np.flatnonzero(truth)
    if not found.size:
        return None
    steps = np.diff(found)
    step = int(steps[0]) if steps.size else 1
    if steps.size and (steps != step).any():
        return part
    spans[axis] = Span(span.low + int(found[0]) * span.step, int(found.size), span.step * step)
    return TRUE
