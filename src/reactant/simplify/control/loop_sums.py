"""while loops that add products up: the sum is one product of everything, made after the loop.

    for t in range(n): h = f(h, x[t]); w += outer(x[t], h)

With all h kept, w is x.T @ h. The reverse sweep of every recurrent network is such a loop, w the adjoint of a matrix: a
iteration reads and writes all of it for a few rows of factors.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.batching.analysis import reads
from reactant.batching.engine import batches
from reactant.batching.raised import Raised
from reactant.batching.raising import Plan
from reactant.batching.roles import Recurrent, Reduced
from reactant.ir.types import dtype_of, nbytes
from reactant.rewrite import Site, defined_in, pure, rewrite
from reactant.simplify.control.loop_lifting import deferred, plan_of
from reactant.simplify.control.loop_maps import BATCH_BYTES, HEAVY, added_products
from reactant.simplify.facts.while_loops import counted

LITTLE = 1 << 20
"""Bytes that a loop may always keep."""
STEPS = 200
"""Ops that are looked at to find out whether a value can be made of others that are kept."""


def _sums(plan: Plan, site: Site) -> list[int]:
    """The sums of floats that need what the loop has to do one iteration after the other."""
    return [i for i, role in plan.roles.items() if isinstance(role, Reduced) and role.name == "add"
            and i in plan.staying and site.used(i) and dtype_of(plan.inits[i]).kind in "fcV"]


def _bytes(values: Iterable[ir.Value]) -> int:
    return sum(map(nbytes, values))


class _Kept:
    """What a loop has to keep of every iteration to make some of its sums afterwards; `values` is None where they
    cannot be."""

    def __init__(self, plan: Plan, indices: Sequence[int]):
        self.plan, self.indices = plan, indices
        self.needed = {r for op in plan.behind([plan.returned[i] for i in plan.roles if i not in indices], ())[0]
                       for r in op.results}
        self.recurrent = sum(1 << i for i, role in plan.roles.items() if isinstance(role, Recurrent))
        found = self._cut([v for i in indices for v in plan.roles[i].needs])
        for value in sorted(found, key=lambda v: -_bytes([v])):
            rest = [v for v in found if v != value]
            if self._made_of(value, rest):
                found = rest
        self.values = found if self._can_be_made(found) else None

    def _cut(self, wanted: Iterable[ir.Value]) -> list[ir.Value]:
        """What the loop makes anyway on the way to what is wanted, where it needs iterations before or is dear."""
        found: dict[ir.Value, None] = {}
        seen: set[ir.Value] = set()
        work = list(wanted)
        while work:
            value = work.pop()
            if value in seen or value in self.plan.versions:
                continue
            seen.add(value)
            op = self.plan.owner.get(value)
            varies = self.plan.made.get(value, 0) & self.recurrent
            if op is None and varies or op is not None and value in self.needed and (varies or op.name in HEAVY):
                found[value] = None
            elif op is not None:
                work += reads(op)
        return list(found)

    def _made_of(self, value: ir.Value, others: Sequence[ir.Value]) -> bool:
        """Whether a value is little work once others are there."""
        seen: set[ir.Value] = set()
        work = [value]
        while work and len(seen) < STEPS:
            each = work.pop()
            if each in seen or each in others or not self.plan.made.get(each, 0) & self.recurrent:
                continue
            seen.add(each)
            op = self.plan.owner.get(each)
            if op is None or op.name in HEAVY or op.regions:
                return False
            work += op.operands
        return not work

    def _can_be_made(self, kept: Sequence[ir.Value]) -> bool:
        """Whether the rest of the work can be done for all iterations at once."""
        raised = Raised(self.plan, self.indices, given=dict.fromkeys(kept))
        later = self.plan.behind(raised.needs)[0]
        self.plan.leaves = set()
        return all(pure(op) and batches(op, raised.spread.batched) for op in later)

    @property
    def held(self) -> int:
        """Bytes of the arrays that the loop has already."""
        outside = {v for op in self.plan.body for v in reads(op) if not defined_in(v, self.plan.loop)}
        return _bytes([*self.plan.inits, *outside])


X, W = "tensor<8x12xf32>", "tensor<12x12xf32>"
_STEP = f"%h1 = stablehlo.sine %h : {X}\n"
_OUTER = f"%d = stablehlo.dot_general %h, %h1, contracting_dims = [0] x [0] : ({X}, {X}) -> {W}\n"
_ADD = f"%w1 = stablehlo.add %w, %d : {W}"


def _loop(iteration: str) -> str:
    made = counted([("%w", "%w0", "%w1", W), ("%h", "%x", "%h1", X)], iteration, "%r#1", W, trips=5,
                   before=f"%w0 = stablehlo.constant dense<0.0> : {W}")
    return made.replace("tensor<3xf32>", X)


_SUM = _loop(_STEP + _OUTER + _ADD)
_TALL = _SUM.replace("8x12x", "96x12x")
_RECURRENT = _loop(f"""
%k = stablehlo.slice %w [0:8, 0:12] : ({W}) -> {X}
%g = stablehlo.add %h, %k : {X}
""" + _STEP.replace("%h :", "%g :") + _OUTER + _ADD)


@rewrite("stablehlo.while", changes="rounding", example=_SUM, counter=(_TALL, _RECURRENT))
def while_defers_sums(site: Site):
    """sums of products of which iterations make the factors: these are kept, and one product after the loop adds up"""
    plan = plan_of(site)
    sums = [] if plan is None else _sums(plan, site)
    products = [i for i in sums if added_products(plan, plan.roles[i])]
    if not products:
        return None
    chosen, found = products, _Kept(plan, products)
    if len(sums) > len(products):
        more = _Kept(plan, sums)
        if more.values is not None and (found.values is None or _bytes(more.values) <= _bytes(found.values)):
            chosen, found = sums, more
    return deferred(plan, site, chosen, found.values) if found.values and _pays(plan, products, found) else None


def _pays(plan: Plan, products: Sequence[int], kept: _Kept) -> bool:
    """Whether an iteration writes less than before. What is kept takes no more memory than the loop has anyway, or
    little."""
    assert kept.values is not None
    stored = _bytes(kept.values)
    return stored <= 2 * _bytes(plan.inits[i] for i in products) and plan.count * stored <= min(
        BATCH_BYTES, max(LITTLE, kept.held))
