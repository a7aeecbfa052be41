"""What the traced array has in common with NumPy's: methods that are functions of it, and Python's operators."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.frontends.arrays.casting import cast
from reactant.frontends.arrays.promotion import ARRAY, PYTHON, SCALAR
from reactant.frontends.arrays.sized import Sized
from reactant.frontends.session.dispatch import meaning
from reactant.ir import ops

OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
             "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
             "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}
COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
               "ne": np.not_equal}
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
FUNCTIONS = ("all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "cumprod", "cumsum", "diagonal",
             "max", "mean", "min", "nonzero", "prod", "put", "ravel", "repeat", "round", "searchsorted", "squeeze",
             "std", "sum", "swapaxes", "take", "trace", "var")
"""Methods that are NumPy's functions of these names."""
_OPERAND_TYPES = (bool, int, float, complex, np.generic, np.ndarray, list, tuple, range)


class Methods(Sized):
    """Of `tensor.Tensor`. The operators and `FUNCTIONS` are put in below."""

    __slots__ = ()

    kind: str
    of_value: Callable[..., Any]
    value: Callable[[], Any]

    def flatten(self, order: object = "C") -> Any:
        return np.ravel(self, order=order).copy()

    def sort(self, axis: int = -1, kind: object = None, order: object = None, *, stable: bool | None = None) -> None:
        self[...] = np.sort(self, axis=axis)        # type: ignore[index]

    def partition(self, kth: object, axis: int = -1, kind: str = "introselect", order: object = None) -> None:
        self[...] = np.partition(self, kth, axis=axis)      # type: ignore[index]

    def dot(self, other: object, out: object = None) -> Any:
        return np.dot(self, other, out=out)

    def compress(self, condition: object, axis: int | None = None, out: object = None) -> Any:
        return np.compress(condition, self, axis, out)

    def conjugate(self, out: object = None) -> Any:
        found = np.conjugate(self, out=out)
        return self.of_value(found.value(), PYTHON) if self.kind == PYTHON and isinstance(found, Methods) else found

    conj = conjugate

    def transpose(self, *axes: object) -> Any:
        alone = len(axes) == 1 and (axes[0] is None or _is_sequence(axes[0]))
        return meaning.function(np.transpose, (self, axes[0] if alone else axes or None), {})

    def reshape(self, *shape: object, order: object = "C", copy: bool | None = None) -> Any:
        new = shape[0] if len(shape) == 1 and _is_sequence(shape[0]) else shape
        if self.kind != ARRAY and not new:
            return self
        return meaning.function(np.reshape, (self, new), {"order": order, "copy": copy})

    def clip(self, min: object = None, max: object = None, out: object = None, **kwargs: object) -> Any:  # noqa: A002
        """As `numpy.ndarray.clip`: a bound that is not given does not hold."""
        return meaning.dispatched(np.clip, (self, min, max, out), kwargs)

    def __pow__(self, other: object) -> Any:
        """NumPy squares where the exponent is a plain 2: of truths that is an int8. The power 0.5 of its scalars, and
        of Python's numbers, is no root: of -0.0 it is 0.0, of -inf infinite."""
        if type(other) is int and other == 2 and self.kind == ARRAY and self.dtype.kind == "b":
            return np.square(self)      # type: ignore[call-overload]
        found = _plain_power(self, other)
        if isinstance(found, Methods) and self.kind != ARRAY and found.dtype.kind == "f" \
                and not found.is_concrete() and _is_half(other):        # type: ignore[attr-defined]
            base = cast(self.value(), found.dtype)
            return self.of_value(ops.power(base, ops.splat(0.5, base)), found.kind)
        return found

    def __divmod__(self, other: Any) -> tuple:
        return self // other, self % other      # type: ignore[operator]

    def __rdivmod__(self, other: Any) -> tuple:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        return np.round(self, digits or 0)      # type: ignore[call-overload]

    def __trunc__(self) -> Any:
        return np.trunc(self)       # type: ignore[call-overload]

    def __floor__(self) -> Any:
        return np.floor(self)       # type: ignore[call-overload]

    def __ceil__(self) -> Any:
        return np.ceil(self)        # type: ignore[call-overload]


def _is_sequence(x: object) -> bool:
    return isinstance(x, (tuple, list)) or np.ndim(x) == 1     # type: ignore[arg-type]


def is_operand(x: object) -> bool:
    """Whether an operator may combine `x` with a tensor (else Python tries the other side's method)."""
    return isinstance(x, Methods) or not getattr(type(x), "partial", False) and (
        isinstance(x, _OPERAND_TYPES) or hasattr(x, "__array__"))


def _is_half(exponent: Any) -> bool:
    if isinstance(exponent, Methods):
        return exponent.kind != ARRAY and exponent.is_concrete() and exponent.dtype.kind == "f" \
            and bool(exponent.numpy() == 0.5)       # type: ignore[attr-defined]
    return isinstance(exponent, float | np.floating) and bool(exponent == 0.5)


def _method(function: Callable) -> Callable:
    def call(self: Methods, *args: object, **kwargs: object) -> Any:
        return meaning.dispatched(function, (self, *args), kwargs)
    call.__name__, call.__doc__ = function.__name__, f"As `numpy.{function.__name__}` of the array."
    return call


def _operator(ufunc: np.ufunc, reflected: bool = False) -> Callable:
    def apply(self: Methods, other: object) -> Any:
        if self.kind != ARRAY and (
                self.kind == PYTHON and isinstance(other, (list, tuple, range))
                or ufunc is np.multiply and isinstance(other, (list, tuple))):
            return NotImplemented       # they are no arrays to Python's numbers, and are repeated by NumPy's
        if not is_operand(other):
            nowhere = type(other) in (str, bytes) or other is None and self.kind == ARRAY
            if ufunc not in (np.equal, np.not_equal) or not nowhere or self.kind == PYTHON:
                return NotImplemented
            differs = ufunc is np.not_equal         # as no element is None, or a text
            return np.bool_(differs) if self.kind == SCALAR else \
                self.of_value(ops.constant(differs, bool, self.shape))
        if ufunc in (np.equal, np.not_equal) and self.kind != ARRAY and hasattr(type(other), "ag__each"):
            return NotImplemented       # it may be None, which is no number
        return meaning.binary(ufunc, other, self) if reflected else meaning.binary(ufunc, self, other)
    return apply


def _in_place(ufunc: np.ufunc) -> Callable:
    def apply(self: Methods, other: object) -> Any:
        if getattr(type(other), "partial", False) and self.kind == ARRAY:
            return meaning.in_place_dynamic(ufunc, self, other)
        if not is_operand(other):
            return NotImplemented
        if self.kind != ARRAY:
            return meaning.binary(ufunc, self, other)
        return meaning.in_place(ufunc, self, other)
    return apply


_plain_power = _operator(np.power)

for _name in FUNCTIONS:
    setattr(Methods, _name, _method(getattr(np, _name)))
for _name, _ufunc in OPERATORS.items():
    if _name != "pow":
        setattr(Methods, f"__{_name}__", _operator(_ufunc))
    setattr(Methods, f"__r{_name}__", _operator(_ufunc, reflected=True))
    setattr(Methods, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in COMPARISONS.items():
    setattr(Methods, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in UNARY.items():
    setattr(Methods, f"__{_name}__", lambda self, ufunc=_ufunc: meaning.unary(ufunc, self))
