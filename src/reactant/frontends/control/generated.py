"""Comprehensions and generator expressions about run-time values: loops like any other `for`.

`sum(a[j] * b[i - j] for j in range(i))` hands `sum` the iterable and a function of one element (`expressions` makes
it). Where the iterable can be picked from by a run-time index, the elements are added up in a `for`. Where it is known
only at run time which elements there are (`[x for x in xs if x > t]`), a `for` appends those that there are to a list.
"""
from __future__ import annotations

import builtins
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, ControlFlowError, ReactantError, UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import is_partial
from reactant.frontends.arrays.python_numbers import to_python
from reactant.frontends.arrays.tensor import is_tensor, python_number, wrap
from reactant.frontends.control import branches, elements, iterators, objects
from reactant.frontends.control.decisions import asked, is_traced, predicate_of, said_of, undecided
from reactant.frontends.control.generator_loops import waits
from reactant.frontends.control.iteration import Items, IteratorItems, UsedUp, items_of
from reactant.frontends.control.snapshots import MaybeBound, Variables
from reactant.frontends.session import calls, protocols
from reactant.frontends.session.abstract import AbstractList
from reactant.frontends.session.calls import holding
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source.operators import UNSET, ag__
from reactant.ir.types import tensor_type

MOST_ELEMENTS = 64
"""Elements of a comprehension that are always computed one after the other."""


class Generated:
    """The elements of a generator expression; `nested` where an element is itself generated; `rows`: where it is the
    list of what is generated then. To others it is the generator."""

    __slots__ = ("element", "iterable", "iterator", "nested", "row", "test")
    ag__advances = True

    def __init__(self, iterable: Any, element: Callable[[Any], Any], test: Callable[[Any], Any] | None,
                 nested: bool = False, rows: bool = False):
        if hasattr(type(iterable), "ag__in_order"):     # what stands for a dict
            iterable = iterable.ag__iterate()
        self.row = element if rows else None
        if rows:
            row = element

            def element(item: Any) -> Any:
                return row(item).listed()
        self.iterable, self.element, self.test, self.nested = iterable, element, test, nested
        self.iterator: Iterator[Any] | None = None
        iterators.note(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.iterator is None:
            self.iterator = self.elements(ag__.truth)
        return next(self.iterator)

    def elements(self, truth: Callable[[Any], bool]) -> Iterator[Any]:
        for x in ag__.iterate(self.iterable):
            if self.test is None or truth(self.test(x)):
                found = self.element(x)
                if self.nested:
                    yield from found.elements(truth)
                else:
                    yield found

    def stand(self, position: None) -> None:
        """It stands where what it is made from does."""

    def depends(self) -> bool:
        """Whether this is a loop to be traced, and has not begun to run as Python."""
        return self.iterator is None and is_tracing()

    def taken(self) -> None:
        """The elements are used up."""
        self.iterator = iter(())

    def items(self) -> Items | None:
        """What it is made from, by index: lists, too, where something is decided about each."""
        rows = meaning.rows_of(self.iterable) \
            if self.test is not None and isinstance(self.iterable, (list, tuple)) else None
        return items_of(self.iterable) if rows is None else rows.ag__items()

    def source(self) -> Any:
        """What a loop runs over."""
        if self.must_be_listed():
            self.iterable = _at_once(self.iterable)
        items = self.items()
        return self.iterable if items is None else items

    def must_be_listed(self) -> bool:
        """Whether it is made from something of which no loop of the program can take the elements."""
        return items_of(self.iterable) is None and not isinstance(self.iterable, (list, tuple)) \
            and not _runs(self.iterable)

    def begun(self) -> Any:
        """What its elements are made from, which is used up from now on: for a loop over it."""
        items = self.items()
        if items is None and _runs(self.iterable):
            self.iterable = protocols.begin(self.iterable)
        elif items is None:
            self.iterable = iter(ag__.iterate(self.iterable))
        else:
            self.iterable = items if isinstance(items, UsedUp) else IteratorItems(items)
        if iterators.is_made_here(self):
            iterators.note(self.iterable)
        return self.iterable

    def iteration(self, body: FunctionType, live: tuple[str, ...], dead: tuple[str, ...]) -> Callable[[Any], None]:
        """An iteration of a loop over the elements, given what one is made from."""
        element, test = self.element, self.test

        def enter(item: Any) -> None:
            wanted = True if test is None else asked(test(item))
            if is_traced(wanted):
                branches.staged_if(predicate_of(wanted), lambda: body(element(item)), None, live, dead, (body,))
            elif wanted:
                body(element(item))
        return enter

    def folded(self, value: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """`value` combined with each element in turn."""
        element, test, nested = self.element, self.test, self.nested

        def combined(item: Any) -> Any:
            found = element(item)
            return found.folded(value, combine) if nested else combine(value, found)

        def body(item: Any) -> None:
            nonlocal value
            value = combined(item) if test is None else \
                ag__.if_exp(test(item), lambda: combined(item), lambda: value)

        ag__.for_stmt(self.iterable, body, (), ("value",), (), ("value",))
        self.taken()
        return value

    def decided(self, decisive: bool) -> Any:
        """Whether an element is true (or false, for `decisive` false); no further one is asked for then."""
        element, test, nested, found = self.element, self.test, self.nested, False

        def decided(item: Any) -> Any:
            value = element(item)
            return value.decided(decisive) if nested else ag__.condition(value) if decisive else ag__.not_(value)

        def body(item: Any) -> None:
            nonlocal found
            found = decided(item) if test is None else ag__.if_exp(test(item), lambda: decided(item), lambda: False)

        ag__.for_stmt(self.iterable, body, ("found",), ("found",), (), ("found",))
        self.taken()
        return to_python(found) if is_tensor(found) else found

    def lose_order(self, every: bool = True) -> None:
        """Take the elements of a set in any order, where nothing can tell in which; `every`: each is taken."""
        if not self.depends() or not hasattr(type(self.iterable), "ag__unordered"):
            return
        names = self.iterable.ag__unordered
        if not Generated(names, self.element, self.test, self.nested).acts(raises=not every):
            self.iterable = names

    def acts(self, raises: bool = True) -> bool:
        """Whether anybody can tell which elements were asked for: one changes something, or may raise."""
        items, element, test = items_of(self.iterable), self.element, self.test
        if items is None or current_trace().attempts or type(items.length) is int and items.length < 2:
            return True

        def one() -> None:
            item = items.at(0)
            found = True if test is None else test(item)
            nested = element(item)
            acting.append(self.nested and nested.acts(raises) or found is None)

        acting: list[bool] = []
        scratch = branches.scratch_blocks(1)
        try:
            branch = branches.run(scratch.regions[0].blocks.append(), one, Variables((), (), ()), {})
            written = any(map(branch.preexisting, branch.written))
            return raises and (branch.raised or bool(branch.checks)) or bool(branch.objects) or written or any(acting)
        except ReactantError:
            return True
        finally:
            scratch.erase()

    def listed(self, hashed: bool = False, in_order: bool = True) -> Any:
        """All elements: a list, or what stands for one of run-time length. `hashed`: the hash of each is asked for.
        They may also come in another order, where nobody asks for that."""
        if not in_order:
            self.lose_order()
        if not self.depends():
            return list(self)
        if self.must_be_listed():
            if self.test is None and not self.nested:
                found = _listed(self.elements(_known))
                self.taken()
                return found
            self.iterable = _at_once(self.iterable)
        extents = self.flattened().extents() if self.row is not None and not hashed else ()
        if len(extents) > 1 and math.prod(extents) > MOST_ELEMENTS:
            return self.in_rows(extents)
        position = self.iterable.begin() if isinstance(self.iterable, UsedUp) else 0
        try:
            found = _listed(self.elements(_known)) if self.has_known_length() and not is_tensor(position) \
                and (hashed and not current_trace().keyed or not self.is_long()) else _collected(self, [])
        except _RunTimeTest:
            if isinstance(self.iterable, UsedUp):
                self.iterable.stand(position)
            found = _collected(self, [])
        self.taken()
        return found

    def flattened(self) -> Generated:
        """What its lists hold, one after the other."""
        row = self.row
        return self if row is None else Generated(self.iterable, lambda item: row(item).flattened(), self.test, True)

    def in_rows(self, extents: list[int]) -> list[Any]:
        """Its lists, of known lengths, out of one loop."""
        found = _collected(self.flattened(), [], even=True)
        for extent in reversed(extents[1:]):
            found = [found[k:k + extent] for k in range(0, len(found), extent)]
        self.taken()
        return found

    def is_long(self) -> bool:
        """Whether there are so many elements that a loop which appends them may be one of the compiled program."""
        items = items_of(self.iterable)
        if items is None or self.test is not None:
            return False
        return (math.prod(self.extents() or [0]) if self.nested else items.length) > MOST_ELEMENTS

    def extents(self) -> list[int]:
        """How many elements each of its `for`s gives in each iteration; [] where only an iteration knows, or changes
        anything."""
        def one() -> None:
            inner, places = self, items
            while inner.nested:
                place = block.add_argument(whole, ir.Location.current)
                inner = inner.element(places.at(python_number(place, (0, max(places.length - 1, 0)))))
                places = items_of(inner.iterable)
                if inner.test is not None or places is None or is_tensor(places.length):
                    return
                counts.append(places.length)
            even.append(True)

        items = items_of(self.iterable)
        if items is None or self.test is not None or is_tensor(items.length):
            return []
        counts: list[Any] = [items.length]
        even: list[bool] = []
        whole = tensor_type((), np.dtype(np.int64))
        scratch = branches.scratch_blocks(1)
        try:
            block = scratch.regions[0].blocks.append()
            branch = branches.run(block, one, Variables((), (), ()), {})
            acts = branch.raised or branch.checks or branch.objects or any(map(branch.preexisting, branch.written))
            return counts if even and not acts else []
        except ReactantError:
            return []
        finally:
            scratch.erase()

    def has_known_length(self) -> bool:
        items = items_of(self.iterable)
        return not _runs(self.iterable) and (items is None or not is_tensor(items.length))

    def first(self, *default: Any) -> Any:
        """`next` of all elements, which is the last thing that is asked."""
        element, test, found = self.element, self.test, False
        value = default[0] if default else UNSET

        def body(item: Any) -> None:
            def then() -> None:
                nonlocal value, found
                value, found = element(item), True

            nonlocal value, found
            ag__.if_stmt(test(item), then, None, ("found", "value"), ())  # type: ignore[misc]  # `_next` asks for one

        ag__.for_stmt(self.source(), body, ("found",), ("found", "value"), (), ("found", "value"))
        self.iterator = _refused()
        if default:
            return ag__.ld(value)
        if not is_tensor(found):
            if not found:
                raise StopIteration
            return ag__.ld(value)
        current_trace().check(found.value(), StopIteration)
        return value.value if type(value) is MaybeBound else ag__.ld(value)


class _RunTimeTest(Exception):
    """Whether there is an element is known only at run time."""


def _known(test: Any) -> bool:
    if is_tensor(test) and test.size == 1 and not test.is_concrete():
        raise _RunTimeTest
    return ag__.truth(test)


def _at_once(iterable: Any) -> list[Any]:
    """All that an iterator gives, before anything is done with it. Raises where it writes into what it has given."""
    items, given = [], []
    for item in ag__.iterate(iterable):
        items.append(item)
        given += [(x.storage, x.storage.version) for x in _arrays(item)]
    if any(storage.version != version for storage, version in given):
        raise ControlFlowError("A comprehension with a condition only known at run time takes its elements from an "
                               "iterator that writes into arrays which it has given before.",
                               hint="Write a `for` loop over it, or let it give copies.", code="iterator-at-run-time")
    return items


def _arrays(item: Any) -> Iterator[Any]:
    if is_tensor(item):
        yield item
    elif type(item) in (tuple, list):
        for part in item:
            yield from _arrays(part)


def _refused() -> Iterator[Any]:
    raise UnsupportedError("next() again of a generator whose position is only known at run time.",
                           hint="Use an index.", code="iterator-at-run-time")
    yield


def _listed(elements: Iterable[Any]) -> list[Any]:
    """A list of these, which is held while the next ones are made."""
    found: list[Any] = []
    with holding(found):
        for element in elements:
            found.append(element)       # noqa: PERF402 - not by C code, where it would be found nowhere meanwhile
    return found


def _collected(generated: Generated, found: Any, even: bool = False) -> Any:
    """The elements in a list, appended in a loop; `even`: in rows of one length, that are loops, too, however short."""
    element, test, nested, source = generated.element, generated.test, generated.nested, generated.source()
    if even and isinstance(source, Items):
        source.writes_out = False

    def body(item: Any) -> None:
        def then() -> None:
            if nested:
                with holding(found):
                    _collected(element(item), found, even)
            else:
                ag__.call(found.append, element(item))

        if test is None:
            then()
        else:
            ag__.if_stmt(test(item), then, None, (), ())

    def iteration(_: Any) -> None:
        nonlocal found      # this function's variable, too
        for item in source:
            body(item)

    if items_of(source) is None and isinstance(found, AbstractList):     # something in a loop stands for the list
        iteration(None)
    elif items_of(source) is None and (nested or test is not None) and not _runs(source):
        # one after the other
        meaning.in_one_iteration(undecided(), iteration, (), appended=("found",))
    else:
        ag__.for_stmt(source, body, (), (), (), (), ("found",))
    return found


# ---- the builtins ----------------------------------------------------------------------------------------------

def _folding(fold: Callable[..., Any], known: Callable) -> Callable:
    def applied(items: Any, /, *start: Any, **keywords: Any) -> Any:
        items = _as_generated(items)
        if type(items) is not Generated or not items.depends() or keywords:
            return known(items, *start, **keywords)
        if items.must_be_listed() or items.test is None and isinstance(items.iterable, (list, tuple)):
            return known(items, *start)
        return fold(items, *start)
    return applied


def _as_generated(items: Any) -> Any:
    """What methods of a user's class give, for a loop."""
    return Generated(items, lambda x: x, None) if is_tracing() and _runs(items) else items


def _runs(items: Any) -> bool:
    """Whether a loop takes elements from methods, or a generator, of the user's that may decide at run time."""
    return protocols.iterates(items) or waits(items)


def _summing(fold: Callable[..., Any], known: Callable) -> Callable:
    folding = _folding(fold, known)

    def applied(items: Any, /, *start: Any, **keywords: Any) -> Any:
        if not start and keywords.keys() == {"start"}:
            start, keywords = (keywords["start"],), {}
        if is_tensor(items) and items.ndim and is_tracing() and not keywords:
            items = Generated(items, lambda x: x, None)         # in order, as Python adds: a loop where they are many
        return folding(items, *start, **keywords)
    return applied


def _listing(function: Callable, known: Callable) -> Callable:
    def applied(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1:
            arguments = (_as_generated(arguments[0]),)
        if arguments and is_partial(arguments[0]) and arguments[0].ndim == 1:
            arguments = (Generated(arguments[0], lambda x: x, None), *arguments[1:])
        if arguments and type(arguments[0]) is Generated and arguments[0].depends():
            items = arguments[0].listed()
            if function in (list, tuple, deque) and type(items) is not list:
                if len(arguments) > 1 or keywords:
                    raise UnsupportedError("A deque with a greatest length, of a run-time number of elements.",
                                           hint="Append them in a loop.", code="list-of-run-time-length")
                items.stands_for = function
                return items
            arguments = (items, *arguments[1:])
        if function in (list, tuple, deque) and len(arguments) == 1 and not keywords \
                and isinstance(arguments[0], AbstractList):
            copied = arguments[0].copy()
            if isinstance(copied, AbstractList):
                copied.stands_for, copied.maxlen = function, None
            return copied
        return known(*arguments, **keywords)
    return applied


def _deciding(known: Callable, decisive: bool) -> Callable:
    """`any` or `all` of what an iterator gives: no element is taken after the one that decides."""
    combine: Callable[..., Any] = ag__.or_ if decisive else ag__.and_

    def applied(items: Any, /) -> Any:
        if isinstance(items, AbstractList) and type(found := items.view()) is not list:
            return python_number(wrap(found.reduced(np.any if decisive else np.all)).value())
        if not is_tracing() or not isinstance(items, Iterator):
            return known(list(map(said_of, items)) if is_tracing() and type(items) in (list, tuple) else items)
        iterator, found, lost = iter(items), not decisive, False
        while True:
            stopped = found if decisive else ag__.not_(found)
            if is_tensor(stopped):
                lost, item = True, elements.following_unless(stopped.value(), iterator)
            else:
                item = elements.END if stopped else elements.following(iterator)
            if item is elements.END:
                break
            found = combine(found, lambda item=item: known((item,)))
        if lost:
            iterators.lose(items)
        return found
    return applied


def _sorting(known: Callable) -> Callable:
    def applied(items: Any, /, **keywords: Any) -> Any:
        return items.ordered(**keywords) if isinstance(items, AbstractList) else known(items, **keywords)
    return applied


def _next(known: Callable) -> Callable:
    def applied(iterator: Any, *default: Any) -> Any:
        decides = type(iterator) is Generated and iterator.depends() and iterator.test is not None \
            and not iterator.nested and _can_begin(iterator.iterable)
        if is_tracing() and isinstance(iterator, UsedUp):
            return iterator.take(*default)
        return iterator.first(*default) if decides else known(iterator, *default)
    return applied


def _can_begin(iterable: Any) -> bool:
    """Whether iterating begins at the first element."""
    return items_of(iterable) is not None or type(iterable) is Generated \
        or hasattr(type(iterable), "__iter__") and not isinstance(iterable, Iterator)


def _filter(known: Callable) -> Callable:
    def applied(function: Any, items: Any, /) -> Any:
        if not is_tracing() or not _can_begin(items):
            return known(function, items)
        return Generated(items, lambda x: x, (lambda x: x) if function is None else lambda x: ag__.call(function, x))
    return applied


def _map(known: Callable) -> Callable:
    def applied(function: Any, /, *items: Any) -> Any:
        if not items or not is_tracing() or not all(map(_can_begin, items)):
            return known(function, *items)
        if len(items) == 1:
            return Generated(items[0], lambda x: ag__.call(function, x), None)
        return Generated(ag__.call(zip, *items), lambda row: ag__.call(function, *row), None)
    return applied


def _while(known: Callable) -> Callable:
    """`takewhile` and `dropwhile`: how many elements there are is decided while tracing."""
    def asks(function: Any) -> Callable[[Any], bool]:
        def asked_of(x: Any) -> bool:
            found = ag__.call(function, x)
            if is_traced(found):
                raise ConcreteValueNeeded("The predicate of takewhile and dropwhile", "Write a `for` loop with `if` "
                                          "and `break`, or use a mask: np.logical_and.accumulate(x > 0).")
            return bool(found)
        return asked_of

    def applied(function: Any, items: Any, /) -> Any:
        return known(asks(function), items) if is_tracing() else known(function, items)
    return applied


def install() -> None:
    """Put it in place, around the builtins that are there. Done once, by `control_flow`."""
    known = calls.REPLACEMENTS
    for function in protocols.ITERATING:
        known[function] = protocols.opening(function, known.get(function, function))
    known[any], known[all] = _deciding(known[any], True), _deciding(known[all], False)
    folds: dict[Callable, Callable[..., Any]] = {
        sum: lambda items, start=0: items.folded(start, objects.BINARY["Add"]),
        any: lambda items: items.decided(True) if items.acts() else items.folded(
            False, lambda a, b: to_python(np.logical_or(a, b))),
        all: lambda items: ag__.not_(items.decided(False)) if items.acts() else items.folded(
            True, lambda a, b: to_python(np.logical_and(a, b))),
    }
    for function, fold in folds.items():
        known[function] = (_summing if function is sum else _folding)(fold, known.get(function, function))
    known[sorted] = _sorting(known[sorted])
    for function in (list, tuple, deque, sorted, min, max):
        known[function] = _listing(function, known[function])
    known[builtins.next] = _next(known[builtins.next])
    known[filter], known[map] = _filter(known[filter]), _map(known[map])
    for function in (itertools.takewhile, itertools.dropwhile):
        known[function] = _while(known[function])
