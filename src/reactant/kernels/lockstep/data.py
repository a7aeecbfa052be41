"""What the values of a kernel are, for all lanes at once: axes and domains, integers as forms, conditions, tensors.

A *form* is constant + sum of coefficient * atom, over the lanes of the launch. An atom is an axis of the lane grid, a
floor division, a choice, or a run-time number. *Lanes* are a tensor with one dimension for each axis
that a value depends on. They refer to one another: what can be asked of them is in `forms`, `conditions`, `lanes`.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.ir.types import dtype_of
from reactant.support.records import dataclass

Range: TypeAlias = "tuple[int, int] | None"
"""Least and greatest value, both included; None where nothing is known."""


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension of the lane grid (or of a loop run for all its iterations at once). `radix` is what one step along it
    adds to the thread's global index in grid dimension `dimension`; loops have dimension -1."""

    name: str
    extent: int
    order: tuple[int, ...]
    dimension: int = -1
    radix: int = 1

    def __repr__(self) -> str:
        return f"{self.name}<{self.extent}"


@dataclass(frozen=True)
class Span:
    """Places low, low + step, ... of an axis: `count` of them."""

    low: int
    count: int
    step: int = 1

    @property
    def last(self) -> int:
        return self.low + (self.count - 1) * self.step

    def places(self) -> np.ndarray:
        return self.low + self.step * np.arange(self.count, dtype=np.int64)


Domain: TypeAlias = Mapping[Axis, Span]


class Condition:
    """A truth value for every lane."""

    @property
    def known(self) -> bool | None:
        """The truth, where it is the same for all lanes and known now."""
        return None

    @property
    def size(self) -> int:
        """Like a form's."""
        return 1 + sum(form.size for form in self.forms())

    def axes(self) -> set[Axis]:
        raise NotImplementedError

    def is_static(self) -> bool:
        """Whether the compiler knows it for each lane."""
        raise NotImplementedError

    def forms(self) -> list[Form]:
        raise NotImplementedError

    def facts(self) -> tuple[Form, ...]:
        """Forms that are not negative where it holds."""
        return ()

    def at_domain(self, domain: Domain) -> Condition:
        """The same, as far as the domain decides it."""
        raise NotImplementedError

    def evaluated(self, places: Mapping[Axis, np.ndarray]) -> np.ndarray:
        raise NotImplementedError

    def negated(self) -> Condition:
        raise NotImplementedError


@dataclass(frozen=True)
class Division:
    """floor(form / divisor)."""

    form: Form
    divisor: int


@dataclass(frozen=True)
class Choice:
    """`chosen` where the condition holds, else `other`; `bounds` when more is known than their union."""

    condition: Condition
    chosen: Form
    other: Form
    bounds: Range = None


@dataclass(frozen=True, eq=False)
class Run:
    """A run-time number, the same for all lanes or one a lane."""

    lanes: Lanes
    bounds: Range = None


Atom: TypeAlias = Axis | Division | Choice | Run


@dataclass(frozen=True, eq=False)
class Form:
    """constant + sum of coefficient * atom; `terms` in the order in which they came, without zeros."""

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = field(default=())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.constant == other.constant and (
            self.terms == other.terms or set(self.terms) == set(other.terms))

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms)))

    def __add__(self, other: Form) -> Form:
        return combined(self, other, 1)

    def __sub__(self, other: Form) -> Form:
        return combined(self, other, -1)

    def times(self, factor: int) -> Form:
        return Form(self.constant * factor, tuple((a, c * factor) for a, c in self.terms)) if factor else Form(0)

    def plus(self, number: int) -> Form:
        return Form(self.constant + number, self.terms)

    @property
    def known(self) -> int | None:
        """The number, where the form is one."""
        return None if self.terms else self.constant

    @cached_property
    def size(self) -> int:
        """Atoms in it, those inside of atoms too: what looking at all of it costs."""
        return 1 + sum(_size_of_atom(atom) for atom, _ in self.terms)

    def coefficient(self, atom: Atom) -> int:
        return next((c for a, c in self.terms if a == atom), 0)


def _size_of_atom(atom: Atom) -> int:
    if isinstance(atom, Division):
        return 1 + atom.form.size
    if isinstance(atom, Choice):
        return 1 + atom.condition.size + atom.chosen.size + atom.other.size
    return 1


def of_atom(atom: Atom) -> Form:
    return Form(0, ((atom, 1),))


def combined(x: Form, y: Form, factor: int) -> Form:
    """x + factor * y. A sum goes on where the longer of two ended: that is computed once for all that go on from it."""
    if factor == 1 and len(x.terms) < len(y.terms):
        x, y = y, x
    if not y.terms:
        return Form(x.constant + factor * y.constant, x.terms)
    coefficients: dict[Atom, int] = dict(x.terms)
    for atom, c in y.terms:
        coefficients[atom] = coefficients.get(atom, 0) + factor * c
    return Form(x.constant + factor * y.constant, tuple((a, c) for a, c in coefficients.items() if c))


# ---- tensors -------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class View:
    """A part of a tensor: `value` seen in `shape`; for each dimension (start, stride, count) and the axes along it."""

    value: ir.Value
    shape: tuple[int, ...]
    bounds: tuple[tuple[int, int, int], ...]
    labels: tuple[tuple[Axis, ...], ...]


@dataclass(frozen=True)
class Shuffled:
    """Lanes exchanged over a power of two: `mode` "down" or "xor", among `axes` (all lanes of a warp). `given` is the
    value that was exchanged, `source` the same where it was, `form` what it was as an integer."""

    given: Lanes
    source: Lanes
    mode: str
    by: int
    axes: tuple[Axis, ...]
    form: Form | None = None


@dataclass(frozen=True)
class Tree:
    """Lanes that have gathered, with `kind`, from others at all distances in `reached`."""

    source: Lanes
    kind: str
    mode: str
    reached: frozenset[int]
    axes: tuple[Axis, ...]

    def complete(self) -> bool:
        lanes = 1
        for a in self.axes:
            lanes *= a.extent
        return self.reached == {1 << k for k in range(lanes.bit_length() - 1)}


class Array(Protocol):
    """Memory that lanes were loaded from (`memory.Memory`)."""

    @property
    def value(self) -> ir.Value: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


class Taken:
    """A read of a staging tile, which can be done again for other lanes (`tiles`)."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Lanes are what `memory` held (as `value`) at `forms`, one for each dimension of `shape` (`flat` as one).
    `natural`: it was read in the memory's own shape, zero beyond its ends; `zeroed`: that these are zeros matters.
    They are `fill` where a condition of `guard` does not hold."""

    memory: Array
    value: ir.Value
    forms: tuple[Form, ...]
    shape: tuple[int, ...]
    flat: Form
    natural: bool = True
    zeroed: bool = False
    guard: tuple[Condition, ...] = ()
    fill: np.ndarray | None = None

    @property
    def whole(self) -> bool:
        """Whether reading the array at `forms` gives the lanes."""
        return self.zeroed or not self.guard


@dataclass(frozen=True, eq=False)
class Lanes:
    """`value` over `spans` of `axes`. `product`: the factors it is the product of, for contractions; `summands`: the
    products it is the sum of. `zero_unless`:
    where one of these forms is negative the value is zero (reads beyond an array). `view`: what of shared memory it is.
    `shuffled`: it is those lanes, exchanged. `tree`: where its axes are at their first place, it is a reduction.
    `origin`: where it was loaded. `parts`: of what, in which domains, it was put together. `taken`: of
    what staging tile it was read."""

    value: ir.Value
    axes: tuple[Axis, ...] = ()
    spans: tuple[Span, ...] = ()
    product: tuple[Lanes, Lanes] | None = None
    zero_unless: tuple[Form, ...] = ()
    view: View | None = None
    shuffled: Shuffled | None = None
    tree: Tree | None = None
    origin: Origin | None = None
    parts: tuple[tuple[Domain, Lanes], ...] = ()
    taken: Taken | None = None
    summands: tuple[Lanes, ...] = ()

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.value)

    @property
    def domain(self) -> dict[Axis, Span]:
        """Its axes with their spans."""
        return dict(zip(self.axes, self.spans, strict=True))
