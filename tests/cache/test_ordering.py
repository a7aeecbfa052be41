"""Which code may see the order of a set of texts."""
import pytest

from reactant.cache import ordering
from reactant.cache.code_objects import with_inner


def code_of(text):
    """The code of a function with this body, without its last line."""
    return compile(f"def f(x, s, d, e):\n    {text}\n", "nowhere", "exec").co_consts[0]


SEES = ("return list({'a', 'b'})", "for each in {'a', 'b'}: x = each", "return {x, s}", "return [*{'a', x}]",
        "return {each for each in x}", "return d.keys() & e.keys()", "return [*(x | d.keys())]",
        "k = d.items(); k ^= e")
NOT = ("return x in {'a', 'b'}", "return x not in {'a', 'b'}", "return x in {s, d}", "return list({1, 2})",
       "return {'a'}", "return x - [y for y in d.keys()]", "return x & len(list(d.items()))", "return 'a' in d.keys()",
       "return {1: x, 'a': s}", "return x | sum(v for k, v in d.items())")


@pytest.mark.parametrize("text", SEES)
def test_what_may_see_the_order(text):
    assert any(ordering.sees(each) for each in with_inner(code_of(text)))


@pytest.mark.parametrize("text", NOT)
def test_what_does_not(text):
    assert not any(ordering.sees(each) for each in with_inner(code_of(text)))


@pytest.mark.parametrize("text, only", [
    ("return x in S", {"S"}), ("return x in S and S", set()), ("return [y in S for y in x]", {"S"}),
    ("return [y in S for y in S]", set()), ("return x not in S or x in T", {"S", "T"}), ("return x in S.a", set()),
    ("return T.S, x in S", set())])
def test_names_that_are_only_asked(text, only):
    assert ordering.only_asked(code_of(text)) & {"S", "T"} == only


def test_sets_of_numbers_have_one_order():
    assert ordering.is_fixed({1, 2.5, 2j, (1, (2, 3))})
    assert not any(map(ordering.is_fixed, ({"a"}, {b"a"}, {None}, {(1, "a")})))


def test_instructions_of_an_unknown_python_tell_nothing(monkeypatch):
    monkeypatch.setattr(ordering, "KNOWN", False)
    assert all(any(ordering.sees(each) for each in with_inner(code_of(text))) for text in SEES)
    assert ordering.only_asked(code_of("return x in S")) == set()
    assert not ordering.sees(code_of("return x + 1"))
