"""A sum of products over axes that both factors have is one `dot_general`."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import size
from reactant.kernels.lockstep.data import Axis, Lanes
from reactant.kernels.lockstep.lanes import laid_over, ordered


def contracted(part: Lanes, along: Sequence[Axis]) -> Lanes | None:
    """The sum of a product over axes, as a contraction; None where it is none or gains nothing by being one."""
    if part.product is None:
        return None
    x, y = part.product
    shared = [a for a in along if a in x.axes and a in y.axes]
    if not shared or any(a not in x.axes and a not in y.axes for a in along):
        return None
    domain = {**x.domain, **y.domain}
    x, y = (_summed(v, [a for a in along if a not in shared]) for v in (x, y))
    batch = [a for a in x.axes if a in y.axes and a not in shared]
    free_x, free_y = ([a for a in v.axes if a not in shared and a not in batch] for v in (x, y))
    if batch and not (free_x and free_y):
        return None
    (left, in_left), (right, in_right) = (_matrix(x, batch, free_x, shared), _matrix(y, batch, free_y, shared))
    n = len(batch)
    value = ops.dot_general(left, right, contracting_dims=([in_left], [in_right]), batching_dims=(range(n), range(n)))
    axes = [*batch, *free_x, *free_y]
    return laid_over(ops.reshape(value, [domain[a].count for a in axes]), axes, domain)


def _summed(x: Lanes, along: Sequence[Axis]) -> Lanes:
    """Summed over axes that the other factor does not have."""
    dims = [k for k, a in enumerate(x.axes) if a in along]
    if not dims:
        return x
    kept = [k for k in range(len(x.axes)) if k not in dims]
    return Lanes(ops.reduce(x.value, 0, dims, "add"), tuple(x.axes[k] for k in kept), tuple(x.spans[k] for k in kept))


def _matrix(x: Lanes, batch: Sequence[Axis], free: Sequence[Axis], shared: Sequence[Axis]) -> tuple[ir.Value, int]:
    """The factor as (batch..., free, shared) or (batch..., shared, free), each of the last two one dimension (none
    where there is no free axis), and which one is the shared."""
    shared = ordered(shared)
    value, axes = x.value, list(x.axes)
    if not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.transpose":
        moved = attr.decode(value.owner.attributes["permutation"])
        value, axes = value.owner.operands[0], [axes[moved.index(k)] for k in range(len(axes))]
    sides = [list(free), list(shared)] if free else [list(shared)]
    if axes == [*batch, *shared, *free]:
        sides.reverse()
    order = [axes.index(a) for a in (*batch, *(a for side in sides for a in side))]
    value = ops.transpose(value, order)
    count = {a: s.count for a, s in zip(x.axes, x.spans, strict=True)}
    shape = [count[a] for a in batch] + [size([count[a] for a in side]) for side in sides]
    return ops.reshape(value, shape), len(batch) + sides.index(list(shared))
