"""Sizes of new arrays known only at run time: `np.zeros(len(found))`, `np.eye(k)`, `rng.random(k)`.

The frame of such an array is as large as it can become; a bound for that has to be known while tracing.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reactant.errors import ConcreteValueNeeded
from reactant.frontends.arrays import value_facts
from reactant.frontends.arrays.dynamic.bounded import Bounded, Extent, Range
from reactant.frontends.arrays.tensor import Tensor, is_tensor
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape
from reactant.support.records import dataclass

MOST_ELEMENTS = 2**24
"""What a new array may be known to have at most: all of them are made."""


@dataclass(frozen=True, eq=False)
class SizedShape:
    """The shape of a frame, and what part of it is meant."""

    frame: Shape
    extents: Sequence[Extent | None]

    def array(self, make: Callable[[Shape], Any]) -> Bounded:
        """What `make` makes of the shape of the frame, where it is meant; further dimensions are known."""
        made = make(self.frame)
        return Bounded(made, [*self.extents, *[None] * (made.ndim - len(self.frame))])


def of_run(size: object) -> bool:
    """Whether this integer is known only at run time."""
    return is_tensor(size) and not size.shape and size.dtype.kind in "iu" and not size.is_concrete() \
        and ops.constant_value(size.value()) is None


def sized(shape: object) -> SizedShape | None:
    """A shape with sizes known only at run time, else None."""
    sizes = shape if type(shape) in (tuple, list) else (shape,)
    if not any(map(of_run, sizes)):     # type: ignore[call-overload]
        return None
    parts = [_part(n) if of_run(n) else (n.__index__(), None) for n in sizes]   # type: ignore[attr-defined]
    frame, extents = zip(*parts, strict=True)
    if math.prod(frame) > MOST_ELEMENTS:
        raise ConcreteValueNeeded("The size of a new array", f"It may be as large as {' x '.join(map(str, frame))} "
                                  f"here, and compiled code makes at most {MOST_ELEMENTS} elements for it. " + _ADVICE)
    return SizedShape(frame, extents)


_ADVICE = ("Make the argument it is computed from static (static_argnames=...), or bound it by a known number, as "
           "min(n, 1000) does.")


def _part(size: Tensor) -> tuple[int, Range]:
    """How large a dimension can be, and how large it is."""
    limits = np.iinfo(size.dtype)
    found = size.interval or value_facts.bounds(size.value()) or (int(limits.min), int(limits.max))
    if found[1] > MOST_ELEMENTS:
        raise ConcreteValueNeeded("The size of a new array", _ADVICE)
    length, most = ops.reshape(ops.convert(size.value(), np.int64), ()), max(found[1], 0)
    if found[0] < 0:
        current_trace().check(ops.compare(length, 0, "GE"), lambda: ValueError("negative dimensions are not allowed"))
        length = ops.maximum(length, 0)
    return most, Range(0, length)
