"""Device arrays that behave like NumPy's: `reactant.array(x)`.

A `DeviceArray` holds a `jax.Array` and speaks NumPy: operators, ufuncs, NumPy functions, indexing, views that alias,
item assignment, DLPack. What comes out is what NumPy gives, dtype included (NEP 50), whatever `jax_enable_x64` is;
arrays come out as device arrays, single numbers as NumPy scalars. For jax's own functions, pass `x.jax`.

Outside compiled code the work is done by NumPy on CPU, on the buffer itself and not a copy of it, and by jax.numpy
on other devices where that gives the same (`reactant.runtime.array_functions`). It is meant for moving data to and from
compiled functions and for odds and ends between them: `jax.Array` being immutable, every item assignment makes a new
buffer of the whole array.
"""
from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array, Device
from jax.sharding import NamedSharding, Sharding

from reactant.errors import waiting
from reactant.ir import types
from reactant.runtime import array_functions, meshes, shards, sources
from reactant.runtime.array_flat import Flags, Flat
from reactant.runtime.jax_internals import X64, NotFitting
from reactant.runtime.layout import Layout, box_of, is_basic, is_element, layout_in, read, shadow_of, strided, write
from reactant.runtime.storage import Storage, buffer_of, computes, require_held, require_there, whole_on
from reactant.support import named_tuples

READ_ONLY = ("assignment destination is read-only: a part of a complex array, a diagonal, a broadcast array, or one "
             "whose flags say so. Assign to the array itself (`x.real = ...`), or copy it first.")


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on a device that behaves as NumPy's arrays do; made by `reactant.array`.

    Operators, NumPy functions, indexing, views that share elements, item assignment and the methods and attributes of
    `numpy.ndarray` give what they give for NumPy's arrays, dtypes included. Single elements come as NumPy scalars. What
    follows is what NumPy's arrays do not have, or have otherwise.

    Example:
        >>> x = reactant.array(np.arange(6.0).reshape(2, 3))
        >>> x.T[0], np.sum(x, axis=1)
        (reactant.array([0., 3.]), reactant.array([ 3., 12.]))
    """

    __slots__ = ("__weakref__", "_held", "_layout", "_snapshot", "_writeable")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Array, shape: tuple[int, ...] | None = None) -> None:
        """Hold `value`, or where it has padding the array of this shape in it; `reactant.array` is the way to make one
        of other things."""
        self._held: Array | Storage = value if shape is None or shape == value.shape else Storage(value, shape)
        self._layout: Layout | None = None  # None: all of the buffer
        self._snapshot: tuple[Array, Array] | None = None  # what a view was last read from, and what it gave
        self._writeable = True

    def __init_subclass__(cls) -> None:
        raise TypeError("reactant.DeviceArray cannot be subclassed: compiled functions would take the objects for "
                        "plain device arrays. Hold one in an object of your own.")

    def _view(self, layout: Layout) -> DeviceArray:
        view = DeviceArray.__new__(DeviceArray)
        view._held = self._storage
        view._layout = None if layout == Layout.whole(self._storage.shape) else layout
        view._snapshot = None
        view._writeable = self._writeable
        return view

    @property
    def _storage(self) -> Storage:
        """What the array shares with its views. It is made for the first of them: results of calls seldom have any."""
        held = self._held
        if not isinstance(held, Storage):
            with _SHARING:
                held = self._held
                if not isinstance(held, Storage):
                    held = self._held = Storage(held)
        return held

    @property
    def _rests(self) -> tuple[int, ...] | None:
        """The padding of the buffer, if it has any."""
        held = self._held
        return held.rests if type(held) is Storage else None

    def _current(self) -> Array:
        """The buffer, which is there."""
        held = self._held
        return require_there(held) if type(held) is not Storage else held.current()

    # What it is

    @property
    def jax(self) -> Array:
        """The elements as a `jax.Array`: the buffer itself, or a copy of the part that a view shows.

        Where a dimension does not divide on a mesh, jax has no array that is divided there: it is a copy, undivided, on
        each device.
        """
        value = self._current()
        if type(self._held) is not Storage or self._layout is None and self._held.rests is None:
            return value
        found = self.buffer
        return found if found.shape == self.shape else shards.without_padding(found, self.shape)

    @property
    def buffer(self) -> Array:
        """What programs for a mesh take: the buffer with its padding, or a copy of the part that a view shows, divided
        and padded in the same way."""
        value = self._current()
        if self._layout is None:
            return value
        if self._snapshot is None or self._snapshot[0] is not value:
            place = meshes.spread(value)
            box = None if place is None else box_of(self._layout, self._storage.shape)
            with X64():
                self._snapshot = value, read(self._storage.elements(), self._layout) if box is None else \
                    shards.part_of(value, box, self._layout.shape, place)
        return self._snapshot[1]

    @property
    def is_padded(self) -> bool:
        """Whether the buffer is longer than what it holds."""
        return self._rests is not None if self._layout is None else self.buffer.shape != self._layout.shape

    @property
    def sharding(self) -> Sharding:
        """How the elements lie on the devices: a `jax.sharding.Sharding`."""
        return self.buffer.sharding

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._held.shape if self._layout is None else self._layout.shape

    @shape.setter
    def shape(self, shape: int | Sequence[int]) -> None:
        view = self.reshape(shape)
        if view._storage is not self._storage:
            raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy.")
        self._layout = view.layout
        self._snapshot = None

    @property
    def dtype(self) -> np.dtype:
        """NumPy dtype of the elements."""
        held = self._held
        return np.dtype(held.value.dtype if isinstance(held, Storage) else held.dtype)

    @property
    def device(self) -> Device:
        """The device of the buffer; its sharding, as jax has it, where it is on several devices."""
        return self._current().device

    @property
    def place(self) -> Device | NamedSharding:
        """Where the buffer is; on a mesh a sharding with an entry for each dimension."""
        value = self._current()
        sharding = meshes.spread(value)
        return value.device if sharding is None else meshes.with_rank(sharding, value.ndim)

    ndim = property(lambda self: len(self.shape), doc="Number of dimensions.")
    size = property(lambda self: types.size(self.shape), doc="Number of elements.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of an element.")
    nbytes = property(lambda self: self.size * self.itemsize, doc="Bytes of the elements.")
    strides = property(lambda self: self._host().strides, doc="Bytes from element to element along each dimension.")
    flags = property(Flags, doc="NumPy's flags for this layout; `writeable` can be set to False.")
    T = property(lambda self: self.transpose(), doc="The transposed view.")
    mT = property(lambda self: self.swapaxes(-1, -2), doc="The view with the last two dimensions exchanged.")

    @property
    def real(self) -> DeviceArray:
        """The real part; of a complex array a read-only copy (assign with `x.real = ...`)."""
        return self if self.dtype.kind != "c" else self._read_only(np.real)

    @real.setter
    def real(self, value: Any) -> None:
        self.edit(lambda whole: setattr(whole, "real", _host(value)))

    @property
    def imag(self) -> DeviceArray:
        """The imaginary part; a read-only copy (assign with `x.imag = ...`)."""
        return self._read_only(np.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.edit(lambda whole: setattr(whole, "imag", _host(value)))

    @property
    def flat(self) -> Flat[DeviceArray]:
        """The elements one after the other, in row-major order; to read and to write."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    def _read_only(self, function: Callable[[np.ndarray], np.ndarray]) -> DeviceArray:
        result = _put(np.array(function(self._host())), self.place)
        result._writeable = False
        return result

    # To and from NumPy and other libraries

    def _host(self) -> np.ndarray:
        """The elements as a read-only ndarray; on CPU the buffer itself, not a copy."""
        host = shards.host_of(self._current(), self._rests)
        return host if self._layout is None else strided(host.reshape(-1), self._layout)

    def _shadow(self) -> tuple[np.ndarray, np.ndarray]:
        self._current()     # there is one
        return shadow_of(self.layout, types.size(self._held.shape), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        host = self._host()
        if copy is False and dtype is not None and np.dtype(dtype) != host.dtype:
            raise ValueError(f"A {host.dtype.name} device array is no {np.dtype(dtype).name} one without a copy.")
        return np.array(host, dtype) if copy else np.asarray(host, dtype)

    def __jax_array__(self) -> Array:
        return self.jax

    def __dlpack__(self, **options: Any) -> Any:
        return self.jax.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._current().__dlpack_device__()

    def __reduce__(self) -> Any:
        return array, (np.array(self),)

    def __copy__(self) -> DeviceArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return self.copy()

    @property
    def is_elsewhere(self) -> bool:
        """Whether some elements are in other processes, so that NumPy cannot have them without `gather`."""
        return not shards.is_here(self._current())

    def gather(self) -> np.ndarray:
        """All elements as a read-only ndarray.

        Where some are in other processes, all of these have to call it, and each gets all elements.

        Returns:
            An ndarray of the shape and dtype of the array; on one device, a CPU, its own memory and not a copy.

        Example:
            >>> reactant.array(np.arange(3.0), sharding=reactant.mesh(x=1).sharding("x")).gather()
            array([0., 1., 2.])
        """
        return self._host() if not self.is_elsewhere else shards.gathered(
            self.buffer, self.shape if self.is_padded else None)

    def block_until_ready(self) -> DeviceArray:
        """The array itself, once its elements are computed."""
        with waiting():
            self._current().block_until_ready()
        return self

    def item(self, *index: Any) -> Any:
        """One element as a Python number."""
        return self._host().item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._host().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """The elements as bytes."""
        return self._host().tobytes(order)  # type: ignore[arg-type]

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        outputs = out if isinstance(out, tuple) or out is None else (out,)
        device = _device_among((*inputs, *(outputs or ()))) or self.place
        if method == "__call__" and not options and computes(device):
            given = [argument.jax if isinstance(argument, DeviceArray) else argument for argument in inputs]
            result = array_functions.ufunc_on_device(ufunc, given, device, outputs)
            if result is not None:
                return _delivered(result, outputs)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return _by_numpy(function, inputs, {**options, **({"out": outputs} if outputs else {})}, device)

    def __array_function__(self, function: Callable[..., Any], kinds: Any, arguments: Any, options: Any) -> Any:
        device = _device_among((*arguments, *options.values())) or self.place
        name = function.__name__
        if name in array_functions.VIEWS and arguments and isinstance(arguments[0], DeviceArray):
            return arguments[0]._by_shadow(lambda shadow: function(shadow, *arguments[1:], **options))
        if computes(device):
            result = array_functions.function_on_device(name, [_on_device(a) for a in arguments],
                                                        {key: _on_device(value) for key, value in options.items()})
            if result is not None:
                return _delivered(result, None)
        return _by_numpy(function, arguments, dict(options), device)

    @property
    def layout(self) -> Layout:
        """Which elements of the buffer this shows."""
        return self._layout or Layout.whole(self._held.shape)

    @property
    def apart(self) -> tuple[int, ...] | None:
        """The strides, in elements, where those of a row-major array are others and no element stands for several."""
        layout = self._layout
        return None if layout is None or layout.contiguous or 0 in layout.strides else layout.strides

    def same_buffer(self, other: DeviceArray) -> bool:
        """Whether what is written into one may be seen in the other."""
        return self._storage is other._storage

    def overlaps(self, other: DeviceArray) -> bool:
        """Whether the two have an element of one buffer in common."""
        if not self.same_buffer(other):
            return False
        shadow, flat = shadow_of(self.layout, types.size(self._held.shape), self.dtype)
        return np.shares_memory(shadow, strided(flat, other.layout))

    def whole(self) -> DeviceArray:
        """All of the buffer, to read and to write."""
        found = self._view(Layout.whole(self._storage.shape))
        found._writeable = True
        return found

    def _by_shadow(self, function: Callable[[np.ndarray], Any]) -> Any:
        """Apply a function that gives views (or a list of them) where NumPy would, and copies where it would copy."""
        shadow, flat = self._shadow()

        def view(of_shadow: Any) -> DeviceArray:
            layout = layout_in(of_shadow, flat)
            if layout is None:
                raise _Copied
            found = self._view(layout)
            found._writeable = self._writeable and of_shadow.flags.writeable
            return found

        result = function(shadow)
        try:
            return type(result)(map(view, result)) if isinstance(result, (list, tuple)) else view(result)
        except _Copied:
            return _by_numpy(function, (self,), {}, self.place)

    def _shown(self, host: np.ndarray) -> DeviceArray:
        """What NumPy made a view of the elements: a view of them, read-only where writes could not go through it."""
        whole = shards.host_of(self._current(), self._rests).reshape(-1)
        layout = layout_in(host, whole)
        if layout is None:
            return self._read_only(lambda elements: host)
        found = self._view(layout)
        found._writeable = self._writeable and not any(
            stride == 0 and extent > 1 for stride, extent in zip(layout.strides, layout.shape, strict=True))
        return found

    # Indexing

    def __getitem__(self, index: Any) -> Any:
        if is_basic(index):
            found = self._by_shadow(lambda shadow: shadow[index]) if not is_element(index, self.ndim) else None
            return self._host()[index] if found is None else found
        return _wrapped(self._host()[_host(index)], self.place, ())

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self._writeable:
            raise ValueError(READ_ONLY)
        if not is_basic(index):
            self.edit(lambda whole: whole.__setitem__(_host(index), _host(value)))
            return
        parts = index if isinstance(index, tuple) else (index,)
        every = parts if Ellipsis in parts else (*parts, Ellipsis)  # an ellipsis makes it a view even of one element
        target = self._by_shadow(lambda shadow: shadow[every])
        new = np.empty(target.shape, self.dtype)
        new[() if is_element(index, self.ndim) else ...] = _host(value)
        target._assign(buffer_of(new, whole_on(self.place)))

    def _assign(self, new: Array) -> None:
        """Make `new`, of this shape and dtype, the elements; seen through every view of the same buffer."""
        if not self._writeable:
            raise ValueError(READ_ONLY)
        with X64():
            self._current()     # there is one
            self._storage.put(new.reshape(self._storage.shape) if self._layout is None else
                              write(self._storage.elements(), self._layout, new))

    def replace(self, new: Array) -> None:
        """Make `new` the elements, as `x[...] = new` does but without a copy; seen through every view of the buffer.

        Raises `ValueError` where shape or dtype differ.
        """
        if new.shape != self.shape or new.dtype != self.dtype:
            raise ValueError(f"A {self.dtype.name}{list(self.shape)} device array cannot become "
                             f"{new.dtype.name}{list(new.shape)}.")
        if self._layout is None and self._writeable:
            self._storage.put(new)          # the old buffer may have been donated to what made the new one
        else:
            self._assign(new)

    def become(self, other: DeviceArray) -> None:
        """As `replace`, with the elements of another array, which nobody else has; they lie where that one has them."""
        if self._layout is None and self._writeable and other._layout is None and self.shape == other.shape \
                and self.dtype == other.dtype:
            ours, theirs = self._storage, other._storage
            ours.value, ours.rests = theirs.value, theirs.rests
        else:
            self.replace(other.jax)

    def edit(self, change: Callable[[np.ndarray], Any]) -> None:
        """Let NumPy change a copy of the elements in place, then take it as the elements."""
        whole = np.array(self._host())
        change(whole)
        self._assign(buffer_of(whole, whole_on(self.place)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return _host(value) in self._host()

    def __bool__(self) -> bool:
        return bool(self._host())

    def __int__(self) -> int:
        return int(self._host())

    def __float__(self) -> float:
        return float(self._host())

    def __complex__(self) -> complex:
        return complex(self._host())

    def __index__(self) -> int:
        return self._host().__index__()

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __buffer__(self, flags: int) -> memoryview:     # asked for from Python 3.12 on
        return memoryview(self._host())

    def __eq__(self, other: object) -> Any:
        return self._compared(operator.eq, super().__eq__, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, super().__ne__, other)

    def _compared(self, compare: Callable[[Any, Any], Any], by_ufunc: Callable[[Any], Any], other: object) -> Any:
        try:
            return by_ufunc(other)
        except TypeError:       # texts: `==` of NumPy takes them, the ufunc does not
            return _wrapped(compare(self._host(), _host(other)), self.place, ())

    def __repr__(self) -> str:
        prefix = "reactant."
        if self.is_elsewhere:
            return f"{prefix}array(<{self._told()}>, shape={self.shape}, dtype={self.dtype.name})"
        return prefix + repr(np.asarray(self._host())).replace("\n", "\n" + " " * len(prefix))

    def __str__(self) -> str:
        return f"<{self.dtype.name}{list(self.shape)}, {self._told()}>" if self.is_elsewhere else str(self._host())

    def _told(self) -> str:
        where = shards.told(self._current(), self._held.shape)
        return where if self._layout is None else f"of an array {where}"

    def __format__(self, specification: str) -> str:
        return str(self) if self.is_elsewhere and not specification else format(self._host(), specification)

    # Methods of ndarray; the rest of them come from the table below

    def reshape(self, *shape: Any, **options: Any) -> DeviceArray:
        """A view of another shape where NumPy gives one, else a copy.

        Args:
            shape: extents, as one tuple or several ints; one may be -1.
            options: `order`, as for `numpy.ndarray.reshape`.

        Returns:
            A `DeviceArray`.

        Raises:
            ValueError: for a shape of another size.
        """
        return self._by_shadow(lambda shadow: shadow.reshape(*shape, **options))

    def view(self, dtype: Any = None) -> DeviceArray:
        """Another array object over the same elements.

        Args:
            dtype: that of the array, or None.

        Returns:
            A `DeviceArray` that shares the elements.

        Raises:
            TypeError: for another dtype: a device has no bytes to show. `reactant.array(np.asarray(x).view(dtype))` is
                a copy.
        """
        if dtype is not None and np.dtype(dtype) != self.dtype:
            raise TypeError(f"A device array of {self.dtype} cannot be viewed as {np.dtype(dtype)}. For a copy: "
                            f"reactant.array(np.asarray(x).view(dtype)).")
        return self._by_shadow(lambda shadow: shadow.view())

    def transpose(self, *axes: Any) -> DeviceArray:
        """The view with permuted dimensions."""
        return self._by_shadow(lambda shadow: shadow.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> DeviceArray:
        """The view with two dimensions exchanged."""
        return self._by_shadow(lambda shadow: shadow.swapaxes(first, second))

    def ravel(self, order: str = "C") -> DeviceArray:
        """A flat view where NumPy gives one, else a copy."""
        return self._by_shadow(lambda shadow: shadow.ravel(order))  # type: ignore[arg-type]

    def squeeze(self, axis: Any = None) -> DeviceArray:
        """The view without dimensions of extent 1."""
        return self._by_shadow(lambda shadow: shadow.squeeze(axis))

    def diagonal(self, *options: Any, **named: Any) -> DeviceArray:
        """The diagonal; read-only, as NumPy's is."""
        return self._by_shadow(lambda shadow: shadow.diagonal(*options, **named))

    def copy(self, order: str = "C") -> DeviceArray:
        """A copy, on the same device or divided in the same way.

        Args:
            order: as for `numpy.ndarray.copy`; buffers lie by rows in any case.

        Returns:
            A `DeviceArray` that shares nothing.
        """
        if self._layout is None and meshes.spread(self._current()) is not None:
            return DeviceArray(self._current().copy(), self.shape)
        return _put(np.array(self._host()), self.place)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
               copy: bool = True) -> DeviceArray:
        """The elements converted to another dtype.

        Args:
            dtype: the dtype wanted.
            order: as for `numpy.ndarray.astype`; buffers lie by rows in any case.
            casting: "no", "equiv", "safe", "same_kind" or "unsafe", as for NumPy.
            subok: without effect.
            copy: False for the array itself where it has that dtype.

        Returns:
            A `DeviceArray` of the same shape.

        Raises:
            TypeError: for a conversion that `casting` does not admit, and for dtypes that no device holds.
        """
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        made = self._host().astype(dtype, order, casting, subok, True)  # type: ignore[call-overload]
        return _put(made, self.place)

    def setflags(self, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """As `numpy.ndarray.setflags`: `write=False` makes this array (not its views) read-only, for good."""
        if write is not None:
            self.flags.writeable = write

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[...] = value

    def to_device(self, device: Device) -> DeviceArray:
        """The array on another device: a copy, or itself when it is there.

        Args:
            device: the `jax` of one of `reactant.devices()`.

        Returns:
            A `DeviceArray`.
        """
        return self if device == self.device else DeviceArray(jax.device_put(self.jax, device))


    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(np.ndarray, name):
            raise AttributeError(f"A device array has no '{name}'; np.asarray(x).{name} is that of its elements on the "
                                 "host, read-only.", name=name, obj=self)
        raise AttributeError(f"'DeviceArray' object has no attribute '{name}'", name=name, obj=self)


def held(value: Array) -> DeviceArray:
    """`DeviceArray(value)` in half the time: every call with device arrays makes its results so."""
    made = _new(DeviceArray)
    made._held, made._layout, made._snapshot, made._writeable = value, None, None, True
    return made


def whole_buffer(array: DeviceArray) -> Array:
    """The buffer that an array is all of, which nobody has looked after. Raises `NotFitting` for others."""
    found = array._held
    if type(found) is not Storage:
        return found
    if array._layout is not None or found.rests is not None:
        raise NotFitting
    return found.value


held_by: Callable[[DeviceArray], Array | Storage] = vars(DeviceArray)["_held"].__get__
"""What an array holds: the buffer, or what it shares with its views. Raises `TypeError` for what is no such array."""
_new = object.__new__
_SHARING = threading.Lock()


class _Copied(Exception):
    """NumPy made a copy where a view was asked for."""


def _method(name: str) -> Callable[..., Any]:
    def method(self: DeviceArray, *arguments: Any, **options: Any) -> Any:
        return _by_numpy(lambda host, *rest, **named: getattr(host, name)(*rest, **named),
                         (self, *arguments), options, self.place)

    method.__name__, method.__doc__ = name, f"As `numpy.ndarray.{name}`."
    return method


def _method_in_place(name: str) -> Callable[..., None]:
    def method(self: DeviceArray, *arguments: Any, **options: Any) -> None:
        self.edit(lambda whole: getattr(whole, name)(*map(_host, arguments),
                                                      **{key: _host(value) for key, value in options.items()}))

    method.__name__, method.__doc__ = name, f"As `numpy.ndarray.{name}`, in place."
    return method


for _name in ("all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum dot "
              "dump dumps flatten max mean min nonzero prod repeat round searchsorted std sum take tofile trace var"
              ).split():
    setattr(DeviceArray, _name, _method(_name))
for _name in ("sort", "partition", "put"):
    setattr(DeviceArray, _name, _method_in_place(_name))


def array(value: Any, dtype: Any = None, *, device: Device | None = None, copy: bool = True,
          sharding: NamedSharding | None = None, shape: int | Sequence[int] | None = None) -> DeviceArray:
    """A device array of a value: an ndarray, a number, nested lists, a `jax.Array`, another device array.

    Args:
        value: the elements. With a sharding also a `np.memmap`, the path of a `.npy` file, or an array elsewhere that
            has a shape, a dtype and slices (zarr's, h5py's): of those only the parts of this process's devices are
            read, each once. With `shape` a function, which is given a tuple of slices and returns that part.
        dtype: as for `numpy.array`; what NumPy would choose when None, in 64 bits whatever jax's default is.
        device: one of `reactant.devices()`, or jax's; jax's default device when None.
        copy: False to share the buffer of a `jax.Array` or device array that is in the right place already.
        sharding: how it is divided over a mesh, `reactant.mesh(x=8).sharding("x")`; any size divides.
        shape: of an array that a function makes part by part.

    Returns:
        A `DeviceArray`; compiled functions take it where it lies and give such.

    Raises:
        TypeError: for dtypes that no device holds (object, datetime, strings, longdouble); for a device and a sharding.
        ShardingError: for a sharding of more dimensions than the array has, and for a part of another shape.

    Example:
        >>> x = reactant.array(np.arange(4.0))
        >>> x[1:] *= 10.0
        >>> x
        reactant.array([ 0., 10., 20., 30.])
        >>> type(reactant.jit(lambda x: x + 1.0)(x)).__name__
        'DeviceArray'
        >>> rows = reactant.mesh(x=1).sharding("x")
        >>> reactant.array(lambda part: np.ones((part[0].stop - part[0].start, 3)), shape=(5, 3), sharding=rows).shape
        (5, 3)
    """
    if sharding is not None or shape is not None:
        return _array_on_mesh(value, dtype, device, copy, sharding, shape)
    if isinstance(value, (DeviceArray, jax.Array)) and (dtype is None or np.dtype(dtype) == value.dtype):
        if isinstance(value, DeviceArray) and device is None and meshes.spread(value.buffer) is not None:
            return value.copy() if copy else value
        buffer = value.jax if isinstance(value, DeviceArray) else value
        if jax.dtypes.issubdtype(buffer.dtype, jax.dtypes.extended):
            raise TypeError(f"A device array cannot hold {buffer.dtype}: take jax.random.key_data(keys).")
        if buffer.is_deleted():
            Storage(buffer).current()
        if device is not None and device not in buffer.devices():
            return DeviceArray(jax.device_put(buffer, device))
        return DeviceArray(buffer.copy() if copy else buffer)
    host = np.array(_host(value), dtype)
    if isinstance(value, (DeviceArray, jax.Array)) and device is None:
        device = value.place if isinstance(value, DeviceArray) else next(iter(value.devices()))
    return _put(host, device)


def _array_on_mesh(value: Any, dtype: Any, device: Device | None, copy: bool, sharding: Any, shape: Any) -> DeviceArray:
    if device is not None:
        raise TypeError("reactant.array: a device, or a sharding, which names several: not both.")
    if sharding is None or callable(value) != (shape is not None):
        raise TypeError("reactant.array: shape= is for an array that a function makes part by part, on a mesh: "
                        "reactant.array(part, shape=(n, m), sharding=mesh.sharding(\"x\")).")
    if shape is not None:
        extents = tuple(map(operator.index, (shape,) if np.ndim(shape) == 0 else shape))
        sharding = meshes.require_sharding(sharding, extents, "reactant.array")
        return DeviceArray(shards.from_callback(value, dtype, extents, sharding), extents)
    if isinstance(value, (DeviceArray, jax.Array)) and (dtype is None or np.dtype(dtype) == value.dtype):
        sharding = meshes.require_sharding(sharding, value.shape, "reactant.array")
        buffer = value.jax if isinstance(value, DeviceArray) else value
        made = shards.from_device(buffer, sharding)
        return DeviceArray(made.copy() if copy and made is buffer else made, value.shape)
    if not isinstance(value, DeviceArray) and (source := sources.source_of(value)) is not None:
        sharding = meshes.require_sharding(sharding, source.shape, "reactant.array")
        place = meshes.canonical(sharding, len(source.shape))
        return DeviceArray(shards.from_callback(*sources.reading(source, dtype), source.shape, place), source.shape)
    host = np.array(_host(value), dtype)
    sharding = meshes.require_sharding(sharding, host.shape, "reactant.array")
    return _put(host, meshes.with_rank(sharding, host.ndim))


def _put(host: np.ndarray, device: Device | Sharding | None) -> DeviceArray:
    """A device array of `host`, which nobody else will change; on a mesh where one of its rank can be as the other."""
    if isinstance(device, NamedSharding) and len(device.spec) == host.ndim:
        require_held(host.dtype)
        own, place = np.asarray(host, host.dtype.newbyteorder("=")), meshes.canonical(device, host.ndim)
        return DeviceArray(shards.from_host(own, place), host.shape)
    return DeviceArray(buffer_of(host, whole_on(device)))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with the arrays in it (also inside tuples and lists) changed."""
    if isinstance(value, (DeviceArray, np.ndarray)):
        return change(value)
    if isinstance(value, (tuple, list)) and any(isinstance(v, (DeviceArray, np.ndarray, tuple, list)) for v in value):
        made = [_mapped(one, change) for one in value]
        return named_tuples.make(type(value), made) if hasattr(value, "_fields") else type(value)(made)
    return value


def _host(value: Any) -> Any:
    return _mapped(value, lambda one: one._host() if isinstance(one, DeviceArray) else one)


def _on_device(value: Any) -> Any:
    return _mapped(value, lambda one: one.jax if isinstance(one, DeviceArray) else one)


def _device_among(values: Sequence[Any]) -> Device:
    """The device of the first device array among `values`, looking into tuples and lists."""
    for value in values:
        if isinstance(value, DeviceArray):
            return value.place
        if isinstance(value, (tuple, list)):
            found = _device_among(value)
            if found is not None:
                return found
    return None


def _wrapped(result: Any, device: Device, lent: Sequence[tuple[Any, np.ndarray]]) -> Any:
    """Arrays in what NumPy returned as device arrays, views where it gave views of what was lent to it; scalars and the
    rest as they are."""
    if isinstance(result, (tuple, list)):
        made = [_wrapped(one, device, lent) for one in result]
        return named_tuples.make(type(result), made) if hasattr(result, "_fields") else type(result)(made)
    if type(result) is not np.ndarray:
        return result
    for given, host in lent:
        if result is host:
            return given
        if isinstance(given, DeviceArray) and np.may_share_memory(result, host):
            return given._shown(result)
    return _put(np.array(result) if result.base is not None else result, device)


def _by_numpy(function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any], device: Device) -> Any:
    """Let NumPy do it on the host: on the buffers themselves, and on copies of arrays into which it writes, which are
    taken as their elements afterwards."""
    out = options.get("out")
    written = out if isinstance(out, tuple) else (out,)
    try:
        return _lent_to(function, arguments, options, device, lambda array: any(array is one for one in written))
    except ValueError as error:     # of a buffer, which is read-only
        if "read-only" not in str(error) and "output array" not in str(error):
            raise
    return _lent_to(function, arguments, options, device, lambda array: True)


def _lent_to(function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any], device: Device,
             writes: Callable[[DeviceArray], bool]) -> Any:
    lent: list[tuple[Any, np.ndarray]] = []

    def lend(array: Any) -> np.ndarray:
        for given, host in lent:
            if given is array:
                return host
        host = array
        if isinstance(array, DeviceArray):
            host = np.array(array._host()) if writes(array) else array._host()
        lent.append((array, host))
        return host

    result = function(*(_mapped(value, lend) for value in arguments),
                      **{key: _mapped(value, lend) for key, value in options.items()})
    for given, host in lent:
        if isinstance(given, DeviceArray) and host.flags.writeable and host.tobytes() != given._host().tobytes():
            given._assign(buffer_of(host, whole_on(given.place)))
    return _wrapped(result, device, lent)


def _delivered(result: Any, outputs: tuple[Any, ...] | None) -> Any:
    """A result of jax.numpy as what NumPy would give: into `outputs`, or as device arrays and scalars."""
    if outputs is None:
        if isinstance(result, (tuple, list)):
            return type(result)(_delivered(one, None) for one in result)
        return DeviceArray(result) if result.ndim else np.asarray(result)[()]
    for one, new in zip(outputs, result if isinstance(result, tuple) else (result,), strict=True):
        one._assign(new)
    return outputs if len(outputs) > 1 else outputs[0]
