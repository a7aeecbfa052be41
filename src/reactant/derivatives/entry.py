"""How a derivative is called: inside a trace as part of it, outside as a compiled function of its own."""
from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from reactant.api import as_jitted
from reactant.calling import recalled
from reactant.calling import signature as sig
from reactant.calling.compiled import Compiled
from reactant.calling.jitted import Jitted
from reactant.calling.lowered import Lowered
from reactant.derivatives.by_jax import Taken, TakenByJax, finished
from reactant.derivatives.direct import CalledDirectly, Guarded
from reactant.derivatives.outline import as_floating, leaves_of
from reactant.errors import ReactantError
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.jax.refusals import NotImported
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.jax_functions import JaxJitted
from reactant.runtime.direct import Miss
from reactant.support.like_functions import LikeFunction

EXTRA = "reactant_extra"
"""The keyword by which an entry point hands tangents or cotangents to its compiled function."""


def name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


_EXECUTABLES: OrderedDict[Any, Any] = OrderedDict()
KEPT_EXECUTABLES = 256


def compiled_once(lowered: Lowered) -> Compiled:
    """The program, compiled by XLA; where the same program has been compiled before, that executable is used. A
    derivative that is made anew in every iteration of a loop (`reactant.grad(f)(x)`) is traced then, but not
    compiled."""
    with building():
        key = (modules.bytecode(lowered.module), lowered.options, lowered.on_device, lowered.placement,
               jax.config.jax_default_device)
    found = _EXECUTABLES.pop(key, None) or lowered.program().executable
    _share(key, found)
    return Compiled(lowered, found)


def _share(key: Any, executable: Any) -> None:
    _EXECUTABLES[key] = executable           # the one used last is dropped last
    if len(_EXECUTABLES) > KEPT_EXECUTABLES:
        _EXECUTABLES.popitem(last=False)


class _Shared(recalled.Form):
    """A program out of the compile cache whose executable others have, too."""

    def made(self, question: recalled.Question, state: tuple) -> Compiled:
        found = recalled.program_of(question, state, executable=_EXECUTABLES.pop(question.key, None))
        _share(question.key, found.executable)
        return found


SHARED = _Shared()


class Sharing(Jitted):
    """A compiled function that shares its executables with others of the same program."""

    taken: Taken | None = None
    """The derivative as JAX takes it, where it is of a JAX function."""
    of: tuple | None = None
    """What is differentiated, and how; None where that is not told."""

    def depends_on(self) -> tuple | None:
        return None if self.of is None else (self.of, self.__name__, self.options, sorted(self._static),
                                             sorted(self._traced))

    def _compile(self, key: tuple, leaves: list) -> Compiled:
        with self._lock:
            made = self.made(key)
            if made.passing:
                return made
            if not isinstance(made, TakenByJax):
                made.recognise(key)
            return self._entries.setdefault(key, made)

    def made(self, key: tuple) -> Any:
        """What calls of a signature run."""
        return recalled.made(self, key, lambda: self._anew(key), SHARED)

    def _anew(self, key: tuple) -> Any:
        try:
            return compiled_once(self._lower(key, keep=False))
        except NotImported as refused:
            return self.by_jax(key, refused)

    def by_jax(self, key: tuple, refused: NotImported) -> TakenByJax:
        """The derivative by JAX, where the function cannot be imported. Raises where there is none."""
        if self.taken is None:
            raise refused
        return TakenByJax(self.taken, key, self.__name__, self.options, EXTRA, refused.fact)

    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments; where JAX takes the derivative, a program of their leaves."""
        try:
            return super().lower(*args, **kwargs)
        except NotImported as refused:
            key, leaves = self._sign(args, kwargs, described=True)
            return self.by_jax(key, refused).lower(leaves)


_NOT_COMPUTED = frozenset(("jitted", "__signature__", "__doc__", "_origin"))
"""Attributes of a derivative that say nothing of what it computes."""


class DerivativeFunction(LikeFunction, ABC):
    """A derivative of `differentiated`: part of a trace, or compiled as a function of its own."""

    differentiated: Any
    __name__: str

    @functools.cached_property
    def jitted(self) -> Any:        # a Jitted; mypy would bind it
        """The derivative as a compiled function: to call, `lower`, `explain`."""
        same = self.twin()      # its programs go with it
        return compiled(self.differentiated, lambda args, kwargs, _: same.traced(args, kwargs), self.__name__,
                        taken=lambda args, kwargs, _: same.by_jax(args, kwargs), of=(same,))

    def depends_on(self) -> tuple | None:
        """All that says what it computes."""
        return tuple((name, value) for name, value in sorted(vars(self).items()) if name not in _NOT_COMPUTED)

    def lower(self, /, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments, as `Jitted.lower` gives it."""
        return self.jitted.lower(*args, **kwargs)

    @abstractmethod
    def traced(self, args: tuple, kwargs: dict) -> Any:
        """The derivative as part of the trace that is running."""

    @abstractmethod
    def by_jax(self, args: tuple, kwargs: dict) -> Any:
        """The derivative as JAX takes it."""


class OfJax(Sharing):
    """A derivative of a JAX function: device arrays are taken as they are, and results are JAX's."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.shortcut = Guarded()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Miss):
            return self.shortcut.call(args, kwargs)
        return as_jax(super().__call__(*args, **kwargs))

    def _compile(self, key: tuple, leaves: list) -> Compiled:
        entry = self.made(key)
        if not isinstance(entry, TakenByJax):
            entry = CalledDirectly(entry.lowered, entry.executable, key[0], key[1])
            self.shortcut.offer(entry.direct)
        with self._lock:
            return entry if entry.passing else self._entries.setdefault(key, entry)

    def clear_cache(self) -> None:
        """Forget every compiled program of this function."""
        super().clear_cache()
        self.shortcut = Guarded()


class Retraced(Sharing):
    """A function that is traced at every call: what it reads from outside may have changed. The program is compiled
    once. What only JAX can differentiate is not compiled as a whole."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._asked: set[tuple] = set()     # signatures for which the compile cache was asked

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        key, leaves = self._sign(args, kwargs)
        first = key not in self._asked
        self._asked.add(key)

        def anew() -> Compiled:
            return compiled_once(self._lower(key, keep=False))
        try:
            made = recalled.made(self, key, anew, SHARED) if first else anew()
        except NotImported:
            if self.taken is None:
                raise
            given = kwargs.pop(EXTRA, None)
            return finished(self.taken(args, kwargs, given), args, kwargs, given)
        return made.run(leaves, args, kwargs)


def _is_too_wide(leaf: Any) -> bool:
    """Whether an argument has 64 bits where JAX takes 32."""
    return is_tensor(leaf) and jax.dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype


def _in_32_bits(leaf: Any) -> Any:
    """An argument as JAX takes it where 64 bits are off: its derivative is of that type, too."""
    if not _is_too_wide(leaf):
        return leaf
    return Tensor.of_value(ops.convert(leaf.value(), jax.dtypes.canonicalize_dtype(leaf.dtype)), leaf.kind)


def is_compiled(function: Any) -> bool:
    """Whether the user has compiled a function, so that what it reads from outside is constant."""
    while hasattr(function, "differentiated"):
        function = function.differentiated
    return isinstance(function, Jitted)


def compiled(function: Any, traced: Callable[[tuple, dict, Any], Any], name: str, extra: bool = False,
             kind: type[Sharing] = Sharing, taken: Taken | None = None, of: tuple | None = None) -> Sharing:
    """`traced(args, kwargs, extra)` as a compiled function with the arguments, options and static arguments of
    `function`. taken: the same by JAX, for JAX functions that cannot be imported. of: all that says what it is."""
    inner = base_of(function)
    of_jax = isinstance(inner, JaxJitted)

    def entry(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.pop(EXTRA, None)
        if of_jax and any(map(_is_too_wide, leaves_of((args, kwargs)))):
            args, kwargs = sig.map_tree((args, kwargs), _in_32_bits)
        return traced(args, kwargs, given)

    entry.__name__ = entry.__qualname__ = name
    entry.ag__stands_for = inner.function  # type: ignore[attr-defined]
    try:
        signature = inspect.signature(inner.function)
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        parameters = list(signature.parameters.values())
        if extra:
            keyword = inspect.Parameter(EXTRA, inspect.Parameter.KEYWORD_ONLY, default=None)
            at = len(parameters) - (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
            parameters.insert(at, keyword)
        entry.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    if kind is Sharing and not extra and of_jax:
        kind = OfJax
    made = kind(entry, inner.options, inner._static, inner._traced)
    made.taken = taken if of_jax else None
    made.takes_keys, made.of = of_jax, of and (extra, *of)
    return made


def base_of(function: Any) -> Jitted:
    """The compiled function under derivatives of derivatives: whose arguments and options are meant."""
    while hasattr(function, "differentiated"):
        function = function.differentiated
    return as_jitted(function)


def remembered(make: Callable) -> Callable:
    """A cache by function, for entry points that are given the function at every call."""
    kept = functools.lru_cache(maxsize=256)(make)

    def find(function: Any, *rest: Any) -> Any:
        try:
            return kept(function, *rest)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            return make(function, *rest)
    return find


_OF_JAX: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


def _is_of_jax(function: Any) -> bool:
    try:
        found = _OF_JAX.get(function)
        if found is None:
            found = _OF_JAX[function] = isinstance(base_of(function), JaxJitted)
    except TypeError:       # neither hashable nor weakly referenced
        return isinstance(base_of(function), JaxJitted)
    return found


def delivered(function: Any, result: Any) -> Any:
    """What a derivative gives to the caller: of a JAX function, JAX arrays."""
    return as_jax(result) if _is_of_jax(function) else result


def as_jax(result: Any) -> Any:
    """A tree with JAX arrays in the place of NumPy's."""
    return sig.map_tree(result, lambda x: jax.numpy.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else x)


# ---- arguments -----------------------------------------------------------------------------------------------------

def numbers_of(argnums: int | Iterable[int], args: Sequence[Any]) -> tuple[int, ...]:
    """Positions counted from the front. Raises where there is no such argument."""
    try:
        numbers = tuple(map(operator.index, argnums if isinstance(argnums, Iterable) else (argnums,)))
    except TypeError:
        raise TypeError(f"argnums={argnums!r} is no position of an argument, nor a sequence of such. Arguments are "
                        f"named by argnames.") from None
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ReactantError(f"argnums={n}, but the function was called with {len(args)} positional arguments.",
                                hint="argnums counts positional arguments from 0; argnames= names those given by "
                                     "keyword.", code="unknown-argument-name")
    numbers = tuple(n % len(args) for n in numbers)
    _refuse_repeated(numbers, f"argnums={argnums}")
    return numbers


def _refuse_repeated(chosen: Sequence[Any], what: str) -> None:
    if len(set(chosen)) < len(chosen):
        raise ReactantError(f"{what} has an argument twice.", hint="Name each argument once.",
                            code="unknown-argument-name")


def named_arguments(function: Any, names: Iterable[str], args: tuple, kwargs: dict) -> list[int | str]:
    """Where arguments given by name are: their position, or the name where they are keywords."""
    try:
        order = list(inspect.signature(base_of(function).function).parameters)
    except (TypeError, ValueError):
        order = []
    found: list[int | str] = []
    for name in names:
        if name in kwargs:
            found.append(name)
        elif name in order and order.index(name) < len(args):
            found.append(order.index(name))
        else:
            raise ReactantError(f"argnames: '{name_of(function)}' was called without an argument {name!r}.",
                                hint="Give the argument in the call, or leave it out of argnames.",
                                code="unknown-argument-name")
    _refuse_repeated(found, f"argnames={tuple(names)}")
    return found


def argument(which: int | str, args: Sequence[Any], kwargs: dict) -> Any:
    """An argument by its position or name."""
    return args[which] if isinstance(which, int) else kwargs[which]


def chosen_arguments(function: Any, argnums: int | Iterable[int], argnames: str | Iterable[str] | None,
                     args: tuple, kwargs: dict) -> list[int | str]:
    """Where the arguments are that vary."""
    if argnames is None:
        return list(numbers_of(argnums, args))
    return named_arguments(function, (argnames,) if isinstance(argnames, str) else argnames, args, kwargs)


def as_chosen(argnums: int | Iterable[int], argnames: str | Iterable[str] | None, found: Sequence[Any]) -> Any:
    """What was found for each chosen argument, as the user chose them: one alone, a tuple, or a dict by name."""
    if isinstance(argnames, str) or argnames is None and not isinstance(argnums, Iterable):
        return found[0]
    return tuple(found) if argnames is None else dict(zip(argnames, found, strict=True))


def require_complex(which: int | str, arg: Any) -> None:
    """Raises `TypeError` where not all floats of an argument are complex: what is holomorphic is of complex numbers."""
    def check(leaf: Any) -> None:
        dtype = np.result_type(leaf.dtype if hasattr(leaf, "dtype") else leaf) if as_floating(leaf) else None
        if dtype is not None and dtype.kind != "c":
            raise TypeError(f"Argument {which} has a part of type {dtype}, and holomorphic=True is of complex numbers. "
                            f"Pass it as complex.")
    sig.map_tree(arg, check)


def require_floats(which: int | str, arg: Any) -> None:
    """Raises `TypeError` for arguments that have no derivative: integers and booleans, and what has no floats at all.
    Other parts (None, strings, functions, whole numbers that are attributes of the user's objects) are constant."""
    floats = 0

    def check(leaf: Any, configures: bool) -> None:
        nonlocal floats
        if as_floating(leaf):
            floats += 1
        elif not (configures and isinstance(leaf, sig.STATIC_TYPES)) and _is_number(leaf):
            _refuse_constant(which, leaf)

    waiting = [arg]
    while waiting:      # not by a function in here: as a cycle it would keep the argument alive
        node = waiting.pop()
        if isinstance(node, (list, tuple, dict)):
            waiting += reversed(list(node.values() if isinstance(node, dict) else node))
        else:
            sig.map_tree(node, functools.partial(check, configures=sig.is_plain_object(node)))
    if not floats and (leaves := leaves_of(arg)):
        _refuse_constant(which, leaves[0])


def _refuse_constant(which: int | str, leaf: Any) -> None:
    shown = is_tensor(leaf) and leaf.kind == ARRAY or type(leaf) is np.ndarray
    what = f"{np.dtype(leaf.dtype)} array" if shown else str(leaf.dtype) if is_tensor(leaf) \
        else type(leaf).__name__
    raise TypeError(f"Argument {which} has a part of type {what}, which has no derivative: only floats and "
                    f"complex numbers vary. Pass it as float, or leave it out with argnums (of jvp and hvp: give it "
                    f"the tangent None).")


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int)) or hasattr(leaf, "dtype")


def like(arg: Any, values: Sequence[Any]) -> Any:
    """A tree like an argument with other leaves, in order."""
    left = iter(values)
    return sig.map_tree(arg, lambda _: next(left))
