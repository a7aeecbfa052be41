"""One value of a kernel for all lanes at once: a tensor with one dimension for each axis that the value depends on.

A value that is the same for all lanes is 0-d. Dimensions are in the order of the axes; their extents are those of the
spans for which the value was computed. Reading it in a smaller domain slices.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.kernels.lockstep.combining import reduced
from reactant.kernels.lockstep.conditions import Compare, Given, Known, Several
from reactant.kernels.lockstep.data import Axis, Choice, Condition, Division, Domain, Form, Lanes, Run, Span, Tree


def number(value: object, dtype: object) -> Lanes:
    """A constant."""
    return Lanes(ops.constant(value, dtype))


def ordered(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    return tuple(sorted(set(axes), key=lambda a: a.order))


def relative(outer: Span, inner: Span) -> tuple[int, int, int]:
    """(start, limit, stride) of `inner` among the places of `outer`, which holds it."""
    start, stride = (inner.low - outer.low) // outer.step, max(1, inner.step // outer.step)
    if inner.count == 1:
        stride = 1
    return start, start + (inner.count - 1) * stride + 1, stride


def total(tree: Tree, domain: Domain) -> Lanes:
    """All lanes of the warp together, at a domain without its axes."""
    whole = {**domain, **{a: Span(0, a.extent) for a in tree.axes}}
    kept = live((a for a in tree.source.axes if a not in tree.axes), whole)
    value = broadcast(tree.source, [*kept, *tree.axes], whole)
    dims = range(len(kept), len(kept) + len(tree.axes))
    value = reduced(tree.kind, value, dims)
    return Lanes(value, kept, tuple(whole[a] for a in kept))


def fitted(x: Lanes, domain: Domain) -> Lanes:
    """The value in a smaller domain; axes of one place are dropped."""
    if x.tree is not None and all(a in domain and domain[a] == Span(0, 1) for a in x.tree.axes) and x.tree.complete():
        return total(x.tree, domain)
    if all(domain.get(a) == s and s.count != 1 for a, s in zip(x.axes, x.spans, strict=True)):
        return x
    spans = [domain.get(a, s) for a, s in zip(x.axes, x.spans, strict=True)]
    value = x.value
    if x.axes:
        value = ops.slice(value, *zip(*(relative(o, s) for o, s in zip(x.spans, spans, strict=True)), strict=True))
    kept = [(a, s) for a, s in zip(x.axes, spans, strict=True) if s.count != 1]
    value = ops.reshape(value, [s.count for _, s in kept])
    product = None if x.product is None else (fitted(x.product[0], domain), fitted(x.product[1], domain))
    return Lanes(value, tuple(a for a, _ in kept), tuple(s for _, s in kept), product, x.zero_unless, origin=x.origin,
                 taken=x.taken, summands=tuple(fitted(s, domain) for s in x.summands))


def broadcast(x: Lanes, axes: Sequence[Axis], domain: Domain) -> ir.Value:
    """The tensor of a value over all of `axes` (in their order, whatever it is) at a domain."""
    x = fitted(x, domain)
    shape = [domain[a].count for a in axes]
    places = [axes.index(a) for a in x.axes]
    value = x.value
    if places != sorted(places):
        by_place = sorted(range(len(places)), key=lambda k: places[k])
        value, places = ops.transpose(value, by_place), sorted(places)
    return ops.broadcast_in_dim(value, shape, places)


def laid_over(value: ir.Value, axes: Sequence[Axis], domain: Domain,
              product: tuple[Lanes, Lanes] | None = None) -> Lanes:
    """A tensor over `axes` at `domain` as a value; axes may be in any order, and those of one place are dropped."""
    order = sorted(range(len(axes)), key=lambda k: axes[k].order)
    value = ops.transpose(value, order)
    kept = [axes[k] for k in order if domain[axes[k]].count != 1]
    value = ops.reshape(value, [domain[a].count for a in kept])
    return Lanes(value, tuple(kept), tuple(domain[a] for a in kept), product)


def live(axes: Iterable[Axis], domain: Domain) -> tuple[Axis, ...]:
    """Those with more than one place, in order."""
    return ordered(a for a in axes if domain[a].count != 1)


def apply(function: Callable[..., ir.Value], operands: Sequence[Lanes], domain: Domain) -> Lanes:
    """An elementwise function of values."""
    axes = live((a for x in operands for a in x.axes), domain)
    value = function(*(broadcast(x, axes, domain) for x in operands))
    return Lanes(value, axes, tuple(domain[a] for a in axes))


MOST_SUMMANDS = 16


def summands_of(x: object) -> tuple[Lanes, ...]:
    """The products that a value is the sum of."""
    if not isinstance(x, Lanes):
        return ()
    return (x,) if x.product is not None else x.summands


def negated(x: Lanes, domain: Domain) -> Lanes:
    """-x; what it is the product or the sum of is kept."""
    found = apply(ops.negate, [x], domain)
    product = None if x.product is None else (apply(ops.negate, [x.product[0]], domain), x.product[1])
    return replace(found, product=product, summands=tuple(negated(s, domain) for s in x.summands))


# ---- forms and conditions as tensors -------------------------------------------------------------------------------

def form_lanes(form: Form, dtype: np.dtype, domain: Domain) -> Lanes:
    """The values of a form, computed in an integer type (modulo its width)."""
    total: Lanes | None = None
    for atom, c in form.terms:
        part = _atom_lanes(atom, c, dtype, domain)
        total = part if total is None else apply(ops.add, [total, part], domain)
    constant = _wrapped(form.constant, dtype)
    if total is None:
        return number(constant, dtype)
    return total if not constant else apply(lambda x: ops.add(x, constant), [total], domain)


def _wrapped(number: int, dtype: np.dtype) -> int:
    """A number modulo the width of a type, as one of its numbers."""
    bits = dtype.itemsize * 8
    return int(np.array(number & (1 << bits) - 1, f"uint{bits}").view(dtype))


def _atom_lanes(atom: object, factor: int, dtype: np.dtype, domain: Domain) -> Lanes:
    factor = _wrapped(factor, dtype)
    if isinstance(atom, Axis):
        span = domain[atom]
        if span.count == 1:
            return form_lanes(Form(span.low * factor), dtype, domain)
        step, low = _wrapped(span.step * factor, dtype), _wrapped(span.low * factor, dtype)
        value = ops.iota((span.count,), np.dtype(np.int64) if span.count > np.iinfo(dtype).max else dtype, 0)
        value = ops.convert(value, dtype)
        value = ops.multiply(value, step) if step != 1 else value
        value = ops.add(value, low) if low else value
        return Lanes(value, (atom,), (span,))
    if isinstance(atom, Run) and atom.lanes.dtype == dtype and factor == 1:
        return fitted(atom.lanes, domain)
    if isinstance(atom, Run):
        found = apply(lambda x: ops.convert(x, dtype), [atom.lanes], domain)
    elif isinstance(atom, Division):
        found = form_lanes(atom.form, np.dtype(np.int64), domain)
        found = apply(lambda x: ops.convert(_floor_divide(x, atom.divisor), dtype), [found], domain)
    else:
        assert isinstance(atom, Choice)
        branches = [form_lanes(f, dtype, domain) for f in (atom.chosen, atom.other)]
        found = select(condition_lanes(atom.condition, domain), branches[0], branches[1], domain)
    return found if factor == 1 else apply(lambda x: ops.multiply(x, factor), [found], domain)


def _floor_divide(x: ir.Value, divisor: int) -> ir.Value:
    if (divisor & (divisor - 1)) == 0:
        return ops.shift_right_arithmetic(x, divisor.bit_length() - 1)
    quotient, negative = ops.divide(x, divisor), ops.compare(x, 0, "LT")
    return ops.select(negative, ops.subtract(ops.divide(ops.add(x, 1), divisor), 1), quotient)


def condition_lanes(condition: Condition, domain: Domain) -> Lanes:
    """A condition as booleans."""
    condition = condition.at_domain(domain)
    if isinstance(condition, Known):
        return number(condition.value, np.bool_)
    if isinstance(condition, Given):
        found = fitted(condition.lanes, domain)
        return apply(ops.not_, [found], domain) if condition.negative else found
    if isinstance(condition, Several):
        first, *others = (condition_lanes(part, domain) for part in condition.parts)
        for other in others:
            first = apply(ops.and_ if condition.every else ops.or_, [first, other], domain)
        return first
    assert isinstance(condition, Compare)
    return _comparison(condition, domain)


def _comparison(condition: Compare, domain: Domain) -> Lanes:
    """form >= 0 with the constant on the other side, and one atom compared with its bound where there is but one."""
    form, wide = condition.form, np.dtype(np.int64)
    if sum(c < 0 for _, c in form.terms) * 2 > len(form.terms):
        positive = Form(0, tuple((a, -c) for a, c in form.terms))         # constant >= positive
        direction = {"GE": "LE"}.get(condition.kind, condition.kind)
        return apply(lambda x: ops.compare(x, form.constant, direction), [form_lanes(positive, wide, domain)], domain)
    variable = form_lanes(Form(0, form.terms), wide, domain)
    return apply(lambda x: ops.compare(x, -form.constant, condition.kind), [variable], domain)


def select(mask: Lanes, chosen: Lanes, other: Lanes, domain: Domain) -> Lanes:
    """`chosen` where the mask holds."""
    return apply(ops.select, [mask, chosen, other], domain)
