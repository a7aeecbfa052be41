"""Who refers to a list or an array, walked from what the code that follows can reach: what somebody else knows is
refused, or seen to change, wherever it is known from."""
import contextlib
import contextvars
import functools
import sys
import threading
import weakref
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import reactant
from reactant.frontends.session.heap import Heap, Root

STORE = []
BY_NAME = {}
CONTEXT = contextvars.ContextVar("rows")
LOCAL = threading.local()


class Holder:
    shared = None

    def __init__(self):
        self.items = []

    def step(self, x):
        for v in x:
            if v > 0:
                self.items.append(v * 2)
        return len(self.items)

    def grown(self, x):
        self.step(x)
        return self.items


class Shelf(list):
    """A list with attributes."""


class Slotted:
    __slots__ = ("items",)


def grow(rows, x):
    for v in x:
        if v > 0:
            rows.append(v * 2)
    return len(rows)


def total(rows):
    return sum(rows) if rows else 0.0


# ---- what nobody else knows: stays accepted ---------------------------------------------------------------------

def a_variable(x):
    rows = []
    for v in x:
        if v > 0:
            rows.append(v * 2)
    return total(rows)


def an_attribute(x):
    held = Holder()
    return held.step(x), total(held.items)


def a_closure(x):
    rows = []

    def add(v):
        rows.append(v)
    for v in x:
        if v > 0:
            add(v)
    return total(rows)


def made_after_what_an_expression_holds(x):
    return np.sin(x) + a_variable(x)


def by_functions_that_share_it(x):
    rows = []

    def add(v):
        rows.append(v)

    def size():
        return len(rows)
    for v in x:
        if v > 0:
            add(v)
    return size()


def whose_other_name_is_gone(x):
    rows = other = []
    del other
    for v in x:
        if v > 0:
            rows.append(v)
    return total(rows)


def of_a_call_that_is_over(x):
    def make():
        made = []
        kept = made
        return kept
    rows = make()
    for v in x:
        if v > 0:
            rows.append(v)
    return total(rows)


OWN = [a_variable, an_attribute, a_closure, made_after_what_an_expression_holds, by_functions_that_share_it,
       whose_other_name_is_gone, of_a_call_that_is_over]


# ---- what somebody else knows: right, or refused ----------------------------------------------------------------

def before_it_in_an_expression(x):
    held = Holder()
    first, count = held.items, held.step(x)
    return total(first), count


def in_a_tuple(x):
    held = Holder()
    pair = (held.items, held.step(x))
    return total(pair[0]), pair[1]


def an_argument_of_a_call(x):
    held = Holder()

    def use(rows, count):
        return total(rows) + count
    return use(held.items, held.step(x))


def a_key_and_a_value(x):
    held = Holder()
    return total({"rows": held.items, "count": held.step(x)}["rows"])


def a_variable_of_another_function_before_it(x):
    rows = []

    def step():
        nonlocal rows
        for v in x:
            if v > 0:
                rows.append(v)
        return len(rows)

    def use(found, count):
        return total(found) + count
    return use(rows, step())


def an_operand(x):
    class Sum:
        def __init__(self, rows):
            self.rows = rows

        def __add__(self, count):
            return total(self.rows) + count
    held = Holder()
    return Sum(held.items) + held.step(x)


def a_method(x):
    held = Holder()
    return held.items.__len__() + held.step(x), held.items.__len__()


def the_first_of_or(x):
    held = Holder()
    held.items.append(x[0])
    rows = held.items and held.grown(x)
    return total(rows), total(held.items)


def elements_of_a_comprehension(x):
    held = Holder()
    found = [held.grown(x) for _ in range(2)]
    return total(found[0]), total(found[1])


def elements_of_a_generator(x):
    held = Holder()
    found = list(held.grown(x) for _ in range(2))       # noqa: C400
    return total(found[0]), total(found[1])


def given_by_a_generator(x):
    def rows_of():
        rows = []
        for _ in range(2):
            for v in x:
                if v > 0:
                    rows.append(v)
            yield rows
    first, second = list(rows_of())
    return total(first), total(second)


def held_by_a_context(x):
    held = Holder()

    class Counting:
        def __init__(self, rows):
            self.rows = rows

        def __enter__(self):
            return self

        def __exit__(self, *raised):
            BY_NAME["count"] = total(self.rows)
    with Counting(held.items):
        held.step(x)
    return BY_NAME.pop("count")


def held_by_a_generator_context(x):
    held = Holder()

    @contextlib.contextmanager
    def counting(rows):
        yield
        BY_NAME["count"] = total(rows)
    with counting(held.items):
        held.step(x)
    return BY_NAME.pop("count")


def used_by_c_code(x):
    held = Holder()
    found = functools.reduce(lambda rows, _: (held.step(x), rows)[1], [0, 1], held.items)
    return total(found), total(held.items)


def sorted_meanwhile(x):
    held = Holder()
    found = sorted([held.items, held.items], key=lambda rows: held.step(x) * 0)
    return total(found[0]), total(held.items)


def in_a_global_list(x):
    held = Holder()
    STORE.append(held.items)
    held.step(x)
    return total(STORE.pop())


def in_a_global_list_of_a_function_that_is_over(x):
    held = Holder()
    _remember(held.items)
    held.step(x)
    return total(_remembered())


def _remember(rows):
    BY_NAME["rows"] = rows


def _remembered():
    return globals()["BY_NAME"].pop("rows")


def in_a_module_that_is_looked_up(x):
    held = Holder()
    sys.modules[__name__].STORE.append(held.items)
    held.step(x)
    return total(STORE.pop())


def in_a_class(x):
    held = Holder()
    Holder.shared = held.items
    held.step(x)
    rows, Holder.shared = Holder.shared, None
    return total(rows)


def in_a_slot(x):
    held, other = Holder(), Slotted()
    other.items = held.items
    held.step(x)
    return total(other.items)


def in_a_default(x):
    held = Holder()

    def use(rows=held.items):
        return total(rows)
    held.step(x)
    return use()


def at_a_function(x):
    held = Holder()

    def use():
        return total(use.rows)
    use.rows = held.items
    held.step(x)
    return use()


def in_a_partial(x):
    held = Holder()
    use = functools.partial(total, held.items)
    held.step(x)
    return use()


def in_an_iterator(x):
    held = Holder()
    later = iter([held.items])
    held.step(x)
    return total(next(later))


def in_a_generator_that_waits(x):
    held = Holder()

    def later(rows):
        yield 0
        yield total(rows)
    found = later(held.items)
    next(found)
    held.step(x)
    return next(found)


def in_a_deque(x):
    held = Holder()
    later = deque([held.items])
    held.step(x)
    return total(later[0])


def in_a_namespace(x):
    held = Holder()
    other = SimpleNamespace(rows=held.items)
    held.step(x)
    return total(other.rows)


def behind_a_weak_reference(x):
    held = Holder()
    other = weakref.ref(held)
    other().step(x)
    return total(held.items)


def in_a_context_variable(x):
    held = Holder()
    CONTEXT.set(held.items)
    held.step(x)
    return total(CONTEXT.get())


def in_a_variable_of_the_thread(x):
    held = Holder()
    LOCAL.rows = held.items
    held.step(x)
    return total(LOCAL.rows)


def by_an_exception_on_its_way(x):
    held = Holder()
    try:
        try:
            raise ValueError(held.items)
        finally:
            held.step(x)
    except ValueError as error:
        return total(error.args[0])


def in_a_list_of_a_class_of_the_program(x):
    held, shelf = Holder(), Shelf()
    shelf.append(held.items)
    held.step(x)
    return total(shelf[0])


def with_its_attributes_as_a_dict(x):
    held = Holder()
    other = held.__dict__
    held.step(x)
    return total(other["items"])


def a_variable_that_a_caller_has(x):
    rows = []
    return grow(rows, x), total(rows)


def in_two_closures(x):
    held = Holder()

    def make(rows):
        return lambda: total(rows)
    use, other = make(held.items), make(held.items)
    held.step(x)
    return use() + other()


KNOWN = [f for name, f in list(globals().items()) if f not in OWN and callable(f) and getattr(f, "__code__", None)
         and f.__code__.co_varnames[:f.__code__.co_argcount] == ("x",) and not name.startswith("_")]


@pytest.mark.parametrize("function", OWN, ids=lambda f: f.__name__)
def test_what_nobody_else_knows(function):
    x = np.array([1.0, -2.0, 3.0, 4.0])
    np.testing.assert_allclose(reactant.jit(function)(x), function(x))


@pytest.mark.parametrize("function", KNOWN, ids=lambda f: f.__name__)
def test_what_somebody_else_knows_is_right_or_refused(function):
    x = np.array([1.0, -2.0, 3.0, 4.0])
    try:
        found = reactant.jit(function)(x)
    except reactant.ReactantError:
        return
    finally:
        STORE.clear()
        BY_NAME.clear()
        Holder.shared = None
    np.testing.assert_allclose(found, function(x))


# ---- the walk itself ---------------------------------------------------------------------------------------------

class Named(Holder):
    __slots__ = ("name",)


TARGET = []


def _attribute(make):
    thing = make()
    thing.rows = TARGET
    return thing


LED_TO_BY = [
    [TARGET], (TARGET,), {"rows": TARGET}, {(1, 2): [TARGET]}, deque([TARGET]), _attribute(SimpleNamespace),
    _attribute(Shelf), Shelf([TARGET]), _attribute(Named), functools.partial(total, TARGET),
    functools.partial(total, rows=TARGET), iter([TARGET]), zip([TARGET], [1], strict=True), TARGET.append,
    (lambda rows: lambda: rows)(TARGET), lambda rows=TARGET: rows, property(lambda self, rows=TARGET: rows),
    _attribute(lambda: type("Local", (), {})), _attribute(lambda: (lambda: 1)),
    staticmethod(functools.partial(total, TARGET)), np.array([TARGET, None], object), ValueError(TARGET),
    _attribute(lambda: ValueError("no")), _attribute(threading.local), frozenset([functools.partial(total, TARGET)]),
    Holder.step.__get__(_attribute(Holder)), map(total, [TARGET]), enumerate([TARGET])]


@pytest.mark.parametrize("thing", LED_TO_BY, ids=lambda x: type(x).__name__)
def test_what_an_object_leads_to(thing):
    heap = Heap()
    heap.note(Root("variable"), thing)
    heap.walk()
    assert heap.reaches(TARGET) and len(heap.holders(TARGET)) == 1


def test_each_reference_counts_and_each_object_is_looked_into_once():
    cycle = [TARGET, TARGET]
    cycle.append(cycle)
    heap = Heap()
    for _ in range(3):
        heap.note(Root("variable"), cycle)
    heap.note(Root("record"), TARGET)
    heap.walk()
    assert len(heap.holders(cycle)) == 4 and len(heap.holders(TARGET)) == 3 and not heap.knows_one(TARGET, "record")
    assert heap.holders(TARGET, "record") == [cycle, cycle]


def test_modules_and_types_of_libraries_are_not_looked_into():
    heap = Heap()
    for x in (np, sys, np.ndarray, "text", 1.5, np.sin, np.zeros(3), reactant.jit(total)):
        heap.note(Root("variable"), x)
    heap.walk()
    assert len(heap.objects) < 30
