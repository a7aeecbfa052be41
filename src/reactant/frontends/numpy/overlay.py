"""What converted code calls instead of NumPy's creation functions, `math` and the builtins that would need a known
number; and item access on plain arrays. `install()` connects it all to the converter.

Plain ndarrays that converted code meets were made outside the trace: reading them with a run-time index makes them
constants of the program, writing into them raises.
"""
from __future__ import annotations

import builtins
import math
import operator
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import errors
from reactant.errors import ConstantWriteError
from reactant.frontends.arrays import creation, implements, python_numbers, python_overflow, shape, ufuncs
from reactant.frontends.arrays.dynamic import bounded
from reactant.frontends.arrays.nested import mapped
from reactant.frontends.arrays.promotion import PYTHON_DTYPES, is_number
from reactant.frontends.arrays.python_numbers import to_python
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, check_dtype, is_tensor, python_number, wrap
from reactant.frontends.arrays.tensor_methods import OPERATORS
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.control import objects
from reactant.frontends.numpy import families, index_tricks, ordering, per_element, refused
from reactant.frontends.numpy.dynamic import bounded_functions
from reactant.frontends.session import calls
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.trace import Failure, current_trace, is_tracing, located
from reactant.frontends.source import operators, source_map
from reactant.ir import ops
from reactant.ir.types import dtype_of

_MUTATING_METHODS = {"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap", "setflags",
                     "__setitem__", "__delitem__", *(f"__i{name}__" for name in OPERATORS)}


def install() -> None:
    """Put the replacements and hooks in place. Done once, by importing `reactant.api`."""
    families.load()
    for function in implements.CREATION:
        calls.REPLACEMENTS[function] = _creator(function)
    _replace_refused(implements.REFUSED)
    calls.ARRIVALS.listeners.append(_refuse_arrived)
    objects.install(Tensor)
    errors.find_frames_with(source_map.user_frame)
    calls.KINDS[np.ufunc] = calls.KINDS[type(np.sum)] = _call_numpy
    calls.KINDS[np.vectorize] = _call_vectorized
    calls.OURS.add(Tensor)
    calls.SETTERS.update({(Tensor, name): shape.set_attribute for name in ("shape", "dtype")})
    calls.KINDS[MethodDescriptorType] = calls.KINDS[WrapperDescriptorType] = _unbound


def _call_numpy(function: Callable, arguments: tuple, keywords: dict) -> Any:
    """Call a NumPy function. While tracing, it cannot write into arrays from outside, and what it makes is traced.
    NumPy does not see traced arrays in lists that stand for one array (`np.sum([x, y])`): it tries to make the array,
    which needs known values, and then gets it made."""
    if is_tracing():
        if function in implements.TABLE and implements.are_ours(arguments, keywords):
            result = implements.call(function, arguments, keywords)
            return result if is_tensor(result) else implements.made_here(result, arguments, keywords)
        if type(function) is np.ufunc and not keywords and implements.are_ours(arguments, keywords):
            return ufuncs.call(function, "__call__", arguments, keywords)
        if function.__name__ == "at" and arguments and _is_outside(arguments[0]):
            raise ConstantWriteError()      # ufunc.at does not ask whether it may write
        arguments = tuple(map(calls.own_array, arguments))
        if function in _JOINING and arguments and type(arguments[0]) in (list, tuple):
            arguments = (list(map(calls.own_array, arguments[0])), *arguments[1:])
        arguments, keywords = mapped(arguments, _read_only), mapped(keywords, _read_only)
    try:
        result = _refusing_writes(function, arguments, keywords)
        return implements.made_here(result, arguments, keywords) if is_tracing() else result
    except errors.ConcreteValueNeeded:
        found = _each_as_one if function in _JOINING else _as_one
        made = [found(a) for a in arguments]
        named = {name: found(a) for name, a in keywords.items()}
        if all(a is b for a, b in zip((*made, *named.values()), (*arguments, *keywords.values()), strict=True)):
            raise
    return _refusing_writes(function, made, named)


def _read_only(x: Any) -> Any:
    """An array from outside as a read-only view, so that NumPy cannot write into it while tracing."""
    if type(x) is np.ndarray and x.flags.writeable:
        view = x.view()
        view.flags.writeable = False
        return view
    return x


def _refusing_writes(function: Callable, arguments: Any, keywords: dict) -> Any:
    try:
        return function(*arguments, **keywords)
    except ValueError as error:
        if "read-only" in str(error) and is_tracing() and any(
                not a.flags.writeable for a in implements.plain_arrays((arguments, keywords))):
            raise ConstantWriteError() from None
        raise


def _call_vectorized(function: np.vectorize, arguments: tuple, keywords: dict) -> Any:
    if is_tracing() and any(not t.is_concrete() for t in implements.tensors(arguments, keywords)):
        return per_element.call_vectorized(function, arguments, keywords)
    result = function(*implements.concretely(arguments), **implements.concretely(keywords))
    return implements.made_here(result) if is_tracing() else result


def _unbound(function: Any, arguments: tuple, keywords: dict) -> Any:
    """`np.ndarray.sort(x)`."""
    if arguments and type(arguments[0]) in calls.OURS and isinstance(arguments[0], function.__objclass__):
        return calls.call(getattr(arguments[0], function.__name__), *arguments[1:], **keywords)
    if arguments and _is_outside(arguments[0]) and hasattr(arguments[0], function.__name__):
        return call_bound(getattr(arguments[0], function.__name__), *arguments, **keywords)
    return function(*arguments, **keywords)


def _as_one(x: Any) -> Any:
    return creation.as_tensor(x) if type(x) in (list, tuple) and implements.has_tensors(x) else x


def _each_as_one(x: Any) -> Any:
    return [_as_one(part) for part in x] if type(x) in (list, tuple) and implements.has_tensors(x) else x


_JOINING = {np.concatenate, np.hstack, np.vstack, np.stack, np.dstack, np.column_stack, np.linalg.multi_dot}
"""Their sequence of arrays is not one array: each may have a shape of its own."""


def _creator(function: Callable) -> Callable:
    make = located(lambda *args, **kwargs: implements.ours_for(function)(*args, **kwargs))  # type: ignore[misc]  # there is one

    def create(*args: Any, **kwargs: Any) -> Any:
        if args and hasattr(type(args[0]), "as_array"):      # a list of run-time length
            return args[0].as_array().astype(kwargs["dtype"]) if "dtype" in kwargs else args[0].as_array()
        if args and bounded.is_partial(args[0]):
            return bounded_functions.call(function, args, kwargs)
        return make(*args, **kwargs) if is_tracing() else function(*args, **kwargs)
    create.__name__ = function.__name__
    return create


def _refuse_arrived() -> None:
    refused.refuse_loaded()
    _replace_refused([function for function in implements.REFUSED if function not in calls.REPLACEMENTS])


def _replace_refused(functions: Iterable[Callable]) -> None:
    for function in functions:
        calls.REPLACEMENTS[function] = _refuser(function)


def _refuser(function: Callable) -> Callable:
    def run_or_refuse(*args: Any, **kwargs: Any) -> Any:
        if is_tracing() and (function in implements.REFUSED_ALWAYS or implements.has_tensors(args, kwargs)):
            return implements.call(function, args, kwargs)      # raises, unless all is known and it may run now
        return function(*args, **kwargs)
    return run_or_refuse


# ---- plain arrays in converted code ----------------------------------------------------------------------------

def _is_outside(x: Any) -> bool:
    return issubclass(type(x), (np.ndarray, np.flatiter))  # traced arrays only say that they are ndarrays


def made(result: Any) -> Any:
    """Arithmetic on arrays from outside gives a new array, which the code may write into."""
    return implements.made_here(result) if type(result) is np.ndarray and is_tracing() else result


def _has_traced(index: Any) -> bool:
    if isinstance(index, slice):
        return any(is_tensor(b) for b in (index.start, index.stop, index.step))
    return is_tensor(index) or bounded.is_partial(index) or (
        type(index) in (tuple, list) and any(_has_traced(i) for i in index))


def get_item(container: Any, index: Any) -> Any:
    if is_tensor(container):
        return container[index]
    if is_tracing() and _is_outside(container) and _has_traced(index):
        return wrap(container)[index]
    if index_tricks.is_index_trick(container) and is_tracing():
        return index_tricks.get(container, index)
    found = calls.get_item(container, index)
    if type(found) is np.ndarray and type(container) is np.ndarray and is_tracing():
        return implements.made_here(found, container)       # what index arrays select is a copy
    return found


def set_item(value: Any, container: Any, index: Any) -> None:
    if is_tensor(container):
        container[index] = value
        return
    if is_tracing() and _is_outside(container):
        check_dtype(getattr(container, "dtype", bool))      # arrays of None may be made here, but not written
        raise ConstantWriteError()
    calls.set_item(value, container, index)


def inplace(kind: str, left: Any, right: Any) -> Any:
    if is_tracing() and _is_outside(left):
        raise ConstantWriteError()
    return objects.inplace(kind, left, right)


def call_bound(function: Any, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
    if is_tracing() and _is_outside(owner):
        if function.__name__ in _MUTATING_METHODS:
            raise ConstantWriteError()
        args, kwargs = mapped(args, _read_only), mapped(kwargs, _read_only)
        if implements.has_tensors(args, kwargs):
            return getattr(wrap(owner), function.__name__)(*args, **kwargs)
        made = _refusing_writes(lambda *a, **k: calls.call_bound(function, owner, *a, **k), args, kwargs)
        return implements.made_here(made, owner, args, kwargs)
    if type(owner) is list and function.__name__ == "sort" and is_tracing():
        owner[:] = ordering.in_order(owner, **kwargs)
        return None
    if type(owner) in (list, tuple) and owner and function.__name__ in ordering.FINDING and args \
            and (ordering.depends([*owner, args[0]]) or any(map(calls.is_undecided, (*owner, args[0])))):
        return ordering.FINDING[function.__name__](owner, *args, **kwargs)
    made = calls.call_bound(function, owner, *args, **kwargs)
    return implements.made_here(made) if issubclass(type(owner), np.generic) and is_tracing() else made


# ---- numbers ---------------------------------------------------------------------------------------------------

def on_numbers(original: Callable) -> Callable[[Callable], Callable]:
    """Replace `original` where its first argument is traced."""
    def register(ours: Callable) -> Callable:
        @calls.replace(original)
        def choose(*args: Any, **kwargs: Any) -> Any:
            if any(is_tensor(a) for a in args):
                return ours(*args, **kwargs)
            return original(*args, **kwargs)
        return ours
    return register


def _conversion(kind: type) -> None:
    @on_numbers(kind)
    def convert(x: Any, *rest: Any) -> Any:
        if rest or not is_tensor(x) or x.is_concrete():
            return kind(x, *rest)
        if x.size == 1 if kind is bool else is_number(x):
            return as_python_number(x, kind)
        return kind(x)      # which raises NumPy's error


@means("as_python_number")
def as_python_number(x: Tensor, kind: type) -> Tensor:
    """The element of an array of one as a Python number of that kind."""
    value = ops.reshape(x.value(), ())
    if kind in (int, float) and x.dtype.kind == "c":
        if x.kind != SCALAR:            # NumPy's numbers lose their imaginary part (with a warning)
            raise TypeError(f"{kind.__name__}() argument must be a string or a real number, not 'complex'")
        value = ops.real(value)
    if kind is int:
        _check_int(value)
    made = cast(value, PYTHON_DTYPES[kind])
    return python_number(made, (x.interval or _RANGES.get(x.dtype)) if kind is int else None)


_RANGES: dict[np.dtype, tuple[int, int]] = {
    np.dtype(bool): (0, 1), np.dtype(np.uint64): (0, python_overflow.MOST),
    **{np.dtype(t): (int(np.iinfo(t).min), int(np.iinfo(t).max)) for t in (
        np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)},
    **{np.dtype(t): (-python_overflow.WHOLE, python_overflow.WHOLE) for t in (np.float16, np.float32, np.float64)}}
"""What Python integers are made of numbers of a dtype, as far as that says anything."""


def _check_int(value: Any) -> None:
    """Require that a number of NumPy's, or a float, is an integer of 64 bits."""
    dtype = dtype_of(value)
    if dtype == np.uint64:
        python_overflow.require(ops.compare(value, python_overflow.MOST, "LE"))
    if dtype.kind == "f":
        small = ops.compare(ops.abs(value), float(python_overflow.WHOLE), "LT") if dtype.itemsize > 2 \
            else ops.is_finite(value)
        _require_small(value, small)


def _require_small(value: ir.Value, small: ir.Value) -> None:
    """The check that a float is `small` enough. Where a handler may wait, each error is one of its own."""
    trace = current_trace()
    if not trace.attempts:
        trace.check(small, Failure(_no_integer, (value,)))
        return
    number = ops.compare(value, value, "EQ")
    finite = ops.or_(ops.is_finite(value), ops.not_(number))
    trace.check(number, lambda: _no_integer(np.nan))
    trace.check(finite, lambda: _no_integer(np.inf))
    trace.check(ops.or_(small, ops.not_(ops.is_finite(value))), lambda: _no_integer(2.0**62))


def _no_integer(value: Any = np.nan) -> Exception:
    """Why a float is no run-time integer."""
    if np.isnan(value):
        return ValueError("cannot convert float NaN to integer")
    if np.isinf(value):
        return OverflowError("cannot convert float infinity to integer")
    return errors.UnsupportedError("A float of 2**62 or more becomes an integer, which has no room for sums in the "
                                   "64 bits of a run-time Python integer.", span=None, hint="Keep it a float.",
                                   code="type-depends-on-values")


for _kind in (int, float, complex, bool):
    _conversion(_kind)


_UFUNC_OF = {math.sqrt: np.sqrt, math.exp: np.exp, math.expm1: np.expm1, math.log1p: np.log1p, math.sin: np.sin,
             math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin, math.acos: np.arccos, math.atan: np.arctan,
             math.atan2: np.arctan2, math.sinh: np.sinh, math.cosh: np.cosh, math.tanh: np.tanh,
             math.asinh: np.arcsinh, math.acosh: np.arccosh, math.atanh: np.arctanh, math.fabs: np.fabs,
             math.copysign: np.copysign, math.degrees: np.degrees, math.radians: np.radians, math.log2: np.log2,
             math.log10: np.log10, math.cbrt: np.cbrt, math.exp2: np.exp2, math.fmod: np.fmod, math.pow: np.float_power,
             math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite}
_ROUNDING = {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc}
_DOMAIN = {math.sqrt: lambda x: x >= 0, math.log: lambda x: x > 0, math.log2: lambda x: x > 0,
           math.log10: lambda x: x > 0, math.log1p: lambda x: x > -1, math.acosh: lambda x: x >= 1,
           math.asin: lambda x: abs(x) <= 1, math.acos: lambda x: abs(x) <= 1, math.atanh: lambda x: abs(x) < 1}


def as_python_float(x: Any) -> Any:
    if not is_tensor(x) or x.is_concrete() or not is_number(x):
        return builtins.float(x)        # which raises NumPy's error of arrays
    return python_number(cast(ops.reshape(x.value(), ()), np.dtype(np.float64)))


def _require_domain(function: Callable, x: Any) -> None:
    """math raises ValueError outside the domain; NaN passes."""
    inside = _DOMAIN.get(function)
    if inside is not None and is_tensor(x):
        ok = np.logical_or(inside(x), np.isnan(x))
        if is_tensor(ok):
            current_trace().check(ok.value(), lambda: ValueError("math domain error"))


def _math_function(function: Callable, ufunc: np.ufunc) -> None:
    @on_numbers(function)
    def compute(*args: Any) -> Any:
        numbers = [as_python_float(a) for a in args]
        _require_domain(function, numbers[0])
        return to_python(ufunc(*numbers))


for _function, _ufunc in _UFUNC_OF.items():
    _math_function(_function, _ufunc)


def logarithm(function: Callable, as_number: Callable[[Any], Any], require: Callable[[Callable, Any], None]) -> None:
    """`log(x)` and `log(x, base)` of `math` or `cmath`: numbers by `as_number`, which `require` checks."""
    @on_numbers(function)
    def log(x: Any, *base: Any) -> Any:
        number = as_number(x)
        require(function, number)
        result = to_python(np.log(number))
        return result / log(base[0]) if base else result


logarithm(math.log, as_python_float, _require_domain)


def _rounding_function(function: Callable, ufunc: np.ufunc) -> None:
    @on_numbers(function)
    def compute(x: Any) -> Any:
        if x.dtype.kind in "iub":
            return calls.REPLACEMENTS[int](x)
        return calls.REPLACEMENTS[int](to_python(ufunc(as_python_float(x))))


for _function, _ufunc in _ROUNDING.items():
    _rounding_function(_function, _ufunc)


def _operator_functions() -> None:
    """`operator.iadd(x, y)` and the others, as the operators of the language."""
    for kind, function in operators.INPLACE.items():
        calls.replace(function)(lambda x, y, /, kind=kind: operators.ag__.inplace(kind, x, y))
    calls.replace(operator.setitem)(lambda x, i, v, /: operators.ag__.set_item(v, x, i))
    calls.replace(operator.getitem)(lambda x, i, /: operators.ag__.get_item(x, i))
    calls.replace(operator.delitem)(lambda x, i, /: operators.ag__.del_item(x, i))
    calls.replace(operator.contains)(lambda x, item, /: operators.ag__.contains(item, x))
    calls.replace(operator.not_)(lambda x, /: operators.ag__.not_(x))
    calls.replace(operator.truth)(lambda x, /: operators.ag__.call(bool, x))
    calls.replace(operator.is_)(lambda x, y, /: operators.ag__.same(x, y))
    calls.replace(operator.is_not)(lambda x, y, /: operators.ag__.not_(operators.ag__.same(x, y)))


_operator_functions()


@calls.replace(np.errstate)
def _errstate(**settings: Any) -> np.errstate:
    _require_quiet("np.errstate", settings)
    return np.errstate(**settings)


@calls.replace(np.seterr)
def _seterr(all: str | None = None, divide: str | None = None, over: str | None = None,  # noqa: A002
            under: str | None = None, invalid: str | None = None) -> dict[str, str]:
    """Compiled code never warns, so there is nothing to change."""
    settings = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    _require_quiet("np.seterr", settings)
    return np.geterr() if is_tracing() else np.seterr(**settings)


def _require_quiet(name: str, settings: dict[str, Any]) -> None:
    if is_tracing() and (loud := {s for s in settings.values() if s in ("raise", "call", "print", "log")}):
        raise errors.UnsupportedError(f"{name}: '{min(loud)}' needs to see each operation, which compiled code does "
                                      "not show.", hint="Check the results with np.isfinite instead.",
                                      code="floating-point-warnings")


@calls.replace(warnings.warn)
def _warn(*args: Any, **kwargs: Any) -> None:
    """What is warned of under a run-time condition may not have happened."""
    if not (is_tracing() and current_trace().region.parent is not None):
        warnings.warn(*args, **{"stacklevel": 2, **kwargs})


def _example(x: Any) -> Any:
    """Something of the type that a value stands for: a number has no length, whatever `Tensor` has."""
    kind = calls.stood_for(x) or getattr(type(x), "ag__stands_for", None)
    if kind is None:
        return x
    if issubclass(kind, (np.ndarray, np.generic)):
        return _example_of(kind, x.dtype, x.ndim)
    views: tuple[Any, ...] = {}.keys(), {}.items()      # which have no constructors
    return {type(view): view for view in views}[kind] if kind in map(type, views) else kind()


@lru_cache(maxsize=1024)
def _example_of(kind: type, dtype: np.dtype, ndim: int) -> Any:
    made = np.zeros((0,) * ndim, dtype)
    return made if kind is np.ndarray else made[()]


def _answering(question: Callable) -> None:
    @calls.replace(question)
    def answer(x: Any, /, *about: Any, **keywords: Any) -> Any:
        return question(_example(x), *about, **keywords)


for _question in (isinstance, type, hasattr, callable):
    _answering(_question)


@calls.replace(len)
def _len(x: Any, /) -> Any:
    return x.shape[0] if getattr(type(x), "partial", False) else len(x)


@on_numbers(math.hypot)
def _hypot(*args: Any) -> Any:
    total = 0.0
    for a in args:
        total = to_python(np.hypot(as_python_float(a), total))
    return total


@on_numbers(round)
def _round(x: Any, digits: Any = None) -> Any:
    if x.kind == ARRAY:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if x.kind == SCALAR and digits is not None:
        return np.round(x, digits or 0)
    if x.dtype.kind in "iub":
        return x if x.kind == PYTHON else calls.REPLACEMENTS[int](x)
    rounded = to_python(np.round(x, digits or 0))
    return rounded if digits is not None else calls.REPLACEMENTS[int](rounded)


@on_numbers(pow)
def _pow(x: Any, y: Any, modulus: Any = None) -> Any:
    return x ** y if modulus is None else python_numbers.power_modulo(x, y, modulus)


def _fold_numbers(original: Callable, better: Callable) -> None:
    """`min`/`max` over traced numbers: the first best one, as Python keeps it."""
    python = calls.REPLACEMENTS.get(original, original)

    @calls.replace(original)
    def choose(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) in calls.OURS and hasattr(args[0], "extreme"):  # of run-time length
            return args[0].extreme(original, **kwargs)
        if len(args) == 1 and not kwargs and (found := ordering.extreme(args[0], original is max)) is not None:
            return found
        items = list(args[0] if len(args) == 1 else args)
        if (key := kwargs.get("key")) is not None and items and is_tracing():
            keys = objects.orders([calls.call(key, item) for item in items])
            if ordering.depends(keys):
                return ordering.best(items, keys, original is max)
        keys = objects.orders(items) if key is None and is_tracing() else []
        if keys and type(keys[0]) in (tuple, list) and ordering.depends(keys):
            return ordering.best(items, keys, original is max)
        if not any(is_tensor(i) for i in items) or key is not None:
            return python(*([items] if len(args) == 1 else args), **kwargs)
        best = items[0]
        for item in items[1:]:
            best = _pick(original, better(item, best), item, best)
        return best


def _pick(original: Callable, condition: Any, x: Any, y: Any) -> Any:
    """`x if condition else y` for numbers: `original` (min or max) of them."""
    if not is_tensor(condition) or condition.size != 1:
        return x if condition else y        # raises for arrays
    python = python_numbers.both_python(x, y)
    chosen = np.where(condition, x, y)
    if not python:
        return chosen[()]
    ends = [python_numbers.bounds(v) or python_overflow.ALL for v in (x, y)]
    known = tuple(original(e) for e in zip(*ends, strict=True)) if chosen.dtype.kind == "i" else None
    return Tensor.of_value(chosen.value(), PYTHON, interval=known)


_fold_numbers(min, lambda a, b: a < b)
_fold_numbers(max, lambda a, b: a > b)


@calls.replace(sorted)
def _sorted(items: Any, /, *, key: Any = None, reverse: bool = False) -> list:
    return ordering.in_order(items, key, reverse) if is_tracing() else sorted(items, key=key, reverse=reverse)


def _fold_truth(original: Callable, combine: np.ufunc) -> None:
    @calls.replace(original)
    def fold(items: Any) -> Any:
        if (is_tensor(items) or bounded.is_partial(items)) and items.ndim == 1:
            return to_python(combine.reduce(items))
        items = list(items)
        if not any(is_tensor(i) for i in items):
            return original(items)
        if any(is_tensor(i) and i.size > 1 for i in items):
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or "
                             "a.all()")
        result: Any = original is all
        for item in items:
            result = combine(result, item)
        return to_python(result)


_fold_truth(all, np.logical_and)
_fold_truth(any, np.logical_or)
