"""Every declared rule, by family and by name."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from reactant.rewrite.pattern import Rule
from reactant.support import foreign

_rules: dict[str, Rule] = {}


def add(rule: Rule) -> None:
    """Register a rule; a name is used once in the whole house, so that reports and options can name it alone."""
    foreign.note(os.path.dirname(__file__))
    other = _rules.get(rule.name)
    if other is not None and (other.family, other.line) != (rule.family, rule.line):
        raise TypeError(f"two rules are called '{rule.name}': in {other.family} and in {rule.family}.")
    _rules[rule.name] = rule


@contextlib.contextmanager
def scratch() -> Iterator[None]:
    """Forget, at the end, the rules declared inside: for trying rules out."""
    saved = dict(_rules)
    try:
        yield
    finally:
        _rules.clear()
        _rules.update(saved)


def rules(family: str | None = None) -> list[Rule]:
    """All declared rules in order of declaration, or those of one family (the last part of the module's name). Raises
    `KeyError` for a family without rules."""
    every = list(_rules.values())
    found = every if family is None else [rule for rule in every if rule.family == family]
    if not found and family is not None:
        raise KeyError(f"There is no family of rules called {family!r}.")
    return found


def rule(name: str) -> Rule:
    """The rule called `name` or `family.name`. Raises `KeyError`."""
    found = _rules[name.rpartition(".")[2]]
    if "." in name and found.qualified != name:
        raise KeyError(name)
    return found


def families() -> dict[str, int]:
    """Family to number of its rules."""
    count: dict[str, int] = {}
    for each in _rules.values():
        count[each.family] = count.get(each.family, 0) + 1
    return count


def counts() -> dict[str, int]:
    """How many rules are equations (a table row), functions (a computed right side) and general (whole-op view)."""
    kinds = {"equations": 0, "functions": 0, "general": 0}
    for each in _rules.values():
        general = each.pattern is None
        kinds["general" if general else "equations" if each.body.__name__ == "body" else "functions"] += 1
    return kinds
