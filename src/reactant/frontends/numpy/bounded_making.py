"""Arrays of run-time size made of others: conversions and common extents."""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.frontends.numpy.bounded import Bounded, is_partial
from reactant.frontends.numpy.bounded_functions import common_extents, framed, on_bounded
from reactant.frontends.numpy.tensor import wrap


@on_bounded(np.asarray, np.asanyarray, np.ascontiguousarray)
def asarray(a: Any, dtype: Any = None, order: object = None, *, device: object = None, copy: bool | None = None) -> Any:
    kind = a.dtype if dtype is None else np.dtype(dtype)
    return a.astype(kind) if copy or kind != a.dtype else a


@on_bounded(np.array)
def array(a: Any, dtype: Any = None, *, copy: bool | None = True, order: object = "K", subok: bool = False) -> Any:
    return asarray(a, dtype, copy=copy)


@on_bounded(np.broadcast_arrays)
def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple:
    parts = [x if is_partial(x) else wrap(x) for x in arrays]
    extents, shape = common_extents(parts, max(p.ndim for p in parts))
    frames = np.broadcast_arrays(*(framed(p, extents, shape) for p in parts))
    return tuple([Bounded(frame, extents) for frame in frames])


@on_bounded(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*(x.frame if is_partial(x) else x for x in arrays_and_dtypes))
