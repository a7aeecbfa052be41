"""`neighbours[u].append(v)`: methods that change one of several lists, dicts or sets, at a place run-time values
decide.

They are what a chain of `if`s would make of them: each list grows, in the loops around, where its place is meant.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.tensor import Tensor, is_tensor, python_number
from reactant.frontends.control import container_aliasing, numbered
from reactant.frontends.control.branches import staged_if
from reactant.frontends.control.demands import AsRows, InOneIteration
from reactant.frontends.control.loop_carried import alone
from reactant.frontends.control.loop_choice import in_one_iteration
from reactant.frontends.numpy import ordering
from reactant.frontends.session import calls, recording
from reactant.frontends.session.retracing import Retrace, Unmet
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source.operators import CHANGING, ag__
from reactant.frontends.values import dynamic_index, dynamic_keys, tagged_union
from reactant.frontends.values.optional import known_index
from reactant.ir import ops

MOST = 256
"""Of more lists none is chosen."""

GIVING = frozenset(("pop", "popleft", "popitem", "setdefault"))
"""Methods that give something."""


class Method:
    """The method `name` of the list at `place` among those that `paths` lead to, from `held` on."""

    __slots__ = ("held", "name", "paths", "place")

    def __init__(self, name: str, held: Any, paths: list[tuple], place: ir.Value):
        self.name, self.held, self.paths, self.place = name, held, paths, place

    def call(self, arguments: tuple, keywords: dict) -> Any:
        def of(k: int) -> Callable[[], Any]:        # what stands for a list takes its place, so it is asked for late
            return lambda: ag__.call(ag__.get_attr(_at(self.held, self.paths[k]), self.name), *arguments, **keywords)

        def among(first: int) -> Any:
            if first == len(self.paths) - 1:
                return of(first)()
            return staged_if(ops.compare(self.place, first, "EQ"), of(first), lambda: among(first + 1))

        try:
            if self.name in GIVING:
                return among(0)
            for k in range(len(self.paths)):
                staged_if(ops.compare(self.place, k, "EQ"), of(k), None)
        except Retrace as found:
            if type(found.demand) is AsRows:
                found.demand.others = [(_at(self.held, path[:-1]), path[-1]) for path in self.paths]
            raise
        return None


def _at(held: Any, path: tuple) -> Any:
    for key in path:
        held = held[key]
    return held


def are_numbered(items: Sequence[Any]) -> bool:
    """Whether these are lists, dicts or sets, each another one, that are chosen as themselves."""
    return 1 < len(items) <= numbered.MOST_CONTAINERS and len(set(map(id, items))) == len(items) \
        and all(container_aliasing.is_container(x) and numbered.is_by_number(x) for x in items)


def get(items: list | tuple, index: Tensor) -> tagged_union.Alternative:
    """`items[index]`, the list itself."""
    return one_of(items, dynamic_index.place_in(items, index, f"{type(items).__name__} index out of range"))


def one_of(items: Sequence[Any], place: ir.Value) -> tagged_union.Alternative:
    """The one at a place."""
    possible, number = numbered.numbers_at(items, python_number(place, (0, len(items) - 1)))
    return tagged_union.Alternative(number, possible)


def get_method(inner: Callable) -> Callable:
    def get_method(container: Any, name: str, *indices: Any) -> Any:
        if is_tracing() and any(map(_is_of_run, indices)):
            found = _method(container, name, list(map(known_index, indices)))
            if found is not None:
                return found
        return inner(container, name, *indices)
    return get_method


def _is_of_run(index: Any) -> bool:
    return is_tensor(index) or type(index) is tuple


def _method(held: Any, name: str, indices: list[Any]) -> Method | None:
    """The method of the list that the indices lead to; None where no run-time value decides, or unrolled loops would
    know which one it is, or what they lead to are not lists."""
    paths: list[tuple] = [()]
    place: Any = None
    for index in indices:
        at = [_at(held, path) for path in paths]
        if dynamic_keys.fit(at[0], index) and len(at) == 1:
            found = dynamic_keys.find(at[0], index)
            if found is None:
                return None
            current_trace().check(found.there, lambda: KeyError("a run-time key that is not in the dict"))
            paths, place = [(*paths[0], key) for key in found.keys], found.place.value()
        elif is_tensor(index) and not index.is_concrete():
            count = len(at[0]) if type(at[0]) in (list, tuple) else 0
            if not 0 < count * len(at) <= MOST or any(type(x) is not type(at[0]) or len(x) != count for x in at) \
                    or dynamic_index.known_unrolled(index):
                return None
            inner = dynamic_index.place_in(at[0], index, f"{type(at[0]).__name__} index out of range")
            place = inner if place is None else ops.add(ops.multiply(place, count), inner)
            paths = [(*path, k) for path in paths for k in range(count)]
        elif all(type(x) in (list, tuple, dict) for x in at):
            paths = [(*path, index) for path in paths]
        else:
            return None
    owners = [_at(held, path) for path in paths]
    lists = 0 < len(owners) <= MOST and all(map(container_aliasing.is_container, owners))
    return Method(name, held, paths, place) if lists and place is not None else None


def _call(method: Method, arguments: tuple, keywords: dict) -> Any:
    try:
        return method.call(arguments, keywords)
    except Unmet as error:
        if type(error.demand) is not InOneIteration or recording.recording() or current_trace().many_iterations:
            raise
        failure = alone(error)
    found: Any

    def iteration(_: Any) -> None:
        nonlocal found
        found = method.call(arguments, keywords)
    in_one_iteration(failure, iteration, ("found",))
    return ag__.ld(found)


calls.KINDS[Method] = _call


def _changing(owner: tagged_union.Alternative, name: str, arguments: tuple, keywords: dict) -> Any:
    """A method that changes one of several containers, which may be one list in several places."""
    if name not in CHANGING or not all(map(container_aliasing.is_container, owner.ag__objects().values())):
        return NotImplemented
    place = numbered.translated({n: k for k, n in enumerate(owner.ag__possible)}, owner.ag__number).value()
    return calls.call(Method(name, owner.ag__known, [(n,) for n in owner.ag__possible], place), *arguments, **keywords)


tagged_union.CHANGING.append(_changing)


def _picked(items: list, order: Any) -> list | None:
    """Items at run-time positions, where they are lists, dicts or sets that are chosen as themselves."""
    return [one_of(items, order[k].value()) for k in range(order.shape[0])] if are_numbered(items) else None


ordering.PICKED.append(_picked)
