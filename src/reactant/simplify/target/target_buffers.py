"""The very last rule: a loop that rewrites a whole array from other places of itself gets two buffers for it.

`d = minimum(d, d[:, k] + d[k, :])` cannot be written over `d`, so XLA makes the new array elsewhere and copies it
back into the carried place, in every iteration. Two iterations in one can go there and back, if the array in between
has a place of its own; it has one when it is carried, too. Nothing would read it, and XLA would drop it; so after the
loop one element of the result is chosen between the two by a uniform random number in [0, 1) being negative, which it
never is, but which XLA does not know. """
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.induction import counters, trips
from reactant.ir.types import shape_of, size
from reactant.rewrite import Site, rewrite, users
from reactant.rewrite.site import operations_in, uses
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

IN_PLACE = {f"stablehlo.{n}" for n in ("dynamic_update_slice", "scatter")}
"""Ops that XLA does where their first operand lies."""
LEAST_ITERATIONS = 8
LEAST_ARRAY = 16
"""How many times the table's least array one is worth two buffers: copies of 1,000 to 2,000 numbers are cheaper than
what a second buffer takes (the state of an LSTM: 0.97)."""

B = "tensor<160x160xf32>"
_MIRRORED = f"""%t = stablehlo.transpose %a, dims = [1, 0] : ({B}) -> {B}
%b = stablehlo.maximum %a, %t : {B}"""


def _loop(body: str, trips: int = 9) -> str:
    return counted([("%a", "%x", "%b", B)], body, "%r#1", B, trips).replace("tensor<3xf32>", B)


@rewrite("stablehlo.while", example=(_loop(_MIRRORED), _loop(_MIRRORED, 8)),
         counter=(_loop(f"%b = stablehlo.add %a, %a : {B}"), _loop(_MIRRORED, 3),
                  _loop(_MIRRORED.replace("160x160", "40x40")).replace("160x160", "40x40")))
def while_rewrites_with_two_buffers(site: Site):
    """while: d = f(d) = while: t = f(d), d = f(t), with t carried, where f reads d at other places than it writes"""
    table, iterations = costs(), trips(site.op, counters(site.op))
    if table is None or iterations is None or not iterations.exact or iterations.most < LEAST_ITERATIONS \
            or operations_in(site.op) * 2 > table.doubled_operations:
        return None
    rewritten = _rewritten(site, LEAST_ARRAY * table.least_elements)
    if not rewritten or _has_second_buffers(site, LEAST_ARRAY * table.least_elements):
        return None
    count = len(site.operands)

    def condition(*values: ir.Value) -> ir.Value:
        return site.inline(CONDITION, values[:count])[0]

    def body(*values: ir.Value) -> list[ir.Value]:
        between = site.inline(BODY, values[:count])
        return [*site.inline(BODY, between), *(between[i] for i in rewritten)]

    values: Sequence[ir.Value] = site.operands
    if iterations.most % 2:      # first, so that the counter is where it would be at the end
        values = site.inline(BODY, values)
    results = ops.while_([*values, *(values[i] for i in rewritten)], condition, body)
    never = ops.compare(ops.rng_uniform(0.0, 1.0, ()), 0.0, "LT")
    final = list(results[:count])
    for i, between in zip(rewritten, results[count:], strict=True):
        final[i] = _one_element_of_either(never, between, final[i])
    return final


def _one_element_of_either(never: ir.Value, between: ir.Value, final: ir.Value) -> ir.Value:
    """`final`, in a way that seems to need `between`."""
    rank = len(shape_of(final))
    first, second = (ops.slice(v, (0,) * rank, (1,) * rank) for v in (between, final))
    return ops.dynamic_update_slice(final, ops.select(never, first, second), [ops.constant(0, "int64")] * rank)


def _rewritten(site: Site, least: int) -> list[int]:
    """Carried arrays that are made anew in every iteration while other places of them are read."""
    arguments, returned = site.arguments(BODY), site.returned(BODY)
    return [i for i, (argument, value) in enumerate(zip(arguments, returned, strict=True))
            if size(shape_of(argument)) >= least and value not in arguments and _made_here(value, site)
            and _read_elsewhere(argument)]


def _made_here(value: ir.Value, site: Site) -> bool:
    """Whether a returned value is new memory: made in the body by an op that does not work in place."""
    return not isinstance(value.owner, ir.Block) and value.owner.operation.block == site.terminator(BODY).block \
        and value.owner.name not in IN_PLACE


def _read_elsewhere(argument: ir.Value) -> bool:
    """Whether an array is used by more than elementwise ops, and by none that works in place (which XLA orders before
    the reads by a copy, two buffers or not)."""
    found = [use.owner.operation for use in uses(argument)]
    return not any(op.name in IN_PLACE for op in found) and any(
        op.name not in ops.ELEMENTWISE and op.name != "stablehlo.return" for op in found)


def _has_second_buffers(site: Site, least: int) -> bool:
    """Whether this loop has been given some: big carried arrays that its iterations do not read."""
    return any(size(shape_of(argument)) >= least and not users(argument) and not users(condition)
               for argument, condition in zip(site.arguments(BODY), site.arguments(CONDITION), strict=True))
