"""Unrolled code rolled up: many equal computations on parts of arrays become one computation on all parts.

`unify` looks at the computations side by side. They are one if they apply the same ops, down to what is common to all,
constants, and parts of one array at places that go up or down in equal steps. The first computation then is rebuilt by
the batching rules, with the parts stacked along a new dimension.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.engine import Batcher, batches
from reactant.batching.rules.reduction import NEUTRAL
from reactant.ir import creation, ops
from reactant.ir.types import is_integer, shape_of, size
from reactant.rewrite import match, one_of, pure, rest, rewrite, users, variables
from reactant.rewrite.site import readers
from reactant.support.records import dataclass

x, y, d = variables("x y d")
FEWEST, FEWEST_TERMS = 4, 8
"""Least number of operands of a concatenate, and of terms of a sum, that are rolled up."""
CONSTANT_ELEMENTS = 65_536
"""Most elements of constants that are stacked."""


# ---- seen side by side ---------------------------------------------------------------------------------------------

@dataclass
class Leaf:
    """Parts of `source` that begin at `start` and, along `dimension`, every `step`: sizes `extents`."""
    source: ir.Value
    start: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dimension: int
    step: int

    def stacked(self, count: int) -> ir.Value:
        """All parts along a new leading dimension."""
        e, n = self.dimension, self.extents[self.dimension]
        first = self.start[e] if self.step > 0 else self.start[e] + self.step * (count - 1)
        begin = [first if i == e else s for i, s in enumerate(self.start)]
        gap = abs(self.step)
        if n == 1:
            end = [first + (count - 1) * gap + 1 if i == e else b + (m - 1) * s + 1
                   for i, (b, m, s) in enumerate(zip(begin, self.extents, self.strides, strict=True))]
            stride = [gap if i == e else s for i, s in enumerate(self.strides)]
        else:       # parts that follow one another without a gap
            end = [first + count * gap if i == e else b + (m - 1) * s + 1
                   for i, (b, m, s) in enumerate(zip(begin, self.extents, self.strides, strict=True))]
            stride = list(self.strides)
        all_parts = ops.slice(self.source, begin, end, stride)
        apart = ops.reshape(all_parts, [*self.extents[:e], count, n, *self.extents[e + 1:]])
        order = [e, *(i for i in range(len(self.extents) + 1) if i != e)]
        turned = ops.transpose(apart, order)
        return ops.reverse(turned, [0]) if self.step < 0 else turned


@dataclass
class Rolled:
    """`count` computations as one: the ops of the first in order, and what varies at its ends."""
    count: int
    body: list[ir.Operation] = field(default_factory=list)
    varying: set[ir.Value] = field(default_factory=set)
    leaves: dict[ir.Value, Leaf | list[ir.Value]] = field(default_factory=dict)
    inside: list[ir.Operation] = field(default_factory=list)
    seen: dict[tuple, bool] = field(default_factory=dict)

    def unify(self, values: tuple[ir.Value, ...]) -> bool:
        """Whether the values are one computation; notes how."""
        if values not in self.seen:
            self.seen[values] = False       # until shown otherwise
            self.seen[values] = self._unify(values)
        return self.seen[values]

    def _unify(self, values: tuple[ir.Value, ...]) -> bool:
        first = values[0]
        if all(v == first for v in values):
            return first not in self.varying
        owners = list(map(creation.owner, values))
        kind: Any = type(owners[0])
        if kind is ir.Block or any(type(owner) is not kind for owner in owners) or first in self.varying \
                or len(set(values)) < len(values) or any(v.type != first.type for v in values):
            return False
        made = [owner.operation for owner in owners]
        leaf = self._constants(values, made) or _places(made)
        if leaf is not None:
            self.leaves[first] = leaf
            self.varying.add(first)
            return True
        op = made[0]
        if any(not _same_op(op, other) for other in made[1:]) or not pure(op) or len(op.regions) or len(op.results) > 1:
            return False
        for operands in zip(*(other.operands for other in made), strict=True):
            if not self.unify(operands):
                return False
        if self.varying.isdisjoint(op.operands) or not batches(op, self.varying):
            return False        # equal ones are merged soon
        self.varying.add(first)
        self.body.append(op)
        self.inside += made
        return True

    def _constants(self, values: Sequence[ir.Value], made: Sequence[ir.Operation]) -> list[ir.Value] | None:
        constant = all(op.name == "stablehlo.constant" for op in made)
        return list(values) if constant and len(made) * size(shape_of(values[0])) <= CONSTANT_ELEMENTS else None

    def is_used_elsewhere(self, roots: Sequence[ir.Value]) -> bool:
        """Whether something inside is read by what is not: then it would be computed twice."""
        known = {op.results[0] for op in self.inside}
        return any(not len(reader.results) or reader.results[0] not in known
                   for op in self.inside if op.results[0] not in roots for reader in readers(op.results[0]))

    def build(self, root: ir.Value) -> ir.Value:
        """All computations at once: the result, with a new leading dimension."""
        values = {v: leaf.stacked(self.count) if isinstance(leaf, Leaf) else _stacked_constants(leaf)
                  for v, leaf in self.leaves.items()}
        if root in values:
            return values[root]
        batcher = Batcher(self.count, set(self.varying), values)
        batcher.run(self.body)
        return batcher.full(root)


def rolled(values: Sequence[ir.Value]) -> Rolled | None:
    """The values as one computation; None where they are none, which the first two of them mostly tell."""
    for some in (tuple(values[:2]), tuple(values)):
        found = Rolled(len(some))
        if not found.unify(some):
            return None
    return found


def _same_op(a: ir.Operation, b: ir.Operation) -> bool:
    return a.name == b.name and len(a.operands) == len(b.operands) and a.block == b.block \
        and dict(_attributes(a)) == dict(_attributes(b))


def _attributes(op: ir.Operation) -> list[tuple[str, ir.Attribute]]:
    attributes = op.attributes
    return [(key, attributes[key]) for key in attributes]


def _stacked_constants(values: Sequence[ir.Value]) -> ir.Value:
    return ops.constant(np.stack([ops.constant_value(v) for v in values]))


def _places(made: Sequence[ir.Operation]) -> Leaf | None:
    """Slices of one array whose places go up or down in equal steps along one dimension."""
    if any(op.name != "stablehlo.slice" or op.operands[0] != made[0].operands[0] for op in made):
        return None
    starts = np.array([_integers(op, "start_indices") for op in made])
    strides = {tuple(_integers(op, "strides")) for op in made}
    if len(strides) > 1 or not starts.size:
        return None
    steps = np.diff(starts, axis=0)
    moving = np.flatnonzero(steps.any(axis=0))
    if len(moving) != 1 or (steps != steps[0]).any():
        return None
    e, extents, stride = int(moving[0]), shape_of(made[0].results[0]), strides.pop()
    step = int(steps[0][e])
    if extents[e] != 1 and (stride[e] != 1 or abs(step) != extents[e]):
        return None         # parts that overlap, or lie apart
    return Leaf(made[0].operands[0], tuple(int(s) for s in starts[0]), extents, stride, e, step)


def _integers(op: ir.Operation, name: str) -> list[int]:
    return list(op.attributes[name])


# ---- rules ---------------------------------------------------------------------------------------------------------

def _repeated(a: Any, count: int = 5) -> list[ir.Value]:
    u, v = a(count + 1, 3), a(count, 3)
    return [ops.add(ops.multiply(ops.slice(u, (i + 1, 0), (i + 2, 3)), ops.slice(v, (i, 0), (i + 1, 3))),
                    ops.slice(u, (i, 0), (i + 1, 3))) for i in range(count)]


@rewrite(match.concatenate(rest("xs"), dimension=d), dtypes="number",
         example=(lambda a: ops.concatenate(_repeated(a), 0), lambda a: ops.concatenate(_repeated(a), 1),
                  lambda a: [v := a(12), ops.concatenate([ops.negate(ops.slice(v, (9 - 3 * i,), (12 - 3 * i,)))
                                                          for i in range(4)], 0)][1],
                  lambda a: [v := a(4, 3, 3), w := a(4, 3), ops.concatenate([ops.dot_general(
                      ops.reshape(ops.slice(v, (i, 0, 0), (i + 1, 3, 3)), (3, 3)),
                      ops.reshape(ops.slice(w, (i, 0), (i + 1, 3)), (3,)), contracting_dims=((1,), (0,)))
                      for i in range(4)], 0)][2]),
         counter=(lambda a: [v := a(9), ops.concatenate([ops.negate(ops.slice(v, (k,), (k + 1,)))
                                                         for k in (0, 1, 3, 4)], 0)][1],
                  lambda a: ops.concatenate(_repeated(a, 3), 0)))
def concatenate_of_equal_computations(xs, d, result_shape):
    """concatenate(f(x[0]), f(x[1]), ...) = f of all parts at once"""
    if len(xs) < FEWEST or any(map(_is_read_elsewhere, xs)):
        return None
    found = rolled(xs)
    if found is None or not found.body or found.is_used_elsewhere(xs):
        return None
    together = found.build(xs[0])
    rank = len(result_shape)
    order = [*range(1, d + 1), 0, *range(d + 1, rank + 1)]
    return ops.reshape(ops.transpose(together, order), result_shape)


def _is_read_elsewhere(value: ir.Value) -> bool:
    return users(value) > 1


def _sum_of_products(a: Any, count: int = 8, first: bool = False) -> ir.Value:
    u, v = a(count), a(count)
    total = a(1) if first else None
    for i in range(count):
        term = ops.multiply(ops.slice(u, (i,), (i + 1,)), ops.slice(v, (count - 1 - i,), (count - i,)))
        total = term if total is None else ops.add(total, term)
    return total


def _chain(op: str, dtype: str = "float32", count: int = 9):
    """A chain of one op over the elements of an array."""
    def build(a: Any) -> ir.Value:
        u = a(count, dtype=dtype)
        parts = [ops.slice(u, (i,), (i + 1,)) for i in range(count)]
        return functools.reduce(getattr(ops, op), parts)
    return build


ROLLED = tuple(f"stablehlo.{n}" for n in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
"""Ops of which a chain may be a reduction: it does not matter in which order."""


@rewrite(one_of(ROLLED, x, y, template="t"), changes="rounding", made_by=ROLLED,
         example=(_sum_of_products, lambda a: _sum_of_products(a, 9, True),
                  lambda a: ops.add(_sum_of_products(a), 0), _chain("maximum"), _chain("minimum", "int8"),
                  _chain("and_", "bool"), _chain("or_", "uint8"), _chain("multiply", "int32"), _chain("xor", "int32")),
         counter=(lambda a: _sum_of_products(a, 4), _chain("multiply", "float32"),
                  lambda a: [u := a(3), sum_ := ops.negate(u),
                             *[sum_ := ops.add(sum_, ops.negate(u)) for _ in range(10)]][-1],
                  lambda a: [u := a(12), sum_ := ops.slice(u, (0,), (3,)),
                             *[sum_ := ops.add(sum_, ops.slice(u, (i,), (i + 3,))) for i in range(1, 10)]][-1]))
def sum_of_equal_computations(x, y, t, result, result_dtype):
    """f(x[0]) + f(x[1]) + ... = reduce(f of all parts at once); likewise maximum, minimum, and, or, xor and products of
    integers"""
    if not _is_long_sum(t.name, x) or _goes_on(t.name, result) \
            or t.name == "stablehlo.multiply" and not is_integer(result_dtype):     # which may overflow in between
        return None         # or not the last one
    every = _terms(t.name, x, y)
    numbers = [v for v in every if ops.constant_value(v) is not None]       # `sum` begins with 0
    terms = [v for v in every if v not in numbers]
    if len(terms) < FEWEST_TERMS or len(numbers) > 1:
        return None
    word = t.name.removeprefix("stablehlo.")
    for base in (0, 1):
        found = rolled(terms[base:])
        if found is not None and not found.is_used_elsewhere(terms[base:]) \
                and not any(_is_read_elsewhere(each) for each in terms[base:]):
            start = ops.constant(NEUTRAL[word](result_dtype), result_dtype)
            total = ops.reduce(found.build(terms[base]), start, (0,), word)
            for other in (*terms[:base], *numbers):
                total = ops.create(t.name, [total.type], [total, other]).result
            return total
    return None


def _goes_on(name: str, result: ir.Value) -> bool:
    """Whether a chain of an op goes on behind a result, or behind reshapes that are about to move on."""
    return any(reader.name == name or reader.name == "stablehlo.reshape" and _goes_on(name, reader.results[0])
               for reader in readers(result))


def _is_long_sum(name: str, x: ir.Value) -> bool:
    """Whether a chain of an op that goes on from x may have as many terms as are worth it."""
    for _ in range(FEWEST_TERMS - 2):
        owner = creation.owner(x)
        if isinstance(owner, ir.Block) or owner.name != name:
            return False
        x = owner.operands[0]
    return True


def _terms(name: str, x: ir.Value, y: ir.Value) -> list[ir.Value]:
    """The terms of a sum (or of another op) that was written as ((a + b) + c) + ..., first to last."""
    found = [y]
    while True:
        owner = x.owner
        if isinstance(owner, ir.Block) or owner.operation.name != name or _is_read_elsewhere(x):
            return [x, *reversed(found)]
        x, last = owner.operation.operands
        found.append(last)
