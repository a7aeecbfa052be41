"""One trace of a user's function: traced arguments in, a StableHLO module and a recipe for its results out.

The recipe says, for every leaf of what the function returned, which result of the program it is and through which view
steps; which arguments were written; which lists, dicts and objects among the arguments now hold something else.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, ItemsView, Iterator, ValuesView
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.calling import changes
from reactant.calling import signature as sig
from reactant.calling.traced import Known, Maybe, OfArgument, Places, Result, Rows, Sized, Traced
from reactant.errors import HERE, ConcreteValueNeeded, LeakError, ReactantError, Reason, UnsupportedError, speaking_of
from reactant.frontends import scipy
from reactant.frontends.arrays.dynamic.bounded import Bounded, Mask
from reactant.frontends.arrays.implements import has_tensors
from reactant.frontends.arrays.indexing import FlatIterator
from reactant.frontends.arrays.layouts import row_major_strides
from reactant.frontends.arrays.promotion import PYTHON_DTYPES
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, TRACED_TEXT, Tensor, check_dtype, is_tensor, wrap
from reactant.frontends.arrays.view_steps import DynamicSliceStep
from reactant.frontends.control import snapshots
from reactant.frontends.control.branches import StagedRaise
from reactant.frontends.control.iteration import Items
from reactant.frontends.control.loop_carried import alone
from reactant.frontends.numpy.selection import places_in
from reactant.frontends.session.retracing import ONE_BY_ONE, RUN_TIME_KEYS, Demand, settle
from reactant.frontends.session.trace import Failure, Trace, frames, told_by, tracing
from reactant.frontends.source import source_map
from reactant.frontends.texts.failures import failure
from reactant.frontends.values.array_lists import ArrayList
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.frontends.values.optional import MaybeNone
from reactant.frontends.values.tagged_union import Alternative
from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.laid_out import order_of
from reactant.options import CompileOptions


def trace(function: Callable, positional: tuple, keyword: tuple, options: CompileOptions) -> Traced:
    """Trace `function` on arguments described by signature nodes. Where it has to know which container control
    flow has taken, it is traced again, and those of its type are chosen as themselves, by number."""
    if "raise" in np.geterr().values():
        raise UnsupportedError("np.seterr or np.errstate says 'raise', and compiled code raises no "
                               "FloatingPointError: it gives NaN and infinity.",
                               hint="Call it inside `with np.errstate(all='warn'):`.", code="floating-point-warnings")
    scipy.register_loaded()
    demands: set[Demand] = set()
    known, first = 0, None

    def meets(error: BaseException) -> bool:
        """Whether the attempt has demanded more than those before."""
        nonlocal known, first
        if not isinstance(error, ReactantError):
            return False
        if len(demands) == known:
            if first is None or ONE_BY_ONE in demands:
                return False
            if RUN_TIME_KEYS in demands:
                first.add_note(f"Keys in lists that grow do not do either: {str(error).splitlines()[0]}")
            raise first from None       # it speaks of what the user has written
        source_map.annotate(error)
        known, first = len(demands), first or alone(error)
        return True
    return settle(lambda: _trace(function, positional, keyword, options, demands), meets)


def _trace(function: Callable, positional: tuple, keyword: tuple, options: CompileOptions,
           demands: set[Demand]) -> Traced:
    with building(), tracing(options, demands) as session, _asking_generators(session):
        session.spread = options.mesh is not None or sig.is_spread((*positional, *(node for _, node in keyword)))
        rebuilder = sig.Rebuilder(lambda node, number: _argument(session, node, number))
        args = [rebuilder.build(node, (0, i)) for i, node in enumerate(positional)]
        kwargs = {name: rebuilder.build(node, (1, name)) for name, node in keyword}
        session.noting = bool(rebuilder.noted)
        before = [(c, path, changes.contents(c)) for c, path in rebuilder.containers]
        session.given, session.depth = [c for c, _ in rebuilder.containers], len(frames())
        try:
            result = function(*args, **kwargs)
        except StagedRaise:         # each path raises, and has recorded what
            result = None
        except Exception as error:
            _raise_behind_checks(session, error)
            result = None
        shared = {id(c): sig.Same(path) for c, path in [*rebuilder.containers, *rebuilder.records,
                                                        *rebuilder.refused]}
        changed = [(path, change) for c, path, old in before
                   if (change := changes.change(c, old, changes.contents(c))) is not None]
        collector = _Collector(session, shared)
        with speaking_of("in what the function leaves in its arguments"):
            collector.count([value for _, change in changed for value in change.put.values()])
        with speaking_of("in what the function returns"):
            collector.count([result])
            traced = Traced(session.module, collector.tree(result))
        with speaking_of("in what the function leaves in its arguments"):
            traced.updates = [(path, change.map(collector.tree)) for path, change in changed]
            traced.untouched = None if rebuilder.refused_used() else frozenset(session.untouched)
            traced.unloaded = {number: frozenset(str(name) for name in names if not name.loaded)
                               for number, names in rebuilder.noted.items()}
            traced.given = collector.given
            return _finish(session, collector, traced)


@contextlib.contextmanager
def _asking_generators(session: Trace) -> Iterator[None]:
    """Where a loop has run a generator, another trace may take its elements one by one."""
    try:
        yield
    except ReactantError:
        if session.pushes:
            session.demands.add(ONE_BY_ONE)
        raise


def _raise_behind_checks(session: Trace, error: Exception) -> None:
    """What the function raises whatever its values are is raised at once; behind run-time checks, only by a run in
    which those have held, and where it tells run-time values, by that."""
    made = failure(error)
    if isinstance(error, ReactantError) or source_map.too_deep(error) or not (
            told_by(made) or any(region is session.region for *_, region in session.checks)):
        raise error
    source_map.annotate(error)
    place = error.__traceback__
    session.checks.append((ops.constant(False), Failure(lambda *told: made(*told).with_traceback(place), told_by(made)),
                           session.region))


def _argument(session: Trace, node: tuple, number: int) -> Tensor:
    """A traced argument for a leaf node."""
    kind = node[0]
    if kind in ("python", "scalar"):
        dtype = PYTHON_DTYPES[node[1]] if kind == "python" else node[1]
        check_dtype(dtype)
        storage = Storage((), dtype, value=session.add_argument((), dtype))
        return Tensor(storage, kind=PYTHON if kind == "python" else SCALAR)
    shape, dtype = node[1], native_dtype(node[2])
    check_dtype(dtype)
    if kind == "device" and not shape and not node[3]:                           # JAX's numbers, which do not change
        return Tensor(Storage((), dtype, value=session.add_argument((), dtype)), kind=SCALAR)
    storage = Storage(shape, dtype, value=session.add_argument(shape, dtype), argument=number)
    session.arguments.append(storage)
    session.untouched.add(number)
    strides, writeable = None, True
    if kind == "array":
        writeable = node[4]
        if node[3] is not None and all(s % dtype.itemsize == 0 for s in node[3]):
            strides = tuple(s // dtype.itemsize for s in node[3])
    elif kind == "device":
        strides = node[4]
    return Tensor(storage, strides=strides, writeable=writeable).noting_touch()


def native_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in this machine's byte order; where NumPy has one object for it, that one, which is told at once."""
    native = dtype.newbyteorder("=")
    usual = np.dtype(dtype.type) if dtype.kind in "biufc" else native
    return usual if usual == native else native


def _tensors(x: Any, shared: dict[int, Any]) -> list[Tensor]:
    """The arrays among returned leaves, also those that may be None instead."""
    found: list[Any] = []
    sig.map_tree(x, found.append, shared)
    maybe = [_tensors(leaf.ag__value, shared) for leaf in found if type(leaf) is MaybeNone]
    frames = [leaf.frame for leaf in found if type(leaf) is Bounded]
    return [leaf for leaf in found if is_tensor(leaf)] + frames + [tensor for each in maybe for tensor in each]


def _element(tree: Any, columns: Iterator[Result | None], whole: Any) -> Any:
    """What an element of a list of run-time length is made of: numbers, values that are known, tuples and lists of
    them. Arrays are left out: they may be views of others."""
    if type(tree) is snapshots.Node:
        if tree.kind not in ("list", "tuple") or tree.key[0] not in (list, tuple):
            raise _not_delivered(NO_NUMBERS, whole)
        parts = [_element(child, columns, whole) for child in tree.children]
        return parts if tree.kind == "list" else tuple(parts)
    column = next(columns)
    if column is None and isinstance(tree, snapshots.Known) and isinstance(tree.value, (str, bytes, type(None))):
        return Known(tree.value)
    if column is None or column.kind == ARRAY:
        raise _not_delivered(NO_NUMBERS, whole)
    return column


def _not_delivered(reason: Reason, leaf: Any) -> UnsupportedError:
    span = source_map.made_at(leaf.sizes())
    return UnsupportedError(reason.fact, hint=reason.hint, code=reason.code, span=HERE if span is None else span)


SIZED = Reason(
    "The compiled function returns an array whose size depends on run-time values (a masked or run-time slice, a list "
    "that grows under conditions).",
    "Compile it with sized_results=True, or return it at full size, e.g. np.where(mask, x, 0), or the mask itself, and "
    "select after the call; of a list, what is computed from it, or an array made before the loop and a count.",
    "result-of-run-time-size")
NO_NUMBERS = Reason(
    "The compiled function returns a list whose length depends on run-time values and whose elements are no numbers, "
    "or something else of run-time size.",
    "Return an array of it (np.array(items)), what is computed from it, or an array made before the loop and a count.",
    "result-of-run-time-size")


class _Collector:
    """Iterations returned leaves into program results; arrays that share a storage share one result."""

    def __init__(self, session: Trace, shared: dict[int, Any]):
        self.session, self._shared = session, shared
        self.values: list[ir.Value] = []
        self._counts: dict[Storage, int] = {}       # how many of the arrays delivered see it
        self._of_storage: dict[Storage, int] = {}
        self._leaves: list[Tensor] = []
        self.given: set[int] = set()                        # arguments that are delivered
        self.laid: dict[int, tuple[int, ...]] = {}          # results that do not lie by rows
        self._ends: dict[ir.Value, int] = {}                # masks and ends of what has run-time size
        self._rows: dict[int, tuple[Any, Rows]] = {}        # the lists that results hold, by their identities

    def count(self, trees: list[Any]) -> None:
        """Say what will be delivered, before any of it is."""
        counts = self._counts
        for tensor in [tensor for tree in trees for tensor in _tensors(tree, self._shared)]:
            counts[tensor.storage] = counts.get(tensor.storage, 0) + (tensor.kind == ARRAY or bool(tensor.steps))

    def tree(self, x: Any) -> Any:
        """The recipe for something that has been counted."""
        return sig.map_tree(x, lambda leaf: self._leaf(leaf, self._counts), self._shared)

    def _leaf(self, leaf: Any, counts: dict[Storage, int]) -> Any:
        if getattr(type(leaf), "partial", False):
            options = self.session.options or CompileOptions()
            if not options.sized_results:
                raise _not_delivered(SIZED, leaf)
            return self._of_run_time_size(leaf, counts)
        if type(leaf) is MaybeNone:
            defined = self.add(ops.reshape(wrap(leaf.ag__defined).value(), ()))
            return Maybe(defined, sig.map_tree(leaf.ag__value, lambda part: self._leaf(part, counts), {}))
        if type(leaf) is Alternative and leaf.ag__are_containers():
            return sig.map_tree(leaf.ag__content(), lambda part: self._leaf(part, counts), {})
        if type(leaf) is Alternative:
            return Result(self.add(leaf.ag__number.value()), tuple(self.session.alternatives))
        if type(leaf) is ArrayList:
            return sig.map_tree(list(leaf), lambda part: self._leaf(part, counts), {})
        if type(leaf) is str and TRACED_TEXT in leaf:
            raise ConcreteValueNeeded("A text in the result", "Return the values and format them after the call.")
        if not is_tensor(leaf):
            if hasattr(type(leaf), "__next__") or isinstance(leaf, (Items, FlatIterator)) or type(leaf) is slice \
                    and any(is_tensor(end) for end in (leaf.start, leaf.stop, leaf.step)) \
                    or isinstance(leaf, (ValuesView, ItemsView)) and has_tensors(list(leaf)):
                raise UnsupportedError("The compiled function returns a generator, an iterator, a view of a dict, or "
                                       "a range or slice that run-time values decide: there is nothing in it after the "
                                       "call.",
                                       hint="Return a list or an array of its elements, or the numbers that it is "
                                            "made of.", code="unsupported-result")
            return leaf if isinstance(leaf, sig.Same) else Known(leaf)
        if leaf.storage.region.closed:
            raise LeakError()
        static = not any(isinstance(s, DynamicSliceStep) for s in leaf.steps)
        if leaf.kind == ARRAY and leaf.storage.argument is not None and static:
            self.given.add(leaf.storage.argument)
            return OfArgument(leaf.storage.argument, leaf.steps)
        if (leaf.kind == ARRAY or leaf.steps) and counts.get(leaf.storage, 0) > 1 and static:
            if leaf.storage not in self._of_storage:
                self._of_storage[leaf.storage] = self.add(leaf.storage.read())
            layout = leaf.storage.layout
            return Result(self._of_storage[leaf.storage], leaf.kind, leaf.steps,
                          None if layout == row_major_strides(leaf.storage.shape) else layout)
        if leaf.is_concrete():
            return Known(leaf.numpy().copy())
        found = Result(self.add(leaf.value()), leaf.kind)
        if leaf.kind == ARRAY and (order := order_of(leaf.shape, leaf.strides_)) is not None:
            self.laid[found.index] = order
        return found

    def _of_run_time_size(self, leaf: Any, counts: dict[Storage, int]) -> Any:
        if type(leaf) is Bounded:
            if leaf.region.closed:
                raise LeakError()
            mask = leaf.extents[0]
            if isinstance(mask, Mask) and not any(leaf.extents[1:]) and is_tensor(leaf.frame):
                found = places_in(leaf.frame.value(), len(leaf.extents))
                if found is not None:
                    return Places(self._number(mask.value), *found)
            parts = [() if e is None else tuple(map(self._number, (e.value,) if isinstance(e, Mask) else
                                                    (e.start, e.stop))) for e in leaf.extents]
            return Sized(self._leaf(leaf.frame, counts), tuple(parts))
        if type(leaf) is RunTimeList and leaf.stands_for is list:
            if (held := self._rows.get(id(leaf))) is None:
                rows, count = leaf.content()
                columns = iter([None if row is None else Result(self.add(row), kind.kind)
                                for row, kind in zip(rows, leaf.kinds, strict=True)])
                held = leaf, Rows(Result(self.add(count), PYTHON), _element(leaf.tree, columns, leaf))
                self._rows[id(leaf)] = held
            return held[1]
        raise _not_delivered(NO_NUMBERS, leaf)

    def _number(self, end: Any) -> Any:
        if isinstance(end, int):
            return Known(end)
        if end not in self._ends:
            self._ends[end] = self.add(end)
        return Result(self._ends[end], ARRAY)

    def add(self, value: ir.Value) -> int:
        self.values.append(value)
        return len(self.values) - 1


def _finish(session: Trace, collector: _Collector, traced: Traced) -> Traced:
    """Add the new contents of written arguments and the check flags, and close `main`."""
    for storage in session.arguments:
        if storage.version and storage.value != session.entry.arguments[storage.argument]:
            traced.written[storage.argument] = collector.add(storage.value)
    checks = [(ok, error) for ok, error, region in session.checks if region is session.region]
    if session.said is not None:        # who reads the flags has waited until all is said
        said = ops.compare(session.said.read(), ops.constant(np.int32(0)), "GE")
        checks.append((said, lambda: ReactantError("What the program prints did not come to an end.",
                                                   code="printing-without-end")))
    if checks:
        flags = ops.concatenate([ops.reshape(ok, (1,)) for ok, _ in checks], 0)
        traced.flags = collector.add(flags)
        traced.errors = [error for _, error in checks]
        traced.told = [[collector.add(value) for value in told_by(error)] for error in traced.errors]
    traced.captured, traced.written_copies = list(session.captured), session.written_copies
    traced.callbacks = tuple(session.callbacks)
    traced.spoken = session.spoken if session.may_repeat else None
    traced.remarks = list(dict.fromkeys(session.remarks))
    given = {storage.argument: order for storage in session.arguments if storage.layout is not None
             and (order := order_of(storage.shape, storage.layout)) is not None}
    traced.laid = (given, collector.laid) if given or collector.laid else None
    session.finish(collector.values)
    return traced
