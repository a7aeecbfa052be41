"""`jit`, which chooses what compiles a function, and what is said of programs as texts."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, overload

from reactant.calling import signature as sig
from reactant.calling.jitted import FOR_JAX, BoundJitted, Jitted
from reactant.frontends.source.jax_recognition import UNKNOWN, PjitFunction, brings_jax, is_jax_function, kind_of
from reactant.options import CompileOptions
from reactant.runtime.meshes import mesh_of
from reactant.support.like_functions import remembering_how


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


@overload
def jit(function: Callable, **options: Any) -> Jitted: ...
@overload
def jit(function: None = None, **options: Any) -> Callable[[Callable], Jitted]: ...


@remembering_how
def jit(function: Callable | None = None, *, static_argnames: str | Iterable[str] = (),
        traced_argnames: str | Iterable[str] = (), static_argnums: int | Iterable[int] = (),
        donate_argnums: int | Iterable[int] = (), donate_argnames: str | Iterable[str] = (),
        frontend: str | None = None, options: CompileOptions | None = None, **changes: Any) -> Any:
    """Compile a NumPy or JAX function with XLA, without changing it.

    A NumPy function is traced at the first call of each signature: tree structure of the arguments, shapes, dtypes and
    static values. `int`, `bool`, `str` and `None` arguments are static, `float` and `complex` are run-time values;
    `static_argnames` and `traced_argnames` override that by argument name. NumPy arrays in, writable NumPy arrays out;
    device arrays in, device arrays out. Arrays that the function writes into are written for the caller.

    A JAX function (under `jax.jit`, or one that loads parts of `jax` that compute) is called as `jax.jit` of it is,
    with `static_argnums`, `static_argnames`, `donate_argnums`, `donate_argnames` and whatever else `jax.jit` takes
    (`in_shardings`, `out_shardings`, `keep_unused`, `inline`, `compiler_options`), and gives what that gives.

    Arrays may be on a mesh of devices (`reactant.array(x, sharding=...)`, `jax.Array`): then the program runs there,
    `mesh` says where else. in_shardings and out_shardings say how arguments and results lie, where they are not to lie
    as they are given and as it comes: a sharding for all, a tuple or a dict by name of them. With these or `mesh`,
    results are device arrays.

    frontend: "numpy" or "jax"; told from the function's code when None. options, or any field of `CompileOptions` by
    name, choose how it is compiled. Usable as a decorator, with or without arguments.

    Raises `ValueError` for another frontend, `TypeError` for arguments that the frontend does not have.
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
    if isinstance(function, Jitted):
        function = getattr(function, "jitted", function.function)
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
    """The StableHLO text of `function` for these arguments, after (or before) our passes."""
    return as_jitted(function).lower(*args, **kwargs).as_text(optimized=optimize)


def code_xla(function: Callable, /, *args: Any, **kwargs: Any) -> str:
    """XLA's HLO of `function` for these arguments, after XLA's optimisations."""
    return as_jitted(function).lower(*args, **kwargs).compile().as_text()
