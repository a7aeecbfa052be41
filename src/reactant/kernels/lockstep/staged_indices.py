"""Which element of an array each place of a staging tile comes from, as tables; and what a table means for slices.

A tile's place holds array[i, j, ...] where each index is a function of some axes of blocks and of the place alone. That
is checked, not assumed: every store's own indices must be what the tables say.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import product

import numpy as np

from reactant.ir.types import size
from reactant.kernels.lockstep.accesses import PIECES, Pieces, runs_of
from reactant.kernels.lockstep.conditions import Several, both
from reactant.kernels.lockstep.coordinates import Coordinates
from reactant.kernels.lockstep.data import Axis, Condition, Domain, Form, Origin, of_atom
from reactant.kernels.lockstep.forms import KNOWN_PLACES, axes_of, evaluated, spread
from reactant.kernels.lockstep.lanes import live
from reactant.support.records import dataclass

UNSET, OUT = -2, -1
"""In tables of indices: what nobody needs to know (never written, a thread that does not take part), and what lies
beyond the array."""


class NotStaged(Exception):
    """A tile holds something else than parts of one array, or is asked for in a way that no slices answer."""


@dataclass(frozen=True)
class Write:
    """One store, over the coordinates of the launch: the flat place; the index in each dimension of the array (none
    where the fill is stored); where the array's element is taken (else the fill); which threads write (as far as
    known, `sure` if that is all)."""

    place: Form
    indices: tuple[Form, ...]
    guard: tuple[Condition, ...]
    when: tuple[Condition, ...]
    sure: bool

    def under(self, new: Write) -> Write | None:
        """What is left of it after a later store."""
        if not new.sure or new.place != self.place:
            return self
        more = [c for c in new.when if c not in self.when]
        return replace(self, when=(*self.when, both(*more).negated())) if more else None

    def axes(self, d: int) -> set[Axis]:
        """What its place and its index in a dimension depend on."""
        return axes_of(self.place) | (axes_of(self.indices[d]) if self.indices else set())


@dataclass(frozen=True)
class Table:
    """The index in one dimension (of `extent`) of the array by block (over `blocks`) and place of the tile; the guards
    that it has."""

    blocks: tuple[Axis, ...]
    entries: np.ndarray
    guards: frozenset[Condition]
    extent: int

    def indices(self, place: Form, when: Sequence[Condition], domain: Domain,
                where: Coordinates) -> tuple[tuple[Axis, ...], np.ndarray]:
        """The index that each thread of a domain reads, over the axes on which it depends."""
        axes = tuple({*self.blocks, *axes_of(place)})
        every = {a: where.domain.get(a) or domain[a] for a in axes}
        shape, places = _counts(axes, every), spread(every, axes)
        at = np.broadcast_to(evaluated(place, places), shape)
        taken = _all([c for c in when if c.axes() <= set(axes)], places, shape)
        taken &= (at >= 0) & (at < self.entries.shape[-1])
        key = (*(np.broadcast_to(places[a], shape) for a in self.blocks), np.where(taken, at, 0))
        axes, found = _needed(axes, np.where(taken, self.entries[key], UNSET))
        wanted = live((m for a in axes for m in where.machine_axes(a)), domain)
        lanes = {m: np.int64(s.low) for m, s in domain.items()} | spread(domain, wanted)
        position = [evaluated(where.back[a], lanes) if a in where.back else (lanes[a] - domain[a].low) // domain[a].step
                    for a in axes]
        shape = tuple(domain[m].count for m in wanted)
        return wanted, np.broadcast_to(found[tuple(position)], shape)


@dataclass(frozen=True, eq=False)
class Staged:
    """All stores so far, where the elements come from, and what is there where they come from nowhere."""

    origin: Origin | None
    fill: np.ndarray | None
    writes: tuple[Write, ...]
    made: list[Table] = field(default_factory=list)

    def tables(self, elements: int, where: Coordinates) -> list[Table]:
        """One for each dimension of the array. Raises `NotStaged`."""
        assert self.origin is not None
        if not self.made:
            self.made.extend(_table(self, d, elements, where) for d in range(len(self.origin.shape)))
            seen = frozenset[Condition]().union(*(t.guards for t in self.made))
            if any(g not in seen for w in self.writes for g in w.guard):
                self.made.clear()
                raise NotStaged
        return self.made


def _table(known: Staged, d: int, elements: int, where: Coordinates) -> Table:
    """The index in dimension d by block and place. Raises `NotStaged` where it depends on more, or writes differ."""
    assert known.origin is not None
    extent, blocks = known.origin.shape[d], _blocks(known, d, where)
    if size([where.domain[a].count for a in blocks]) * elements > KNOWN_PLACES:
        raise NotStaged
    entries = np.full((*(where.domain[a].count for a in blocks), elements), UNSET, np.int64)
    written, guards = [], set()
    for w in (*(w for w in known.writes if w.indices), *_fills(known, d, where)):
        inside = [g for g in w.guard if _is_home(known, g, d, where)]
        guards |= set(inside)
        axes = (*blocks, *(w.axes(d).union(*(g.axes() for g in inside)) - set(blocks)))
        shape, places = _counts(axes, where.domain), spread(where.domain, axes)
        at, beyond = np.broadcast_to(evaluated(w.place, places), shape), ~_all(inside, places, shape)
        index = np.where(beyond, OUT, evaluated(w.indices[d], places) if w.indices else OUT)
        taken = _all([c for c in w.when if c.axes() <= set(axes)], places, shape)
        if w.indices:
            taken &= beyond | ((index >= 0) & (index < extent))         # no thread that reads outside counts
        if (taken & ((at < 0) | (at >= elements))).any():
            raise NotStaged
        key = (*(np.broadcast_to(places[a], shape)[taken] for a in blocks), at[taken])
        entries[key] = index[taken]
        written.append((key, index[taken]))
    if any((entries[key] != index).any() for key, index in written):
        raise NotStaged
    return Table(blocks, entries, frozenset(guards), extent)


def _blocks(known: Staged, d: int, where: Coordinates) -> tuple[Axis, ...]:
    """The axes of blocks on which the index in a dimension depends."""
    return tuple(set().union(*(w.axes(d) for w in known.writes)) & where.blocks)


def _homes(known: Staged, axes: set[Axis], where: Coordinates) -> list[int]:
    """How well the table of each dimension knows a condition over some axes: 2 if the index depends on them, 1 if the
    table has them, else 0."""
    assert known.origin is not None
    found = []
    for d in range(len(known.origin.shape)):
        indexed = set().union(*(axes_of(w.indices[d]) for w in known.writes if w.indices))
        has = indexed.union(*(axes_of(w.place) for w in known.writes), _blocks(known, d, where))
        found.append(2 if axes <= indexed else 1 if axes <= has else 0)
    return found


def _is_home(known: Staged, condition: Condition, d: int, where: Coordinates) -> bool:
    """Whether a guard is to be seen in the table of a dimension: in one of them, as what is beyond the array in one
    dimension is whatever the others say."""
    homes = _homes(known, condition.axes(), where)
    return homes[d] > 0 and homes.index(max(homes)) == d


def _fills(known: Staged, d: int, where: Coordinates) -> list[Write]:
    """The stores of the fill that are to be seen in the table of a dimension: the one that knows most of the conditions
    of each. To take more threads for it than there are is no harm: where others store something else, the table
    fails."""
    found = []
    for w in known.writes:
        if w.indices:
            continue
        ways = [c.parts if isinstance(c, Several) and not c.every else (c,) for c in w.when]
        for when in product(*ways):
            weights = [(1 if len(way) == 1 else len(when) + 1) for way in ways]
            homes = [_homes(known, c.axes(), where) for c in when] or [[0]]
            score = [sum(n * h for n, h in zip(weights, column, strict=False)) for column in zip(*homes, strict=True)]
            if score.index(max(score)) == d:
                found.append(replace(w, when=when))
    return found


def require_inside(place: Form, when: Sequence[Condition], elements: int, domain: Domain) -> None:
    """Raise `NotStaged` where a thread may read beyond the tile: memory says so better."""
    axes = tuple(axes_of(place))
    shape, places = _counts(axes, domain), spread(domain, axes)
    at = np.broadcast_to(evaluated(place, places), shape)
    if (_all([c for c in when if c.axes() <= set(axes)], places, shape) & ((at < 0) | (at >= elements))).any():
        raise NotStaged


def _counts(axes: Sequence[Axis], domain: Domain) -> tuple[int, ...]:
    counts = tuple(domain[a].count for a in axes)
    if size(counts) > KNOWN_PLACES:
        raise NotStaged
    return counts


def _all(conditions: Sequence[Condition], places: dict[Axis, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    truth = np.ones(shape, bool)
    for c in conditions:
        truth &= c.evaluated(places)
    return truth


def _needed(axes: tuple[Axis, ...], found: np.ndarray) -> tuple[tuple[Axis, ...], np.ndarray]:
    """The same without the axes along which nothing changes."""
    kept = []
    for k in reversed(range(len(axes))):
        most = found.max(k, keepdims=True)
        if ((found == most) | (found == UNSET)).all():
            found = most.squeeze(k)
        else:
            kept.append(axes[k])
    return tuple(reversed(kept)), found


# ---- tables as slices ----------------------------------------------------------------------------------------------

def affine(indices: np.ndarray, axes: Sequence[Axis], domain: Domain, extent: int) -> Form | None:
    """The affine form that gives the indices wherever they matter, and leaves the array where they do."""
    known = indices >= 0
    if not known.any():
        return None
    factors = []
    for k in range(len(axes)):
        ahead, behind = (np.moveaxis(indices, k, 0)[part] for part in (slice(1, None), slice(-1)))
        pairs = (ahead >= 0) & (behind >= 0)
        if not pairs.any():
            return None
        first = np.unravel_index(int(pairs.argmax()), pairs.shape)
        factors.append(int(ahead[first]) - int(behind[first]))
    first = np.unravel_index(int(known.argmax()), known.shape)
    start = int(indices[first]) - sum(c * int(p) for c, p in zip(factors, first, strict=True))
    found = np.full(indices.shape, start)
    for k, (c, n) in enumerate(zip(factors, indices.shape, strict=True)):
        found += c * np.arange(n).reshape([-1 if j == k else 1 for j in range(indices.ndim)])
    beyond = (found < 0) | (found >= extent)
    if not ((found == indices) | (indices == UNSET) | ((indices == OUT) & beyond)).all():
        return None
    form = Form(start)
    for axis, c in zip(axes, factors, strict=True):
        low, step = domain[axis].low, domain[axis].step
        if c % step:
            return None
        form = form + of_atom(axis).times(c // step).plus(-c // step * low)
    return form


def pieces(indices: np.ndarray, axes: Sequence[Axis]) -> Pieces | None:
    """A few progressions along the axes as one; what does not matter is as the place before."""
    table = indices.reshape(-1)
    known = table != UNSET
    if known.any():
        latest = np.maximum.accumulate(np.where(known, np.arange(len(table)), -1))
        table = table[np.where(latest < 0, int(known.argmax()), latest)]
    else:
        table = np.full(table.shape, OUT)
    runs: list[tuple[int, int, int]] = []
    for part in np.split(table, np.flatnonzero(np.diff(table == OUT)) + 1):
        found = [(OUT, 0, len(part))] if part[0] == OUT else runs_of(part)
        if found is None or len(runs) + len(found) > PIECES:
            return None
        runs += found
    return Pieces(tuple(axes), tuple(runs))
