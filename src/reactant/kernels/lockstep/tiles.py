"""Shared memory that only stages loads, as no memory at all: a read of it is a read of the array at the composed place.

What the threads of a block write into a tile is noted; nothing is stored. Each dimension of the array is fetched at an
index that is known for every block and every place of the tile, with whatever clamps, wraps and guards the kernel has
for the edges: a table (`staged_indices`). A read goes through the tables, and what comes out for each thread is a
slice, or a few (the edge again and again, the other end, a constant beyond). So threads need not be told from blocks,
and what is left is what the kernel would be without the tile. A tile that does anything else raises `NotStaged`.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reactant.ir import ops
from reactant.ir.types import size
from reactant.kernels.lockstep.accesses import Place, Scattered, apart, split, window_of
from reactant.kernels.lockstep.conditions import both, narrowed, terms_of
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.coordinates import Coordinates, outside_span
from reactant.kernels.lockstep.data import Choice, Condition, Domain, Form, Lanes, Origin, Run, Taken
from reactant.kernels.lockstep.forms import assuming, at_domain, axes_of, facts_of, floor_division, is_static
from reactant.kernels.lockstep.gathering import NotAtOnce, Record
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.reading import read
from reactant.kernels.lockstep.staged_indices import (
    OUT,
    NotStaged,
    Staged,
    Table,
    Write,
    affine,
    pieces,
    require_inside,
)
from reactant.kernels.lockstep.staging import guarded
from reactant.kernels.lockstep.values import Integer, Value
from reactant.support.records import dataclass

MOST_WRITES = 64
FEW_PIECES = 3
"""So many slices are taken before it is looked at which threads read: what all read is read once."""


@dataclass(frozen=True)
class Read(Taken):
    """A read of a tile in one of its states, at a place."""

    tile: Tile
    known: Staged
    form: Form


def taken_whole(x: Lanes, y: Lanes, context: Context) -> Lanes | None:
    """Two branches that read the same place of a tile, as one read."""
    if not isinstance(x.taken, Read) or x.taken != y.taken:
        return None
    try:
        return x.taken.tile.taken(x.taken.known, x.taken.form, context)
    except NotStaged:
        return None


@dataclass(eq=False)
class Tile(Memory):
    """Shared memory as notes of what was stored (`kept`)."""

    coordinates: Coordinates | None = None

    # -- what other memory does

    def own_copies(self, axes: object) -> None:
        raise NotStaged

    def combine(self, form: Form, value: Lanes, context: Context, name: str, identity: object) -> None:
        raise NotStaged

    def simple(self, form: Form, context: Context, writing: bool) -> bool:
        return True

    def _where(self) -> Coordinates:
        assert self.coordinates is not None
        return self.coordinates

    # -- writing

    def keep(self, form: Form, value: Value, records: Sequence[Record], context: Context) -> None:
        """Note what is stored: what an array holds at an index that is known for every thread, or a constant."""
        if records:
            raise NotAtOnce("its iterations write shared memory")
        fill = _constant(value, self.dtype)
        origin = origin_of(value) if fill is None else None
        if origin is None and fill is None or not is_static(form):
            raise NotStaged
        for way in _ways(form, origin, context):
            self._keep(*way, fill)

    def _keep(self, form: Form, origin: Origin | None, context: Context, fill: np.ndarray | None) -> None:
        known = self.kept or Staged(None, None, ())
        write = _write(form, origin, context, self._where())
        before = tuple(left for w in known.writes if (left := w.under(write)) is not None)
        if origin is not None and origin.fill is not None:
            fill = origin.fill.astype(self.dtype)
        if before:
            origin, fill = _joined(known, origin, fill)
        if len(before) >= MOST_WRITES:
            raise NotStaged
        self.kept = Staged(origin, fill, (*before, write))

    # -- reading

    def load(self, form: Form, context: Context) -> Lanes:
        """What the array holds where the tile's element came from."""
        if self.kept is None:
            raise NotStaged
        return self.taken(self.kept, form, context)

    def taken(self, known: Staged, form: Form, context: Context) -> Lanes:
        """The same of an earlier state. Raises `NotAtOnce` where it fails in a loop that runs all its iterations at
        once."""
        try:
            return replace(self._fetched(known, form, context), taken=Read(self, known, form))
        except NotStaged:
            if any(a.dimension < 0 for a in context.domain):
                raise NotAtOnce("its iterations read shared memory at places that no slices give") from None
            raise

    def _fetched(self, known: Staged, form: Form, context: Context) -> Lanes:
        where, origin = self._where(), known.origin
        if origin is None or not is_static(form):
            raise NotStaged
        tables = known.tables(self.elements, where)
        place, (when, _) = where.of_form(form), _conditions(context, where)
        require_inside(place, when, self.elements, {**context.domain, **where.domain})
        forms, places, inside = [], [], True
        fill = np.zeros((), self.dtype) if known.fill is None else known.fill
        for table in tables:
            fitted = _fitted(table, place, when, context.domain, where)
            if fitted is None:
                return Lanes(ops.constant(fill))
            index, found, beyond = fitted
            forms.append(index)
            places.append(found)
            inside = inside and not beyond
        whole = apart(places, forms)
        scattered = [f for p, f in zip(whole, forms, strict=True) if isinstance(p, Scattered)]
        if scattered and not inside:
            raise NotStaged
        self.overlapping = {a for f in scattered for a in axes_of(f)}
        array = ops.convert(ops.reshape(origin.value, origin.shape), self.dtype)
        lanes = read(array, forms, whole, context.domain, fill)
        if not inside or origin.memory.dtype != self.dtype or whole != tuple(places):
            return lanes
        flat = Form()
        for index, n in zip(forms, origin.shape, strict=True):
            flat = flat.times(n) + index
        return replace(lanes, origin=replace(origin, forms=tuple(forms), flat=flat, guard=(), fill=None))


def _fitted(table: Table, place: Form, when: Sequence[Condition], domain: Domain,
            where: Coordinates) -> tuple[Form, Place, bool] | None:
    """The index in a dimension of the array that each thread of a domain reads: as a form (some form of its axes, where
    it is none), as places, and whether threads read beyond the array; None where all do."""
    for conditions in ((), when) if when else ((),):
        axes, indices = table.indices(place, conditions, domain, where)
        beyond = bool((indices == OUT).any())
        if (indices < 0).all():
            return None
        form = affine(indices, axes, domain, table.extent)
        if form is not None:
            window = window_of(form, domain)
            return form, window if window is not None else Scattered(form), beyond
        found = pieces(indices, axes)
        if found is not None and (len(found.runs) <= FEW_PIECES or conditions is when):
            return Form(0, tuple((a, 1) for a in found.axes)), found, True
    raise NotStaged


def _ways(form: Form, origin: Origin | None, context: Context,
          depth: int = 4) -> Iterator[tuple[Form, Origin | None, Context]]:
    """A store case by case, where the compiler has made one store of several: by the choices in its place, and in the
    place of the load where that has no dimensions."""
    whole = origin is None or origin.shape == origin.memory.shape
    terms = form.terms if origin is None or whole else (*form.terms, *origin.flat.terms)
    found = next((a for a, _ in terms if isinstance(a, Choice)), None)
    if found is None or not depth:
        yield form, origin if origin is None or whole else _by_division(origin, context), context
        return
    for holds in (True, False):
        condition = found.condition if holds else found.condition.negated()
        lanes = narrowed(context.domain, both(context.mask, condition.at_domain(context.domain)))
        if lanes is None:
            continue
        arm = replace(context, domain=lanes[0], mask=lanes[1])
        there = None if origin is None else _at(origin, assuming(origin.flat, found.condition, holds), arm)
        yield from _ways(at_domain(assuming(form, found.condition, holds), arm.domain), there, arm, depth - 1)


def _at(origin: Origin, flat: Form, context: Context) -> Origin:
    """An origin in some of its cases."""
    flat = at_domain(flat, context.domain)
    found = split(flat, origin.memory.shape, context.domain, facts_of(context.mask))
    if found is None:
        return replace(origin, flat=flat)
    return replace(origin, flat=flat, forms=tuple(found), shape=origin.memory.shape)


def _by_division(origin: Origin, context: Context) -> Origin:
    """An origin with the index of each dimension by dividing: right for whatever is in the array."""
    forms, rest = [], origin.flat
    for d in range(len(origin.memory.shape)):
        stride = size(origin.memory.shape[d + 1:])
        forms.append(floor_division(rest, stride, context.domain))
        rest = rest - forms[-1].times(stride)
    return replace(origin, forms=tuple(forms), shape=origin.memory.shape)


def _constant(value: Value, dtype: np.dtype) -> np.ndarray | None:
    """The number that all threads store."""
    if isinstance(value, Integer):
        return None if value.form.known is None else np.asarray(value.form.known).astype(dtype)
    found = ops.constant_value(value.value) if isinstance(value, Lanes) else None
    return None if found is None or found.ndim else found.astype(dtype)


def origin_of(value: Value) -> Origin | None:
    """Where a value was loaded."""
    if isinstance(value, Lanes):
        return value.origin
    if not isinstance(value, Integer) or value.form.constant or len(value.form.terms) != 1:
        return None
    atom, factor = value.form.terms[0]
    if factor != 1:
        return None
    if isinstance(atom, Run):
        return atom.lanes.origin
    if isinstance(atom, Choice):
        for form, other, holds in ((atom.chosen, atom.other, atom.condition),
                                   (atom.other, atom.chosen, atom.condition.negated())):
            origin = origin_of(Integer(form, value.width))
            if origin is not None and other.known is not None:
                return guarded(origin, holds, np.asarray(other.known))
    return None


def _write(form: Form, origin: Origin | None, context: Context, where: Coordinates) -> Write:
    when, sure = _conditions(context, where)
    if origin is None:
        return Write(where.of_form(form), (), (), when, sure)
    return Write(where.of_form(form), tuple(where.of_form(f) for f in origin.forms),
                 tuple(where.of_condition(c) for c in origin.guard), when, sure)


def _joined(known: Staged, origin: Origin | None, fill: np.ndarray | None) -> tuple[Origin | None, np.ndarray | None]:
    """One array and one fill for all stores. Raises `NotStaged`."""
    other = known.origin
    if origin is not None and other is not None and (
            origin.memory is not other.memory or origin.value != other.value or origin.shape != other.shape):
        raise NotStaged
    if fill is not None and known.fill is not None and fill.tobytes() != known.fill.tobytes():
        raise NotStaged
    return origin or other, known.fill if fill is None else fill


def _conditions(context: Context, where: Coordinates) -> tuple[tuple[Condition, ...], bool]:
    """Which lanes of the launch are in a context, as far as the compiler knows; whether that is all."""
    parts = terms_of(context.mask)
    narrow = [c for a, s in context.domain.items() if a.dimension >= 0 for c in outside_span(a, s)]
    static = [where.of_condition(c) for c in (*parts, *narrow) if c.is_static()]
    return tuple(c for c in static if not c.known), all(c.is_static() for c in parts)
