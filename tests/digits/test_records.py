import pytest

from reactant.digits.records import Found, Line, Output, lost, right

FINE = Output("result", "float32", (), 24, 24.0, 24.0, (), 1.0, 1.0, 24.0, 24.0)
WRONG = Output("result", "float32", (), 24, 4.0, 4.0, (), 1.0, 1.1, 24.0, 4.0)


@pytest.mark.parametrize(("error", "bits"), [(0.0, 24), (2.0**-30, 24), (2.0**-10, 10), (1.0, 0), (2.0, 0)])
def test_bits(error, bits):
    assert right(error, 24) == bits and lost(error, 24) == 24 - bits


def test_blame():
    cancels = Line("f.py:3", ("subtract",), 24, 20.0, 20.0, 20.0, alone=20.0)
    rounds = Line("f.py:1", ("sqrt",), 24, 0.0, 0.0, 0.0, alone=20.0)
    of_no_effect = Line("f.py:2", ("subtract",), 24, 20.0, 0.0, 20.0, alone=0.0)
    adds_up = Line("f.py:4", ("add",), 24, 0.0, 0.0, 8.0, alone=8.0, runs=1024)
    assert [line.blame for line in (cancels, rounds, of_no_effect, adds_up)] == [20.0, 0.0, 0.0, 8.0]
    lines = [cancels, adds_up, rounds, of_no_effect]
    assert Found("f", "float64", [WRONG], lines).blamed == [cancels, adds_up]
    assert Found("f", "float64", [FINE], lines).blamed == []
