"""How one element of a value is computed: each op as a function from indices to numbers.

An index is a tuple of index expressions, or `Flat`, a row-major place, which element-wise ops and reshapes hand on
unchanged. A value that is kept in memory is read from there.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from reactant.ir.types import real_dtype, size
from reactant.loopnests.analysis.graph import Block, Node, decoded
from reactant.loopnests.analysis.zeros import Zeros
from reactant.loopnests.emission.affine import ZERO, Affine, linear, number, split, strides_of, symbol
from reactant.loopnests.emission.numbers import BOOL, ELEMENTWISE, INDEX, Arithmetic, Number
from reactant.loopnests.emission.writer import memory_type
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Flat:
    """A row-major place in an array."""

    place: Affine


Index = "tuple[Affine, ...] | Flat"


@dataclass(eq=False)
class Buffer:
    """Where arrays are: a flat memref of `size` numbers. `version` counts the changes of its content, the last of which
    was made at scope `level`. `backing`: the buffers it may be, where that is known at run time only, or the one that
    it is a part of, from `offset` on; `whole`: how many numbers that one has."""

    name: str
    dtype: np.dtype
    size: int
    level: int = 0
    version: int = 0
    offset: Affine = ZERO
    writable: bool = True
    home: Block | None = None
    backing: tuple[Buffer, ...] = ()
    unsized: bool = False
    whole: int = 0

    @property
    def type(self) -> str:
        """MLIR's type of the memref."""
        made = buffer_type(self.dtype, self.whole or self.size)
        return made if not self.unsized else "memref<?x" + made.rpartition("x")[2]


def buffer_type(dtype: np.dtype, count: int) -> str:
    """The memref of an array: complex numbers are two floats."""
    if dtype.kind == "c":
        return f"memref<{2 * count}x{memory_type(real_dtype(dtype))}>"
    return f"memref<{count}x{memory_type(dtype)}>"


INLINE_REDUCTION = 16
"""Reductions of at most this many elements are written out where they are used."""


def reduces_inline(node: Node) -> bool:
    """Whether a reduction is written out where it is used."""
    if node.kind != "reduce" or len(node.operands) != 2:
        return False
    dimensions = decoded(node, "dimensions")
    extents = node.operands[0].shape
    return size([extents[d] for d in dimensions]) <= (INLINE_REDUCTION if node.shape else 4)


class Elements:
    """Computes elements. `storage` says which values are in memory, `bound` which are numbers already."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.a, self.w = arithmetic, arithmetic.w
        self.storage: dict[Node, Buffer] = {}
        self.bound: dict[Node, Number] = {}
        self.kept: Callable[[Node], bool] = self.storage.__contains__
        self.on_read: Callable[[Node, Any], None] | None = None
        self.on_load: Callable[[Buffer, Affine], None] | None = None
        self.memo: list[dict[tuple[Node, Any], Number]] = [{}]
        self.loaded: dict[str, tuple[Buffer, Affine, int]] = {}
        self.zeros = Zeros()
        self.quotients: dict[str, tuple[str, int, Affine]] = {}
        """Of quotients: the remainder, what was divided by, and what was divided."""

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Elements computed inside are forgotten at the end: their names go out of scope."""
        self.memo.append({})
        try:
            yield
        finally:
            self.memo.pop()

    def bind(self, node: Node, index: Any, value: Number) -> None:
        """From now on the element is this number."""
        self.memo[-1][node, self.canonical(index, node.shape)] = value

    # ---- indices

    def canonical(self, index: Any, shape: tuple[int, ...]) -> Any:
        """One form for equal indices."""
        if isinstance(index, Flat):
            if len(shape) == 1:
                return (index.place if shape[0] != 1 else ZERO,)
            return () if not shape else index
        return tuple(ZERO if n == 1 else i for i, n in zip(index, shape, strict=True))

    def place(self, index: Any, shape: tuple[int, ...]) -> Affine:
        """The row-major place."""
        return index.place if isinstance(index, Flat) else self._undivided(linear(index, shape))

    def _undivided(self, place: Affine) -> Affine:
        """A place with quotients and remainders put together again."""
        for name, factor in place.terms if self.quotients else ():
            if name in self.quotients:
                remainder, by, whole = self.quotients[name]
                part = place.coefficient(remainder)
                if part and factor == part * by:
                    return self._undivided(place.without(name).without(remainder) + whole.times(part))
        return place

    def coordinates(self, index: Any, shape: tuple[int, ...]) -> tuple[Affine, ...]:
        """The index as a tuple; divisions are written where nothing else helps."""
        if not isinstance(index, Flat):
            return index  # type: ignore[no-any-return]
        if size(shape) == 1:
            return (ZERO,) * len(shape)
        if (found := split(index.place, shape, self.w.facts)) is not None:
            return found
        rest, found_slowly = index.place, []
        last = max(d for d, n in enumerate(shape) if n != 1)
        for d, (extent, stride) in enumerate(zip(shape, strides_of(shape), strict=True)):
            if extent == 1:
                found_slowly.append(ZERO)
            elif d == last:
                found_slowly.append(rest)
            else:
                quotient = self._divided("divui", rest, stride, extent - 1)
                found_slowly.append(quotient)
                whole, rest = rest, self._divided("remui", rest, stride, stride - 1)
                self.quotients[quotient.terms[0][0]] = rest.terms[0][0], stride, whole
        return tuple(found_slowly)

    def _divided(self, op: str, expression: Affine, by: int, most: int) -> Affine:
        name, divisor = self.w.affine(expression), self.w.index(by)
        made = self.w.pure(f"arith.{op} {name}, {divisor} : index", (name,), "q")
        self.w.facts.ranges[made] = (0, most)
        return symbol(made)

    def clamped(self, expression: Affine, low: int, high: int) -> Affine:
        """The expression limited to low...high."""
        least, most = self.w.facts.range(expression)
        if low <= least and most <= high:
            return expression
        if expression.fixed is not None:
            return number(min(max(expression.fixed, low), high))
        name = self.w.affine(expression)
        if least < low:
            name = self.w.pure(f"arith.maxsi {name}, {self.w.index(low)} : index", (name,), "k")
        if most > high:
            name = self.w.pure(f"arith.minsi {name}, {self.w.index(high)} : index", (name,), "k")
        self.w.facts.ranges[name] = (min(max(low, least), high), max(min(high, most), low))
        return symbol(name)

    # ---- elements

    def at(self, node: Node, index: Any) -> Number:
        """The number at an index."""
        if node in self.bound:
            return self.bound[node]
        index = self.canonical(index, node.shape)
        for known in reversed(self.memo):
            found = known.get((node, index))
            if found is not None:
                return found
        made = self.read(node, index) if self.kept(node) else self.compute(node, index)
        if made.name is not None or made.parts is not None:
            self.memo[-1][node, index] = made
        return made

    def compute(self, node: Node, index: Any) -> Number:
        """The number by the node's own op, whether or not it is kept."""
        index = self.canonical(index, node.shape)
        if node.kind in ELEMENTWISE:
            operands = [self.at(o, index if o.shape or not node.shape else ()) for o in node.operands]
            self.a.of_arrays = node.size > 1
            return self.a.apply(node.kind, operands, node.dtype, self._attributes(node))
        method = getattr(self, "_" + node.kind, None)
        if method is None:
            raise AssertionError(f"{node} is neither in memory nor computed in place")
        made: Number = method(node, index)
        return made

    @staticmethod
    def _attributes(node: Node) -> dict[str, Any]:
        if node.kind == "compare":
            return {"comparison_direction": decoded(node, "comparison_direction")}
        return node.attributes

    def read(self, node: Node, index: Any) -> Number:
        """An element from memory."""
        if self.on_read is not None:
            self.on_read(node, index)
        made = self.load(self.storage[node], self.place(index, node.shape), node.dtype)
        if node.dtype.kind in "fc" and self.zeros.unsigned(node):
            self.a.unsigned.update(part.name or "" for part in made.parts or (made,))
        return made

    def load(self, buffer: Buffer, place: Affine, dtype: np.dtype) -> Number:
        """A number from a buffer."""
        place = place + buffer.offset
        if self.on_load is not None:
            self.on_load(buffer, place)
        if dtype.kind == "c":
            part = real_dtype(dtype)
            real, imaginary = (self._loaded(buffer, place.times(2) + k, part) for k in (0, 1))
            return self.a.pair(real, imaginary, dtype)
        made = self._loaded(buffer, place, dtype)
        self.loaded[made.name or ""] = (buffer, place, buffer.version)
        return made

    def _loaded(self, buffer: Buffer, place: Affine, dtype: np.dtype) -> Number:
        at = self.w.affine(place)
        name = self.w.pure(f"memref.load {buffer.name}[{at}] : {buffer.type} // {buffer.version}", (at, buffer.name),
                           least=buffer.level)
        if dtype.kind == "b":
            name = self.w.pure(f"arith.trunci {name} : i8 to i1", (name,))
        return Number(dtype, name)

    def store(self, value: Number, buffer: Buffer, place: Affine) -> None:
        """Write a number to a buffer; the caller says when the content counts as changed."""
        place = place + buffer.offset
        if value.dtype.kind == "c":
            for k, part in enumerate(self.a.halves(value)):
                self._stored(part, buffer, place.times(2) + k)
        else:
            self._stored(value, buffer, place)

    def _stored(self, value: Number, buffer: Buffer, place: Affine) -> None:
        name = self.a.name(value)
        if value.dtype.kind == "b":
            name = self.w.pure(f"arith.extui {name} : i1 to i8", (name,))
        self.w.line(f"memref.store {name}, {buffer.name}[{self.w.affine(place)}] : {buffer.type}")

    def is_there(self, value: Number, buffer: Buffer, place: Affine) -> bool:
        """Whether storing the number would change nothing."""
        return self.loaded.get(value.name or "?") == (buffer, place + buffer.offset, buffer.version)

    # ---- ops that move elements

    def _constant(self, node: Node, index: Any) -> Number:
        value = node.splat
        if value is None:
            coordinates = self.coordinates(index, node.shape)
            places = [c.fixed for c in coordinates]
            assert node.value is not None and None not in places, "dense constants are kept in memory"
            value = node.value[tuple(places)]
        return self.a.constant(value, node.dtype)

    def _broadcast_in_dim(self, node: Node, index: Any) -> Number:
        operand = node.operands[0]
        if operand.size == 1:
            return self.at(operand, (ZERO,) * len(operand.shape))
        index = self.coordinates(index, node.shape)
        dimensions = decoded(node, "broadcast_dimensions")
        return self.at(operand, tuple(ZERO if n == 1 else index[d]
                                      for d, n in zip(dimensions, operand.shape, strict=True)))

    def _reshape(self, node: Node, index: Any) -> Number:
        operand = node.operands[0]
        if not isinstance(index, Flat):
            kept = [i for i, n in zip(index, node.shape, strict=True) if n != 1]
            if [n for n in node.shape if n != 1] == [n for n in operand.shape if n != 1]:
                places = iter(kept)
                return self.at(operand, tuple(ZERO if n == 1 else next(places) for n in operand.shape))
            index = Flat(linear(index, node.shape))
            found = split(index.place, operand.shape, self.w.facts)
            index = index if found is None else found
        return self.at(operand, index)

    def _transpose(self, node: Node, index: Any) -> Number:
        index = self.coordinates(index, node.shape)
        inner = [ZERO] * len(index)
        for result, source in enumerate(decoded(node, "permutation")):
            inner[source] = index[result]
        return self.at(node.operands[0], tuple(inner))

    def _slice(self, node: Node, index: Any) -> Number:
        index = self.coordinates(index, node.shape)
        starts, strides = decoded(node, "start_indices"), decoded(node, "strides")
        return self.at(node.operands[0], tuple(i.times(t) + s for i, s, t in zip(index, starts, strides, strict=True)))

    def _reverse(self, node: Node, index: Any) -> Number:
        index = self.coordinates(index, node.shape)
        turned = set(decoded(node, "dimensions"))
        return self.at(node.operands[0], tuple(number(n - 1) - i if d in turned else i
                                               for d, (i, n) in enumerate(zip(index, node.shape, strict=True))))

    def _reduce_precision(self, node: Node, index: Any) -> Number:
        """All the bits are kept (see `supported`): it only keeps XLA from rounding otherwise."""
        return self.at(node.operands[0], index)

    def _iota(self, node: Node, index: Any) -> Number:
        place = self.coordinates(index, node.shape)[decoded(node, "iota_dimension")]
        if node.dtype.kind in "iu" and (found := self.a.integer(place, node.dtype)) is not None:
            return found
        return self.a.convert(Number(INDEX, affine=place, value=place.fixed), node.dtype)

    def _pad(self, node: Node, index: Any) -> Number:
        operand, filling = node.operands
        index = self.coordinates(index, node.shape)
        low, interior = decoded(node, "edge_padding_low"), decoded(node, "interior_padding")
        inside, places = self.a.constant(True, BOOL), []
        for i, extent, before, gap in zip(index, operand.shape, low, interior, strict=True):
            place = i - before
            inside = self._and(inside, place, number((extent - 1) * (gap + 1)) - place)
            if gap and extent > 1:
                place = self.clamped(place, 0, (extent - 1) * (gap + 1))
                rest = self._divided("remui", place, gap + 1, gap)
                inside = self._and(inside, rest.times(-1))
                place = self._divided("divui", place, gap + 1, extent - 1)
            places.append(place)
        if inside.value is False or not operand.size:
            return self.at(filling, ())
        return self.chosen(inside, operand, places, lambda: self.at(filling, ()))

    def _and(self, condition: Number, *differences: Affine) -> Number:
        """condition and every difference >= 0"""
        zero = Number(INDEX, affine=ZERO, value=0)
        for difference in differences:
            decided = self.a.decide(difference)
            if decided is None:
                test = self.a.compare("GE", Number(INDEX, affine=difference), zero)
            else:
                test = self.a.constant(decided, BOOL)
            condition = self.a._boolean("and", (condition, test))
        return condition

    def chosen(self, inside: Number, operand: Node, places: Sequence[Affine], other: Callable[[], Number]) -> Number:
        """The operand's element where `inside`, the other number elsewhere; indices outside are never used."""
        if inside.value is True:
            return self.at(operand, tuple(places))
        if inside.value is False:
            return other()
        safe = tuple(self.clamped(p, 0, n - 1) for p, n in zip(places, operand.shape, strict=True))
        return self.a.select(inside, self.at(operand, safe), other())

    def _concatenate(self, node: Node, index: Any) -> Number:
        index = self.coordinates(index, node.shape)
        d = decoded(node, "dimension")
        pieces, start = [], 0
        for operand in node.operands:
            if operand.shape[d]:
                pieces.append((operand, start))
            start += operand.shape[d]

        return self._piece(pieces, index, d)

    def _piece(self, pieces: Sequence[tuple[Node, int]], index: Any, d: int) -> Number:
        """The element of the first piece, which begins at its number along dimension `d`, or of the others."""
        (operand, first), *others = pieces
        places = (*index[:d], index[d] - first, *index[d + 1:])
        if not others:
            return self.at(operand, tuple(self.clamped(p, 0, n - 1) for p, n in
                                          zip(places, operand.shape, strict=True)))
        inside = self._and(self.a.constant(True, BOOL), number(others[0][1] - 1) - index[d])
        if inside.value is True and not self.w.facts.at_least(places[d]):     # read, not used, in a piece before
            places = (*index[:d], self.clamped(places[d], 0, operand.shape[d] - 1), *index[d + 1:])
        return self.chosen(inside, operand, places, lambda: self._piece(others, index, d))

    def starts(self, node: Node, operand: Node, extents: Sequence[int], first: int) -> list[Affine]:
        """Run-time starts of a window, limited so that it lies inside."""
        return [self.clamped(self.a.as_index(self.at(s, ())), 0, n - k) for s, n, k in
                zip(node.operands[first:], operand.shape, extents, strict=True)]

    def _dynamic_slice(self, node: Node, index: Any) -> Number:
        index = self.coordinates(index, node.shape)
        starts = self.starts(node, node.operands[0], node.shape, 1)
        return self.at(node.operands[0], tuple(i + s for i, s in zip(index, starts, strict=True)))

    def _dynamic_update_slice(self, node: Node, index: Any) -> Number:
        operand, update = node.operands[:2]
        index = self.coordinates(index, node.shape)
        starts = self.starts(node, operand, update.shape, 2)
        if not update.size:
            return self.at(operand, index)
        places = [i - s for i, s in zip(index, starts, strict=True)]
        inside = self.a.constant(True, BOOL)
        for place, extent, whole in zip(places, update.shape, operand.shape, strict=True):
            if extent != whole:
                inside = self._and(inside, place, number(extent - 1) - place)
        return self.chosen(inside, update, places, lambda: self.at(operand, index))

    def _gather(self, node: Node, index: Any) -> Number:
        operand, indices = node.operands
        index = self.coordinates(index, node.shape)
        n = decoded(node, "dimension_numbers")
        extents = decoded(node, "slice_sizes")
        batch = [i for d, i in enumerate(index) if d not in n.offset_dims]
        offsets = iter([index[d] for d in n.offset_dims])
        places = []
        for d, (extent, window) in enumerate(zip(operand.shape, extents, strict=True)):
            place = ZERO
            if d in n.start_index_map:
                component = n.start_index_map.index(d)
                at = list(batch)
                if n.index_vector_dim < len(indices.shape):
                    at.insert(n.index_vector_dim, number(component))
                place = self.clamped(self.a.as_index(self.at(indices, tuple(at))), 0, extent - window)
            if d in n.operand_batching_dims:
                source = n.start_indices_batching_dims[n.operand_batching_dims.index(d)]
                place = batch[source - (source > n.index_vector_dim)]
            elif d not in n.collapsed_slice_dims:
                place = place + next(offsets)
            places.append(place)
        return self.at(operand, tuple(places))

    def _reduce(self, node: Node, index: Any) -> Number:
        """A short reduction, written out."""
        operand, init = node.operands
        dimensions = decoded(node, "dimensions")
        index = iter(self.coordinates(index, node.shape))
        kept = {d: next(index) for d in range(len(operand.shape)) if d not in dimensions}
        total = self.at(init, ())
        for place in product(*(range(operand.shape[d]) for d in dimensions)):
            fixed = dict(zip(dimensions, map(number, place), strict=True))
            element = self.at(operand, tuple(fixed[d] if d in fixed else kept[d] for d in range(len(operand.shape))))
            total = self.combined(node.blocks[0], [total], [element])[0]
        return total

    def combined(self, body: Block, left: Sequence[Number], right: Sequence[Number], flags: str = "") -> list[Number]:
        """The region of a reduction, applied to accumulators and elements."""
        bound = dict(zip(body.arguments, [*left, *right], strict=True))
        return [self._combined(node, body, bound, flags) for node in body.returned]

    def _combined(self, node: Node, body: Block, bound: dict[Node, Number], flags: str) -> Number:
        if node not in bound:
            if node.kind == "constant":
                bound[node] = self.a.constant(node.splat, node.dtype)
            elif node.block is not body:
                bound[node] = self.at(node, ())
            else:
                operands = [self._combined(o, body, bound, flags) for o in node.operands]
                if flags and node.dtype.kind == "f" and node.kind in ("add", "multiply"):
                    bound[node] = self.a.op(f"arith.{node.kind[:3]}f", operands, node.dtype, flags)
                else:
                    self.a.of_arrays = False
                    bound[node] = self.a.apply(node.kind, operands, node.dtype, self._attributes(node))
        return bound[node]
