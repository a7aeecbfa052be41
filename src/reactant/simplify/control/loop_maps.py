"""while loops whose iterations do not need one another: all iterations at once.

`batching.raising` says what each carried value is (an array written window by window, a sum, an extreme, ...) and
whether it needs the iterations before; `batching.raised` builds what the iterations do together. The rules here decide
whether that pays. A float sum in another order is as accurate or better, but rounds otherwise: it is a rule of its own.
"""
from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.batching.accesses import TripCount
from reactant.batching.analysis import Spread, block_ops
from reactant.batching.engine import batches
from reactant.batching.raised import Raised
from reactant.batching.raising import Plan
from reactant.batching.roles import Count, Extreme, Latch, Reduced, Role, Scattered, Written
from reactant.ir import ops
from reactant.ir.induction import counters
from reactant.ir.types import dtype_of, nbytes, shape_of, size
from reactant.rewrite import Site, inside, rewrite
from reactant.simplify.control.loop_places import place_of
from reactant.simplify.control.loops import without_carried
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import counted

ITERATION_ELEMENTS = 32_768
"""An iteration that computes more elements than this gains nothing from doing others beside it, unless it multiplies
matrices: it is no longer the loop that costs."""
BATCH_BYTES = 1 << 26
"""The largest value that all iterations together may make, or four times the largest array that the loop has."""
INDEX_BYTES = 8
"""What each iteration needs at least: its number."""
MASKED_CARRY = 16
"""Elements that an inner loop which iterations leave at different times may carry: all are selected in every
iteration."""
FREE = {f"stablehlo.{n}" for n in ("constant", "iota", "reshape", "broadcast_in_dim", "convert", "transpose")}
PRODUCTS = ("stablehlo.dot_general", "stablehlo.convolution")
HEAVY = {*PRODUCTS, *(f"stablehlo.{n}" for n in ("while", "sort", "fft", "cholesky", "triangular_solve", "custom_call",
                                                 "reduce_window", "gather", "scatter"))}


REDUCTIONS = (Reduced, Scattered, Latch, Extreme)


# ---- what pays -----------------------------------------------------------------------------------------------------

def pays(plan: Plan, indices: Sequence[int], iterations: int | None = None) -> bool:
    """Whether all iterations at once (or so many `iterations`) are faster than one after the other, for these carried
    values."""
    count = plan.count if iterations is None else iterations
    raised = Raised(plan, indices)
    needed = plan.behind([*raised.needs, *(plan.returned[i] for i in raised.shifted)])[0]
    body = [child for op in needed for child in (op, *inside(op)) if child.name not in FREE]
    work = sum(size(shape_of(r)) for op in body for r in op.results)
    if work > ITERATION_ELEMENTS and not any(op.name in PRODUCTS for op in needed):
        return False
    inner = [op for op in body if op.name == "stablehlo.while"]
    table = costs()
    if any(map(_comes_first, inner)) or table is not None and table.window_elements and any(
            size(shape_of(op.results[0])) * count > table.window_elements and _is_window(op, plan, raised.spread)
            for op in body if op.name == "stablehlo.compare"):
        return False
    if not all(batches(op, raised.spread.batched) for op in needed):
        return False
    added = set() if not plan.iterations.exact else {v for i in indices for v in added_products(plan, plan.roles[i])}
    values = [r for op in body for r in op.results if r in raised.spread.batched and r not in added]
    arrays = [v for v in (*plan.inits, *(v for op in needed for v in op.operands))]
    limit = max(BATCH_BYTES, 4 * max(map(nbytes, arrays), default=0))
    if any(nbytes(v) * count > limit for v in values) or count * INDEX_BYTES > limit:
        return False
    return all(_masks_little(op, raised.spread) for op in inner) and not any(
        _overflows(plan.roles[i], raised.spread, plan) for i in indices)


def _is_window(comparison: ir.Operation, plan: Plan, spread: Spread) -> bool:
    """Whether places in an array are compared with a place that each iteration has its own of, and reads or
    computes."""
    sides = list(comparison.operands)
    for places, ends in (sides, sides[::-1]):
        made = ops.made_by(ends, "broadcast_in_dim")
        if made is not None and ends in spread.batched and ops.made_by(places, "iota") is not None \
                and size(shape_of(made.operands[0])) == 1 and plan.places.affine(made.operands[0]) is None:
            return True
    return False


def added_products(plan: Plan, role: Role) -> list[ir.Value]:
    """The products that a carried value adds up. For all iterations they are one product, in which the iterations are
    contracted: those of single iterations are not made."""
    if not isinstance(role, Reduced) or role.name != "add":
        return []
    return [term.value for term in role.terms if not term.conditions and term.value in plan.owner
            and plan.owner[term.value].name == "stablehlo.dot_general"]


def _starts_with_one(plan: Plan, index: int) -> bool:
    start = ops.constant_value(plan.inits[index])
    return start is not None and bool((start == 1).all())


def _overflows(role: object, spread: Spread, plan: Plan) -> bool:
    """Whether a product of floats, made apart from what it starts with, may leave the range where the loop would not:
    x = x c one iteration after the other, where c^iterations is not an ordinary number."""
    if not isinstance(role, Reduced) or role.name != "multiply" or _starts_with_one(plan, role.index):
        return False
    for term in role.terms:
        if term.value in spread.batched or dtype_of(term.value).kind not in "fc":
            continue
        known = ops.constant_value(term.value)
        if known is None or not plan.iterations.exact or known.dtype.kind == "c" or term.conditions:
            return True
        with np.errstate(all="ignore"):
            power = np.abs(np.power(np.asarray(known, np.float64), float(plan.count)))
        limits = ml_dtypes.finfo(known.dtype)
        if not ((power >= float(limits.tiny)) & (power <= float(limits.max))).all():
            return True
    return False


def _comes_first(loop: ir.Operation) -> bool:
    """Whether an inner loop is going to be something simpler, which batches better."""
    places = TripCount(loop, counters(loop), 1)
    if any(place_of(places, index) is not None for index in range(len(loop.operands))):
        return True
    plan = Plan.of(loop)
    return plan is not None and plan.whole and pays(plan, plan.leaving)


def _masks_little(loop: ir.Operation, spread: Spread) -> bool:
    _, (predicate,) = block_ops(loop.regions[0].blocks[0])
    return predicate not in spread.batched or sum(size(shape_of(v)) for v in loop.operands) <= MASKED_CARRY


def _whole(site: Site, sums: bool) -> list[ir.Value] | None:
    """The results of a loop that needs no iteration after another. `sums`: whether sums of floats are among them."""
    plan = Plan.of(site.op)
    if plan is None or not plan.whole or plan.is_float_sum != sums or not pays(plan, plan.leaving):
        return None
    found = Raised(plan, range(len(plan.inits))).build()
    return [found[i] for i in range(len(plan.inits))]


# ---- rules ---------------------------------------------------------------------------------------------------------

V, R, N = "tensor<3xf32>", "tensor<1xf32>", "tensor<i32>"
_READ = f"%s = stablehlo.dynamic_slice %x, %i, sizes = [1] : ({V}, {N}) -> {R}\n"


def _write(array: str = "%a", part: str = "%t", place: str = "%i", name: str = "%b") -> str:
    return f"{name} = stablehlo.dynamic_update_slice {array}, {part}, {place} : ({V}, {R}, {N}) -> {V}\n"


_TWICE = f"%t = stablehlo.add %s, %s : {R}\n"
_ELEMENTS = counted([("%a", "%y", "%b", V)], _READ + _TWICE + _write(), "%r#1")
_IN_PLACE = counted([("%a", "%x", "%b", V)], _READ.replace("%x", "%a") + _TWICE + _write(), "%r#1")
_AHEAD = counted([("%a", "%x", "%b", V)], _READ.replace("%x", "%a").replace("%i", "%next") + _TWICE + _write(), "%r#1",
                 trips=2)
_BEHIND = counted([("%a", "%x", "%b", V)], _READ.replace("%x", "%a") + _TWICE + _write(place="%next"), "%r#1", trips=2)
_BACKWARDS = counted([("%a", "%y", "%b", V)], f"%two = stablehlo.constant dense<2> : {N}\n"
                     f"%k = stablehlo.subtract %two, %i : {N}\n" + _READ + _TWICE + _write(place="%k"), "%r#1")
_SAME_PLACE = counted([("%a", "%y", "%b", V)], _READ + _TWICE + _write(place="%one"), "%r#1")
_BEFORE = counted([("%a", "%y", "%b", V), ("%prev", "%f", "%s", R)],
                  _READ + f"%t = stablehlo.subtract %s, %prev : {R}\n" + _write(), "%r#1",
                  before=f"%f = stablehlo.slice %y [0:1] : ({V}) -> {R}")
_SOME = counted([("%a", "%y", "%b", V)], _READ + _TWICE + _write(), "%r#1").replace("%i, %last :", "%i, %m :").replace(
    "%r:2 =", f"%least = stablehlo.constant dense<0> : {N}\n%most = stablehlo.constant dense<3> : {N}\n"
    f"%m = stablehlo.clamp %least, %n, %most : {N}\n%r:2 =")
_RECURRENCE = counted([("%a", "%x", "%b", V)], f"%b = stablehlo.multiply %a, %y : {V}", "%r#1", trips=9)


@rewrite("stablehlo.while", example=(_ELEMENTS, _IN_PLACE, _AHEAD, _BACKWARDS, _SAME_PLACE, _BEFORE, _SOME),
         counter=(_BEHIND, _RECURRENCE))
def while_is_map(site: Site):
    """a loop whose iterations write apart, or only the last of which counts = its body for all iterations at once"""
    plan = Plan.of(site.op)
    if plan is None or any(isinstance(plan.roles[i], REDUCTIONS) for i in plan.leaving):
        return None
    return _whole(site, sums=False)


S = "tensor<f32>"
_NUMBER = _READ + f"%e = stablehlo.reshape %s : ({R}) -> {S}\n"
_START = "%f = stablehlo.constant dense<-2.0> : tensor<f32>"


def _reduction(body: str, count: int = 1, kind: str = S, before: str = _START) -> str:
    rows = [("%a", "%f", "%b", kind), ("%g", "%zero", "%h", N)][:count]
    return counted(rows, body, "%r#1" if count == 1 else "%r#2", kind if count == 1 else N, before=before)


_GREATER = f"%p = stablehlo.compare GT, %e, %a, FLOAT : ({S}, {S}) -> tensor<i1>\n"
_TAKE = f"%b = stablehlo.select %p, %e, %a : tensor<i1>, {S}\n"
_TAKE_INDEX = f"%h = stablehlo.select %p, %i, %g : tensor<i1>, {N}\n"


@rewrite("stablehlo.while",
         example=(_reduction(_NUMBER + f"%b = stablehlo.maximum %a, %e : {S}"),
                  _reduction(_NUMBER + _GREATER + _TAKE), _reduction(_NUMBER + _GREATER + _TAKE + _TAKE_INDEX, 2),
                  _reduction(_NUMBER.replace("%e", "%q") + f"%e = stablehlo.negate %q : {S}\n"
                             + _GREATER.replace("GT", "LE") + _TAKE + _TAKE_INDEX, 2),
                  _reduction(f"%b = stablehlo.add %a, %i : {N}", kind=N,
                             before=f"%f = stablehlo.constant dense<5> : {N}")),
         counter=_reduction(_NUMBER + f"%q = stablehlo.maximum %a, %e : {S}\n%b = stablehlo.sine %q : {S}"))
def while_is_reduction(site: Site):
    """a loop that carries extremes, where they are, or exact sums = reductions over all iterations"""
    plan = Plan.of(site.op)
    if plan is None or not any(isinstance(plan.roles[i], REDUCTIONS) for i in plan.leaving):
        return None
    return _whole(site, sums=False)


_POSITIVE = f"%z = stablehlo.constant dense<0.0> : {S}\n" \
            f"%p = stablehlo.compare GT, %e, %z, FLOAT : ({S}, {S}) -> tensor<i1>\n"


@rewrite("stablehlo.while", changes="rounding",
         example=(_reduction(_NUMBER + f"%b = stablehlo.add %a, %e : {S}"),
                  _reduction(_NUMBER + f"%b = stablehlo.multiply %e, %a : {S}"),
                  _reduction(_NUMBER + _POSITIVE + f"%q = stablehlo.subtract %a, %e : {S}\n"
                             + _TAKE.replace("%e", "%q"))),
         counter=_reduction(_NUMBER + f"%q = stablehlo.add %a, %e : {S}\n%b = stablehlo.sine %q : {S}"))
def while_is_sum(site: Site):
    """a loop that carries sums or products of floats = reductions over all iterations"""
    return _whole(site, sums=True)


# ---- some of the carried values ------------------------------------------------------------------------------------

def _split(site: Site, sums: bool) -> list[ir.Value] | None:
    """The results of a loop after those carried values have left it that need no iteration after another."""
    plan = Plan.of(site.op)
    if plan is None or plan.whole:
        return None
    leaving = [i for i in plan.leaving if isinstance(plan.roles[i], (Written, *REDUCTIONS)) and site.used(i)]
    if not leaving:
        return None
    if plan.is_float_sum != sums or not pays(plan, leaving) or not _computed_once(plan, leaving):
        return None
    found = Raised(plan, leaving).build()
    for version, index in plan.versions.items():
        if index in leaving and version not in plan.number:
            site.substitute(version, plan.inits[index])
    results = without_carried(site, dict.fromkeys(leaving))
    return [found.get(i, value) for i, value in enumerate(results)]


def _computed_once(plan: Plan, leaving: Sequence[int]) -> bool:
    """Whether what leaves shares nothing that costs with what stays."""
    staying = [plan.returned[i] for i, role in plan.roles.items() if i not in leaving and not isinstance(role, Count)]
    kept = {op.results[0] for op in plan.behind(staying)[0]}
    moved = plan.behind([v for i in leaving for v in plan.roles[i].needs])[0]
    return not any(op.results[0] in kept and (op.name in HEAVY or size(shape_of(op.results[0])) > ITERATION_ELEMENTS)
                   for op in moved)


_SPLIT = [("%a", "%y", "%b", V), ("%c", "%x", "%d", V)]
_STAYS = f"%w = stablehlo.sine %c : {V}\n%d = stablehlo.multiply %w, %c : {V}\n"
_SUM_OF_BOTH = f"%o = stablehlo.add %r#1, %r#2 : {V}"


@rewrite("stablehlo.while", example=counted(_SPLIT, _STAYS + _READ + _TWICE + _write(), "%o", after=_SUM_OF_BOTH),
         counter=(_ELEMENTS, counted(_SPLIT, _STAYS + _READ.replace("%x", "%c") + _TWICE + _write(), "%o",
                                     after=_SUM_OF_BOTH)))
def while_splits(site: Site):
    """what a loop writes or reduces without needing what it carries otherwise leaves it, as a map"""
    return _split(site, sums=False)


@rewrite("stablehlo.while", changes="rounding",
         example=counted([("%a", "%f", "%b", S), ("%c", "%x", "%d", V)],
                         _STAYS + _NUMBER + f"%b = stablehlo.add %a, %e : {S}\n", "%o", before=_START,
                         after=f"%u = stablehlo.broadcast_in_dim %r#1, dims = [] : ({S}) -> {V}\n"
                         f"%o = stablehlo.add %u, %r#2 : {V}"))
def while_splits_sum(site: Site):
    """a sum of floats that needs nothing else that the loop carries leaves it, as a reduction"""
    return _split(site, sums=True)
