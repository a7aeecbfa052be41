import math

import numpy as np
import pytest

from reactant.demos.measure import geometric_mean, interleaved, largest_difference


def test_functions_take_iterations_on_fresh_copies():
    seen = []

    def recorder(name):
        def record(values):
            seen.append((name, values.tolist()))
            values += 1
        return record

    rounds = []
    arguments = (np.zeros(2),)
    seconds = interleaved({"a": recorder("a"), "b": recorder("b")}, arguments, 3, lambda: rounds.append(len(seen)))
    assert [name for name, _ in seen] == ["a", "b"] * 3
    assert all(values == [0, 0] for _, values in seen)
    assert arguments[0].tolist() == [0, 0]
    assert rounds == [2, 4, 6]
    assert set(seconds) == {"a", "b"} and all(value >= 0 for value in seconds.values())


def test_geometric_mean():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert math.isnan(geometric_mean([]))


@pytest.mark.parametrize(("one", "other", "expected"), [
    (np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.5),
    ((1.0, [np.array([True, False])]), (1.0, [np.array([True, True])]), 1.0),
    (np.array([np.inf, np.nan]), np.array([np.inf, np.nan]), 0.0),
    (np.array([np.inf]), np.array([1.0]), np.inf),
    ({"a": 3, "b": None}, {"a": 1, "b": None}, 2.0),
    (np.array([255], np.uint8), np.array([0], np.uint8), 255.0),
    (np.zeros((0, 3)), np.zeros((0, 3)), 0.0),
    (1 + 1j, 1 - 1j, 2.0),
])
def test_largest_difference(one, other, expected):
    assert largest_difference(one, other) == expected


@pytest.mark.parametrize(("one", "other", "message"), [
    (np.zeros(2), np.zeros(3), "shapes"),
    ((1, 2), (1,), "lengths"),
    ({"a": 1}, {"b": 1}, "keys"),
])
def test_different_structures_are_refused(one, other, message):
    with pytest.raises(ValueError, match=message):
        largest_difference(one, other)
