"""What values of a converted program are: wide numbers, pairs of them, or what they were."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from jaxlib.mlir import ir

from reactant.precision import wide
from reactant.precision.wide import Wide


class WideComplex:
    """A complex number of two wide ones. Operands of its operators are others, and real wide numbers; parts of products
    that cancel are right relative to the size of the number."""

    __slots__ = ("im", "re")

    def __init__(self, re: Wide, im: Wide):
        self.re, self.im = re, im

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.re.shape

    def each(self, function: Callable[[ir.Value], ir.Value]) -> WideComplex:
        """What a function that moves elements makes of all limbs."""
        return WideComplex(self.re.each(function), self.im.each(function))

    @property
    def limbs(self) -> tuple[ir.Value, ...]:
        """Of both parts."""
        return (*self.re.limbs, *self.im.limbs)

    def __neg__(self) -> WideComplex:
        return WideComplex(-self.re, -self.im)

    def __add__(self, other: WideComplex) -> WideComplex:
        return WideComplex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: WideComplex) -> WideComplex:
        return WideComplex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: WideComplex | Wide) -> WideComplex:
        if isinstance(other, Wide):
            return WideComplex(self.re * other, self.im * other)
        return WideComplex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


Value: TypeAlias = "Wide | WideComplex | ir.Value"
Number = TypeVar("Number", Wide, WideComplex)


def flat(values: Sequence[Value]) -> list[ir.Value]:
    """All limbs of some values."""
    found: list[ir.Value] = []
    for value in values:
        found += [value] if isinstance(value, ir.Value) else value.limbs
    return found


def like(values: Sequence[Value], limbs: Sequence[ir.Value]) -> list[Value]:
    """Limbs as values of the kinds that others have."""
    left = iter(limbs)
    return [next(left) if isinstance(value, ir.Value) else value.each(lambda _: next(left)) for value in values]


def conjugate(x: Number) -> Number:
    """re - i im."""
    return WideComplex(x.re, -x.im) if isinstance(x, WideComplex) else x


def real_part(x: Wide | WideComplex) -> Wide:
    """Of a number that may be real itself."""
    return x.re if isinstance(x, WideComplex) else x


def choose(predicate: ir.Value, yes: Number, no: Number) -> Number:
    """`select` of each limb."""
    if isinstance(yes, WideComplex):
        return WideComplex(wide.choose(predicate, yes.re, no.re), wide.choose(predicate, yes.im, no.im))
    return wide.choose(predicate, yes, no)
