"""while loops whose iterations need the one before only through an associative operation: all iterations in a few
steps.

    for k in range(n): x = a[k] * x + b[k]; y[k] = x

A target that pays for every iteration (launches, a test of the condition) does n iterations of this in 2 log2(n) steps;
see
`batching.recurrences`. A CPU that runs the loop in a register does not want it: `target_costs` decides. The sums and
products come in another order, and of factors far from 1 the products may leave the range of their type where the
loop's values do not: floats are done only where that is allowed.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.batching.raised import Raised
from reactant.batching.raising import Plan
from reactant.batching.roles import Scanned
from reactant.ir.types import dtype_of
from reactant.rewrite import Site, rewrite
from reactant.simplify.control.loop_maps import pays
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import counted

EXACT = ("maximum", "minimum", "and", "or", "xor")


def _scanned(site: Site, loose: bool) -> list[ir.Value] | None:
    table = costs()
    if table is None or not table.scan_iterations:
        return None
    plan = Plan.with_scans(site.op)
    if plan is None or not plan.whole or plan.count < table.scan_iterations:
        return None
    raised = Raised(plan, plan.leaving)
    used = {i for i in (*raised.shifted, *plan.leaving) if isinstance(plan.roles[i], Scanned)}
    if not used or (plan.is_float_sum or any(not _exact(plan.roles[i]) for i in used)) != loose \
            or not pays(plan, plan.leaving):
        return None
    found = Raised(plan, range(len(plan.inits))).build()
    return [found[i] for i in range(len(plan.inits))]


def _exact(role: Scanned) -> bool:
    return role.recurrence.op in EXACT or dtype_of(role.value).kind in "iub"


V, R, N, S = "tensor<40xf32>", "tensor<1xf32>", "tensor<i32>", "tensor<f32>"
_READ = f"""%s = stablehlo.dynamic_slice %x, %i, sizes = [1] : ({V}, {N}) -> {R}
%e = stablehlo.reshape %s : ({R}) -> {S}
"""
_WRITE = f"""%t = stablehlo.reshape %d : ({S}) -> {R}
%w = stablehlo.dynamic_update_slice %a, %t, %i : ({V}, {R}, {N}) -> {V}
"""

def _running(step: str, number: str = "f32", start: str = "0.5") -> str:
    """A loop that carries one number through `step` (from %c and %e to %d) and keeps all its values."""
    return counted([("%a", "%y", "%w", "tensor<3xf32>"), ("%c", "%f", "%d", S)], _READ + step + _WRITE, "%r#1",
                   trips=40, before=f"%f = stablehlo.constant dense<{start}> : {S}").replace(
                       "tensor<3xf32>", V).replace("f32", number)


_TOTAL = f"%d = stablehlo.add %c, %e : {S}\n"
_FILTER = f"""%k = stablehlo.constant dense<0.75> : {S}
%q = stablehlo.multiply %k, %c : {S}
%d = stablehlo.add %q, %e : {S}
"""
_GATE = f"""%k = stablehlo.constant dense<1.0> : {S}
%g = stablehlo.logistic %e : {S}
%h = stablehlo.subtract %k, %g : {S}
%u = stablehlo.multiply %g, %c : {S}
%v = stablehlo.multiply %h, %e : {S}
%d = stablehlo.add %u, %v : {S}
"""


@rewrite("stablehlo.while", example=(_running(f"%d = stablehlo.maximum %e, %c : {S}\n"), _running(_TOTAL, "i32", "3")),
         counter=_running(_TOTAL))
def while_is_scan(site: Site):
    """a loop that carries running extremes, or running sums, products and a x + b of integers = a scan"""
    return _scanned(site, loose=False)


@rewrite("stablehlo.while", changes="association", assumes="finite",
         example=(_running(_TOTAL), _running(_FILTER), _running(_GATE)),
         counter=(_running(f"%q = stablehlo.multiply %c, %c : {S}\n%d = stablehlo.add %q, %e : {S}\n"),
                  _running(f"%d = stablehlo.minimum %c, %e : {S}\n")))
def while_is_float_scan(site: Site):
    """a loop that carries running sums, products, a x + b or x M + b of floats = a scan of sums, products, maps"""
    return _scanned(site, loose=True)
