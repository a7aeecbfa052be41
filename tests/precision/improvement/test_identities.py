"""Each identity against numbers of many digits."""
import mpmath
import pytest

from reactant.precision.improvement import truth
from reactant.precision.improvement.expressions import leaves, nodes, number
from reactant.precision.improvement.identities import all_identities, parsed

POINTS = ((0.75, 0.375, 0.125, 0.5), (0.3125, 0.6875, 0.25, 0.8125),
          (0.9375, 0.0625, 0.4375, 0.15625), (2.5, 0.5, 1.5, 0.25))


def test_both_sides_are_one_number():
    wrong, seen = [], set()
    for _, left, right in all_identities():
        for point in POINTS:
            with mpmath.mp.workprec(200):
                values = [truth.at(nodes(side), point)[side] for side in (left, right)]
                if values == [None, None]:
                    continue
                seen.add((left, right))
                if any(v is None for v in values) or abs(values[0] - values[1]) > 1e-50 * (1 + abs(values[0])):
                    wrong.append(f"{left} => {right} at {point}: {values}")
    assert not wrong and seen == {sides for _, *both in all_identities() for sides in [tuple(both)]}


def test_no_identity_has_variables_on_the_right_alone():
    assert all(set(leaves(right)) <= set(leaves(left)) for _, left, right in all_identities())


def test_texts():
    x = parsed("-2 * exp(a) ** 2 - 0.5", "a")
    assert str(x) == "(-2) * exp(x0) ** 2 - (1/2)"
    assert parsed("1 + a", "a") is parsed("1 + a", "a") and number(0.1) is number(0.1)
    with pytest.raises(SyntaxError, match="no expression of real numbers"):
        parsed("a if b else c")
