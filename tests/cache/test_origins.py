"""Whose values are."""
import abc
import collections
import math

import numpy as np
import pytest
import scipy.linalg

from reactant.cache import origins
from reactant.calling.traced import Result
from reactant.native.argument import Argument
from reactant.support import records


class Plain:
    __slots__ = ("x",)


class Numbers(list):
    pass


class Shape(abc.ABC):  # noqa: B024 - it has registered classes only
    pass


class Registered:
    pass


Shape.register(Registered)


@pytest.mark.parametrize(("cls", "all_in_attributes"), [
    (Plain, True), (Numbers, True), (Shape, True), (collections.OrderedDict, True), (KeyError, True),
    (type(i for i in ()), False), (np.random.Generator, False), (memoryview, False)])
def test_classes_of_python(cls, all_in_attributes):
    assert origins.is_of_python(cls) is all_in_attributes


@pytest.mark.parametrize(("value", "of_library"), [
    (np.sin, True), (scipy.linalg.solve, True), (math.sin, True), (np.ndarray, True), (3, True), (np.float32(1), True),
    (test_classes_of_python, False), (Plain, False), (Numbers(), False), (np.zeros(2), False), ([1].append, False)])
def test_values_of_libraries(value, of_library):
    assert origins.is_of_library(value) is of_library


def test_what_others_have_put_there(monkeypatch):
    assert origins.registered(Shape) == [Registered] and origins.registered(Plain) == []
    assert origins.patches(np.poly1d) == []
    monkeypatch.setattr(np.poly1d, "mine", test_values_of_libraries, raising=False)
    assert origins.patches(np.poly1d) == [("mine", test_values_of_libraries)]


def test_functions_of_other_parts_of_a_library():
    assert not origins.is_of_another(np.sin, "numpy")
    assert origins.is_of_another(scipy.linalg.norm, "numpy.linalg")


@pytest.mark.parametrize("cls", [Argument, Result])
def test_methods_that_our_records_get_when_they_are_used_are_no_patches(cls):
    records._write(cls)
    records._write_comparisons(cls)
    assert {"__init__", "__eq__", "__hash__"} <= vars(cls).keys() and origins.patches(cls) == []
