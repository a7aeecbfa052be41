"""Values as bytes and back; bytes that nobody has written are refused."""
import collections
import enum
import random

import ml_dtypes
import numpy as np
import pytest

from reactant.cache import encoding
from reactant.cache.encoding import Damaged, decoded, encoded
from reactant.cache.walk import NotCacheable, Walk
from reactant.calling import recalled  # noqa: F401 - its classes
from reactant.calling.signature import Attribute, Same
from reactant.calling.traced import Known, Result

VALUES = [
    None, True, False, ..., 0, -1, 2**100, 0.5, -0.0, float("inf"), 1 + 2j, complex("nan"), "", "text", "\ud800",
    b"\0a", (),
       (1, (2, [3, {}])), {"a": 1, 2: (3,)}, {1, 2}, frozenset(("a",)), slice(1, None, -1), range(0, 10, 3),
    np.dtype("float32"), np.dtype(">i4"), np.dtype(ml_dtypes.bfloat16), np.dtype("S3"), np.float32(1.5), np.bool_(True),
    np.complex64(1j), ml_dtypes.bfloat16(2.5), np.array(3.0), np.arange(6).reshape(2, 3), np.zeros((0, 3), np.int8),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array([1.5], ml_dtypes.bfloat16), np.array([np.nan, -0.0]),
    np.arange(5, dtype=">i2"), Result(1, "array", (), (1, 2)), Known(5), [Result(0, "python")],
]


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return repr(a) == repr(b)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    assert same(decoded(encoded(value)), value)


def test_paths_come_back_as_what_they_are():
    found = decoded(encoded(Same((0, Attribute("a"), "a"))))
    assert [type(step) for step in found.path] == [int, Attribute, str] and found.path == (0, "a", "a")


def test_what_nobody_has_met_is_refused():
    class C:
        pass
    for value in (C, C(), lambda: 0, collections.OrderedDict(), np.array([None]), enum.Enum("E", "A").A,
                  np.zeros(1, [("a", int)])):
        with pytest.raises(NotCacheable):
            encoded(value)
    deep = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(NotCacheable):
        encoded(deep)


def test_a_users_objects_are_numbers():
    def f():
        return C

    class C:
        pass
    made = Walk()
    made.of(f)
    data = encoded([C, f, C], made)
    assert b"C" not in data and decoded(data, made.objects) == [C, f, C]
    with pytest.raises(Damaged):
        decoded(data, [])


@pytest.mark.parametrize("seed", range(3))
def test_other_bytes_are_refused(seed):
    chance = random.Random(seed)
    data = encoded([value for value in VALUES if not isinstance(value, float)])
    for _ in range(1500):
        changed = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        if chance.random() < 0.3:
            del changed[chance.randrange(len(changed)):]
        try:
            decoded(bytes(changed))     # another value, perhaps
        except Damaged:
            pass
    for letter in range(256):
        try:
            decoded(bytes([letter]) + b"\xff" * 40)
        except Damaged:
            pass
    assert not any("pickle" in name for name in vars(encoding))
