"""Functions about dtypes and kinds of arrays, conversions to scalars, and other small ones."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.creation import array_of, as_tensor, asarray, empty
from reactant.frontends.arrays.implements import has_tensors, implements
from reactant.frontends.arrays.promotion import result_type as promoted
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor, check_dtype, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast, weak_type
from reactant.frontends.control.iteration import EnumeratedItems
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import shape_of

# ---- dtypes ----------------------------------------------------------------------------------------------------

@implements(np.result_type)
def result_type(*arrays_and_dtypes: object) -> np.dtype:
    return promoted(tuple(weak_type(x) if is_tensor(x) else _known_type(x) for x in arrays_and_dtypes))


def _known_type(x: object) -> object:
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return weak_type(x)
    return x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.dtype(x)


@implements(np.can_cast)
def can_cast(from_: object, to: object, casting: str = "safe") -> bool:
    return np.can_cast(from_.dtype if is_tensor(from_) else from_, to, casting)


@implements(np.common_type)
def common_type(*arrays: object) -> type:
    return np.common_type(*(np.empty(0, wrap(a).dtype) for a in arrays))


@implements(np.isfortran)
def isfortran(a: object) -> bool:
    return wrap(a).flags.fnc


@implements(np.may_share_memory)
def may_share_memory(a: object, b: object, /, max_work: object = None) -> bool:
    """Whether both are views of one array (NumPy compares the bounds of the memory, which may tell them apart)."""
    return is_tensor(a) and is_tensor(b) and a.storage is b.storage and a.kind == b.kind == ARRAY


# ---- conversions -----------------------------------------------------------------------------------------------

def _scalar_type(kind: type) -> None:
    """`np.float32(x)`: a scalar of that dtype, or an array where `x` is one."""
    @implements(kind, creation=True)
    def convert(*args: Any) -> Any:
        if not has_tensors(args):
            return kind(*args)
        check_dtype(np.dtype(kind))
        x = wrap(args[0])
        value = cast(x.value(), np.dtype(kind))
        return Tensor.of_value(value, ARRAY if shape_of(value) else SCALAR)
    convert.__name__ = kind.__name__


for _kind in {np.dtype(c).type for c in "?bhilqBHILQefdFD"}:
    _scalar_type(_kind)


@implements(np.astype)
def astype(x: Tensor, dtype: object, /, *, copy: bool = True, device: object = None) -> Tensor:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    return wrap(x).astype(dtype, copy=copy)


@implements(np.require, creation=True, aliases=True)
def require(a: object, dtype: object = None, requirements: Any = None, *, like: object = None) -> Tensor:
    wanted = {requirements} if isinstance(requirements, str) else set(requirements or ())
    wanted = {_REQUIREMENTS.get(str(r).upper()) for r in wanted}
    if None in wanted or {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order' if None not in wanted else "unknown requirement")
    made = asarray(as_tensor(a, dtype), order="C" if "C" in wanted else "F" if "F" in wanted else None)
    return made.copy() if "O" in wanted and made.steps else made


_REQUIREMENTS = {"C": "C", "CONTIGUOUS": "C", "C_CONTIGUOUS": "C", "F": "F", "FORTRAN": "F", "F_CONTIGUOUS": "F",
                 "A": "A", "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E",
                 "ENSUREARRAY": "E"}


@implements(np.asarray_chkfinite, creation=True, aliases=True)
def asarray_chkfinite(a: object, dtype: object = None, order: object = None) -> Tensor:
    made = as_tensor(a, dtype)
    if made.dtype.kind in "fc":
        finite = np.isfinite(made)
        if is_tensor(finite) and not finite.is_concrete():
            ok = ops.reduce(finite.value(), True, range(finite.ndim), "and")
            current_trace().check(ok, lambda: ValueError("array must not contain infs or NaNs"))
        elif not np.all(made.numpy() == made.numpy()) or np.any(np.isinf(made.numpy())):
            raise ValueError("array must not contain infs or NaNs")
    return asarray(made, order=order)


@implements(np.fromiter, creation=True)
def fromiter(iter: Iterable, dtype: object, count: int = -1, *, like: object = None) -> Any:  # noqa: A002
    """The items one after the other; how many there are is known while tracing."""
    items = list(iter)
    if count >= 0:
        if len(items) < count:
            raise ValueError("iterator too short")
        items = items[:count]
    if not has_tensors(items):
        return Tensor.of_array(np.fromiter(items, dtype))
    return array_of(items, dtype)


@implements(np.ndarray, creation=True)
def ndarray(shape: object, dtype: object = float, buffer: object = None, offset: int = 0, strides: object = None,
            order: str | None = None) -> Tensor:
    if buffer is not None or strides is not None or offset:
        raise UnsupportedError("np.ndarray over given memory is not supported in compiled code.", hint="Use slicing.",
                               code="memory-of-traced-array")
    return empty(shape, dtype, order)


@implements(np.ndenumerate, creation=True)
def ndenumerate(arr: object) -> Iterator[tuple[tuple[int, ...], Any]]:
    if not has_tensors(arr):
        return iter(np.ndenumerate(np.asarray(arr)))
    a = wrap(arr)
    return EnumeratedItems(a) if a.size else iter(())


