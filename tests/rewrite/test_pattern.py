"""What a rule may say, and the errors for what it may not, raised when the rule is declared."""
import pytest

from reactant.ir import ops
from reactant.rewrite import constant, equations, match, once, one_of, registry, rest, rewrite, splat, variables
from reactant.rewrite.pattern import bindings, text

x, y, p = variables("x y p")


@pytest.fixture(autouse=True)
def scratch():
    with registry.scratch():
        yield


MISTAKES = {
    "no op is called 'tranpose'.": lambda: match.tranpose(x),
    "'transpose' has no attribute 'permutatoin'; it has permutation.": lambda: match.transpose(x, permutatoin=p),
    "a pattern operand is a pattern, a variable or a number, not str": lambda: match.negate("x"),
    "equation 'wrong': the left side must be an op.": lambda: equations(wrong=(x, match.negate(x))),
    "equation 'wrong': the left side does not bind y.": lambda: equations(wrong=(match.negate(x), match.negate(y))),
    "rule 'wrong': changes= is one of ('rounding', 'association'), not 'all'.":
        lambda: equations(changes="all", wrong=(match.negate(x), x)),
    "rule 'wrong': assumes= is 'finite' or nothing, not 'luck'.":
        lambda: equations(assumes="luck", wrong=(match.negate(x), x)),
}


@pytest.mark.parametrize("message", sorted(MISTAKES))
def test_mistakes_in_patterns(message):
    with pytest.raises((TypeError, AttributeError)) as caught:
        MISTAKES[message]()
    assert str(caught.value) == message


def test_unknown_dtypes():
    with pytest.raises(TypeError, match="dtypes= is one of integer, float, .*, not 'floats'"):
        equations(dtypes="floats", wrong=(match.negate(x), x))


def test_a_parameter_must_be_bound():
    with pytest.raises(TypeError, match="rule 'rule' takes 'z', which its pattern does not bind."):
        @rewrite(match.negate(x))
        def rule(x, z):
            """Some equation."""


def test_a_binding_must_be_taken():
    with pytest.raises(TypeError, match="rule 'rule' does not take 'y', which its pattern binds."):
        @rewrite(match.add(x, y))
        def rule(x):
            """Some equation."""


def test_a_repeated_binding_need_not_be_taken():
    @rewrite(match.subtract(x, x))
    def rule():
        """x - x = 0"""
    assert registry.rule("rule").parameters == ()


def test_a_rule_needs_its_equation():
    with pytest.raises(TypeError, match="rule 'rule' has no docstring; give its equation."):
        @rewrite(match.negate(x))
        def rule(x):
            return x


def test_a_general_rule_names_an_op():
    with pytest.raises(TypeError, match="rule 'rule': no op is called 'stablehlo.wile'."):
        @rewrite("stablehlo.wile")
        def rule(site):
            """Nothing."""


def test_two_rules_of_one_name():
    equations(twice=(match.negate(match.negate(x)), x))
    with pytest.raises(TypeError, match="two rules are called 'twice'"):
        equations(twice=(match.abs(match.abs(x)), match.abs(x)))


def test_declaring_registers():
    equations(dtypes="integer", changes="association", some_equation=(match.add(x, 0), x))
    rule = registry.rule("some_equation")
    assert (rule.family, rule.equation, rule.roots) == ("test_pattern", "add(x, 0) = x", ("stablehlo.add",))
    assert (rule.dtypes, rule.changes, rule.assumes) == ("integer", "association", None)
    assert registry.rule("test_pattern.some_equation") is rule
    with pytest.raises(KeyError):
        registry.rule("shape.some_equation")


def test_scratch_forgets():
    with registry.scratch():
        equations(forgotten=(match.negate(match.negate(x)), x))
    with pytest.raises(KeyError):
        registry.rule("forgotten")


TEXTS = {
    "negate(negate(x))": match.negate(match.negate(x)),
    "transpose(x, permutation=p)": match.transpose(x, permutation=p),
    "add(x, 1)": match.add(once(x), 1),
    "concatenate(*xs, dimension=0)": match.concatenate(rest("xs"), dimension=0),
    "t(x, c)": one_of(("stablehlo.add", "stablehlo.subtract"), x, splat("c"), template="t"),
}


@pytest.mark.parametrize("wanted", sorted(TEXTS))
def test_text(wanted):
    assert text(TEXTS[wanted]) == wanted


def test_bindings_in_order_with_repetitions():
    pattern = match.add(match.transpose(x, permutation=p), match.multiply(x, constant("c")))
    assert list(bindings(pattern)) == ["x", "p", "x", "c"]


def test_counts_by_kind_and_family():
    import reactant.simplify  # noqa: F401
    kinds, families = registry.counts(), registry.families()
    assert sum(kinds.values()) == sum(families.values()) == len(registry.rules())
    assert kinds["equations"] > 60 and kinds["functions"] > 80 and kinds["general"] > 5
    assert ops.add is not None
