"""Dicts and sets with keys known only at run time: `seen.add(k)`, `count[k] = count.get(k, 0) + 1`.

A function that puts such a key into a dict or set is traced again, with the classes here in place of the empty ones
that it makes: the keys, and what stands under them, are lists that grow, in the order of Python's dicts. The methods
are converted as the user's are. To look for a key takes time in proportion to how many there may be.
"""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodDescriptorType
from typing import Any

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import is_tensor
from reactant.frontends.control.generated import Generated
from reactant.frontends.control.snapshots import is_record
from reactant.frontends.prelude import run_time_sets
from reactant.frontends.prelude.run_time_sets import (
    MISSING,
    KeyedFrozenSet,
    KeyedItems,
    KeyedMembers,
    KeyedSet,
    KeyedView,
    Keys,
    are_new,
    firsts,
    hashable,
    in_one_order,
    known,
    members,
    of_names,
    one_first,
    refusal,
)
from reactant.frontends.session import calls
from reactant.frontends.session.trace import Trace
from reactant.frontends.source import conversion


class KeyedDict(Keys):
    ag__stands_for: type = dict
    ag__in_order = True

    def __init__(self, pairs: Any = ()):
        pairs = list(pairs.items() if isinstance(pairs, dict) else pairs)
        names = [key for key, _ in pairs]
        self.ag__names: list[Any] = firsts(names)
        new = are_new(names)
        self.ag__held: list[Any] = [plain(last(pairs, key)) for key, is_new in zip(names, new, strict=True) if is_new]

    def __getitem__(self, key: Any) -> Any:
        if hashable(key) not in self.ag__names:
            raise KeyError(key)
        return self.ag__held[self.ag__names.index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        # only run-time values may tell: both lists may grow in a branch, no more
        if hashable(key) not in self.ag__names:
            self.ag__names.append(key)
            self.ag__held.append(plain(value))
        self.ag__held[self.ag__names.index(key)] = plain(value)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def ag__iterate(self) -> Any:
        return self.ag__names

    def __iter__(self) -> Any:
        return iter(self.ag__names)

    def get(self, key: Any, default: Any = None) -> Any:
        return self.ag__held[self.ag__names.index(key)] if hashable(key) in self.ag__names else default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self.ag__names:
            self.ag__names.append(key)
            self.ag__held.append(plain(default))
        return self.ag__held[self.ag__names.index(key)]

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        if default is MISSING:
            if key not in self.ag__names:
                raise KeyError(key)
        elif key not in self.ag__names:
            return default
        place = self.ag__names.index(key)
        self.ag__names.pop(place)
        return self.ag__held.pop(place)

    def popitem(self) -> tuple:
        if len(self.ag__names) == 0:
            raise KeyError("popitem(): dictionary is empty")
        return self.ag__names.pop(), self.ag__held.pop()

    def copy(self) -> Any:
        made = type(self)()
        made.ag__names, made.ag__held = self.ag__names[:], self.ag__held[:]
        return made

    def update(self, pairs: Any = (), **more: Any) -> None:
        for key, value in pairs.items() if isinstance(pairs, dict) else pairs:
            self[key] = value
        for key, value in more.items():
            self[key] = value

    def clear(self) -> None:
        self.ag__names, self.ag__held = [], []

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return False
        alike = [1 for key, value in self.items() if key in other and other[key] == value]
        return len(self) == len(other) and len(self) == sum(alike)

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, dict):
            return NotImplemented
        made = KeyedDict(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def keys(self) -> KeyedView:
        return of_names(KeyedView, self.ag__names[:])

    def values(self) -> list:
        return self.ag__held[:]

    def items(self) -> KeyedItems:
        return of_names(KeyedItems, pairs(self.ag__names, self.ag__held))

    def ag__released(self) -> Any:
        """The dict that it stands for, as a result."""
        return self.ag__stands_for(dict(zip(known(self.ag__names), self.ag__held, strict=True)))


def pairs(names: Any, held: Any) -> Any:
    return [(names[k], held[k]) for k in range(len(names))]


class KeyedOrderedDict(KeyedDict):
    ag__stands_for = OrderedDict

    def popitem(self, last: bool = True) -> tuple:
        if len(self.ag__names) == 0:
            raise KeyError("dictionary is empty")
        place = -1 if last else 0
        return self.ag__names.pop(place), self.ag__held.pop(place)

    def move_to_end(self, key: Any, last: bool = True) -> None:
        value = self.pop(key)
        if last:
            self.ag__names.append(key)
            self.ag__held.append(value)
        else:
            self.ag__names, self.ag__held = [key] + self.ag__names, [value] + self.ag__held     # noqa: RUF005

    def __eq__(self, other: object) -> bool:
        in_order = not isinstance(other, OrderedDict) or self.ag__names == list(other)
        return KeyedDict.__eq__(self, other) and in_order


class KeyedDefaultDict(KeyedDict):
    ag__stands_for = defaultdict

    def __init__(self, default_factory: Callable[[], Any] | None = None):
        self.ag__names = []
        self.ag__held = []
        self.default_factory = default_factory

    def copy(self) -> Any:
        made = KeyedDefaultDict(self.default_factory)
        made.ag__names, made.ag__held = self.ag__names[:], self.ag__held[:]
        return made

    def ag__released(self) -> Any:
        return defaultdict(self.default_factory, zip(known(self.ag__names), self.ag__held, strict=True))

    def __getitem__(self, key: Any) -> Any:
        if hashable(key) not in self.ag__names:
            if self.default_factory is None:
                raise KeyError(key)
            self.ag__names.append(key)
            self.ag__held.append(plain(self.default_factory()))
        return self.ag__held[self.ag__names.index(key)]


class KeyedCounter(KeyedDict):
    ag__stands_for = Counter

    def __init__(self, items: Any = ()):
        if isinstance(items, dict):
            self.ag__names, self.ag__held = list(items.keys()), list(items.values())
            return
        items = list(items)
        self.ag__names = firsts(items)
        self.ag__held = [items.count(key) for key, new in zip(items, are_new(items), strict=True) if new]

    def __getitem__(self, key: Any) -> Any:
        return self.ag__held[self.ag__names.index(key)] if hashable(key) in self.ag__names else 0

    def update(self, pairs: Any = (), **more: Any) -> None:
        if isinstance(pairs, dict):
            for key, count in pairs.items():
                self[key] = self[key] + count
        else:
            for key in pairs:
                self[key] = self[key] + 1
        for key, count in more.items():
            self[key] = self[key] + count

    def subtract(self, pairs: Any = (), **more: Any) -> None:
        if isinstance(pairs, dict):
            for key, count in pairs.items():
                self[key] = self[key] - count
        else:
            for key in pairs:
                self[key] = self[key] - 1
        for key, count in more.items():
            self[key] = self[key] - count

    def __add__(self, other: Any) -> Any:
        return positive(self, other, lambda mine, theirs: mine + theirs)

    def __sub__(self, other: Any) -> Any:
        return positive(self, other, lambda mine, theirs: mine - theirs)

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Counter):
            return NotImplemented if not isinstance(other, dict) else KeyedDict(self) | other
        return positive(self, other, lambda mine, theirs: max(mine, theirs))

    def __and__(self, other: Any) -> Any:
        return positive(self, other, lambda mine, theirs: min(mine, theirs))

    def __pos__(self) -> Any:
        return positive(self, KeyedCounter(), lambda mine, theirs: mine)

    def __neg__(self) -> Any:
        return positive(self, KeyedCounter(), lambda mine, theirs: -mine)

    def total(self) -> Any:
        return sum(self.ag__held)

    def most_common(self, n: int | None = None) -> list:
        found = sorted(zip(self.ag__names, self.ag__held, strict=True), key=_count, reverse=True)
        return found if n is None else found[:n]


def _count(pair: tuple) -> Any:
    return pair[1]


def positive(left: Any, right: Any, count: Callable[[Any, Any], Any]) -> Any:
    """What two counters are together: counts that are greater than 0."""
    if not isinstance(right, Counter):
        return NotImplemented
    made = KeyedCounter()
    for key, mine in left.items():
        new = count(mine, right[key])
        if new > 0:
            made[key] = new
    for key, theirs in right.items():
        new = count(0, theirs)
        if key not in left and new > 0:
            made[key] = new
    return made


def from_keys(items: Any, value: Any = None) -> KeyedDict:
    """`dict.fromkeys`."""
    made = KeyedDict()
    made.ag__names = firsts(members(items))
    made.ag__held = [plain(value) for _ in made.ag__names]
    return made


def last(pairs: list, key: Any) -> Any:
    """The value of the last of the pairs with a key."""
    value = pairs[0][1]
    for other, found in pairs:
        value = found if other == key else value
    return value


def _refusing(name: str) -> Callable:
    def refuse(self: Keys, *others: Any) -> Any:
        raise refusal(f"{self.ag__stands_for.__name__}.{name}")
    return refuse


for _kind, _more in ((KeyedDict, ()), (KeyedCounter, ("ior", "ror"))):
    for _name in (*_more, "xor", "iand", "isub", "iadd", "ixor", "rand", "rsub", "rxor", "lt", "le", "gt", "ge"):
        if f"__{_name}__" not in vars(_kind):
            setattr(_kind, f"__{_name}__", _refusing(f"__{_name}__"))


# ---- in place of Python's ----------------------------------------------------------------------------------------

IN_PLACE_OF = {dict: KeyedDict, OrderedDict: KeyedOrderedDict, defaultdict: KeyedDefaultDict, Counter: KeyedCounter,
               set: KeyedSet, frozenset: KeyedFrozenSet}
ORDERLESS = (sorted, min, max, sum, any, all)
"""Functions of a set's elements in any order."""
AS_THEY_ARE = (Keys.__getattr__, Keys.__repr__, Keys.__copy__, Keys.__hash__, KeyedDict.__iter__,
               KeyedFrozenSet.__iter__, KeyedView.__iter__)
"""Methods that are not converted."""
OURS = (run_time_sets.hashable, run_time_sets.known, run_time_sets.refusal)
"""Functions that are not converted, either."""
LISTING = (*ORDERLESS, list, tuple, iter, enumerate, reversed)


def _making(original: type, keyed: type) -> Callable:
    plainly = calls.REPLACEMENTS.get(original, original)

    @calls.replace(original)
    def make(*arguments: Any, **keywords: Any) -> Any:
        trace = Trace.current()
        if trace is None or not trace.keyed or keywords or len(arguments) > 1:
            return plainly(*arguments, **keywords)
        if arguments and issubclass(original, dict) and original is not defaultdict and not (
                isinstance(arguments[0], KeyedDict) or original is Counter and not isinstance(arguments[0], dict)
                or isinstance(arguments[0], KeyedItems) or type(arguments[0]) in calls.OURS
                or _has_traced(arguments[0])):
            return plainly(*arguments)
        if original is frozenset and not (arguments and _is_of_the_run(arguments[0])):
            return plainly(*arguments)
        return calls.call(keyed, *arguments)
    return make


def _has_traced(pairs: Any) -> bool:
    """Whether a key of a dict that is made of these is known only at run time."""
    return type(pairs) is list and any(type(pair) is tuple and is_tensor(pair[0]) for pair in pairs)


def _is_of_the_run(items: Any) -> bool:
    """Whether some of these is known only at run time."""
    if type(items) in (list, tuple):
        return any(is_tensor(x) or _is_of_the_run(x) for x in items)
    return not isinstance(items, (int, float, complex, str, bytes, range, dict, set, frozenset, type(None)))


def plain(value: Any) -> Any:
    """A value to stand under a key: none that can be changed there."""
    if isinstance(value, (list, dict, set, Keys)) or hasattr(type(value), "stands_for") or is_record(value):
        raise UnsupportedError("A dict of keys only known at run time holds numbers, arrays and tuples, no lists, "
                               "dicts or objects.", hint="Use a list of such, at places that are known.",
                               code="keys-at-run-time")
    return value


def _looking(original: Callable) -> None:
    plainly = calls.REPLACEMENTS.get(original, original)

    @calls.replace(original)
    def look(*arguments: Any, **keywords: Any) -> Any:
        if not arguments or original in (min, max) and len(arguments) > 1:
            return plainly(*arguments, **keywords)
        items, *more = arguments
        if original in ORDERLESS and type(items) is Generated and keywords.get("key") is None:
            items.lose_order(original not in (any, all))
        in_order = isinstance(items, (KeyedDict, KeyedView))
        if in_order or original in ORDERLESS and isinstance(items, Keys):
            if keywords.get("key") is not None and not in_order:
                return calls.call(in_one_order, items.ag__names, **keywords) if original is sorted else \
                    calls.call(one_first, original, items.ag__names, **keywords)
            items = items.ag__names
        return plainly(items, *more, **keywords)


def _unbound(kind: type) -> None:
    """`set.union(a, b)`: methods of the classes, given a set or dict as their first argument."""
    for name, method in vars(kind).items():
        if type(method) is MethodDescriptorType:
            calls.REPLACEMENTS[method] = partial(_method, method, name)


def _method(method: Callable, name: str, /, *arguments: Any, **keywords: Any) -> Any:
    if arguments and isinstance(arguments[0], Keys):
        return calls.call(getattr(arguments[0], name), *arguments[1:], **keywords)
    return method(*arguments, **keywords)


MAKERS = {original: _making(original, keyed) for original, keyed in IN_PLACE_OF.items()}
"""What makes dicts and sets in the place of Python's classes."""


def put_in_place() -> None:
    """Have Python's dicts and sets made here. Done once, by `frontends.install`."""
    for original in LISTING:
        _looking(original)
    plainly = calls.REPLACEMENTS.get(dict.fromkeys, dict.fromkeys)

    @calls.replace(dict.fromkeys)
    def make(*arguments: Any) -> Any:
        trace = Trace.current()
        return plainly(*arguments) if trace is None or not trace.keyed else calls.call(from_keys, *arguments)
    for kind in (dict, set, frozenset):
        _unbound(kind)
    for keyed in (Keys, KeyedMembers, KeyedView, KeyedItems, *IN_PLACE_OF.values()):
        for method in vars(keyed).values():
            if type(method) is FunctionType and not (
                    method.__name__.startswith(("ag__", "refuse")) or method in AS_THEY_ARE):
                conversion.convert_always(method)
    for function in (*(f for f in vars(run_time_sets).values() if type(f) is FunctionType and f not in OURS),
                     from_keys, last, pairs, positive, _count):
        conversion.convert_always(function)
