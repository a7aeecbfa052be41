"""Containers hold after a call what they hold after the function, and what did not change is not touched."""
from __future__ import annotations

from collections import OrderedDict, defaultdict

import numpy as np
import pytest

from reactant.calling import changes


class Thing:
    def __init__(self, **held):
        vars(self).update(held)


class OfList(list):
    pass


A, B, C = object(), object(), object()
CASES = [
    ([A, B], [A, B]), ([A, B], [B, A]), ([A, B], [A, C]), ([A, B], [A]), ([A], [A, B, C]), ([], []), ([], [A]),
    ({"a": A, "b": B}, {"a": A, "b": B}), ({"a": A, "b": B}, {"a": A, "b": C}), ({"a": A, "b": B}, {"b": B, "a": A}),
    ({"a": A, "b": B}, {"b": B}), ({"a": A, "b": B}, {"b": C, "c": A}), ({"a": A, "b": B}, {"b": B, "a": C}),
    ({"a": A}, {}), ({}, {"a": A}), ({"a": A, "b": B}, {"c": C, "a": A, "b": B}),
]
MADE = {"list": OfList, "dict": lambda held: dict(held), "ordered": OrderedDict,
        "default": lambda held: defaultdict(list, held), "object": lambda held: Thing(**held)}


def held_by(x):
    return list(x) if isinstance(x, list) else list(vars(x).items() if isinstance(x, Thing) else x.items())


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(("before", "after"), CASES)
def test_changes_lead_from_one_content_to_the_other(kind, before, after):
    if isinstance(before, list) != (kind == "list"):
        return
    container = MADE[kind](before)
    old = changes.contents(container)
    assert old is not container and old == (before if isinstance(before, list) else dict(before))
    found = changes.change(container, old, after)
    if found is not None:
        changes.make(container, found, found.put)
    wanted = held_by(MADE[kind](after))
    if kind == "object":        # where an attribute stands nobody sees
        assert sorted(held_by(container)) == sorted(wanted)
        return
    assert held_by(container) == wanted
    assert (found is None) == (held_by(MADE[kind](before)) == wanted)


@pytest.mark.parametrize(("before", "after", "put", "gone"), [
    ([A, B, C], [A, C, C], {1: C}, ()), ({"a": A, "b": B, "c": C}, {"a": A, "c": A}, {"c": A}, ("b",)),
    (Thing(a=A, b=B), {"a": A, "b": C, "c": C}, {"b": C, "c": C}, ())])
def test_only_what_changes_is_put(before, after, put, gone):
    found = changes.change(before, changes.contents(before), after)
    assert found.put == put and found.gone == gone and not found.whole


def test_values_are_compared_by_identity():
    one, other = np.ones(3), np.ones(3)
    assert changes.change([one], [one], [one]) is None
    assert changes.change([one], [one], [other]).put[0] is other


def test_map_keeps_where_they_go():
    found = changes.Change({"a": 1}, ("b",), True).map(lambda value: value + 1)
    assert found == changes.Change({"a": 2}, ("b",), True)
