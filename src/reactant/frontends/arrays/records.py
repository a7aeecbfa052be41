"""Structured arrays in compiled code: an array for each field, indexed together.

An argument `p` of dtype `[("x", "f4"), ("id", "i4")]` is traced as its fields, so that each is computed with,
differentiated and written on its own: `p["x"] += 1`, `p[3]["id"]`, `p[:5] = q[:5]`. Kernels get the memory that they
make up together (`kernels.records`). What is returned is a structured NumPy array again.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.sized import Sized
from reactant.frontends.arrays.tensor import is_tensor

HINT = "Use its fields, which are arrays: p[\"x\"]."


class Records(Sized):
    """A structured array, or a part of one; an element where `shape` is ().

    fields: of a whole one the arrays by name, whose shapes begin with `shape`. part: of what else, and by which index.
    place: which part it is, as a view of memory that nobody reads, for kernels; None where that is not known.
    """

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], fields: dict[str, Any] | None = None,
                 part: tuple[Records, Any] | None = None):
        self.dtype, self.shape, self._fields, self.part = dtype, shape, fields, part
        self.place: np.ndarray | None = None
        if part is None:
            self.place = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, _strides(shape, dtype.itemsize))
        elif part[0].place is not None and not any(map(is_tensor, _entries(part[1]))):
            self.place = part[0].place[part[1] if shape else (*_entries(part[1]), ...)]

    @property
    def whole(self) -> Records:
        """What it is a part of."""
        return self if self.part is None else self.part[0].whole

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Records]:
        return (self[k] for k in range(len(self)))

    def field(self, name: str) -> Any:
        """The array of a field: a view, of an element a number."""
        if name not in (self.dtype.names or ()):
            raise ValueError(f"no field of name {name}")
        if self._fields is not None:
            return self._fields[name]
        assert self.part is not None
        return self.part[0].field(name)[self.part[1]]

    def fields(self) -> dict[str, Any]:
        """All of them."""
        return {name: self.field(name) for name in self.dtype.names or ()}

    def put(self, name: str, key: Any, value: Any) -> None:
        """`p[name][key] = value`."""
        if self.part is not None and not self.shape:
            self.part[0].put(name, (*_entries(self.part[1]), *(() if key is ... else _entries(key))), value)
        else:
            self.field(name)[key] = value

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.field(key)
        if isinstance(key, list) and key and all(isinstance(k, str) for k in key):
            raise UnsupportedError("Several fields of a structured array at once cannot be compiled.", hint=HINT,
                                   code="structured-array")
        entries = _entries(key)
        if any(e is None for e in entries):
            raise UnsupportedError("New dimensions of a structured array cannot be compiled.", hint=HINT,
                                   code="structured-array")
        entries = self._spread(entries)
        if all(isinstance(e, (int, np.integer, slice)) and not isinstance(e, bool) for e in entries):
            somewhere = tuple(0 if is_tensor(e) else e for e in entries)       # known when the program runs
            shape = np.lib.stride_tricks.as_strided(np.empty(1, "i1"), self.shape, (0,) * self.ndim)[somewhere].shape
            return Records(self.dtype, shape, part=(self, entries))
        copies = {name: array[entries] for name, array in self.fields().items()}
        return _of(self.dtype, copies)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            self.put(key, ..., value)
            return
        entries = self._spread(_entries(key))
        names = self.dtype.names or ()
        if isinstance(value, tuple) and len(value) == len(names):
            parts = dict(zip(names, value, strict=True))
        elif isinstance(value, (Records, np.ndarray, np.void)) and value.dtype.names is not None \
                and len(value.dtype.names) == len(names):
            parts = {name: value[other] for name, other in zip(names, value.dtype.names, strict=True)}
        else:
            parts = dict.fromkeys(names, value)
        for name in names:
            self.put(name, entries or ..., parts[name])

    def _spread(self, entries: tuple) -> tuple:
        """Index entries without an ellipsis, which would reach into the dimensions of fields."""
        if not any(e is Ellipsis for e in entries):
            return entries
        place = next(k for k, e in enumerate(entries) if e is Ellipsis)
        missing = (slice(None),) * (self.ndim - len(entries) + 1)
        return (*entries[:place], *missing, *entries[place + 1:])

    def copy(self, order: str = "C") -> Records:
        """New memory with the same content."""
        return _of(self.dtype, {name: _copied(array) for name, array in self.fields().items()}, self.shape)

    def __copy__(self) -> Records:
        return self.copy()

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        simple = {np.copy: lambda p: p.copy(), np.shape: lambda p: p.shape, np.ndim: lambda p: p.ndim,
                  np.size: lambda p: p.size, np.zeros_like: lambda p: _like(p, np.zeros_like),
                  np.empty_like: lambda p: _like(p, np.zeros_like)}
        if function in simple and len(args) == 1 and not kwargs:
            return simple[function](args[0])
        raise UnsupportedError(f"np.{getattr(function, '__name__', 'this')} of a structured array cannot be "
                               "compiled.", hint=HINT, code="structured-array")

    def __array_ufunc__(self, ufunc: np.ufunc, *_: Any, **__: Any) -> Any:
        raise UnsupportedError(f"np.{ufunc.__name__} of a structured array cannot be compiled.", hint=HINT,
                               code="structured-array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        raise UnsupportedError(f"'{name}' of a structured array cannot be compiled.", hint=HINT,
                               code="structured-array")

    def __repr__(self) -> str:
        return f"<traced structured array {self.dtype}{list(self.shape)}>"


def _entries(key: Any) -> tuple:
    return key if isinstance(key, tuple) else (key,)


def _strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * math.prod(max(n, 1) for n in shape[k + 1:]) for k in range(len(shape)))


def _copied(array: Any) -> Any:
    return array.copy() if isinstance(array, Records) or is_tensor(array) and array.shape else array


def _of(dtype: np.dtype, fields: dict[str, Any], shape: tuple[int, ...] | None = None) -> Records:
    """A whole structured array of arrays for its fields."""
    if shape is None:
        name = next(iter(fields))
        own = dtype[name].shape
        shape = tuple(fields[name].shape)
        shape = shape[:len(shape) - len(own)] if own else shape
    return Records(dtype, shape, fields)


def _like(p: Records, make: Any) -> Records:
    return _of(p.dtype, {n: _like(a, make) if isinstance(a, Records) else make(a) for n, a in p.fields().items()},
               p.shape)


# ---- as a tree of its fields -----------------------------------------------------------------------------------

def _flatten(p: Records) -> tuple[tuple, tuple]:
    return tuple(p.fields().values()), (p.dtype, p.shape)


def _unflatten(kind: tuple, fields: Any) -> Any:
    """NumPy's array where the fields are NumPy's."""
    dtype, shape = kind
    fields = tuple(fields)
    if fields and all(isinstance(f, (np.ndarray, np.generic)) and not is_tensor(f) for f in fields):
        made = np.zeros(shape, dtype)
        for name, field in zip(dtype.names, fields, strict=True):
            made[name] = field
        return made if shape else made[()]
    return Records(dtype, shape, dict(zip(dtype.names, fields, strict=True)))


jax.tree_util.register_pytree_node(Records, _flatten, _unflatten)

