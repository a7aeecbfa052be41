"""Dicts and sets with keys that only the run knows: `seen.add(k)`, `count[k] = count.get(k, 0) + 1`.

A function that puts such a key into a dict or set is traced again, with the classes here in place of the empty ones
that it makes: the keys, and what stands under them, are lists that grow, in the order of Python's dicts. The methods
are converted as the user's are. To look for a key takes time in proportion to how many there may be.
"""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from reactant.errors import UnsupportedError
from reactant.frontends import calls, conversion
from reactant.frontends.numpy.tensor import Tensor
from reactant.frontends.operators import install
from reactant.frontends.state import is_record
from reactant.frontends.trace import Trace

MISSING = object()


class Keys:
    """What dicts and sets share. `ag__names`: the keys, each once; all other names are those of dicts and sets."""

    ag__stands_for: type

    def __contains__(self, key: Any) -> bool:
        return key in self.ag__names

    def __len__(self) -> int:
        return len(self.ag__names)

    def clear(self) -> None:
        self.ag__names.clear()

    def __getattr__(self, name: str) -> Any:
        kind = self.ag__stands_for.__name__
        if not hasattr(self.ag__stands_for, name):
            raise AttributeError(f"'{kind}' object has no attribute '{name}'")
        raise _refusal(f"{kind}.{name}")

    def __repr__(self) -> str:
        return repr(self.ag__released())

    def __copy__(self) -> Any:
        return self.copy()

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: '{self.ag__stands_for.__name__}'")


class KeyedDict(Keys):
    ag__stands_for = dict

    def __init__(self, pairs: Any = ()):
        pairs = list(pairs.items() if hasattr(pairs, "items") else pairs)
        names = [key for key, _ in pairs]
        self.ag__names: list[Any] = firsts(names)
        new = are_new(names)
        self.ag__held: list[Any] = [plain(last(pairs, key)) for key, is_new in zip(names, new, strict=True) if is_new]

    def __getitem__(self, key: Any) -> Any:
        if key not in self.ag__names:
            raise KeyError(key)
        return self.ag__held[self.ag__names.index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if key in self.ag__names:
            self.ag__held[self.ag__names.index(key)] = plain(value)
        else:
            self.ag__names.append(key)
            self.ag__held.append(plain(value))

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def ag__iterate(self) -> Any:
        return self.ag__names

    def __iter__(self) -> Any:
        return iter(self.ag__names)

    def get(self, key: Any, default: Any = None) -> Any:
        return self.ag__held[self.ag__names.index(key)] if key in self.ag__names else default

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
        for key, value in pairs.items() if hasattr(pairs, "items") else pairs:
            self[key] = value
        for key, value in more.items():
            self[key] = value

    def clear(self) -> None:
        self.ag__names.clear()
        self.ag__held.clear()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return False
        alike = [1 for key, value in self.items() if key in other and other[key] == value]
        return len(self) == len(other) and len(self) == sum(alike)

    def keys(self) -> list:
        return self.ag__names[:]

    def values(self) -> list:
        return self.ag__held[:]

    def items(self) -> Any:
        return zip(self.ag__names, self.ag__held, strict=True)

    def ag__released(self) -> Any:
        """The dict that it stands for, as a result."""
        return self.ag__stands_for(dict(zip(known(self.ag__names), self.ag__held, strict=True)))


class KeyedOrderedDict(KeyedDict):
    ag__stands_for = OrderedDict

    def popitem(self, last: bool = True) -> tuple:
        if len(self.ag__names) == 0:
            raise KeyError("dictionary is empty")
        place = -1 if last else 0
        return self.ag__names.pop(place), self.ag__held.pop(place)

    def move_to_end(self, key: Any) -> None:
        value = self.pop(key)
        self.ag__names.append(key)
        self.ag__held.append(value)


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
        if key not in self.ag__names:
            if self.default_factory is None:
                raise KeyError(key)
            self.ag__names.append(key)
            self.ag__held.append(plain(self.default_factory()))
        return self.ag__held[self.ag__names.index(key)]


class KeyedCounter(KeyedDict):
    ag__stands_for = Counter

    def __init__(self, items: Any = ()):
        if hasattr(items, "items"):
            self.ag__names, self.ag__held = list(items.keys()), list(items.values())
            return
        items = list(items)
        self.ag__names = firsts(items)
        self.ag__held = [items.count(key) for key, new in zip(items, are_new(items), strict=True) if new]

    def __getitem__(self, key: Any) -> Any:
        return self.ag__held[self.ag__names.index(key)] if key in self.ag__names else 0

    def update(self, pairs: Any = (), **more: Any) -> None:
        if hasattr(pairs, "items"):
            for key, count in pairs.items():
                self[key] = self[key] + count
        else:
            for key in pairs:
                self[key] = self[key] + 1
        for key, count in more.items():
            self[key] = self[key] + count

    def total(self) -> Any:
        return sum(self.ag__held)

    def most_common(self, n: int | None = None) -> list:
        found = sorted(zip(self.ag__names, self.ag__held, strict=True), key=_count, reverse=True)
        return found if n is None else found[:n]


def _count(pair: tuple) -> Any:
    return pair[1]


class KeyedSet(Keys):
    ag__stands_for = set

    def __init__(self, items: Iterable = ()):
        self.ag__names: list[Any] = firsts(list(ordered(items)))

    def add(self, key: Any) -> None:
        if key not in self.ag__names:
            self.ag__names.append(key)

    def discard(self, key: Any) -> None:
        if key in self.ag__names:
            self.ag__names.remove(key)

    def remove(self, key: Any) -> None:
        if key not in self.ag__names:
            raise KeyError(key)
        self.ag__names.remove(key)

    def __iter__(self) -> Any:
        return self.ag__iterate()

    def update(self, items: Iterable) -> None:
        for key in ordered(items):
            self.add(key)

    def copy(self) -> KeyedSet:
        return set_of(self.ag__names[:])

    def issubset(self, other: Any) -> bool:
        return len(self.ag__names) == sum([1 for key in self.ag__names if key in other])

    def isdisjoint(self, other: Any) -> bool:
        return sum([1 for key in self.ag__names if key in other]) == 0

    def issuperset(self, other: Any) -> bool:
        return KeyedSet(other).issubset(self)

    def union(self, other: Any) -> KeyedSet:
        return set_of(self.ag__names + [key for key in KeyedSet(other).ag__names if key not in self.ag__names])

    def intersection(self, other: Any) -> KeyedSet:
        return set_of([key for key in self.ag__names if key in other])

    def difference(self, other: Any) -> KeyedSet:
        return set_of([key for key in self.ag__names if key not in other])

    def ag__released(self) -> set:
        return set(known(self.ag__names))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, set) and len(self) == len(other) and self.issubset(other)

    def __lt__(self, other: Any) -> bool:
        return len(self) < len(other) and self.issubset(other)

    def __gt__(self, other: Any) -> bool:
        return len(self) > len(other) and self.issuperset(other)

    def __le__(self, other: Any) -> bool:
        return self.issubset(other)

    def __ge__(self, other: Any) -> bool:
        return self.issuperset(other)

    def __or__(self, other: Any) -> KeyedSet:
        return self.union(other)

    def __and__(self, other: Any) -> KeyedSet:
        return self.intersection(other)

    def __sub__(self, other: Any) -> KeyedSet:
        return self.difference(other)

    def __ior__(self, other: Any) -> KeyedSet:
        self.update(other)
        return self

    def ag__iterate(self) -> Any:
        raise UnsupportedError("The order of a set is Python's own business, and compiled code does not have it. Loop "
                               "over sorted(...) of it, or keep a list.")


def known(names: Any) -> list:
    """The keys of what is returned."""
    if type(names) is not list or any(type(name) is Tensor for name in names):
        raise UnsupportedError("The function returns a dict or a set of keys that only the run knows. Return arrays of "
                               "keys and values, e.g. np.array(list(d)), at a known size.")
    return names


def set_of(names: Any) -> KeyedSet:
    """The set of these, each of which is there once."""
    made = KeyedSet()
    made.ag__names = names
    return made


def firsts(items: list) -> list:
    """The items, each where it stands first."""
    return [key for key, new in zip(items, are_new(items), strict=True) if new]


def are_new(items: list) -> list:
    """Whether each is none of those before."""
    return [key not in items[:k] for k, key in enumerate(items)]


def last(pairs: list, key: Any) -> Any:
    """The value of the last of the pairs with a key."""
    value = pairs[0][1]
    for other, found in pairs:
        value = found if other == key else value
    return value


def ordered(items: Any) -> Any:
    """What is in a set, for who does not look at the order."""
    return getattr(items, "ag__names", items)


def _refusal(what: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported with keys that only the run knows.")


def _refusing(name: str) -> Callable:
    def refuse(self: Keys, *others: Any) -> Any:
        raise _refusal(f"{self.ag__stands_for.__name__}.{name}")
    return refuse


for _kind in (KeyedDict, KeyedSet):
    for _name in ("or", "xor", "iand", "isub", "ixor", "ior", "ror", "rand", "rsub", "rxor"):
        if f"__{_name}__" not in vars(_kind):
            setattr(_kind, f"__{_name}__", _refusing(f"__{_name}__"))


# ---- in place of Python's ----------------------------------------------------------------------------------------

IN_PLACE_OF = {dict: KeyedDict, OrderedDict: KeyedOrderedDict, defaultdict: KeyedDefaultDict, Counter: KeyedCounter,
               set: KeyedSet}
ORDERLESS = (sorted, min, max, sum, any, all)
"""Functions of a set's elements in any order."""
AS_THEY_ARE = (Keys.__getattr__, Keys.__repr__, Keys.__copy__, Keys.__hash__, KeyedDict.__iter__, KeyedSet.__iter__)
"""Methods that are not converted."""
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
                or _has_traced(arguments[0])):
            return plainly(*arguments)
        return calls.call(keyed, *arguments)
    return make


def _has_traced(pairs: Any) -> bool:
    """Whether a key of a dict that is made of these is known only at run time."""
    return type(pairs) is list and any(type(pair) is tuple and type(pair[0]) is Tensor for pair in pairs)


def plain(value: Any) -> Any:
    """A value to stand under a key: none that can be changed there."""
    if isinstance(value, (list, dict, set, Keys)) or hasattr(type(value), "stands_for") or is_record(value):
        raise UnsupportedError("A dict of keys that only the run knows holds numbers, arrays and tuples, no lists, "
                               "dicts or objects. Use a list of such, at places that are known.")
    return value


def _looking(original: Callable) -> None:
    plainly = calls.REPLACEMENTS.get(original, original)

    @calls.replace(original)
    def look(*arguments: Any, **keywords: Any) -> Any:
        if arguments and isinstance(arguments[0], KeyedDict if original not in ORDERLESS else Keys):
            arguments = (arguments[0].ag__names, *arguments[1:])
        return plainly(*arguments, **keywords)


def put_in_place() -> None:
    """Have Python's dicts and sets made here. Done once, by `control_flow`."""
    makers = {original: _making(original, keyed) for original, keyed in IN_PLACE_OF.items()}
    install(new_dict=makers[dict], new_set=makers[set])
    for original in LISTING:
        _looking(original)
    for kind in (Keys, *IN_PLACE_OF.values()):
        for method in vars(kind).values():
            if type(method) is FunctionType and not (
                    method.__name__.startswith(("ag__", "refuse")) or method in AS_THEY_ARE):
                conversion.convert_always(method)
    for function in (set_of, ordered, firsts, are_new, last, _count):
        conversion.convert_always(function)
