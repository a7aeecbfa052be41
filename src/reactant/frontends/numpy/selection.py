"""Choosing elements: where, take, put, select, choose, piecewise, putmask and relatives."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConstantWriteError
from reactant.frontends.arrays import advanced, layouts, memory_order, value_facts
from reactant.frontends.arrays.creation import as_tensor
from reactant.frontends.arrays.dynamic.bounded import Bounded, Mask
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.indexing import list_as_array, store
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import as_value, cast, result_strides, weak_type
from reactant.frontends.session.calls import following
from reactant.frontends.session.trace import current_trace
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of

_CASTS_OUT = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def finish(result: Any, out: Any) -> Any:
    """The result, stored into `out` when there is one."""
    if out is None:
        return result
    out = out[0] if isinstance(out, tuple) else out
    if not is_tensor(out):
        raise ConstantWriteError("the array given as out=")
    if out.shape != result.shape:
        raise ValueError(f"output array does not match result of shape {result.shape}")
    store(out, result)
    return out


def finish_taken(result: Any, out: Any) -> Any:
    """As `finish`, for `take` and `compress`, which before NumPy 2.5 cast `out` to the result's dtype first."""
    target = out[0] if isinstance(out, tuple) else out
    if is_tensor(target) and _CASTS_OUT and not np.can_cast(target.dtype, result.dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {target.dtype!r} to {result.dtype!r} according to the rule "
                        f"'safe'")
    return finish(result, out)


def written(a: object, name: str) -> Tensor:
    """The array a function writes into; arrays from outside are constants."""
    if is_tensor(a):
        a.require_writeable()
        return a
    if isinstance(a, np.ndarray):
        raise ConstantWriteError(f"the array given to {name}")
    raise TypeError(f"{name}: argument 1 must be numpy.ndarray, not {type(a).__name__}")


# ---- where -----------------------------------------------------------------------------------------------------

@implements(np.where)
def where(condition: object, x: object = None, y: object = None) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return chosen_between(condition, x, y)


def chosen_between(condition: object, x: object, y: object) -> Tensor:
    """Elements of `x` where `condition`, else of `y`; always an array, as `np.where` gives."""
    operands = [p if isinstance(p, (bool, int, float, complex)) and not is_tensor(p) else wrap(p) for p in (x, y)]
    mask = wrap(condition)
    dtype = result_type(tuple(weak_type(p) for p in operands))
    shape = layouts.broadcast_shapes(mask.shape, *(getattr(p, "shape", ()) for p in operands))
    left, right = (layouts.broadcast(as_value(p, dtype), shape) for p in operands)
    test = cast(mask.value(), bool)
    test = test if not mask.shape else layouts.broadcast(test, shape)
    strides = result_strides([mask, *operands], shape)
    return Tensor.of_value(ops.select(test, left, right), strides=strides)


@implements(np.nonzero)
def nonzero(a: object) -> tuple[Bounded, ...]:
    """Positions where `a` is true: index arrays whose size is known at run time."""
    a = wrap(a)
    if not a.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    extent = Mask(ops.reshape(cast(a.value(), bool), (a.size,)))
    return tuple(Bounded(Tensor.of_value(ops.reshape(ops.iota(a.shape, np.int64, d), (a.size,))), [extent])
                 for d in range(a.ndim))


def places_in(frame: ir.Value, rank: int) -> tuple[tuple[int, ...], int | None] | None:
    """(shape, dimension) where an array of so many dimensions holds the index along one dimension for every element of
    a shape, or (shape, None) where its rows hold all of them; None for other arrays."""
    if rank == 1:
        return _counted(frame)
    owner = frame.owner
    joined = not isinstance(owner, ir.Block) and owner.name == "stablehlo.concatenate"
    if rank != 2 or joined and attr.decode(owner.attributes["dimension"]) != 1:
        return None
    columns = [_counted(v) for v in (owner.operands if joined else [frame])]
    shapes = {found[0] for found in columns if found is not None}
    whole = len(shapes) == 1 and shape_of(frame)[1] == len(columns) == len(*shapes) \
        and all(found is not None and found[1] == d for d, found in enumerate(columns))
    return (shapes.pop(), None) if whole else None


def _counted(value: ir.Value) -> tuple[tuple[int, ...], int] | None:
    """The shape and dimension of int64 indices, which may have been given another shape."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.reshape":
        value = value.owner.operands[0]
    if isinstance(value.owner, ir.Block) or value.owner.name != "stablehlo.iota" or dtype_of(value) != np.int64:
        return None
    return tuple(shape_of(value)), attr.decode(value.owner.attributes["iota_dimension"])


@implements(np.flatnonzero)
def flatnonzero(a: object) -> Bounded:
    return nonzero(np.ravel(wrap(a)))[0]


@implements(np.argwhere)
def argwhere(a: object) -> Bounded:
    a = wrap(a)
    columns = nonzero(a if a.ndim else np.reshape(a, (1,)))
    rows = np.stack([c.frame for c in columns], axis=1)
    return Bounded(rows if a.ndim else rows[:, :0], [columns[0].extents[0], None])


@implements(np.extract)
def extract(condition: object, arr: object) -> Any:
    return np.compress(np.ravel(wrap(condition)).astype(bool), np.ravel(wrap(arr)))


@implements(np.compress)
def compress(condition: object, a: Any, axis: int | None = None, out: object = None) -> Any:
    a, mask = wrap(a), wrap(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_in(axis, a.ndim)
    n = a.shape[axis]
    lead = (slice(None),) * axis
    test = mask.astype(bool)
    known = test.numpy() if test.is_concrete() else test
    if mask.size > n:
        _require_none(known[n:], IndexError(f"index {n} is out of bounds for axis {axis} with size {n}"))
        known = known[:n]
    return finish_taken(a[(*lead, slice(0, mask.size))][(*lead, known)], out)


def _require_none(mask: Any, error: Exception) -> None:
    """Nothing is selected there."""
    if not is_tensor(mask):
        if mask.any():
            raise error
        return
    current_trace().check(ops.not_(np.any(mask).value()), lambda: type(error)(*error.args))


# ---- take and put ----------------------------------------------------------------------------------------------

def moded(indices: object, extent: int, mode: str) -> Any:
    """Indices made valid by wrapping or clipping; "raise" leaves them to the bounds check."""
    index = as_tensor(indices)
    if index.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule 'safe'")
    index = index.astype(np.int64) if index.dtype.kind == "b" else index
    if mode == "raise":
        return index
    if mode not in ("wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    if extent == 0 and index.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    wide = index.astype(np.int64)
    return wide % extent if mode == "wrap" else Tensor.of_value(ops.clamp(0, wide.value(), extent - 1), wide.kind)


@implements(np.take, creation=True)
def take(a: Any, indices: object, axis: int | None = None, out: object = None, mode: str = "raise") -> Any:
    a = wrap(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_in(axis, a.ndim)
    indices = list_as_array(indices)
    if not isinstance(indices, np.ndarray):        # also arrays of run-time size keep their own way
        indices = as_tensor(indices)
    index = indices if getattr(type(indices), "partial", False) else moded(indices, a.shape[axis], mode)
    if is_tensor(index) and not index.shape:
        # a scalar index drops the dimension; go through a length-one array so that the result is a copy
        found = advanced.get(a, [*[slice(None)] * axis, np.reshape(index, (1,)), *[slice(None)] * (a.ndim - axis - 1)])
        found = np.squeeze(found, axis=axis).copy()
        return finish_taken(found if found.ndim else found[()], out)
    if is_tensor(index) and index.is_concrete():
        index = index.numpy()
    return finish_taken(a[(*(slice(None),) * axis, index)], out)


@implements(np.put, aliases=True)
def put(a: object, ind: object, v: object, mode: str = "raise") -> None:
    a = written(a, "put")
    index = np.ravel(moded(ind, a.size, mode))
    values = np.ravel(wrap(v))
    if not index.size or not values.size:
        return
    a.flat[index] = np.resize(values, index.shape) if values.size != index.size else values


def _along(arr: Tensor, indices: Tensor, axis: int) -> tuple:
    """The key of `take_along_axis`: positions along `axis`, counting indices along the others."""
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    counting = [np.arange(n).reshape([-1 if k == d else 1 for k in range(arr.ndim)]) for d, n in enumerate(arr.shape)]
    known = indices.numpy() if indices.is_concrete() else indices
    return tuple(known if d == axis else counting[d] for d in range(arr.ndim))


@implements(np.take_along_axis)
def take_along_axis(arr: object, indices: object, axis: int | None = -1) -> Tensor:
    a, index = wrap(arr), wrap(indices)
    if axis is None:
        a, axis = np.ravel(a), 0
    return a[_along(a, index, axis_in(axis, a.ndim))]


@implements(np.put_along_axis, aliases=True)
def put_along_axis(arr: object, indices: object, values: object, axis: int | None) -> None:
    a, index = written(arr, "put_along_axis"), wrap(indices)
    if axis is None:
        if not a.flags.c_contiguous:
            raise ValueError("assignment destination is read-only")      # NumPy: a copy of arr.flat
        a, axis = np.ravel(a), 0
    a[_along(a, index, axis_in(axis, a.ndim))] = values


# ---- masks -----------------------------------------------------------------------------------------------------

@implements(np.putmask, aliases=True)
def putmask(a: object, /, mask: object, values: object) -> None:
    """a.flat[i] = values[i % len(values)] where mask.flat[i]."""
    a, test, source = written(a, "putmask"), wrap(mask), np.ravel(wrap(values))
    if test.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if not a.size or not source.size:
        return
    full = np.reshape(source if source.size == a.size else np.resize(source, (a.size,)), a.shape)
    new = ops.select(cast(np.reshape(test, a.shape).value(), bool), cast(full.value(), a.dtype), a.value())
    a.assign(new)


@implements(np.place, aliases=True)
def place(arr: object, mask: object, vals: object) -> None:
    """The j-th element where `mask` is true becomes vals[j % len(vals)]."""
    a, test, source = written(arr, "place"), wrap(mask), np.ravel(wrap(vals))
    if test.size != a.size:
        raise ValueError("place: mask and data must be the same size")
    if not source.size:
        if not a.size:
            return
        raise ValueError("Cannot insert from an empty array!")
    if not a.size:
        return
    flags = np.ravel(test).astype(bool)
    ranks = np.add.accumulate(flags.astype(np.int64)) - 1
    found = source[np.clip(ranks, 0, None) % source.size if source.size > 1 else np.zeros(a.size, np.intp)]
    new = ops.select(np.reshape(flags, a.shape).value(), cast(np.reshape(found, a.shape).value(), a.dtype), a.value())
    a.assign(new)


@implements(np.copyto, aliases=True)
def copyto(dst: object, src: object, casting: str = "same_kind", where: object = True) -> None:
    a = written(dst, "copyto")
    plain = isinstance(src, (bool, int, float, complex)) and not is_tensor(src) and not isinstance(src, np.generic)
    source = src if plain else wrap(src)
    if plain:
        np.copyto(np.empty((), a.dtype), source, casting=casting)       # raises as NumPy does
    elif not np.can_cast(source.dtype, a.dtype, casting):
        raise TypeError(f"Cannot cast array data from {source.dtype!r} to {a.dtype!r} according to the rule "
                        f"'{casting}'")
    shape = () if plain else source.shape
    if not layouts.broadcasts_to(shape, a.shape):
        raise ValueError(f"could not broadcast input array from shape {layouts.shape_text(shape)} into shape "
                         f"{layouts.shape_text(a.shape)}")
    new = layouts.broadcast(as_value(source, a.dtype), a.shape)
    if where is not True:
        mask = wrap(where)
        if not layouts.broadcasts_to(mask.shape, a.shape):
            raise ValueError(f"could not broadcast where mask from shape {layouts.shape_text(mask.shape)} into shape "
                             f"{layouts.shape_text(a.shape)}")
        new = ops.select(layouts.broadcast(cast(mask.value(), bool), a.shape), new, a.value())
    a.assign(new)


# ---- choices ---------------------------------------------------------------------------------------------------

def _parts(sequence: object) -> list[Tensor]:
    return list(wrap(sequence)) if is_tensor(sequence) or isinstance(sequence, np.ndarray) \
        else [wrap(s) for s in sequence]


@implements(np.choose)
def choose(a: object, choices: object, out: object = None, mode: str = "raise") -> Tensor:
    """choices[a[i]][i], broadcast."""
    parts, index = _parts(choices), moded(a, len(_parts(choices)), mode)
    dtype = result_type(tuple(weak_type(p) for p in parts))
    shape = np.broadcast_shapes(index.shape, *(p.shape for p in parts))
    position = require_between(index, len(parts), "invalid entry in choice array") if mode == "raise" else index.value()
    where_ = layouts.broadcast(position, shape)
    result = layouts.broadcast(cast(parts[-1].value(), dtype), shape)
    for number in range(len(parts) - 2, -1, -1):
        part = layouts.broadcast(cast(parts[number].value(), dtype), shape)
        result = ops.select(ops.compare(where_, number, "EQ"), part, result)
    return finish(Tensor.of_value(result, "array" if shape else SCALAR), out)


@implements(np.select)
def select(condlist: Sequence, choicelist: Sequence, default: object = 0) -> Tensor:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    tests = _parts(condlist)
    for number, test in enumerate(tests):
        if test.dtype.kind != "b":
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    weak = [p if isinstance(p, (int, float, complex)) and not is_tensor(p) else wrap(p)
            for p in (*choicelist, default)]
    dtype = result_type(tuple(weak_type(p) for p in weak))
    parts = [wrap(p) for p in weak]
    shape = np.broadcast_shapes(*(p.shape for p in (*tests, *parts[:-1])))
    result = layouts.broadcast(cast(parts[-1].value(), dtype), shape)
    for test, part in zip(reversed(tests), reversed(parts[:-1]), strict=True):
        values = layouts.broadcast(cast(part.value(), dtype), shape)
        result = ops.select(layouts.broadcast(test.value(), shape), values, result)
    return Tensor.of_value(result)


@implements(np.piecewise)
def piecewise(x: object, condlist: Any, funclist: Sequence, *args: object, **kw: object) -> Tensor:
    """Functions get exactly the elements that meet their condition, an array of run-time size."""
    x = as_tensor(x)
    single = not np.ndim(condlist) if is_tensor(condlist) or not isinstance(condlist, (list, tuple)) else False
    single = single or (x.ndim != 0 and not isinstance(condlist[0], (list, np.ndarray)))
    tests = [as_tensor(c).astype(bool) for c in ([condlist] if single else condlist)]
    if len(tests) == len(funclist) - 1:
        tests.append(~reduce(np.logical_or, tests))
    if len(tests) != len(funclist):
        raise ValueError(f"with {len(tests)} condition(s), either {len(tests)} or {len(tests) + 1} functions are "
                         "expected")
    y = np.zeros_like(x)
    for test, function in zip(tests, funclist, strict=True):
        _fill_piece(y, x, test, following(function), args, kw)
    return y


def _fill_piece(y: Tensor, x: Tensor, test: Tensor, function: Callable | object, args: tuple, kw: dict) -> None:
    if not callable(function):
        y[test] = function
    elif not x.ndim:
        y[...] = chosen_between(test, function(x, *args, **kw), y)
    else:
        known = test.numpy() if test.is_concrete() else test
        y[known] = function(x[known], *args, **kw)


# ---- searching by position -------------------------------------------------------------------------------------

@implements(np.unravel_index)
def unravel_index(indices: object, shape: object, order: object = "C") -> tuple[Tensor, ...]:
    index, order = as_tensor(indices), memory_order.letter(order, permitted=memory_order.NEW)
    kind = wrap(indices).kind
    extents = [int(n) for n in np.atleast_1d(shape)]
    total = int(np.prod(extents))
    if index.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    value = require_between(index, total, f"index is out of bounds for array with size {total}")
    found, rest = [], value
    for n in (reversed(extents) if order == "C" else extents):
        found.append(Tensor.of_value(ops.remainder(rest, max(n, 1)), kind if kind == SCALAR else "array"))
        rest = ops.divide(rest, max(n, 1))
    return tuple(reversed(found) if order == "C" else found)


def require_between(index: Tensor, total: int, text: str) -> Any:
    """The index as int64; ValueError (at run time, unless the bounds are known) outside 0..total-1."""
    value = ops.convert(index.value(), np.int64)
    low, high = index.interval or value_facts.bounds(value) or (-1, total)
    if 0 <= low and high < total:
        return value
    ok = ops.and_(ops.compare(value, 0, "GE"), ops.compare(value, total, "LT"))
    ok = ops.reduce(ok, True, range(index.ndim), "and") if index.ndim else ok
    current_trace().check(ok, lambda: ValueError(text))
    return value


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: object, dims: object, mode: Any = "raise", order: object = "C") -> Tensor:
    order = memory_order.letter(order, permitted=memory_order.NEW)
    parts, extents = _parts(multi_index), [int(n) for n in np.atleast_1d(dims)]
    if len(parts) != len(extents):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(extents)}")
    modes = [mode] * len(parts) if isinstance(mode, str) else list(mode)
    shape: Shape = np.broadcast_shapes(*(p.shape for p in parts))
    total, step = None, 1
    for n, part, how in list(zip(extents, parts, modes, strict=True))[::-1 if order == "C" else 1]:
        if part.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        value = require_between(part, n, "invalid entry in coordinates array") if how == "raise" \
            else moded(part, n, how).astype(np.int64).value()
        term = ops.multiply(layouts.broadcast(value, shape), step)
        total, step = term if total is None else ops.add(total, term), step * n
    return Tensor.of_value(total, "array" if shape else SCALAR)
