"""Functions of arrays of run-time size that are made of slices, joins, sums and products of them."""
from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.creation import shape_tuple
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Extent,
    Range,
    aligned,
    as_number,
    is_partial,
    minus,
    plus,
    require_equal,
    with_extents,
)
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import SCALAR, Tensor, is_tensor, python_number, wrap
from reactant.frontends.numpy.dynamic.bounded_functions import (
    compact,
    elementwise,
    on_bounded,
    require_elements,
    require_vector,
)
from reactant.frontends.numpy.einsum import label_lists
from reactant.frontends.numpy.polynomials import scaled_fit
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops


def _operand(x: Any) -> Any:
    return x if is_partial(x) else wrap(x)


def _length(a: Any, d: int) -> Any:
    """As a number of Python's perhaps known only at run time."""
    return a.shape[d]


def _part(a: Any, d: int, start: Any, stop: Any) -> Any:
    return a[(*(slice(None),) * d, slice(start, stop))]


# ---- moving ----------------------------------------------------------------------------------------------------

@on_bounded(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if not is_partial(a) or np.ndim(shift) or type(axis) in (tuple, list) or axis is None and a.ndim > 1:
        raise UnsupportedError("numpy.roll of an array of run-time size takes one shift and one axis.", hint=ADVICE,
                               code="array-of-run-time-size")
    d = axis_in(0 if axis is None else axis, a.ndim)
    if a.extents[d] is None:
        return Bounded(np.roll(a.frame, shift, d), a.extents)
    front = compact(a, d)
    n = Tensor.of_value(as_number(front.length(d)), SCALAR)
    places = np.mod(np.arange(front.frame.shape[d]) - shift, np.maximum(n, 1))
    return Bounded(np.take(front.frame, places, d, mode="clip"), front.extents)


@on_bounded(np.moveaxis)
def moveaxis(a: Bounded, source: Any, destination: Any) -> Bounded:
    to, start = ([axis_in(d, a.ndim) for d in (given if type(given) in (tuple, list) else (given,))]
                 for given in (destination, source))
    if len(to) != len(start):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [d for d in range(a.ndim) if d not in start]
    for place, d in sorted(zip(to, start, strict=True)):
        order.insert(place, d)
    return a.transpose(*order)


@on_bounded(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Bounded:
    """To a shape that says the run-time lengths again."""
    sizes = shape if type(shape) in (tuple, list) else (shape,)
    lead = len(sizes) - array.ndim if is_partial(array) else -1
    if lead < 0 or any(is_tensor(n) and (d < lead or array.extents[d - lead] is None)
                       for d, n in enumerate(sizes)):
        raise UnsupportedError("numpy.broadcast_to a run-time size that the array has not is not supported.",
                               hint=ADVICE, code="array-of-run-time-size")
    new = list(sizes)
    for d, extent in enumerate(array.extents):
        if extent is not None:
            asked = sizes[lead + d]
            require_equal(asked.value() if is_tensor(asked) else int(asked), array.length(d),
                          "operands could not be broadcast together with remapped shapes")
            new[lead + d] = array.frame.shape[d]
    return Bounded(np.broadcast_to(array.frame, tuple(new)), [None] * lead + list(array.extents))


@on_bounded(np.tile)
def tile(A: Any, reps: Any) -> Any:
    counts = [int(n) for n in shape_tuple(reps)]
    a = A[(*(None,) * (len(counts) - A.ndim), ...)] if len(counts) > A.ndim else A.copy()
    for d, n in enumerate([1] * (a.ndim - len(counts)) + counts):
        if n != 1:
            a = np.concatenate([a] * n, axis=d) if n else _part(a, d, 0, 0)
    return a


# ---- parts -----------------------------------------------------------------------------------------------------

def _parts(ary: Any, sections: Any, axis: int, equal: bool) -> list:
    a = _operand(ary)
    d = axis_in(axis, a.ndim)
    n = _length(a, d)
    if type(sections) in (list, tuple) or np.ndim(sections):
        ends = [None, *sections, None]
        return [_part(a, d, p, q) for p, q in zip(ends, ends[1:], strict=False)]
    count = int(sections)
    if count <= 0:
        raise ValueError("number sections must be larger than 0.")
    each, more = n // count, n % count
    if equal:
        current_trace().check(ops.compare(as_number(_value(more)), 0, "EQ"), lambda: ValueError(
            "array split does not result in an equal division"))
    starts = [k * each + np.minimum(k, more) for k in range(count + 1)]
    return [_part(a, d, p, q) for p, q in zip(starts, starts[1:], strict=False)]


def _value(n: Any) -> Any:
    return n.value() if is_tensor(n) else n


@on_bounded(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list:
    return _parts(ary, indices_or_sections, axis, equal=True)


@on_bounded(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list:
    return _parts(ary, indices_or_sections, axis, equal=False)


@on_bounded(np.take)
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    array, places = _operand(a), _operand(indices)
    array, d = (np.ravel(array), 0) if axis is None else (array, axis_in(axis, array.ndim))
    if mode == "wrap":
        places = np.mod(places, _length(array, d))
    elif mode == "clip":
        places = np.clip(places, 0, _length(array, d) - 1)
    found = array[(*(slice(None),) * d, places)]
    if out is not None:
        out[...] = found
    return found if out is None else out


@on_bounded(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    array, d = (np.ravel(_operand(a)), 0) if axis is None else (_operand(a), axis_in(axis, np.ndim(a)))
    return take(array, np.flatnonzero(_operand(condition) != 0), d, out)


@on_bounded(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return compress(np.ravel(_operand(condition)), np.ravel(_operand(arr)), 0)


# ---- order -----------------------------------------------------------------------------------------------------

def _ordered(function: Callable) -> Callable:
    def run(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: object = None) -> Any:
        n = python_number(as_number(a.size if axis is None else a.length(axis_in(axis, a.ndim))))
        for k in np.ravel(np.asarray(kth)).tolist() if not is_tensor(kth) else [kth]:
            current_trace().check(np.logical_and(-n <= k, k < n).value(), lambda k=k: ValueError(
                f"kth(={k}) out of bounds"))
        return function(a, axis)
    return run


on_bounded(np.partition)(_ordered(np.sort))
on_bounded(np.argpartition)(_ordered(np.argsort))


@on_bounded(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The last key decides first: a stable sort by each in turn."""
    vectors = [_operand(k) for k in keys] if type(keys) in (list, tuple) else []
    if not vectors or any(k.ndim != 1 for k in vectors):
        raise UnsupportedError("numpy.lexsort of keys of run-time size takes a tuple of vectors.", hint=ADVICE,
                               code="array-of-run-time-size")
    order = np.argsort(vectors[0], stable=True)
    for k in vectors[1:]:
        order = order[np.argsort(k[order], stable=True)]
    return order


# ---- element by element ----------------------------------------------------------------------------------------

@on_bounded(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    if is_partial(bins):
        raise UnsupportedError("numpy.digitize with bins of run-time size is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return elementwise(lambda frame: np.digitize(frame, bins, right), (x,))


@on_bounded(np.select)
def select(condlist: Sequence, choicelist: Sequence, default: object = 0) -> Any:
    n = len(condlist)
    if n != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    return elementwise(lambda *parts: np.select(parts[:n], parts[n:-1], parts[-1]), (*condlist, *choicelist, default))


@on_bounded(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence, *args: object, **kw: object) -> Any:
    tests = list(condlist) if type(condlist) in (list, tuple) else [condlist]
    if not is_partial(x) or any(np.ndim(t) != x.ndim for t in tests):
        raise UnsupportedError("numpy.piecewise of an array of run-time size takes a list of conditions of the same "
                               "size.", hint=ADVICE, code="array-of-run-time-size")
    return elementwise(lambda frame, *conditions: np.piecewise(frame, list(conditions), funclist, *args, **kw),
                       (x, *tests))


@on_bounded(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """By Horner's rule."""
    if is_partial(p):
        raise UnsupportedError("numpy.polyval with a run-time number of coefficients is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return elementwise(lambda frame: np.polyval(p, frame), (x,))


@on_bounded(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    if type(N) is not int:
        raise UnsupportedError("numpy.vander of a vector of run-time size needs N, a number that is known.",
                               hint=ADVICE, code="array-of-run-time-size")
    require_vector(x, "vander")
    return Bounded(np.vander(x.frame, N, increasing), [x.extents[0], None])


@on_bounded(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: object = False) -> Any:
    x, y, w = (None if v is None else _operand(v) + 0.0 for v in (x, y, w))
    if full or cov or x.ndim != 1 or y.ndim not in (1, 2):
        raise UnsupportedError("numpy.polyfit of arrays of run-time size gives the coefficients alone, for a vector "
                               "x.", hint=ADVICE, code="array-of-run-time-size")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    require_elements(x, [0], "expected non-empty vector for x", TypeError)
    for other in (y, w):
        if other is not None:
            require_equal(_value(_length(x, 0)), _value(_length(other, 0)),
                          "expected x and y to have same length", TypeError)
    rcond = _length(x, 0) * np.finfo(x.dtype).eps if rcond is None else rcond
    return scaled_fit(x, y, int(deg) + 1, rcond, w)[0]


@on_bounded(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Other lengths are no error, but an answer."""
    a, b = _operand(a1), _operand(a2)
    if a.ndim != b.ndim:
        return False
    sizes = [max(m, n) for m, n in zip(*(x.frame.shape if is_partial(x) else x.shape for x in (a, b)), strict=True)]
    same: Any = True
    frames = []
    for x in (a, b):
        for d in range(x.ndim if is_partial(x) else 0):
            x = compact(x, d)
        frame = x.filled(0) if is_partial(x) else x
        frames.append(np.pad(frame, [(0, m - n) for m, n in zip(sizes, frame.shape, strict=True)]))
    for d in range(a.ndim):
        same = np.logical_and(same, _length(a, d) == _length(b, d))
    return python_number(np.logical_and(same, np.array_equal(*frames, equal_nan)).value())


# ---- sums ------------------------------------------------------------------------------------------------------

@on_bounded(np.trapezoid, *((np.trapz,) if hasattr(np, "trapz") else ()))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    a = _operand(y)
    d = axis_in(axis, a.ndim)
    if x is not None:
        x = _operand(x)
        dx = np.diff(x)[(slice(None), *(None,) * (a.ndim - 1 - d))] if x.ndim == 1 else np.diff(x, axis=d)
    return np.sum(np.multiply(dx, _part(a, d, 1, None) + _part(a, d, None, -1)) / 2.0, axis=d)


@on_bounded(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    a = _operand(f)
    if a.ndim != 1 or len(varargs) > 1 or edge_order != 1:
        raise UnsupportedError("numpy.gradient of an array of run-time size takes one vector, and edge_order=1.",
                               hint=ADVICE, code="array-of-run-time-size")
    if is_partial(a):
        current_trace().check(ops.compare(as_number(a.length()), 2, "GE"), lambda: ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."))
    a = a.astype(np.float64) if a.dtype.kind in "biu" else a
    h = varargs[0] if varargs else 1.0
    if not np.ndim(h):
        inner, first, last = (a[2:] - a[:-2]) / (2. * h), (a[1:2] - a[:1]) / h, (a[-1:] - a[-2:-1]) / h
        return np.concatenate([first, inner, last])
    steps = np.diff(_operand(h))
    p, q = steps[:-1], steps[1:]
    inner = -q / (p * (p + q)) * a[:-2] + (q - p) / (p * q) * a[1:-1] + p / (q * (p + q)) * a[2:]
    return np.concatenate([(a[1:2] - a[:1]) / steps[:1], inner, (a[-1:] - a[-2:-1]) / steps[-1:]])


def _full_convolution(a: Any, v: Any, name: str) -> tuple[Any, Any, Any]:
    """All sums, and both lengths."""
    vectors = []
    for x in (_operand(a), _operand(v)):
        if x.ndim != 1:
            raise ValueError("object too deep for desired array")
        vectors.append(compact(x) if is_partial(x) else x)
        if is_partial(x):
            require_elements(x, [0], f"{name}: an argument cannot be empty")
    frames = [x.filled(0) if is_partial(x) else x for x in vectors]
    lengths = [x.length() if is_partial(x) else x.shape[0] for x in vectors]
    n, m = (k if isinstance(k, int) else python_number(k) for k in lengths)
    return Bounded(np.convolve(*frames), [Range(0, minus(plus(*lengths), 1))]), n, m


@on_bounded(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    full, n, m = _full_convolution(a, v, "convolve")
    long, short = np.maximum(n, m), np.minimum(n, m)
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")
    start = (short - 1) // 2 if mode == "same" else short - 1
    return full[start:start + long if mode == "same" else long]


@on_bounded(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    if mode not in ("valid", "full"):
        raise UnsupportedError("numpy.correlate of an array of run-time size takes mode='valid' or mode='full'.",
                               hint=ADVICE, code="array-of-run-time-size")
    return convolve(a, np.conj(_operand(v))[::-1], mode)


# ---- products --------------------------------------------------------------------------------------------------

@on_bounded(np.einsum)
def einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: object = False) -> Any:
    """Each label has one extent; operands are moved there, zero outside."""
    arrays = [_operand(a) for a in operands]
    if not isinstance(subscripts, str) or "." in subscripts:
        raise UnsupportedError("numpy.einsum of arrays of run-time size takes a text without '...'.", hint=ADVICE,
                               code="array-of-run-time-size")
    lists, result = label_lists(subscripts, [a.ndim for a in arrays])
    extents: dict[Any, tuple[Extent, int]] = {}
    for a, labels in zip(arrays, lists, strict=True):
        for d, label in enumerate(labels) if is_partial(a) else ():
            if a.extents[d] is not None:
                extents.setdefault(label, (a.extents[d], a.frame.shape[d]))
    frames = []
    for a, labels in zip(arrays, lists, strict=True):
        own = a.frame.shape if is_partial(a) else a.shape
        wanted, sizes = zip(*(extents.get(label, (None, n)) for label, n in zip(labels, own, strict=True)),
                            strict=True) if labels else ((), ())
        moved = aligned(a, wanted, sizes)
        frames.append(Bounded(Tensor.of_value(moved), [None if n == 1 else e for e, n in zip(
            wanted, Tensor.of_value(moved).shape, strict=True)]).filled(0))
    found = with_extents(np.einsum(subscripts, *frames), [extents.get(label, (None,))[0] for label in result])
    if out is not None:
        out[...] = found
    return found if out is None else out


@on_bounded(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = _operand(a), _operand(b)
    letters = iter(string.ascii_letters)
    left, right = [next(letters) for _ in range(x.ndim)], [next(letters) for _ in range(y.ndim)]
    if hasattr(axes, "__index__"):
        n = int(axes)
        summed = list(zip(range(x.ndim - n, x.ndim), range(n), strict=True))
    else:
        summed = list(zip(*(np.atleast_1d(side).tolist() for side in axes), strict=True))
    for i, j in summed:
        right[j] = left[i]
    gone = {left[i] for i, _ in summed}
    kept = [label for label in (*left, *right) if label not in gone]
    found = einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", x, y)
    return found if found.ndim else Tensor.of_value(found.value())      # NumPy: a 0-d array here


@on_bounded(np.kron)
def kron(a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise UnsupportedError("numpy.kron of arrays of run-time size takes two vectors.", hint=ADVICE,
                               code="array-of-run-time-size")
    return np.outer(a, b).flatten()


@on_bounded(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    rank = len(xi)
    place = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else range(rank)
    shaped = [np.ravel(_operand(x))[tuple(slice(None) if d == place[k] else None for d in range(rank))]
              for k, x in enumerate(xi)]
    return tuple(x.copy() for x in (shaped if sparse else np.broadcast_arrays(*shaped)))
