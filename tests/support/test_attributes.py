"""What objects hold, private slots included: also where they are arguments."""
import abc

import numpy as np

import reactant
from reactant.support.attributes import attributes, is_of_python, slots


class Base:
    __slots__ = ("__hidden", "shown")

    def __init__(self, x):
        self.__hidden, self.shown = x, x * 2

    def step(self):
        self.__hidden[0] += 1
        self.shown = self.shown + self.__hidden
        return self.__hidden.sum()


class _Derived(Base):
    __slots__ = ("__hidden", "__dict__", "unset")

    def __init__(self, x):
        super().__init__(x)
        self.__hidden = "its own"
        self.more = 3


def test_attributes():
    made = _Derived(np.ones(2))
    assert slots(made) == ["_Derived__hidden", "unset", "_Base__hidden", "shown"]
    assert list(attributes(made)) == ["more", "_Derived__hidden", "_Base__hidden", "shown"]
    assert attributes(made)["_Derived__hidden"] == "its own" and attributes(object()) == {}


def test_private_slots_of_arguments():
    """They were not seen: AttributeError."""
    for made in (Base, _Derived):
        ours, plain = made(np.ones(3)), made(np.ones(3))
        np.testing.assert_array_equal(reactant.jit(made.step)(ours), plain.step())
        for name, value in attributes(plain).items():
            np.testing.assert_array_equal(attributes(ours)[name], value)


class _Closing:
    def __init__(self, x):
        self.x = x

    def __del__(self):
        assert self.x is not None
        _finalized.append(type(self))


class _Sequence(abc.ABC):
    @abc.abstractmethod
    def first(self): ...


class _Listed(_Sequence, _Closing):
    def first(self):
        return 0


class _ListOf(list):
    def __del__(self):
        _finalized.append(type(self))


_finalized = []


def test_what_classes_are_is_asked_without_their_finalizers():
    _finalized.clear()
    assert is_of_python(_Closing) and is_of_python(_Listed) and not is_of_python(_ListOf)
    assert is_of_python(object) and not is_of_python(dict) and not is_of_python(type(i for i in ()))
    assert not _finalized
