"""Which loops are loops of the compiled program:

* `while` runs as Python while its test is known and its iterations have made at most `unroll_limit` operations; from
  there on it is one loop.
* `for` over a range, an array, or enumerate/zip/reversed of those is traced once. It is unrolled when it has at most
  `SMALL` iterations and no loop in its body (else at most `OF_FEW` times `unroll_limit` operations), when trip count x
  operations of the body is at most `unroll_limit`, or when the body needs the index as a known number (a shape, a list
  index, a text) or does what a loop cannot carry (appending to a list): then up to `max_unroll` iterations. Loops that
  only compute with known Python numbers run as Python.
* A `for` of many iterations that slices long dimensions by its index (`A[k + 1:, k]`) becomes a few loops, one behind
  the other, so that each computes on narrower windows (`SEGMENTS`).
* `for` over anything else runs as Python, one iteration after the other.
"""
from __future__ import annotations

import contextlib
import itertools
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, ControlFlowError, ReactantError, UnsupportedError, unrolled_too_far
from reactant.frontends.arrays.tensor import Tensor, is_tensor, python_number
from reactant.frontends.control import container_aliasing, decisions, elements, iterators, mutation_log
from reactant.frontends.control.branches import staged_if
from reactant.frontends.control.decisions import and_, asked, is_traced, not_, or_, predicate_of
from reactant.frontends.control.demands import InOneIteration, Peel, Unroll
from reactant.frontends.control.generated import Generated
from reactant.frontends.control.generator_loops import waits
from reactant.frontends.control.iteration import FAR, Items, RestItems, RowItems, UsedUp, items_of
from reactant.frontends.control.list_refusals import ListError, refusal
from reactant.frontends.control.loop_carried import alone
from reactant.frontends.control.loops import Loop
from reactant.frontends.control.snapshots import Variables
from reactant.frontends.session import calls, protocols, recording
from reactant.frontends.session.abstract import AbstractList
from reactant.frontends.session.dispatch import meaning, means
from reactant.frontends.session.retracing import Demand, Retrace, Unmet
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source import operators
from reactant.frontends.source.operators import ag__
from reactant.options import CompileOptions
from reactant.support import progress
from reactant.support.records import dataclass

SMALL = 4
"""Loops of at most this many iterations are always unrolled where their bodies hold no loops."""
OF_FEW = 8
"""So much more than `unroll_limit` may be made of such loops where they do."""
MOST_GROWN = 64
"""Iterations up to which a list that the loop cannot carry may grow in each of them, under a condition."""
FEW_ROWS = 16
"""Loops over lists of more run-time numbers may stay loops."""
FEW_ARRAYS = 64
"""Loops over lists of more arrays may, or of more than `FEW_ROWS` where there are loops inside: to pick one costs more
than what is done with a small one (24 layers of 32 x 32: 573 us a call, unrolled 424)."""
DECISIONS, LOOPS = frozenset({"if_stmt", "while_stmt"}), frozenset({"for_stmt", "while_stmt"})
SEGMENTS, SEGMENTED_LENGTH = 4, 128
"""A loop over at least so many iterations whose body slices dimensions of at least that length by run-time bounds
becomes so many loops (LU: 0.47 of the work of one, where 0.33 is the least)."""

UNROLLED = ConcreteValueNeeded, ControlFlowError, UnsupportedError
"""Refusals of a loop that one iteration after the other may not meet: there the index is known, and sizes that follow
it."""


def _options() -> CompileOptions:
    return current_trace().options or CompileOptions()


class _Operations:
    """Counts the operations that were built since it was made."""

    def __init__(self) -> None:
        self.block = current_trace().region.block
        self.before = len(self.block.operations)

    def count(self) -> int:
        return len(self.block.operations) - self.before


def _stopped(cells: dict, flags: tuple[str, ...]) -> Any:
    """The `or` of the flags that end a loop."""
    state: Any = False
    for flag in flags:
        state = or_(state, lambda f=flag: cells[f].cell_contents)
    return state


def if_stmt(test: Any, then: FunctionType, orelse: FunctionType | None, live: tuple[str, ...],
            dead: tuple[str, ...], left: operators.Left = (None, None)) -> None:
    """An `if` that appends to lists in one of its branches is a loop of one iteration, where lists may grow."""
    container_aliasing.forget(sys._getframe(1))
    try:
        return decisions.if_stmt(test, then, orelse, live, dead, left)
    except Unmet as error:
        if type(error.demand) is not InOneIteration or recording.recording() or current_trace().many_iterations:
            raise
        failure = alone(error)
    variables = Variables((then, orelse), live, dead)
    only_inside = {name: variables.get(name) for name in dead}

    def iteration(_: Any) -> None:
        variables.restore(only_inside)      # loops carry no variables that nobody reads after them: a branch may
        decisions.if_stmt(test, then, orelse, live, dead)
    try:
        in_one_iteration(failure, iteration, live, dead, (then, orelse))
    except ReactantError:
        variables.restore(only_inside)      # an `if` around this one may try it again
        raise


@means("in_one_iteration")
def in_one_iteration(failure: ReactantError, iteration: Callable[[Any], None], live: tuple[str, ...],
                     dead: tuple[str, ...] = (),
                functions: tuple[FunctionType | None, ...] = (), appended: tuple[str, ...] = ()) -> None:
    """Run `iteration` as a loop of one iteration, which assigns variables that the functions, or it, share with the
    code around it, or appends to lists that they hold; where that cannot be, `failure` is raised."""
    loop = Loop(functions or (iteration,), iteration, (), live, dead, live, count=1, appended=appended,
                exclusive=meaning.exclusive_lists(iteration, appended) if appended else frozenset())
    try:
        stage(loop)
    except ReactantError:
        raise failure from None


def stage(loop: Loop) -> ir.Value | None:
    """Stage a loop of which no iteration can be made on its own."""
    try:
        return loop.stage()
    except Retrace as found:
        if type(found.demand) is not Peel:
            raise
        reason = found.demand.error
    raise reason


def while_stmt(test: FunctionType, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...],
               dead: tuple[str, ...], rebound: tuple[str, ...], appended: tuple[str, ...] = (),
               read: tuple[str, ...] = ()) -> None:
    if not is_tracing():
        return operators.while_stmt(test, body, flags, live, dead, rebound)
    container_aliasing.forget(sys._getframe(1))
    with progress.unrolling(body.__code__) as copies:
        _while(copies, test, body, flags, live, dead, rebound, appended, read)


def _while(copies: progress.Repeated, test: FunctionType, body: FunctionType, flags: tuple[str, ...],
           live: tuple[str, ...], dead: tuple[str, ...], rebound: tuple[str, ...], appended: tuple[str, ...],
           read: tuple[str, ...]) -> None:
    cells = operators.cells_of(body)
    options, built = _options(), _Operations()
    failure: ReactantError | None = None
    iterations = 0

    def staged(first: Any, unless_known: bool = False) -> None:
        lists = meaning.exclusive_lists(body, (*appended, *read))
        loop = Loop((body, test), lambda k: body(), flags, live, dead, rebound, test=lambda: asked(test()), first=first,
                    again=again, appended=appended, exclusive=lists, read=read)
        loop.unrolls = first is True        # else it may have no iteration, either
        if unless_known:
            loop.reject = lambda: loop.growth.is_known()
        stage(loop)

    def again(*values: Any) -> Any:
        state: Any = False
        for value in values:
            state = or_(state, lambda v=value: v)
        return and_(not_(state), lambda: asked(test()))

    while True:
        outcome = again(*(cells[f].cell_contents for f in flags))
        if is_traced(outcome):
            return staged(outcome)
        outcome = bool(outcome)     # no reference to a list
        if not outcome:
            return None
        try:
            # which iterations there are may depend on what is in them
            if read and not iterations and failure is None:
                return staged(True, unless_known=True)
            if failure is None and iterations and built.count() > options.unroll_limit:
                return staged(True)
        except Retrace as found:
            if type(found.demand) is not Unroll:
                raise
        except UNROLLED as error:
            failure = error
        if failure is not None and iterations >= options.max_unroll and built.count():
            raise unrolled_too_far(failure, options.max_unroll)
        try:
            body()
        except ControlFlowError:
            if isinstance(failure, ListError):
                raise failure from None
            raise
        iterations += 1
        copies.iterations = iterations


def for_stmt(iterable: Any, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...], dead: tuple[str, ...],
             rebound: tuple[str, ...], appended: tuple[str, ...] = (), read: tuple[str, ...] = (),
             left: tuple[str, ...] | None = None) -> None:
    """`appended` are the names of lists that the body only appends to, `read` those it reads, too; `left` are the
    variables that may be read once a flag has ended the loop."""
    if not is_tracing():
        return operators.for_stmt(iterable, body, flags, live, dead, rebound, appended, read)
    with container_aliasing.holding(iterable):
        container_aliasing.forget(sys._getframe(1))
        _for(iterable, body, flags, live, dead, rebound, appended, read, left)


def _for(iterable: Any, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...], dead: tuple[str, ...],
         rebound: tuple[str, ...], appended: tuple[str, ...], read: tuple[str, ...],
         left: tuple[str, ...] | None) -> None:
    enter: Callable[[Any], None] = body
    if hasattr(type(iterable), "ag__in_order"):     # what stands for a dict
        iterable = iterable.ag__iterate()
    if type(iterable) is Generated and iterable.depends() and not iterable.nested:
        enter, iterable = iterable.iteration(body, live, dead), iterable.begun()
    items = items_of(iterable)
    if items is None and not _is_resized(iterable, body, (*appended, *read)):
        items = _rows(iterable, bool(appended or read) and _has(DECISIONS, body.__code__), body.__code__)
    if items is None:
        return _run_over(iterable, _Iteration(body, enter, live, dead, left), flags)
    iterator, start = (items, items.begin()) if isinstance(items, UsedUp) else (None, 0)
    if is_tensor(start):
        items = RestItems(items, start)
    before = list(items.items) if isinstance(items, RowItems) else None
    with same_lengths(items.lists):
        loop = _Counted(items, _Iteration(body, enter, live, dead, left), flags, rebound, appended, read,
                        0 if is_tensor(start) else start)
        if iterator is not None:
            iterator.stand(None)        # while the loop takes from it, its body cannot
            loop.iterator = iterator
        if is_tensor(items.length) or items.policy:
            taken = loop.stage()
        # what grows may have a run-time length, and what holds loops may be many operations
        elif items.length <= SMALL and not ((appended or read) and items.length) and (
                items.length < 2 or body.__code__ in current_trace().unrolled or not _has(LOOPS, body.__code__)):
            taken = loop.run()
        else:
            taken = loop.choose()
    if before is not None and loop.is_staged and not _are_same(items.items, before):
        raise refusal("looped over and changed")
    if iterator is not None:
        iterator.stand(start + taken if is_tensor(start) else taken)


@contextlib.contextmanager
def same_lengths(lists: tuple[AbstractList, ...]) -> Iterator[None]:
    """A loop over lists, which nothing is appended to there: Python would go on with what is."""
    before = [g.filled and g.filled.read() for g in lists]
    yield
    if any(g.filled is not None and g.filled.read() != count for g, count in zip(lists, before, strict=True)):
        raise refusal("looped over")


def _are_same(items: Sequence[Any], before: list[Any]) -> bool:
    """Whether these are the same objects."""
    return len(items) == len(before) and all(map(operator.is_, items, before))


def _is_resized(iterable: Any, body: FunctionType, names: tuple[str, ...]) -> bool:
    """Whether one of these variables of a body, which appends to it or takes from it, is what the loop runs over."""
    cells = operators.cells_of(body)
    for name in names:
        with contextlib.suppress(KeyError, ValueError):
            if cells[name].cell_contents is iterable:
                return True
    return False


def _rows(iterable: Any, lists: bool, body: CodeType) -> Items | None:
    """Many elements of a list that are run-time numbers or arrays, or tuples of such, as something a loop can run over.
    `lists`: also few or known ones, since only run-time values may tell how long lists get there (not without an
    `if`)."""
    if type(iterable) not in (list, tuple) or not iterable:
        return None
    if not lists and (len(iterable) <= FEW_ROWS or not _has_tensors(iterable[0])):
        return None
    many = len(iterable) > FEW_ARRAYS or len(iterable) > FEW_ROWS and _has(LOOPS, body)
    rows = meaning.rows_of(iterable, arrays=many)
    return None if rows is None else RowItems(rows, iterable)


def _has(statements: frozenset[str], code: CodeType) -> bool:
    """Whether there are such statements in converted code, or in what it runs as branches and bodies."""
    return not statements.isdisjoint(code.co_names) or any(
        type(inner) is CodeType and _has(statements, inner) for inner in code.co_consts)


def _has_tensors(item: Any) -> bool:
    return is_tensor(item) or type(item) is tuple and any(map(_has_tensors, item))


def _run_over(iterable: Any, iteration: _Iteration, flags: tuple[str, ...]) -> None:
    """One iteration after the other, over what Python knows how to iterate over."""
    iterators.use(iterable)
    iterator, rest = protocols.begin(iterable), _Rest(iteration, flags)
    if waits(iterator):
        return iterator.run(rest.run, rest.stopped)
    with progress.unrolling(iteration.body.__code__) as copies:
        _one_by_one(iterable, iterator, iteration, flags, rest, copies)


def _one_by_one(iterable: Any, iterator: Any, iteration: _Iteration, flags: tuple[str, ...], rest: _Rest,
                copies: progress.Repeated) -> None:
    """Until the iterator ends, or it is known only at run time whether it does."""
    cells, lost, most = operators.cells_of(iteration.body), 0, _options().max_unroll
    first = len(iterable) if type(iterable) is list else None
    for number in itertools.count():
        if first is not None and number > first + most and current_trace().region.parent is not None:
            raise unrolled_too_far(ControlFlowError("A loop makes the list longer that it runs over, where it is only "
                                                    "known at run time whether it begins.",
                                                    hint="Loop with `while` and an index, or append to another list.",
                                                    code="list-grows-in-loop"), most)
        stopped = _stopped(cells, flags)
        if is_traced(stopped):
            lost += 1
            if lost > most and not elements.surely_ends(iterator):
                raise unrolled_too_far(ControlFlowError("It is only known at run time where a loop ends that takes its "
                                                        "elements from an iterator, which may give any number of "
                                                        "them.",
                                                        hint="Write the loop with `while`, or over a range or an "
                                                             "array.", code="iterator-at-run-time"), most)
        if is_traced(stopped):
            value = elements.following_unless(predicate_of(stopped), iterator)
        else:
            value = elements.END if stopped else elements.following(iterator)
        if value is elements.UNDECIDED:
            return ag__.call(protocols.every_next, iterator, rest.run, rest.stopped)
        if value is elements.END:
            break
        iteration.run(value, stopped)
        copies.iterations += 1
    if lost:
        iterators.lose(iterable)


class _Rest:
    """Runs iterations for code that does not know the variables of the loop."""

    def __init__(self, iteration: _Iteration, flags: tuple[str, ...]):
        self.iteration, self.flags, self.cells = iteration, flags, operators.cells_of(iteration.body)

    def run(self, value: Any) -> None:
        mutation_log.touch_variables(self.iteration.body, tuple(n for n in self.iteration.live if n in self.cells))
        only_inside = [(self.cells[n], mutation_log.contents(self.cells[n])) for n in self.iteration.dead
                       if n in self.cells]
        self.iteration.enter(value)
        for cell, before in only_inside:
            mutation_log.refill(cell, before)

    def stopped(self) -> Any:
        return _stopped(self.cells, self.flags)


calls.OURS.add(_Rest)


@dataclass
class _Iteration:
    """What a `for` runs: `enter` runs the body with an element."""

    body: FunctionType
    enter: Callable[[Any], None]
    live: tuple[str, ...]
    dead: tuple[str, ...]
    left: tuple[str, ...] | None

    def run(self, value: Any, stopped: Any) -> None:
        """One iteration; a branch where a run-time value decides whether to go on."""
        if is_traced(stopped):
            staged_if(predicate_of(stopped), None, lambda: self.enter(value), self.live, self.dead, (self.body,),
                      (self.left, None))
        else:
            self.enter(value)


class _Counted:
    """A `for` over elements that a run-time index can pick, from `start` on. What runs it returns how many elements are
    taken then."""

    def __init__(self, items: Items, each: _Iteration, flags: tuple[str, ...], rebound: tuple[str, ...],
                 appended: tuple[str, ...], read: tuple[str, ...], start: int):
        self.items, self.each, self.flags, self.rebound = items, each, flags, rebound
        self.appended, self.read = appended, read
        self.exclusive = meaning.exclusive_lists(each.body, (*appended, *read))
        self.start, self.peeled = start, 0
        self.iterator: UsedUp | None = None
        self.is_staged = False      # a part of it is a loop of the program

    def loop(self) -> Loop:
        each = self.each
        made = Loop((each.body,), lambda k: each.enter(self.items.at(k)), self.flags, each.live, each.dead,
                    self.rebound, count=self.items.length, start=self.start, appended=self.appended,
                    exclusive=self.exclusive, read=self.read)
        made.policy = self.items.policy
        made.waits = not self.can_peel()
        return made

    def stopped(self) -> Any:
        return _stopped(operators.cells_of(self.each.body), self.flags)

    def stage(self) -> int | Tensor:
        return self.staged(self.loop(), stage)

    def staged(self, loop: Loop, stage: Callable[[Loop], ir.Value | None] = Loop.stage) -> int | Tensor:
        """A loop of the program."""
        reached = stage(loop)
        self.is_staged = True
        if type(self.items.length) is int and not self.flags:
            return max(self.items.length, self.start)
        return python_number(reached, (self.start, FAR))

    def run(self, limit: Callable[[int], None] | None = None) -> int | Tensor:
        """One iteration after the other."""
        k, taken = self.start, self.start
        with progress.unrolling(self.each.body.__code__) as copies:
            while not self.items.ends(k):
                stopped = self.stopped()
                if not is_traced(stopped) and stopped:
                    break
                if limit is not None:
                    limit(k - self.start)
                k, taken = self.iteration(k, stopped), taken + 1 if not is_traced(stopped) else taken + (1 - stopped)
                copies.iterations += 1
        return k if type(taken) is int else taken

    def iteration(self, k: int, stopped: Any) -> int:
        """The iteration with this index; returns the next one's."""
        if self.iterator is None or is_traced(stopped):
            self.each.run(self.items.known(k), stopped)
            return k + 1
        self.iterator.stand(k + 1)
        self.each.enter(self.items.known(k))      # which may take more from it
        k = self.iterator.begin()
        if is_tensor(k):
            raise iterators.unknown()
        self.iterator.stand(None)
        return int(k)

    def choose(self) -> int | Tensor:
        """Unroll or stage, by the rule of this module."""
        options, trace = _options(), current_trace()
        loop, sliced = self.loop(), trace.bounded_elements
        trace.bounded_elements, loop.unrolls = 0, True
        limit = options.unroll_limit * (OF_FEW if self.items.length <= SMALL else 1) * self.items.writes_out
        loop.reject = lambda: not loop.growth.has_run_time_lengths() and (
            self.items.length * loop.operations <= limit or loop.is_known() or self.wants_segments())
        reason: ReactantError | Demand
        try:
            return self.staged(loop)
        except Retrace as found:
            reason = found.demand
        except UNROLLED as error:
            reason = alone(error)
        finally:
            trace.bounded_elements = max(trace.bounded_elements, sliced)
        return self.otherwise(reason)

    def otherwise(self, reason: ReactantError | Demand) -> int | Tensor:
        """What is no loop, or not yet."""
        match reason:
            case Peel() if self.can_peel():
                return self.peel()
            case Peel(error) | (ReactantError() as error):
                return self.unroll(error)
            case Unroll():
                return self.segments() if self.wants_segments() else self.unroll(None)
        raise Retrace(reason)

    def wants_segments(self) -> bool:
        """Whether the body slices long dimensions by bounds that may follow the index, in many iterations."""
        return (current_trace().bounded_elements >= SEGMENTED_LENGTH and not self.flags
                and self.items.length - self.start >= SEGMENTED_LENGTH)

    def segments(self) -> int | Tensor:
        """One loop after the other over parts of the range: in each, the index and so the slices are known to lie in
        a narrower window, which is what is computed on."""
        self.is_staged = True
        edges = np.linspace(self.start, self.items.length, SEGMENTS + 1).astype(int).tolist()
        for start, stop in zip(edges, edges[1:], strict=False):
            loop = self.loop()
            loop.start, loop.count = start, stop
            try:
                loop.stage()
            except Retrace as found:
                self.start, reason = start, found.demand
            else:
                continue
            return self.otherwise(reason)
        return max(self.items.length, self.start)

    def peel(self) -> int | Tensor:
        """Run the first iteration on its own, then try again; twice at most."""
        self.start = self.iteration(self.start, False)
        self.peeled += 1
        stopped = self.stopped()
        return self.start if not is_traced(stopped) and stopped else self.choose()

    def can_peel(self) -> bool:
        return self.peeled < 2 and not (is_tensor(self.items.length) or self.items.policy) \
            and self.start + 1 < self.items.length and not is_traced(self.stopped())

    def unroll(self, error: ReactantError | None) -> int | Tensor:
        options, built = _options(), _Operations()
        if self.items.length <= SMALL:
            current_trace().unrolled.add(self.each.body.__code__)

        def limit(number: int) -> None:
            if number >= options.max_unroll and built.count() and error is not None:
                raise unrolled_too_far(error, options.max_unroll)

        trace = current_trace()
        before, trace.many_iterations = trace.many_iterations, trace.many_iterations or (
            isinstance(error, ListError) and self.items.length - self.start > MOST_GROWN)
        try:
            return self.run(limit)
        except ControlFlowError:
            if isinstance(error, ListError):
                raise error from None       # what to do instead
            raise
        finally:
            trace.many_iterations = before
