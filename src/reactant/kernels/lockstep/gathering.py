"""What a loop that runs all its iterations at once gathers: carried values that are sums, products, extremes; and which
memory its iterations read and write."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import gcd
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import size
from reactant.kernels.lockstep import combining
from reactant.kernels.lockstep.accesses import split, window_of
from reactant.kernels.lockstep.combining import combine, identity
from reactant.kernels.lockstep.conditions import Given
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.contractions import contracted
from reactant.kernels.lockstep.data import Axis, Condition, Form, Lanes
from reactant.kernels.lockstep.forms import axes_of, content, facts_of, is_static, range_of
from reactant.kernels.lockstep.lanes import apply, condition_lanes, form_lanes, negated, select
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.values import Integer, Partial, Refused, Value, as_lanes
from reactant.support.records import dataclass


class NotAtOnce(Refused):
    """The iterations of a loop depend on each other, or are too many to hold."""


class SplitIterations(Exception):
    """An axis of a loop has to be two, the iterations of the second being `radix`: index arithmetic divides by that."""

    def __init__(self, axis: Axis, radix: int):
        super().__init__(axis, radix)
        self.axis, self.radix = axis, radix


KINDS = {
    "arith.addf": "add", "arith.addi": "add", "arith.mulf": "multiply", "arith.muli": "multiply",
    "arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxsi": "maximum", "arith.minsi": "minimum",
    "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor", "arith.maxnumf": "maxnum", "arith.minnumf": "minnum",
}
"""Ops that combine a carried value with something, as reductions."""


def combined(kind: str, x: Lanes, y: Lanes, context: Context) -> Lanes:
    return apply(lambda a, b: combine(kind, a, b), [x, y], context.domain)


MOST_ELEMENTS = 1 << 20
"""A reduction over values that are not read from memory one by one holds at most so many."""


def reduced(op: ir.Operation, part: Lanes, kind: str, context: Context, record: Record) -> Lanes:
    """Combine a part over the axes that the context does not have."""
    along = [a for a in part.axes if a not in context.domain]
    if not along:
        return part
    if kind == "add":
        found = contracted(part, along) or _contracted_apart(part, along, context)
        if found is not None:
            return found
    elements = size([s.count for s in part.spans])
    if elements > MOST_ELEMENTS and elements > 2 * record.loaded:
        raise NotAtOnce("its iterations together are too many values", op)
    dims = [part.axes.index(a) for a in along]
    kept = [k for k in range(len(part.axes)) if k not in dims]
    value = combining.reduced(kind, part.value, dims)
    return Lanes(value, tuple(part.axes[k] for k in kept), tuple(part.spans[k] for k in kept))


def _contracted_apart(part: Lanes, along: list[Axis], context: Context) -> Lanes | None:
    """The sum of a sum of products, where each of them is a contraction that holds less than its products: else the
    sums are as good as they stand, and differences of products are not taken apart."""
    total: Lanes | None = None
    for product in part.summands:
        factors = product.product or ()
        found = contracted(product, along)
        if found is None or any(set(factor.axes) >= set(product.axes) for factor in factors):
            return None
        total = found if total is None else apply(ops.add, [total, found], {**context.domain, **found.domain})
    return total


def gathered(op: ir.Operation, operands: list[Value], context: Context) -> Value:
    """An op on a partial result. Raises `NotAtOnce` where it is no reduction."""
    name = op.name
    if name == "arith.select" and isinstance(operands[0], Condition):
        return _selected(op, operands[0], operands[1], operands[2], context)
    if name == "math.fma" and isinstance(operands[2], Partial) and not any(
            isinstance(x, Partial) for x in operands[:2]):
        factors = tuple(as_lanes(x, context.domain) for x in operands[:2])
        found = apply(ops.multiply, factors, context.domain)
        return extended(operands[2], "add", Lanes(found.value, found.axes, found.spans, factors))  # type: ignore[arg-type]
    if name == "arith.subf" and isinstance(operands[0], Partial) and not isinstance(operands[1], Partial):
        return extended(operands[0], "add", negated(as_lanes(operands[1], context.domain), context.domain))
    if name == "arith.subi" and isinstance(operands[0], Partial) and not isinstance(operands[1], Partial):
        return extended(operands[0], "add", negated(as_lanes(operands[1], context.domain), context.domain))
    if name in KINDS and len(operands) == 2:
        x, y = operands
        if isinstance(y, Partial):
            x, y = y, x
        if isinstance(x, Partial) and not isinstance(y, (Partial, Memory)):
            return extended(x, KINDS[name], as_lanes(y, context.domain))
    raise NotAtOnce(f"an iteration of a loop needs what '{name}' makes of the iteration before", op)


def extended(x: Partial, kind: str, part: Lanes) -> Partial:
    if x.kind not in (None, kind):
        raise NotAtOnce("a carried value of a loop is combined in different ways")
    return Partial(x.key, kind, (*x.parts, part))


def _selected(op: ir.Operation, condition: Condition, x: Value, y: Value, context: Context) -> Value:
    """A sum that goes on under a condition."""
    if not (isinstance(x, Partial) and isinstance(y, Partial) and x.key is y.key):
        raise NotAtOnce("a carried value of a loop is replaced under a condition", op)
    kind = x.kind or y.kind
    if kind is None:
        return x
    if {x.kind or kind, y.kind or kind} != {kind}:
        raise NotAtOnce("a carried value of a loop is combined in different ways", op)
    shared = 0
    while shared < min(len(x.parts), len(y.parts)) and x.parts[shared] is y.parts[shared]:
        shared += 1
    parts = list(x.parts[:shared])
    mask = condition_lanes(condition, context.domain)
    for part in x.parts[shared:]:
        parts.append(_masked(mask, part, kind, context, True))
    for part in y.parts[shared:]:
        parts.append(_masked(mask, part, kind, context, False))
    return Partial(x.key, kind, tuple(parts))


def _masked(mask: Lanes, part: Lanes, kind: str, context: Context, where: bool) -> Lanes:
    domain = {**context.domain, **part.domain}
    nothing = Lanes(ops.constant(identity(kind, part.dtype)))
    return select(mask, part, nothing, domain) if where else select(mask, nothing, part, domain)


# ---- memory --------------------------------------------------------------------------------------------------------

@dataclass
class Access:
    """One access of an iteration: where, and what kind of access."""

    form: Form
    context: Context
    writes: bool
    combines: str | None = None


@dataclass
class Record:
    """What a loop that runs all its iterations at once does to the memory that it writes."""

    axis: Axis
    written: set[Memory]
    entry: Context
    accesses: dict[Memory, list[Access]] = field(default_factory=dict)
    defined: dict[Memory, np.ndarray] = field(default_factory=dict)
    own: set[Memory] = field(default_factory=set)
    unsure: set[Memory] = field(default_factory=set)
    updates: dict[Memory, Any] = field(default_factory=dict)
    loaded: int = 1
    overlapping: bool = False

    def notes(self) -> tuple:
        """What was noted so far."""
        return ({m: list(found) for m, found in self.accesses.items()},
                {m: places.copy() for m, places in self.defined.items()}, set(self.unsure), self.loaded,
                self.overlapping, [(u, list(u.found), list(u.open)) for u in self.updates.values()])

    def take_back(self, noted: tuple) -> None:
        """Forget what was noted since."""
        accesses, defined, unsure, self.loaded, self.overlapping, updates = noted
        self.accesses = {m: list(found) for m, found in accesses.items()}
        self.defined, self.unsure = {m: places.copy() for m, places in defined.items()}, set(unsure)
        for each, found, opened in updates:
            each.found, each.open = list(found), list(opened)


def note_read(records: Sequence[Record], memory: Memory, form: Form, context: Context) -> None:
    """A load."""
    for record in records:
        elements = size([context.domain[a].count for a in axes_of(form)])
        record.loaded = max(record.loaded, elements)
        if memory in record.written and not _defined_before(record, memory, form, context):
            record.accesses.setdefault(memory, []).append(Access(form, context, False))


def note_write(records: Sequence[Record], memory: Memory, form: Form, context: Context,
               combines: str | None = None) -> None:
    """A store, or an atomic that combines."""
    for record in records:
        record.accesses.setdefault(memory, []).append(Access(form, context, True, combines))
        if combines is not None:
            record.unsure.add(memory)
        elif memory.private:
            _define(record, memory, form, context)


def _touched(record: Record, memory: Memory, form: Form, context: Context) -> np.ndarray | None:
    """The elements that an access of one iteration touches, the same in every iteration; None where that is not
    known."""
    axes = tuple(a for a in axes_of(form) if context.domain[a].count > 1)
    if record.axis in axes or not is_static(form) or set(axes) & memory.private:
        return None
    if size([context.domain[a].count for a in axes]) > 1 << 20:
        return None
    domain = {a: context.domain[a] for a in axes_of(form)}
    return content(form, domain, tuple(domain)).reshape(-1)


def _define(record: Record, memory: Memory, form: Form, context: Context) -> None:
    """Remember which elements an iteration has written for sure."""
    entry = record.entry
    same_mask = context.mask.known or context.mask == entry.mask
    whole = all(context.domain[a] == entry.domain.get(a, context.domain[a]) for a in memory.private
                if a in context.domain)
    touched = _touched(record, memory, form, context) if same_mask and whole else None
    if touched is not None and touched.min() >= 0 and touched.max() < memory.elements:
        record.defined.setdefault(memory, np.zeros(memory.elements, bool))[touched] = True
    else:
        record.unsure.add(memory)


def _defined_before(record: Record, memory: Memory, form: Form, context: Context) -> bool:
    """Whether an iteration reads only what it has written itself."""
    defined = record.defined.get(memory)
    if defined is None or memory not in record.own:
        return False
    touched = _touched(record, memory, form, context)
    if touched is not None and touched.min() >= 0 and touched.max() < memory.elements:
        return bool(defined[touched].all())
    return bool(defined.all())


def independent(record: Record, memory: Memory, mask_varies: bool) -> bool:
    """Whether the iterations of a loop may touch a memory in any order."""
    found = record.accesses.get(memory, [])
    if memory not in record.own and all(a.writes and a.combines and a.combines == found[0].combines for a in found):
        return True
    if memory in record.own:        # each has a copy of its own, if all write the same elements and read no others
        return memory not in record.unsure and all(a.writes for a in found)
    for n, a in enumerate(found):
        for b in found[n:]:
            if (a.writes or b.writes) and not _no_conflict(record, memory, a, b, mask_varies, a is b):
                return False
    return True


def _no_conflict(record: Record, memory: Memory, a: Access, b: Access, mask_varies: bool, same: bool) -> bool:
    if a.combines != b.combines:
        return never_meet(a, b)
    if a.form == b.form:
        if all(_has_place_of_its_own(record.axis, memory, access) for access in ((a,) if same else (a, b))):
            return True
        # every iteration writes the same places: the last one counts
        same_place = record.axis not in axes_of(a.form) and is_static(a.form)
        return same and a.writes and same_place and not mask_varies \
            and (a.context.mask.known or record.axis not in a.context.mask.axes())
    return never_meet(a, b)


def _has_place_of_its_own(axis: Axis, memory: Memory, access: Access) -> bool:
    """Whether every iteration touches another place than all others."""
    domain = access.context.domain
    window = window_of(access.form, domain)
    if window is not None:
        return any(t.axis is axis for t in window.terms)
    forms = split(access.form, memory.shape, domain, facts_of(access.context.mask))
    windows = [window_of(f, domain) for f in forms or ()]
    return bool(windows) and all(windows) and any(t.axis is axis for w in windows if w is not None for t in w.terms)


def never_meet(a: Access, b: Access) -> bool:
    """Whether two accesses never meet: their places differ modulo what all coefficients share, or in range."""
    ra, rb = range_of(a.form, a.context.domain), range_of(b.form, b.context.domain)
    if ra is not None and rb is not None and (ra[1] < rb[0] or rb[1] < ra[0]):
        return True
    if not all(isinstance(t, Axis) for f in (a.form, b.form) for t, _ in f.terms):
        return False
    unit = 0
    for f in (a.form, b.form):
        for _, c in f.terms:
            unit = gcd(unit, abs(c))
    return (a.form.constant - b.form.constant) % unit != 0 if unit else a.form.constant != b.form.constant


__all__ = ["Given", "Integer", "NotAtOnce", "Partial", "form_lanes"]
