"""`reactant.support.records.dataclass`: what the standard one makes, written when it is first needed."""
import copy
import dataclasses
import threading

import pytest

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2
    tags: list = dataclasses.field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Named(Point):
    name: str = ""

    def __post_init__(self):
        object.__setattr__(self, "name", self.name or "unnamed")


@dataclass
class Counted:
    count: int = dataclasses.field(default=3)


class Told(Counted):
    def __init__(self, count):
        super().__init__(count + 1)


@dataclass(frozen=True, slots=True)
class Slim:
    a: int


def test_methods_are_the_standard_ones():
    assert "__repr__" not in vars(Point) and "__dataclass_fields__" not in vars(Named)
    named = Named(1, name="n")     # writes those of Point, too
    assert repr(named) == "Named(x=1, y=2, tags=[], name='n')" and Named(1).name == "unnamed"
    point = Point(1)
    assert point == Point(1, 2, [5]) != named and hash(point) == hash(Point(1))
    assert point.tags is not Point(1).tags
    assert dataclasses.replace(named, x=4) == Named(4, name="n") and copy.copy(named) == named
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "tags": []}
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 3
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_classes_with_an_init_of_their_own():
    assert Told(1).count == 2 and Counted().count == 3 and Counted.count == 3
    assert Slim(1) == Slim(1) and not hasattr(Slim(1), "__dict__")


def test_many_threads_make_the_first_object():
    for _ in range(20):
        @dataclass
        class Late:
            a: int
            b: int = 1

        made, gate = [], threading.Barrier(8)

        def make(kind=Late, made=made, gate=gate):
            gate.wait()
            made.append(kind(3))
        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Late(3, 1)] * 8


@dataclass(frozen=True)
class Awkward:
    put: dict
    missing: list = dataclasses.field(default_factory=list)
    cls: int = 3


def test_fields_may_have_any_names():
    assert Awkward({}) == Awkward({}, [], 3) and Awkward({}).missing is not Awkward({}).missing
    with pytest.raises(TypeError):
        Awkward()


def test_methods_that_are_written_are_of_the_classs_module():
    """The compile cache takes others for somebody else's patches: whether an object had been compared decided whether
    programs were kept."""
    assert Point(1) == Point(1) and hash(Point(1)) == hash(Point(1))
    for name in ("__init__", "__eq__", "__hash__"):
        assert vars(Point)[name].__globals__["__name__"] == Point.__module__, name
