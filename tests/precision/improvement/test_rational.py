"""Quotients of polynomials, multiplied out."""
from fractions import Fraction

import pytest

from reactant.precision.improvement import rational, truth
from reactant.precision.improvement.extra import mpmath
from reactant.precision.improvement.identities import parsed

CASES = {"(1 + x) * (1 + x) + 2 / (1 + x) - 3": ["(1 + 2 / (1 + x)) * (x * x)", "(3 + x) / (1 + x) * (x * x)"],
         "(1 - x / (x + y)) * x": ["x / (x + y) * y"], "1 / (x + 1) - 2 / x + 1 / (x - 1)": ["2 / (-1 + x * x) / x"],
         "sin(x) * (1 + y) - sin(x)": ["sin(x) * y"]}


@pytest.mark.parametrize("text", CASES)
def test_what_cancels_is_gone(text):
    found = set(rational.forms(parsed(text, "xy")))
    assert {parsed(each, "xy") for each in CASES[text]} <= found
    mp, root = mpmath().mp, parsed(text, "xy")
    with mp.workprec(200):
        given = [mp.mpf(3) / 7, mp.mpf(-5) / 11]
        real = truth.of_numbers(rational.nodes(root), given)
        for each in found:
            assert abs(truth.of_numbers(rational.nodes(each), given) - real) < mp.mpf(2)**-190


def test_none_of_what_is_one_already():
    assert not list(rational.forms(parsed("x / y", "xy"))) and not list(rational.forms(parsed("exp(x)", "x")))


def test_too_many_terms_are_left():
    assert not list(rational.forms(parsed("x * x * x * x * (x * x * x + 1) + y", "xy")))


def test_whole_part_and_rest():
    numbers = [list(map(Fraction, each)) for each in ([1, 0, 0, 1], [1, 1])]
    assert rational._divided(*numbers) == ([1, -1, 1], [0])
