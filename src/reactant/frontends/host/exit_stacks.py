"""`contextlib.ExitStack`: what it enters and calls are managers and functions of the program."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from reactant.frontends.control import mutation_log
from reactant.frontends.session.calls import REPLACEMENTS, call
from reactant.frontends.source.operators import ag__

ExitStack = contextlib.ExitStack


def enter_context(stack: Any, cm: Any) -> Any:
    if not (hasattr(type(cm), "__enter__") and hasattr(type(cm), "__exit__")):
        return ExitStack.enter_context(stack, cm)       # raises
    manager = ag__.context(cm)
    entered = manager.__enter__()
    _keep(stack, manager)
    return entered


def push(stack: Any, exit: Any) -> Any:
    if hasattr(type(exit), "__exit__"):
        _keep(stack, ag__.context(exit))
    else:
        _keep(stack, _Exit(exit))
    return exit


def callback(stack: Any, callback: Callable, /, *arguments: Any, **keywords: Any) -> Callable:
    _touch(stack)
    ExitStack.callback(stack, call, callback, *arguments, **keywords)
    return callback


def close(stack: Any) -> None:
    _touch(stack)
    ExitStack.close(stack)


def pop_all(stack: Any) -> Any:
    _touch(stack)
    mutation_log.touch(stack)
    return ExitStack.pop_all(stack)


class _Exit:
    """A function that is called as `__exit__` is."""

    def __init__(self, function: Callable) -> None:
        self.function = function

    def __exit__(self, *details: Any) -> Any:
        return call(self.function, *details)


def _keep(stack: Any, manager: Any) -> None:
    _touch(stack)
    ExitStack.push(stack, manager)


def _touch(stack: Any) -> None:
    """A branch or a loop that puts something on a stack from outside changes it."""
    mutation_log.touch(stack._exit_callbacks)


def install() -> None:
    """Calls of its methods in converted code call these functions. Done once."""
    for function in (enter_context, push, callback, close, pop_all):
        REPLACEMENTS[getattr(ExitStack, function.__name__)] = function
