"""Array creation inside compiled code: `zeros`, `arange`, `array([...traced...])`, `eye`, `linspace` and relatives.

What is uniform becomes a splat constant, what counts becomes an iota; small known arrays stay concrete.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded
from reactant.frontends.arrays import layouts, memory_order, python_overflow, value_facts, view_steps
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.dynamic.bounded import Bounded, Range, in_order
from reactant.frontends.arrays.dynamic.run_time_shapes import sized
from reactant.frontends.arrays.implements import has_tensors, implements
from reactant.frontends.arrays.indexing import element_steps
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, check_dtype, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import as_value, cast
from reactant.frontends.session.dispatch import means
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of, size


def shape_tuple(shape: object) -> Shape:
    """A shape argument as a tuple of ints; sizes must be known while tracing."""
    if is_tensor(shape) or isinstance(shape, np.ndarray):
        if shape.ndim == 0:
            return (shape.__index__(),)
        return tuple(shape[i].__index__() for i in range(shape.shape[0]))
    if hasattr(shape, "__index__"):
        return (operator.index(shape),)
    return tuple(operator.index(n) for n in shape)


def uniform(shape: object, value: object, dtype: object, order: object = "C") -> Any:
    """A new array of `shape` filled with `value`."""
    order = memory_order.letter(order, permitted=memory_order.NEW)
    if (whole := sized(shape)) is not None:
        if not np.ndim(value):
            return whole.array(lambda frame: uniform(frame, value, dtype, order))
        made = whole.array(lambda frame: uniform(frame, 0, dtype, order))
        made.store(value)
        return made
    shape, dtype = shape_tuple(shape), np.dtype(dtype)
    check_dtype(dtype)
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions are not allowed")
    strides = layouts.column_major_strides(shape) if order == "F" else None
    known = not is_tensor(value) or value.is_concrete()
    if known and size(shape) <= st.CONCRETE_ELEMENTS:
        number = value.numpy() if is_tensor(value) else value
        return Tensor.of_array(np.full(shape, number, dtype, order=order))
    if known and np.ndim(value) == 0:
        number = value.numpy()[()] if is_tensor(value) else value
        return Tensor.of_value(ops.constant(np.asarray(np.full((), number, dtype)), shape=shape), strides=strides)
    if not layouts.broadcasts_to(np.shape(value), shape):
        raise ValueError(f"could not broadcast input array from shape {layouts.shape_text(np.shape(value))} into shape "
                         f"{layouts.shape_text(shape)}")
    return Tensor.of_value(layouts.broadcast(as_value(value, dtype), shape), strides=strides)


@implements(np.zeros, creation=True)
def zeros(shape: object, dtype: object = float, order: object = "C") -> Any:
    return uniform(shape, 0, float if dtype is None else dtype, order)


@implements(np.empty, creation=True)
def empty(shape: object, dtype: object = float, order: object = "C") -> Any:
    return uniform(shape, 0, float if dtype is None else dtype, order)


@implements(np.ones, creation=True)
def ones(shape: object, dtype: object = None, order: object = "C") -> Any:
    return uniform(shape, 1, float if dtype is None else dtype, order)


@implements(np.full, creation=True)
def full(shape: object, fill_value: object, dtype: object = None, order: object = "C") -> Any:
    fill_value = _filling(fill_value)
    source = fill_value if getattr(type(fill_value), "partial", False) else wrap(fill_value)
    return uniform(shape, fill_value, source.dtype if dtype is None else dtype, order)


def _filling(value: Any) -> Any:
    return as_tensor(value) if type(value) in (list, tuple) else value


def _like(prototype: object, value: object, dtype: object, order: object, shape: object) -> Tensor:
    value = _filling(value)
    a, order = wrap(prototype), memory_order.letter(order, "K")
    made = uniform(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)
    if not is_tensor(made):        # of run-time size
        return made
    strides = None if order == "K" and shape is not None else memory_order.strides(order, made.shape, (a,))
    if strides is None:
        return made
    if made.is_concrete():
        outer_first = np.argsort([-s for s in strides], kind="stable")
        data = np.ascontiguousarray(made.numpy().transpose(outer_first))
        return Tensor.of_array(data.transpose(np.argsort(outer_first)))
    return Tensor(made.storage, strides=strides)


@implements(np.zeros_like, creation=True)
def zeros_like(a: object, dtype: object = None, order: object = "K", subok: bool = True,
               shape: object = None) -> Tensor:
    return _like(a, 0, dtype, order, shape)


@implements(np.empty_like, creation=True)
def empty_like(prototype: object, dtype: object = None, order: object = "K", subok: bool = True,
               shape: object = None) -> Tensor:
    return _like(prototype, 0, dtype, order, shape)


@implements(np.ones_like, creation=True)
def ones_like(a: object, dtype: object = None, order: object = "K", subok: bool = True, shape: object = None) -> Tensor:
    return _like(a, 1, dtype, order, shape)


@implements(np.full_like, creation=True)
def full_like(a: object, fill_value: object, dtype: object = None, order: object = "K", subok: bool = True,
              shape: object = None) -> Tensor:
    return _like(a, fill_value, dtype, order, shape)


@means("array_of")
def array_of(nested: Any, dtype: object = None) -> Any:
    """`np.array` of nested sequences that may hold traced values."""
    if type(nested) in (list, tuple) and nested and getattr(type(nested[0]), "partial", False):
        rows = np.stack(nested)         # of run-time size
        return rows if dtype is None else rows.astype(dtype)
    if not has_tensors(_plain(nested)):
        made = np.array(_plain(nested), dtype=dtype)
        check_dtype(made.dtype)
        return Tensor.of_array(made)
    if (found := _rows_of_one(nested)) is not None or (found := _columns(nested)) is not None:
        return Tensor.of_value(found if dtype is None else cast(found, dtype))
    if type(nested) is list and nested and all([type(r) is list and len(r) == len(nested[0]) for r in nested]):
        found = elements_of_one([x for r in nested for x in r], (len(nested), len(nested[0])))
        if found is not None:
            return Tensor.of_value(found if dtype is None else cast(found, dtype))
    if dtype is not None:
        check_dtype(np.dtype(dtype))
    rows = [_row(r, dtype) for r in nested]
    if dtype is None:
        dtype = result_type(tuple(wrap(r).dtype for r in rows))     # numbers count as int64 and float64 here
    shapes = {np.shape(r) if not is_tensor(r) else r.shape for r in rows}
    if len(shapes) != 1:
        raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape "
                         f"after 1 dimensions. The detected shape was ({len(rows)},) + inhomogeneous part.")
    of_one = {r.dtype for r in rows} if all([is_tensor(r) for r in rows]) else set()
    parts = [as_value(r, np.dtype(dtype if len(of_one) != 1 else rows[0].dtype)) for r in rows]
    shape, whole = (1, *shapes.pop()), np.dtype(dtype)
    side = side_by_side(parts, 0, shape)
    if len(shape) == 1 and whole.kind in "iu" and dtype_of(side).kind in "iuf" and dtype_of(side) != whole:
        kinds = {r.kind if is_tensor(r) else PYTHON for r in rows}
        if ARRAY not in kinds and (whole.kind == "i" or kinds == {PYTHON}):
            python_overflow.require_held(side, None, whole)
    return Tensor.of_value(cast(side, whole))


def side_by_side(values: Sequence[ir.Value], axis: int, shape: Shape | None = None) -> ir.Value:
    """Values side by side; `shape` is what each is taken in. What were rows of one value, one after the other, are a
    slice of that: lists that a loop has appended to hold thousands."""
    runs: list[list] = []     # [first of them, what they are rows of, first row, end]
    for value in values:
        whole, row = _row_of(value)
        if runs and row is not None and runs[-1][3] == row and runs[-1][1] == whole \
                and shape_of(runs[-1][0]) == shape_of(value):
            runs[-1][3] += 1
        else:
            runs.append([value, whole, row, None if row is None else row + 1])
    return ops.concatenate([_run(run, axis, shape or shape_of(run[0])) for run in runs], axis)


def _run(run: list, axis: int, shape: Shape) -> ir.Value:
    """Rows of a value side by side."""
    first, whole, start, stop = run
    if start is None or stop == start + 1:
        return ops.reshape(first, shape)
    _, *rest = shape_of(whole)
    rows = ops.reshape(ops.slice(whole, [start, *[0] * len(rest)], [stop, *rest]), (stop - start, *shape))
    if axis:
        rows = ops.transpose(rows, [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)])
    return ops.reshape(rows, (*shape[:axis], (stop - start) * shape[axis], *shape[axis + 1:]))


def _row_of(value: ir.Value) -> tuple[ir.Value | None, int | None]:
    """What a value is a row of, in any shape, and which; (None, None) where it is no row."""
    while (made := ops.made_by(value, "reshape")) is not None:
        value = made.operands[0]
    if (made := ops.made_by(value, "slice")) is not None:
        (one, *rest), (_, *others) = shape_of(value) or (0,), shape_of(made.operands[0]) or (0,)
        if one == 1 and rest == others:
            return made.operands[0], attr.decode(made.attributes["start_indices"])[0]
    return None, None


def _row(x: Any, dtype: Any) -> Any:
    """A part of a nested sequence; None is NaN where floats are asked for, False where booleans are."""
    if x is None and dtype is not None:
        return np.asarray(None, dtype)
    return x if is_tensor(x) or not isinstance(x, (list, tuple, range)) else array_of(x, dtype)


def _rows_of_one(nested: Any) -> ir.Value | None:
    """What lists hold that a loop has appended to: rows of one memory, one after the other."""
    first = nested[0] if type(nested) in (list, tuple) and nested else None
    if not is_tensor(first) or len(first.steps) != 2 or not isinstance(first.steps[0], view_steps.SliceStep):
        return None
    storage, start = first.storage, first.steps[0].starts[0] if first.steps[0].starts else 0
    shape = storage.shape
    if not all([is_tensor(r) and r.storage is storage and r.steps == view_steps.row_steps(shape, start + k)
                for k, r in enumerate(nested)]):
        return None
    rest = shape[1:]
    return ops.slice(storage.read(), (start, *(0 for _ in rest)), (start + len(nested), *rest))


def elements_of_one(elements: list, shape: Shape) -> ir.Value | None:
    """The memory whose elements these are, all of them in order, as lists hold them that a loop has written into."""
    first = elements[0] if elements else None
    if not is_tensor(first) or not first.steps or first.storage.shape != shape:
        return None
    storage = first.storage
    if any([not is_tensor(x) or x.storage is not storage for x in elements]):
        return None
    places = np.ndindex(shape)
    return storage.read() if all([x.steps == element_steps(shape, p) for x, p in zip(elements, places, strict=True)]) \
        else None


def _columns(nested: Any) -> ir.Value | None:
    """The same for lists of tuples: the parts of all of them are rows of a memory each, or known."""
    first = nested[0] if type(nested) in (list, tuple) and nested else None
    if type(first) not in (list, tuple) or not any(is_tensor(x) and len(x.steps) == 2 for x in first) \
            or not all([type(r) is type(first) and len(r) == len(first) for r in nested]):
        return None
    values = []
    for column in zip(*nested, strict=True):
        if any([is_tensor(x) for x in column]):
            values.append(_rows_of_one(column))
        elif all([isinstance(x, (bool, int, float, complex)) for x in column]):
            values.append(ops.constant(np.array(column)))
        else:
            return None
    if any(v is None for v in values) or len({shape_of(v)[1:] for v in values}) != 1:
        return None
    dtype = result_type(tuple(dtype_of(v) for v in values))
    shape = shape_of(values[0])
    return ops.concatenate([ops.reshape(cast(v, dtype), (shape[0], 1, *shape[1:])) for v in values], 1)


def _plain(nested: Any) -> Any:
    return list(nested) if isinstance(nested, range) else nested


def _minimum_rank(made: Tensor, ndmin: int) -> Tensor:
    return np.reshape(made, (1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def _nothing_yet(nested: object, dtype: object) -> np.ndarray | None:
    """NumPy's own array where every element is None: it stands in an attribute until a value takes its place."""
    return np.array(nested) if dtype is None and _only_none(nested) else None


def _only_none(nested: object) -> bool:
    return nested is None or isinstance(nested, (list, tuple)) and len(nested) > 0 and all(map(_only_none, nested))


COPY_MODES = {np._CopyMode.ALWAYS: True, np._CopyMode.IF_NEEDED: None, np._CopyMode.NEVER: False}
"""What `np.asarray(copy=...)` of older NumPy and array-API wrappers hand down."""


@implements(np.array, creation=True)
def array(object: object, dtype: object = None, copy: bool | None = True, order: object = "K", subok: bool = False,
          ndmin: int = 0, ndmax: int = 0, like: object = None) -> Any:
    if (nothing := _nothing_yet(object, dtype)) is not None:
        return nothing
    made = as_tensor(object, dtype)
    if not is_tensor(made):        # rows of run-time size, put together
        return made
    copy, order = COPY_MODES.get(copy, copy), memory_order.letter(order, "K")
    rearranged = (order == "F" and not made.flags.f_contiguous) or (order == "C" and not made.flags.c_contiguous)
    if rearranged and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if rearranged or (copy and (made is object or made.storage.constant)):
        made = made.copy(order)
    return _minimum_rank(made, ndmin)


def _as_array(scalar: Tensor) -> Tensor:
    """A NumPy or Python scalar as a new 0-d array."""
    return Tensor.of_array(scalar.numpy()) if scalar.is_concrete() else Tensor.of_value(scalar.value())


def as_tensor(x: object, dtype: object = None) -> Tensor:
    """`np.asarray`: tensors as they are unless the dtype changes."""
    if isinstance(x, (list, tuple, range)) and not is_tensor(x):
        return array_of(x, dtype)
    if x is None and dtype is not None:
        return array_of([None], dtype)[0]
    made = wrap(x)
    if made.kind != ARRAY:
        made = _as_array(made)
    return made if dtype is None or np.dtype(dtype) == made.dtype else made.astype(dtype)


@implements(np.asarray, np.asanyarray, creation=True, aliases=True)
def asarray(a: object, dtype: object = None, order: object = None) -> Any:
    if (nothing := _nothing_yet(a, dtype)) is not None:
        return nothing
    made, order = as_tensor(a, dtype), memory_order.letter(order, "K")
    if order == "C":
        return ascontiguousarray(made)
    return asfortranarray(made) if order == "F" else made


@implements(np.ascontiguousarray, creation=True, aliases=True)
def ascontiguousarray(a: object, dtype: object = None) -> Tensor:
    made = _minimum_rank(as_tensor(a, dtype), 1)
    return made if made.flags.c_contiguous else made.copy("C")


@implements(np.asfortranarray, creation=True, aliases=True)
def asfortranarray(a: object, dtype: object = None) -> Tensor:
    made = _minimum_rank(as_tensor(a, dtype), 1)
    return made if made.flags.f_contiguous else made.copy("F")


@implements(np.copy, creation=True)
def copy(a: object, order: object = "K", subok: bool = False) -> Tensor:
    a, order = wrap(a), memory_order.letter(order, "K")
    if a.is_concrete():
        return Tensor.of_array(np.array(a.numpy(), order=order))
    return Tensor.of_value(a.value(), ARRAY, strides=memory_order.strides(order, a.shape, (a,)))


MOST_NUMBERS = 2**20
"""What `np.arange` of run-time size may be known to have at most: all of them are computed."""

_ARANGE = ("start", "stop", "step", "dtype")


@implements(np.arange, creation=True)
def arange(*args: object, device: object = None, like: object = None, **named: object) -> Tensor:
    args, dtype = _arange_arguments(args, named)
    if any(is_tensor(a) and not a.is_concrete() for a in args):
        return _arange_of_run_time_size(args, dtype)
    numbers = [a.numpy()[()] if is_tensor(a) else a for a in args]
    return Tensor.of_array(np.arange(*numbers, dtype=dtype))


def _arange_arguments(args: tuple, named: dict) -> tuple[tuple, object]:
    """(start, stop, step) and the dtype, however they were given."""
    given = dict(zip(_ARANGE, args, strict=False))
    if unknown := [n for n in named if n not in _ARANGE]:
        raise TypeError(f"arange() got an unexpected keyword argument '{unknown[0]}'")
    if twice := [n for n in named if n in given]:
        raise TypeError(f"argument for arange() given by name ('{twice[0]}') and position ({_ARANGE.index(twice[0])})")
    given |= named
    start, stop, step, dtype = (given.get(n) for n in _ARANGE)
    if stop is None and (not args or start is None):
        raise TypeError("arange() requires stop to be specified.")
    start, stop = (0, start) if stop is None else (0 if start is None else start, stop)
    return ((stop,) if type(start) is int and start == 0 and step is None else
            (start, stop, 1 if step is None else step)), dtype


def _arange_of_run_time_size(args: tuple, dtype: object) -> Any:
    """Whole numbers whose count is only known at run time, where its bounds are known: those of a loop's index, say."""
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    begins, ends, steps = _interval(start), _interval(stop), _interval(step)
    if begins is None or ends is None or steps is None or steps[0] < 1 or ends[1] - begins[0] > MOST_NUMBERS:
        raise ConcreteValueNeeded("np.arange", "Its bounds decide the size. Make the argument they are computed from "
                                               "static (static_argnames=...), or scale np.arange(n) instead.")
    count = max(-((begins[0] - ends[1]) // steps[0]), 0)
    first, last = (wrap(end).value() for end in (start, stop))
    first, last = (ops.convert(end, np.int64) for end in (first, last))
    each = ops.convert(step.value(), np.int64) if is_tensor(step) else step
    length = ops.subtract(last, first)
    if steps != (1, 1):
        length = ops.divide(ops.add(length, ops.subtract(each, 1) if is_tensor(step) else step - 1), each)
    if not in_order(first, last):
        length = ops.select(ops.compare(last, first, "GT"), ops.maximum(length, 0), 0)
    if is_tensor(step):
        each = ops.broadcast_in_dim(each, (count,), ())
    numbers = ops.add(ops.multiply(ops.iota((count,), np.int64, 0), each), ops.broadcast_in_dim(first, (count,), ()))
    made = ops.convert(numbers, np.int64 if dtype is None else np.dtype(dtype))
    found = Bounded(Tensor.of_value(made), [Range(0, length)])
    if is_tensor(step) and made.type == numbers.type and 0 <= begins[0]:
        found.progression = start, stop, step
    return found


def _interval(number: object) -> tuple[int, int] | None:
    """Bounds of a whole number; None where there are none, or it is none."""
    if not is_tensor(number):
        return (number, number) if isinstance(number, int) else None
    if number.shape or number.dtype != np.int64:
        return None
    found = number.interval or value_facts.bounds(number.value())
    return found if found is not None and max(map(abs, found)) < 2**31 else None


@implements(np.eye, creation=True)
def eye(N: int, M: int | None = None, k: int = 0, dtype: object = float, order: object = "C") -> Any:
    if (whole := sized((N, N if M is None else M))) is not None:
        return whole.array(lambda frame: eye(*frame, k, dtype, order))
    order = memory_order.letter(order, permitted=memory_order.NEW)
    n, m = int(N), int(N if M is None else M)
    if n * m <= st.CONCRETE_ELEMENTS:
        return Tensor.of_array(np.eye(n, m, k, dtype, order))
    row, column = ops.iota((n, m), np.int64, 0), ops.iota((n, m), np.int64, 1)
    return Tensor.of_value(ops.convert(ops.compare(ops.add(row, int(k)), column, "EQ"), np.dtype(dtype)),
                           strides=memory_order.strides(order, (n, m), ()))


@implements(np.identity, creation=True)
def identity(n: int, dtype: object = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype)
