"""Identities of real numbers, as text: what `saturation` may write for what.

`left => right` and, both ways, `left == right`; `a b c d` are any expressions. They hold wherever both sides are
defined; where only one is, the samples tell (`candidates`). Source of the families: Panchekha and others,
"Automatically improving accuracy for floating point expressions", PLDI 2015, section 4.2, and textbooks of analysis;
the tests check each against mpmath.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from reactant.precision.improvement.expressions import NAMES, OPERATIONS, Expression, leaf, made, number

ARITHMETIC = """
a + b => b + a
a * b => b * a
(a + b) + c => a + (b + c)
(a * b) * c => a * (b * c)
a - b == a + -b
-(a - b) => b - a
-(a + b) == -a - b
-a * b == -(a * b)
-a / b == -(a / b)
a / -b => -(a / b)
-1 * a == -a
a + a == 2 * a
a * b + a * c == a * (b + c)
a * b - a * c == a * (b - c)
a * b + a => a * (b + 1)
a * b - a => a * (b - 1)
"""

CANCELLATIONS = """
-(-a) => a
a - a => 0
a + -a => 0
a + 0 => a
a - 0 => a
0 - a => -a
a * 0 => 0
a * 1 => a
a / 1 => a
0 / a => 0
a / a => 1
(a + b) - a => b
a - (a + b) => -b
a - (a - b) => b
(a - b) - a => -b
(a - b) + b => a
(a * b) / a => b
a / (a * b) => 1 / b
(a / b) * b => a
1 / (a / b) => b / a
sqrt(a) * sqrt(a) => a
sqrt(a * a) => abs(a)
abs(a) * abs(a) => a * a
exp(log(a)) => a
log(exp(a)) => a
exp(0) => 1
log1p(expm1(a)) => a
expm1(log1p(a)) => a
power(a, 1) => a
power(a, 0) => 1
sin(a) * sin(a) + cos(a) * cos(a) => 1
"""
"""What makes an expression smaller: done to the end before anything else, so that no zero becomes a divisor unseen."""

FRACTIONS = """
a / c + b / c == (a + b) / c
a / c - b / c == (a - b) / c
a / b + c / d => (a * d + b * c) / (b * d)
a / b - c / d => (a * d - b * c) / (b * d)
a / b - c => (a - b * c) / b
a / b + c => (a + b * c) / b
c - a / b => (b * c - a) / b
(a * b) / c == a * (b / c)
a / b / c == a / (b * c)
a / (b / c) == a * (c / b)
a * (1 / b) == a / b
a / b => 1 / (b / a)
"""

SQUARES = """
a * a - b * b == (a - b) * (a + b)
a * a - 1 == (a - 1) * (a + 1)
"""

ROOTS = """
sqrt(a) * sqrt(b) == sqrt(a * b)
sqrt(a) / sqrt(b) == sqrt(a / b)
rsqrt(a) == 1 / sqrt(a)
sqrt(a * a - b) => abs(a) * sqrt(1 - b / a / a)
sqrt(a * a + b) => abs(a) * sqrt(1 + b / a / a)
sqrt(a) - sqrt(b) => (a - b) / (sqrt(a) + sqrt(b))
sqrt(a) - b => (a - b * b) / (sqrt(a) + b)
b - sqrt(a) => (b * b - a) / (b + sqrt(a))
b + sqrt(a) => (b * b - a) / (b - sqrt(a))
cbrt(a) * (cbrt(a) * cbrt(a)) => a
cbrt(a) * cbrt(b) == cbrt(a * b)
cbrt(a) - cbrt(b) => (a - b) / (cbrt(a) * cbrt(a) + cbrt(b) * (cbrt(a) + cbrt(b)))
"""

EXPONENTIALS = """
exp(a) * exp(b) == exp(a + b)
exp(a) / exp(b) == exp(a - b)
1 / exp(a) == exp(-a)
exp(a) - 1 == expm1(a)
1 - exp(a) == -expm1(a)
exp(a) - exp(b) => exp(b) * expm1(a - b)
exp(2 * a) == exp(a) * exp(a)
exp(a) + exp(-a) == 2 * cosh(a)
exp(a) - exp(-a) == 2 * sinh(a)
cosh(a) - 1 => 2 * (sinh(a / 2) * sinh(a / 2))
sinh(a) / cosh(a) == tanh(a)
tanh(a) == expm1(2 * a) / (expm1(2 * a) + 2)
logistic(a) == 1 / (1 + exp(-a))
1 - logistic(a) => logistic(-a)
expm1(a) / (1 + exp(a)) => tanh(a / 2)
(exp(2 * a) - 1) == expm1(a) * (exp(a) + 1)
"""

LOGARITHMS = """
log(a * b) == log(a) + log(b)
log(a / b) == log(a) - log(b)
log(1 / a) => -log(a)
log(1 + a) == log1p(a)
log(1 - a) == log1p(-a)
log(a) - log(b) => log1p((a - b) / b)
log1p(a) - log1p(b) => log1p((a - b) / (1 + b))
log(sqrt(a)) => log(a) / 2
log(a + sqrt(a * a + 1)) => asinh(a)
log(a + sqrt(a * a - 1)) => acosh(a)
log1p(a) - log1p(-a) == 2 * atanh(a)
"""

POWERS = """
power(a, b) => exp(b * log(a))
power(a, 2) => a * a
power(a, 3) => a * (a * a)
power(a, 4) => (a * a) * (a * a)
power(a, 0.5) => sqrt(a)
power(a, -0.5) => rsqrt(a)
power(a, 1.5) => a * sqrt(a)
power(a, -1) => 1 / a
power(a, b) * power(a, c) => power(a, b + c)
power(power(a, b), c) => power(a, b * c)
log(power(a, b)) => b * log(a)
"""

TRIGONOMETRY = """
sin(-a) == -sin(a)
cos(-a) => cos(a)
tan(-a) == -tan(a)
sin(a) / cos(a) == tan(a)
cos(a) / sin(a) => 1 / tan(a)
1 - cos(a) * cos(a) == sin(a) * sin(a)
cos(a) * cos(a) - sin(a) * sin(a) == cos(2 * a)
sin(2 * a) == 2 * (sin(a) * cos(a))
1 - cos(a) => 2 * (sin(a / 2) * sin(a / 2))
1 - cos(a) => sin(a) * tan(a / 2)
cos(a) - 1 => -2 * (sin(a / 2) * sin(a / 2))
cos(a) + -1 => -2 * (sin(a / 2) * sin(a / 2))
1 + cos(a) => 2 * (cos(a / 2) * cos(a / 2))
(1 - cos(a)) / sin(a) => tan(a / 2)
sin(a) / (1 + cos(a)) => tan(a / 2)
sin(a) - sin(b) => 2 * (sin((a - b) / 2) * cos((a + b) / 2))
cos(a) - cos(b) => -2 * (sin((a - b) / 2) * sin((a + b) / 2))
tan(a) - tan(b) => sin(a - b) / (cos(a) * cos(b))
sin(a + b) == sin(a) * cos(b) + cos(a) * sin(b)
cos(a + b) == cos(a) * cos(b) - sin(a) * sin(b)
atan(a) - atan(b) => atan2(a - b, 1 + a * b)
"""

FAMILIES = {"cancellations": CANCELLATIONS, "arithmetic": ARITHMETIC, "fractions": FRACTIONS,
            "squares": SQUARES, "roots": ROOTS, "exponentials": EXPONENTIALS, "logarithms": LOGARITHMS,
            "powers": POWERS, "trigonometry": TRIGONOMETRY}

_FUNCTIONS = {**{name: name for name in OPERATIONS}, **{short: name for name, short in NAMES.items()},
              "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "atan2": "atan2", "atan": "atan", "asin": "asin",
              "acos": "acos"}
_BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}
VARIABLES = "abcd"


@cache
def all_identities() -> tuple[tuple[str, Expression, Expression], ...]:
    """Family, left and right side of each, those that hold both ways twice."""
    return tuple((family, *sides) for family, text in FAMILIES.items() for line in text.strip().splitlines()
                 for sides in _directions(line))


def _directions(line: str) -> Iterator[tuple[Expression, Expression]]:
    sign = "==" if "==" in line else "=>"
    left, right = (parsed(side) for side in line.split(sign, 1))
    yield left, right
    if sign == "==":
        yield right, left


def parsed(text: str, variables: str | tuple[str, ...] = VARIABLES) -> Expression:
    """The expression that a text of Python says; its variables are the leaves, in order."""
    def of(node: ast.expr) -> Expression:
        match node:
            case ast.Name(id=name):
                return leaf(variables.index(name))
            case ast.Constant(value=int() | float() as value):
                return number(Fraction(value))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return number(-Fraction(value))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return made("negate", of(operand))
            case ast.BinOp(left=left, op=sign, right=right):
                return made(_BINARY[type(sign)], of(left), of(right))
            case ast.Call(func=ast.Name(id=name), args=operands):
                return made(_FUNCTIONS[name], *map(of, operands))
        raise SyntaxError(f"{ast.unparse(node)} is no expression of real numbers")
    return of(ast.parse(text.strip(), mode="eval").body)
