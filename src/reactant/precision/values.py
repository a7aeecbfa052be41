"""What values of a converted program are: wide numbers, pairs of them, or what they were."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.precision.wide import Wide


class WideComplex:
    """A complex number of two wide ones."""

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


Value: TypeAlias = "Wide | WideComplex | ir.Value"


def flat(values: Sequence[Value]) -> list[ir.Value]:
    """All limbs of some values."""
    found: list[ir.Value] = []
    for value in values:
        found += [value] if isinstance(value, ir.Value) else value.limbs
    return found
