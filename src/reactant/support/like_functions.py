"""Objects that stand for a function are copied and pickled as functions are.

A copy of a function is the function; a copy of a method is of a copied object. What was compiled is not copied: it is
compiled again where it is needed. Pickled by name where a module holds it by its name, as decorated functions are, and
else as what it was made of, so that the function below has to be one that pickle can find.
"""
from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made", bound="LikeFunction")
Maker = TypeVar("Maker", bound=Callable[..., Any])


class Told:
    """Base of objects of ours that say what programs depend on of them."""

    def depends_on(self) -> tuple | None:
        """All that a call of it depends on, for the compile cache; None where that is not told."""
        return None


class LikeFunction(Told):
    """Base of what the functions under `remembering_how` return."""

    _origin: tuple[Callable, tuple, dict[str, Any]] | None = None
    """The public function, and its arguments, that made it."""

    is_its_function = False
    """Whether a call of it, while a trace is made, is a call of the function below it and nothing else."""

    def __copy__(self) -> Any:
        return self

    def twin(self: Made) -> Made:
        """Another object with the same contents: for what it holds that must not hold it, as nothing would let go of
        either."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._origin is None:
            return self
        make, (function, *rest), named = self._origin
        copied = copy.deepcopy(function, memo)
        return self if copied is function else make(copied, *rest, **named)

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self, "__qualname__", "")
        if name and _found(getattr(self, "__module__", None), name) is self:
            return name
        return super().__reduce_ex__(protocol) if self._origin is None else (_made_again, self._origin)


def _found(module: str | None, name: str) -> Any:
    return functools.reduce(lambda at, part: getattr(at, part, None), name.split("."), sys.modules.get(module or ""))


def _made_again(make: Callable, arguments: tuple, named: dict[str, Any]) -> Any:
    return make(*arguments, **named)


def remembering_how(make: Maker) -> Maker:
    """Decorator of a public function that makes such objects of its first argument, `function`: they know how."""
    @functools.wraps(make)
    def making(function: Any = None, *arguments: Any, **named: Any) -> Any:
        made = make(function, *arguments, **named)
        if isinstance(made, LikeFunction):
            made._origin = making, (function, *arguments), named
        return made
    return making       # type: ignore[return-value]
