"""`particles[k]`: one of several objects of a class, at a place known only at run time.

What stands for it is an object of the class whose attributes are those at the place. Attributes set through it are
written into the objects, and what stands for one of them gets those that any name has set. So it is that object, as
long as the region lives in which it was taken; what control flow makes of it and others is watched by `identity`.
"""
from __future__ import annotations

import contextlib
import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError, ReactantError
from reactant.frontends.arrays.creation import as_tensor
from reactant.frontends.arrays.tensor import Tensor, python_number
from reactant.frontends.control import container_aliasing, mutation_log
from reactant.frontends.control.branches import staged_if
from reactant.frontends.control.container_aliasing import view_of
from reactant.frontends.control.snapshots import Mismatch, is_record
from reactant.frontends.numpy import ordering
from reactant.frontends.session import calls
from reactant.frontends.session.trace import Region, Trace, current_trace
from reactant.frontends.source.conversion import is_user_file
from reactant.frontends.source.operators import Unusable, ag__
from reactant.frontends.values import array_lists, dynamic_index
from reactant.frontends.values.optional import changing
from reactant.ir import ops
from reactant.support.attributes import attributes
from reactant.support.records import dataclass

MOST = 1024
"""Of more objects none is chosen."""


@dataclass(eq=False)
class View:
    """`made` stands for the one of `items` at `place`."""

    made: Any
    items: tuple[Any, ...]
    place: Tensor
    region: Region
    number: int


def are_alike(items: Sequence[Any]) -> bool:
    """Whether these are objects of one class, all of whose methods are converted, with the same attributes."""
    if not 1 < len(items) <= MOST or not is_record(items[0]) or not _is_followed(type(items[0])):
        return False
    kind, names = type(items[0]), attributes(items[0]).keys()
    return all(type(x) is kind and attributes(x).keys() == names for x in items)


def _is_followed(kind: type) -> bool:
    """Whether all that sets attributes of such objects is seen."""
    if kind is types.SimpleNamespace:
        return True
    frozen = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen    # type: ignore[attr-defined]
    plain = kind.__getattribute__ is object.__getattribute__ and (kind.__setattr__ is object.__setattr__ or frozen)
    return plain and all(_is_users(base) for base in kind.__mro__[:-1])


def _is_users(kind: type) -> bool:
    if kind.__module__ in ("abc", "typing"):
        return True
    module = sys.modules.get(kind.__module__)
    by_hand = module is None        # a module that users have made
    return by_hand or is_user_file(getattr(module, "__file__", None) or "<frozen>")


def fit(items: list | tuple, index: Tensor) -> bool:
    """Whether these are such objects, and no unrolled loop would know which one it is."""
    return are_alike(items) and not dynamic_index.known_unrolled(index)


def get(items: list | tuple, index: Tensor) -> Any:
    """`items[index]`."""
    place = dynamic_index.place_in(items, index, f"{type(items).__name__} index out of range")
    return stand_in(items, python_number(place, (0, len(items) - 1)))


def stand_in(items: Sequence[Any], place: Tensor) -> Any:
    """What stands for the object at a place."""
    items, place = _directly(items, place)
    if len(items) == 1:
        return items[0]
    kind, trace = type(items[0]), current_trace()
    made = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    view = View(made, items, place, trace.region, container_aliasing.next_number(trace))
    trace.views[id(made)] = view
    container_aliasing.may_be(made, items, view)
    if trace.unfilled is None:
        _fill(view)
    else:
        trace.unfilled.append(partial(_fill, view))
    return made


def _fill(view: View) -> None:
    for name in attributes(view.items[0]):
        object.__setattr__(view.made, name, _attribute(view, name))


def _directly(items: Sequence[Any], place: Tensor) -> tuple[tuple[Any, ...], Tensor]:
    """The objects themselves, each once, and the place among them: also where `items` stand for some of others."""
    views = [view_of(x) for x in items]
    different = {id(x): x for view, item in zip(views, items, strict=True) for x in (view.items if view else (item,))}
    if len(different) == len(items) and not any(views):
        return tuple(items), place
    order = {key: k for k, key in enumerate(different)}

    def place_of(item: Any, view: View | None) -> Any:
        if view is None:
            return order[id(item)]
        table = [order[id(x)] for x in view.items]
        return view.place if table == list(range(len(table))) else as_tensor(np.array(table))[view.place]
    places = [as_tensor(place_of(*pair)) for pair in zip(items, views, strict=True)]
    found = np.stack(places)[place]
    return tuple(different.values()), python_number(ops.convert(found.value(), np.int64), (0, len(order) - 1))


def _attribute(view: View, name: str) -> Any:
    """An attribute of the object at the place; reading it raises where that cannot be chosen."""
    values = [attributes(x).get(name, Unusable) for x in view.items]
    first = values[0]
    if all(x is first or type(x) is type(first) in (int, bool, str) and x == first for x in values):
        return first
    try:
        return ag__.get_item(values, view.place)
    except ReactantError as error:
        found = error.with_traceback(None)
        return Unusable(lambda: found)


# ---- setting attributes ----------------------------------------------------------------------------------------

def set_attr(inner: Callable) -> Callable:
    """The operator, where what is set may be an attribute of one of several objects, or be seen by what stands for
    one."""
    def set_attr(value: Any, owner: Any, attribute: str) -> None:
        trace = Trace.current()
        if calls.is_undecided(owner):
            return changing(owner, lambda held: ag__.set_attr(value, held, attribute),
                            lambda maybe: maybe.ag__attributes(attribute, setattr, None))
        if trace is None or not trace.views:
            return inner(value, owner, attribute)
        setter = inspect.getattr_static(type(owner), attribute, None)
        if hasattr(type(setter), "__set__") and type(setter) is not types.MemberDescriptorType \
                and _is_one_of_several(owner, trace):
            if type(setter) is property and calls.convertible(setter.fset):
                return inner(value, owner, attribute)
            raise ControlFlowError(f"'{attribute}' of one of several objects is set by a {type(setter).__name__} "
                                   "that compiled code does not follow, and it is only known at run time which object "
                                   "it is.",
                                   hint="Set a plain attribute.", code="one-of-several-objects")
        view = view_of(owner)
        before = attributes(owner).get(attribute, Unusable) if view is not None else Unusable
        inner(value, owner, attribute)
        if view is None:
            _show((owner,), attribute)
        elif value is not before:       # an array that was written in place is the object's own
            _write(view, attribute, value)
            _show(view.items, attribute)
        return None
    return set_attr


def del_attr(inner: Callable) -> Callable:
    """The operator, which leaves nothing that some of the objects would have and others not."""
    def del_attr(owner: Any, attribute: str) -> None:
        trace = Trace.current()
        if getattr(type(owner), "ag__one_of_several", False):
            return owner.ag__each(lambda x: ag__.del_attr(x, attribute))
        if trace is not None and _is_one_of_several(owner, trace):
            raise ControlFlowError(f"del of an attribute ('{attribute}') of one of several objects, of which only "
                                   f"run-time values tell which one it is.",
                                   hint="Set it to a value that says it is not there.", code="one-of-several-objects")
        inner(owner, attribute)
    return del_attr


def _is_one_of_several(owner: Any, trace: Trace) -> bool:
    return any(owner is x for view in trace.views.values() for x in (view.made, *view.items))


def _write(view: View, name: str, value: Any) -> None:
    items, place = view.items, view.place
    if any(view_of(x) or container_aliasing.is_linked(x) or name not in attributes(x) for x in items):
        for k, item in enumerate(items):
            staged_if(ops.compare(place.value(), k, "EQ"), partial(ag__.set_attr, value, item, name), None)
        return
    before = [attributes(x)[name] for x in items]
    for item, old, new in zip(items, before, _replaced(before, place, value), strict=True):
        if new is not old:
            mutation_log.touch(item)
            object.__setattr__(item, name, new)


def _replaced(values: list, place: Tensor, value: Any) -> list:
    """The values, with another one at the place."""
    with contextlib.suppress(Mismatch):
        return array_lists.replaced(values, place, value)[0]
    return [staged_if(ops.compare(place.value(), k, "EQ"), lambda: value, lambda old=old: old)
            for k, old in enumerate(values)]


def _show(changed: Sequence[Any], name: str) -> None:
    """Let what stands for one of these objects have the attribute that they have now."""
    trace, known = current_trace(), set(map(id, changed))
    for view in list(trace.views.values()):     # what one is chosen from has been made before it
        if view.region.encloses(trace.region) and not known.isdisjoint(map(id, view.items)):
            known.add(id(view.made))
            mutation_log.touch(view.made)
            object.__setattr__(view.made, name, _attribute(view, name))


def _picked(items: list, order: Any) -> list | None:
    """Items at run-time positions, where they are objects of one class."""
    return [stand_in(items, python_number(order[k].value(), (0, len(items) - 1))) for k in range(order.shape[0])] \
        if not isinstance(items[0], (tuple, list)) and are_alike(items) else None


ordering.PICKED.append(_picked)

__all__ = ["are_alike", "del_attr", "fit", "get", "set_attr", "stand_in"]
