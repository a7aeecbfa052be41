"""What one trace made: a module, and the recipe that says, for every leaf of what the function returned, what it is."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from reactant.calling.changes import Change
from reactant.support.records import dataclass

if TYPE_CHECKING:
    from reactant.frontends.arrays.view_steps import Step


@dataclass(frozen=True)
class Result:
    """A leaf that is result `index` of the program, seen through `steps`."""

    index: int
    kind: str | tuple[Any, ...]         # several objects: the one with the number that the program gives
    steps: tuple[Step, ...] = ()
    layout: tuple[int, ...] | None = None       # element strides of the array the steps start from, if not row-major


@dataclass(frozen=True)
class OfArgument:
    """A leaf that is (a view of) the caller's own array, leaf `number` of the arguments."""

    number: int
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Known:
    """A leaf whose content was known while tracing; arrays are copied at each call."""

    value: Any


@dataclass(frozen=True)
class Maybe:
    """A leaf that is None unless result `defined` of the program is true."""

    defined: int
    value: Any                          # tree like that of the whole result


@dataclass(frozen=True)
class Sized:
    """An array whose size is known only at run time: a part of `frame`. For each dimension: all of it (), from where to
    where, or a mask."""

    frame: Any                          # Result, OfArgument or Known
    parts: tuple[tuple[Any, ...], ...]  # of such

    def made(self, resolve: Callable[[Any], Any]) -> Any:
        """The array, where `resolve` finds results and arguments."""
        array = resolve(self.frame)
        for d, part in enumerate(self.parts):
            ends = [np.asarray(resolve(end)) for end in part]
            if ends:        # places are taken sooner than a mask
                key = np.flatnonzero(ends[0]) if len(ends) == 1 else slice(*map(int, ends))
                array = array[(slice(None),) * d + (key,)]
        return array


@dataclass(frozen=True)
class Places:
    """Where a mask is true, seen in a shape: indices along one dimension, or rows of all of them (None)."""

    mask: Result
    shape: tuple[int, ...]
    dimension: int | None

    def made(self, nonzero: tuple[np.ndarray, ...]) -> np.ndarray:
        """The array, of NumPy's `nonzero` of the mask in that shape."""
        return np.stack(nonzero, axis=1) if self.dimension is None else nonzero[self.dimension]


@dataclass(frozen=True)
class Rows:
    """A list whose length is known only at run time: so many `elements`, each a tuple or list of such, a value, or one
    of a result's."""

    count: Result
    element: Any

    def made(self, resolve: Callable[[Any], Any]) -> list:
        """The list, where `resolve` finds results."""
        return self._of(self.element, int(resolve(self.count)), resolve)

    def _of(self, element: Any, count: int, resolve: Callable[[Any], Any]) -> list:
        if type(element) is Result:
            column = np.asarray(resolve(Result(element.index, "array")))[:count]
            return column.tolist() if element.kind == "python" else list(column)
        if type(element) is Known:
            return [element.value] * count
        columns = [self._of(part, count, resolve) for part in element]
        rows = list(zip(*columns, strict=True)) if columns else [()] * count
        return rows if type(element) is tuple else list(map(list, rows))


@dataclass
class Traced:
    """What one trace made."""

    module: ir.Module
    result: Any                                              # tree of Result / OfArgument / Known / Maybe / sig.Same
    written: dict[int, int] = field(default_factory=dict)    # argument leaf -> result index of its new content
    updates: list[tuple[tuple, Change]] = field(default_factory=list)   # (path of container, what it holds then: trees)
    written_copies: set[int] = field(default_factory=set)    # argument leaves of which a copy has been written
    captured: list[np.ndarray] = field(default_factory=list)
    flags: int | None = None                                 # result index of the run-time checks
    errors: list[Callable[..., BaseException]] = field(default_factory=list)
    told: list[list[int]] = field(default_factory=list)      # result indices of what each of them tells at run time
    callbacks: tuple[Callable, ...] = ()                     # what calls of Python in the program run
    spoken: Any = None                                       # keeps what is said, where the program may run again
    untouched: frozenset[int] | None = frozenset()
    """Argument leaves of which the function saw no more than that they are there and what type they have; None where
    it asked for what no signature says."""
    unloaded: dict[int, frozenset[str]] = field(default_factory=dict)
    """Attributes that nobody has asked for, of the objects with these numbers (`signature.Rebuilder`)."""
    given: set[int] = field(default_factory=set)             # argument leaves that are delivered
    remarks: list[str] = field(default_factory=list)         # what `explain` tells of launches of kernels
    laid: tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]] | None = None
    """`ir.laid_out.Orders` of arguments and results of NumPy's that do not lie by rows, if there are any."""

    @property
    def writes_at_once(self) -> bool:
        """Whether arguments may be written before all results are there: nothing can fail, and nothing else that is
        read might be their memory."""
        return self.flags is None and not self.captured and self.spoken is None
