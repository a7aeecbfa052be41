"""What a call leaves in the caller's lists, dicts and objects: the difference that it makes, and making it."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from reactant.support.attributes import attributes
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Change:
    """What a container holds afterwards that it did not hold before."""

    put: dict[Any, Any]
    """By index, key or name."""
    gone: tuple[Any, ...] = ()
    """Keys or names."""
    whole: bool = False
    """Whether `put` is everything, in this order: of a list of another length, of a dict of another order."""
    only_attributes: bool = False
    """Whether it is no more than that attributes of an object get values."""

    def map(self, leaf: Callable[[Any], Any]) -> Change:
        """The same of other values."""
        return Change({key: leaf(value) for key, value in self.put.items()}, self.gone, self.whole,
                      self.only_attributes)


def contents(container: Any) -> Any:
    """What a mutable container holds, as a new list or dict."""
    return list(container) if isinstance(container, list) else dict(container) if isinstance(container, dict) \
        else {str(name): value for name, value in attributes(container, noted=False).items()}


def change(container: Any, old: Any, new: Any) -> Change | None:
    """What has happened to a container between two of its `contents`; None where nothing has."""
    if isinstance(container, list):
        if len(old) != len(new):
            return Change(dict(enumerate(new)), whole=True)
        found = {i: b for i, (a, b) in enumerate(zip(old, new, strict=True)) if a is not b}
        return Change(found) if found else None
    gone = tuple(name for name in old if name not in new)
    stays = [name for name in old if name in new] if gone else list(old)
    if isinstance(container, dict) and list(new)[:len(stays)] != stays:
        return Change(new, whole=True)
    found = {name: value for name, value in new.items() if name not in old or old[name] is not value}
    if not found and not gone:
        return None
    return Change(found, gone, only_attributes=not gone and not isinstance(container, dict))


def make(container: Any, made: Change, put: dict[Any, Any]) -> None:
    """Make the change, with the values of this call, to a caller's container that holds what it held then."""
    if isinstance(container, list):
        if made.whole:
            container[:] = put.values()
        for index, value in () if made.whole else put.items():
            list.__setitem__(container, index, value)
    elif isinstance(container, dict):
        base = OrderedDict if isinstance(container, OrderedDict) else dict      # classes of its own may do more
        for key in container.keys() - put.keys() if made.whole else made.gone:
            base.__delitem__(container, key)
        if made.whole and list(container) != list(put)[:len(container)]:
            base.clear(container)
        base.update(container, put)
    else:
        for name in made.gone:
            object.__delattr__(container, name)
        for name, value in put.items():
            object.__setattr__(container, name, value)
