"""`ndarray.flags` of traced arrays."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import layouts, view_steps
from reactant.ir.types import Shape

_LETTERS = {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned",
            "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray"}


class Flags:
    """What `ndarray.flags` would say."""

    def __init__(self, tensor: Any):
        self._tensor = tensor
        self.c_contiguous = tensor.size <= 1 or _contiguous(tensor.shape, tensor.strides_)
        self.f_contiguous = tensor.size <= 1 or _contiguous(tensor.shape[::-1], tensor.strides_[::-1])
        self.contiguous = self.c_contiguous
        self.fnc = self.f_contiguous and not self.c_contiguous
        self.forc = self.f_contiguous or self.c_contiguous
        self.fortran, self.behaved, self.writebackifcopy = self.f_contiguous, tensor.writeable, False
        self.carray, self.farray = self.c_contiguous and tensor.writeable, not self.c_contiguous     # as NumPy has it
        self.owndata = not tensor.steps
        self.aligned = True

    @property
    def writeable(self) -> bool:
        return self._tensor.writeable

    @writeable.setter
    def writeable(self, write: bool) -> None:
        """NumPy hands out some views read-only (diagonals) that may be made writeable; broadcast ones may not."""
        tensor = self._tensor
        repeated = any(s == 0 and n > 1 for s, n in zip(tensor.strides_, tensor.shape, strict=True))
        if write and (repeated or not all(s.writable or isinstance(s, view_steps.DiagonalStep) for s in tensor.steps)):
            raise UnsupportedError("Making a broadcast or overlapping view writeable is not supported in compiled "
                                   "code.", hint="Write into a copy.", code="memory-of-traced-array")
        tensor.steps = tuple(replace(s, writable=True) if write and isinstance(s, view_steps.DiagonalStep) else s
                             for s in tensor.steps)
        tensor.writeable = bool(write)

    def __getitem__(self, name: str) -> bool:
        return getattr(self, _LETTERS.get(name, name).lower())

    def __setitem__(self, name: str, value: bool) -> None:
        if _LETTERS.get(name, name).lower() != "writeable":
            raise KeyError("Unknown flag")
        self.writeable = value


def _contiguous(shape: Shape, strides: Shape) -> bool:
    return all(n == 1 or s == c for n, s, c in zip(shape, strides, layouts.row_major_strides(shape), strict=True))
