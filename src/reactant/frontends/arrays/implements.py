"""The table of NumPy functions: which of our functions stands for which of NumPy's.

`@implements(np.var)` registers; parameters carry the newest NumPy's names (a test checks them). An argument that
NumPy has and ours has not is refused by name when it is given a value other than NumPy's default.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reactant.errors import Reason, UnsupportedError, require_plain
from reactant.frontends.arrays.nested import leaves, mapped
from reactant.frontends.arrays.storage import CONCRETE_ELEMENTS
from reactant.frontends.arrays.tensor import Tensor, is_tensor, supported
from reactant.frontends.session import calls
from reactant.frontends.session.dispatch import means
from reactant.frontends.source import source_map
from reactant.support import foreign, named_tuples
from reactant.support.named_tuples import is_named_tuple

TABLE: dict[Callable, Callable] = {}
"""NumPy function -> our function."""
CREATION: set[Callable] = set()
"""NumPy functions the call overlay sends here even when no argument is traced."""
NOT_FOLDED: set[Callable] = set()
"""NumPy functions that write into an argument or return a view of it: never evaluated concretely."""
REFUSED: dict[Callable, Reason] = {}
"""NumPy functions that cannot be compiled, and why (what to do instead)."""
REFUSED_ALWAYS: set[Callable] = set()
"""Those of `REFUSED` that raise for plain arguments too."""


def implements(*functions: Callable, creation: bool = False, aliases: bool = False) -> Callable[[Callable], Callable]:
    """Register the decorated function for NumPy's `functions`. `creation`: called even when no argument is traced;
    `aliases`: writes into an argument or returns a view of it."""
    def register(ours: Callable) -> Callable:
        foreign.note()
        for function in functions:
            TABLE[function] = ours
            if creation:
                CREATION.add(function)
            if aliases:
                NOT_FOLDED.add(function)
        return ours
    return register


def refuse(reason: Reason, *functions: Callable, always: bool = False) -> None:
    """Register functions that raise `UnsupportedError` with `reason` when they are given something traced; `always`:
    whatever they are given (running them once while tracing would be wrong)."""
    for function in functions:
        REFUSED[function] = reason
        if always:
            REFUSED_ALWAYS.add(function)


def name_of(function: Callable) -> str:
    """`numpy.linalg.solve` for messages and the generated table."""
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy._core", "numpy").split("._")[0]
    return f"{module}.{getattr(function, '__name__', function)}"


def parameters(function: Callable) -> dict[str, inspect.Parameter] | None:
    """The parameters of a function, if that is known: C functions may have no text signature."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


@functools.cache
def ours_for(function: Callable) -> Callable | None:
    """What stands for NumPy's `function`; signatures are compared at its first use, all of them would take 20 ms."""
    ours = TABLE.get(function)
    return None if ours is None else _checked(function, ours)


def _checked(function: Callable, ours: Callable) -> Callable:
    """Drop arguments we do not have when they hold NumPy's default; refuse them by name otherwise."""
    mine, theirs = inspect.signature(ours).parameters, parameters(function)
    if theirs is None or set(theirs) <= set(mine) or any(
            p.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL) for p in mine.values()):
        return ours
    signature = inspect.Signature(list(theirs.values()))
    missing = {n: p.default for n, p in theirs.items() if n not in mine}

    @functools.wraps(ours)
    def call(*args: object, **kwargs: object) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        for name, default in missing.items():
            if name in bound and not _same(bound.pop(name), default):
                raise UnsupportedError(f"{name_of(function)}: argument '{name}' is not supported in compiled code.",
                                       hint="Leave it out, or write what it does with other functions.",
                                       code="argument-not-supported")
        spread = bound.pop(_variadic(theirs), ())
        return ours(*spread, **bound)
    return call


def _variadic(parameters: dict[str, inspect.Parameter]) -> str:
    return next((n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_POSITIONAL), "")


def _same(value: object, default: object) -> bool:
    if value is default or value is None or value is np._NoValue:
        return True
    return isinstance(default, (bool, int, float, str)) and type(value) is type(default) and value == default


@means("function")
def call(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Run NumPy's `function` on arguments that may be traced."""
    with source_map.location():
        if function in REFUSED_ALWAYS:
            raise REFUSED[function].error()
        if args and type(args[0]) is np.ndarray and args[0].dtype == object and not has_tensors(args, kwargs):
            return function(*args, **kwargs)        # None, which stands in for an array to come
        known = not (args and is_tensor(args[0]) and not args[0].is_concrete())
        if known and function not in NOT_FOLDED and kwargs.get("out") is None and (
                found := list(tensors(args, kwargs))) and all(t.is_concrete() for t in found):
            result = function(*concretely(args), **concretely(kwargs))
            if type(result) is not np.ndarray or not any(np.may_share_memory(result, t.storage.data) for t in found):
                return of_concrete(result, any(t.size > CONCRETE_ELEMENTS for t in found))
        if known and function in WRITING and written_while_tracing(function, args, kwargs):
            return None
        if function in REFUSED:
            raise REFUSED[function].error()
        ours = ours_for(function)
        if ours is None and calls.convertible(python := getattr(function, "_implementation", None)):
            return calls.call(python, *args, **kwargs)
        if ours is None:
            raise UnsupportedError(f"{name_of(function)} is not supported in compiled code.",
                                   hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                        "compiled function.", code="function-not-compiled")
        return ours(*args, **kwargs)


@means("dispatched")
def dispatched(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call NumPy's `function`, which finds out who implements it, where arguments do not show that we do."""
    return call(function, args, kwargs) if are_ours(args, kwargs) else function(*args, **kwargs)


def are_ours(args: tuple, kwargs: dict) -> bool:
    """Whether the first argument is traced, and none of the others may be an array of another kind."""
    if not args or not is_tensor(args[0]):
        return False
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind not in _NEUTRAL and not (kind is tuple and _NEUTRAL.issuperset(map(type, x))):
            return False
    return True


_NEUTRAL = {Tensor, bool, int, float, complex, str, type(None)}


WRITING = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
"""Functions that write into their first argument and give nothing."""


def written_while_tracing(function: Callable, args: tuple, kwargs: dict) -> bool:
    """Run `function`, which writes into its first argument, when all is known and the content may change now."""
    target = args[0] if args else None
    if not is_tensor(target) or not all(t.is_concrete() for t in tensors(args, kwargs)) or \
            not target.changes_now() or not target.writeable or target.storage.constant:
        return False
    function(*concretely(args), **concretely(kwargs))
    target.changed()
    return True


def tensors(*trees: object) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples and dicts."""
    return (x for x in leaves(trees) if is_tensor(x))


def has_tensors(*trees: object) -> bool:
    """Whether something traced is in nested lists, tuples and dicts."""
    return next(tensors(*trees), None) is not None


def concretely(tree: Any) -> Any:
    """Tensors replaced by their known content."""
    return mapped(tree, lambda x: x.known() if is_tensor(x) else x)


def of_concrete(result: Any, known: bool = False) -> Any:
    """NumPy's result as tensors where it holds arrays; numbers stay numbers. `known`: big ones stay known as well."""
    if isinstance(result, np.ndarray):
        require_plain(result)
        return Tensor.of_known(result.copy(order="K")) if known and supported(result.dtype) else Tensor.of_array(result)
    if type(result) in (list, tuple):
        return type(result)(of_concrete(r, known) for r in result)
    if is_named_tuple(result):
        return named_tuples.like(result, [of_concrete(r, known) for r in named_tuples.parts(result)])
    return result


def made_here(result: Any, *sources: Any) -> Any:
    """What NumPy made of known `sources` while tracing, as tensors: code may write into it. Views of arrays from
    outside stay what they are (writing into one raises)."""
    if type(result) is np.ndarray:
        fresh = supported(result.dtype) and result.flags.writeable and not any(
            np.may_share_memory(result, a) for a in plain_arrays(sources))
        return Tensor.of_known(result) if fresh else result
    if isinstance(result, (list, tuple)) and any(type(r) is np.ndarray for r in result):
        apart = [made_here(r, *sources, *(a for a in result if a is not r)) for r in result]
        return type(result)(*apart) if hasattr(result, "_fields") else type(result)(apart)
    return result


def plain_arrays(tree: object) -> Iterator[np.ndarray]:
    """The arrays that are not traced, in nested lists, tuples and dicts."""
    return (x for x in leaves(tree) if isinstance(x, np.ndarray) and not is_tensor(x))
