"""while loops that need their iterations one after the other: the products that do not are made for all iterations at
once.

    for t in range(n): h = tanh(x[t] @ w + h @ u); y[t] = h @ v

Here x @ w is one product of matrices before the loop, and with all h kept, h @ v is one after it: a matrix is read once
instead of in every iteration.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from jaxlib.mlir import ir

from reactant.batching.analysis import reads
from reactant.batching.raised import Raised
from reactant.batching.raising import Plan
from reactant.batching.roles import Count, Recurrent, Written
from reactant.ir import ops
from reactant.ir.types import dtype_of, nbytes, shape_of, size
from reactant.rewrite import CHANGED, Site, defined_in, rewrite, users
from reactant.simplify.control.loop_maps import BATCH_BYTES, PRODUCTS
from reactant.simplify.facts.while_loops import BODY, CONDITION

LIFTED_MATRIX, DEFERRED_MATRIX = 8_192, 32_768
"""Elements that the matrix of a product must have: a smaller one stays in the cache, and it does not matter how often
it is read. LSTM cells (benchmarks/loops.py), time without / with: 32 units (4 k) 0.7x, 64 (16 k) 1.15x, 128 1.5x
lifted,
and 0.9x, 0.5x, 256 (64 k) 1.2x deferred."""

FEW_ROWS = 2
"""Rows up to which a product is lifted: with more of them, a matrix is read for many rows in every iteration anyway,
and a row of the lifted product is a slice in the middle of the cell's loop, which XLA then does not vectorise. LSTM
cells, time without / with: 128 units, 1 row 1.2x, 32 rows 0.7x; 256 units, 1 row 1.6x, 16 rows 0.7x; 64 units, 16 rows
0.5x. """


def plan_of(site: Site) -> Plan | None:
    """The plan of a loop with a known number of iterations, some of which need those before."""
    plan = Plan.of(site.op)
    return plan if plan is not None and plan.iterations.exact and not plan.whole and any(
        isinstance(role, Count) for role in plan.roles.values()) else None


def _by_matrix(op: ir.Operation, loop: ir.Operation, least: int) -> bool:
    """Whether an op is a product of something with a big matrix that is the same in every iteration."""
    return op.name in PRODUCTS and any(not defined_in(v, loop) and size(shape_of(v)) >= least
                                       for v in op.operands)


def _few_rows(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether the other factor of a product with a fixed matrix has few rows (and the product no batch)."""
    matrix, other = sorted(op.operands, key=lambda v: defined_in(v, loop))
    depth = isqrt(size(shape_of(matrix)) * size(shape_of(other)) // size(shape_of(op.results[0])))
    return size(shape_of(other)) <= FEW_ROWS * depth


def iteration_number(plan: Plan, argument: ir.Value, role: Count) -> ir.Value:
    """The number of the iteration from a counter's value."""
    counter = role.counter
    start = plan.inits[role.index] if counter.start is None else counter.start
    iteration = argument if isinstance(start, int) and start == 0 else ops.subtract(argument, start)
    return iteration if counter.step == 1 else ops.divide(iteration, counter.step)


def counter_of(plan: Plan) -> Count:
    """A counter of a loop."""
    return next(role for role in plan.roles.values() if isinstance(role, Count))


# ---- before the loop -----------------------------------------------------------------------------------------------

M, H, X = "tensor<96x96xf32>", "tensor<96xf32>", "tensor<4x96xf32>"
_DOT = "stablehlo.dot_general {}, %w, contracting_dims = [0] x [0] : (" + f"{H}, {M}) -> {H}"
_LOOP = f"""(%x: {X}, %w: {M}, %h0: {H}) -> {X} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<4> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<4x96xf32>
  %r:3 = stablehlo.while(%i = %zero, %h = %h0, %y = %empty) : tensor<i32>, {H}, {X}
  cond {{
    %p = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %next = stablehlo.add %i, %one : tensor<i32>
    %row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 96] : ({X}, tensor<i32>, tensor<i32>) -> tensor<1x96xf32>
    %v = stablehlo.reshape %row : (tensor<1x96xf32>) -> {H}
    BODY
    %wide = stablehlo.reshape %out : ({H}) -> tensor<1x96xf32>
    %z = stablehlo.dynamic_update_slice %y, %wide, %i, %zero : ({X}, tensor<1x96xf32>, tensor<i32>, tensor<i32>) -> {X}
    stablehlo.return %next, %new, %z : tensor<i32>, {H}, {X}
  }}
  return %r#2 : {X}
}}"""
_IN = _LOOP.replace("BODY", f"%d = {_DOT.format('%v')}\n%s = stablehlo.add %d, %h : {H}\n"
                    f"%new = stablehlo.tanh %s : {H}\n%out = stablehlo.add %new, %v : {H}")
_OUT = _LOOP.replace("BODY", f"%s = stablehlo.add %v, %h : {H}\n%new = stablehlo.tanh %s : {H}\n"
                     f"%d = {_DOT.format('%new')}\n%out = stablehlo.add %d, %v : {H}")
_OUT = _OUT.replace("96", "192")
_ROWS = _IN
for _old, _new in (("<96x", "<8x96x"), ("<8x96x96x", "<96x96x"), ("<4x96", "<4x8x96"),
                   ("<1x96", "<1x8x96"), ("[1, 96]", "[1, 8, 96]"), ("[0] x [0]", "[1] x [0]"),
                   ("%i, %zero", "%i, %zero, %zero"), ("f32>, tensor<i32>", "f32>, tensor<i32>, tensor<i32>")):
    _ROWS = _ROWS.replace(_old, _new)
_BETWEEN = _LOOP.replace("BODY", f"%d = {_DOT.format('%h')}\n%s = stablehlo.add %d, %v : {H}\n"
                         f"%new = stablehlo.tanh %s : {H}\n%out = stablehlo.add %new, %v : {H}")


@rewrite("stablehlo.while", holds=PRODUCTS, changes="rounding", example=_IN, counter=(_BETWEEN, _OUT, _ROWS))
def while_lifts_products(site: Site):
    """products with a fixed matrix that need nothing of the iterations before: one product before the loop"""
    if not any(_by_matrix(op, site.op, LIFTED_MATRIX) for op in site.body(BODY)):
        return None
    plan = plan_of(site)
    if plan is None:
        return None
    counts = {a for a, i in plan.number.items() if isinstance(plan.roles[i], Count)}
    chosen = [op for op in plan.body if _by_matrix(op, site.op, LIFTED_MATRIX) and users(op.results[0])
              and _few_rows(op, site.op)
              and plan.count * nbytes(op.results[0]) <= BATCH_BYTES
              and (needed := plan.behind(op.operands)[1]) and needed <= counts]
    if not chosen:
        return None
    values = [op.results[0] for op in chosen]
    raised = Raised(plan, [], values)
    raised.build()
    role = counter_of(plan)
    for value in values:
        whole, shape = raised.batcher.full(value), shape_of(value)
        with ir.InsertionPoint.at_block_begin(site.block(BODY)):
            iteration = iteration_number(plan, plan.arguments[role.index], role)
            zero = ops.constant(0, dtype_of(iteration))
            row = ops.dynamic_slice(whole, [iteration, *[zero] * len(shape)], (1, *shape))
            site.substitute(value, ops.reshape(row, shape))
    return CHANGED


# ---- after the loop ------------------------------------------------------------------------------------------------

@rewrite("stablehlo.while", holds=PRODUCTS, changes="rounding", example=_OUT, counter=(_BETWEEN, _IN))
def while_defers_products(site: Site):
    """products with a fixed matrix of which only rows of an array are made: what they need is kept, and one product
    after the loop makes all rows"""
    if not any(_by_matrix(op, site.op, DEFERRED_MATRIX) for op in site.body(BODY)):
        return None
    plan = plan_of(site)
    for index, role in () if plan is None else plan.roles.items():
        if isinstance(role, Written) and index in plan.staying and len(role.writes) == 1 and site.used(index):
            kept = _kept(plan, site, index, role)
            if kept:
                return deferred(plan, site, [index], kept)
    return None


def _kept(plan: Plan, site: Site, index: int, role: Written) -> list[ir.Value]:
    """What has to be kept of each iteration to make what is written afterwards; empty where that does not pay."""
    others = [plan.returned[i] for i in plan.roles if i != index]
    needed = {op.results[0] for op in plan.behind(others, role.versions)[0]}
    later = [op for op in plan.behind(role.needs)[0] if op.results[0] not in needed]
    if not any(_by_matrix(op, site.op, DEFERRED_MATRIX) for op in later):
        return []
    made = {result for op in later for result in op.results}
    recurrent = {plan.arguments[i] for i, r in plan.roles.items() if isinstance(r, Recurrent)}
    cut = [v for v in dict.fromkeys(v for op in later for v in reads(op)) if v not in made and (
        v in recurrent or v in plan.owner and plan.behind([v])[1] & recurrent)]
    written = size(role.windows[0].sizes)
    little = sum(size(shape_of(v)) for v in cut) <= 4 * written and plan.count * sum(map(nbytes, cut)) <= BATCH_BYTES
    return cut if little else []


def deferred(plan: Plan, site: Site, indices: Sequence[int], kept: Sequence[ir.Value]) -> list[ir.Value]:
    """The results of a loop that keeps `kept` of every iteration, from which carried values `indices` are made after
    it."""
    counter = counter_of(plan)
    others = [plan.returned[i] for i in plan.roles if i not in indices]
    versions = dict.fromkeys(v for i in indices for v in getattr(plan.roles[i], "versions", ()))
    needed = {op.results[0] for op in plan.behind([*others, *kept], versions)[0]}
    positions = [i for i in range(len(plan.inits)) if i not in indices]
    buffers = [ops.constant(0, dtype_of(v), (plan.count, *shape_of(v))) for v in kept]

    def spread(values: Sequence[ir.Value]) -> list[ir.Value]:
        found = list(plan.inits)
        for i, value in zip(positions, values, strict=False):
            found[i] = value
        return found

    def iteration(*values: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(plan.arguments, spread(values), strict=True))
        mapping |= {v: plan.inits[plan.versions[v]] for v in versions}
        for op in plan.body:
            if len(op.results) and op.results[0] in needed:
                site.clone(op, mapping)
        number = iteration_number(plan, mapping[plan.arguments[counter.index]], counter)
        zero = ops.constant(0, dtype_of(number))
        stored = []
        for value, buffer in zip(kept, values[len(positions):], strict=True):
            row = ops.reshape(mapping.get(value, value), (1, *shape_of(value)))
            stored.append(ops.dynamic_update_slice(buffer, row, [number, *[zero] * len(shape_of(value))]))
        return [*(mapping.get(v, v) for v in (plan.returned[i] for i in positions)), *stored]

    def condition(*values: ir.Value) -> ir.Value:
        return site.inline(CONDITION, spread(values))[0]

    results = ops.while_([*(plan.inits[i] for i in positions), *buffers], condition, iteration)
    raised = Raised(plan, indices, given=dict(zip(kept, results[len(positions):], strict=True)))
    made = raised.build()
    return [made[i] if i in indices else results[positions.index(i)] for i in range(len(plan.inits))]
