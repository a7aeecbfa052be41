"""Sets with members known only at run time, in place of Python's: lists that grow. See `run_time_keys`.

The methods are converted as the user's are. To look for a member takes time in proportion to how many there may be.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reactant.errors import Reason, UnsupportedError
from reactant.frontends.arrays.tensor import ARRAY, is_tensor
from reactant.frontends.session import calls

MISSING = object()
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.items()))


class Keys:
    """What dicts and sets share. `ag__names`: the keys, each once; all other names are those of dicts and sets."""

    ag__stands_for: type
    ag__names: list[Any]

    def __contains__(self, key: Any) -> bool:
        return hashable(key) in self.ag__names

    def __len__(self) -> int:
        return len(self.ag__names)

    def clear(self) -> None:
        self.ag__names = []

    def __getattr__(self, name: str) -> Any:
        kind = self.ag__stands_for.__name__
        if not hasattr(self.ag__stands_for, name):
            raise AttributeError(f"'{kind}' object has no attribute '{name}'")
        raise refusal(f"{kind}.{name}")

    def __repr__(self) -> str:
        return repr(self.ag__released())

    def __copy__(self) -> Any:
        return self.copy()

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: '{self.ag__stands_for.__name__}'")


class KeyedMembers(Keys):
    """What sets, frozen ones and the keys of dicts share. `ag__of_any`: operators take what is no set, too."""

    ag__of_any = False

    def isdisjoint(self, other: Any) -> bool:
        names = members(other)
        return sum([1 for key in self.ag__names if key in names]) == 0

    def __eq__(self, other: object) -> bool:
        return is_set(other) and len(self) == len(other) and within(self.ag__names, other)

    def __lt__(self, other: Any) -> bool:
        return len(self) < len(other) and within(self.ag__names, other) if is_set(other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return len(self) > len(other) and within(members(other), self) if is_set(other) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return within(self.ag__names, other) if is_set(other) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return within(members(other), self) if is_set(other) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return self.ag__like(united(self.ag__names, (other,))) if self.ag__of_any or is_set(other) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return self.ag__like(common(self.ag__names, (other,))) if self.ag__of_any or is_set(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.ag__like(without(self.ag__names, (other,))) if self.ag__of_any or is_set(other) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return self.ag__like(in_one_of(self.ag__names, other)) if self.ag__of_any or is_set(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return of_names(KeyedSet, without(firsts(members(other)), (self,))) if is_set(other) else NotImplemented

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__

    def ag__like(self, names: Any) -> Any:
        return of_names(KeyedSet, names)


class KeyedView(KeyedMembers):
    """The keys of a dict, which are in its order."""

    ag__stands_for = VIEWS[0]
    ag__in_order = True
    ag__of_any = True

    def __iter__(self) -> Any:
        return iter(self.ag__names)

    def ag__iterate(self) -> Any:
        return self.ag__names

    def ag__released(self) -> Any:
        return dict.fromkeys(known(self.ag__names)).keys()


class KeyedItems(KeyedView):
    """The pairs of keys and values of a dict."""

    ag__stands_for = VIEWS[1]

    def ag__released(self) -> Any:
        return dict(known(self.ag__names)).items()


class KeyedFrozenSet(KeyedMembers):
    ag__stands_for: type = frozenset

    def __init__(self, items: Iterable = ()):
        self.ag__names: list[Any] = firsts(members(items))

    def __iter__(self) -> Any:
        return self.ag__iterate()

    @property
    def ag__unordered(self) -> Any:
        """The members, for who does not look at the order."""
        return self.ag__names

    def copy(self) -> Any:
        return self.ag__like(self.ag__names[:])

    def issubset(self, other: Any) -> bool:
        return within(self.ag__names, members(other))

    def issuperset(self, other: Any) -> bool:
        return within(members(other), self)

    def union(self, *others: Any) -> Any:
        return self.ag__like(united(self.ag__names, others))

    def intersection(self, *others: Any) -> Any:
        return self.ag__like(common(self.ag__names, others))

    def difference(self, *others: Any) -> Any:
        return self.ag__like(without(self.ag__names, others))

    def symmetric_difference(self, other: Any) -> Any:
        return self.ag__like(in_one_of(self.ag__names, other))

    def ag__released(self) -> Any:
        return self.ag__stands_for(known(self.ag__names))

    def ag__like(self, names: Any) -> Any:
        return of_names(KeyedFrozenSet, names)

    def ag__iterate(self) -> Any:
        raise UnsupportedError("The order of a set is Python's own business, and compiled code does not have it.",
                               hint="Loop over sorted(...) of it, or keep a list.", code="keys-at-run-time")


class KeyedSet(KeyedFrozenSet):
    ag__stands_for = set

    def add(self, key: Any) -> None:
        if hashable(key) not in self.ag__names:
            self.ag__names.append(key)

    def discard(self, key: Any) -> None:
        if key in self:
            self.ag__names.remove(key)

    def remove(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        self.ag__names.remove(key)

    def update(self, *others: Iterable) -> None:
        for items in others:
            for key in members(items):
                self.add(key)

    def intersection_update(self, *others: Any) -> None:
        self.ag__names = common(self.ag__names, others)

    def difference_update(self, *others: Any) -> None:
        self.ag__names = without(self.ag__names, others)

    def symmetric_difference_update(self, other: Any) -> None:
        self.ag__names = in_one_of(self.ag__names, other)

    def __ior__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self.update(other)
        return self

    def __iand__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __isub__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self.difference_update(other)
        return self

    def __ixor__(self, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        self.symmetric_difference_update(other)
        return self

    def ag__like(self, names: Any) -> Any:
        return of_names(KeyedSet, names)


def is_set(x: Any) -> bool:
    return isinstance(x, (set, frozenset, *VIEWS))


def within(names: Any, others: Any) -> bool:
    """Whether all of these are among others."""
    return len(names) == sum([1 for key in names if key in others])


def united(names: Any, others: tuple) -> Any:
    found = names[:]
    for items in others:
        found = found + [key for key in firsts(members(items)) if key not in found]
    return found


def common(names: Any, others: tuple) -> Any:
    found = names[:]
    for items in others:
        theirs = members(items)
        found = [key for key in found if key in theirs]
    return found


def without(names: Any, others: tuple) -> Any:
    found = names[:]
    for items in others:
        theirs = members(items)
        found = [key for key in found if key not in theirs]
    return found


def in_one_of(names: Any, items: Any) -> Any:
    theirs = firsts(members(items))
    return [key for key in names if key not in theirs] + [key for key in theirs if key not in names]


def known(names: Any) -> list:
    """The keys of what is returned."""
    if type(names) is not list or any(is_tensor(name) for name in names):
        raise UnsupportedError("The function returns a dict or a set of keys only known at run time.",
                               hint="Return arrays of keys and values, e.g. np.array(list(d)), at a known size.",
                               code="keys-at-run-time")
    return names


def of_names(kind: Callable[[], Any], names: Any) -> Any:
    """A set, or a view of a dict, of these, each of which is there once."""
    made = kind()
    made.ag__names = names
    return made


def firsts(items: list) -> list:
    """The items, each where it stands first."""
    return [key for key, new in zip(items, are_new(items), strict=True) if new]


def are_new(items: list) -> list:
    """Whether each is none of those before."""
    return [key not in items[:k] for k, key in enumerate(items)]


def members(items: Any) -> Any:
    """What is in a set or a dict, or another iterable, for who does not look at the order."""
    names = getattr(items, "ag__names", None)
    return list(items) if names is None else names


def hashable(key: Any) -> Any:
    """A key, which raises as Python's hash of it does."""
    if type(key) in (list, dict, set) or isinstance(key, Keys) or is_tensor(key) and key.kind == ARRAY:
        raise TypeError(f"unhashable type: '{calls.REPLACEMENTS[type](key).__name__}'")
    return key


def one_first(function: Callable, names: Any, key: Callable, default: Any = MISSING) -> Any:
    """`min` or `max` of the members of a set by a key."""
    if default is not MISSING and len(names) == 0:
        return default
    found = function(names, key=key)
    best = key(found)
    if sum([1 for name in names if key(name) == best]) > 1:
        raise TIES.error()
    return found


def in_one_order(names: Any, key: Callable, reverse: bool = False) -> Any:
    """The members of a set, sorted by a key."""
    found = sorted(names, key=key, reverse=reverse)
    by = [key(name) for name in found]
    if sum([1 for k in range(1, len(by)) if by[k] == by[k - 1]]) > 0:
        raise TIES.error()
    return found


TIES = Reason("Members of a set have the same key: which of them comes first is the order of the set, which is "
              "Python's own business.", "Ask sorted(...) of it.", "keys-at-run-time")


def refusal(what: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported with keys only known at run time.",
                            hint="Use an array that the key indexes, or a list of the keys.", code="keys-at-run-time")
