"""What every Python value has that is known at run time only: None or a number, one of several objects, a list of
run-time length.

Control flow knows no more of them than this; a new one is a class here below and a row in
`control.snapshots.SNAPSHOTS`. """
from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Abstract:
    """A Python value that is known at run time only."""

    __slots__ = ()
    ag__one_of_several = False
    """Whether what is done with it is done with each object that it may be."""

    def ag__truth(self) -> Any:
        """What decides where it is a test: a traced boolean, or something with a truth."""
        return self

    def ag__if_true(self) -> Any:
        """What it is where its truth holds."""
        return self

    def ag__same(self, other: Any) -> Any:
        """`self is other`, which may be traced; None where another rule decides."""
        return None

    def ag__has(self, item: Any) -> Any:
        """`item in self`; NotImplemented where Python's own rules decide."""
        return NotImplemented

    def ag__items(self) -> Any:
        """Its elements by index (`control.iteration.Items`); None where an index cannot pick them."""
        return None

    def ag__is_none(self) -> Any:
        """`self is None`."""
        return False

    def ag__certain(self) -> Any:
        """The value where it certainly is one: what may be None checks, at run time, that it is not."""
        return self

    def ag__sides(self) -> tuple[Any, Any, Any] | None:
        """(truth, value where it holds, value elsewhere) of what is one of two; else None."""
        return None


class AbstractList(Abstract):
    """A list, or something like one, of run-time length."""

    __slots__ = ()

    def view(self) -> Any:
        """What is in it now, as a list of run-time length, or a list."""
        raise NotImplementedError

    def ordered(self, key: Callable | None = None, reverse: bool = False) -> Any:
        """`sorted` of it."""
        raise NotImplementedError


def certain(x: Any) -> Any:
    """`x`, or the value that it may have."""
    return x.ag__certain() if issubclass(type(x), Abstract) else x


def is_none(value: Any) -> Any:
    """`value is None`, which may be traced."""
    return value.ag__is_none() if issubclass(type(value), Abstract) else value is None


def each_key(key: Any, container: Any = None) -> Callable[[Callable[[Any], Any]], Any] | None:
    """What gives a function each of the keys that may be meant; None for a key that is none of several. To a dict,
    None is a key like others."""
    if issubclass(type(key), Abstract) and (
            key.ag__one_of_several or hasattr(type(key), "ag__each") and isinstance(container, dict)):
        found: Callable[[Callable[[Any], Any]], Any] = key.ag__each     # type: ignore[attr-defined]
        return found
    at = next((k for k, part in enumerate(key) if issubclass(type(part), Abstract) and part.ag__one_of_several), None) \
        if type(key) is tuple else None
    if at is None:
        return None

    def each(use: Callable[[Any], Any]) -> Any:
        def of(part: Any) -> Any:
            known = (*key[:at], part, *key[at + 1:])
            others = each_key(known)
            return use(known) if others is None else others(use)
        return key[at].ag__each(of)
    return each
