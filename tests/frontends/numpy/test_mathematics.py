"""Functions of `math` on run-time numbers against Python's: values, types and exceptions."""
import math

import pytest

import reactant

NUMBERS = (0.3, -0.7, 5.0, -1.0, 0.0, -2.5, math.inf, -math.inf, math.nan, 171.3, 180.0)
FLOATS = [math.erf, math.erfc, math.gamma, math.lgamma, math.modf, math.frexp, lambda x: math.ldexp(x, 3),
          lambda x: math.nextafter(x, 1.0), lambda x: complex(x, 2), lambda x: complex(1, x), complex,
          lambda x: math.isclose(x, 5.0 + 1e-12), lambda x: math.isclose(x, -0.8, rel_tol=0.2, abs_tol=0.0),
          lambda x: math.dist([x, 1.0], [2.0, x])]
INTEGERS = [(lambda a, b: math.gcd(a, b), [(12, 18), (-4, 6), (0, 5), (0, 0)]),
            (lambda a, b: math.gcd(a, b, 18), [(12, 36)]),
            (lambda a, b: math.lcm(a, b), [(12, 18), (-4, 6), (0, 5), (0, 0), (2**40, 3 * 2**39)]),
            (lambda a, b: math.isqrt(a) + b, [(n, 0) for n in (0, 1, 2, 3, 4, 15, 16, 17, 10**18, 2**63 - 1, -1,
                                                               3037000499**2, 3037000499**2 - 1)])]


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error).split("\n  --> ")[0]


def agree(compiled, plain):
    if isinstance(plain, tuple):
        return all(agree(a, b) for a, b in zip(compiled, plain, strict=True))
    if type(compiled) is not type(plain):
        return False
    if isinstance(plain, complex):
        return agree((compiled.real, compiled.imag), (plain.real, plain.imag))
    if isinstance(plain, float):
        return math.isclose(compiled, plain, rel_tol=2e-13) or plain != plain and compiled != compiled
    return compiled == plain


@pytest.mark.parametrize("function", FLOATS)
def test_functions_of_floats(function):
    compiled = reactant.jit(function)
    for x in NUMBERS:
        assert agree(outcome(compiled, x), outcome(function, x)), x


@pytest.mark.parametrize("function, pairs", INTEGERS)
def test_functions_of_integers(function, pairs):
    compiled = reactant.jit(function, traced_argnames=("a", "b"))
    for pair in pairs:
        assert agree(outcome(compiled, *pair), outcome(function, *pair)), pair


@pytest.mark.parametrize("function", [lambda x: math.fsum([x, 1.0]), lambda x: math.comb(int(x), 2), math.ulp])
def test_what_is_refused(function):
    with pytest.raises(reactant.UnsupportedError, match="math"):
        reactant.jit(function)(3.0)
