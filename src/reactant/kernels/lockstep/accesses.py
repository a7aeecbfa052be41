"""Where an access lies: a flat index, a form over lanes, split into the dimensions of the memory.

`A[i*m + j]` of an (n, m) array lies at (i, j) if j stays below m on the domain. Which shape recovers the most is tried:
the one the memory's owner gave, the one the index's own coefficients suggest, the flat one.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reactant.ir.types import size
from reactant.kernels.lockstep.conditions import TRUE
from reactant.kernels.lockstep.data import Axis, Choice, Division, Domain, Form, Range, Run, of_atom
from reactant.kernels.lockstep.forms import KNOWN_PLACES, Facts, axes_of, bounds_of, content, is_static, range_of
from reactant.support.records import dataclass

PADDING = 4096
"""Memory is padded by at most twice its own elements and these, so that a window at a run-time place is a slice."""
PIECES = 6
"""At most so many slices for one dimension of a read whose index is piecewise linear (wrapped, clamped)."""


@dataclass(frozen=True)
class Term:
    """One axis of a window: `count` places, `stride` apart; `flipped` when the index falls along the axis."""

    axis: Axis
    stride: int
    count: int
    flipped: bool


@dataclass(frozen=True)
class Window:
    """Places start + sum of stride * place; `dynamic`: what run-time values add to the start."""

    start: int
    terms: tuple[Term, ...]
    dynamic: Form | None = None

    @property
    def last(self) -> int:
        return self.start + sum(t.stride * (t.count - 1) for t in self.terms)

    @property
    def width(self) -> int:
        return self.last - self.start + 1

    @property
    def regular(self) -> bool:
        """Whether its places are one progression."""
        return all(outer.stride == t.stride * t.count for outer, t in zip(self.terms, self.terms[1:], strict=False))

    @property
    def stride(self) -> int:
        """The step of a regular window."""
        return self.terms[-1].stride if self.terms else 1

    @property
    def count(self) -> int:
        return size([t.count for t in self.terms])

    @property
    def dense(self) -> bool:
        """Whether it has every place from the first to the last once."""
        return self.regular and self.stride == 1

    def starts(self, domain: Domain) -> Range:
        """The range of the first place over a run."""
        if self.dynamic is None:
            return self.start, self.start
        bounds = range_of(self.dynamic, domain)
        return None if bounds is None else (bounds[0] + self.start, bounds[1] + self.start)


@dataclass(frozen=True)
class Pieces:
    """Progressions (first, step, count) of places along one axis (or several as one), one after the other; those that
    begin before the first place are `fill`."""

    axes: tuple[Axis, ...]
    runs: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Scattered:
    """Places that only index arithmetic tells."""

    form: Form


Place = Window | Pieces | Scattered


@dataclass(frozen=True)
class Plan:
    """An access in a shape of the memory: one place a dimension."""

    shape: tuple[int, ...]
    places: tuple[Place, ...]
    forms: tuple[Form, ...]

    def axes(self) -> set[Axis]:
        return set().union(*(axes_of(f) for f in self.forms)) if self.forms else set()


def window_of(form: Form, domain: Domain) -> Window | None:
    """The window of a form: axes that do not overlap, and a start."""
    start, terms, dynamic = form.constant, [], Form()
    for atom, c in form.terms:
        if isinstance(atom, Axis):
            span = domain[atom]
            start, stride = start + c * span.low, c * span.step
            if stride < 0:
                start += stride * (span.count - 1)
            terms.append(Term(atom, abs(stride), span.count, stride < 0))
        elif isinstance(atom, Run) and not any(domain[a].count > 1 for a in atom.lanes.axes):
            dynamic = Form(0, (*dynamic.terms, (atom, c)))
        else:
            return None
    terms.sort(key=lambda t: -t.stride)
    for outer, inner in zip(terms, terms[1:], strict=False):
        if (inner.count - 1) * inner.stride + 1 > outer.stride:
            return None
    reach = [sum(t.stride * (t.count - 1) for t in terms[k + 1:]) for k in range(len(terms))]
    if any(more >= t.stride for more, t in zip(reach, terms, strict=True)):
        return None
    return Window(start, tuple(terms), dynamic if dynamic.terms else None)


def pieces_of(form: Form, domain: Domain) -> Pieces | None:
    """The progressions of a form that is known now and varies along one axis."""
    axes = [a for a in axes_of(form) if domain[a].count > 1]
    if len(axes) != 1 or not is_static(form) or domain[axes[0]].count > KNOWN_PLACES:
        return None
    single = {a: domain[a] for a in axes_of(form)}
    runs = runs_of(content(form, single, tuple(axes_of(form))).reshape(-1))
    return None if runs is None else Pieces((axes[0],), tuple(runs))


def runs_of(table: np.ndarray) -> list[tuple[int, int, int]] | None:
    """A table as progressions (first, step, count); None where there are too many."""
    steps = np.diff(table)
    runs, first = [], 0
    while first < len(table):
        if first == len(table) - 1:
            end, step = first + 1, 1
        else:
            step = int(steps[first])
            breaks = np.flatnonzero(steps[first:] != step)
            end = first + int(breaks[0]) + 1 if breaks.size else len(table)
            after = int(steps[end]) if end < len(steps) else None
            if end - first == 2 and after is not None and (end + 1 >= len(steps) or steps[end + 1] == after) \
                    and end + 1 < len(table):
                end, step = first + 1, 1                        # a single element before a longer run
        runs.append((int(table[first]), step, end - first))
        first = end
        if len(runs) > PIECES:
            return None
    return runs


def with_remainders(form: Form) -> Form:
    """The same with k x + c floor(x / d) as (c + k d) floor(x / d) + k times one number from 0 to d - 1: an index that
    wraps around, a row and a column of a number that counts through both."""
    for atom, _ in form.terms:
        factor = _factor_in(form, atom.form) if isinstance(atom, Division) else 0
        if factor:
            assert isinstance(atom, Division)
            rest = atom.form - of_atom(atom).times(atom.divisor)
            unit = of_atom(Choice(TRUE, rest, rest, (0, atom.divisor - 1)))
            form = form - rest.times(factor) + unit.times(factor)
    return form


def _factor_in(form: Form, part: Form) -> int:
    """How often the terms of another form are in a form; 0 where they are not in one proportion."""
    if not part.terms:
        return 0
    atom, c = part.terms[0]
    factor = form.coefficient(atom) // c
    return factor if all(form.coefficient(a) == factor * k for a, k in part.terms) else 0


def split(form: Form, shape: Sequence[int], domain: Domain, facts: Facts = (),
          nearest: bool = False) -> list[Form] | None:
    """The index of each dimension of a row-major array; None where a form would leave its row."""
    found: list[Form] = []
    if len(shape) > 1:
        form, facts = with_remainders(form), [with_remainders(f) for f in facts]
    for d in range(len(shape) - 1):
        stride = size(shape[d + 1:])
        whole, rest = [], []
        for atom, c in form.terms:
            q = round(c / stride) if nearest else (abs(c) // stride) * (1 if c > 0 else -1)
            if q:
                whole.append((atom, q))
            if c - q * stride:
                rest.append((atom, c - q * stride))
        bounds = bounds_of(Form(form.constant, tuple(rest)), domain, facts)
        if bounds is None or bounds[0] > bounds[1]:
            return None
        q = bounds[0] // stride
        if bounds[1] - q * stride >= stride:
            return None
        found.append(Form(q, tuple(whole)))
        form = Form(form.constant - q * stride, tuple(rest))
    return [*found, form]


def shapes_of(form: Form, hints: Sequence[tuple[int, ...]], elements: int) -> Iterator[tuple[int, ...]]:
    """Shapes in which to try to see memory, most natural first. The last of them may hold more than `elements`."""
    seen = set()
    for shape in (*hints, *_by_coefficients(form, elements), (elements,)):
        if shape not in seen:
            seen.add(shape)
            yield shape


def _by_coefficients(form: Form, elements: int) -> Iterator[tuple[int, ...]]:
    """Rows as long as the coefficients are."""
    strides: list[int] = []
    for c in sorted({abs(c) for _, c in form.terms}, reverse=True):
        if 1 < c < elements and (not strides or strides[-1] % c == 0):
            strides.append(c)
    if strides:
        inner = [a // b for a, b in zip(strides, [*strides[1:], 1], strict=True)]
        yield (-(-elements // strides[0]), *inner)


def plan(form: Form, hints: Sequence[tuple[int, ...]], elements: int, domain: Domain, writing: bool,
         facts: Facts = ()) -> Plan:
    """The cheapest way to see an access, by what it becomes: a slice, a few slices, a gather or scatter."""
    best: tuple[tuple[int, ...], Plan] | None = None
    for shape in shapes_of(form, hints, elements):
        for nearest in (False, True) if len(shape) > 1 else (False,):
            forms = split(form, shape, domain, facts, nearest)
            if forms is None:
                continue
            places = tuple(_place(f, n, domain, writing) for f, n in zip(forms, shape, strict=True))
            found = Plan(shape, apart(places, forms), tuple(forms))
            cost = _cost(found, domain, size(shape) - elements, writing)
            if best is None or cost < best[0]:
                best = (cost, found)
    assert best is not None
    return best[1]


def _fits(window: Window, extent: int, domain: Domain) -> bool:
    """Whether memory padded for every start that run-time values may choose stays of the memory's own order."""
    starts = window.starts(domain)
    if starts is None:
        return window.width == 1
    return max(0, -starts[0]) + max(0, starts[1] + window.width - extent) <= 2 * extent + PADDING


def _place(form: Form, extent: int, domain: Domain, writing: bool) -> Place:
    window = window_of(form, domain)
    if window is not None and (window.dynamic is None or _fits(window, extent, domain)):
        return window
    pieces = None if writing or window is not None else pieces_of(form, domain)
    if pieces is not None and all(0 <= first + step * k < extent for first, step, count in pieces.runs
                                  for k in (0, count - 1)):
        return pieces
    return Scattered(form)


def apart(places: Sequence[Place], forms: Sequence[Form]) -> tuple[Place, ...]:
    """An axis may appear in one dimension only, else index arithmetic has to tell."""
    counts: dict[Axis, int] = {}
    for form in forms:
        for axis in axes_of(form):
            counts[axis] = counts.get(axis, 0) + 1
    shared = {a for a, n in counts.items() if n > 1}
    return tuple(Scattered(f) if axes_of(f) & shared else p for p, f in zip(places, forms, strict=True))


def _cost(found: Plan, domain: Domain, excess: int, writing: bool) -> tuple[int, ...]:
    scattered = pieces = outside = folded = 0
    varying: set[Axis] = set()
    for place, extent in zip(found.places, found.shape, strict=True):
        if isinstance(place, Scattered):
            scattered += 1
            varying |= {a for a in axes_of(place.form) if domain[a].count > 1}
        elif isinstance(place, Pieces):
            pieces += 1
        else:
            bounds = place.starts(domain)
            outside += bounds is None or bounds[0] < 0 or bounds[1] + place.width > extent
            folded += not place.dense and max(0, len(place.terms) - 1) + writing
    if scattered:
        return 1, len(varying), scattered, excess > 0
    return 0, pieces, outside + 2 * (excess > 0) + folded
