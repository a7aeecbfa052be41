"""Calls as differentiable functions."""
import numpy as np
import pytest

import reactant
from reactant.cuda import replay
from reactant.cuda.rows import RUNS


def test_parts_of_copies():
    runs = np.array([(0, 5, 8, 1), (8, 6, 8, 1), (24, 7, 8, 1)], RUNS)
    assert replay._within(runs, 8, 16)["offset"].tolist() == [0] and replay._within(None, 0, 8) is None
    assert replay._within(runs, 8, 24)["identity"].tolist() == [6, 7]
    assert replay._cut([(0, 8), (32, 8)], 4) == [(0, 4), (4, 4), (32, 4), (36, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), [
    ("by_value", "reads the bytes of numbers as something else"),
    ("bits", r"The host code at more\.cu:\d+ reads the bytes"),
    ("unknown", r"The host code at more\.cu:\d+ gives a number to a function that is not the program's own"),
    ("managed", "cudaMallocManaged"),
    ("counted", r"The launch of 'bump' at more\.cu:\d+ has no derivative: it uses the __device__ variable 'bumps'")])
def test_numbers_that_would_be_lost(more, name, words):
    with pytest.raises(reactant.NotDifferentiable, match=words):
        more.grad(name, "a")(1.0)
