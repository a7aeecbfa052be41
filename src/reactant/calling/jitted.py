"""Functions that compile themselves: sign the arguments, trace, run the pipeline, compile, call."""
from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import jax

from reactant.calling import differences
from reactant.calling import signature as sig
from reactant.calling.shardings import Told
from reactant.errors import RAISED_BY_PROGRAMS, ListTooLong, OverlapError, ReactantError, translated
from reactant.options import CompileOptions
from reactant.support.like_functions import LikeFunction
from reactant.support.session import SESSION, TRACES, collecting_later, is_tracing, quietly

if TYPE_CHECKING:
    from reactant.calling.compiled import Compiled
    from reactant.calling.device_calls import DeviceCall
    from reactant.calling.lowered import Lowered

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")

FOR_JAX = ("in_shardings", "out_shardings", "keep_unused", "inline", "compiler_options")
"""What `jax.jit` takes beside the arguments that `jit` names."""

RECOMPILE_WARNING = 8
"""A function compiled for more signatures than this warns, once, with the reason of the last compilation."""

TRIED = 8
"""So many programs are asked whether they fit a call, before another one is compiled."""


class RecompilationWarning(UserWarning):
    """A warning: one function compiles again and again, since static arguments or shapes keep changing.

    Given once for each function, at the ninth signature; the text says what differs from the one before. Name the
    argument in `traced_argnames`, or call it with few shapes.

    Example:
        >>> import warnings
        >>> scale = reactant.jit(lambda x, n: n * x)
        >>> with warnings.catch_warnings(record=True) as given:
        ...     warnings.simplefilter("always")
        ...     for n in range(9):
        ...         y = scale(np.ones(2), n)
        >>> [warning.category.__name__ for warning in given]
        ['RecompilationWarning']
    """


class Jitted(LikeFunction, Generic[P, R_co]):
    """A function that compiles itself for each signature of its arguments; made by `reactant.jit`.

    Called inside another compiled function it becomes part of that program. It can be copied, pickled and bound as a
    method as the function below can.

    Attributes:
        function: the function that is compiled.
        options: its `CompileOptions`.

    Example:
        >>> double = reactant.jit(lambda x: 2.0 * x)
        >>> double(np.arange(3.0))
        array([0., 2., 4.])
        >>> double(np.arange(2.0)).shape, double.cache_size()
        ((2,), 2)
    """

    __name__: str
    told: Told | None = None
    """How arguments and results lie on a mesh, where the user said so."""
    is_its_function = True
    takes_keys = False
    """Whether arguments may have keys of `jax.random.key`: NumPy functions do not compute with them."""

    def __init__(self, function: Callable, options: CompileOptions, static: Iterable[str], traced: Iterable[str]):
        functools.update_wrapper(self, function, updated=())
        if getattr(function, "__isabstractmethod__", False):
            self.__isabstractmethod__ = True
        self.function, self.options = function, options
        self._parameters = _parameters(function)
        known = self._parameters or ()
        self._static = sig.require_known(static, known, "static_argnames")
        self._traced = sig.require_known(traced, known, "traced_argnames")
        if both := self._static & self._traced:
            raise ReactantError(f"{min(both)!r} is among static_argnames and traced_argnames.",
                                hint="It can be only one.", code="unknown-argument-name")
        self._named = bool(self._static or self._traced)
        self._entries: dict[tuple, Compiled] = {}
        self._room: dict[tuple, int] = {}       # where lists turned out longer than `list_capacity`
        self._latest: Compiled | None = None    # what the last call ran
        self._at_once: DeviceCall | None = None     # all of a call like the last one, where there is such a function
        self._lock = threading.Lock()
        self._warned = False
        self._late: Callable[[Jitted, tuple, dict], Jitted | None] | None = None
        """Before anything is compiled: whether functions defined since `jit`, or the arguments, show a JAX function."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if TRACES and SESSION.trace is not None:
            from reactant.frontends.session import calls
            return calls.call(self.function, *args, **kwargs)      # part of the program being traced
        if (at_once := self._at_once) is not None and (
                (result := at_once(args, kwargs)) is not NotImplemented
                or len(self._entries) > 1 and (result := self._by_another(args, kwargs)) is not NotImplemented):
            return result
        entry = self._latest
        leaves = None if entry is None or entry.matches is None else entry.matches(args, kwargs)
        if leaves is None or entry is None:
            if (found := self._by_jax(args, kwargs)) is not None:
                return found(*args, **kwargs)
            key, leaves = self._sign(args, kwargs)
            entry = self._entries.get(key)
            if entry is None:
                entry, leaves = self._fitting(args, kwargs) or (self._compile(key, leaves), leaves)
            if not entry.passing:
                self._latest = entry
            run = entry.run
        else:
            run = entry.run_matched
        self._at_once = entry.on_device_at_once
        try:
            return run(leaves, args, kwargs)
        except ListTooLong as error:
            if self.options.donate or entry.passing:
                raise
            too_long = error
        except OverlapError as error:
            return self._as_one(error, args, kwargs)
        except RAISED_BY_PROGRAMS as error:
            if (known := translated(error)) is error:
                raise
            raise known from None
        self._make_room(entry, too_long, args, kwargs)
        return self(*args, **kwargs)

    def _by_another(self, args: tuple, kwargs: dict) -> Any:
        """A call with device arrays by another program than the last one was; `NotImplemented` where none is for it."""
        for entry in list(self._entries.values())[-TRIED:]:
            at_once = entry.on_device_at_once
            if at_once is not None and at_once is not self._at_once \
                    and (result := at_once(args, kwargs)) is not NotImplemented:
                self._latest, self._at_once = entry, at_once
                return result
        return NotImplemented

    def _fitting(self, args: tuple, kwargs: dict) -> tuple[Compiled, list] | None:
        """A program for another signature, which differs in what that program does not depend on; the leaves as it
        numbers them."""
        return next(((entry, leaves) for entry in reversed(list(self._entries.values())[-TRIED:])
                     if entry.matches is not None and (leaves := entry.matches(args, kwargs)) is not None), None)

    def _as_one(self, error: OverlapError, args: tuple, kwargs: dict) -> Any:
        """Call with arguments of which some are views of the same elements, as one array; else raise `error`."""
        _, apart = self._sign(args, kwargs)
        key, leaves = self._sign(args, kwargs, by_memory=True)
        if len(leaves) == len(apart):
            raise error
        entry = self._entries.get(key) or self._compile(key, leaves)
        try:
            return entry.run(leaves, args, kwargs)
        except RAISED_BY_PROGRAMS as raised:
            raise translated(raised) from None

    def _make_room(self, entry: Compiled, error: ListTooLong, args: tuple, kwargs: dict) -> None:
        """Compile again with more room for lists (nothing was written). Raises `error` where that is too much."""
        _, leaves = self._sign(args, kwargs)
        with self._lock:
            key = next((key for key, known in self._entries.items() if known is entry), None)
            if key is None:
                return      # another thread has done it
            before = entry.lowered.options.list_capacity
            del self._entries[key]
            self._room[key], self._latest = 16 * max(before, 1), None
        try:
            self._compile(key, leaves)
        except ReactantError:
            with self._lock:
                self._entries[key], self._room[key] = entry, before
            raise error from None

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self: Jitted[Concatenate[Any, Q], S], instance: object, owner: type | None = None
                ) -> Callable[Q, S]: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """The program for some arguments, before XLA.

        Args:
            args: the arguments of a call, which are not changed. A `jax.ShapeDtypeStruct` describes a NumPy array that
                does not exist yet, one with a `sharding` a device array.
            kwargs: arguments by name.

        Returns:
            A `Lowered`, which has its text, operation counts, cost, and `compile()`.

        Raises:
            ReactantError: where the function cannot be compiled.

        Example:
            >>> lowered = reactant.jit(lambda x: x @ x + (x @ x).T).lower(np.ones((4, 4)))
            >>> lowered.operations()["stablehlo.dot_general"]
            1
        """
        if (found := self._by_jax(args, kwargs)) is not None:
            return found.lower(*args, **kwargs)
        key, _ = self._sign(args, kwargs, described=True)
        lowered = self._lower(key, keep=True)
        lowered.call = functools.partial(self._call_as, key)
        return lowered

    def run_through(self, program: Compiled, args: tuple, kwargs: dict) -> Any:
        """A call that a certain program is known to fit, with no more ado than another call takes."""
        return program.run(self._sign(args, kwargs)[1], args, kwargs)

    def _call_as(self, key: tuple, args: tuple, kwargs: dict) -> tuple[list, tuple, dict]:
        """Leaves and arguments of a call of what was lowered for a signature. Raises `TypeError` for another one."""
        args, kwargs = differences.apart(key, *differences.arranged(key, args, kwargs, self._parameters))
        given, leaves = self._sign(args, kwargs)
        differences.require_fitting(self.__name__, key, given)
        return leaves, args, kwargs

    def lower_call(self, args: tuple, kwargs: dict) -> tuple[Lowered, list]:
        """The program for a call, and the arrays that its module takes there."""
        if (found := self._by_jax(args, kwargs)) is not None:
            return found.lower_call(args, kwargs)
        key, leaves = self._sign(args, kwargs)
        with quietly():
            lowered = self._lower(key, keep=True)
        return lowered, [*leaves, *lowered.traced.captured]

    def _by_jax(self, args: tuple, kwargs: dict) -> Jitted | None:
        """What takes a call instead, where this is a JAX function after all."""
        return None if self._late is None else self._late(self, args, kwargs)

    def tell(self, arguments: Any, results: Any) -> None:
        """Say how arguments and results lie on a mesh (`in_shardings`, `out_shardings`)."""
        self.told = Told(arguments, results, tuple(self._parameters))

    def depends_on(self) -> tuple | None:
        told = self.told
        if self.takes_keys or told is not None and (told.arguments is not None or told.results is not None):
            return None
        return self.function, self.options, sorted(self._static), sorted(self._traced)

    def cache_size(self) -> int:
        """The number of signatures compiled so far."""
        return len(self._entries)

    def clear_cache(self) -> None:
        """Forget every compiled program of this function."""
        with self._lock:
            self._entries.clear()
            self._latest = self._at_once = None

    def _sign(self, args: tuple, kwargs: dict, described: bool = False, by_memory: bool = False) -> tuple[tuple, list]:
        flat = sig.Flattener(keys=self.takes_keys, described=described, by_memory=by_memory)
        if not self._named:
            positional = tuple([flat.node(a) for a in args])
            keyword = tuple([(n, flat.node(kwargs[n])) for n in sorted(kwargs)]) if kwargs else ()
        else:
            names = self._names(len(args))
            positional = tuple(self._node(flat, n, a) for n, a in zip(names, args, strict=True))
            keyword = tuple((n, self._node(flat, n, kwargs[n])) for n in sorted(kwargs))
        # dtypes in JAX functions that are called within depend on the user's x64
        return (positional, keyword, jax.config.jax_default_device, jax.config.jax_enable_x64), flat.leaves

    def _node(self, flat: sig.Flattener, name: str, value: Any) -> Any:
        return sig.Static(value) if name in self._static else flat.node(value, name in self._traced)

    def _names(self, count: int) -> list[str]:
        named = [p.name for p in self._parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = next((p.name for p in self._parameters.values() if p.kind is p.VAR_POSITIONAL), "")
        return (named + [rest] * count)[:count]

    def options_for(self, key: tuple) -> CompileOptions:
        """The options of the program for a signature."""
        room = self._room.get(key)
        return self.options if room is None else self.options.with_(list_capacity=room)

    def _lower(self, key: tuple, keep: bool) -> Lowered:
        with collecting_later():
            from reactant.calling.compiled_numpy import (
                lower,  # the compiler is loaded when the first program is compiled
            )
        return lower(self.function, key[0], key[1], self.options_for(key), keep_original=keep,
                     told=self.told or Told(names=tuple(self._parameters)))

    def _made(self, key: tuple) -> Compiled:
        """The program for a signature: out of the compile cache, or compiled, and kept there."""
        with collecting_later():
            from reactant.calling import recalled
        found: Compiled = recalled.made(self, key, lambda: self._lower(key, keep=False).program())
        return found

    def asked(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        """What the compile cache is asked for a call, and the form of what it has. Raises `NotCacheable`."""
        from reactant.calling import recalled
        return recalled.question_of(self, self._sign(args, kwargs, described=True)[0]), recalled.PROGRAM

    def _compile(self, key: tuple, leaves: list) -> Compiled:
        entry = self._made(key)
        with self._lock:
            if entry.passing:
                return entry
            entry.recognise(key)
            entry = self._entries.setdefault(key, entry)
            if len(self._entries) > RECOMPILE_WARNING and not self._warned:
                self._warned = True
                keys = list(self._entries)
                reason = differences.reason(keys[-2], keys[-1])
                warnings.warn(f"{self.__name__} was compiled {len(keys)} times. {reason}", RecompilationWarning,
                              stacklevel=4)
        return entry

    def __repr__(self) -> str:
        return f"<reactant.jit of {getattr(self, '__qualname__', self.function)}>"


class BoundJitted(Jitted):
    """A method of an object, a partial or an object with `__call__`: what it brings is passed as arguments at each
    call, so that the function sees, and changes, what is there then. Derivatives and exports take it as constant."""

    def __init__(self, function: Callable, base: FunctionType, brought: tuple, named: dict[str, Any], *how: Any):
        super().__init__(function, *how)
        self.base: Jitted = Jitted(base, *how)
        self.brought, self._named_too = brought, named

    def tell(self, arguments: Any, results: Any) -> None:
        self.base.told = Told(arguments, results, tuple(self.base._parameters), len(self.brought))

    def arguments(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments of `base` for a call."""
        return (*self.brought, *args), {**self._named_too, **kwargs}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return super().__call__(*args, **kwargs)
        if (found := self._by_jax(args, kwargs)) is not None:
            return found(*args, **kwargs)
        return self.base(*self.brought, *args, **{**self._named_too, **kwargs})

    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        if (found := self._by_jax(args, kwargs)) is not None:
            return found.lower(*args, **kwargs)
        args, kwargs = self.arguments(args, kwargs)
        lowered = self.base.lower(*args, **kwargs)
        if (called := lowered.call) is not None:
            lowered.call = lambda args, kwargs: called(*self.arguments(args, kwargs))
        return lowered

    def cache_size(self) -> int:
        return self.base.cache_size()

    def clear_cache(self) -> None:
        self.base.clear_cache()


def _parameters(function: Callable) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}
