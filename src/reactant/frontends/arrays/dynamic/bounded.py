"""Arrays whose size is only known at run time: slices with run-time bounds (`A[i, :i]`, `x[a:b]`) and masked reads.

A `Bounded` is a dense *frame* (a tensor of static shape, usually a view of the user's array) and, per dimension, an
extent: all of it, a range `start <= index < stop` with run-time bounds, or a 1-d mask. Elementwise operations act on
whole frames, reductions and products first fill what lies outside with the neutral element, writes select. Operands
with other extents are moved into place; that lengths agree is checked at run time. What needs the true shape raises.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import LeakError, UnsupportedError
from reactant.frontends.arrays import layouts, memory_order, value_facts, view_steps
from reactant.frontends.arrays.promotion import MOST_DIMENSIONS, NO_NUMBER
from reactant.frontends.arrays.storage_aliasing import MovedTogether
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number, wrap
from reactant.frontends.arrays.tensor_methods import COMPARISONS, OPERATORS
from reactant.frontends.arrays.ufuncs import as_value, cast, require_matrix
from reactant.frontends.session.dispatch import meaning, means
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of
from reactant.support.records import dataclass

ADVICE = ("Its size depends on run-time values. Reduce it, multiply it, combine it with arrays of the same extent or "
          "store it; or compute on the whole array with np.where(condition, x, y).")
Number: TypeAlias = "int | ir.Value"


@dataclass(frozen=True, eq=False)
class Range:
    """Elements `start <= index < stop`, 0 <= start <= stop <= size of the frame."""
    start: Number
    stop: Number

    def valid(self, n: int) -> ir.Value | None:
        """A 1-d mask of the elements inside; None where all are."""
        index, mask = ops.iota((n,), np.int64, 0), None
        if self.start != 0:
            mask = ops.compare(index, _spread(self.start, n), "GE")
        if self.stop != n:
            below = ops.compare(index, _spread(self.stop, n), "LT")
            mask = below if mask is None else ops.and_(mask, below)
        return mask

    def length(self) -> Number:
        known = value_facts.difference(self.stop, self.start)
        return known if known is not None else minus(self.stop, self.start)


@dataclass(frozen=True, eq=False)
class Mask:
    """Elements where the 1-d boolean `value` is true, in order."""
    value: ir.Value

    def valid(self, n: int) -> ir.Value:
        return self.value

    def length(self) -> ir.Value:
        return ops.reduce(ops.convert(self.value, np.int64), 0, [0], "add")

    def only(self, end: int) -> Range:
        """The first (0) or the last (-1) of what is selected: one element, or none."""
        (n,) = shape_of(self.value)
        dtype = np.int32 if n < 1 << 31 else np.int64       # half the memory, twice the lanes
        nothing, body, holds = (-1, "maximum", "GE") if end else (n, "minimum", "LT")
        places = ops.select(self.value, ops.iota((n,), dtype, 0), nothing)
        found = ops.convert(ops.reduce(places, nothing, [0], body), np.int64)
        there = ops.convert(ops.compare(found, 0 if end else n, holds), np.int64)
        return Range(found, ops.add(found, there))

    def ranks(self) -> ir.Value:
        """For each selected element, how many selected ones stand before it."""
        counts = np.add.accumulate(Tensor.of_value(ops.convert(self.value, np.int64)))
        return ops.subtract(counts.value(), 1)


Extent = Range | Mask


def _spread(x: Number, n: int) -> ir.Value:
    return ops.constant(x, np.int64, (n,)) if isinstance(x, int) else ops.broadcast_in_dim(x, (n,), [])


def as_number(x: Number) -> ir.Value:
    return ops.constant(x, np.int64) if isinstance(x, int) else x


def minus(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if isinstance(b, int) and b == 0 else ops.subtract(as_number(a), as_number(b))


def plus(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return a if isinstance(b, int) and b == 0 else ops.add(as_number(a), as_number(b))


def in_order(start: Number, stop: Number) -> bool:
    """Whether a range is known not to end before it begins."""
    if isinstance(start, int) and start == 0:
        return True
    known = value_facts.difference(stop, start)
    if known is not None:
        return known >= 0
    ends = [(n, n) if isinstance(n, int) else value_facts.bounds(n) for n in (start, stop)]
    return ends[0] is not None and ends[1] is not None and ends[0][1] <= ends[1][0]


def same_extent(a: Extent, b: Extent) -> bool:
    """Surely the same positions of the frame."""
    if isinstance(a, Mask) or isinstance(b, Mask):
        return isinstance(a, Mask) and isinstance(b, Mask) and value_facts.same(a.value, b.value)
    return value_facts.same(a.start, b.start) and value_facts.same(a.stop, b.stop)


def require_equal(a: Number, b: Number, text: str, error: type[Exception] = ValueError) -> None:
    """Two lengths agree: now where known, else checked at run time."""
    known = value_facts.difference(a, b)
    if known is None:
        current_trace().check(ops.compare(as_number(a), as_number(b), "EQ"), lambda: error(text))
    elif known:
        raise error(text)


_MISMATCH = ("operands could not be broadcast together: their run-time lengths differ (a length that is 1 at run time "
             "is not broadcast in compiled code)")


class Bounded:
    """An array of run-time size. `partial` marks the class for `Tensor`'s dispatch."""

    __slots__ = ("extents", "frame", "progression", "region")
    partial = True
    __array_priority__ = 2000.0

    def __init__(self, frame: Tensor, extents: Sequence[Extent | None]):
        self.frame, self.extents = frame, tuple(extents)
        self.region = current_trace().region
        self.progression: tuple[Any, Any, Any] | None = None
        """Start, stop and step of whole numbers at equal distances."""

    # -- content

    def value(self) -> ir.Value:
        """The frame's content; outside the extents it means nothing."""
        if self.region.closed:
            raise LeakError()
        return self.frame.value()

    def valid(self, dimensions: Sequence[int] | None = None) -> ir.Value | None:
        """True where every one of `dimensions` (default: all) is inside its extent; frame-shaped, None for all."""
        mask, shape = None, self.frame.shape
        for d in range(self.ndim) if dimensions is None else dimensions:
            inside = None if self.extents[d] is None else self.extents[d].valid(shape[d])
            if inside is not None:
                wide = ops.broadcast_in_dim(inside, shape, [d])
                mask = wide if mask is None else ops.and_(mask, wide)
        return mask

    def filled(self, fill: object, dimensions: Sequence[int] | None = None) -> Tensor:
        """The frame with `fill` outside the extents of `dimensions`."""
        mask = self.valid(dimensions)
        value = self.value()
        return Tensor.of_value(value if mask is None else ops.select(mask, value, fill))

    def length(self, dimension: int = 0) -> Number:
        extent = self.extents[dimension]
        return self.frame.shape[dimension] if extent is None else extent.length()

    def sizes(self) -> list[ir.Value]:
        """The values that its size depends on."""
        parts = [part for e in self.extents if e is not None
                 for part in ((e.value,) if isinstance(e, Mask) else (e.stop, e.start))]
        return [part for part in parts if not isinstance(part, int)]

    # -- attributes

    @property  # type: ignore[misc]  # `object` says that it can be set
    def __class__(self) -> type:
        return np.ndarray

    @property
    def dtype(self) -> np.dtype:
        return self.frame.dtype

    @property
    def ndim(self) -> int:
        return self.frame.ndim

    @property
    def shape(self) -> tuple:
        """Sizes: ints where static, run-time Python numbers elsewhere."""
        return tuple(self._size(d) for d in range(self.ndim))

    def _size(self, d: int) -> Any:
        n = self.length(d)
        return n if isinstance(n, int) else python_number(n, interval=(0, self.frame.shape[d]))

    @property
    def size(self) -> Any:
        total: Any = 1
        for n in self.shape:
            total = n if type(total) is int and total == 1 else total * n
        return total

    @property
    def device(self) -> str:
        return self.frame.device

    @property
    def flags(self) -> Any:
        return self.frame.flags

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def T(self) -> Bounded:
        return self.transpose()

    @property
    def real(self) -> Bounded:
        return Bounded(self.frame.real, self.extents)

    @real.setter
    def real(self, value: object) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Bounded:
        return Bounded(self.frame.imag, self.extents)

    @imag.setter
    def imag(self, value: object) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    def transpose(self, *axes: int) -> Bounded:
        order = axes or tuple(reversed(range(self.ndim)))
        return Bounded(self.frame.transpose(*order), [self.extents[d] for d in order])

    def copy(self, order: str = "C") -> Bounded:
        return Bounded(self.frame.copy(order), self.extents)

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> Bounded:
        return self.copy()

    def astype(self, dtype: object, **options: object) -> Bounded:
        return Bounded(self.frame.astype(dtype, **options), self.extents)

    def ravel(self, order: str = "C") -> Bounded:
        """A copy where there are several dimensions, which may be a view in NumPy: not to be written unseen."""
        if self.ndim == 1:
            return self
        flat = self.flatten(order)
        return Bounded(guarded_copy(flat.frame, self.frame), flat.extents)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order)

    def flatten(self, order: str = "C") -> Bounded:
        order = memory_order.letter(order)
        if order == "F" or order in "AK" and self.frame.flags.fnc:
            return flattened(self.T)
        return self.copy() if self.ndim == 1 else flattened(self)

    def sort(self, axis: int = -1, **options: Any) -> None:
        self.store(np.sort(self, axis=axis, **options))

    def fill(self, value: object) -> None:
        self.store(value)

    def swapaxes(self, axis1: int, axis2: int) -> Bounded:
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(*order)

    # -- indexing

    def __getitem__(self, key: object) -> Any:
        return meaning.get_item_dynamic(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        meaning.put_item_dynamic(self, key, value)

    def store(self, value: object) -> None:
        """Write `value`, broadcast to this extent, into the frame."""
        self.frame.require_writeable()
        if type(value) is Bounded and self._is_itself(value):
            return
        source = value if type(value) is Bounded else wrap(value)
        moved = cast(aligned(source, self.extents, self.frame.shape), self.dtype)
        mask, new = self.valid(), layouts.broadcast(moved, self.frame.shape)
        self.frame.assign(new if mask is None else ops.select(mask, new, self.value()))

    def _is_itself(self, other: Bounded) -> bool:
        """The very same elements (what `a[key] += v` stores at the end)."""
        mine, theirs = self.frame, other.frame
        return mine.storage is theirs.storage and len(mine.steps) == len(theirs.steps) and all(
            same_step(a, b) for a, b in zip(mine.steps, theirs.steps, strict=True)) and all(
            a is b or (a is not None and b is not None and same_extent(a, b))
            for a, b in zip(self.extents, other.extents, strict=True))

    # -- dispatch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        return meaning.ufunc_dynamic(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable, types: object, args: tuple, kwargs: dict) -> Any:
        return meaning.function_dynamic(function, args, kwargs)

    # -- what cannot be

    def __len__(self) -> int:
        n = self.length()
        if isinstance(n, int):
            return n
        raise UnsupportedError("len() of an array of run-time size needs converted code.", hint="Use x.shape[0].",
                               code="array-of-run-time-size")

    def __iter__(self) -> Iterator:
        raise UnsupportedError("Iterating over an array of run-time size.", hint=ADVICE, code="array-of-run-time-size")

    def item(self, *key: Any) -> Any:
        """The element as a Python number; ValueError, at run time, where there is not just one and no key."""
        if key:
            place = key[0] if len(key) == 1 else key
            return (self if type(place) is tuple or self.ndim == 1 else self.flatten())[place].item()
        error = "can only convert an array of size 1 to a Python scalar"
        for d in range(self.ndim):
            require_equal(self.length(d), 1, error)
        return self[(0,) * self.ndim].item()

    def _as_number(self) -> Any:
        if not MOST_DIMENSIONS:
            raise TypeError(NO_NUMBER)
        raise UnsupportedError("A number of an array of run-time size.", hint="Use x.item().",
                               code="array-of-run-time-size")

    __int__ = __float__ = __complex__ = _as_number

    def __bool__(self) -> bool:
        raise UnsupportedError("The truth value of an array of run-time size.", hint="Use .any() or .all().",
                               code="array-of-run-time-size")

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise UnsupportedError("An array of run-time size is needed as a whole here.", hint=ADVICE,
                               code="array-of-run-time-size")

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __repr__(self) -> str:
        sizes = ", ".join("?" if self.extents[d] is not None else str(n) for d, n in enumerate(self.frame.shape))
        return f"<traced array {self.dtype}[{sizes}]>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name == "clip":
            return lambda min=None, max=None, out=None: np.clip(self, min, max, out)
        if name in _METHODS:
            function = getattr(np, name)
            return lambda *args, **kwargs: function(self, *args, **kwargs)
        raise _unsupported(name)


_METHODS = {"all", "any", "argmax", "argmin", "argsort", "conj", "conjugate", "cumprod", "cumsum", "dot", "max",
            "mean", "min", "nonzero", "prod", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "trace",
            "var"}


def _unsupported(name: str) -> UnsupportedError:
    return UnsupportedError(f"numpy.{name} of an array of run-time size is not supported in compiled code.",
                            hint=ADVICE, code="array-of-run-time-size")


def guarded_copy(copy: Tensor, source: Tensor) -> Tensor:
    """A copy of what is, or may be, a view in NumPy: neither may be written while the other is in use."""
    return Tensor(MovedTogether("", [source.storage], copy.value()))


def is_partial(x: object) -> bool:
    return type(x) is Bounded


def with_extents(result: Any, extents: Sequence[Extent | None]) -> Any:
    """A result whose dimensions have these extents: an array of static size where none is given."""
    return Bounded(result, extents) if any(e is not None for e in extents) else result


def _operator(ufunc: np.ufunc, reflected: bool = False) -> Callable:
    def apply(self: Bounded, other: object) -> Any:
        return ufunc(other, self) if reflected else ufunc(self, other)
    return apply


def _in_place(ufunc: np.ufunc) -> Callable:
    def apply(self: Bounded, other: object) -> Bounded:
        if ufunc is np.matmul:
            require_matrix(other)
        return ufunc(self, other, out=self)
    return apply


for _name, _ufunc in OPERATORS.items():
    setattr(Bounded, f"__{_name}__", _operator(_ufunc))
    setattr(Bounded, f"__r{_name}__", _operator(_ufunc, reflected=True))
    setattr(Bounded, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in COMPARISONS.items():
    setattr(Bounded, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Bounded, f"__{_name}__", lambda self, _ufunc=_ufunc: _ufunc(self))


@means("in_place_dynamic")
def in_place(ufunc: np.ufunc, target: Tensor, other: Bounded) -> Tensor:
    """`target += other` where only `other` has a run-time size."""
    return ufunc(target, other, out=target)


def same_step(a: view_steps.Step, b: view_steps.Step) -> bool:
    if isinstance(a, view_steps.DynamicSliceStep) and isinstance(b, view_steps.DynamicSliceStep):
        return a.shape == b.shape and all(value_facts.same(p, q) for p, q in zip(a.starts, b.starts, strict=True))
    return type(a) is type(b) and a == b


# ---- moving into place -----------------------------------------------------------------------------------------

def aligned(source: Tensor | Bounded, extents: Sequence[Extent | None], shape: Shape) -> ir.Value:
    """The content of `source` where `extents` of a frame of `shape` want it; unit dimensions stay for broadcasting.
    Lengths that do not agree raise ValueError, at run time where that is when they are known."""
    value = source.value() if type(source) is Bounded else as_value(source, source.dtype)
    own = source.extents if type(source) is Bounded else (None,) * source.ndim
    sizes = list(shape_of(value))
    while len(own) > len(extents) and own[0] is None and sizes[0] == 1:
        value, own = ops.reshape(value, sizes[1:]), own[1:]
        sizes = sizes[1:]
    if len(own) > len(extents):
        raise ValueError("could not broadcast input array into the shape of a slice of lower dimension")
    lead = len(extents) - len(own)
    for d, extent in enumerate(own):
        value = _into_place(value, d, extent, extents[lead + d], shape[lead + d])
    return value


def _into_place(value: ir.Value, d: int, own: Extent | None, target: Extent | None, n: int) -> ir.Value:
    size = shape_of(value)[d]
    if own is None and (size == 1 or (target is None and size == n)):
        return value
    if own is not None and target is not None and size == n and same_extent(own, target):
        return value
    source, wanted = own or Range(0, size), target or Range(0, n)
    require_equal(source.length(), wanted.length(), _MISMATCH)
    if isinstance(source, Mask):
        value, source = compressed(value, d, source), Range(0, size)     # only the first elements mean something
    if isinstance(wanted, Mask):
        ranks = ops.clamp(0, ops.add(wanted.ranks(), _spread(source.start, n)), max(size - 1, 0))
        return _gathered(value, d, ranks)
    return _shifted(value, d, source.start, wanted.start, n)


def _gathered(value: ir.Value, d: int, positions: ir.Value) -> ir.Value:
    """Elements of dimension `d` at `positions` (1-d, in range)."""
    shape = list(shape_of(value))
    if 0 in shape:
        shape[d] = shape_of(positions)[0]
        return ops.constant(0, dtype_of(value), shape)
    sizes = [1 if k == d else n for k, n in enumerate(shape)]
    return ops.gather(value, ops.reshape(positions, (*shape_of(positions), 1)), offset_dims=[
        k for k in range(len(shape)) if k != d], collapsed_slice_dims=[d], start_index_map=[d], index_vector_dim=1,
        slice_sizes=sizes)


def compressed(value: ir.Value, d: int, mask: Mask) -> ir.Value:
    """The selected elements of dimension `d` at the front, in order."""
    n = shape_of(value)[d]
    target = ops.select(mask.value, mask.ranks(), n)      # outside: skipped
    alone = shape_of(value) == (n,)
    moved = value if alone else ops.iota((n,), np.int64, 0)
    found = ops.scatter(ops.constant(0, dtype_of(moved), (n,)), ops.reshape(target, (n, 1)), moved, "second",
                        update_window_dims=(), inserted_window_dims=[0], scatter_dims_to_operand_dims=[0],
                        index_vector_dim=1)
    return found if alone else _gathered(value, d, found)


def _shifted(value: ir.Value, d: int, start: Number, wanted: Number, n: int) -> ir.Value:
    """A window of `n` elements of dimension `d` in which the element at `start` stands at `wanted`."""
    shape = list(shape_of(value))
    gap = value_facts.difference(start, wanted)
    low, high = [0] * len(shape), [0] * len(shape)
    if gap is not None:
        low[d], high[d] = -gap, n + gap - shape[d]
        return ops.pad(value, 0, low, high)
    low[d] = high[d] = n
    padded = ops.pad(value, 0, low, high)
    starts = [ops.constant(0, np.int64)] * len(shape)
    starts[d] = ops.add(minus(as_number(start), as_number(wanted)), n)
    shape[d] = n
    return ops.dynamic_slice(padded, starts, shape)


__all__ = ["ARRAY", "PYTHON", "Bounded", "Mask", "Range", "aligned", "in_place", "is_partial"]


@means("store_dynamic")
def store(target: Tensor, value: Bounded) -> None:
    """Write into all of an array of static shape."""
    Bounded(target, [None] * target.ndim).store(value)


def flattened(a: Bounded) -> Bounded:
    """A copy of all elements in one dimension, row by row."""
    valid = a.valid()
    everything = a.frame.size
    extent = Range(0, everything) if valid is None else Mask(ops.reshape(valid, (everything,)))
    return Bounded(Tensor.of_value(ops.reshape(a.value(), (everything,))), [extent])


def by_position(a: Bounded) -> Bounded:
    """The same elements with their first dimension addressable by number: what a mask selects is moved together."""
    if not isinstance(a.extents[0], Mask):
        return a
    front = compressed(a.value(), 0, a.extents[0])
    return Bounded(Tensor.of_value(front), [Range(0, a.length(0)), *a.extents[1:]])


def common_extents(arrays: Sequence, rank: int) -> tuple[list[Extent | None], list[int]]:
    """Per result dimension: the extent of the first operand that has one, and the frame's size there."""
    extents: list[Extent | None] = [None] * rank
    shape = [1] * rank
    for a in arrays:
        lead = rank - a.ndim
        own = a.extents if is_partial(a) else (None,) * a.ndim
        sizes = a.frame.shape if is_partial(a) else a.shape
        for d, extent in enumerate(own):
            if extent is not None and extents[lead + d] is None:
                extents[lead + d], shape[lead + d] = extent, sizes[d]
            elif extents[lead + d] is None and sizes[d] != 1:
                shape[lead + d] = sizes[d]
    return extents, shape


def framed(x: Any, extents: Sequence[Extent | None], shape: Sequence[int]) -> Tensor:
    lead = len(extents) - x.ndim
    if is_tensor(x) and (not x.ndim or all(
            n == 1 or extents[lead + d] is None for d, n in enumerate(x.shape))):
        return x        # keeps scalars weak
    return Tensor.of_value(aligned(x, extents[lead:], shape[lead:]))
