"""The self-test notices wrong, dead and endless rules."""
import pytest

from reactant.ir import ops
from reactant.rewrite import NotConverged, equations, match, registry, rewrite, selftest, variables

x, y = variables("x y")


@pytest.fixture(autouse=True)
def scratch():
    with registry.scratch():
        yield


def check(name):
    return selftest.check(registry.rule(name))


def test_a_right_rule_passes():
    equations(right=(match.negate(match.negate(x)), x))
    assert check("right") >= 2


WRONG = {
    "unsigned": (match.subtract(x, y), match.add(x, y)),
    "zero_times": (match.multiply(x, 0.0), 0.0),
    "difference_with_itself": (match.subtract(x, x), 0.0),
    "add_plus_zero": (match.add(x, 0.0), x),
    "square_root_of_square": (match.sqrt(match.multiply(x, x)), x),
    "divide_by_itself": (match.divide(x, x), 1.0),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_rules_are_caught(name):
    equations(dtypes="float", **{name: WRONG[name]})
    with pytest.raises(selftest.RuleFailure, match="changed the result"):
        check(name)


def test_finite_rules_are_tested_on_finite_values():
    equations(dtypes="float", assumes="finite", zero_times=(match.multiply(x, 0.0), 0.0))
    assert check("zero_times")


def test_a_rule_that_never_fires_is_caught():
    @rewrite(match.negate(x))
    def shy(x):
        """Never."""
        return None

    with pytest.raises(selftest.RuleFailure, match="test_selftest.shy did not fire on"):
        check("shy")


def test_a_rule_that_fires_on_its_counter_example_is_caught():
    @rewrite(match.negate(match.negate(x)), counter=lambda a: ops.negate(ops.negate(a(3))))
    def eager(x):
        """-(-x) = x"""
        return x

    with pytest.raises(selftest.RuleFailure, match="eager fired on its counter-example"):
        check("eager")


def test_an_endless_rule_is_caught():
    equations(endless=(match.add(x, y), match.add(y, x)))
    with pytest.raises(NotConverged, match="endless"):
        check("endless")


def test_rounding_rules_may_round_but_not_more():
    equations(dtypes="float", changes="rounding", halves=(match.add(x, x), match.multiply(x, 2.0)),
              off=(match.subtract(x, y), match.add(match.multiply(x, 1.001), match.negate(y))))
    assert check("halves")
    with pytest.raises(selftest.RuleFailure):
        check("off")


def test_a_general_rule_needs_an_example():
    @rewrite("stablehlo.while")
    def general(site):
        """Nothing."""

    with pytest.raises(selftest.RuleFailure, match="a general rule needs example="):
        check("general")
