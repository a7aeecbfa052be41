"""Which places of arrays the iterations of a loop touch, and whether those of two iterations can meet. Analysis only.

A start of a window is *affine* in the iteration: offset + step * iteration + symbols, where symbols are integers from
outside the loop. Everything is exact: a start of which wrap-around or clamping cannot be excluded is not affine. """
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation
from reactant.ir.induction import Counter, range_of, scalar
from reactant.ir.types import dtype_of, shape_of
from reactant.rewrite import defined_in
from reactant.support.records import dataclass

ENUMERATED = 1024
"""Pairs of iterations are tried one by one for loops of at most this many, where starts go at different paces."""


@dataclass(frozen=True)
class Affine:
    """offset + step * iteration + sum of coefficient * symbol."""

    offset: int
    step: int
    symbols: frozenset[tuple[ir.Value, int]] = frozenset()

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        coefficients: dict[ir.Value, int] = dict(self.symbols)
        for symbol, coefficient in other.symbols:
            coefficients[symbol] = coefficients.get(symbol, 0) + sign * coefficient
        return Affine(self.offset + sign * other.offset, self.step + sign * other.step,
                      frozenset((s, c) for s, c in coefficients.items() if c))

    def times(self, factor: int) -> Affine:
        return Affine(self.offset * factor, self.step * factor,
                      frozenset((s, c * factor) for s, c in self.symbols if factor))


class TripCount:
    """Integers of one loop in terms of its iteration number."""

    def __init__(self, loop: ir.Operation, counters: dict[int, Counter], count: int):
        self.loop, self.counters, self.count = loop, counters, count
        self.arguments = list(loop.regions[1].blocks[0].arguments)
        self._known: dict[ir.Value, Affine | None] = {}

    def affine(self, value: ir.Value) -> Affine | None:
        """A 0-d integer value as an affine function of the iteration; None where it is none."""
        if value not in self._known:
            self._known[value] = self._affine(value)
        return self._known[value]

    def _affine(self, value: ir.Value) -> Affine | None:
        if shape_of(value) or dtype_of(value).kind not in "iu":
            return None
        number = scalar(value)
        if number is not None:
            return Affine(number, 0)
        owner = creation.owner(value)
        if isinstance(owner, ir.Block):
            return self._argument(value)
        operands = list(owner.operands)
        if owner.name in ("stablehlo.add", "stablehlo.subtract"):
            a, b = map(self.affine, operands)
            if a is not None and b is not None:
                return a.plus(b, 1 if owner.name.endswith("add") else -1)
        elif owner.name == "stablehlo.multiply":
            a, b = map(self.affine, operands)
            if a is not None and b is not None and not (b.step or b.symbols):
                return a.times(b.offset)
            if a is not None and b is not None and not (a.step or a.symbols):
                return b.times(a.offset)
        elif owner.name == "stablehlo.convert" and dtype_of(operands[0]).kind in "iu":
            if range_of(operands[0]) is not None and range_of(value) is not None:
                return self.affine(operands[0])
        return self._symbol(value)

    def _argument(self, value: ir.Value) -> Affine | None:
        if value in self.arguments:
            counter = self.counters.get(self.arguments.index(value))
            if counter is None:
                return None
            if counter.start is not None:
                return Affine(counter.start, counter.step)
            start = self.affine(self.loop.operands[counter.index])
            return None if start is None else start.plus(Affine(0, counter.step))
        return self._symbol(value)

    def _symbol(self, value: ir.Value) -> Affine | None:
        return None if defined_in(value, self.loop) else Affine(0, 0, frozenset({(value, 1)}))


@dataclass(frozen=True)
class Window:
    """Per dimension the start (None: anywhere) and the extent of what one iteration touches."""

    starts: tuple[Affine | None, ...]
    sizes: tuple[int, ...]
    whole: tuple[int, ...]


def affine_starts(window: Window) -> list[Affine]:
    """The starts of a window that is affine in all dimensions."""
    return [start for start in window.starts if start is not None]


def window_of(iterations: TripCount, array: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> Window:
    """The window of a dynamic slice or update. A start that is perhaps clamped may be anywhere."""
    found: list[Affine | None] = []
    for start, extent, size in zip(starts, shape_of(array), sizes, strict=True):
        if size == extent:
            found.append(Affine(0, 0))
            continue
        reach = range_of(start)
        inside = reach is not None and reach[0] >= 0 and reach[1] + size <= extent
        found.append(iterations.affine(start) if inside else None)
    return Window(tuple(found), tuple(sizes), shape_of(array))


def read_window(iterations: TripCount, op: ir.Operation) -> Window:
    """What an op reads of its first operand."""
    array = op.operands[0]
    whole = shape_of(array)
    if op.name == "stablehlo.dynamic_slice":
        return window_of(iterations, array, list(op.operands)[1:], attr.decode(op.attributes["slice_sizes"]))
    if op.name == "stablehlo.slice":
        low, high = (attr.decode(op.attributes[n]) for n in ("start_indices", "limit_indices"))
        return Window(tuple(Affine(a, 0) for a in low), tuple(b - a for a, b in zip(low, high, strict=True)), whole)
    return everywhere(whole)


def everywhere(whole: Sequence[int]) -> Window:
    """A window of the whole array."""
    return Window((None,) * len(whole), tuple(whole), tuple(whole))


# ---- whether windows meet ------------------------------------------------------------------------------------------

SAME, EARLIER, OTHER = "same", "earlier", "other"
"""Which iterations of the first window are compared with one of the second: that iteration, those before it, all but
it."""


def apart(first: Window, second: Window, count: int, relation: str) -> bool:
    """Whether it is certain that the first window, in iterations that stand in this relation to an iteration of the
    second, has no place in common with it."""
    return not all(first.sizes) or not all(second.sizes) or any(
        _apart(a, n, b, m, count, relation)
        for a, n, b, m in zip(first.starts, first.sizes, second.starts, second.sizes, strict=True))


def _apart(a: Affine | None, n: int, b: Affine | None, m: int, count: int, relation: str) -> bool:
    """In one dimension: [a, a + n) against [b, b + m)."""
    if a is None or b is None or a.symbols != b.symbols:
        return False
    gap = a.offset - b.offset
    if relation == SAME:
        return not _meets(a.step - b.step, gap, n, m, 0, count - 1)
    if a.step == b.step:
        if _meets(a.step, gap, n, m, -(count - 1), -1):
            return False
        return relation == EARLIER or not _meets(a.step, gap, n, m, 1, count - 1)
    ends = [sorted((x.offset, x.offset + x.step * (count - 1))) for x in (a, b)]
    if ends[0][1] + n <= ends[1][0] or ends[1][1] + m <= ends[0][0]:
        return True
    return count <= ENUMERATED and not _any_pair(a, n, b, m, count, relation)


def _meets(step: int, gap: int, n: int, m: int, least: int, most: int) -> bool:
    """Whether -n < gap + step * u < m for a whole u in least..most."""
    if least > most:
        return False
    if step == 0:
        return -n < gap < m
    low, high = -n - gap + 1, m - gap - 1           # low <= step * u <= high
    if step < 0:
        step, least, most = -step, -most, -least
    return max(-(-low // step), least) <= min(high // step, most)


def _any_pair(a: Affine, n: int, b: Affine, m: int, count: int, relation: str) -> bool:
    iterations = np.arange(count, dtype=np.int64)
    gap = (a.offset + a.step * iterations)[:, None] - (b.offset + b.step * iterations)[None, :]
    meet = (gap < m) & (gap > -n)
    rows, columns = iterations[:, None], iterations[None, :]
    wanted = rows < columns if relation == EARLIER else rows != columns
    return bool((meet & wanted).any())


def equal_starts(first: Window, second: Window) -> bool:
    """Whether two windows are the same in every iteration."""
    return first.sizes == second.sizes and all(
        a is not None and a == b for a, b in zip(first.starts, second.starts, strict=True))
