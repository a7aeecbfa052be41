"""`a[key]` and `a[key] = v`: NumPy's basic indexing as views; arrays and masks go to `advanced`.

Integers known only at run time are checked against the bounds at run time (IndexError after the call), unless their
known interval already proves them in range.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends.arrays import layouts, value_facts, view_steps
from reactant.frontends.arrays.implements import has_tensors
from reactant.frontends.arrays.nested import mapped
from reactant.frontends.arrays.promotion import python_type
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.tensor_methods import COMPARISONS
from reactant.frontends.arrays.ufuncs import as_value, stored
from reactant.frontends.session.dispatch import meaning, means
from reactant.frontends.session.recording import recording
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source import source_map
from reactant.ir import ops
from reactant.ir.types import Shape
from reactant.support.records import dataclass


@dataclass
class Basic:
    """A parsed basic index: per source dimension (start, count, step); starts may be run-time values."""

    starts: list[int | ir.Value] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    kept: list[int | None] = field(default_factory=list)   # result dimensions: a source dimension, or None for newaxis
    ellipsis: bool = False
    copies: bool = False                                   # 0-d integer arrays as index: NumPy copies

    def add(self, start: int | ir.Value, count: int, step: int, keep: bool) -> None:
        if keep:
            self.kept.append(len(self.starts))
        self.starts.append(start)
        self.counts.append(count)
        self.steps.append(step)


# ---- entry points ----------------------------------------------------------------------------------------------

@means("get_item")
def get(tensor: Tensor, key: object) -> Any:
    """`tensor[key]`."""
    with source_map.location():
        plain = _plain(key)
        if plain is not None:
            steps, strides, element = _known_steps(tensor.shape, tensor.strides_, plain)
            result = _through(tensor, steps, strides)
            return scalar(result) if element else result
        items = expand(tensor, key)
        if has_run_time_bounds(items):
            return meaning.get_by_run_time_bounds(tensor, items)
        if not is_basic(items):
            if tensor.ndim == 1 and (even := _evenly(tensor, items)) is not None:
                return view_of(tensor, parse(tensor, even)).copy()
            return meaning.get_by_arrays(tensor, items)
        basic = parse(tensor, items)
        result = view_of(tensor, basic)
        if not result.shape and not basic.ellipsis:
            return scalar(result)
        return result.copy() if basic.copies else result


def not_assignable(text: str) -> TypeError:
    """NumPy's error; where it is known only at run time whether it would come to that, one that says so."""
    if not recording():
        return TypeError(text)
    return ControlFlowError(f"{text}; whether this runs is decided at run time.", code="one-of-several-arrays")


@means("put_item")
def put(tensor: Tensor, key: object, value: object) -> None:
    """`tensor[key] = value`."""
    with source_map.location():
        if tensor.kind != ARRAY:
            name = f"numpy.{tensor.dtype}" if tensor.kind == SCALAR else python_type(tensor.dtype).__name__
            raise not_assignable(f"'{name}' object does not support item assignment")
        tensor.require_writeable()
        plain = _plain(key)
        if plain is not None:
            steps, strides, _ = _known_steps(tensor.shape, tensor.strides_, plain)
            return store(_through(tensor, steps, strides), value)
        items = expand(tensor, key)
        if any(getattr(i, "progression", None) is not None for i in items):
            items = meaning.progression_as_slice(tensor, items)
        if has_run_time_bounds(items):
            meaning.put_by_run_time_bounds(tensor, items, value)
        elif not is_basic(items):
            if (even := _evenly(tensor, items)) is not None:
                return store(view_of(tensor, parse(tensor, even)), value)
            if is_tensor(value) and value.kind == PYTHON and tensor.dtype.kind in "iu":
                value = Tensor.of_value(stored(value, tensor.dtype), SCALAR)
            meaning.put_by_arrays(tensor, items, value)
        else:
            store(view_of(tensor, parse(tensor, items)), value)


@means("item")
def item(tensor: Tensor, key: tuple) -> Any:
    """`ndarray.item(*key)` as a Python number."""
    if len(key) == 1 and isinstance(key[0], tuple):
        key = key[0]
    if not key:
        if tensor.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        found = np.reshape(tensor, ())[()]
    else:
        found = np.ravel(tensor)[key[0]] if len(key) == 1 else tensor[key]
    if not is_tensor(found):
        return found.item()
    return meaning.as_python_number(found, python_type(found.dtype))


def store(target: Tensor, value: object) -> None:
    """Write `value`, broadcast and cast as NumPy's assignment does, into the view `target`."""
    target.require_writeable()
    if getattr(type(value), "partial", False):
        meaning.store_dynamic(target, value)
        return
    if is_tensor(value):
        if value.storage is target.storage and value.steps == target.steps:
            return      # `a[i] += v` stores back the view it has already written: nothing new
        if value.shape == target.shape and value.dtype == target.dtype and value.storage.data is None:
            target.assign(value.value())
            return
    source = value if isinstance(value, (bool, int, float, complex)) else wrap(value)
    if not is_tensor(source) and not isinstance(source, np.generic):
        _check_number(source, target.dtype)
    concrete = not is_tensor(source) or source.is_concrete()
    if concrete and target.changes_now():
        target.numpy()[...] = source.numpy() if is_tensor(source) else source
        target.changed()
        return
    shape = source.shape if is_tensor(source) else ()
    while len(shape) > target.ndim and shape[0] == 1:
        shape = shape[1:]
    if not layouts.broadcasts_to(shape, target.shape):
        raise ValueError(f"could not broadcast input array from shape {layouts.shape_text(source.shape)} into shape "
                         f"{layouts.shape_text(target.shape)}")
    if is_tensor(source):
        new = ops.reshape(stored(source, target.dtype), shape)
    else:
        new = as_value(source, target.dtype)
    target.assign(layouts.broadcast(new, target.shape))


def _check_number(value: object, dtype: np.dtype) -> None:
    """Python numbers that NumPy refuses to store raise here as there (overflow, NaN to integer, complex to float)."""
    if isinstance(value, (int, float, complex)):
        np.empty((), dtype)[...] = value


# ---- parsing ---------------------------------------------------------------------------------------------------

def expand(tensor: Tensor | _Whole, key: object) -> list:
    """The key as one item per addressed dimension: the ellipsis spelled out as full slices around its marker."""
    items = list(key) if isinstance(key, tuple) and not is_tensor(key) else [key]
    items = [_known(i) for i in items]
    used = sum(_consumes(i) for i in items)
    if used > tensor.ndim:
        raise IndexError(f"too many indices for array: array is {tensor.ndim}-dimensional, but {used} were indexed")
    if (count := sum(i is Ellipsis for i in items)) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    rest = [slice(None)] * (tensor.ndim - used)
    if count:
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        return [*items[:at], Ellipsis, *rest, *items[at + 1:]]
    return items + rest


def _known(i: object) -> object:
    """Traced items whose value is known become plain; Python lists become arrays."""
    if is_tensor(i):
        if i.is_concrete() and i.storage.data is not None:
            array = i.numpy()
            return array if array.ndim or i.kind == ARRAY else array[()].item()
        return i
    if isinstance(i, slice):
        return slice(*(_slice_bound(b) for b in (i.start, i.stop, i.step)))
    if isinstance(i, (list, range)):
        return wrap(list(i)) if has_tensors(list(i)) else _index_array(i)
    return list_as_array(i)


def list_as_array(items: object) -> object:
    """A list that stands in memory, as the array that it is as an index; anything else as it is."""
    if not hasattr(type(items), "as_array"):
        return items
    return items.as_array() if getattr(items, "room", True) else _index_array([])       # certainly empty: no dtype


def _index_array(items: object) -> np.ndarray:
    array = np.asarray(items)
    return array.astype(np.intp) if array.size == 0 else array


def _slice_bound(b: object) -> object:
    if is_tensor(b):
        if b.is_concrete():
            return int(b.numpy())
        if b.shape or b.dtype.kind not in "iu":
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        return b
    return b


def _consumes(i: object) -> int:
    """How many source dimensions an item addresses."""
    if i is None or i is Ellipsis:
        return 0
    if is_boolean(i):
        return i.ndim if hasattr(i, "ndim") else 0
    return 1


def is_boolean(i: object) -> bool:
    return isinstance(i, (bool, np.bool_)) if not is_tensor(i) and not isinstance(i, np.ndarray) \
        else i.dtype == bool


def is_integer(i: object) -> bool:
    """An integer index, known or not (0-d integer arrays count)."""
    if is_tensor(i) or isinstance(i, np.ndarray):
        return not i.shape and i.dtype.kind in "iu"
    return hasattr(i, "__index__") and not isinstance(i, (bool, np.bool_))


def is_basic(items: list) -> bool:
    return all(i is None or i is Ellipsis or isinstance(i, slice) or is_integer(i) for i in items)


def has_run_time_bounds(items: list) -> bool:
    """Whether some slice has a bound known only at run time."""
    return any(isinstance(i, slice) and any(is_tensor(b) for b in (i.start, i.stop, i.step)) for i in items)


def _evenly(tensor: Tensor, items: list) -> list | None:
    """The items with a slice in the place of an array of known integers at equal distances, where that is the only one
    beside slices: the same places, once each. None where they are no such."""
    at, *others = [n for n, i in enumerate(items) if not isinstance(i, slice) and i is not Ellipsis]
    places = items[at]
    if others or type(places) is not np.ndarray or places.ndim != 1 or places.dtype.kind not in "iu" \
            or places.size < LEAST_EVEN:
        return None
    axis = at - sum(i is Ellipsis for i in items[:at])
    first, last = int(places[0]), int(places[-1])
    if min(first, last) < 0 or max(first, last) >= tensor.shape[axis] or (step := even_step(places)) is None:
        return None
    end = last + (1 if step > 0 else -1)
    return [*items[:at], slice(first, None if end < 0 else end, step), *items[at + 1:]]


def even_step(places: np.ndarray) -> int | None:
    """The distance from each of some integers to the next, where it is the same everywhere and not 0."""
    if places.size < 2:
        return 1
    first, step = int(places[0]), int(places[1]) - int(places[0])
    if not step or first + step * (places.size - 1) != int(places[-1]):
        return None
    return step if (places[1:] - places[:-1] == step).all() else None


LEAST_EVEN = 16
"""Integers of an index from which one looks whether they are a slice."""


def parse(tensor: Tensor | _Whole, items: list) -> Basic:
    """A basic index over all dimensions of `tensor`."""
    basic = Basic()
    for i in items:
        axis = len(basic.starts)
        if i is Ellipsis:
            basic.ellipsis = True
        elif i is None:
            basic.kept.append(None)
        elif isinstance(i, slice):
            start, stop, step = i.indices(tensor.shape[axis])
            basic.add(start, len(range(start, stop, step)), step, keep=True)
        elif is_integer(i):
            basic.copies |= isinstance(i, np.ndarray) or (is_tensor(i) and i.kind == ARRAY)
            basic.add(position(i, tensor.shape[axis], axis), 1, 1, keep=False)
    return basic


def position(i: object, extent: int, axis: int) -> int | ir.Value:
    """An index along a dimension of `extent`, counted from the start: an int, or a checked 0-d int64 value."""
    if not is_tensor(i):
        index = operator.index(i)
        if not -extent <= index < extent:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
        return index + extent if index < 0 else index
    low, high = i.interval or value_facts.bounds(i.value()) or (None, None)
    value = ops.convert(i.value(), np.int64)
    if low is None or low < -extent or high >= extent:
        ok = ops.and_(ops.compare(value, -extent, "GE"), ops.compare(value, extent, "LT"))
        current_trace().check(ok, lambda: IndexError(f"index is out of bounds for axis {axis} with size {extent}"))
    if low is None or low < 0:
        value = ops.select(ops.compare(value, 0, "LT"), ops.add(value, extent), value)
    return value


# ---- views -----------------------------------------------------------------------------------------------------

def view_of(tensor: Tensor, basic: Basic) -> Tensor:
    """The view a basic index addresses."""
    return _through(tensor, *_steps(tensor.shape, tensor.strides_, basic))


def _through(tensor: Tensor, steps: tuple[view_steps.Step, ...], strides: Shape) -> Tensor:
    return Tensor(tensor.storage, view_steps.followed(tensor.steps, steps, tensor.storage.shape), dtype=tensor.dtype,
                  strides=strides, writeable=tensor.writeable)


def _steps(shape: Shape, strides: Shape, basic: Basic) -> tuple[tuple[view_steps.Step, ...], Shape]:
    """The steps to what a basic index addresses in an array of this shape and layout, and their strides."""
    found: list[view_steps.Step] = []
    rank, whole = len(shape), shape
    dynamic = any(not isinstance(s, int) for s in basic.starts)
    chosen = [not (dynamic and basic.steps[d] == 1) for d in range(rank)]      # those with known places
    if any(chosen[d] and (basic.starts[d], basic.counts[d], basic.steps[d]) != (0, whole[d], 1) for d in range(rank)):
        found.append(view_steps.SliceStep(tuple(basic.starts[d] if chosen[d] else 0 for d in range(rank)),
                                  tuple(basic.counts[d] if chosen[d] else whole[d] for d in range(rank)),
                                  tuple(basic.steps[d] if chosen[d] else 1 for d in range(rank))))
        shape, strides = found[-1].shape, found[-1].strides(shape, strides)
    if dynamic:
        starts = tuple(0 if chosen[d] else basic.starts[d] for d in range(rank))
        found.append(view_steps.DynamicSliceStep(starts, tuple(basic.counts)))
        shape, strides = found[-1].shape, found[-1].strides(shape, strides)
    if basic.kept != list(range(rank)):
        strides = tuple(0 if k is None else strides[k] for k in basic.kept)
        found.append(view_steps.ReshapeStep(tuple(1 if k is None else shape[k] for k in basic.kept), strides))
    return tuple(found), strides


@lru_cache(maxsize=16384)
def _known_steps(shape: Shape, strides: Shape, key: tuple) -> tuple[tuple[view_steps.Step, ...], Shape, bool]:
    """Steps and strides of an index that `_plain` has written, and whether it picks a single element."""
    whole = _Whole(shape)
    basic = parse(whole, expand(whole, tuple(slice(*i) if type(i) is tuple else i for i in key)))
    steps, strides = _steps(shape, strides, basic)
    return steps, strides, not basic.kept and not basic.ellipsis


def element_steps(shape: Shape, places: tuple[int, ...]) -> tuple[view_steps.Step, ...]:
    """The steps from a memory of this shape to one element."""
    return _known_steps(shape, layouts.row_major_strides(shape), places)[0]


@dataclass(frozen=True)
class _Whole:
    """What the parts of an index are asked about."""

    shape: Shape

    @property
    def ndim(self) -> int:
        return len(self.shape)


def _plain(key: object) -> tuple | None:
    """A basic index of known Python numbers as something to look up by: slices become tuples. None for any other."""
    if type(key) is int:
        return (key,)
    items = []
    for i in key if type(key) is tuple else (key,):
        kind = type(i)
        if kind is slice:
            i = i.start, i.stop, i.step
            if not _PLAIN.issuperset(map(type, i)):
                return None
        elif kind not in _PLAIN and i is not Ellipsis:
            return None
        items.append(i)
    return tuple(items)


_PLAIN = {int, type(None)}


def scalar(view: Tensor) -> Any:
    """A NumPy scalar: read now, since later writes must not show."""
    if view.is_concrete() and view.storage.writable_in_place():
        return view.numpy()[()]
    return Tensor.of_value(view.value(), SCALAR)


@means("flat")
class FlatIterator:
    """`ndarray.flat`: row-major reads and writes of the array's elements through its view chain."""

    def __init__(self, tensor: Tensor):
        self.base = tensor

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return (self.base[np.unravel_index(i, self.base.shape)] for i in range(self.base.size))

    def __getitem__(self, key: object) -> Any:
        flat = np.ravel(self.base)
        found = flat[key]
        return found.copy() if is_tensor(found) and found.kind == ARRAY else found

    def __setitem__(self, key: object, value: object) -> None:
        strides = layouts.reshaped_strides(self.base.shape, self.base.strides_, (self.base.size,))
        shape = (self.base.size,)
        flat = self.base.view(view_steps.GatheredStep(shape, (1,)) if strides is None else
                              view_steps.ReshapeStep(shape, strides))
        if isinstance(key, slice):
            count = len(range(*key.indices(self.base.size)))
            source = np.ravel(wrap(value))
            if not source.size:
                return                                                      # as NumPy: nothing is written
            value = np.resize(source, (count,)) if source.size != count else source   # flat repeats short values
        flat[key] = value

    @property
    def index(self) -> int:
        return 0

    def copy(self) -> Tensor:
        return np.ravel(self.base).copy()

    ag__array = copy        # where an array is wanted

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self.copy().__array__(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        return getattr(ufunc, method)(*_without_iterators(inputs), **kwargs)

    def __array_function__(self, function: Callable, types: object, args: tuple, kwargs: dict) -> Any:
        return function(*_without_iterators(args), **_without_iterators(kwargs))


def _without_iterators(tree: Any) -> Any:
    """`x.flat` as what it reads: a flat copy."""
    return mapped(tree, lambda x: x.copy() if type(x) is FlatIterator else x)


for _name, _ufunc in COMPARISONS.items():
    setattr(FlatIterator, f"__{_name}__", lambda self, other, ufunc=_ufunc: ufunc(self.copy(), other))
