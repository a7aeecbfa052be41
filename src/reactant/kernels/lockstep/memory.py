"""Memory of a kernel as one tensor: dimensions for the axes that have copies of their own, then those of the memory.

Global memory has one copy, shared memory one a block, local memory one a thread; a copy's axis appears only once what
is stored depends on it. Loads are slices (gathers where the index is run-time arithmetic), stores are updates
(scatters).
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.kernels.form.form import span_of
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.lockstep.accesses import (
    Place,
    Plan,
    Scattered,
    Window,
    apart,
    plan,
    split,
    window_of,
)
from reactant.kernels.lockstep.combining import IDEMPOTENT, reduced
from reactant.kernels.lockstep.conditions import TRUE
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Axis, Domain, Form, Lanes, Origin, View, of_atom
from reactant.kernels.lockstep.forms import (
    KNOWN_ELEMENTS,
    at_domain,
    axes_of,
    content,
    facts_of,
    is_affine,
    is_static,
    range_of,
)
from reactant.kernels.lockstep.lanes import apply, condition_lanes, fitted, number, ordered, select
from reactant.kernels.lockstep.reading import (
    Bounds,
    as_one_dimension,
    bounds_of_places,
    cut,
    disjoint,
    located,
    of_part,
    read,
    window_of_axis,
)
from reactant.kernels.lockstep.staging import Staged, composed, places_of, staged
from reactant.kernels.lockstep.writing import clipped, each_its_own, scattered, windows_written, winners
from reactant.support.records import dataclass

REMEMBERED = 8
"""So many writes are looked through by reads."""


class OutOfRange(Exception):
    """An access certainly leaves its memory: (least, greatest index, elements)."""


def outside(op: ir.Operation, problem: OutOfRange, what: str) -> Exception:
    """What a thread does there that an access is outside of its memory for sure."""
    low, high, elements = problem.args
    index = low if low < 0 else high
    return OutOfBounds(f"A thread of the kernel {what} element {index} of a buffer of {elements} elements.",
                       span=span_of(op))


@dataclass
class Written:
    """The latest writes behind a value of memory, newest first: where, and what, in dimensions `shape`."""

    value: ir.Value
    entries: list[tuple[tuple[int, ...], Bounds, ir.Value]]


@dataclass(frozen=True)
class Numbers:
    """Integers that the compiler knows, by place, in memory that had held nothing before (None: no longer known)."""

    own: ir.Value
    by_place: dict[int, Any]


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
    numbers: Numbers | None = None
    content: np.ndarray | None = None
    kept: Any = None

    def flat(self) -> ir.Value:
        return ops.reshape(self.value, (*(a.extent for a in self.axes), self.elements))

    # -- planning

    def _plan(self, form: Form, context: Context, writing: bool) -> tuple[Plan, list[Form], list[Place]]:
        """The plan, and forms and places of all dimensions, those of the copies first."""
        found = plan(form, (self.shape,), self.elements, context.domain, writing, facts_of(context.mask))
        forms = [at_domain(of_atom(a), context.domain) for a in self.axes]
        places: list[Place] = [window_of_axis(a, context.domain) for a in self.axes]
        forms += found.forms
        return found, forms, list(apart([*places, *found.places], forms))

    def known_numbers(self) -> dict[int, Any] | None:
        """The integers that the compiler knows; None where something else may have been written."""
        if self.numbers is not None and self.numbers.own == self.value:
            return self.numbers.by_place
        return {} if self.unknown is not None and self.unknown == self.value else None

    def note_number(self, known: dict[int, Any] | None, place: int | None, number: Any, context: Context) -> None:
        """Remember an integer (None: something else) that was written at a place, and which lanes wrote it."""
        self.numbers = None
        if known is not None and place is not None and self.scratch:
            same = known.get(place) is not None and known[place][1:] == (context.domain, context.mask)
            again = place not in known or same
            entry = (number, context.domain, context.mask) if number is not None and again else None
            self.numbers = Numbers(self.value, {**known, place: entry})

    def number_at(self, place: int | None) -> Any:
        """The integer at a place, where it is known."""
        if place is None or self.numbers is None or self.numbers.own != self.value:
            return None
        found = self.numbers.by_place.get(place)
        return None if found is None else found[0]

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
        lanes = replace(lanes, origin=self._origin(form, found, context))
        zero = [f for part, place, n in zip(found.forms, found.places, found.shape, strict=True)
                if isinstance(place, Window) and place.starts(context.domain) is not None
                for f in (part, Form(n - 1) - part)]
        if size(found.shape) > self.elements:
            zero.append(Form(self.elements - 1) - form)
        return replace(lanes, zero_unless=tuple(zero))

    def origin_of(self, form: Form, context: Context) -> Origin | None:
        """Where a load comes from."""
        return self._origin(form, self._plan(form, context, writing=False)[0], context)

    def _origin(self, form: Form, found: Plan, context: Context) -> Origin | None:
        if self.scratch or self.content is not None or not is_static(form):
            return None
        natural = split(form, self.shape, context.domain, facts_of(context.mask))
        if natural is not None:
            return Origin(self, self.value, tuple(natural), self.shape, form, found.shape == self.shape)
        if is_affine(form) or size(found.shape) != self.elements:
            return None
        return Origin(self, self.value, found.forms, found.shape, form, natural=False)

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
        origin = Origin(array, array.value, tuple(forms), array.shape, Form(), zeroed=known.origin.zeroed)
        return replace(lanes, origin=origin)

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
        bounds = bounds_of_places(places)
        if bounds is None:
            return read(self._seen(found.shape), forms, places, domain)
        shape = (*(a.extent for a in self.axes), *found.shape)
        inside = all(0 <= s and s + (n - 1) * t < m for (s, t, n), m in zip(bounds, shape, strict=True))
        windows = [p for p in places if isinstance(p, Window)]
        part = self._latest(shape, bounds) if inside else None
        if part is None:
            lanes = read(self._seen(found.shape), forms, places, domain)
        else:
            value = cut(ops.reshape(part[0], part[1]), part[2])
            lanes = of_part(ops.reshape(value, [n for *_, n in bounds]), windows, domain)
        return replace(lanes, view=self._view(found, places))

    def _view(self, found: Plan, places: Sequence[Place]) -> View | None:
        """Which part of scratch memory, or of what was written into it last, an access reads."""
        bounds = bounds_of_places(places)
        shape = (*(a.extent for a in self.axes), *found.shape)
        windows = [p for p in places if isinstance(p, Window)]
        if bounds is None or not self.scratch or any(t.flipped for w in windows for t in w.terms) \
                or not all(0 <= s and s + (n - 1) * t < m for (s, t, n), m in zip(bounds, shape, strict=True)):
            return None
        part = self._latest(shape, bounds)
        if part is None and size(found.shape) != self.elements:
            return None     # it was padded to be seen so
        part = part or (self.value, shape, bounds)
        labels = tuple(tuple(t.axis for t in w.terms) for w in windows)
        flat = as_one_dimension(part[2], part[1], len(self.axes))
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
                flat, other = as_one_dimension(bounds, shape, lead), as_one_dimension(where, seen, lead)
                if flat is None or other is None:
                    return None
                wanted, there = flat, other
            local = located(wanted, there)
            if local is not None:
                return update, tuple(n for *_, n in there), local
            if not disjoint(wanted, there):
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
            if self.numbers is not None and self.numbers.own == old:
                self.numbers = replace(self.numbers, own=self.value)
            if self.stages is not None and self.stages.own == old:
                self.stages = replace(self.stages, own=self.value)

    def store(self, form: Form, value: Lanes, context: Context) -> None:
        """Write; where several lanes write one place, one of them wins."""
        self._write(form, value, context, None, None)

    @contextlib.contextmanager
    def seen_as(self, dtype: np.dtype) -> Iterator[None]:
        """Meanwhile, what it holds is numbers of another kind, of the same bits."""
        own = dtype_of(self.value)
        if own == dtype:
            yield
            return
        self.value = ops.bitcast_convert(self.value, dtype)
        yield
        self.value = ops.bitcast_convert(self.value, own)

    def combine(self, form: Form, value: Lanes, context: Context, name: str, identity: object) -> None:
        """Combine what the lanes give into memory by an associative, commutative op of StableHLO."""
        self._write(form, value, context, name, identity)

    def _write(self, form: Form, value: Lanes, context: Context, name: str | None, identity: object) -> None:
        self._check(form, context)
        domain = context.domain
        value = fitted(value, domain)
        given = value
        found, _, _ = self._plan(form, context, writing=True)
        clips, remaining = clipped(found, context, self.elements, form)
        fresh = self.unknown is not None and self.unknown == self.value and name is None \
            and each_its_own(found, value, context, self.private)
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
            value, mask, lost = winners(value, mask, placed, domain)
        else:
            value, mask = self._reduced(value, mask, placed, context, name, identity)
            lost = set()
        if lost and not context.mask.known and not fresh:
            mask = condition_lanes(context.mask, domain)
        whole, entry = self._seen(found.shape), None
        if not lost and all(isinstance(p, Window) for p in places):
            clips = [None] * len(clips) if fresh else clips
            whole, entry = windows_written(whole, places, [*[None] * len(self.axes), *clips], value, mask, domain, name)
        else:
            whole = scattered(whole, forms, places, value, mask, domain, name)
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
        extra = {a for a, s in domain.items() if s.count > 1 and a not in placed and a not in self.private}
        if not extra:
            return value, mask
        if mask is not None and set(mask.axes) & extra:
            value, mask = select(mask, value, number(identity, value.dtype), domain), None
        along = [a for a in value.axes if a in extra]
        if along:
            dims = [value.axes.index(a) for a in along]
            kept = [k for k in range(len(value.axes)) if k not in dims]
            total = reduced(name, value.value, dims)
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
