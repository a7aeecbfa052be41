"""All forms of an expression that identities lead to, in an equality graph (`egglog`).

The graph grows round by round while it is small. What comes back are its classes of equal expressions: each a list of
forms, a form an operation on classes.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from reactant.precision.improvement.expressions import OPERATIONS, Expression, nodes, number
from reactant.precision.improvement.extra import egglog
from reactant.precision.improvement.identities import FAMILIES, VARIABLES, all_identities

ROUND = ("(run smaller 1)", "(run smaller 1)", "(run 1)", *["(run smaller 1)"] * 3)
MOST_FORMS, ROUNDS = 1500, 6
"""The graph grows no more once it has so many forms, or after so many rounds."""


class Form(NamedTuple):
    """An operation, a leaf or a number (`value`); operands are numbers of classes."""

    name: str
    operands: tuple[int, ...]
    value: Any = None


Classes = list[list[Form]]


def saturated(roots: Sequence[Expression], equal: Iterable[tuple[Expression, Expression]] = (),
              most: int = MOST_FORMS) -> tuple[Classes, list[int]]:
    """The classes that hold `roots`, and of which class each of them is. equal: pairs that are equal beside."""
    bindings = egglog()
    graph = bindings.EGraph()
    names: dict[Expression, str] = {}
    text = [_prelude()]
    pairs = list(equal)
    for node in nodes(*roots, *(side for pair in pairs for side in pair)):
        names[node] = f"$e{len(names)}"
        text.append(f"(let {names[node]} {_term(node, names.__getitem__)})")
    text += [f"(union {names[left]} {names[right]})" for left, right in pairs]
    graph.run_program(*graph.parse_program("\n".join(text)))
    for _ in range(ROUNDS):
        graph.run_program(*graph.parse_program("(push)"))
        before = _size(graph)
        if not all(_stays_sound(graph, step) for step in ROUND):    # quotients of zeros that nobody saw
            graph.run_program(*graph.parse_program("(pop)"))
            break
        if _size(graph) > most or _size(graph) == before:
            break
    return _classes(graph, [names[root] for root in roots])


def _size(graph: Any) -> int:
    found = graph.run_program(*graph.parse_program("(print-size)"))
    return sum(count for _, count in found[0].sizes)


def _stays_sound(graph: Any, step: str) -> bool:
    """Whether 0 and 1 are not taken for equal after another step: from there all is."""
    graph.run_program(*graph.parse_program(step))
    return not _holds(graph, f"(= {_term(number(0), str)} {_term(number(1), str)})")


def _holds(graph: Any, fact: str) -> bool:
    try:
        graph.run_program(*graph.parse_program(f"(check {fact})"))
    except egglog().EggSmolError:
        return False
    return True


@cache
def _prelude() -> str:
    signatures = [f"(r_{name} {' '.join(['M'] * operation.arity)})" for name, operation in OPERATIONS.items()]
    lines = [f"(datatype M (Num BigRat) (Var i64) {' '.join(signatures)})"]
    lines.append("(ruleset smaller)")
    for family, left, right in all_identities():
        where = " :ruleset smaller" if family == "cancellations" else ""
        lines.append(f"(rewrite {_written(left)} {_written(right)}{where})")
    lines += [_term(number(0), str), _term(number(1), str)]
    zero = "(bigrat (bigint 0) (bigint 1))"
    for name, sign in (("add", "+"), ("subtract", "-"), ("multiply", "*")):
        lines.append(f"(rewrite (r_{name} (Num x) (Num y)) (Num ({sign} x y)) :ruleset smaller)")
    lines.append(f"(rewrite (r_divide (Num x) (Num y)) (Num (/ x y)) :when ((!= y {zero})) :ruleset smaller)")
    lines.append("(rewrite (r_negate (Num x)) (Num (neg x)) :ruleset smaller)")
    lines.append(f"(rewrite (r_add a (Num x)) (r_subtract a (Num (neg x))) :when ((< x {zero})))")
    # what is divided by zero is equal to nothing
    lines.append(f"(rule ((= e (r_divide x (Num {zero})))) ((delete (r_divide x (Num {zero})))) :ruleset smaller)")
    return "\n".join(lines)


def _written(pattern: Expression) -> str:
    """A side of an identity, with variables for its leaves."""
    if pattern.name == "leaf":
        return VARIABLES[pattern.value]
    return _term(pattern, _written)


def _term(node: Expression, of: Callable[[Expression], str]) -> str:
    if node.name == "leaf":
        return f"(Var {node.value})"
    if node.name == "number":
        return f"(Num (bigrat {_integer(node.value.numerator)} {_integer(node.value.denominator)}))"
    return f"(r_{node.name} {' '.join(of(each) for each in node.operands)})"


def _integer(value: int) -> str:
    return f"(bigint {value})" if abs(value) < 2**62 else f'(from-string "{value}")'


def _classes(graph: Any, roots: Sequence[str]) -> tuple[Classes, list[int]]:
    """What the graph holds, as numbers."""
    marks = "\n".join(f"(Mark {k} {name})" for k, name in enumerate(roots))
    graph.run_program(*graph.parse_program(f"(relation Mark (i64 M))\n{marks}"))
    told = json.loads(graph.serialize([], max_functions=None, max_calls_per_function=None,
                                      include_temporary_functions=False).to_json())["nodes"]
    place: dict[str, int] = {}
    classes: Classes = []
    for each in told.values():
        if each["eclass"].startswith("M-") and each["eclass"] not in place:
            place[each["eclass"]] = len(classes)
            classes.append([])
    found = [0] * len(roots)
    for each in told.values():
        operands = [told[child] for child in each["children"]]
        if each["op"] == "Mark":
            found[int(operands[0]["op"])] = place[operands[1]["eclass"]]
        elif each["op"] == "Var":
            classes[place[each["eclass"]]].append(Form("leaf", (), int(operands[0]["op"])))
        elif each["op"] == "Num":
            classes[place[each["eclass"]]].append(Form("number", (), _fraction(operands[0]["op"])))
        elif each["op"].startswith("r_"):
            forms = classes[place[each["eclass"]]]
            forms.append(Form(each["op"][2:], tuple(place[child["eclass"]] for child in operands)))
    return classes, found


def _fraction(text: str) -> Fraction:
    """Of `Ratio { numer: 1, denom: 2 }`."""
    parts = text.replace(",", " ").split()
    return Fraction(int(parts[parts.index("numer:") + 1]), int(parts[parts.index("denom:") + 1]))


__all__ = ["FAMILIES", "Classes", "Form", "saturated"]
