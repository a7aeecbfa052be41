"""`jit`, which chooses what compiles a function, and what is said of programs as texts."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from reactant.calling import signature as sig
from reactant.calling.jitted import FOR_JAX, BoundJitted, Jitted
from reactant.errors import UnsupportedError
from reactant.frontends.source.jax_recognition import (
    UNKNOWN,
    brings_jax,
    is_jax_function,
    kind_of,
    python_function,
)
from reactant.options import CompileOptions
from reactant.runtime.jax_internals import PjitFunction
from reactant.runtime.meshes import mesh_of
from reactant.support.like_functions import remembering_how

P = ParamSpec("P")
R = TypeVar("R")


def _opened(function: Any) -> tuple[Any, tuple, dict[str, Any]]:
    """What a callable calls, and the arguments that it brings."""
    if type(function) is functools.partial:
        inner, brought, named = _opened(function.func)
        return inner, (*brought, *function.args), {**named, **function.keywords}
    if type(function) is MethodType:
        return function.__func__, (function.__self__,), {}
    if sig.is_plain_object(function) and type(type(function).__call__) is FunctionType:
        return type(function).__call__, (function,), {}
    return function, (), {}


class _Decorator(Protocol):
    def __call__(self, function: Callable[P, R], /) -> Jitted[P, R]: ...


@overload
def jit(function: Callable[P, R], **options: Any) -> Jitted[P, R]: ...
@overload
def jit(function: None = None, **options: Any) -> _Decorator: ...


@remembering_how
def jit(function: Any = None, *, static_argnames: str | Iterable[str] = (),
        traced_argnames: str | Iterable[str] = (), static_argnums: int | Iterable[int] = (),
        donate_argnums: int | Iterable[int] = (), donate_argnames: str | Iterable[str] = (),
        frontend: str | None = None, options: CompileOptions | None = None, **changes: Any) -> Any:
    """A NumPy or JAX function that XLA and native code run, compiled at its first call.

    A NumPy function is traced at the first call of each signature: tree structure of the arguments, shapes, dtypes and
    static values. Arrays that it writes into are written for the caller. A JAX function (under `jax.jit`, or one that
    loads parts of `jax` that compute) is called as `jax.jit` of it is, and gives what that gives. Usable as a
    decorator, with or without arguments.

    Args:
        function: what to compile; None makes a decorator with the other arguments. Its arguments are arrays of NumPy,
            of jax or of `reactant.array`, numbers, strings, and lists, tuples, dicts, dataclasses and objects of them.
        static_argnames: names of arguments that are constants of the program: another value compiles again. `int`,
            `bool`, `str` and None are static anyway.
        traced_argnames: names of arguments that are run-time values, as `float` and `complex` are anyway.
        static_argnums: positions of static arguments; for JAX functions.
        donate_argnums: positions of arguments whose memory results may take; for JAX functions.
        donate_argnames: their names; for JAX functions.
        frontend: "numpy" or "jax"; None: told from the function's code.
        options: how to compile; the defaults when None.
        changes: fields of `CompileOptions` by name, over `options`. Of JAX functions also what `jax.jit` takes:
            `keep_unused`, `inline`, `compiler_options`. `in_shardings` and `out_shardings` say how arguments and
            results lie on a mesh of devices: one sharding for all, or a tuple or a dict by name of them.

    Returns:
        A `Jitted` function with the arguments of `function`. NumPy arrays in, writable NumPy arrays out; device arrays
        in, or a mesh named by `mesh` or shardings, device arrays out.

    Raises:
        ValueError: where `frontend` is another one.
        TypeError: for what is no function, and for arguments that the frontend does not have.
        ReactantError: at the call, where the function cannot be compiled exactly; its text names the line and a cure.

    Example:
        >>> @reactant.jit
        ... def halve_until_small(x):
        ...     steps = 0
        ...     while x.max() > 1.0:
        ...         x *= 0.5
        ...         steps += 1
        ...     return steps
        >>> x = np.array([1.0, 6.0])
        >>> halve_until_small(x), x
        (3, array([0.125, 0.75 ]))
    """
    for_jax = {name: changes.pop(name) for name in FOR_JAX if name in changes}
    chosen = (options or CompileOptions()).with_(**changes)
    if chosen.mesh is not None:
        mesh_of(chosen.mesh)        # raises
    if frontend not in (None, "numpy", "jax"):
        raise ValueError(f"reactant.jit: frontend is 'numpy', 'jax' or None, not {frontend!r}.")
    by_jax = {"static_argnums": _given(static_argnums), "donate_argnums": _given(donate_argnums),
              "donate_argnames": _given(donate_argnames), **for_jax}
    if function is None:
        return lambda f: jit(f, static_argnames=static_argnames, traced_argnames=traced_argnames, frontend=frontend,
                             options=chosen, **by_jax)
    function = _plain(function)
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(jit(function.__func__, static_argnames=static_argnames, traced_argnames=traced_argnames,
                                  frontend=frontend, options=chosen, **by_jax))
    below = function.__func__ if type(function) is MethodType else function
    if inspect.iscoroutinefunction(below) or inspect.isasyncgenfunction(below):
        raise UnsupportedError(f"'{below.__name__}' is asynchronous: what it returns is awaited, after the program.",
                               hint="Compile the function that computes, and await asyncio.to_thread(compiled, x) "
                                    "in the asynchronous one.", code="asynchronous-function")
    if not callable(function):
        raise TypeError(f"reactant.jit takes a function, not {type(function).__name__}.")
    if frontend == "jax" or frontend is None and is_jax_function(function):
        return _jit_of_jax(function, chosen, static_argnames, traced_argnames, by_jax)
    shardings = [by_jax.pop(name, None) for name in ("in_shardings", "out_shardings")]
    if told := [name for name, value in by_jax.items() if value or name in for_jax]:
        raise TypeError(f"reactant.jit: {told[0]} is for JAX functions. NumPy functions take static_argnames and "
                        f"donate=True; say frontend=\"jax\" if this is a JAX function.")
    if type(function) is PjitFunction:
        function = vars(function)["__wrapped__"]
    base, brought, named = _opened(function)
    how = chosen, static_argnames, traced_argnames
    made = BoundJitted(function, base, brought, named, *how) if (brought or named) and type(base) is FunctionType \
        else Jitted(function, *how)
    if any(each is not None for each in shardings):
        made.tell(*shardings)
        return made
    if frontend is None and not traced_argnames and kind_of(function) == UNKNOWN:
        made._late = _looking_again(static_argnames)
    return made


def _plain(function: Any) -> Any:
    """What is below a function that is compiled already, by us or by Numba, or below a method of one."""
    if isinstance(function, Jitted):
        return getattr(function, "jitted", function.function)
    if type(function) is MethodType and isinstance(function.__func__, Jitted):
        return MethodType(_plain(function.__func__), function.__self__)
    return python_function(function) or function


def _given(value: Any) -> tuple:
    """One name or number, or several, as a tuple."""
    return (value,) if isinstance(value, (str, int)) else tuple(value or ())


def _jit_of_jax(function: Callable, options: CompileOptions, static_argnames: Any, traced_argnames: Any,
                by_jax: dict) -> Jitted:
    if traced_argnames:
        raise TypeError("reactant.jit: traced_argnames is for NumPy functions. Numbers given to a JAX function are "
                        "run-time values unless static_argnames names them.")
    from reactant.jax_functions import JaxJitted
    return JaxJitted(function, options, static_argnames=_given(static_argnames), **by_jax)


def _looking_again(static_argnames: Any) -> Callable[[Jitted, tuple, dict], Jitted | None]:
    """Code that said nothing when it was decorated may call functions that were defined later, or what it is given."""
    found: Jitted | None = None

    def look(made: Jitted, args: tuple, kwargs: dict) -> Jitted | None:
        nonlocal found
        if found is None:
            if made._entries or not (is_jax_function(made.function) or brings_jax(args, kwargs)):
                made._late = None
                return None
            found = _jit_of_jax(made.function, made.options, static_argnames, (), {})
        return found
    return look


def as_jitted(function: Callable, **options: Any) -> Jitted:
    """`function` itself when it is compiled already and no options are given, else `jit(function, **options)`."""
    if isinstance(function, Jitted) and not options:
        return function
    return jit(function, **options)


def code_hlo(function: Callable, /, *args: Any, optimize: bool = True, **kwargs: Any) -> str:
    """The StableHLO text of a function's program.

    Args:
        function: a NumPy or JAX function, or a `reactant.jit` of one.
        args: arguments for which it is compiled; they are not changed. A `jax.ShapeDtypeStruct` may take the place of
            an array.
        optimize: False for the program as it was traced, before the rewrite rules.
        kwargs: arguments by name.

    Returns:
        The text of one module; its `@main` takes the run-time leaves of the arguments in order.

    Raises:
        ReactantError: where the function cannot be compiled.

    Example:
        >>> def f(x):
        ...     return x @ x + (x @ x).T
        >>> [reactant.code_hlo(f, np.ones((4, 4)), optimize=o).count("stablehlo.dot_general") for o in (False, True)]
        [2, 1]
    """
    return as_jitted(function).lower(*args, **kwargs).as_text(optimized=optimize)


def code_xla(function: Callable, /, *args: Any, **kwargs: Any) -> str:
    """XLA's HLO of a function's program, after XLA's optimisations.

    Args:
        function: a NumPy or JAX function, or a `reactant.jit` of one.
        args: arguments for which it is compiled; they are not changed.
        kwargs: arguments by name.

    Returns:
        The text of the HLO module for the default device.

    Raises:
        ReactantError: where the function cannot be compiled.

    Example:
        >>> text = reactant.code_xla(lambda x: np.sin(x) + 1.0, np.ones(8))
        >>> text.splitlines()[0].split(",")[0]
        'HloModule ...'
    """
    return as_jitted(function).lower(*args, **kwargs).compile().as_text()
