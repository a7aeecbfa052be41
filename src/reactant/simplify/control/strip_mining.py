"""while loops whose iterations do not need one another, but make too much together: some iterations at once, chunk
after chunk.

    for k in range(n): y[k] = f(x[k])   =   for c in range(0, n, m): y[c:c + m] = f of x[c:c + m]

The loop becomes one over chunks of as many iterations as a batch may make bytes for, around a loop over the iterations
of a chunk, which `loop_maps` makes a batch of; iterations that are left over are a loop of their own behind. Whether a
target wants that (or runs the loop as it is) is in `target_costs`. """
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.raised import Raised
from reactant.batching.raising import Plan
from reactant.batching.roles import Count
from reactant.ir import ops
from reactant.ir.types import dtype_of, nbytes
from reactant.rewrite import Site, inside, rewrite
from reactant.simplify.control.loop_maps import FREE, pays
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, counted

LEAST = 16
"""Iterations that a chunk must have to pay."""
X = "tensor<120xf32>"
_PAIRS = f"""%s = stablehlo.dynamic_slice %x, %i, sizes = [1] : ({X}, tensor<i32>) -> tensor<1xf32>
%e = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xf32>) -> {X}
%d = stablehlo.subtract %x, %e : {X}
%q = stablehlo.multiply %d, %d : {X}
%v = stablehlo.exponential %q : {X}
%zf = stablehlo.constant dense<-1.0> : tensor<f32>
%t = stablehlo.reduce(%v init: %zf) applies stablehlo.maximum across dimensions = [0] :
  ({X}, tensor<f32>) -> tensor<f32>
%u = stablehlo.reshape %t : (tensor<f32>) -> tensor<1xf32>
%b = stablehlo.dynamic_update_slice %a, %u, %i : ({X}, tensor<1xf32>, tensor<i32>) -> {X}
"""


def _pairs(trips: int) -> str:
    return counted([("%a", "%y", "%b", "tensor<3xf32>")], _PAIRS, "%r#1", trips=trips).replace("tensor<3xf32>", X)


@rewrite("stablehlo.while", example=(_pairs(119), _pairs(120)), counter=_pairs(30))
def while_is_map_in_chunks(site: Site):
    """a loop whose iterations write apart but make too much together = a loop over chunks of iterations done at once"""
    table = costs()
    plan = Plan.of(site.op) if table is not None and table.chunk_bytes else None
    if table is None or plan is None or not plan.whole or not plan.iterations.exact or plan.is_float_sum:
        return None
    chunk = table.chunk_bytes // max(_bytes_of_iteration(plan), 1)
    if chunk < LEAST or plan.count < 2 * chunk or not pays(plan, plan.leaving, chunk):
        return None
    counts = {i: role for i, role in plan.roles.items() if isinstance(role, Count)}
    others = [i for i in range(len(plan.inits)) if i not in counts]
    if not others:
        return None

    def iterations(first: ir.Value, many: int, values: Sequence[ir.Value]) -> list[ir.Value]:
        """`many` iterations from number `first` on."""
        def iteration(k: ir.Value, *now: ir.Value) -> list[ir.Value]:
            carried = _carried(plan, counts, others, ops.add(first, k), now)
            after = site.inline(BODY, carried)
            return [ops.add(k, 1), *(after[i] for i in others)]
        return _counted(many, iteration, values)

    chunks = plan.count // chunk
    values = _counted(chunks, lambda c, *now: [ops.add(c, 1), *iterations(ops.multiply(c, chunk), chunk, now)],
                      [plan.inits[i] for i in others])
    if plan.count % chunk:
        values = iterations(ops.constant(chunks * chunk, np.int64), plan.count % chunk, values)
    found = dict(zip(others, values, strict=True))
    for i, role in counts.items():
        found[i] = ops.add(plan.inits[i], ops.convert(ops.constant(plan.count * role.counter.step, np.int64),
                                                          dtype_of(plan.inits[i])))
    return [found[i] for i in range(len(plan.inits))]


def _bytes_of_iteration(plan: Plan) -> int:
    """Bytes of the largest value that an iteration makes."""
    raised = Raised(plan, plan.leaving)
    needed = plan.behind([*raised.needs, *(v for i in raised.shifted for v in plan.roles[i].needs)])[0]
    body = [child for op in needed for child in (op, *inside(op)) if child.name not in FREE]
    return max((nbytes(r) for op in body for r in op.results
                if r in raised.spread.batched), default=0)


def _carried(plan: Plan, counts: dict[int, Count], others: Sequence[int], iteration: ir.Value,
             now: Sequence[ir.Value]) -> list[ir.Value]:
    """What the old loop carries in an iteration, from its number and what is carried besides counters."""
    found = dict(zip(others, now, strict=True))
    for i, role in counts.items():
        dtype = dtype_of(plan.inits[i])
        number = iteration if dtype == np.int64 else ops.convert(iteration, dtype)
        number = ops.multiply(number, role.counter.step) if role.counter.step != 1 else number
        start = plan.inits[i]
        known = ops.constant_value(start)
        found[i] = number if known is not None and int(known) == 0 else ops.add(start, number)
    return [found[i] for i in range(len(plan.inits))]


def _counted(many: int, iteration: Callable[..., list[ir.Value]], values: Sequence[ir.Value]) -> list[ir.Value]:
    """What a loop of `many` iterations leaves of what it carries besides its counter."""
    zero = ops.constant(0, np.int64)
    return ops.while_([zero, *values], lambda k, *_: ops.compare(k, many, "LT"), iteration)[1:]
