"""Attempts until nothing more is demanded, and what leaves them."""
import numpy as np
import pytest

import reactant
from reactant.frontends.control.demands import Noted, again_if
from reactant.frontends.session.retracing import AsItself, ByNumber, Retrace, Unmet, settle


def test_attempts_end_where_nothing_more_is_demanded():
    known: set[str] = set()

    def attempt():
        for kind in ("a", "b"):
            if kind not in known:
                raise Retrace(ByNumber(kind))
        return sorted(known)

    def meets(found):
        known.add(found.demand.kind)
        return True
    assert settle(attempt, meets) == ["a", "b"]
    assert ByNumber("a") == ByNumber("a") != ByNumber("b") and len({ByNumber("a"), ByNumber("a")}) == 1


@pytest.mark.parametrize("error", [ValueError("of the program"), Retrace(Noted()), Unmet(AsItself(), "No.", code="x")])
def test_what_nobody_meets_is_raised_as_it_is(error):
    def attempt():
        raise error
    with pytest.raises(type(error)) as raised:
        settle(attempt, lambda found: False)
    assert raised.value is error


def test_an_error_says_nothing_of_the_attempts_before():
    attempts = []

    def attempt():
        attempts.append(1)
        again_if(len(attempts) == 1)
        raise ValueError("of the second")
    with pytest.raises(ValueError) as raised:
        settle(attempt, lambda found: isinstance(found, Retrace))
    assert raised.value.__context__ is None and len(attempts) == 2


def handled(x):
    """The handler is around a loop whose body is traced several times: a list becomes rows, a number a float."""
    rows, total = [], 0
    try:
        for v in x:
            if v > 0:
                rows.append(v)
            total += v * 0.5
    except BaseException:
        total = -1.0
    return total, len(rows)


def test_handlers_of_the_program_get_no_demands():
    x = np.linspace(-1.0, 2.0, 50)
    assert reactant.jit(handled)(x) == pytest.approx(handled(x))
