"""The traced array: looks like an ndarray, holds a storage and a chain of view steps.

A `Tensor` stands for one of three kinds of NumPy/Python object, because they promote, alias and update differently:

* `ARRAY`: an ndarray (0-d included): views alias, in-place operators write into the storage;
* `SCALAR`: a NumPy scalar such as `np.float64`: immutable, strong dtype;
* `PYTHON`: a Python `bool`, `int`, `float` or `complex` known at run time: immutable, weak in promotion (NEP 50).

`isinstance(t, np.ndarray)` (or `np.float64`, or `float`) answers as the object it stands for would.
"""
from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import (
    ConcreteValueNeeded,
    ConstantWriteError,
    ControlFlowError,
    LeakError,
    UnsupportedAttribute,
    UnsupportedError,
    require_plain,
)
from reactant.frontends.arrays import layouts, memory_order, view_steps
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.casting import cast
from reactant.frontends.arrays.flags import Flags
from reactant.frontends.arrays.promotion import ARRAY, NO_NUMBER, PYTHON, PYTHON_DTYPES, SCALAR, is_number, python_type
from reactant.frontends.arrays.tensor_methods import Methods
from reactant.frontends.session import calls
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.retracing import RUN_TIME_KEYS
from reactant.frontends.session.trace import Trace, current_trace
from reactant.frontends.source import source_map
from reactant.ir import ops, rounding
from reactant.ir.types import Shape, shape_and_dtype, supported

if TYPE_CHECKING:
    from typing_extensions import TypeIs

TRACED_TEXT = "<traced "
"""What the text of a traced value starts with."""


class Tensor(Methods):
    """A traced array. Make one with `of_value`, `wrap`, or by calling NumPy on another."""

    __slots__ = ("__weakref__", "dtype", "interval", "kind", "owner", "region", "shape", "steps", "storage",
                 "strides_", "writeable")
    __array_priority__ = 1000.0

    def __init__(self, storage: st.Storage, steps: tuple[view_steps.Step, ...] = (), *, kind: str = ARRAY,
                 strides: Shape | None = None, dtype: np.dtype | None = None, writeable: bool | None = True,
                 interval: tuple[int, int] | None = None):
        self.storage, self.steps, self.kind = storage, steps, kind
        self.writeable = writeable      # None: as decided at run time
        self.shape: Shape = tuple(steps[-1].shape) if steps else storage.shape
        self.dtype = storage.dtype if dtype is None else dtype
        self.strides_ = layouts.row_major_strides(self.shape) if strides is None else strides
        if strides and not steps:
            storage.layout = strides
        self.interval = interval      # known inclusive bounds of an integer scalar, for index checks
        self.region = current_trace().region

    def ag__leads(self) -> tuple[st.Storage]:
        """What it refers to (`session.heap`)."""
        return (self.storage,)

    # -- making

    @staticmethod
    def of_value(value: ir.Value, kind: str = ARRAY, strides: Shape | None = None,
                 interval: tuple[int, int] | None = None) -> Tensor:
        """A new array (own storage) with the content of `value`."""
        return Tensor(st.Storage(*shape_and_dtype(value.type), value), (), kind=kind, strides=strides,
                      interval=interval)

    @staticmethod
    def of_array(array: np.ndarray, constant: bool = False) -> Tensor:
        """A tensor with known content. Small ones stay concrete. `constant`: made outside, writing raises."""
        check_dtype(array.dtype)
        array = np.asarray(array)
        strides = tuple(s // array.itemsize for s in array.strides) if array.itemsize else None
        if array.size <= st.CONCRETE_ELEMENTS:
            data = array if constant else array.copy(order="K")
            return Tensor(st.Storage(array.shape, array.dtype, data=data, constant=constant), strides=strides,
                          writeable=True)
        value = current_trace().capture(array)
        return Tensor(st.Storage(array.shape, array.dtype, value=value, constant=constant), strides=strides)

    @staticmethod
    def of_known(array: np.ndarray) -> Tensor:
        """A new array whose content stays known while tracing, of any size. Takes `array` over."""
        strides = tuple(s // array.itemsize for s in array.strides)
        return Tensor(st.Storage(array.shape, array.dtype, data=array), strides=strides)

    def view(self, step: Any = None, dtype: np.dtype | None = None, type: object = None) -> Tensor:
        """A view through one more step; `ndarray.view(dtype)` for users."""
        if not isinstance(step, view_steps.Step):
            return meaning.bytes_as(self, dtype, type) if step is None else \
                meaning.bytes_as(self, step, dtype if type is None else type)
        steps = view_steps.followed(self.steps, (step,), self.storage.shape)
        return Tensor(self.storage, steps, dtype=dtype or self.dtype,
                      strides=step.strides(self.shape, self.strides_), writeable=self.writeable and step.writable)

    def noting_touch(self) -> Tensor:
        """This array, an argument. The first who asks anything but what kind of object it is takes it off the list of
        those that nobody has touched."""
        told = {name: getattr(self, name) for name in _OF_ARGUMENTS}
        current_trace().waiting[id(self)] = weakref.ref(self), told
        for name in told:
            delattr(self, name)
        return self

    def _touched(self) -> bool:
        """Whether it waited for being touched."""
        trace = Trace.current()
        _, told = (None, None) if trace is None else trace.waiting.pop(id(self), (None, None))
        if trace is None or told is None:
            return False
        for name, value in told.items():
            setattr(self, name, value)
        trace.untouched.discard(self.storage.argument)
        return True

    # -- content

    def is_concrete(self) -> bool:
        """Whether the content is known while tracing."""
        return self.storage.data is not None and not (
            self.steps and any(not s.numpy_has_it for s in self.steps))

    def changes_now(self) -> bool:
        """Whether the content is known, and a write may change it while tracing (then call `changed`)."""
        return self.is_concrete() and self.storage.writable_in_place()

    def changed(self) -> None:
        """The known content has been written."""
        self.storage.version += 1

    def numpy(self) -> np.ndarray:
        """The known content as an ndarray view of the storage's data. Only where `is_concrete`."""
        if self.storage.region.closed:
            raise LeakError()
        array = self.storage.data
        for step in self.steps:
            array = step.numpy(array)
        return array

    def known(self) -> Any:
        """The known content as what it stands for: an ndarray (a view), a NumPy scalar or a Python number."""
        return of_kind(self.kind, self.numpy())

    def value(self) -> ir.Value:
        """The current content as an SSA value of exactly `shape` and `dtype`."""
        return self._seen(self.steps) if self.steps else self.storage.read()

    def _seen(self, steps: tuple[view_steps.Step, ...]) -> ir.Value:
        """What the first steps of the chain show."""
        storage, read = self.storage, len(steps)
        while read and (value := storage.seen_through(steps[:read])) is None:
            read -= 1
        if read < len(steps):
            if self.region.closed and any(isinstance(s, view_steps.DynamicSliceStep) for s in steps):
                raise LeakError()
            value = value if read else storage.read_at(steps[0])
            for step in steps[read:]:
                value = step.read(value)
            storage.note_view(steps, value)
        return value

    def assign(self, new: ir.Value) -> None:
        """Write `new` (exactly this shape and dtype) through the view chain."""
        self.require_writeable()
        storage, steps = self.storage, self.steps
        kept = [n for n, step in enumerate(steps) if step.keeps]
        holds = bool(kept) and not kept[0] and storage.is_base and type(steps[0]) is view_steps.SliceStep \
            and 0 not in steps[0].shape
        wanted = kept[1:] if holds else kept        # steps that write into what they are a view of
        parents = {n: self._seen(steps[:n]) if n else storage.read() for n in wanted}
        stop = 0 if not holds else wanted[0] if wanted else len(steps)
        value = new
        for number in range(len(steps) - 1, stop - 1, -1):
            whole = steps[number - 1].shape if number else storage.shape
            value = steps[number].write(parents.get(number), value, whole)
        if holds:
            storage.hold(steps[:stop], value)
        else:
            storage.write(value)
        if kept:
            storage.note_write(steps, new)

    def require_writeable(self) -> None:
        """Raise what NumPy raises for a read-only view; name the case of an array from outside."""
        if self.storage.constant:
            if self.storage.constant is True:
                raise ConstantWriteError()
            reason = self.storage.constant
            raise ControlFlowError(reason.fact, hint=reason.hint, code=reason.code)
        if self.writeable is None:
            raise ControlFlowError("It is only known at run time whether an array that is written in place is a "
                                   "read-only view (a diagonal, np.broadcast_to).", hint="Bind the name to a copy.",
                                   code="one-of-several-arrays")
        if not self.writeable or self.kind != ARRAY:
            raise ValueError("assignment destination is read-only")

    # -- what it stands for

    @property  # type: ignore[misc]  # `object` says that it can be set
    def __class__(self) -> type:  # isinstance() answers as the object the tensor stands for
        if self.kind == ARRAY:
            return np.ndarray
        return python_type(self.dtype) if self.kind == PYTHON else self.dtype.type

    def weak_type(self) -> object:
        """What promotion sees: a Python type for PYTHON, the dtype otherwise."""
        return python_type(self.dtype) if self.kind == PYTHON else self.dtype

    # -- attributes

    @property
    def strides(self) -> Shape:
        """Byte strides, as the NumPy array would have them."""
        return tuple(s * self.itemsize for s in self.strides_)

    @property
    def T(self) -> Tensor:
        return meaning.function(np.transpose, (self,), {})

    @property
    def mT(self) -> Tensor:
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Tensor:
        return self._part("real")

    @real.setter
    def real(self, value: object) -> None:
        self._set_part("real", value)

    @property
    def imag(self) -> Tensor:
        return self._part("imag")

    @imag.setter
    def imag(self, value: object) -> None:
        self._set_part("imag", value)

    def _set_part(self, part: str, value: object) -> None:
        if self.kind != ARRAY:
            raise AttributeError(f"attribute '{part}' of '{self.__class__.__name__}' objects is not writable")
        if part == "imag" and self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self._part(part)[...] = value

    def _part(self, part: str) -> Tensor:
        if self.dtype.kind != "c":
            if part == "real":
                return self
            zeros = Tensor.of_value(ops.constant(0, self.dtype, self.shape), self.kind)
            zeros.writeable = False
            return zeros
        if self.kind != ARRAY:
            return Tensor.of_value(getattr(ops, part)(self.value()), self.kind)
        real = np.dtype(f"f{self.dtype.itemsize // 2}")
        return self.view(view_steps.ComplexPartStep(part, self.shape), dtype=real)

    @property
    def base(self) -> Tensor | None:
        """Of a view, the array that it looks into."""
        if not self.steps:
            return None
        whole = Tensor(self.storage)
        whole.owner = True
        return whole

    @property
    def flags(self) -> Flags:
        return Flags(self)

    @property
    def flat(self) -> Any:
        return meaning.flat(self if self.kind == ARRAY else Tensor.of_value(self.value()))   # scalars: of a copy

    @flat.setter
    def flat(self, value: object) -> None:
        self.flat[:] = value

    # -- Python protocols that need a known value

    def _concrete_scalar(self, what: str) -> Any:
        fits = self.size == 1 if what == "bool" else is_number(self)
        if self.is_concrete() and fits:
            return self.numpy().reshape(())[()]
        known = _known_scalar(self)
        if known is not None:
            return known
        if not fits:
            # same words as NumPy's own
            raise (ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or "
                              "a.all()") if what == "bool" else TypeError(NO_NUMBER))
        if self.storage.region.closed:
            raise LeakError()
        reason = source_map.why_not_converted(what == "bool")
        raise ConcreteValueNeeded(f"{what}() of a {self.dtype} value",
                                  f"This function runs as it is: {reason}." if reason else _ADVICE.get(what, ""),
                                  code="source-not-found" if reason else None)

    def __bool__(self) -> bool:
        return bool(self._concrete_scalar("bool"))

    def __int__(self) -> int:
        return int(self._concrete_scalar("int"))

    def __float__(self) -> float:
        return float(self._concrete_scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._concrete_scalar("complex"))

    def __index__(self) -> int:
        self.require_integer("'{}' object cannot be interpreted as an integer")
        return operator.index(self._concrete_scalar("index"))

    def require_integer(self, otherwise: str) -> None:
        """Raise a TypeError where it is no place in a list: with these words about its type, or NumPy's of arrays."""
        if self.shape or self.kind == ARRAY and self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self.dtype.kind not in "iu" and (self.kind, self.dtype.kind) != (PYTHON, "b"):
            name = self.__class__.__name__
            raise TypeError(otherwise.format(name if self.kind == PYTHON else f"numpy.{name}"))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, item: object) -> bool:
        return bool(np.any(self == item))

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        if self.is_concrete():
            array = np.array(self.numpy(), dtype=dtype)
            array.flags.writeable = False   # a write into it would not reach the traced array
            return array
        if self.storage.region.closed:
            raise LeakError()
        raise ConcreteValueNeeded("Making a NumPy array from a traced one",
                                  "A function that is not traced (compiled code, or a C extension) received it.")

    def __array_wrap__(self, array: object, context: object = None, return_scalar: bool = False) -> Any:
        """As `numpy.ndarray`'s: there is no subclass to give it."""
        return wrap(array)[()] if return_scalar else wrap(array)

    def __sizeof__(self) -> int:
        raise UnsupportedError("sys.getsizeof of a traced array: it has no memory of its own.", hint="Use x.nbytes.",
                               code="memory-of-traced-array")

    def __hash__(self) -> int:
        if self.kind == ARRAY:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        if not self.is_concrete() and (trace := Trace.current()) is not None:
            trace.demands.add(RUN_TIME_KEYS)
        return hash(self._concrete_scalar("hash"))

    def __repr__(self) -> str:
        return repr(self.numpy()) if self.is_concrete() else self.ag__text(repr)

    def __str__(self) -> str:
        return str(self.known()) if self.is_concrete() else self.ag__text(str)

    def __format__(self, spec: str) -> str:
        return format(self.known(), spec) if self.is_concrete() else self.ag__text(lambda known: format(known, spec))

    def ag__text(self, write: Callable[[Any], str]) -> str:
        """A mark that stands for the present content in texts; `print` writes it when the program runs."""
        trace = Trace.current()
        described = f"{TRACED_TEXT}{self.kind} {self.dtype}{list(self.shape)}"
        if trace is None or self.storage.region.closed:
            return f"{described}>"
        trace.texts.append((Tensor.of_value(self.value(), self.kind), write))
        return f"{described} #{len(trace.texts) - 1}>"

    def __deepcopy__(self, memo: dict) -> Tensor:
        return self.copy() if self.kind == ARRAY else self

    def __copy__(self) -> Tensor:
        return self.copy() if self.kind == ARRAY else self

    def __reduce__(self) -> Any:
        raise UnsupportedError("A traced array cannot be pickled.", hint="Return it, and pickle the result.",
                               code="memory-of-traced-array")

    # -- indexing

    def __getitem__(self, key: object) -> Any:
        return meaning.get_item(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        meaning.put_item(self, key, value)

    # -- dispatch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        if any(getattr(type(x), "partial", False) for x in inputs):
            return NotImplemented       # arrays of run-time size know better
        return meaning.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable, types: Iterable[type], args: tuple, kwargs: dict) -> Any:
        if any(getattr(t, "partial", False) for t in types):
            return NotImplemented
        return meaning.function(function, args, kwargs)

    # -- methods that are not NumPy functions of the same name

    def astype(self, dtype: object, order: object = "K", casting: str = "unsafe", subok: bool = True,
               copy: bool = True) -> Tensor:
        """A copy converted to `dtype` (the array itself with `copy=False` and the same dtype)."""
        dtype = np.dtype(dtype)
        check_dtype(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule "
                            f"'{casting}'")
        if not copy and dtype == self.dtype:
            return self
        if self.is_concrete():
            return Tensor.of_array(rounding.astype(self.numpy(), dtype, order))
        kind = SCALAR if self.kind != ARRAY else ARRAY
        strides = memory_order.strides(memory_order.letter(order, "K"), self.shape, (self,))
        return Tensor.of_value(cast(self.value(), dtype), kind, strides=strides)

    def copy(self, order: object = "C") -> Tensor:
        """A new array with its own storage; NumPy's scalars stay scalars."""
        return meaning.function(np.copy, (self, memory_order.letter(order)), {}) if self.kind == ARRAY else self

    def item(self, *key: object) -> Tensor:
        """The element as a Python number (known at run time)."""
        return meaning.item(self, key)

    def tolist(self) -> Any:
        if self.is_concrete():
            return self.numpy().tolist()
        return [row.tolist() for row in self] if self.shape else self.item()

    def fill(self, value: object) -> None:
        self[...] = value

    def setflags(self, write: bool | None = None, align: object = None, uic: object = None) -> None:
        if write is not None:
            self.flags.writeable = bool(write)

    def is_integer(self) -> Any:
        found = np.floor(self) == self
        return python_number(found.value()) if is_tensor(found) and found.kind != ARRAY else found

    @property
    def device(self) -> str:
        return "cpu"        # what NumPy says of every array

    def bit_count(self) -> Any:
        """Ones in the binary form of an integer's size."""
        self._require_integer("bit_count")
        ones = np.bitwise_count(self if self.dtype != bool else self + 0)
        return python_number(ops.convert(ones.value(), np.int64), (0, 64))

    def bit_length(self) -> Any:
        """Digits of the binary form of a Python integer."""
        self._require_integer("bit_length")
        if self.kind != PYTHON:
            raise AttributeError(f"'numpy.{self.dtype}' object has no attribute 'bit_length'")
        size = ops.abs(ops.convert(self.value(), np.int64))
        return python_number(ops.subtract(64, ops.count_leading_zeros(size)), (0, 64))

    def _require_integer(self, name: str) -> None:
        if self.kind == ARRAY or self.dtype.kind not in "iub" or self.dtype == bool and self.kind != PYTHON:
            raise AttributeError(f"'{self.dtype}' object has no attribute '{name}'")

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ARGUMENTS and self._touched():
            return getattr(self, name)
        if (reason := meaning.why_no_method(name)) is not None:
            raise UnsupportedAttribute(reason.fact, hint=reason.hint, code=reason.code)
        meant = self.__class__
        if name.startswith("__") or not hasattr(meant, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        raise UnsupportedAttribute(f"{meant.__name__}.{name} cannot be compiled.",
                                   hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                        "compiled function.", code="function-not-compiled")


_OF_ARGUMENTS = ("storage", "shape", "dtype", "strides_", "writeable")
"""What an argument has once somebody has asked for one of them."""

_ADVICE = {
    "hash": "What is only known at run time is no key of a dict and no member of a set: use an array that it indexes.",
    "bool": "Put the `if` or `while` into a Python function with source, so that it can be converted; or use np.where.",
    "index": "A list index or a size must be known while tracing: make the argument it is computed from static "
             "(static_argnames=...).",
    "int": "A shape or a count must be known while tracing: make the argument it is computed from static "
           "(static_argnames=...).",
}


# ---- conversions into tensors ----------------------------------------------------------------------------------

def is_tensor(x: object) -> TypeIs[Tensor]:
    """Whether `x` is a traced array (isinstance would ask what it stands for)."""
    return type(x) is Tensor


def of_kind(kind: str, content: np.ndarray) -> Any:
    """The content of a tensor of a kind: an ndarray, a NumPy scalar or a Python number."""
    return content if kind == ARRAY else content[()].item() if kind == PYTHON else content[()]


def check_dtype(dtype: object) -> None:
    """Raise for dtypes that have no tensor type (object, strings, datetime, longdouble, structured)."""
    dtype = np.dtype(dtype)
    if not supported(dtype):
        hint = {"O": "Make it a numeric array first.", "M": "Convert to integers with .astype('int64') first.",
                "m": "Convert to integers with .astype('int64') first.", "V": "Pass its fields as separate arrays.",
                "U": "Pass numbers that stand for the texts.", "S": "Pass numbers that stand for the texts.",
                "g": "Use float64.", "G": "Use complex128."}.get(dtype.char if dtype.char in "gG" else dtype.kind, "")
        raise UnsupportedError(f"Arrays of dtype {dtype} cannot be compiled.", hint=hint, code="unsupported-dtype")


def wrap(x: object) -> Tensor:
    """Anything array-like as a tensor: tensors as they are, ndarrays from outside as constants, numbers, (nested)
    lists. Python numbers become PYTHON tensors."""
    if is_tensor(x):
        return x
    if type(x) in PYTHON_DTYPES:
        array = np.asarray(x, PYTHON_DTYPES[type(x)])
        return Tensor(st.Storage((), array.dtype, data=array), kind=PYTHON)
    if isinstance(x, np.generic):
        check_dtype(x.dtype)
        return Tensor(st.Storage((), x.dtype, data=np.asarray(x)), kind=SCALAR)
    if isinstance(x, np.ndarray):
        require_plain(x)
        return Tensor.of_array(x, constant=True)
    if isinstance(x, (list, tuple, range)):
        return meaning.array_of(x)
    if hasattr(type(x), "ag__array"):
        return x.ag__array()
    if isinstance(x, jax.core.Tracer):           # of the JAX program around
        return Tensor.of_value(current_trace().capture_traced(x), ARRAY if x.shape else SCALAR)
    if (given := calls.own_array(x)) is not x:
        return wrap(given)
    converted = np.asarray(x)
    if converted.dtype == object:
        raise UnsupportedError(f"A {type(x).__name__} cannot be used as an array in compiled code.",
                               hint="Pass arrays and numbers.", code="not-an-array")
    return wrap(converted)


def python_number(value: ir.Value, interval: tuple[int, int] | None = None) -> Tensor:
    """A 0-d value as a run-time Python number."""
    return Tensor.of_value(value, PYTHON, interval=interval)


def _known_scalar(tensor: Tensor) -> Any:
    """The number of a traced 0-d tensor whose value is a constant op, else None."""
    if tensor.size != 1 or tensor.storage.region.closed:
        return None
    constant = ops.constant_value(tensor.value())
    return None if constant is None else constant.reshape(())[()]

