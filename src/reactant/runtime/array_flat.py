"""`x.flat` of a device array: its elements in row-major order, to read and to write, as `numpy.flatiter` gives them;
and `x.flags`."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np


class Whole(Protocol):
    """What this file asks of a device array."""

    _writeable: bool

    @property
    def size(self) -> int: ...

    @property
    def dtype(self) -> np.dtype: ...

    def ravel(self) -> Self: ...

    def copy(self) -> Self: ...

    def edit(self, change: Callable[[np.ndarray], Any]) -> None: ...

    def _shadow(self) -> tuple[np.ndarray, np.ndarray]: ...

    def __getitem__(self, index: Any) -> Any: ...


A = TypeVar("A", bound=Whole)


class Flat(Generic[A]):
    """The elements of `base` one after the other; what is assigned to them is written into it."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: A) -> None:
        self.base = base
        self._elements: Iterator[Any] = iter(np.asarray(base).flat)

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self.base).flat)

    def __next__(self) -> Any:
        return next(self._elements)

    def __getitem__(self, index: Any) -> Any:
        """An element, or a flat device array of several (a copy, as NumPy's)."""
        return self.base.ravel().copy()[index] if index is not Ellipsis else self.copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write the elements that `index` names; a shorter `value` is repeated, as NumPy does."""
        where = np.asarray(index) if hasattr(index, "__array__") else index
        self.base.edit(lambda whole: whole.flat.__setitem__(where, np.asarray(value)))

    def __eq__(self, other: object) -> Any:
        return self.copy() == other

    def __ne__(self, other: object) -> Any:
        return self.copy() != other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.base).reshape(-1).astype(dtype or self.base.dtype)

    def copy(self) -> A:
        """The elements as a flat array of their own."""
        return self.base.ravel().copy()


class Flags:
    """NumPy's flags of a device array, of which `writeable` can be set to False."""

    def __init__(self, array: Whole) -> None:
        object.__setattr__(self, "_array", array)

    def _now(self) -> np.flagsobj:
        shadow = self._array._shadow()[0]
        if not self._array._writeable:
            shadow.flags.writeable = False
        return shadow.flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)

    def __getitem__(self, name: str) -> Any:
        return self._now()[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "writeable":
            raise AttributeError(f"The flag '{name}' of a device array cannot be set.")
        if value and not self._array._writeable:
            raise ValueError("cannot set WRITEABLE flag to True of this array; copy it")
        self._array._writeable = bool(value)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name.lower(), value)

    def __repr__(self) -> str:
        return repr(self._now())
