"""`scf.if` and `scf.index_switch`: each branch for the lanes that take it, then their results side by side."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.kernels.lockstep.arithmetic import chosen
from reactant.kernels.lockstep.combining import identity
from reactant.kernels.lockstep.conditions import Compare, both
from reactant.kernels.lockstep.context import Context, zero_outside
from reactant.kernels.lockstep.data import Axis, Condition, Domain, Form, Lanes
from reactant.kernels.lockstep.lanes import broadcast, condition_lanes, laid_over, live, relative, select
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.staging import origin_of_choice
from reactant.kernels.lockstep.tiles import taken_whole
from reactant.kernels.lockstep.values import (
    Integer,
    Partial,
    Refused,
    Value,
    as_lanes,
    is_static_value,
    of_lanes,
)
from reactant.kernels.stages.barriers import has_barrier


def branch(machine: Machine, op: ir.Operation, context: Context) -> list[Value]:
    """`scf.if`."""
    condition = machine.get(op.operands[0])
    if not isinstance(condition, Condition):
        raise Refused("a branch needs a carried value of a loop")
    otherwise = op.regions[1].blocks[0] if len(op.regions[1].blocks) else None
    return _taken(machine, op, condition, op.regions[0].blocks[0], otherwise, context)


def switch(machine: Machine, op: ir.Operation, context: Context) -> list[Value]:
    """`scf.index_switch`: region 0 is the default."""
    index, cases = machine.integer(op.operands[0]), list(attr.decode(op.attributes["cases"]))
    blocks = [region.blocks[0] for region in op.regions]
    return _cases(machine, op, index.form, cases, blocks[1:], blocks[0], context)


def _cases(machine: Machine, op: ir.Operation, index: Form, cases: list[int], blocks: Sequence[ir.Block],
           default: ir.Block, context: Context) -> list[Value]:
    if not cases:
        return machine.block_of(default, context)
    here = Compare(index.plus(-cases[0]), "EQ").at_domain(context.domain)
    inside, outside = _split(machine, here, context)
    taken = machine.block_of(blocks[0], inside) if inside is not None else None
    others = _cases(machine, op, index, cases[1:], blocks[1:], default, outside) if outside is not None else None
    return merged(op, here, context, (inside, taken), (outside, others))


def _split(machine: Machine, condition: Condition, context: Context) -> tuple[Context | None, Context | None]:
    return machine.narrowed(context, condition), machine.narrowed(context, condition.negated())


def _taken(machine: Machine, op: ir.Operation, condition: Condition, then: ir.Block, otherwise: ir.Block | None,
           context: Context) -> list[Value]:
    inside, outside = _split(machine, condition, context)
    if inside is not None and outside is not None and otherwise is not None and has_barrier(then) \
            and has_barrier(otherwise) and machine.tells_threads_apart(condition):
        raise Refused("threads of a block meet at barriers in both branches of a condition that tells them apart", op)
    if inside is None and outside is None:
        outside = context                                   # no lane is here: any branch will do
    taken = machine.block_of(then, inside) if inside is not None else None
    others = None if outside is None else machine.block_of(otherwise, outside) if otherwise is not None else []
    return merged(op, condition, context, (inside, taken), (outside, others))


Arm = tuple["Context | None", "list[Value] | None"]


def merged(op: ir.Operation, condition: Condition, context: Context, then: Arm, otherwise: Arm) -> list[Value]:
    """The results of a branch for all lanes of its context."""
    if then[0] is None or then[1] is None:
        return otherwise[1] or []
    if otherwise[0] is None or otherwise[1] is None:
        return then[1]
    return [merged_value(result.type, condition, context, (then[0], x), (otherwise[0], y))
            for result, x, y in zip(op.results, then[1], otherwise[1], strict=True)]


def merged_value(type_: ir.Type, condition: Condition, context: Context, then: tuple[Context, Value],
                 otherwise: tuple[Context, Value]) -> Value:
    (inside, x), (outside, y) = then, otherwise
    if x is y or (isinstance(x, Integer) and isinstance(y, Integer) and x.form == y.form and is_static_value(x)):
        return x
    if isinstance(x, Partial) or isinstance(y, Partial):
        return _merged_partial(condition, context, (inside, x), (outside, y))
    if isinstance(x, Memory) or isinstance(y, Memory):
        raise Refused("a branch chooses between arrays")
    whole = inside.domain == context.domain == outside.domain
    if isinstance(x, Lanes) and isinstance(y, Lanes):
        taken = taken_whole(x, y, context)
        if taken is not None:
            return taken
        for kept, other, arm in ((x, y, inside), (y, x, outside)):
            if _zero_elsewhere(arm, context, kept, other):
                origin, before = origin_of_choice(condition, x, y), kept.origin
                zeroed = before is not None and before.natural and before.whole
                return replace(kept, origin=origin and replace(origin, zeroed=zeroed))
    if whole or (is_static_value(x) and is_static_value(y) and condition.is_static()):
        return chosen(condition, x, y, type_, context.domain)
    a, b = as_lanes(x, inside.domain), as_lanes(y, outside.domain)
    found = placed(condition, context, (inside, a), (outside, b))
    return of_lanes(replace(found, origin=origin_of_choice(condition, a, b)), type_)


def _zero_elsewhere(arm: Context, context: Context, x: Lanes, y: Lanes) -> bool:
    """Whether x is zero anyway where its branch is not taken, and so is y."""
    return arm.domain == context.domain and _zero_anyway(arm, context, x, y)


def _zero_anyway(arm: Context, context: Context, x: Lanes, y: Lanes) -> bool:
    """The same, within the domain of the branch."""
    if not zero_outside(x, arm, context):
        return False
    known = ops.constant_value(y.value)
    return known is not None and not known.view(f"int{8 * known.dtype.itemsize}").any()


def _merged_partial(condition: Condition, context: Context, then: tuple[Context, Value],
                    otherwise: tuple[Context, Value]) -> Value:
    """A sum that goes on in one branch only: what the others add is nothing. Parts may have iterations of loops inside
    the branch as axes."""
    (inside, x), (outside, y) = then, otherwise
    if not (isinstance(x, Partial) and isinstance(y, Partial)) or x.key is not y.key:
        raise Refused("a carried value of a loop is replaced in a branch")
    kind = x.kind or y.kind
    if kind is None:
        return x
    if kind != (x.kind or kind) or kind != (y.kind or kind):
        raise Refused("a carried value of a loop is combined in different ways")
    n = 0
    while n < min(len(x.parts), len(y.parts)) and x.parts[n] is y.parts[n]:
        n += 1
    parts = list(x.parts[:n])
    for arm, other, found in ((inside, outside, x.parts[n:]), (outside, inside, y.parts[n:])):
        for part in found:
            nothing = Lanes(ops.constant(identity(kind, part.dtype)))
            iterations = {a: s for a, s in part.domain.items() if a not in context.domain}
            whole, here, there = (replace(c, domain={**c.domain, **iterations}) for c in (context, arm, other))
            pair = ((here, part), (there, nothing)) if arm is inside else ((there, nothing), (here, part))
            parts.append(placed(condition, whole, *pair))
    return Partial(x.key, kind, tuple(parts))


def placed(condition: Condition, context: Context, then: tuple[Context, Lanes],
           otherwise: tuple[Context, Lanes]) -> Lanes:
    """Lanes of two branches, each computed for its own lanes only, as lanes of all."""
    (inside, x), (outside, y) = then, otherwise
    domain = context.domain
    cut = {a for a in domain if inside.domain[a] != domain[a] or outside.domain[a] != domain[a]}
    if not cut:
        return select(condition_lanes(condition, domain), x, y, domain)
    if inside.domain == domain:                              # the other branch is the small one
        return placed(condition.negated(), context, (outside, y), (inside, x))
    axes = live({*x.axes, *y.axes, *cut, *_left(inside, context)}, domain)
    if outside.domain == domain:
        part = _restricted(inside, context, x, y)
        return _put(part, y, axes, inside.domain, domain)
    joined = _side_by_side(x, y, axes, inside, outside, context)
    if joined is not None:
        return joined
    mask = condition_lanes(condition, domain)
    return select(mask, _spread(x, axes, inside.domain, domain), _spread(y, axes, outside.domain, domain), domain)


def _left(inside: Context, context: Context) -> set[Axis]:
    """The axes of what is left of a branch's condition, narrowed."""
    mask = inside.mask
    return set() if mask.known else mask.axes()


def _restricted(inside: Context, context: Context, x: Lanes, y: Lanes) -> Lanes:
    """x where the branch is taken, y elsewhere, in the branch's own domain."""
    if inside.mask.known or inside.mask == context.mask.at_domain(inside.domain) \
            or _zero_anyway(inside, context, x, y):
        return x
    return select(condition_lanes(inside.mask, inside.domain), x, y, inside.domain)


def _put(part: Lanes, base: Lanes, axes: Sequence[Axis], small: Domain, domain: Domain) -> Lanes:
    """`part`, over a smaller domain, within `base`."""
    if not base.axes:
        return padded(part, base, axes, small, domain)
    bounds = [relative(domain[a], small[a]) for a in axes]
    if all(stride == 1 for *_, stride in bounds):
        update = broadcast(part, axes, small)
        whole = ops.dynamic_update_slice(broadcast(base, axes, domain), update,
                                         [ops.constant(start, "int64") for start, *_ in bounds])
        return laid_over(whole, axes, domain)
    nothing = Lanes(ops.constant(0, base.dtype))
    inside = padded(Lanes(ops.constant(True)), Lanes(ops.constant(False)), axes, small, domain)
    return select(inside, padded(part, nothing, axes, small, domain), base, domain)


def padded(part: Lanes, fill: Lanes, axes: Sequence[Axis], small: Domain, domain: Domain) -> Lanes:
    low, high, interior = [], [], []
    for a in axes:
        start, _, stride = relative(domain[a], small[a])
        count = small[a].count
        low.append(start)
        interior.append(stride - 1)
        high.append(domain[a].count - start - (count - 1) * stride - 1)
    return laid_over(ops.pad(broadcast(part, axes, small), fill.value, low, high, interior), axes, domain)


def _spread(x: Lanes, axes: Sequence[Axis], small: Domain, domain: Domain) -> Lanes:
    return padded(x, Lanes(ops.constant(0, x.dtype)), axes, small, domain)


def _side_by_side(x: Lanes, y: Lanes, axes: Sequence[Axis], inside: Context, outside: Context,
                  context: Context) -> Lanes | None:
    """Two branches that halve one axis: one after the other."""
    domain = context.domain
    cut = [a for a in axes if inside.domain[a] != domain[a] or outside.domain[a] != domain[a]]
    if len(cut) != 1 or not _exact(inside, context) or not _exact(outside, context):
        return None
    (axis,) = cut
    one, two = inside.domain[axis], outside.domain[axis]
    if one.count + two.count != domain[axis].count or {1} != {s.step for s in (one, two) if s.count > 1} | {1} \
            or domain[axis].step != 1:
        return None
    parts = [(one, broadcast(x, axes, inside.domain)), (two, broadcast(y, axes, outside.domain))]
    parts.sort(key=lambda p: p[0].low)
    if parts[0][0].last + 1 != parts[1][0].low:
        return None
    return laid_over(ops.concatenate([v for _, v in parts], axes.index(axis)), axes, domain)


def _exact(arm: Context, context: Context) -> bool:
    return bool(arm.mask.known) or arm.mask == context.mask.at_domain(arm.domain)


__all__ = ["both", "branch", "merged", "merged_value", "placed", "switch"]
