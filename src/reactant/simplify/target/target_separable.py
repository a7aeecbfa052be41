"""The last stage: sums of terms that are products of what changes along the sum and of what does not.

sum_i(v_i x_j + x_j w_i) = sum(v) x + sum(w) x: no term is made. Where the result is finite, all that went into it is,
and the order is the only difference; else the sum is made as it was written, in a branch of its own.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import producer, rewrite, variables
from reactant.simplify.facts.nan_guards import finite
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.linear.reduction import is_neutral, reduced

x, v, d = variables("x v d")
BROADCAST = "stablehlo.broadcast_in_dim"
SIGNS = {"stablehlo.add": 1, "stablehlo.subtract": -1}
LEAST_SHARED = 4
"""Sums of the same terms from which these are worth making alone."""
MOST_OPS = 32
"""Operations that are looked through."""


class Term(NamedTuple):
    """A term of a sum: broadcasts (or constants) that are constant along it, by which the others are multiplied or
    divided, and those that change."""

    sign: int
    multiplied: tuple[ir.Value, ...] = ()
    divided: tuple[ir.Value, ...] = ()
    changing: tuple[ir.Value, ...] = ()


class Separated:
    """The terms of a value of which a sum over some dimensions is made; None where it is no sum of such products."""

    def __init__(self, value: ir.Value, over: Sequence[int]) -> None:
        self.over, self.shape, self.left = tuple(over), shape_of(value), MOST_OPS
        self.terms = self._of(value)

    def _of(self, value: ir.Value) -> list[Term] | None:
        made, self.left = producer(value), self.left - 1
        if made is None or self.left < 0:
            return None
        if made.name == BROADCAST or _splat(value) is not None:
            return self._leaf(value)
        if made.name == "stablehlo.negate":
            found = self._of(made.operands[0])
            return None if found is None else [t._replace(sign=-t.sign) for t in found]
        if made.name not in (*SIGNS, "stablehlo.multiply", "stablehlo.divide"):
            return None
        left, right = map(self._of, made.operands)
        if left is None or right is None:
            return None
        if made.name in SIGNS:
            return left + [t._replace(sign=t.sign * SIGNS[made.name]) for t in right]
        if made.name == "stablehlo.multiply":
            return [_product(a, b) for a in left for b in right] if min(len(left), len(right)) == 1 else None
        if len(right) > 1 or right[0].changing:
            return None
        return [_product(a, right[0]._replace(multiplied=right[0].divided, divided=right[0].multiplied)) for a in left]

    def _leaf(self, value: ir.Value) -> list[Term] | None:
        along = _along(value)
        if along <= set(self.over):
            return [Term(1, changing=(value,))] if along else [Term(1, multiplied=(value,))]
        return None if along & set(self.over) else [Term(1, multiplied=(value,))]

    # ---- the sum

    def summed(self, start: ir.Value) -> ir.Value:
        """The sum of all terms."""
        total: ir.Value | None = None
        for term in self.terms or ():
            made = self._sum(term, start)
            if total is None:
                total = made if term.sign > 0 else ops.negate(made)
            else:
                total = ops.add(total, made) if term.sign > 0 else ops.subtract(total, made)
        assert total is not None
        return total

    def _sum(self, term: Term, start: ir.Value) -> ir.Value:
        kept = [k for k in range(len(self.shape)) if k not in self.over]
        shape = [self.shape[k] for k in kept]
        if term.changing:
            each = reduce(ops.multiply, [_read(value, self.over, self.shape) for value in term.changing])
            number = ops.reduce(each, start, range(len(self.over)), "add")
        else:
            number = ops.constant(size([self.shape[k] for k in self.over]), dtype_of(start), ())
        total = ops.broadcast_in_dim(number, shape, ())
        for value in term.multiplied:
            total = ops.multiply(total, _read(value, kept, self.shape))
        for value in term.divided:
            total = ops.divide(total, _read(value, kept, self.shape))
        return total


def _product(a: Term, b: Term) -> Term:
    return Term(a.sign * b.sign, a.multiplied + b.multiplied, a.divided + b.divided, a.changing + b.changing)


def _splat(value: ir.Value) -> object:
    """The number that all elements of a constant are."""
    known = ops.constant_value(value)
    return None if known is None or not known.size or any(known.strides) and known.size > 1 else known.flat[0]


def _along(value: ir.Value) -> set[int]:
    """The dimensions along which a broadcast or a constant changes."""
    made = producer(value)
    if made is None or made.name != BROADCAST:
        return set()
    return {k for k, n in zip(made["broadcast_dimensions"], shape_of(made.operands[0]), strict=True) if n > 1}


def _read(value: ir.Value, kept: Sequence[int], shape: Sequence[int]) -> ir.Value:
    """A broadcast or constant that changes along `kept` alone, in these dimensions."""
    extents, made = [shape[k] for k in kept], producer(value)
    if made is None or made.name != BROADCAST:
        return ops.constant(_splat(value), dtype_of(value), extents)
    along = [k for k, n in zip(made["broadcast_dimensions"], shape_of(made.operands[0]), strict=True) if n > 1]
    source = ops.reshape(made.operands[0], [shape[k] for k in along])
    return ops.broadcast_in_dim(source, extents, [list(kept).index(k) for k in along])


def _again(value: ir.Value) -> ir.Value:
    """The same value, made where we are."""
    made = producer(value)
    assert made is not None
    if made.name == BROADCAST:
        return ops.broadcast_in_dim(made.operands[0], shape_of(value), made["broadcast_dimensions"])
    if _splat(value) is not None:
        return ops.constant(_splat(value), dtype_of(value), shape_of(value))
    return ops.create(made.name, [value.type], [_again(operand) for operand in made.operands]).result


def _spread(a, dimensions, terms, shape=(40, 30)):
    """A sum of `terms` of a column and a row, for examples."""
    column = ops.broadcast_in_dim(ops.tanh(a(shape[0], dtype="float64")), shape, (0,))
    row = ops.broadcast_in_dim(ops.tanh(a(shape[1], dtype="float64")), shape, (1,))
    return ops.reduce(terms(column, row), ops.constant(0.0), dimensions, "add")


@rewrite(reduced(x), dtypes="float", changes="rounding",
         made_by=("stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "stablehlo.divide", "stablehlo.negate"),
         example=(lambda a: _spread(a, (0,), ops.multiply),
                  lambda a: _spread(a, (1,), lambda u, w: ops.add(ops.multiply(u, w), ops.negate(ops.multiply(w, w)))),
                  lambda a: _spread(a, (0,), lambda u, w: ops.multiply(ops.multiply(u, 2.0), w)),
                  lambda a: _spread(a, (0,), lambda u, w: ops.subtract(u, w))),
         counter=(lambda a: _spread(a, (0,), ops.multiply, (4, 5)), lambda a: _spread(a, (0,), ops.maximum),
                  lambda a: _spread(a, (1,), ops.divide), lambda a: _spread(a, (0, 1), ops.multiply)))
def separable_sum_if_finite(x, v, d, t, result, result_shape):
    """sum(x * c) = sum(x) * c of what is made for the sum alone, if that is finite"""
    table = costs()
    if table is None or t.body != "add" or not is_neutral("add", v) or size(shape_of(x)) <= table.other_order \
            or size(result_shape) < LEAST_SHARED:
        return None
    separated = Separated(x, d)
    if separated.terms is None:
        return None
    found = separated.summed(v)
    return ops.if_(finite(found), lambda: [found],
                   lambda: [ops.reduce(ops.optimization_barrier(_again(x))[0], v, d, "add")], [found.type])[0]
