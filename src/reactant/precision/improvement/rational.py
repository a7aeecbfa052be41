"""Quotients of polynomials: sums, products and quotients of expressions, multiplied out with exact coefficients.

What cancels does so in the coefficients, before anything is rounded. Source: D. E. Knuth, "The Art of Computer
Programming", volume 2, section 4.6.1.
"""
from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from reactant.precision.improvement.expressions import Expression, made, nodes, number
from reactant.precision.improvement.series import horner, times_power

MOST_TERMS, MOST_POWER = 12, 6
ARITHMETIC = ("add", "subtract", "multiply", "divide", "negate")
Monomial: TypeAlias = tuple[int, ...]
"""The power of each atom."""
Polynomial: TypeAlias = dict[Monomial, Fraction]


class TooLarge(ArithmeticError):
    """More terms, or higher powers, than are of use."""


def forms(root: Expression) -> Iterator[Expression]:
    """An expression as a quotient of polynomials, and with a whole part and the rest, where it is made of several."""
    if root.name not in ("add", "subtract", "multiply", "divide"):
        return
    atoms = _atoms(root)
    try:
        top, bottom = _quotients(root, atoms)[root]
    except (TooLarge, ZeroDivisionError):
        return
    if not top or all(each.name == "number" or each in atoms for each in root.operands):
        return
    top, common_top = _reduced(top)
    bottom, common_bottom = _reduced(bottom)
    powers = tuple(a - b for a, b in zip(common_top, common_bottom, strict=True))
    if all(value < 0 for value in top.values()) or all(value < 0 for value in bottom.values()):
        sign = -1 if all(value < 0 for value in bottom.values()) else 1
        top, bottom = ({key: value * sign for key, value in each.items()} for each in (top, bottom))
    yield from _written(top, bottom, powers, atoms)


def _atoms(root: Expression) -> list[Expression]:
    """The parts that are no sums, products or quotients."""
    found: dict[Expression, None] = {}
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.name in ARITHMETIC:
            waiting += node.operands
        elif node.name != "number":
            found.setdefault(node)
    return list(found)


# ---- polynomials ---------------------------------------------------------------------------------------------------

def _quotients(root: Expression, atoms: list[Expression]) -> dict[Expression, tuple[Polynomial, Polynomial]]:
    one: Polynomial = {(0,) * len(atoms): Fraction(1)}
    found: dict[Expression, tuple[Polynomial, Polynomial]] = {
        atom: ({tuple(int(k == each) for each in range(len(atoms))): Fraction(1)}, one)
        for k, atom in enumerate(atoms)}
    for node in nodes(root):
        if node in found:
            continue
        if node.name == "number":
            found[node] = ({next(iter(one)): node.value} if node.value else {}, one)
        elif node.name in ARITHMETIC and all(each in found for each in node.operands):
            found[node] = _combined(node.name, *(found[each] for each in node.operands))
    return found


def _combined(name: str, left: tuple[Polynomial, Polynomial], *others: tuple[Polynomial, Polynomial]
              ) -> tuple[Polynomial, Polynomial]:
    if name == "negate":
        return _scaled(left[0], -1), left[1]
    (right,) = others
    if name == "multiply":
        return _product(left[0], right[0]), _product(left[1], right[1])
    if name == "divide":
        if not right[0]:
            raise ZeroDivisionError
        return _product(left[0], right[1]), _product(left[1], right[0])
    more = right[0] if name == "add" else _scaled(right[0], -1)
    if left[1] == right[1]:
        return _sum(left[0], more), left[1]
    return _sum(_product(left[0], right[1]), _product(more, left[1])), _product(left[1], right[1])


def _scaled(a: Polynomial, factor: int) -> Polynomial:
    return {key: value * factor for key, value in a.items()}


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    found = dict(a)
    for key, value in b.items():
        found[key] = found.get(key, Fraction(0)) + value
    return {key: value for key, value in found.items() if value}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for key, value in a.items():
        for other, factor in b.items():
            both = tuple(x + y for x, y in zip(key, other, strict=True))
            if max(both, default=0) > MOST_POWER:
                raise TooLarge
            found[both] = found.get(both, Fraction(0)) + value * factor
    if len(found) > MOST_TERMS:
        raise TooLarge
    return {key: value for key, value in found.items() if value}


def _reduced(a: Polynomial) -> tuple[Polynomial, Monomial]:
    """Without the powers that all terms have, and these."""
    common = tuple(map(min, zip(*a, strict=True)))
    return {tuple(x - y for x, y in zip(key, common, strict=True)): value for key, value in a.items()}, common


# ---- expressions ---------------------------------------------------------------------------------------------------

def _written(top: Polynomial, bottom: Polynomial, powers: Monomial, atoms: list[Expression]) -> Iterator[Expression]:
    used = [k for k in range(len(atoms)) if any(key[k] for each in (top, bottom) for key in each)]
    if len(used) <= 1:
        k = used[0] if used else 0
        dividend, divisor = (_without_zeros([each.get(tuple(power * (j == k) for j in range(len(atoms))), Fraction(0))
                                             for power in range(MOST_POWER + 1)]) for each in (top, bottom))
        yield _with_powers(horner(dividend, atoms[k]), horner(divisor, atoms[k]), powers, atoms)
        if 1 < len(divisor) <= len(dividend):
            whole, rest = _divided(dividend, divisor)
            found = horner(whole, atoms[k])
            if any(rest):
                found = made("add", found, made("divide", horner(rest, atoms[k]), horner(divisor, atoms[k])))
            yield _with_powers(found, number(1), powers, atoms)
        return
    above, below = _sum_of_terms(top, atoms), _sum_of_terms(bottom, atoms)
    yield _with_powers(above, below, powers, atoms)
    if above == number(1):
        for k, power in enumerate(powers):      # x / (x + y) * y, and y / (x + y) * x: one of them may be there already
            if power > 0:
                yield _with_powers(atoms[k], below, tuple(each - (j == k) for j, each in enumerate(powers)), atoms)


def _without_zeros(coefficients: list[Fraction]) -> list[Fraction]:
    while len(coefficients) > 1 and not coefficients[-1]:
        coefficients = coefficients[:-1]
    return coefficients


def _divided(above: list[Fraction], below: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The whole part and the rest."""
    rest, whole = list(above), [Fraction(0)] * (len(above) - len(below) + 1)
    for k in reversed(range(len(whole))):
        whole[k] = rest[k + len(below) - 1] / below[-1]
        for j, value in enumerate(below):
            rest[k + j] -= whole[k] * value
    return whole, _without_zeros(rest[:len(below) - 1])


def _sum_of_terms(a: Polynomial, atoms: list[Expression]) -> Expression:
    found: Expression | None = None
    for key, value in sorted(a.items(), reverse=True):
        term = number(value)
        for power, atom in zip(key, atoms, strict=True):
            term = times_power(term, atom, power)
        found = term if found is None else made("add", found, term)
    assert found is not None
    return _without_ones(found)


def _with_powers(top: Expression, bottom: Expression, powers: Monomial, atoms: list[Expression]) -> Expression:
    """A quotient times whole powers: products with the quotient first, so that little leaves the format."""
    found = top if bottom == number(1) else made("divide", top, bottom)
    for power, atom in zip(powers, atoms, strict=True):
        found = times_power(found, atom, power)
    return _without_ones(found)


def _without_ones(root: Expression) -> Expression:
    """Without factors 1."""
    found: dict[Expression, Expression] = {}
    for node in nodes(root):
        operands = [found[each] for each in node.operands]
        if node.name == "multiply" and number(1) in operands:
            found[node] = operands[operands[0] == number(1)]
        elif node.name == "divide" and operands[1] == number(1):
            found[node] = operands[0]
        else:
            found[node] = made(node.name, *operands) if operands else node
    return found[root]
