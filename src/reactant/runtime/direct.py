"""A compiled module that is called with the user's own trees of arguments.

One `jax.jit` does all of a call in C++: it flattens the arguments, checks that they are those the module was made for,
runs, and builds the result. The function under it is traced for the arguments that it was made for and no others: for
those it raises `Miss`, and whoever calls looks for another program. Two trees of 2 and 5 arrays: 7 us, `jax.jit` of the
function itself 6.5, a signature of our own and `jax.stages.Compiled` 16.
"""
from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np

from reactant.runtime import heap
from reactant.runtime.jax_internals import serialized, trace_context
from reactant.runtime.program import Body, Variant, absent, note_alive, recalled, run_module, temporaries

MOST_MISSED = 3
"""Calls for other programs after which the signature is looked up first. (A miss costs a millisecond.)"""


DIRECT = Variant(donated=(-1,))
"""What its executable is called in the compile cache."""


class Miss(Exception):
    """A call that this program is not for."""


NOT_THIS_WAY = (Miss, TypeError, ValueError)
"""What a call raises that is for another program, or not for any: that is told by who looks."""


def debugging() -> bool:
    """Whether jax is told to run programs op by op, or to look for numbers that are none."""
    return bool(jax.config.jax_disable_jit or jax.config.jax_debug_nans or jax.config.jax_debug_infs)


def may_change(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call reads NumPy's memory, into which the caller may write as soon as it is back."""
    return _any_changes(args) or bool(kwargs) and _any_changes(kwargs.values())


def _any_changes(values: Iterable[Any]) -> bool:
    if _UNCHANGING.issuperset(map(type, values)):
        return False
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            return True
        if kind in _UNCHANGING:
            continue
        if kind in (list, tuple, dict):
            if _any_changes(value.values() if kind is dict else value):
                return True
        elif any(map(_changes, jax.tree_util.tree_leaves(value))):
            return True
    return False


_UNCHANGING: set[type] = set()
"""Types of arguments that are no memory of NumPy's, and hold none, as they come up."""
unchanging = _UNCHANGING.issuperset
"""Whether all of some types are such."""


def _changes(leaf: Any) -> bool:
    if type(leaf) not in _UNCHANGING and isinstance(leaf, (jax.Array, np.generic, int, float, complex, str)):
        _UNCHANGING.add(type(leaf))
    return isinstance(leaf, np.ndarray)


class Direct:
    """`direct(*args, **kwargs)` runs a module.

    body: the module. options: XLA's, for it. leaves_of: the module's arguments of a call, or None where the call is
    not one for this module. built: what the call returns, of the module's results. signature: of the function that
    `settings`, which are `jax.jit`'s, are for.
    Raises `Miss` where a call is for another program.
    """

    def __init__(self, body: Body, options: Mapping[str, Any], leaves_of: Callable[[tuple, dict], list[Any] | None],
                 built: Callable[[list[Any]], Any], signature: inspect.Signature | None,
                 settings: Mapping[str, Any]) -> None:
        self._calls_python = bool(body.callbacks)
        self._body, self._options = body, options
        self._made = lambda absent: _jitted(body, options, leaves_of, built, signature, settings, absent)
        self._jitted = self._made(False)
        self.run: Callable[..., Any] = self._jitted
        self.seconds = 0.0
        self.compiled: Any = None

    def compile(self, args: tuple, kwargs: dict) -> Any:
        """Compile for these arguments; the calls use it. Returns XLA's executable."""
        begun = time.perf_counter()
        note_alive(self)
        self.compiled = self._recalled(args, kwargs)
        if self.compiled is None:
            self.compiled = self._jitted.lower(*args, **kwargs).compile()
            if self._body.kept is not None and (data := serialized(self.compiled)) is not None:
                self._body.kept.keep(DIRECT, self._options, data)
        self.run = heap.keeping(self._jitted, temporaries(self.compiled))
        if self._calls_python:
            self.run = _failing_apart(self.run)
        self.seconds = time.perf_counter() - begun
        return self.compiled

    def _recalled(self, args: tuple, kwargs: dict) -> Any:
        """XLA's executable of the compile cache, which the calls use; None where it has none that jaxlib takes."""
        if self._body.kept is None:
            return None
        jitted = self._made(True)
        found = recalled(lambda: jitted.lower(*args, **kwargs), self._body, DIRECT, self._options)
        if found is not None:
            self._jitted = jitted
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result = self.run(*args, **kwargs)
        if may_change(args, kwargs):
            jax.block_until_ready(result)
        return result


def _jitted(body: Body, options: Mapping[str, Any], leaves_of: Callable[[tuple, dict], list[Any] | None],
            built: Callable[[list[Any]], Any], signature: inspect.Signature | None, settings: Mapping[str, Any],
            is_there: bool) -> Any:
    """The module under `jax.jit`. is_there: jax gets its executable, for the first trace. What jax keeps must not hold
    a `Direct`, or only the collector frees it."""
    traced_in: list[Any] = []

    def whole(*args: Any, **kwargs: Any) -> Any:
        if jax.config.jax_disable_jit:
            raise Miss          # jax calls us with arrays then
        leaves = leaves_of(args, kwargs)
        context = trace_context()
        if leaves is None or traced_in not in ([], [context]):
            raise Miss
        primitive = absent if is_there and not traced_in else run_module
        traced_in[:] = [context]
        return built(primitive.bind(*leaves, body=body))

    whole.__name__ = whole.__qualname__ = body.name
    if signature is not None:
        whole.__signature__ = signature     # type: ignore[attr-defined]  # jax resolves names by it
    return jax.jit(whole, compiler_options=dict(options) or None, **settings)


def _failing_apart(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, where what fails in a call of Python does not look like a call for another program."""
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except ValueError as error:
            if "callback" not in str(error).lower():
                raise
            raise jax.errors.JaxRuntimeError(str(error)) from error
    return call


class Shortcut:
    """The first program of a function, called without a look at the signature while calls are for it."""

    def __init__(self) -> None:
        self.direct: Direct | None = None
        self.missed = 0

    def offer(self, direct: Direct | None) -> None:
        """Take a program, if there is none yet."""
        if self.direct is None and self.missed < MOST_MISSED:
            self.direct = direct

    def call(self, args: tuple, kwargs: dict) -> Any:
        """The result of a call; raises `Miss` where the program is not for it."""
        if self.direct is None:
            raise Miss
        try:
            return self.direct(*args, **kwargs)
        except NOT_THIS_WAY:
            self.miss()
            raise Miss from None

    def miss(self) -> None:
        """Count a call that the program was not for."""
        if not debugging():
            self.missed += 1
            if self.missed >= MOST_MISSED:
                self.direct = None
