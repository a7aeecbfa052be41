"""Whether a function is a JAX function, told from the names that its code loads. Cheap: no compiler is imported.

A function computes with JAX when it, or code nested in it, loads `jax.numpy`, `jax.lax` or another part of jax that
computes, or one of their functions, or says `x.at[...].set(...)`, which JAX's arrays alone have. An import of JAX under
a condition, beside NumPy, is a choice between the two. One that loads neither JAX nor NumPy is what the functions it
calls are, and where they do not say either, JAX's if it is of, or uses, or is given an object of, a library written
over JAX. Arrays do not decide: NumPy functions take `jax.Array`s too.
"""
from __future__ import annotations

import builtins
import dis
import functools
import inspect
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from reactant.runtime.jax_internals import PjitFunction
from reactant.support.like_functions import LikeFunction

CACHED: type = type(functools.lru_cache(lambda: None))
"""The type of what `functools.lru_cache` and `functools.cache` return."""

COMPUTES = frozenset({"numpy", "lax", "nn", "random", "scipy", "image", "ops", "experimental", "jit", "vmap", "grad",
                      "value_and_grad", "jvp", "vjp", "jacfwd", "jacrev", "jacobian", "hessian", "linearize",
                      "checkpoint", "remat", "pmap", "shard_map", "custom_jvp", "custom_vjp", "pure_callback",
                      "device_put", "linear_transpose", "debug", "named_scope", "named_call", "closure_convert",
                      "custom_gradient", "custom_batching", "custom_derivatives", "new_ref", "empty_ref", "freeze",
                      "ref", "ffi", "reshard", "smap", "fwd_and_bwd", "ensure_compile_time_eval"})
"""Attributes of `jax` that say that the function computes with it; `jax.Array` or `jax.devices` do not."""

TRANSFORMS = frozenset({"grad", "value_and_grad", "jvp", "vjp", "linearize", "jacobian", "hessian", "hvp", "vmap"})
"""Attributes of `reactant` that take a function, of JAX or not."""

_OTHERS = frozenset({"torch", "cupy", "dask", "dask.array", "tensorflow", "ndonnx", "sparse", "sys"})
"""A body that imports JAX beside one of these asks what an array is (`array_namespace`), and computes nothing."""

_DISPATCHER = "array_api_compat"
"""The package, often part of others, whose functions find out which library an array is of: NumPy for NumPy's."""

_TYPES = frozenset({"ndarray", "Array", "Tracer"})
"""What the classes of JAX's arrays are called."""

_HELD_AS = ("jax", "jnp", "lax", "jr", "jtu", "np", "numpy", "onp")
"""The names that modules give to JAX and to NumPy."""

_UPDATES = frozenset("set add subtract multiply mul divide div power min max apply get".split())
"""Methods of `x.at[...]`."""

MOST_FUNCTIONS = 100
"""Functions that are looked at for one that says nothing itself."""

JAX, NUMPY, UNKNOWN = "jax", "numpy", ""


def is_jax_function(function: Any) -> bool:
    """Whether `reactant.jit` takes the JAX way with `function` when it is not told."""
    return kind_of(function) == JAX


def kind_of(function: Any) -> str:
    """`JAX`, `NUMPY`, or `UNKNOWN` where the code says neither."""
    first = underlying(function)
    if first is None:
        return JAX if of_jax(behind(function)) else UNKNOWN
    waiting = deque([(first, brought(function))])
    looked_at = {_same_call(*waiting[0])}
    while waiting:
        looked, given = waiting.popleft()
        found, helpers = _evidence(looked, given=given)
        if found == JAX or found and not _is_jax_library(_package(looked)):     # which use NumPy on the host
            return found
        for helper in helpers:
            inner = behind(helper)
            if of_jax(inner):
                return JAX
            if isinstance(inner, FunctionType) and len(looked_at) < MOST_FUNCTIONS \
                    and _package(inner) != "reactant" and _DISPATCHER not in (inner.__module__ or ""):  # take either
                call = inner, brought(helper)
                if _same_call(*call) not in looked_at:
                    looked_at.add(_same_call(*call))
                    waiting.append(call)
    return JAX if any(_is_jax_library(each) for each in {_package(function), *_packages_used(first)}) else UNKNOWN


def brings_jax(args: tuple, kwargs: dict) -> bool:
    """Whether an argument is an object of JAX's or of a library over JAX that is no array (a `BCOO`, a model), and
    describes none."""
    return any(not isinstance(x, (jax.Array, np.generic, jax.ShapeDtypeStruct)) and any(
        _is_jax_module(kind.__module__) or _is_jax_library(_package(kind)) for kind in type(x).__mro__[:-1])
        for x in (*args, *kwargs.values()))


def computes_with_jax(function: FunctionType) -> bool:
    """Whether a Python function itself loads parts of JAX that compute, or is one of a library over JAX."""
    return of_jax(function) or _evidence(function, look=False)[0] == JAX or _is_jax_library(_package(function))


def of_jax(function: Any) -> bool:
    """Whether a callable is JAX's own: a `jax.jit`ed function, what `jax.vmap` or `jax.grad` returned, `jnp.sin`."""
    if type(function) is PjitFunction or _is_jax_module(type(function).__module__):
        return True
    return type(function) is FunctionType and _is_jax_module(function.__globals__.get("__name__"))


def underlying(function: Any) -> FunctionType | None:
    """The Python function behind a callable. None for JAX's own, and where there is none."""
    found = behind(function)
    return None if of_jax(found) else found


def behind(function: Any) -> Any:
    """What a callable calls in the end, through partials, caches, methods and callable objects: a Python function, or
    what is JAX's own. None for what is written in C."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, CACHED):
            function = function.__wrapped__
        elif (below := python_function(function)) is not None:
            function = below
        elif isinstance(function, MethodType):
            function = function.__func__
        elif of_jax(function) or isinstance(function, FunctionType):
            return function
        elif isinstance(function, LikeFunction) and function._origin is not None:   # a gradient is what its function is
            function = function._origin[1][0]
        elif "differentiated" in getattr(function, "__dict__", ()):
            function = function.differentiated
        else:
            method = inspect.getattr_static(type(function), "__call__", None)
            return method if isinstance(method, FunctionType) and not isinstance(function, type) else None


def python_function(function: Any) -> FunctionType | None:
    """The Python function of what `numba.jit` and `numba.njit` return; None for anything else."""
    registry = sys.modules.get("numba.core.registry")
    return function.py_func if registry is not None and isinstance(function, registry.CPUDispatcher) else None


def brought(function: Any) -> list[Any]:
    """The objects that a callable brings to the function behind it: what a method is of, what a partial binds."""
    found: list[Any] = []
    while True:
        if isinstance(function, functools.partial):
            found += [*function.args, *function.keywords.values()]
            function = function.func
        elif isinstance(function, CACHED):
            function = function.__wrapped__
        elif isinstance(function, MethodType):
            return [*found, function.__self__]
        else:
            return found if isinstance(function, FunctionType) else [*found, function]


def _same_call(function: FunctionType, given: Sequence[Any]) -> tuple:
    """What calls of a Python function with objects are told apart by."""
    return (function, *map(id, given))


def _is_jax_module(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in ("jax", "jaxlib")


def _evidence(function: FunctionType, look: bool = True, given: Sequence[Any] = ()) -> tuple[str, list[Callable]]:
    """What the function itself says, and the Python functions it may call; all of them with `look`, which is what
    takes time. `given`: objects among its arguments."""
    numpy_loaded = ours = False
    helpers: list[Any] = []
    asked = _asks(function)
    if asked == NUMPY:
        return NUMPY, []
    for code in codes(function.__code__):
        if any(name.startswith("jax.") for name in code.co_names) and not _OTHERS & set(code.co_names) \
                and not _chooses(function, code):
            return JAX, []                     # import jax.numpy as jnp, in its body
        if not asked and "at" in code.co_names and _updates(code):
            return JAX, []
        for name, value in _loaded(function, code):
            if isinstance(value, ModuleType):
                if asked and _package(value) == "jax":
                    continue
                if value is jax and COMPUTES & set(code.co_names) or value is not jax and _computing(value):
                    return JAX, []
                numpy_loaded |= value.__name__.partition(".")[0] == "numpy"
                # what differentiates or maps JAX functions by ours is traced by us
                ours |= value.__name__ == "reactant" and bool(TRANSFORMS & set(code.co_names))
            elif type(value) is PjitFunction and not _is_jax_module(getattr(value, "__module__", None)):
                helpers.append(value)
            elif callable(value) and not isinstance(value, type) and of_jax(value):
                return JAX, []
            elif isinstance(value, np.ufunc) or getattr(value, "__module__", None) == "numpy":
                numpy_loaded = True
            elif isinstance(value, (FunctionType, CACHED, functools.partial, LikeFunction)) \
                    and name != function.__name__:
                helpers.append(value)
            elif look:
                helpers += _attributes(value, code)
        for value in (part for each in given for part in (each, *_parts(each, code))):
            helpers += [value] if isinstance(value, (FunctionType, MethodType)) or callable(value) and of_jax(value) \
                else _attributes(value, code)
    return (NUMPY if numpy_loaded or ours else UNKNOWN), helpers


def _chooses(function: FunctionType, code: CodeType) -> bool:
    """Whether code imports JAX under a condition only, and loads NumPy as well."""
    if not any(isinstance(value, ModuleType) and _package(value) == "numpy" for _, value in _loaded(function, code)):
        return False
    skips = [(one.offset, one.argval) for one in dis.get_instructions(code)
             if "JUMP" in one.opname and "IF" in one.opname and one.argval > one.offset]
    return all(any(start < one.offset < end for start, end in skips) for one in dis.get_instructions(code)
               if one.opname == "IMPORT_NAME" and one.argval.startswith("jax"))


def _updates(code: CodeType) -> bool:
    """Whether code says `x.at[...].set(...)`: `np.add.at(...)` is called, `table.at[...]` of others has no methods."""
    instructions = list(dis.get_instructions(code))
    asked = any(one.opname == "LOAD_ATTR" and one.argval == "at" and "NULL" not in one.argrepr for one in instructions)
    return asked and any(one.opname == "BINARY_SUBSCR" and after.argval in _UPDATES
                         for one, after in itertools.pairwise(instructions))


def _asks(function: FunctionType) -> bool | str:
    """Whether the function asks what an array is, and computes nothing with JAX: of JAX's modules it loads the types of
    arrays, or the module itself, to compare with it. `NUMPY` where it loads NumPy or SciPy as well, to choose between
    them; it may then return the module."""
    others, neutral, returned = False, False, False
    for code in codes(function.__code__):
        by_type = False
        values = dict(_loaded(function, code))
        modules = {name for name, value in values.items() if isinstance(value, ModuleType) and _package(value) == "jax"}
        others |= any(_package(value) in ("numpy", "scipy") for value in values.values())
        instructions = list(dis.get_instructions(code)) if modules else []
        for one, after in itertools.pairwise(instructions):
            if one.opname not in ("LOAD_GLOBAL", "LOAD_DEREF") or one.argval not in modules:
                continue
            asked = after.opname in ("LOAD_ATTR", "LOAD_METHOD") and after.argval in _TYPES
            by_type |= asked
            chosen = by_type and after.opname in ("JUMP_FORWARD", "STORE_FAST")     # jnp if isinstance(...) else np
            if not (asked or chosen or after.opname in ("RETURN_VALUE", "COMPARE_OP", "IS_OP")):
                return False
            neutral, returned = True, returned or chosen or after.opname == "RETURN_VALUE"
        if not by_type and any(callable(value) and not isinstance(value, type) and of_jax(value)
                               for value in values.values()):
            return False
    return neutral and (NUMPY if others else not returned)


def _attributes(value: Any, code: CodeType) -> Iterator[Callable]:
    """Python functions among the attributes of a module or an object that the code names, and what calling it runs."""
    if isinstance(value, type) or type(value).__module__ == "builtins" and not isinstance(value, ModuleType):
        return
    for name in (*code.co_names, "__call__"):
        found = inspect.getattr_static(value, name, None)       # runs no code of the user's
        if isinstance(found, FunctionType) and found.__module__ != "builtins":
            yield found if isinstance(value, ModuleType) else MethodType(found, value)


def _parts(value: Any, code: CodeType) -> list[Any]:
    """What an object holds under the names that the code asks for."""
    held = getattr(value, "__dict__", None)
    return [held[name] for name in code.co_names if name in held] if isinstance(held, dict) else []


def _package(value: Any) -> str:
    """The top-level package that a module, a function or an object's class is of."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


def _packages_used(function: FunctionType) -> Iterator[str]:
    """Packages of what the function's code loads, and of the classes of the objects among it."""
    for code in codes(function.__code__):
        for _, value in _loaded(function, code):
            yield _package(value)
            kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
            yield from (_package(kind) for kind in kinds)


@functools.cache
def _is_jax_library(package: str) -> bool:
    """Whether an installed package is written over JAX (Equinox, Flax, Optax...): of its modules that are loaded, more
    hold parts of JAX than hold NumPy alone."""
    if package in ("", "jax", "jaxlib", "reactant", "numpy") or not _installed(sys.modules.get(package)):
        return False
    with_jax, with_numpy = 0, 0
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package and module is not None:
            held = {_package(value) for each in _HELD_AS if isinstance(value := vars(module).get(each), ModuleType)}
            with_jax += "jax" in held
            with_numpy += "numpy" in held and "jax" not in held
    return with_jax > with_numpy


def _installed(module: ModuleType | None) -> bool:
    """Whether a module lies where packages are installed: not the user's own program, which may hold anything."""
    path = getattr(module, "__file__", None) or ""
    return "site-packages" in path or "dist-packages" in path


def _computing(module: ModuleType) -> bool:
    first, _, rest = module.__name__.partition(".")
    return first == "jax" and rest.partition(".")[0] in COMPUTES | {"_src"}


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def _loaded(function: FunctionType, code: CodeType) -> Iterator[tuple[str, Any]]:
    """Names with the values they have now, of globals and of the function's closure."""
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
        elif name == "jax" and not (hasattr(builtins, name) or _OTHERS & set(code.co_names)):
            yield name, jax                                              # import jax, in its body
    if code is function.__code__:
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:                                          # not assigned yet
                continue
