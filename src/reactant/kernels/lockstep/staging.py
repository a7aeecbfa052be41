"""Shared memory that only stages loads: what it holds at place p is what an array holds at an affine function of p.

`s[ty + 1][tx + 1] = u[i][j]`, and the threads at the edge of a block fetch what lies beside it: every place (p, q)
holds `u[16 by + p - 1][16 bx + q - 1]`, whoever wrote it. A read of such memory is a read of the array.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.kernels.lockstep.accesses import Facts, split
from reactant.kernels.lockstep.conditions import terms_of
from reactant.kernels.lockstep.data import Array, Axis, Condition, Domain, Form, Lanes, Origin
from reactant.kernels.lockstep.forms import at_domain, axes_of, is_affine
from reactant.support.records import dataclass


def origin_of_choice(condition: Condition, x: Lanes, y: Lanes) -> Origin | None:
    """Of lanes that are x where a condition holds and else y, one of them a constant."""
    for origin, other, holds in ((x.origin, y, condition), (y.origin, x, condition.negated())):
        fill = None if origin is None else ops.constant_value(other.value)
        if origin is not None and fill is not None and not fill.ndim:
            return guarded(origin, holds, fill)
    return None


def guarded(origin: Origin, condition: Condition, fill: np.ndarray) -> Origin | None:
    """What holds `fill` where the condition does not."""
    other = origin.fill is not None and fill.tobytes() != origin.fill.tobytes()
    if other or not condition.is_static():
        return None
    return replace(origin, guard=(*origin.guard, *terms_of(condition)), fill=fill, zeroed=False)


@dataclass(frozen=True, eq=False)
class Staged:
    """For each dimension of the array: a form (of axes with copies of their own) plus factors times the place.

    `rows` is None until a write tells the factors of all dimensions; `pending` are writes at single places before that,
    as (place, index). `own`: the value of the staging memory for which this holds."""

    origin: Origin
    own: ir.Value
    rows: tuple[tuple[Form, tuple[int, ...]], ...] | None
    pending: tuple[tuple[tuple[Form, ...], tuple[Form, ...]], ...] = ()


def staged(before: Staged | None, own: ir.Value, place: Sequence[Form], origin: Origin, private: frozenset[Axis],
           domain: Domain) -> Staged | None:
    """What memory stages after one more write of what was loaded; None where the writes do not agree."""
    if not origin.whole or not all(is_affine(f) for f in origin.forms):
        return None
    if before is not None and (before.origin.memory is not origin.memory or before.origin.value != origin.value):
        return None
    index = tuple(at_domain(f, domain) for f in origin.forms)
    place = tuple(at_domain(f, domain) for f in place)
    if not all(is_affine(f) for f in (*index, *place)):
        return None
    zeroed = origin.zeroed or (before is not None and before.origin.zeroed)
    origin = Origin(origin.memory, origin.value, (), origin.shape, origin.flat, zeroed=zeroed)
    pending = (*(before.pending if before else ()), (place, index))
    rows = before.rows if before is not None else None
    if rows is None:
        rows = _rows(place, index, private)
        if rows is None:
            single = all(not axes_of(f) - private for f in (*place, *index)) or any(not f.terms for f in place)
            return Staged(origin, own, None, pending) if single and len(pending) < 8 else None
    if not all(_agrees(rows, p, i, domain) for p, i in pending):
        return None
    return Staged(origin, own, rows)


def _rows(place: Sequence[Form], index: Sequence[Form],
          private: frozenset[Axis]) -> tuple[tuple[Form, tuple[int, ...]], ...] | None:
    """Each index as a form of private axes and factors times the place."""
    if any(not f.terms for f in place):
        return None
    rows = []
    for form in index:
        factors, rest = [], form
        for p in place:
            axis, c = p.terms[0]
            have = form.coefficient(axis)
            if have % c:
                return None
            factors.append(have // c)
            rest = rest - p.times(have // c)
        if axes_of(rest) - private:
            return None
        rows.append((rest, tuple(factors)))
    return tuple(rows)


def _agrees(rows: Sequence[tuple[Form, tuple[int, ...]]], place: Sequence[Form], index: Sequence[Form],
            domain: Domain) -> bool:
    return all(at_domain(found, domain) - form == Form() for found, form in
               zip(composed(rows, place), index, strict=True))


def composed(rows: Sequence[tuple[Form, tuple[int, ...]]], place: Sequence[Form]) -> list[Form]:
    """Where in the array a place of the staging memory comes from."""
    found = []
    for form, factors in rows:
        for p, factor in zip(place, factors, strict=True):
            form = form + p.times(factor)
        found.append(form)
    return found


def places_of(memory: Array, form: Form, domain: Domain, facts: Facts) -> list[Form] | None:
    """The place in each dimension of the staging memory's shape."""
    return split(form, memory.shape, domain, facts)
