"""Writes into a tensor at planned places: updates of windows, scatters elsewhere; who wins, and what a guard leaves."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.kernels.lockstep.accesses import (
    Place,
    Plan,
    Window,
    bounds_of,
)
from reactant.kernels.lockstep.combining import combine, combiner
from reactant.kernels.lockstep.conditions import Compare, both, terms_of
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Axis, Condition, Domain, Form, Lanes, Span
from reactant.kernels.lockstep.forms import axes_of, facts_of
from reactant.kernels.lockstep.lanes import broadcast, fitted, form_lanes, live
from reactant.kernels.lockstep.reading import INDEX, Bounds, bounds_of_places, index_vectors, start_of


def winners(value: Lanes, mask: Lanes | None, placed: set[Axis],
             domain: Domain) -> tuple[Lanes, Lanes | None, set[Axis]]:
    """Which lanes win where several write one place; also the axes along known only at run time."""
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


def each_its_own(found: Plan, value: Lanes, context: Context, private: frozenset[Axis]) -> bool:
    """Whether every lane, also one that the mask leaves out, has a place of its own."""
    if not all(isinstance(p, Window) for p in found.places):
        return False
    placed = {t.axis for p in found.places if isinstance(p, Window) for t in p.terms} | private
    return all(s.count == 1 or a in placed for a, s in context.domain.items()) or (
        not value.axes and context.mask.known is True)


def clipped(found: Plan, context: Context, elements: int,
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


def windows_written(whole: ir.Value, places: Sequence[Place], clips: Sequence[tuple[int, int] | None], value: Lanes,
                    mask: Lanes | None, domain: Domain,
                    name: str | None) -> tuple[ir.Value, tuple[Bounds, ir.Value] | None]:
    """The tensor with the windows written; also, where it is simple, what was written where."""
    windows = [p for p in places if isinstance(p, Window)]
    extents = shape_of(whole)
    axes = [t.axis for w in windows for t in w.terms]
    laid = broadcast(value, axes, domain)
    selected = None if mask is None else _folded(broadcast(mask, axes, domain), windows)
    update, selected, starts, padding = _cut(_folded(laid, windows), selected, windows, clips, extents, domain)
    grown = any(low or high for low, high in padding)
    target = ops.pad(whole, 0, *zip(*padding, strict=True)) if grown else whole
    at = [start_of(w.dynamic, s, domain) for w, s in zip(windows, starts, strict=True)]
    selected = _kept_inside(update, selected, windows, extents, domain)
    if 0 in shape_of(update):
        return whole, None
    dynamic = any(w.dynamic is not None for w in windows)
    entry: tuple[Bounds, ir.Value] | None = None
    if selected is None and name is None and not grown and not dynamic:
        entry = tuple((s, 1, n) for s, n in zip(starts, shape_of(update), strict=True)), update
    elif mask is None and name is None and not grown and all(
            c is None and w.regular and w.dynamic is None and 0 <= w.start and w.last < n
            and not any(t.flipped for t in w.terms) for c, w, n in zip(clips, windows, extents, strict=True)):
        regular = bounds_of_places(windows)
        assert regular is not None
        entry = regular, ops.reshape(laid, [n for _, _, n in regular])
    if name is not None or selected is not None:
        old = ops.dynamic_slice(target, at, shape_of(update)) if dynamic else \
            ops.slice(target, starts, [s + n for s, n in zip(starts, shape_of(update), strict=True)])
        update = update if name is None else combine(name, old, update)
        update = update if selected is None else ops.select(selected, update, old)
    covers = shape_of(update) == shape_of(target) and not dynamic
    result = update if covers else ops.dynamic_update_slice(target, update, at)
    if grown:
        skipped = [p[0] for p in padding]
        result = ops.slice(result, skipped, [a + n for a, n in zip(skipped, extents, strict=True)])
    return result, entry


def _cut(update: ir.Value, selected: ir.Value | None, windows: Sequence[Window],
         clips: Sequence[tuple[int, int] | None], extents: Sequence[int], domain: Domain
         ) -> tuple[ir.Value, ir.Value | None, list[int], list[tuple[int, int]]]:
    """(the update, where it counts, its first places, what the memory needs before and behind to hold it): known
    windows without what lies outside of the memory, and nothing from between the places of lanes that lie apart."""
    for d, w in enumerate(windows):
        if not w.dense:
            kept = ops.broadcast_in_dim(ops.constant(_comb(w)), shape_of(update), [d])
            selected = kept if selected is None else ops.and_(selected, kept)
    starts, padding = [], []
    for d, (w, extent) in enumerate(zip(windows, extents, strict=True)):
        if w.dynamic is None:
            least, most = clips[d] or (w.start, w.last)
            low = min(max(0, -w.start, least - w.start), w.width)
            high = min(max(0, w.last + 1 - extent, w.last - most), w.width - low)
            cut = [(low, n - high) if k == d else (0, n) for k, n in enumerate(shape_of(update))]
            if low or high:
                update = ops.slice(update, *zip(*cut, strict=True))
                selected = None if selected is None else ops.slice(selected, *zip(*cut, strict=True))
            padding.append((0, 0))
        else:
            bounds = w.starts(domain)
            low, high = (0, 0) if bounds is None else (max(0, -bounds[0]), max(0, bounds[1] + w.width - extent))
            padding.append((low, high))
        starts.append(w.start + low)
    return update, selected, starts, padding


def _kept_inside(update: ir.Value, selected: ir.Value | None, windows: Sequence[Window], extents: Sequence[int],
                 domain: Domain) -> ir.Value | None:
    """Where an update counts: nowhere if the program leaves the memory with a window of which nothing is known."""
    for w, extent in zip(windows, extents, strict=True):
        if w.dynamic is not None and w.starts(domain) is None:
            inside = _inside(form_lanes(w.dynamic.plus(w.start), INDEX, domain).value, extent)
            inside = ops.broadcast_in_dim(inside, shape_of(update), [])
            selected = inside if selected is None else ops.and_(selected, inside)
    return selected


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


def scattered(whole: ir.Value, forms: Sequence[Form], places: Sequence[Place], value: Lanes, mask: Lanes | None,
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
    # the iterations of loops first, as lanes go through them: x[i + iteration * threads] in order
    if name is not None:
        axes = (*(a for a in axes if a.dimension < 0), *(a for a in axes if a.dimension >= 0))
    table = index_vectors([forms[d] for d in points], axes, domain)
    if mask is not None:
        chosen = broadcast(mask, axes, domain)
        chosen = ops.broadcast_in_dim(chosen, shape_of(table), range(len(axes)))
        table = ops.select(chosen, table, ops.splat(-1, table))
    updates = broadcast(value, [*axes, *window_axes], domain)
    return ops.scatter(whole, table, updates, "second" if name is None else combiner(name),
                       update_window_dims=range(len(axes), len(axes) + len(windows)),
                       inserted_window_dims=points, scatter_dims_to_operand_dims=points, index_vector_dim=len(axes))
