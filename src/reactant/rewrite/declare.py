"""Declaring rules: `equations` and `@rewrite`. A rule that is declared is registered.

Op names are checked against the dialects' generated classes when a rule module is imported, and the parameters of a
rule's function against the names its pattern binds.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from reactant.rewrite import registry
from reactant.rewrite.pattern import (
    DTYPES,
    LEVELS,
    SPECIAL,
    Op,
    Pattern,
    Rule,
    as_pattern,
    bindings,
    build,
    dialect_ops,
    text,
)


def _check(rule: Rule, *, assumes: str | None, changes: str | None, dtypes: str | None) -> None:
    if changes not in LEVELS:
        raise TypeError(f"rule '{rule.name}': changes= is one of {LEVELS[1:]}, not {changes!r}.")
    if assumes not in (None, "finite"):
        raise TypeError(f"rule '{rule.name}': assumes= is 'finite' or nothing, not {assumes!r}.")
    if dtypes is not None and dtypes not in DTYPES:
        raise TypeError(f"rule '{rule.name}': dtypes= is one of {', '.join(DTYPES)}, not {dtypes!r}.")


def rewrite(pattern: Op | str, *, assumes: str | None = None, changes: str | None = None, dtypes: str | None = None,
            example: Any = None, counter: Any = None, by_types: bool = False, of: str = "",
            made_by: tuple[str, ...] = (), holds: tuple[str, ...] = (), nested: bool = False
            ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a rule whose right side is computed.

    The function's parameters are the names the pattern binds (or `SPECIAL` ones); it returns the replacement (a value,
    a number for a splat of the result's type, a list for several results, or SWAPPED) or None to decline; it must
    decide before it builds. `pattern` may be an op's name, for ops with regions or many results: the function then
    gets one `Site`.

    assumes: "finite" if only right where no value is NaN or infinite.
    changes: "rounding" if as accurate but not bit-equal, "association" if it may lose accuracy.
    by_types: the function decides by types, attributes and constants alone, so that it is not asked again about the
        same operands.
    dtypes:  only where the root's first operand is "integer", "float", "real", "bool", "discrete", "complex", ...
    of: where `pattern` is an op's name, the op that must make its first operand: others are not looked at.
    made_by: ops (full names) of which one must make one of the root's first three operands: others are not looked at.
    holds: where `pattern` is an op's name, ops (full names) of which there must be one in its regions, at any depth.
    nested: only ops in the regions of loops and branches: others are not looked at for the sake of this rule.
    example, counter: MLIR text or a callable that builds an instance that must fire / must not, given a function
        `a(*shape, dtype=None)` that adds an argument; a tuple holds several. Equations find their own examples.
    """
    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        family = body.__module__.rpartition(".")[2]
        doc = (body.__doc__ or "").strip()
        if not doc:
            raise TypeError(f"rule '{body.__name__}' has no docstring; give its equation.")
        parameters = body.__code__.co_varnames[:body.__code__.co_argcount]     # a signature takes 25 us
        if isinstance(pattern, Op):
            names = list(bindings(pattern))
            for name in parameters:
                if name not in names and name not in SPECIAL:
                    raise TypeError(f"rule '{body.__name__}' takes '{name}', which its pattern does not bind.")
            for name in names:
                if name not in parameters and names.count(name) == 1 and not name.startswith("_"):
                    raise TypeError(f"rule '{body.__name__}' does not take '{name}', which its pattern binds.")
        for name in made_by if isinstance(pattern, Op) else (pattern, of, *made_by, *holds):
            if name and name not in dialect_ops():
                raise TypeError(f"rule '{body.__name__}': no op is called '{name}'.")
        roots = pattern.names if isinstance(pattern, Op) else (pattern,)
        rule = Rule(body.__name__, family, roots, doc.splitlines()[0],
                    pattern if isinstance(pattern, Op) else None, parameters, body, assumes, changes, dtypes, example,
                    counter, body.__code__.co_firstlineno, DTYPES.get(dtypes or "", ""), by_types, of,
                    made_by, frozenset(holds), nested)
        _check(rule, assumes=assumes, changes=changes, dtypes=dtypes)
        registry.add(rule)
        return body
    return declare


def equations(*, assumes: str | None = None, changes: str | None = None, dtypes: str | None = None,
              example: Any = None, counter: Any = None, **sides: tuple[object, object]) -> None:
    """Declare rules `name=(left, right)`: wherever `left` matches, `right` (a pattern's variable, an op built from
    them, or a number) takes its place."""
    frame = sys._getframe(1)
    for name, (left, right) in sides.items():
        if not isinstance(left, Op):
            raise TypeError(f"equation '{name}': the left side must be an op.")
        right = as_pattern(right)
        free = set(bindings(right)) - set(bindings(left))
        if free:
            raise TypeError(f"equation '{name}': the left side does not bind {', '.join(sorted(free))}.")
        parameters = tuple(dict.fromkeys(bindings(right)))
        rule = Rule(name, frame.f_globals["__name__"].rpartition(".")[2], left.names,
                    f"{text(left)} = {text(right)}", left, parameters, _builder(right, parameters),
                    assumes, changes, dtypes, example, counter, frame.f_lineno, DTYPES.get(dtypes or "", ""))
        _check(rule, assumes=assumes, changes=changes, dtypes=dtypes)
        registry.add(rule)


def _builder(right: Pattern, parameters: tuple[str, ...]) -> Callable[..., Any]:
    def body(*values: object) -> object:
        return build(right, dict(zip(parameters, values, strict=True)))
    return body
