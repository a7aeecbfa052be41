"""Recurrences that an associative operation describes, so that the iterations of a loop need not wait for one another.

    x = op(x, e)          op one of add, multiply, maximum, minimum, and, or, xor: a running sum, product, ...
    x = a x + b           maps compose: (a, b) then (c, d) is (c a, c b + d); exponential filters, gates, decays
    x = x M + b           the same with a matrix M that may change from iteration to iteration, for vectors and rows of
    vectors

`recurrence_of` recognises one in the body of a loop; `running` makes all its values, in a number of steps that grows
with the logarithm of the number of iterations.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.support.records import dataclass

Term: TypeAlias = Any
"""What multiplies or is added: None (1, or 0), a value of the body, (op, terms...), or ("splat", like, number)."""
MONOIDS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
DEEPEST = 24


@dataclass(frozen=True)
class Recurrence:
    """x after an iteration from x before it: op(x, b) where `op` is a monoid; a x + b for "affine"; x b... for "matrix"
    x times the matrix a, plus b."""

    op: str
    a: Term
    b: Term

    @property
    def needs(self) -> list[ir.Value]:
        return [*atoms(self.a), *atoms(self.b)]


def atoms(term: Term) -> list[ir.Value]:
    """The values in a term."""
    if term is None or not isinstance(term, ir.Value) and term[0] == "splat":
        return []
    return [term] if isinstance(term, ir.Value) else [v for part in term[1:] for v in atoms(part)]


class _Reader:
    """Reads values of a loop's body as functions of one argument."""

    def __init__(self, argument: ir.Value, owner: Callable[[ir.Value], ir.Operation | None],
                 depends: Callable[[ir.Value], bool]):
        self.argument, self.owner, self.depends = argument, owner, depends

    def monoid(self, value: ir.Value) -> Recurrence | None:
        """op(op(x, e), f) and so on, of one op."""
        op, name, others = self.owner(value), None, []
        while op is not None:
            word = op.name.removeprefix("stablehlo.")
            if word not in MONOIDS or name not in (None, word):
                return None
            name = word
            left, right = op.operands
            inner, other = (left, right) if self.depends(left) else (right, left)
            if self.depends(other):
                return None
            others.append(other)
            if inner == self.argument:
                term: Term = others[-1]
                for each in others[-2::-1]:
                    term = (name, term, each)
                return Recurrence(name, None, term)
            op = self.owner(inner)
        return None

    def affine(self, value: ir.Value, depth: int = DEEPEST) -> tuple[Term, Term, bool] | None:
        """(a, b, whether x is in it at all) with value = a x + b."""
        if value == self.argument:
            return None, None, True
        if not self.depends(value):
            return None, value, False
        op = self.owner(value)
        if op is None or depth == 0 or len(op.results) != 1:
            return None
        word = op.name.removeprefix("stablehlo.")
        if word in ("add", "subtract"):
            return self._sum(word, op, depth)
        if word == "negate":
            found = self.affine(op.operands[0], depth - 1)
            return found and (("negate", self._one(found[0], value)), found[1] and ("negate", found[1]), True)
        if word in ("multiply", "divide"):
            left, right = op.operands
            if word == "multiply" and self.depends(right):
                left, right = right, left
            found = self.affine(left, depth - 1)
            if found is None or self.depends(right):
                return None
            a = right if found[0] is None and word == "multiply" else (word, self._one(found[0], value), right)
            return a, found[1] and (word, found[1], right), True
        if word == "select" and not self.depends(op.operands[0]):
            return self._select(op, depth)
        return None

    def _one(self, term: Term, like: ir.Value) -> Term:
        """A factor; None, which is 1, as numbers."""
        return ("splat", like, 1) if term is None else term

    def _zero(self, term: Term, like: ir.Value) -> Term:
        return ("splat", like, 0) if term is None else term

    def _sum(self, word: str, op: ir.Operation, depth: int) -> tuple[Term, Term, bool] | None:
        value = op.results[0]
        left, right = (self.affine(v, depth - 1) for v in op.operands)
        if left is None or right is None:
            return None
        if left[2] and right[2]:
            a: Term = (word, self._one(left[0], value), self._one(right[0], value))
        elif left[2]:
            a = left[0]
        else:
            a = right[0] if word == "add" else ("negate", self._one(right[0], value))
        if left[1] is None or right[1] is None:
            b = left[1] if right[1] is None else right[1] if word == "add" else ("negate", right[1])
        else:
            b = (word, left[1], right[1])
        return a, b, True

    def _select(self, op: ir.Operation, depth: int) -> tuple[Term, Term, bool] | None:
        choice, value = op.operands[0], op.results[0]
        left, right = (self.affine(v, depth - 1) for v in list(op.operands)[1:])
        if left is None or right is None:
            return None
        a = [self._one(each[0], value) if each[2] else ("splat", value, 0) for each in (left, right)]
        b = [self._zero(each[1], value) for each in (left, right)]
        return ("select", choice, *a), ("select", choice, *b), True

    def matrix(self, value: ir.Value) -> Recurrence | None:
        """x M + b, with the last dimension of x contracted with the first of M, or M x for a vector."""
        op, b = self.owner(value), None
        while op is not None and op.name == "stablehlo.add":
            left, right = op.operands
            if self.depends(left) and self.depends(right):
                return None
            inner, other = (left, right) if self.depends(left) else (right, left)
            b = other if b is None else ("add", other, b)
            op = self.owner(inner)
        if op is None or op.name != "stablehlo.dot_general":
            return None
        numbers = attr.decode(op.attributes["dot_dimension_numbers"])
        left, right = op.operands
        rank = len(shape_of(left)), len(shape_of(right))
        if any(numbers.batching_dims) or len(numbers.contracting_dims[0]) != 1 or len(set(
                map(dtype_of, (left, right, value)))) != 1:
            return None
        (i,), (j,) = numbers.contracting_dims
        if left == self.argument and not self.depends(right) and rank[1] == 2 and i == rank[0] - 1:
            return Recurrence("matrix", right if j == 0 else ("transposed", right), b)
        if right == self.argument and not self.depends(left) and rank == (2, 1):
            return Recurrence("matrix", ("transposed", left) if i == 1 else left, b)
        return None


def recurrence_of(argument: ir.Value, value: ir.Value, owner: Callable[[ir.Value], ir.Operation | None],
                  depends: Callable[[ir.Value], bool]) -> Recurrence | None:
    """The recurrence that makes `value` of a loop's carried `argument`; `depends` says whether a value of the body is
    made from the argument."""
    if dtype_of(argument).kind not in "iufcb" or value == argument or not depends(value):
        return None
    reader = _Reader(argument, owner, depends)
    found = reader.monoid(value)
    if found is not None:
        return found
    if dtype_of(argument).kind not in "fciu":
        return None
    whole = reader.affine(value)
    if whole is not None and whole[2]:
        a, b, _ = whole
        if dtype_of(argument).kind in "iu" and _divides(a):
            return None
        return Recurrence("multiply", None, a) if b is None and a is not None else \
            Recurrence("add", None, b) if a is None and b is not None else Recurrence("affine", a, b)
    return reader.matrix(value) if shape_of(argument) else None


def _divides(term: Term) -> bool:
    return isinstance(term, tuple) and term[0] != "splat" and (
        term[0] == "divide" or any(_divides(part) for part in term[1:]))


# ---- all values ----------------------------------------------------------------------------------------------------

def built(term: Term, value: Callable[[ir.Value], ir.Value], count: int) -> ir.Value:
    """A term for all iterations: `value` gives a value of the body as (count, ...)."""
    if isinstance(term, ir.Value):
        return value(term)
    word, *parts = term
    if word == "splat":
        like, number = parts
        return ops.constant(number, dtype_of(like), (count, *shape_of(like)))
    made = [built(part, value, count) for part in parts]
    if word == "transposed":
        return ops.transpose(made[0], (0, 2, 1))
    if word == "select":
        if shape_of(made[0]) != shape_of(made[1]):
            made[0] = ops.broadcast_in_dim(made[0], shape_of(made[1]), (0,))
        return ops.select(*made)
    return ops.create(f"stablehlo.{word}", [made[0].type], made).result


def running(recurrence: Recurrence, init: ir.Value, value: Callable[[ir.Value], ir.Value], count: int) -> ir.Value:
    """The carried value after every iteration: (count, *shape)."""
    shape = shape_of(init)
    first = ops.reshape(init, (1, *shape))
    if recurrence.op in MONOIDS:
        elements = built(recurrence.b, value, count)
        whole = ops.concatenate([first, elements], 0)

        def combine(x: Sequence[ir.Value], y: Sequence[ir.Value]) -> list[ir.Value]:
            return [ops.create(f"stablehlo.{recurrence.op}", [x[0].type], [x[0], y[0]]).result]
        return _part(_scan(combine, [whole])[0], 1, count + 1)
    # the start is a map itself: whatever comes before, it gives the start
    matrix = recurrence.op == "matrix"
    factors = built(recurrence.a, value, count)
    if recurrence.b is None:
        offsets = ops.constant(0, dtype_of(init), (count, *shape))
    else:
        offsets = built(recurrence.b, value, count)
    start = ops.constant(0, dtype_of(init), (1, *shape_of(factors)[1:]))
    factors = ops.concatenate([start, factors], 0)
    offsets = ops.concatenate([first, offsets], 0)
    apply = _times_matrix if matrix else ops.multiply

    def compose(x: Sequence[ir.Value], y: Sequence[ir.Value]) -> list[ir.Value]:
        return [apply(x[0], y[0]), ops.add(apply(x[1], y[0]), y[1])]
    return _part(_scan(compose, [factors, offsets])[1], 1, count + 1)


def _times_matrix(x: ir.Value, m: ir.Value) -> ir.Value:
    """x[k] times the matrix m[k] for every k."""
    rank = len(shape_of(x))
    return ops.dot_general(x, m, contracting_dims=((rank - 1,), (1,)), batching_dims=((0,), (0,)))


def _part(x: ir.Value, start: int, limit: int, stride: int = 1) -> ir.Value:
    shape = shape_of(x)
    return ops.slice(x, (start, *[0] * (len(shape) - 1)), (limit, *shape[1:]), (stride, *[1] * (len(shape) - 1)))


Combine: TypeAlias = Callable[[Sequence[ir.Value], Sequence[ir.Value]], list[ir.Value]]


def _scan(combine: Combine, elements: list[ir.Value]) -> list[ir.Value]:
    """What an associative operation makes of the first one, two, three... elements along dimension 0: neighbours are
    combined, the scan of those gives every second result, and one more step the others."""
    count = shape_of(elements[0])[0]
    if count < 2:
        return elements
    pairs = combine([_part(x, 0, count - 1, 2) for x in elements], [_part(x, 1, count, 2) for x in elements])
    odd = _scan(combine, pairs)
    if count == 2:
        return [ops.concatenate([_part(x, 0, 1), y], 0) for x, y in zip(elements, odd, strict=True)]
    before = [_part(x, 0, (count - 1) // 2) for x in odd]
    even = combine(before, [_part(x, 2, count, 2) for x in elements])
    even = [ops.concatenate([_part(x, 0, 1), y], 0) for x, y in zip(elements, even, strict=True)]
    return [_woven(x, y, count) for x, y in zip(even, odd, strict=True)]


def _woven(even: ir.Value, odd: ir.Value, count: int) -> ir.Value:
    """x[0], y[0], x[1], y[1], ..."""
    many, shape = shape_of(even)[0], shape_of(even)[1:]
    if shape_of(odd)[0] < many:
        odd = ops.concatenate([odd, _part(even, 0, 1)], 0)
    pair = [ops.reshape(x, (many, 1, *shape)) for x in (even, odd)]
    return _part(ops.reshape(ops.concatenate(pair, 1), (2 * many, *shape)), 0, count)
