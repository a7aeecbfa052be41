"""Memory of a kernel as one tensor: dimensions for the axes that have copies of their own, then those of the memory.

Global memory has one copy, shared memory one a block, local memory one a thread; a copy's axis appears only once what
is stored depends on it. Loads are slices (gathers where the index is arithmetic of the run), stores are updates
(scatters).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import gcd

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.kernels.lockstep.accesses import (
    Pieces,
    Place,
    Plan,
    Scattered,
    Term,
    Window,
    apart,
    bounds_of,
    plan,
    split,
    window_of,
)
from reactant.kernels.lockstep.combining import IDEMPOTENT, combine, combiner
from reactant.kernels.lockstep.conditions import TRUE, Compare, Condition, both, facts_of, terms_of
from reactant.kernels.lockstep.forms import (
    KNOWN_ELEMENTS,
    Axis,
    Domain,
    Form,
    Span,
    at_domain,
    axes_of,
    content,
    is_affine,
    is_static,
    of_atom,
    range_of,
)
from reactant.kernels.lockstep.lanes import (
    Lanes,
    View,
    apply,
    broadcast,
    condition_lanes,
    fitted,
    form_lanes,
    laid_over,
    live,
    number,
    ordered,
    select,
)
from reactant.kernels.lockstep.staging import Origin, Staged, composed, places_of, staged

INDEX = np.dtype(np.int64)
Combine = Callable[[ir.Value, ir.Value], ir.Value]


class OutOfRange(Exception):
    """An access certainly leaves its memory: (least, greatest index, elements)."""


@dataclass(frozen=True)
class Context:
    """Which lanes run: those of a domain for which the mask holds. `certain`: at least one of them surely does."""

    domain: Domain
    mask: Condition = TRUE
    certain: bool = True


Bounds = tuple[tuple[int, int, int], ...]
"""(start, stride, count) in each dimension."""


@dataclass
class Written:
    """The latest writes behind a value of memory, newest first: where, and what, in dimensions `shape`."""

    value: ir.Value
    entries: list[tuple[tuple[int, ...], Bounds, ir.Value]]


@dataclass(eq=False)
class Memory:
    """`value` has a dimension for each of `axes` (full extent), then those of `shape`. Scratch memory is shared or
    local; nobody knows what it holds until it is written."""

    name: str
    dtype: np.dtype
    elements: int
    shape: tuple[int, ...]
    value: ir.Value
    private: frozenset[Axis] = frozenset()
    axes: tuple[Axis, ...] = ()
    scratch: bool = False
    unknown: ir.Value | None = None
    written: Written | None = None
    overlapping: set[Axis] = field(default_factory=set)
    stages: Staged | None = None
    content: np.ndarray | None = None

    def flat(self) -> ir.Value:
        return ops.reshape(self.value, (*(a.extent for a in self.axes), self.elements))

    # -- planning

    def _plan(self, form: Form, context: Context, writing: bool) -> tuple[Plan, list[Form], list[Place]]:
        """The plan, and forms and places of all dimensions, those of the copies first."""
        found = plan(form, (self.shape,), self.elements, context.domain, writing, facts_of(context.mask))
        forms = [at_domain(of_atom(a), context.domain) for a in self.axes]
        places: list[Place] = [_window_of_axis(a, context.domain) for a in self.axes]
        forms += found.forms
        return found, forms, list(apart([*places, *found.places], forms))

    def simple(self, form: Form, context: Context, writing: bool) -> bool:
        """Whether an access needs no index arithmetic."""
        *_, places = self._plan(form, context, writing)
        return not any(isinstance(p, Scattered) for p in places)

    def _check(self, form: Form, context: Context) -> None:
        bounds = range_of(form, context.domain)
        if not (context.certain and context.mask.known) or bounds is None \
                or (bounds[0] >= 0 and bounds[1] < self.elements):
            return
        if not is_affine(form):         # its range is wider than what it takes: evaluate, or be silent
            axes = tuple(axes_of(form))
            if not is_static(form) or size(tuple(context.domain[a].count for a in axes)) > KNOWN_ELEMENTS:
                return
            values = content(form, context.domain, axes)
            bounds = int(values.min()), int(values.max())
        if bounds[0] < 0 or bounds[1] >= self.elements:
            raise OutOfRange(bounds[0], bounds[1], self.elements)

    def _seen(self, shape: tuple[int, ...]) -> ir.Value:
        """The tensor with the memory's dimensions as `shape`, padded at the end where that holds more."""
        lead = tuple(a.extent for a in self.axes)
        excess = size(shape) - self.elements
        if not excess:
            return ops.reshape(self.value, (*lead, *shape))
        flat = ops.pad(self.flat(), 0, [0] * (len(lead) + 1), [0] * len(lead) + [excess])
        return ops.reshape(flat, (*lead, *shape))

    # -- reading

    def load(self, form: Form, context: Context) -> Lanes:
        """What each lane reads. Lanes outside the mask read anything."""
        self._check(form, context)
        found, forms, places = self._plan(form, context, writing=False)
        self.overlapping = {a for p in places if isinstance(p, Scattered) and is_static(p.form)
                            for a in axes_of(p.form)}
        staged = self._through_stage(form, context)
        if staged is not None:
            return replace(staged, view=self._view(found, places))
        lanes = self._read(found, forms, places, context.domain)
        natural = split(form, self.shape, context.domain, facts_of(context.mask)) if is_affine(form) else None
        if not self.scratch and self.content is None and natural is not None:
            lanes = replace(lanes, origin=Origin(self, self.value, tuple(natural), found.shape == self.shape))
        zero = [f for part, place, n in zip(found.forms, found.places, found.shape, strict=True)
                if isinstance(place, Window) and place.starts(context.domain) is not None
                for f in (part, Form(n - 1) - part)]
        if size(found.shape) > self.elements:
            zero.append(Form(self.elements - 1) - form)
        return replace(lanes, zero_unless=tuple(zero))

    def _through_stage(self, form: Form, context: Context) -> Lanes | None:
        """What staging memory holds, straight from the array."""
        known = self.stages
        if known is None or known.rows is None or known.own != self.value or not is_affine(form):
            return None
        array = known.origin.memory
        place = places_of(self, form, context.domain, facts_of(context.mask))
        if place is None or array.value != known.origin.value:
            return None
        forms = [at_domain(f, context.domain) for f in composed(known.rows, place)]
        windows = [window_of(f, context.domain) for f in forms]
        if not all(w is not None and w.dynamic is None for w in windows) or any(
                isinstance(p, Scattered) for p in apart([w for w in windows if w is not None], forms)):
            return None
        lanes = read(array.value, forms, [w for w in windows if w is not None], context.domain)
        return replace(lanes, origin=Origin(array, array.value, tuple(forms), zeroed=known.origin.zeroed))

    def _stage(self, before: ir.Value, form: Form, value: Lanes, context: Context) -> None:
        """Note a write of what was loaded elsewhere."""
        known = self.stages if self.stages is not None and self.stages.own == before else None
        fresh = self.unknown is not None and self.unknown == before
        self.stages = None
        if value.origin is None or not self.scratch or (known is None and not fresh):
            return
        place = places_of(self, form, context.domain, facts_of(context.mask))
        if place is not None:
            self.stages = staged(known, self.value, place, value.origin, self.private, context.domain)

    def _read(self, found: Plan, forms: Sequence[Form], places: Sequence[Place], domain: Domain) -> Lanes:
        """What is at the places; straight from the write that put it there, where one did."""
        bounds = _bounds(places)
        if bounds is None:
            return read(self._seen(found.shape), forms, places, domain)
        shape = (*(a.extent for a in self.axes), *found.shape)
        inside = all(0 <= s and s + (n - 1) * t < m for (s, t, n), m in zip(bounds, shape, strict=True))
        windows = [p for p in places if isinstance(p, Window)]
        part = self._latest(shape, bounds) if inside else None
        if part is None:
            lanes = read(self._seen(found.shape), forms, places, domain)
        else:
            value = _cut(ops.reshape(part[0], part[1]), part[2])
            lanes = _of_part(ops.reshape(value, [n for *_, n in bounds]), windows, domain)
        return replace(lanes, view=self._view(found, places))

    def _view(self, found: Plan, places: Sequence[Place]) -> View | None:
        """Which part of scratch memory, or of what was written into it last, an access reads."""
        bounds = _bounds(places)
        shape = (*(a.extent for a in self.axes), *found.shape)
        windows = [p for p in places if isinstance(p, Window)]
        if bounds is None or not self.scratch or any(t.flipped for w in windows for t in w.terms) \
                or not all(0 <= s and s + (n - 1) * t < m for (s, t, n), m in zip(bounds, shape, strict=True)):
            return None
        part = self._latest(shape, bounds) or (self.value, shape, bounds)
        labels = tuple(tuple(t.axis for t in w.terms) for w in windows)
        flat = _flat(part[2], part[1], len(self.axes))
        if len(part[1]) == len(shape) and flat is not None:
            part = part[0], (*part[1][:len(self.axes)], size(part[1][len(self.axes):])), flat
        if len(part[1]) == len(self.axes) + 1:
            labels = (*labels[:len(self.axes)], tuple(a for label in labels[len(self.axes):] for a in label))
        return View(*part, labels)

    def _latest(self, shape: tuple[int, ...], bounds: Bounds) -> tuple[ir.Value, tuple[int, ...], Bounds] | None:
        """What was written last at the places: a tensor, the shape to see it in, and where in it; None if several
        writes or none put it there."""
        lead = len(self.axes)
        if self.written is None or self.written.value != self.value:
            return None
        for seen, where, update in self.written.entries:
            if seen == shape:
                wanted, there = bounds, where
            else:
                flat, other = _flat(bounds, shape, lead), _flat(where, seen, lead)
                if flat is None or other is None:
                    return None
                wanted, there = flat, other
            local = _within(wanted, there)
            if local is not None:
                return update, tuple(n for *_, n in there), local
            if not _disjoint(wanted, there):
                return None
        return None

    # -- writing

    def own_copies(self, axes: set[Axis]) -> None:
        """Give these axes copies of their own."""
        more = ordered(set(self.axes) | (axes & self.private))
        if more != self.axes:
            shape = (*(a.extent for a in more), *self.shape)
            places = [more.index(a) for a in self.axes]
            places += range(len(more), len(shape))
            fresh = self.unknown is not None and self.unknown == self.value
            old = self.value
            self.value, self.axes = ops.broadcast_in_dim(self.value, shape, places), more
            self.unknown = self.value if fresh else None
            if self.stages is not None and self.stages.own == old:
                self.stages = replace(self.stages, own=self.value)

    def store(self, form: Form, value: Lanes, context: Context) -> None:
        """Write; where several lanes write one place, one of them wins."""
        self._write(form, value, context, None, None)

    def combine(self, form: Form, value: Lanes, context: Context, name: str, identity: object) -> None:
        """Combine what the lanes give into memory by an associative, commutative op of StableHLO."""
        self._write(form, value, context, name, identity)

    def _write(self, form: Form, value: Lanes, context: Context, name: str | None, identity: object) -> None:
        self._check(form, context)
        domain = context.domain
        value = fitted(value, domain)
        given = value
        found, _, _ = self._plan(form, context, writing=True)
        clips, remaining = _clipped(found, context, self.elements, form)
        fresh = self.unknown is not None and self.unknown == self.value and name is None \
            and _each_its_own(found, value, context, self.private)
        remaining = TRUE if fresh else remaining           # what is not written may be anything
        mask = None if remaining.known else condition_lanes(remaining, domain)
        varying = set(value.axes) | (set(mask.axes) if mask else set())
        varying |= {a for a in axes_of(form) if domain[a].count > 1}
        self.own_copies(varying | {a for a in self.private if domain[a].count != a.extent})
        start = self.value
        found, forms, places = self._plan(form, context, writing=True)
        if not all(isinstance(p, Window) for p in places) and not context.mask.known and not fresh:
            mask = condition_lanes(context.mask, domain)
        placed = {a for f in forms for a in axes_of(f) if domain[a].count > 1}
        if name is None:
            value, mask, lost = _winners(value, mask, placed, domain)
        else:
            value, mask = self._reduced(value, mask, placed, context, name, identity)
            lost = set()
        if lost and not context.mask.known and not fresh:
            mask = condition_lanes(context.mask, domain)
        whole, entry = self._seen(found.shape), None
        if not lost and all(isinstance(p, Window) for p in places):
            clips = [None] * len(self.axes) + ([None] * len(clips) if fresh else clips)
            whole, entry = _windows_written(whole, places, clips, value, mask, domain, name)
        else:
            whole = _scattered(whole, forms, places, value, mask, domain, name)
        lead = len(self.axes)
        if size(found.shape) != self.elements:
            flat = ops.reshape(whole, (*shape_of(whole)[:lead], size(found.shape)))
            whole = ops.slice(flat, [0] * (lead + 1), [*shape_of(flat)[:lead], self.elements])
        earlier = self.written.entries if self.written is not None and self.written.value == self.value else []
        self.value = ops.reshape(whole, (*shape_of(whole)[:lead], *self.shape))
        self.written = None if entry is None else Written(
            self.value, [((*shape_of(whole)[:lead], *found.shape), *entry), *earlier][:REMEMBERED])
        if name is None:
            self._stage(start, form, given, context)

    def _reduced(self, value: Lanes, mask: Lanes | None, placed: set[Axis], context: Context, name: str,
                 identity: object) -> tuple[Lanes, Lanes | None]:
        """Combine the lanes that meet in one place: those along axes that the place does not depend on."""
        domain = context.domain
        extra = {a for a, s in domain.items() if s.count > 1 and a not in placed}
        if not extra:
            return value, mask
        if mask is not None and set(mask.axes) & extra:
            value, mask = select(mask, value, number(identity, value.dtype), domain), None
        along = [a for a in value.axes if a in extra]
        if along:
            dims = [value.axes.index(a) for a in along]
            kept = [k for k in range(len(value.axes)) if k not in dims]
            total = ops.reduce(value.value, ops.constant(identity, value.dtype), dims, combiner(name))
            value = Lanes(total, tuple(value.axes[k] for k in kept), tuple(value.spans[k] for k in kept))
        times = int(np.prod([domain[a].count for a in extra - set(along)], dtype=np.int64))
        return repeated(value, times, name, domain), mask


def repeated(value: Lanes, times: int, name: str, domain: Domain) -> Lanes:
    """The value combined with itself so often."""
    if times == 1 or name in IDEMPOTENT:
        return value
    if name == "add":
        return apply(lambda x: ops.multiply(x, times), [value], domain)
    if name == "xor":
        return value if times % 2 else apply(lambda x: ops.splat(0, x), [value], domain)
    assert name == "multiply"
    result, square = None, value
    while times:
        if times & 1:
            result = square if result is None else apply(ops.multiply, [result, square], domain)
        square = apply(ops.multiply, [square, square], domain)
        times >>= 1
    assert result is not None
    return result


def _window_of_axis(axis: Axis, domain: Domain) -> Window:
    span = domain[axis]
    terms = (Term(axis, span.step, span.count, False),) if span.count > 1 else ()
    return Window(span.low, terms)


# ---- reading -------------------------------------------------------------------------------------------------------

def read(whole: ir.Value, forms: Sequence[Form], places: Sequence[Place], domain: Domain) -> Lanes:
    """The places of a tensor, one dimension after the other: slices first, then what needs index arithmetic."""
    windows: list[Window | None] = [p if isinstance(p, Window) else None for p in places]
    labels: list[Axis | int] = []
    value = _sliced(whole, windows, domain)
    shape: list[int] = []
    for d, place in enumerate(places):
        if isinstance(place, Window):
            value = _unfolded(value, len(labels), place.terms)
            labels += [t.axis for t in place.terms]
        else:
            labels.append(d)
    for d, place in enumerate(places):
        if isinstance(place, Pieces):
            k = labels.index(d)
            value, labels[k] = _in_pieces(value, k, place), place.axis
    numbers = [d for d, place in enumerate(places) if isinstance(place, Scattered)]
    if numbers:
        indices = {labels.index(d): forms[d] for d in numbers}
        value, labels = _gathered(value, labels, indices, domain)
    shape = list(shape_of(value))
    assert all(isinstance(a, Axis) and domain[a].count == n for a, n in zip(labels, shape, strict=True))
    return laid_over(value, [a for a in labels if isinstance(a, Axis)], domain)


def _sliced(whole: ir.Value, windows: Sequence[Window | None], domain: Domain) -> ir.Value:
    """Cut each dimension to its window (None: leave it), as long as `_unfolded` needs it; beyond the ends are zeros."""
    extents = shape_of(whole)
    low, high, starts, limits, strides = [], [], [], [], []
    dynamic: list[Form | None] = []
    for window, extent in zip(windows, extents, strict=True):
        if window is None:
            window = Window(0, (Term(Axis("", extent, ()), 1, extent, False),))
        bounds, length = window.starts(domain), _length(window)
        if bounds is None:
            bounds = 0, extent - length             # a single place: the run clamps it
        low.append(max(0, -bounds[0]))
        high.append(max(0, bounds[1] + length - extent))
        starts.append(window.start)
        limits.append(window.start + length)
        strides.append(window.stride if window.regular else 1)
        dynamic.append(window.dynamic)
    value = ops.pad(whole, 0, low, high) if any(low) or any(high) else whole
    starts = [s + a for s, a in zip(starts, low, strict=True)]
    limits = [e + a for e, a in zip(limits, low, strict=True)]
    if all(d is None for d in dynamic):
        return ops.slice(value, starts, limits, strides)
    at = [_start(d, s, domain) for d, s in zip(dynamic, starts, strict=True)]
    value = ops.dynamic_slice(value, at, [e - s for s, e in zip(starts, limits, strict=True)])
    return ops.slice(value, [0] * len(at), shape_of(value), strides)


def _start(dynamic: Form | None, start: int, domain: Domain) -> ir.Value:
    if dynamic is None:
        return ops.constant(start, INDEX)
    return form_lanes(dynamic.plus(start), INDEX, domain).value


def _length(window: Window) -> int:
    """How much of a dimension `_unfolded` takes."""
    if window.regular:
        return window.width
    return window.terms[0].stride * window.terms[0].count


def _unfolded(value: ir.Value, at: int, terms: Sequence[Term]) -> ir.Value:
    """Dimension `at`, cut to its window, as one dimension for each term."""
    shape = list(shape_of(value))
    if not terms:
        return ops.reshape(value, shape[:at] + shape[at + 1:])
    regular = Window(0, tuple(terms)).regular
    if len(terms) > 1 and regular:
        value = ops.reshape(value, [*shape[:at], *(t.count for t in terms), *shape[at + 1:]])
    elif len(terms) > 1:
        for k, (outer, inner) in enumerate(pairwise(terms)):
            shape = list(shape_of(value))
            last = k == len(terms) - 2
            value = ops.reshape(value, [*shape[:at + k], outer.count, outer.stride, *shape[at + k + 1:]])
            shape = list(shape_of(value))
            d = at + k + 1
            reach = (inner.count - 1) * inner.stride + 1 if last else inner.count * inner.stride
            if reach > shape[d]:
                value = ops.pad(value, 0, [0] * len(shape), [reach - shape[d] if i == d else 0
                                                             for i in range(len(shape))])
                shape[d] = reach
            strides = [inner.stride if last and i == d else 1 for i in range(len(shape))]
            value = ops.slice(value, [0] * len(shape), [reach if i == d else n for i, n in enumerate(shape)], strides)
    return ops.reverse(value, [at + k for k, t in enumerate(terms) if t.flipped])


def _in_pieces(value: ir.Value, at: int, place: Pieces) -> ir.Value:
    """Dimension `at` read at a few progressions."""
    shape = shape_of(value)
    parts = []
    for first, step, count in place.runs:
        low, high = min(first, first + step * (count - 1)), max(first, first + step * (count - 1))
        bounds = [(low, high + 1, max(1, abs(step))) if d == at else (0, n, 1) for d, n in enumerate(shape)]
        part = ops.slice(value, *zip(*bounds, strict=True))
        if step == 0 and count > 1:
            part = ops.broadcast_in_dim(part, [count if d == at else n for d, n in enumerate(shape)],
                                        range(len(shape)))
        parts.append(ops.reverse(part, [at] if step < 0 else []))
    return ops.concatenate(parts, at)


def _indices(forms: Sequence[Form], axes: Sequence[Axis], domain: Domain) -> ir.Value:
    """Index vectors over `axes`: one component a form, in the last dimension."""
    shape = [domain[a].count for a in axes]
    parts = [ops.reshape(broadcast(form_lanes(f, INDEX, domain), axes, domain), [*shape, 1]) for f in forms]
    return ops.concatenate(parts, len(axes))


def _gathered(value: ir.Value, labels: list[Axis | int], indices: dict[int, Form],
              domain: Domain) -> tuple[ir.Value, list[Axis | int]]:
    """Read at index vectors; dimensions of the tensor not in `indices` are read whole."""
    axes = live((a for f in indices.values() for a in axes_of(f)), domain)
    operand = list(indices)
    windows = [k for k in range(len(labels)) if k not in indices]
    sizes = [1 if k in indices else n for k, n in enumerate(shape_of(value))]
    table = _indices([indices[k] for k in operand], axes, domain)
    result = ops.gather(value, table, offset_dims=range(len(axes), len(axes) + len(windows)),
                        collapsed_slice_dims=sorted(operand), start_index_map=operand, index_vector_dim=len(axes),
                        slice_sizes=sizes)
    return result, [*axes, *(labels[k] for k in windows)]


# ---- writing -------------------------------------------------------------------------------------------------------

def _winners(value: Lanes, mask: Lanes | None, placed: set[Axis],
             domain: Domain) -> tuple[Lanes, Lanes | None, set[Axis]]:
    """Which lanes win where several write one place; also the axes along which only the run can tell."""
    lost = {a for a in value.axes if a not in placed}
    if mask is not None and set(mask.axes) - placed:
        if lost:
            return value, mask, lost | (set(mask.axes) - placed)
        dims = [k for k, a in enumerate(mask.axes) if a not in placed]
        kept = [k for k in range(len(mask.axes)) if k not in dims]
        mask = Lanes(ops.reduce(mask.value, False, dims, "or"), tuple(mask.axes[k] for k in kept),
                     tuple(mask.spans[k] for k in kept))
    last = {a: Span(domain[a].last, 1) if a in lost else s for a, s in domain.items()}
    return fitted(value, last), mask, set()


def _each_its_own(found: Plan, value: Lanes, context: Context, private: frozenset[Axis]) -> bool:
    """Whether every lane, also one that the mask leaves out, has a place of its own."""
    if not all(isinstance(p, Window) for p in found.places):
        return False
    placed = {t.axis for p in found.places if isinstance(p, Window) for t in p.terms} | private
    return all(s.count == 1 or a in placed for a, s in context.domain.items()) or (
        not value.axes and context.mask.known is True)


REMEMBERED = 8
"""So many writes are looked through by reads."""


def _bounds(places: Sequence[Place]) -> Bounds | None:
    """(start, stride, count) of each dimension, where all are known and regular."""
    found = []
    for p in places:
        if not isinstance(p, Window) or p.dynamic is not None:
            return None
        if not p.regular:
            return None
        found.append((p.start, p.stride, p.count))
    return tuple(found)


def _flat(bounds: Bounds, shape: Sequence[int], lead: int) -> Bounds | None:
    """The same places with the dimensions from `lead` on as one, where they are one progression then."""
    start, stride, count = 0, 0, 1
    for (a, s, n), extent in zip(bounds[lead:], shape[lead:], strict=True):
        start, stride = start * extent + a, stride * extent
        if n > 1:
            if count > 1 and stride != s * n:
                return None
            stride, count = s, count * n
    return (*bounds[:lead], (start, stride or 1, count))


def _within(inner: Bounds, outer: Bounds) -> Bounds | None:
    """Places counted in those of `outer`, where all are among them."""
    found = []
    for (a, s, n), (b, t, m) in zip(inner, outer, strict=True):
        if (a - b) % t or (n > 1 and s % t) or a < b or a + (n - 1) * s > b + (m - 1) * t:
            return None
        found.append(((a - b) // t, max(1, s // t), n))
    return tuple(found)


def _disjoint(x: Bounds, y: Bounds) -> bool:
    """Whether two regular sets of places surely have none in common."""
    for (a, s, n), (b, t, m) in zip(x, y, strict=True):
        unit = gcd(s if n > 1 else 0, t if m > 1 else 0)
        if a + (n - 1) * s < b or b + (m - 1) * t < a or ((a - b) % unit if unit else a != b):
            return True
    return False


def _cut(value: ir.Value, bounds: Bounds) -> ir.Value:
    return ops.slice(value, [s for s, _, _ in bounds], [s + (n - 1) * t + 1 for s, t, n in bounds],
                     [t for _, t, _ in bounds])


def _of_part(value: ir.Value, windows: Sequence[Window], domain: Domain) -> Lanes:
    """A tensor with one dimension a window as lanes."""
    axes: list[Axis] = []
    for w in windows:
        value = _unfolded(value, len(axes), w.terms)
        axes += [t.axis for t in w.terms]
    return laid_over(value, axes, domain)



def _clipped(found: Plan, context: Context, elements: int,
             flat: Form) -> tuple[list[tuple[int, int] | None], Condition]:
    """Bounds that the mask sets for places of whole dimensions (least, greatest), and what is left of the mask."""
    left: list[Condition] = list(terms_of(context.mask))
    clips: list[tuple[int, int] | None] = []
    if size(found.shape) > elements and all(isinstance(p, Window) for p in found.places):
        left = [part for part in left if part != Compare(Form(elements - 1) - flat, "GE")]    # is cut off anyway
    for form, place in zip(found.forms, found.places, strict=True):
        mine = [part for part in left if isinstance(part, Compare) and part.kind == "GE" and form.terms
                and ((part.form - form).known is not None or (part.form + form).known is not None)]
        if not mine or not isinstance(place, Window) or place.dynamic is not None:
            clips.append(None)
            continue
        clips.append(bounds_of(form, context.domain, facts_of(both(*mine))))
        left = [part for part in left if part not in mine]
    return clips, both(*left)


def _windows_written(whole: ir.Value, places: Sequence[Place], clips: Sequence[tuple[int, int] | None], value: Lanes,
                     mask: Lanes | None, domain: Domain,
                     name: str | None) -> tuple[ir.Value, tuple[Bounds, ir.Value] | None]:
    """The tensor with the windows written; also, where it is simple, what was written where."""
    windows = [p for p in places if isinstance(p, Window)]
    extents = shape_of(whole)
    axes = [t.axis for w in windows for t in w.terms]
    laid = broadcast(value, axes, domain)
    update = _folded(laid, windows)
    selected = None if mask is None else _folded(broadcast(mask, axes, domain), windows)
    for d, w in enumerate(windows):                      # what the lanes between two places write: nothing
        if not w.dense:
            kept = ops.constant(_comb(w))
            kept = ops.broadcast_in_dim(kept, shape_of(update), [d])
            selected = kept if selected is None else ops.and_(selected, kept)
    starts, padding = [], []
    for d, (w, extent) in enumerate(zip(windows, extents, strict=True)):
        bounds = w.starts(domain)
        if w.dynamic is None:
            least, most = clips[d] or (w.start, w.last)
            low = min(max(0, -w.start, least - w.start), w.width)
            high = min(max(0, w.last + 1 - extent, w.last - most), w.width - low)
            cut = [(low, n - high) if k == d else (0, n) for k, n in enumerate(shape_of(update))]
            if low or high:
                update = ops.slice(update, *zip(*cut, strict=True))
                selected = None if selected is None else ops.slice(selected, *zip(*cut, strict=True))
            padding.append((0, 0))
            starts.append(w.start + low)
            continue
        low, high = (0, 0) if bounds is None else (max(0, -bounds[0]), max(0, bounds[1] + w.width - extent))
        padding.append((low, high))
        starts.append(w.start + low)
    grown = any(low or high for low, high in padding)
    target = ops.pad(whole, 0, *zip(*padding, strict=True)) if grown else whole
    at = [_start(w.dynamic, s, domain) for w, s in zip(windows, starts, strict=True)]
    unbound = [w for w in windows if w.starts(domain) is None]
    if unbound:                                          # where the run might leave the memory, nothing is written
        for w, extent in zip(windows, extents, strict=True):
            if w.starts(domain) is None:
                inside = _inside(form_lanes(w.dynamic.plus(w.start), INDEX, domain).value, extent)
                inside = ops.broadcast_in_dim(inside, shape_of(update), [])
                selected = inside if selected is None else ops.and_(selected, inside)
    if 0 in shape_of(update):
        return whole, None
    entry = None
    if selected is None and name is None and not grown and not any(w.dynamic for w in windows):
        entry = tuple((s, 1, n) for s, n in zip(starts, shape_of(update), strict=True)), update
    elif mask is None and name is None and not grown and all(
            c is None and w.regular and w.dynamic is None and 0 <= w.start and w.last < n
            and not any(t.flipped for t in w.terms) for c, w, n in zip(clips, windows, extents, strict=True)):
        bounds = _bounds(windows)
        assert bounds is not None
        entry = bounds, ops.reshape(laid, [n for _, _, n in bounds])
    if name is not None or selected is not None:
        dynamic = any(w.dynamic is not None for w in windows)
        old = ops.dynamic_slice(target, at, shape_of(update)) if dynamic else \
            ops.slice(target, starts, [s + n for s, n in zip(starts, shape_of(update), strict=True)])
        update = update if name is None else combine(name, old, update)
        update = update if selected is None else ops.select(selected, update, old)
    if shape_of(update) == shape_of(target) and not any(w.dynamic for w in windows):
        result = update
    else:
        result = ops.dynamic_update_slice(target, update, at)
    if grown:
        low = [p[0] for p in padding]
        result = ops.slice(result, low, [a + n for a, n in zip(low, extents, strict=True)])
    return result, entry


def _inside(start: ir.Value, extent: int) -> ir.Value:
    return ops.and_(ops.compare(start, 0, "GE"), ops.compare(start, extent, "LT"))


def _comb(window: Window) -> np.ndarray:
    """Which places from the first to the last of a window belong to it."""
    at = np.zeros(1, np.int64)
    for t in window.terms:
        at = (at[:, None] + t.stride * np.arange(t.count)).reshape(-1)
    found = np.zeros(window.width, bool)
    found[at] = True
    return found


def _folded(value: ir.Value, windows: Sequence[Window]) -> ir.Value:
    """A tensor with one dimension for each term as one with one dimension for each window, gaps filled with zeros."""
    flips = []
    for w in windows:
        flips += [t.flipped for t in w.terms]
    value = ops.reverse(value, [k for k, f in enumerate(flips) if f])
    at = 0
    for w in windows:
        counts = [t.count for t in w.terms]
        shape = list(shape_of(value))
        if not w.terms:
            value = ops.reshape(value, [*shape[:at], 1, *shape[at:]])
        inner = 1
        for k in range(len(counts) - 1, -1, -1):          # innermost term first: dimension k holds `inner` places
            shape = list(shape_of(value))
            stride, rank, d = w.terms[k].stride, len(shape), at + k
            if k == len(counts) - 1:
                gap = [stride - 1 if i == d else 0 for i in range(rank)]
                value = ops.pad(value, _zero(value), [0] * rank, [0] * rank, gap) if stride > 1 else value
            else:
                inner = shape[d + 1]
                if stride > inner:
                    value = ops.pad(value, _zero(value), [0] * rank,
                                    [stride - inner if i == d + 1 else 0 for i in range(rank)])
                shape = list(shape_of(value))
                merged = shape[d] * shape[d + 1]
                value = ops.reshape(value, [*shape[:d], merged, *shape[d + 2:]])
                if stride > inner:
                    shape = list(shape_of(value))
                    value = ops.slice(value, [0] * len(shape), [n - (stride - inner) if i == d else n
                                                                for i, n in enumerate(shape)])
        at += 1
    return value


def _zero(value: ir.Value) -> object:
    return np.zeros((), dtype_of(value))[()]


def _scattered(whole: ir.Value, forms: Sequence[Form], places: Sequence[Place], value: Lanes, mask: Lanes | None,
               domain: Domain, name: str | None) -> ir.Value:
    """Write at index vectors. Dimensions with a whole, dense window of axes that nothing else needs stay windows."""
    extents = shape_of(whole)
    windows = [d for d, (p, n) in enumerate(zip(places, extents, strict=True))
               if isinstance(p, Window) and p.dynamic is None and p.start == 0 and len(p.terms) == 1 and p.dense
               and p.width == n and not p.terms[0].flipped]
    while True:
        points = [d for d in range(len(extents)) if d not in windows]
        needed = {a for d in points for a in axes_of(forms[d])} | (set(mask.axes) if mask is not None else set())
        kept = [d for d in windows if not axes_of(forms[d]) & needed]
        if kept == windows:
            break
        windows = kept
    window_axes = [p.terms[0].axis for d in windows if isinstance(p := places[d], Window)]
    axes = live({*needed, *(a for a in value.axes if a not in window_axes)}, domain)
    table = _indices([forms[d] for d in points], axes, domain)
    if mask is not None:
        chosen = broadcast(mask, axes, domain)
        chosen = ops.broadcast_in_dim(chosen, shape_of(table), range(len(axes)))
        table = ops.select(chosen, table, ops.splat(-1, table))
    updates = broadcast(value, [*axes, *window_axes], domain)
    return ops.scatter(whole, table, updates, "second" if name is None else combiner(name),
                       update_window_dims=range(len(axes), len(axes) + len(windows)),
                       inserted_window_dims=points, scatter_dims_to_operand_dims=points, index_vector_dim=len(axes))
