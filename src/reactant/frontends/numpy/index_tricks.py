"""`np.r_`, `np.c_`, `np.mgrid`, `np.ogrid`: arrays by indexing."""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import is_partial
from reactant.frontends.arrays.implements import has_tensors, made_here
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import weak_type

_JOINING = type(np.r_).__mro__[1]
_GRID = type(np.mgrid).__mro__[1]


def is_index_trick(container: object) -> bool:
    return isinstance(container, (_JOINING, _GRID))


def get(container: Any, key: Any) -> Any:
    """`container[key]`: an array that the code may write into."""
    parts = key if type(key) is tuple else (key,)
    if not has_tensors(parts, {}) and not _in_slices(key) and not any(map(is_partial, parts)):
        return made_here(container[key])
    return _grid(container, key) if isinstance(container, _GRID) else _joined(container, key)


def _in_slices(key: Any) -> bool:
    return any(is_tensor(b) for k in (key if type(key) is tuple else (key,)) if isinstance(k, slice)
               for b in (k.start, k.stop, k.step))


def _range(s: slice) -> Tensor:
    """The numbers a slice stands for: `start:stop:step`, or `start:stop:5j` for five of them with the end."""
    start = 0 if s.start is None else s.start
    if isinstance(s.step, complex):
        return wrap(np.linspace(start, s.stop, int(abs(s.step))))
    if any(is_tensor(b) and not b.is_concrete() for b in (start, s.stop, s.step)):
        raise UnsupportedError("A range between numbers known only at run time has a size known only at run time.",
                               hint="Give the number of points: start:stop:20j.", code="size-decided-at-run-time")
    return wrap(np.arange(*(b.numpy()[()] if is_tensor(b) else b for b in (start, s.stop, s.step or 1))))


def _joined(container: Any, key: Any) -> Any:
    """The parts with at least so many dimensions, one behind the other along an axis."""
    parts = key if type(key) is tuple else (key,)
    axis, least, place = container.axis, container.ndmin, container.trans1d
    if parts and isinstance(parts[0], str):
        try:
            numbers = [int(n) for n in parts[0].split(",")]
        except ValueError:
            raise UnsupportedError("np.r_['r'], np.r_['c'] make matrices, which cannot be compiled.",
                                   hint="Use np.c_ or np.stack.", code="array-subclass") from None
        numbers += (axis, least, place)[len(numbers):]
        axis, least, place = numbers
        parts = parts[1:]
    arrays, kinds = [], []
    for part in parts:
        if isinstance(part, slice):
            made = _range(part)
            kinds.append(made.dtype)
            rank = 1
        elif type(part) in (bool, int, float, complex):  # numbers of NumPy are not weak
            made, rank = wrap(part), 0
            kinds.append(type(part))
        else:
            made = part if is_partial(part) else wrap(part)
            kinds.append(made.dtype if is_partial(part) else weak_type(made))
            rank = made.ndim
        arrays.append(_raised(made, rank, max(least, 1), place if rank else -1))
    dtype = result_type(tuple(kinds))
    return np.concatenate([a.astype(dtype) for a in arrays], axis=axis)


def _raised(x: Tensor, rank: int, least: int, place: int) -> Tensor:
    """`x` with ones before its dimensions, or, for `place`, its own dimensions from there."""
    new = least - rank
    if new <= 0:
        return x
    wide = x[(None,) * new]
    if place == -1:
        return wide
    first = place if place >= 0 else place + new + 1
    order = list(range(least))
    return np.transpose(wide, order[:first] + order[new:] + order[first:new])


def _grid(container: Any, key: Any) -> Any:
    slices = key if type(key) is tuple else (key,)
    if not all(isinstance(s, slice) for s in slices):
        raise TypeError("a grid is made of slices")
    axes = [_range(s) for s in slices]
    if type(key) is not tuple:
        return axes[0]
    dtype = result_type(tuple(a.dtype for a in axes))
    found = np.meshgrid(*(a.astype(dtype) for a in axes), indexing="ij", sparse=container.sparse)
    return tuple(found) if container.sparse else np.stack(found)
