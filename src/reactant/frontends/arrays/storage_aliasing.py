"""Arrays whose storage is decided at run time: after `if c: x = a` the name `x` is `a` or what it was.

NumPy's names point to memory: a write through `x` has to reach the right one, and a write to `a` has to be seen by `x`
exactly when they are one. A `ChosenStorage` does that with selections, which cost nothing while nobody writes.
"""
from __future__ import annotations

import itertools
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.arrays.view_steps import DynamicSliceStep
from reactant.frontends.session.heap import Heap, Root
from reactant.frontends.session.trace import Region, current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

_NUMBERS = itertools.count()


class ChosenStorage(Storage):
    """The memory of `first` where `predicate` holds at run time, else of `second`: writes go to the one it is.

    `options` are the memories it may be, however deep choices are nested. Those of one `family` are never the same.
    """

    __slots__ = ("asked", "cached", "family", "first", "number", "options", "predicate", "second", "seen")
    is_base = False

    def __init__(self, predicate: ir.Value, first: Storage, second: Storage, value: ir.Value | None = None):
        self.predicate, self.first, self.second = predicate, first, second
        self.options = tuple(dict.fromkeys(option for side in (first, second) for option in _options(side)))
        self.cached: tuple | None = None
        self.asked: tuple[Region | None, dict[Storage, ir.Value | None]] = None, {}
        self.family: Any = None
        self.number = next(_NUMBERS)
        super().__init__(first.shape, first.dtype,
                         value=ops.select(predicate, first.read(), second.read()) if value is None else value)
        self.constant = first.constant or second.constant
        self.seen = stamp(self)
        current_trace().choices.append(weakref.ref(self))

    def ag__leads(self) -> tuple[Storage, ...]:
        return self.first, self.second, *self.options

    def conditions(self) -> dict[Storage, ir.Value | None]:
        """When it is each of its options (None: always); made where they are asked for, since most choices are never
        written to."""
        region = current_trace().region
        waiting = [self]
        while waiting:                                  # not by recursion: choices of choices may be many
            choice = waiting[-1]
            inner = [s for s in (choice.first, choice.second) if type(s) is ChosenStorage and not s.is_asked(region)]
            if inner and not choice.is_asked(region):
                waiting += inner
                continue
            waiting.pop()
            if not choice.is_asked(region):
                choice.asked = region, choice.combined()
        return self.asked[1]

    def is_asked(self, region: Region) -> bool:
        return self.asked[0] is not None and self.asked[0].encloses(region)

    def combined(self) -> dict[Storage, ir.Value | None]:
        if self.first is self.second and type(self.first) is not ChosenStorage:
            return {self.first: None}
        found: dict[Storage, ir.Value | None] = {}
        for side, condition in ((self.first, self.predicate), (self.second, ops.not_(self.predicate))):
            inner = side.asked[1] if type(side) is ChosenStorage else {side: None}
            for option, also in inner.items():
                here = condition if also is None else ops.and_(condition, also)
                found[option] = here if option not in found else ops.or_(found[option], here)
        return found

    def chosen(self, value_of: Callable[[Storage], ir.Value]) -> ir.Value:
        """The value of the memory it is."""
        value = None
        for option, condition in self.conditions().items():
            here = value_of(option)
            value = here if value is None else ops.select(condition, here, value)
        return value

    def read(self) -> ir.Value:
        value, now, region = super().read(), stamp(self), current_trace().region
        if self.seen == now:
            return value
        if self.cached is None or self.cached[0] != now or not self.cached[1].encloses(region):
            self.cached = now, region, self.chosen(lambda option: option.read())
        return self.cached[2]

    def write(self, value: ir.Value) -> None:
        if len(self.options) > 1:
            fewer_memories()
        for option, condition in self.conditions().items():
            option.write(value if condition is None else ops.select(condition, value, option.read()))
        super().write(value)
        self.seen = stamp(self)


    def become(self, options: list[tuple[ir.Value | None, Storage]], content: ir.Value) -> None:
        """The first of these whose condition holds; the last has none."""
        rest = options[-1][1]
        for condition, option in reversed(options[1:-1]):
            rest = ChosenStorage(condition, option, rest, content)
        if len(options) == 1:
            self.predicate, self.first, self.second = ops.constant(True), rest, rest
        else:
            self.predicate, self.first, self.second = options[0][0], options[0][1], rest
        self.options = tuple(dict.fromkeys(option for _, option in options))
        self.cached, self.asked = None, (None, {})
        self.settled, self.seen = content, stamp(self)


def _options(storage: Storage) -> tuple[Storage, ...]:
    return storage.options if type(storage) is ChosenStorage else (storage,)


class ViewStorage(Storage):
    """A view as a memory of its own, for `ChosenStorage`."""

    __slots__ = ("tensor",)
    is_base = False

    def __init__(self, tensor: Tensor):
        super().__init__(tensor.shape, tensor.dtype, value=tensor.value(), constant=tensor.storage.constant)
        self.tensor = tensor

    def ag__leads(self) -> tuple[Tensor, ...]:
        return (self.tensor,)

    def read(self) -> ir.Value:
        return self.tensor.value()

    def write(self, value: ir.Value) -> None:
        self.tensor.assign(value)


class GuardedStorage(Storage):
    """An array that may be the same as one of `sources`, in a way that is not followed: neither side may be written
    while the other is in use."""

    __slots__ = ("name", "seen")
    is_base = False

    def __init__(self, name: str, sources: Iterable[Storage], value: ir.Value):
        super().__init__(shape_of(value), dtype_of(value), value=value)
        self.name = name
        self.seen: dict[int, tuple[weakref.ref, Any, list[int], int]] = {}
        current_trace().choices.append(weakref.ref(self))
        for source in sources:
            self.watch(source)

    def watch(self, source: Storage) -> None:
        """`source` may be the same array."""
        for each in {source, *roots_of(source)} - {self}:
            self.seen[id(each.writes)] = weakref.ref(each), stamp(each), each.writes, each.version

    def look(self) -> None:
        """Nothing has been written yet: those it watches have begun to watch others."""
        for reference, *_ in list(self.seen.values()):
            if (source := reference()) is not None:
                self.watch(source)

    def read(self) -> ir.Value:
        for reference, seen, writes, number in self.seen.values():  # what is gone by now may have been written before
            source = reference()
            if writes[0] != number or source is not None and not _is_still(stamp(source), seen):
                raise self.error()
        return super().read()

    def write(self, value: ir.Value) -> None:
        if any(reference() is not None for reference, *_ in self.seen.values()):
            raise self.error()
        super().write(value)

    def error(self) -> ControlFlowError:
        return ControlFlowError(f"'{self.name}' was bound to one of several arrays by control flow that is decided "
                                "at run time; now one of them is written in place.",
                                hint=f"Bind it to a copy: {self.name} = {self.name}.copy().",
                                code="one-of-several-arrays")


class MovedTogether(GuardedStorage):
    """Elements of an array of run-time size at other places: a copy of what would be a view."""

    __slots__ = ()

    def error(self) -> ControlFlowError:
        return ControlFlowError("A slice of what a run-time mask selects, or a ravel of run-time size, is a copy in "
                                "compiled code: one of the two is written while the other is in use.",
                                hint="Take a copy before: x[mask][1:].copy(), x[:n].flatten(); or write where a mask "
                                     "selects: x[mask] = values.", code="one-of-several-arrays")


class PerhapsAgain(GuardedStorage):
    """An element of a list that may be the same array as another one."""

    __slots__ = ()

    def write(self, value: ir.Value) -> None:
        raise self.error()

    def error(self) -> ControlFlowError:
        return _appended_elsewhere(self.name)


def _appended_elsewhere(name: str) -> ControlFlowError:
    return ControlFlowError(f"What a loop appended to '{name}' may be one array in several places (other elements, a "
                            "variable); now it is written in place.", hint=f"Append a copy: {name}.append(x.copy()).",
                            code="one-of-several-arrays")


class Stood:
    """Arrays that stood in a list before its elements became rows of a memory of its own."""

    def __init__(self, name: str, sources: Iterable[Storage]):
        self.name = name
        self.seen = [(weakref.ref(s), _state_of(s)) for s in sources]

    def require_unwritten(self) -> None:
        for reference, seen in self.seen:
            if (storage := reference()) is not None and not _is_still(self.before_loops(storage), seen):
                raise self.error()

    def before_loops(self, storage: Storage) -> Any:
        """What a memory holds. A loop that may write it gives it a value of its own: it is told that it must not."""
        now = _state_of(storage)
        for loop in reversed(current_trace().loops):
            slot = loop.storage_slots.get(storage)
            if slot is not None and now == slot.body:
                loop.presumed.append((storage, self))
                now = slot.init
        return now

    def error(self) -> ControlFlowError:
        return _appended_elsewhere(self.name)


def _state_of(storage: Storage) -> Any:
    return storage.read() if type(storage) is Storage and storage.data is None else stamp(storage)


class Picked(GuardedStorage):
    """An element of a list of arrays, at a place known only at run time."""

    __slots__ = ()

    def error(self) -> ControlFlowError:
        return ControlFlowError("An element of a list of arrays that only run-time values pick (by its place, by "
                                "sorted, min or max) is a copy in compiled code, and now it is written in place, or "
                                "one of the arrays that it may be.", hint="Write into a copy: x.copy().",
                                code="one-of-several-arrays")


def stamp(storage: Storage) -> Any:
    """Changes whenever the content may have changed."""
    if type(storage) is ChosenStorage:
        return tuple(map(stamp, storage.options))
    if type(storage) is ViewStorage:
        return stamp(storage.tensor.storage)
    if type(storage) is GuardedStorage:
        return frozenset((id(root), root.version) for root in roots_of(storage))
    return storage.version


def _is_still(now: Any, before: Any) -> bool:
    """Whether nothing was written between two stamps of a storage; what is gone by now is not written any more."""
    if type(now) is frozenset:
        return now <= before
    return all(map(_is_still, now, before)) if type(now) is tuple else bool(now == before)


def roots_of(storage: Storage) -> set[Storage]:
    """The arrays that a storage may stand for."""
    found: set[Storage] = set()
    waiting, seen = [storage], set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if type(current) is ChosenStorage:
            waiting += current.options
        elif type(current) is ViewStorage:
            waiting.append(current.tensor.storage)
        else:
            found.add(current)
            if isinstance(current, GuardedStorage):     # two may guard each other
                waiting += [s for reference, *_ in current.seen.values() if (s := reference()) is not None]
    return found


def content_after(storage: Storage, written: dict[Storage, ir.Value]) -> ir.Value:
    """What a storage holds where `written` has happened, built at the insertion point."""
    if type(storage) is ChosenStorage:
        return storage.chosen(lambda option: content_after(option, written))
    if type(storage) is ViewStorage:
        return view_of(content_after(storage.tensor.storage, written), storage.tensor)
    return written[storage] if storage in written else storage.read()


def view_of(base: ir.Value, tensor: Tensor) -> ir.Value:
    """The tensor's value where its memory holds `base`."""
    for step in tensor.steps:
        base = step.read(base)
    return base


def may_be_one(a: Storage, b: Storage) -> bool:
    """Whether two storages may stand for the same array. Those chosen by one condition are compared side by side; else
    both sides of the later choice with the other storage: `a, b = b, a` makes no two names one."""
    waiting, seen = [(a, b)], set()                # choices share what they choose from: each pair once
    while waiting:
        pair = a, b = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        if a is b:
            return True
        both = type(a) is type(b) is ChosenStorage
        if both and a.family is b.family is not None:
            continue
        if both and a.predicate == b.predicate:
            waiting += [(a.second, b.second), (a.first, b.first)]
        elif roots_of(a) & roots_of(b):
            if type(b) is not ChosenStorage or type(a) is ChosenStorage and a.number > b.number:
                a, b = b, a
            if type(b) is not ChosenStorage:
                return True
            waiting += [(a, b.second), (a, b.first)]
    return False


# ---- memories that only such names can see -----------------------------------------------------------------------

def fewer_memories() -> None:
    """Where names may be one of memories that nothing else can see, give each name a memory of its own: conditional
    swaps in a row leave as many memories as names, not as many as arrays were ever made.

    Two such names that may be one at run time stay so: the later one is a choice of the earlier one's memory and its
    own. Only what was made in the current region takes part: the conditions hold there.
    """
    trace = current_trace()
    known = [s for reference in trace.choices if (s := reference()) is not None]
    trace.choices[:] = [weakref.ref(s) for s in known]
    choices = [s for s in known if type(s) is ChosenStorage]
    if not any(len(c.options) > 1 and c.region is trace.region for c in choices):
        return
    names, hidden = _hidden(known, choices, trace.region)
    while names:
        group = found = [names.pop(0)]
        while found:        # names that share memories
            memories = {m for name in group for m in hidden[name]}
            found = [n for n in names if memories & hidden[n]]
            names = [n for n in names if n not in found]
            group += found
        _give_memories(sorted(group, key=choices.index), hidden)


def _hidden(known: list[Any], choices: list[ChosenStorage], region: Region) -> tuple[list, dict]:
    """The choices that somebody refers to, and for each one the memories that only such choices refer to."""
    inside = Counter(id(s) for c in choices for s in (c.first, c.second, *c.options, *c.asked[1]))
    watched = {id(s) for g in known if type(g) is GuardedStorage for reference, *_ in g.seen.values()
               if (s := reference()) is not None}
    excluded = {id(m) for c in choices if id(c) in watched or (not c.region.closed and not made_in(c, region))
                for m in c.options} | watched
    exclusive: dict[int, bool] = {}
    for choice in choices:
        for memory in choice.options:
            if id(memory) not in exclusive:
                exclusive[id(memory)] = (
                    type(memory) is Storage and made_in(memory, region) and not memory.constant
                    and memory.argument is None and id(memory) not in excluded
                    # besides the choices: this variable
                    and sys.getrefcount(memory) - _LOOP_VARIABLE == inside[id(memory)])
    del memory
    names, hidden = [], {}
    for choice in choices:
        # besides other choices: the lists of this function and its caller, and this variable
        if made_in(choice, region) and sys.getrefcount(choice) - _LOOP_VARIABLE - 2 > inside[id(choice)]:
            hidden[choice] = {m for m in choice.options if exclusive[id(m)]}
            if hidden[choice]:
                names.append(choice)
    return names, hidden


def _loop_variable() -> int:
    """What `sys.getrefcount` says of an object that a variable refers to, besides one list."""
    for probe in [object()]:
        return sys.getrefcount(probe) - 1
    return 0


_LOOP_VARIABLE = _loop_variable()


def made_in(storage: Storage, region: Region) -> bool:
    """Whether a memory is the region's own, not one that it wrote."""
    return storage.region is region and storage not in region.saved


def _give_memories(names: list[ChosenStorage], hidden: dict[ChosenStorage, set[Storage]]) -> None:
    """A memory for each name, in place of those that are hidden."""
    pairs = {(a, b) for n, a in enumerate(names) for b in names[n + 1:] if hidden[a] & hidden[b] and may_be_one(a, b)}
    visible = {name: [o for o in name.options if o not in hidden[name]] for name in names}
    after = sum(len(visible[b]) + 1 + sum((a, b) in pairs for a in names) for b in names)
    if after >= sum(len(name.options) for name in names):
        return
    conditions = {name: name.conditions() for name in names}
    contents = {name: name.read() for name in names}
    options: dict[ChosenStorage, list[tuple[ir.Value | None, Storage]]] = {}
    own: dict[ChosenStorage, Storage] = {}
    for name in names:
        own[name] = Storage(name.shape, name.dtype, value=contents[name])
        own[name].layout = name.layout
        options[name] = [(conditions[name][o], o) for o in visible[name]]
        options[name] += [(_are_one(conditions[a], conditions[name], hidden[a] & hidden[name]), own[a])
                          for a in own if (a, name) in pairs]
        options[name].append((None, own[name]))
    apart = object() if not pairs and any(visible.values()) else None
    for name in names:
        name.become(options[name], contents[name])
        if apart is not None:
            name.family = apart


def _are_one(first: dict, second: dict, shared: set[Storage]) -> ir.Value:
    """Whether two names are one of the memories at run time."""
    found = None
    for memory in (m for m in first if m in shared):
        here = second[memory] if first[memory] is None else first[memory] if second[memory] is None \
            else ops.and_(first[memory], second[memory])
        found = here if found is None else ops.or_(found, here)
    return found


def are_one_array(a: Tensor, b: Tensor) -> ir.Value | bool:
    """Whether two names are bound to one array object (`a is b`), which may be decided at run time. Control flow makes
    new tensors of old ones: what these are follows from their memories, where no view has the same elements."""
    if a is b:
        return True
    if a.storage is b.storage and not (a.steps or b.steps) and (hasattr(a, "owner") or hasattr(b, "owner")):
        return True     # `view.base is array`
    trace, roots = current_trace(), roots_of(a.storage) | roots_of(b.storage)
    carried = {o.storage for loop in trace.loops for c in loop.carried.values() for o in c.objects
               if is_tensor(o) and o.kind == ARRAY}
    new = [all(r.region is trace.region and r not in carried for r in roots_of(t.storage)) for t in (a, b)]
    known = roots.isdisjoint(carried) or any(new)
    apart = new[0] != new[1] and not any(isinstance(r, GuardedStorage) for r in roots)     # which may be any they watch
    if known and (apart or not may_be_one(a.storage, b.storage)):
        return False
    if known and type(a.storage) is type(b.storage) is Storage and (a.steps != b.steps or not a.storage.joined):
        return False
    sides = [s.conditions() if type(s) is ChosenStorage else {s: None} for s in (a.storage, b.storage)]
    shared = sides[0].keys() & sides[1].keys()
    if known and not a.steps and not b.steps and sides[0] != sides[1] and all(
            type(s) is Storage for s in (*sides[0], *sides[1])) and not any(_has_equal_views(s, a, b) for s in shared):
        return _are_one(sides[0], sides[1], shared)
    raise ControlFlowError("Whether two names are one array (`is`) is known only at run time here.",
                           hint="Keep a truth or a number that says which one a name is bound to, and compare that.",
                           code="identity-at-run-time")


def _has_equal_views(storage: Storage, *asked: Tensor) -> bool:
    """Whether several tensors show all of a memory."""
    heap = Heap().look(*((Root("computed"), tensor) for tensor in asked))
    return not heap.complete or sum(is_tensor(x) and not x.steps for x in heap.holders(storage)) > 1


def as_storage(tensor: Tensor) -> Storage:
    return ViewStorage(tensor) if tensor.steps else tensor.storage


def has_dynamic_steps(tensor: Tensor) -> bool:
    return any(isinstance(s, DynamicSliceStep) for s in tensor.steps)
