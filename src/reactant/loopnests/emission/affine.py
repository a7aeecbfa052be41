"""Index expressions: sums of loop counters times integers, and what is known of their ranges."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from reactant.support.records import dataclass

INFINITE = 1 << 62
"""What stands for a bound that is not known; integers of 64 bits may lie beyond."""


@dataclass(frozen=True)
class Affine:
    """sum of coefficient * symbol + constant; symbols are names of `index` values. Terms are sorted by symbol."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        if not other.terms:
            return Affine(self.terms, self.constant + other.constant)
        if not self.terms:
            return Affine(other.terms, self.constant + other.constant)
        found = dict(self.terms)
        for symbol, factor in other.terms:
            found[symbol] = found.get(symbol, 0) + factor
        return Affine(tuple(sorted((s, c) for s, c in found.items() if c)), self.constant + other.constant)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other if isinstance(other, int) else other.times(-1))

    def times(self, factor: int) -> Affine:
        """factor * self"""
        if factor == 0:
            return Affine()
        return Affine(tuple((s, c * factor) for s, c in self.terms), self.constant * factor)

    @property
    def fixed(self) -> int | None:
        """The number it is, if it is one."""
        return None if self.terms else self.constant

    def coefficient(self, symbol: str) -> int:
        """The factor of a symbol."""
        return next((c for s, c in self.terms if s == symbol), 0)

    def without(self, symbol: str) -> Affine:
        """The rest when a symbol is left out."""
        return Affine(tuple((s, c) for s, c in self.terms if s != symbol), self.constant)


ZERO = Affine()


def symbol(name: str) -> Affine:
    """The expression that is one symbol."""
    return Affine(((name, 1),))


def number(value: int) -> Affine:
    """The expression that is a number."""
    return Affine((), value)


def here(shape: Iterable[int]) -> tuple[Affine, ...]:
    """The index of a nest on trial: d0, d1..., and 0 where there is one place only."""
    return tuple(symbol(f"%d{k}") if n != 1 else ZERO for k, n in enumerate(shape))


@dataclass
class Facts:
    """Ranges of symbols (both ends included), and bounds that are expressions of other symbols."""

    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    lower: dict[str, tuple[Affine, ...]] = field(default_factory=dict)
    upper: dict[str, tuple[Affine, ...]] = field(default_factory=dict)

    def copy(self) -> Facts:
        """The same, to be added to."""
        return Facts(dict(self.ranges), dict(self.lower), dict(self.upper))

    def know(self, name: str, least: Affine | None = None, most: Affine | None = None) -> None:
        """A symbol is at least, or at most, what an expression is."""
        for expression, known in ((least, self.lower), (most, self.upper)):
            if expression is not None and expression not in known.get(name, ()):
                known[name] = (*known.get(name, ()), expression)

    def range(self, expression: Affine) -> tuple[int, int]:
        """Least and greatest value; `INFINITE`, with either sign, where nothing is known."""
        low = high = expression.constant
        below = above = False
        for name, factor in expression.terms:
            least, most = self.ranges.get(name, (-INFINITE, INFINITE))
            first, last = (least, most) if factor > 0 else (most, least)
            below, above = below or abs(first) >= INFINITE, above or abs(last) >= INFINITE
            low, high = low + factor * first, high + factor * last
        return (-INFINITE if below else min(max(low, -INFINITE), INFINITE),
                INFINITE if above else max(min(high, INFINITE), -INFINITE))

    def at_least(self, expression: Affine, bound: int = 0) -> bool:
        """Whether `expression >= bound` is certain."""
        if self.range(expression)[0] >= bound:
            return True
        for name, factor in expression.terms:
            if abs(factor) == 1 and any(self.range(expression.without(name) + known.times(factor))[0] >= bound
                                        for known in (self.lower if factor > 0 else self.upper).get(name, ())):
                return True
        return False


def strides_of(shape: Iterable[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    made, step = [], 1
    for extent in reversed(tuple(shape)):
        made.append(step)
        step *= extent
    return tuple(reversed(made))


def linear(index: tuple[Affine, ...], shape: tuple[int, ...]) -> Affine:
    """The row-major place of an element."""
    total = ZERO
    for position, stride, extent in zip(index, strides_of(shape), shape, strict=True):
        if extent != 1:
            total = total + position.times(stride)
    return total


def split(place: Affine, extents: tuple[int, ...], facts: Facts) -> tuple[Affine, ...] | None:
    """The index of a row-major place where that needs no division: the inverse of `linear`."""
    strides, rest, found = strides_of(extents), place, []
    for extent, stride in zip(extents, strides, strict=True):
        if extent == 1:
            found.append(ZERO)
            continue
        multiples = {s: c // stride for s, c in rest.terms if c % stride == 0}
        inner = Affine(tuple((s, c) for s, c in rest.terms if s not in multiples))
        low, high = facts.range(inner)
        whole = (rest.constant + low) // stride if stride > 1 else rest.constant
        inner = inner + (rest.constant - whole * stride)
        low, high = facts.range(inner)
        if not 0 <= low <= high < stride:
            return None
        outer = Affine(tuple(sorted(multiples.items())), whole)
        least, most = facts.range(outer)
        if not 0 <= least <= most < extent:
            return None
        found.append(outer)
        rest = inner
    return tuple(found)
