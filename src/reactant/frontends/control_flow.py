"""Control flow over run-time values: the operators that converted code calls, with staging where a decision is known
only at run time.

Which loops are loops:

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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, ControlFlowError, ReactantError, UnsupportedError, unrolled_too_far
from reactant.frontends import array_lists, attempts, effects, generated, heaps, identity, objects, operators, ragged
from reactant.frontends.alternatives import Alternative
from reactant.frontends.array_lists import NeedsArray
from reactant.frontends.branches import StagedRaise, staged_if
from reactant.frontends.calls import takes_anything
from reactant.frontends.carried import NeedsGrower, NeedsPeeling, Unroll, truth_of
from reactant.frontends.growing import Deeper, Grower, ListError, refusal
from reactant.frontends.growth import exclusive_lists
from reactant.frontends.iteration import Items, RowItems, items_of
from reactant.frontends.list_changes import Changes
from reactant.frontends.loops import Loop
from reactant.frontends.numpy.tensor import PYTHON, Tensor, is_tensor, python_number
from reactant.frontends.operators import UNSET, Unusable, ag__
from reactant.frontends.optional import is_none, known_index
from reactant.frontends.run_time_lists import RunTimeList, of_items
from reactant.frontends.state import MaybeBound, capture
from reactant.frontends.trace import current_trace, is_tracing
from reactant.ir import ops
from reactant.options import CompileOptions

SMALL = 4
"""Loops of at most this many iterations are always unrolled where their bodies hold no loops."""
OF_FEW = 8
"""So much more than `unroll_limit` may be made of such loops where they do."""
FEW_ROWS = 16
"""Loops over lists of more run-time numbers may stay loops."""
DECISIONS, LOOPS = frozenset({"if_stmt", "while_stmt"}), frozenset({"for_stmt", "while_stmt"})
SEGMENTS, SEGMENTED_LENGTH = 4, 128
"""A loop over at least so many iterations whose body slices dimensions of at least that length by run-time bounds
becomes so many loops (LU: 0.47 of the work of one, where 0.33 is the least)."""

UNROLLED = ConcreteValueNeeded, ControlFlowError, UnsupportedError
"""Refusals of a loop that one iteration after the other may not meet: there the index is known, and sizes that follow
it."""


# ---- decisions -------------------------------------------------------------------------------------------------

def is_traced(value: Any) -> bool:
    """Whether the truth of `value` is known only at run time."""
    if not is_tensor(value) or value.is_concrete() or value.size != 1:
        return False        # arrays of other sizes raise as NumPy's do
    return ops.constant_value(value.value()) is None


def asked(value: Any) -> Any:
    """What decides in a test: of lists that are no lists while tracing, whether there is something in them."""
    return value.has_elements() if type(value) in (RunTimeList, Grower, Alternative) else value


def predicate_of(value: Tensor) -> ir.Value:
    return truth_of(capture(value))


def if_stmt(test: Any, then: FunctionType, orelse: FunctionType | None, live: tuple[str, ...],
            dead: tuple[str, ...]) -> None:
    test = asked(test)
    if not is_traced(test):
        return operators.if_stmt(test, then, orelse, live, dead)
    try:
        staged_if(predicate_of(test), then, orelse, live, dead, (then, orelse))
    except StagedRaise:
        if effects.recording():
            raise
        # Both branches raise, outside of any other decision: what follows is traced, and never used.


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    test = asked(test)
    if not is_traced(test):
        return then() if test else orelse()
    return staged_if(predicate_of(test), then, orelse)


class _Noted:
    """The operands of an `and` or `or` after the first one; it keeps what they are together."""

    def __init__(self, operator: Callable, others: tuple[Callable[[], Any], ...]) -> None:
        self.operator, self.others = operator, others
        self.value: Any = None

    def __call__(self) -> Any:
        self.value = self.operator(self.others[0](), *self.others[1:])
        return self.value

    def settled(self, first: Any, whole: Any, decisive: bool) -> Any:
        """What all operands are together: known where `and False`, `or True` follows a truth that the run decides."""
        truths = is_tensor(whole) and whole.dtype.kind == first.dtype.kind == "b"
        if truths and type(self.value) in (bool, np.bool_) and self.value == decisive:
            return decisive if whole.kind == PYTHON else np.bool_(decisive)
        return whole


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    for position, other in enumerate(others):
        if is_traced(first):
            known = first
            rest = _Noted(and_, (other, *others[position + 1:]))
            return rest.settled(known, staged_if(predicate_of(first), rest, lambda: known), False)  # noqa: B023
        if not first:
            return first
        first = other()
    return first


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    for position, other in enumerate(others):
        if is_traced(first):
            known = first
            rest = _Noted(or_, (other, *others[position + 1:]))
            return rest.settled(known, staged_if(predicate_of(first), lambda: known, rest), True)  # noqa: B023
        if first:
            return first
        first = other()
    return first


def not_(value: Any) -> Any:
    value = asked(value)
    if not is_traced(value):
        return not value
    return python_number(ops.not_(predicate_of(value)))


def condition(value: Any) -> Any:
    """What an operand of `and` or `or` says in a test."""
    value = asked(value)
    if value is None or isinstance(value, (str, list, tuple, dict, set)):
        return bool(value)
    return python_number(predicate_of(value)) if is_traced(value) and value.dtype.kind != "b" else value


def truth(value: Any) -> bool:
    """A decision that Python itself takes."""
    value = asked(value)
    if is_traced(value):
        raise ConcreteValueNeeded("A condition in a comprehension (or beside `:=` or `yield`)",
                                  "Write a `for` loop with `if` and `append`, or select with a mask: x[x > 0].")
    return bool(value)


def same(left: Any, right: Any) -> Any:
    """`left is right`."""
    if type(left) is Alternative or type(right) is Alternative:
        one, other = (left, right) if type(left) is Alternative else (right, left)
        return other.each(lambda x: same(one, x)) if type(other) is Alternative else one.is_one(lambda x: x is other)
    return left is right


def is_(value: Any, known: bool) -> Any:
    """A truth of Python's that only the run knows is one of the two; NumPy's truths are neither."""
    if not (is_tensor(value) and value.kind == PYTHON and value.dtype.kind == "b"):
        return value is known
    return value if known else not_(value)


def contains(item: Any, container: Any) -> Any:
    if is_tensor(container):
        return _python_bool(np.any(container == item))
    if type(container) is range and is_tensor(item):
        return _in_range(item, container)
    if type(item) is Alternative:
        return item.each(lambda x: contains(x, container))
    if type(container) is Alternative:
        return container.each(lambda x: contains(item, x))
    if isinstance(container, (list, tuple)) and ag__.involves_tracing((item, container), {}) \
            or isinstance(container, (set, frozenset, dict)) and ag__.involves_tracing((item,), {}):
        found: Any = False
        for element in container:
            found = or_(found, lambda e=element: True if e is item else _python_bool(ag__.Eq(e, item)))
        return found
    return container.has(item) if isinstance(container, Changes) else objects.contains(item, container)


def _in_range(item: Tensor, container: range) -> Any:
    if len(container) == 0:
        return False
    low, high = min(container[0], container[-1]), max(container[0], container[-1])
    return and_(item >= low, lambda: item <= high, lambda: (item - low) % abs(container.step) == 0)


def _python_bool(value: Any) -> Any:
    return python_number(predicate_of(value)) if is_traced(value) else bool(value)


# ---- errors at run time ----------------------------------------------------------------------------------------

def assert_stmt(test: Any, message: Callable[[], Any] | None) -> None:
    test = asked(test)
    if not is_traced(test) and (test or not effects.recording()):
        return operators.assert_stmt(test, message)
    _refuse_handlers()
    arguments = () if message is None else (message(),)
    holds = predicate_of(test) if is_traced(test) else ops.constant(False)
    _record(holds, lambda: AssertionError(*map(_plain, arguments)))
    if not is_traced(test):
        raise StagedRaise
    return None


def raised(error: Any) -> Any:
    """In a branch that may not run: record the check and leave the branch."""
    if not effects.recording():
        return error
    _refuse_handlers()
    _record(ops.constant(False), lambda: error() if isinstance(error, type) else error)
    return StagedRaise()


def _record(ok: ir.Value, error: Callable[[], BaseException]) -> None:
    current_trace().record(ok, error)


def _plain(message: Any) -> Any:
    return repr(message) if is_tensor(message) else message


def refusals(*kinds: Callable[[], Any]) -> Any:
    """Our own errors, unless the handlers name them, and what is no exception of the program."""
    found = [kind() for kind in kinds]
    named = [k for f in found for k in (f if isinstance(f, tuple) else (f,))]
    if any(isinstance(k, type) and issubclass(k, ReactantError) for k in named):
        return operators.Interrupted, Unroll, NeedsPeeling, Deeper, NeedsArray, NeedsGrower
    return ReactantError, operators.Interrupted, Unroll, NeedsPeeling, Deeper, NeedsArray, NeedsGrower


def _refuse_handlers() -> None:
    if current_trace().attempts:
        attempts.refuse()


# ---- variables -------------------------------------------------------------------------------------------------

def ld(value: Any) -> Any:
    kind = type(value)
    if kind is Unusable:
        raise value.make_error()
    if kind is MaybeBound:
        name, trace = value.name, current_trace()
        for loop in trace.loops:
            if name in loop.unset:      # it may be bound from before the loop
                raise loop.unset[name]
        (trace.check if trace.attempts else trace.record)(truth_of(capture(value.defined)), lambda: UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"))
        return value.value
    return value


def result(returned: Any, value: Any) -> Any:
    if type(value) is Unusable:
        raise value.make_error()
    if value is UNSET or value is None:
        return None
    if is_traced(returned):
        raise ControlFlowError("This function returns a value on some paths and nothing on others, and which one is "
                               "taken is known only at run time. Return a value on every path.")
    return value if returned else None


# ---- objects ---------------------------------------------------------------------------------------------------

def _touching(operator: Callable, position: int) -> Callable:
    """The operator, told to `effects` which object it is about to change."""
    def changes(*arguments: Any, **keywords: Any) -> Any:
        identity.about_to_change(arguments[position])
        if effects.recording():
            effects.touch(arguments[position])
        return operator(*arguments, **keywords)
    return changes


def _iterating(operator: Callable) -> Callable:
    def iterate(iterable: Any) -> Iterable:
        effects.use_iterators(iterable)
        return operator(iterable)       # type: ignore[no-any-return]
    return iterate


def _generator(elements: Iterable) -> Iterable:
    effects.note_iterator(elements)
    return elements


def _calling(operator: Callable) -> Callable:
    """`call_bound`, told to `effects` which object it may change."""
    def calls(function: Any, owner: Any, /, *arguments: Any, **keywords: Any) -> Any:
        identity.about_to_call(function, owner)
        if effects.recording():
            effects.touch(owner)
        return operator(function, owner, *arguments, **keywords)
    return calls


def _with_iterators(operator: Callable) -> Callable:
    """`call`, told to `effects` which iterators it may use up, and which it makes."""
    def call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if not effects.recording():
            return operator(function, *arguments, **keywords)
        if not takes_anything(function):
            effects.use_iterators(*arguments)
        result = operator(function, *arguments, **keywords)
        effects.note_iterator(result)
        return result
    return call


def _get_item(inner: Callable) -> Callable:
    def get_item(container: Any, index: Any) -> Any:
        if type(index) is Alternative:
            return index.each(lambda key: ag__.get_item(container, key))
        index = known_index(index)
        if type(index) is Tensor and type(container) in (list, tuple) and is_tracing() and not index.is_concrete():
            if ragged.fit(container, index):
                return ragged.get(container, index)
            return array_lists.get(container, index)
        if isinstance(container, defaultdict) and effects.recording() and index not in container:
            effects.touch(container)
        return inner(container, index)
    return get_item


def _set_item(inner: Callable) -> Callable:
    def set_item(value: Any, container: Any, index: Any) -> None:
        index = known_index(index)
        if type(index) is Tensor and type(container) is list and is_tracing() and not index.is_concrete():
            return array_lists.put(value, container, index)
        return inner(value, container, index)
    return set_item


def _get_attr(inner: Callable) -> Callable:
    def get_attr(owner: Any, attribute: str) -> Any:
        if effects.recording() and type(getattr(type(owner), attribute, None)) is cached_property:
            effects.touch(owner)        # it is kept there
        if attribute == "__array__" and (is_tensor(owner) or getattr(type(owner), "partial", False)):
            return partial(np.asarray, owner)       # what an array gives is itself
        value = inner(owner, attribute)
        return ld(value) if type(value) in (Unusable, MaybeBound) else value
    return get_attr


# ---- loops -----------------------------------------------------------------------------------------------------

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


def while_stmt(test: FunctionType, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...],
               dead: tuple[str, ...], rebound: tuple[str, ...], appended: tuple[str, ...] = (),
               read: tuple[str, ...] = ()) -> None:
    if not is_tracing():
        return operators.while_stmt(test, body, flags, live, dead, rebound)
    cells = operators.cells_of(body)
    options, built = _options(), _Operations()
    failure: ReactantError | None = None
    iterations = 0

    def stage(first: Any, unless_known: bool = False) -> None:
        lists = exclusive_lists(body, (*appended, *read))
        loop = Loop((body, test), lambda k: body(), flags, live, dead, rebound, test=lambda: asked(test()), first=first,
                    again=again, appended=appended, exclusive=lists, read=read)
        if unless_known:
            loop.reject = lambda: loop.growth.is_known()
        try:
            loop.stage()
        except NeedsPeeling as reason:
            raise reason.error from None

    def again(*values: Any) -> Any:
        state: Any = False
        for value in values:
            state = or_(state, lambda v=value: v)
        return and_(not_(state), lambda: asked(test()))

    while True:
        outcome = again(*(cells[f].cell_contents for f in flags))
        if is_traced(outcome):
            return stage(outcome)
        outcome = bool(outcome)     # no reference to a list
        if not outcome:
            return None
        try:
            if read and not iterations and failure is None:     # which turns there are may depend on what is in them
                return stage(True, unless_known=True)
            if failure is None and iterations and built.count() > options.unroll_limit:
                return stage(True)
        except Unroll:
            pass
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


def for_stmt(iterable: Any, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...], dead: tuple[str, ...],
             rebound: tuple[str, ...], appended: tuple[str, ...] = (), read: tuple[str, ...] = ()) -> None:
    """`appended` are the names of lists that the body only appends to, `read` those it reads, too."""
    if not is_tracing():
        return operators.for_stmt(iterable, body, flags, live, dead, rebound, appended, read)
    items = items_of(iterable)
    if items is None:
        items = _rows(iterable, bool(appended or read) and _has(DECISIONS, body.__code__))
    if items is None:
        return _run(ag__.iterate(iterable), body, flags, live, dead)
    with same_lengths(items.lists):
        if is_tensor(items.length) or items.policy:
            return _Counted(items, body, flags, live, dead, rebound, appended, read).stage()
        # what grows may have a run-time length, and what holds loops may be many operations
        if items.length <= SMALL and not ((appended or read) and items.length) and (
                items.length < 2 or body.__code__ in current_trace().unrolled or not _has(LOOPS, body.__code__)):
            return _run(_known(items), body, flags, live, dead)
        return _Counted(items, body, flags, live, dead, rebound, appended, read).choose()


@contextlib.contextmanager
def same_lengths(lists: tuple[Grower, ...]) -> Iterator[None]:
    """A loop over lists, which nothing is appended to there: Python would go on with what is."""
    before = [g.count and g.count.read() for g in lists]
    yield
    if any(g.count is not None and g.count.read() != count for g, count in zip(lists, before, strict=True)):
        raise refusal("while a loop runs over it")


def _rows(iterable: Any, lists: bool) -> Items | None:
    """Many elements of a list that are run-time numbers, or tuples of such, as something a loop can run over. `lists`:
    also few or known ones, since only the run may know how long lists get there (not without an `if`)."""
    if type(iterable) not in (list, tuple) or not iterable:
        return None
    if not lists and (len(iterable) <= FEW_ROWS or not _has_tensors(iterable[0])):
        return None
    rows = of_items(iterable)
    return None if rows is None else RowItems(rows, iterable)


def _has(statements: frozenset[str], code: CodeType) -> bool:
    """Whether there are such statements in converted code, or in what it runs as branches and bodies."""
    return not statements.isdisjoint(code.co_names) or any(
        type(inner) is CodeType and _has(statements, inner) for inner in code.co_consts)


def _has_tensors(item: Any) -> bool:
    return is_tensor(item) or type(item) is tuple and any(map(_has_tensors, item))


def _known(items: Items, start: int = 0) -> Iterator[Any]:
    return (items.known(k) for k in range(start, int(items.length)))


def _run(values: Iterable[Any], body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...],
         dead: tuple[str, ...], limit: Callable[[int], None] | None = None) -> None:
    """One iteration after the other; once a run-time value decides whether to go on, each further one is a branch."""
    cells = operators.cells_of(body)
    for number, value in enumerate(values):
        if limit is not None:
            limit(number)
        stopped = _stopped(cells, flags)
        if is_traced(stopped):
            staged_if(predicate_of(stopped), None, lambda v=value: body(v), live, dead, (body,))
        elif stopped:
            return
        else:
            body(value)


class _Counted:
    """A `for` over elements that a run-time index can pick."""

    def __init__(self, items: Items, body: FunctionType, flags: tuple[str, ...], live: tuple[str, ...],
                 dead: tuple[str, ...], rebound: tuple[str, ...], appended: tuple[str, ...], read: tuple[str, ...]):
        self.items, self.body, self.flags, self.live, self.dead, self.rebound = items, body, flags, live, dead, rebound
        self.appended, self.read = appended, read
        self.exclusive = exclusive_lists(body, (*appended, *read))
        self.start = 0

    def loop(self) -> Loop:
        made = Loop((self.body,), lambda k: self.body(self.items.at(k)), self.flags, self.live, self.dead, self.rebound,
                    count=self.items.length, start=self.start, appended=self.appended, exclusive=self.exclusive,
                    read=self.read)
        made.policy = self.items.policy
        return made

    def stage(self) -> None:
        try:
            self.loop().stage()
        except NeedsPeeling as reason:
            raise reason.error from None

    def choose(self) -> None:
        """Unroll or stage, by the rule of this module."""
        options, trace = _options(), current_trace()
        loop, sliced = self.loop(), trace.bounded_elements
        trace.bounded_elements = 0
        limit = options.unroll_limit * (OF_FEW if self.items.length <= SMALL else 1)
        loop.reject = lambda: not loop.growth.has_run_time_lengths() and (
            self.items.length * loop.operations <= limit or loop.is_known() or self.wants_segments())
        try:
            loop.stage()
        except Unroll:
            return self.segments() if self.wants_segments() else self.unroll(None)
        except NeedsPeeling as reason:
            return self.peel(reason)
        except UNROLLED as error:
            return self.unroll(error)
        finally:
            trace.bounded_elements = max(trace.bounded_elements, sliced)

    def wants_segments(self) -> bool:
        """Whether the body slices long dimensions by bounds that may follow the index, in many iterations."""
        return (current_trace().bounded_elements >= SEGMENTED_LENGTH and not self.flags
                and self.items.length - self.start >= SEGMENTED_LENGTH)

    def segments(self) -> None:
        """One loop after the other over parts of the range: in each, the index and so the slices are known to lie in
        a narrower window, which is what is computed on."""
        edges = np.linspace(self.start, self.items.length, SEGMENTS + 1).astype(int).tolist()
        for start, stop in zip(edges, edges[1:], strict=False):
            loop = self.loop()
            loop.start, loop.count = start, stop
            loop.stage()

    def peel(self, reason: NeedsPeeling) -> None:
        """Run the first iteration on its own, then try again; twice at most."""
        if self.start == 2 or self.start + 1 >= self.items.length:
            return self.unroll(reason.error)
        if is_traced(_stopped(operators.cells_of(self.body), self.flags)):
            return self.unroll(reason.error)
        self.body(self.items.known(self.start))
        self.start += 1
        stopped = _stopped(operators.cells_of(self.body), self.flags)
        if not is_traced(stopped) and stopped:
            return None
        return self.choose()

    def unroll(self, error: ReactantError | None) -> None:
        options, built = _options(), _Operations()
        if self.items.length <= SMALL:
            current_trace().unrolled.add(self.body.__code__)

        def limit(number: int) -> None:
            if number >= options.max_unroll and built.count() and error is not None:
                raise unrolled_too_far(error, options.max_unroll)

        try:
            return _run(_known(self.items, self.start), self.body, self.flags, self.live, self.dead, limit)
        except ControlFlowError:
            if isinstance(error, ListError):
                raise error from None       # what to do instead
            raise


def install() -> None:
    """Put the operators in place, around those that are there. Done once, after `numpy.overlay`."""
    unless = attempts.unless_interrupted
    operators.install(
        if_stmt=if_stmt, while_stmt=while_stmt, for_stmt=for_stmt, if_exp=if_exp, and_=and_, or_=or_, not_=not_,
        condition=condition, truth=truth, is_=is_, same=same,
        is_none=is_none, contains=contains, assert_stmt=assert_stmt, raised=raised, ld=ld, result=result,
        refusals=refusals, touch=effects.touch_variables, foreign_call=effects.touch_arguments,
        call_in_attempt=attempts.call_in_attempt,
        get_item=_get_item(ag__.get_item),
        set_item=attempts.after_a_look(unless(_touching(_set_item(ag__.set_item), 1))),
        del_item=unless(_touching(ag__.del_item, 0)),
        inplace=unless(_touching(ag__.inplace, 1)), set_attr=unless(_touching(ag__.set_attr, 1)),
        del_attr=unless(_touching(ag__.del_attr, 0)), get_attr=_get_attr(ag__.get_attr),
        call_bound=_calling(ag__.call_bound), call=_with_iterators(ag__.call), iterate=_iterating(ag__.iterate),
        generator=_generator)
    generated.install()
    heaps.install()
    operators.install(**{n: getattr(attempts, n) for n in (
        "catching", "attempt", "attempt_around", "pending", "resume", "raise_", "kept", "shielded", "matches",
        "exception", "unhandled", "raise_again", "interruption")})
