"""Which NumPy functions device arrays hand to jax.numpy, and which give views: tables.

On devices other than the CPU, what jax.numpy does as NumPy does is done there; everything else goes through NumPy on
the host. A function is in the tables below only if its results have NumPy's dtypes and values (to rounding) in 64-bit
mode for the kinds named; the test compares each with NumPy.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reactant.ir import types
from reactant.runtime.buffers import copied
from reactant.runtime.jax_internals import X64

VIEWS = frozenset("""
    array_split atleast_1d atleast_2d atleast_3d broadcast_to diag diagonal dsplit expand_dims flip fliplr flipud
    hsplit moveaxis permute_dims ravel reshape rollaxis rot90 sliding_window_view split squeeze swapaxes transpose
    matrix_transpose vsplit unstack
    """.split())
"""Functions of which the results are views of the first argument where NumPy can make them so."""

_FLOAT, _NUMBER, _ALL = "f", "iufc", "biufc"
UFUNCS: dict[str, str] = {
    **dict.fromkeys("add subtract multiply".split(), _NUMBER),
    **dict.fromkeys("true_divide divide sqrt exp log sin cos tanh".split(), "fc"),
    **dict.fromkeys("""exp2 expm1 log1p log2 log10 tan arcsin arccos arctan sinh cosh arcsinh arccosh arctanh arctan2
                       hypot cbrt floor ceil trunc rint power logaddexp copysign fabs""".split(), _FLOAT),
    **dict.fromkeys("negative positive square absolute".split(), "iuf"),
    **dict.fromkeys("maximum minimum".split(), "iuf"),
    **dict.fromkeys("equal not_equal".split(), _ALL),
    **dict.fromkeys("less less_equal greater greater_equal".split(), "biuf"),
    **dict.fromkeys("logical_and logical_or logical_xor logical_not".split(), "b"),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor invert".split(), "biu"),
    **dict.fromkeys("isfinite isnan isinf".split(), "fc"),
    **dict.fromkeys("conjugate".split(), "fc"),
}
"""Ufunc -> the kinds of the loop's input dtypes for which jax.numpy agrees with it."""

FUNCTIONS: dict[str, tuple[str, frozenset[str]]] = {
    **dict.fromkeys("sum prod max min amax amin all any".split(), (_ALL, frozenset({"axis", "keepdims"}))),
    "mean": ("f", frozenset({"axis", "keepdims"})),
    **dict.fromkeys("argmax argmin".split(), ("iuf", frozenset({"axis", "keepdims"}))),
    **dict.fromkeys("cumsum cumprod".split(), ("f", frozenset({"axis"}))),
    **dict.fromkeys("concatenate stack".split(), (_ALL, frozenset({"axis"}))),
    **dict.fromkeys("vstack hstack dstack".split(), (_ALL, frozenset())),
    **dict.fromkeys("dot vdot inner outer tensordot".split(), ("fc", frozenset({"axes"}))),
    "where": (_ALL, frozenset()),
    "roll": (_ALL, frozenset({"shift", "axis"})),
    "tile": (_ALL, frozenset({"reps"})),
}
"""Function -> kinds of its array arguments, and the named arguments, for which jax.numpy agrees with it."""


def ufunc_on_device(ufunc: np.ufunc, inputs: Sequence[Any], device: jax.Device,
                    outputs: tuple[Any, ...] | None) -> Any:
    """The ufunc's results by jax.numpy, or None where the host has to do it."""
    function = getattr(jnp, ufunc.__name__, None)
    kinds = UFUNCS.get(ufunc.__name__)
    if function is None or kinds is None or ufunc.nout != 1 or not all(map(_simple, inputs)):
        return None
    if outputs is not None and not isinstance(getattr(outputs[0], "jax", None), jax.Array):
        return None
    operands = [type(value) if type(value) in (int, float, complex) else np.dtype(value.dtype) for value in inputs]
    wanted = None if outputs is None else outputs[0].dtype
    # Python integers that do not fit the loop's dtype are NumPy's to refuse.
    if any(type(value) is int and not -2**31 <= value < 2**31 for value in inputs):
        return None
    *loop, result = ufunc.resolve_dtypes((*operands, wanted), casting="same_kind")
    if any(dtype.kind not in kinds or not types.supported(dtype) for dtype in loop):
        return None
    if any(type(value) is int and value < 0 and dtype.kind == "u" for value, dtype in zip(inputs, loop, strict=True)):
        return None
    with X64():
        given = [jax.device_put(_own(value, dtype), device) for value, dtype in zip(inputs, loop, strict=True)]
        found = function(*given)
        if outputs is not None:
            if np.broadcast_shapes(found.shape, outputs[0].shape) != outputs[0].shape:
                return None
            return jnp.broadcast_to(found, outputs[0].shape).astype(outputs[0].dtype)
        return found if found.dtype == result else None


def function_on_device(name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of a NumPy function by jax.numpy, or None where the host has to do it."""
    kinds, named = FUNCTIONS.get(name, ("", frozenset()))
    arrays = [value for value in _leaves((arguments, options)) if isinstance(value, (jax.Array, np.ndarray))]
    if not kinds or not set(options) <= named or _fills(name, arguments) \
            or any(np.dtype(value.dtype).kind not in kinds for value in arrays):
        return None
    if any(value.size == 0 for value in arrays) and name not in ("concatenate", "stack", "where", "sum", "prod"):
        return None
    precision = {"precision": "highest"} if name in ("dot", "vdot", "inner", "tensordot") else {}
    with X64():
        return getattr(jnp, name)(*_own(arguments), **_own(options), **precision)


def _fills(name: str, arguments: Sequence[Any]) -> bool:
    """Whether an output array is among the arguments without a name, which jax.numpy does not take."""
    place = _place_of_out(name)
    return place is not None and len(arguments) > place and arguments[place] is not None


@functools.cache
def _place_of_out(name: str) -> int | None:
    names = list(inspect.signature(getattr(np, name)).parameters)
    return names.index("out") if "out" in names else None


def _own(value: Any, dtype: Any = None) -> Any:
    """Arrays of NumPy's, also in tuples, lists and dicts, as copies: they may change as soon as we are back."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_own, value))
    if isinstance(value, Mapping):
        return {name: _own(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return copied(value, dtype)
    return value if dtype is None else jnp.asarray(value, dtype)


def _simple(value: Any) -> bool:
    return type(value) in (int, float, complex) or isinstance(value, (jax.Array, np.ndarray, np.number, np.bool_))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for one in value for leaf in _leaves(one)]
    return _leaves(tuple(value.values())) if isinstance(value, Mapping) else [value]
