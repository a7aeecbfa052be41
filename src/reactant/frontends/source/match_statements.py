"""Rewrite `match` as `if`, so that subjects, their parts and guards may be known only at run time.

    match s:                            ag__subject_1 = s
        case 0 | 1: A          becomes  if ag__subject_1 == 0 or ag__subject_1 == 1: A
        case [n, Point(x=0)]: B         elif <two elements> and <element 1 is a Point with an x> and <its x> == 0:
        case _: C                           n = <element 0>; B
                                        else: C

What a part is, is written out wherever it is asked for: a property that patterns ask for may run more than once.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reactant.frontends.source.jumps import assign, at_location, falls_off, name, operator_call

Part = Callable[[], ast.expr]
"""Makes the expression of a subject, or of a part of one."""


class Reading(NamedTuple):
    """A pattern about a part: what has to hold, in order, and what its names are bound to then."""

    tests: list[ast.expr]
    bound: dict[str, Part]


class MatchLowering(ast.NodeTransformer):
    def __init__(self, namer: Iterator[int]) -> None:
        self.namer = namer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.falls_off = falls_off(node.body)       # as it was written
        return self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        subject = f"ag__subject_{next(self.namer)}"
        return [assign(subject, node.subject, node), *self.chain(subject, node.cases)]

    def chain(self, subject: str, cases: list[ast.match_case]) -> list[ast.stmt]:
        """What the cases do, one after the other."""
        if not cases:
            return []
        case, rest = cases[0], cases[1:]
        tests, found = _read(case.pattern, lambda: name(subject))
        bound = [assign(n, part(), case.pattern) for n, part in found.items()]
        if case.guard is not None and tests and bound:      # the guard reads the names
            flag = f"ag__flag_{next(self.namer)}"
            taken: list[ast.stmt] = [assign(flag, ast.Constant(False), case.guard), *case.body]
            inner = at_location(ast.If(case.guard, taken, []), case.guard)
            after = self.chain(subject, rest)
            out: list[ast.stmt] = [assign(flag, ast.Constant(True), case.pattern),
                                   ast.If(_all(tests), [*bound, inner], [])]
            if after:
                out.append(ast.If(name(flag), after, []))
            return [at_location(s, case.pattern) for s in out]
        if case.guard is not None:
            tests = [*tests, case.guard]
        if not tests:
            return [*bound, *case.body]
        before, inside = (bound, []) if case.guard is not None else ([], bound)
        chosen = ast.If(_all(tests), [*inside, *case.body], self.chain(subject, rest))
        return [*before, at_location(chosen, case.pattern)]


def _all(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _read(pattern: ast.pattern, subject: Part) -> Reading:
    """What the pattern asks of the subject."""
    match pattern:
        case ast.MatchValue(value=value):
            return Reading([ast.Compare(subject(), [ast.Eq()], [value])], {})
        case ast.MatchSingleton(value=value):
            return Reading([ast.Compare(subject(), [ast.Is()], [ast.Constant(value)])], {})
        case ast.MatchAs(pattern=inner, name=bound):
            found = Reading([], {}) if inner is None else _read(inner, subject)
            return found if bound is None else Reading(found.tests, {**found.bound, bound: subject})
        case ast.MatchOr(patterns=patterns):
            return _one_of(patterns, subject)
        case ast.MatchSequence(patterns=patterns):
            return _sequence(patterns, subject)
        case ast.MatchMapping():
            return _mapping(pattern, subject)
    assert isinstance(pattern, ast.MatchClass)
    return _class(pattern, subject)


def _of_parts(first: ast.expr, parts: list[tuple[ast.pattern, Part]]) -> Reading:
    """What is asked of a subject, and then of its parts."""
    tests, bound = [first], {}
    for pattern, part in parts:
        found = _read(pattern, part)
        tests += found.tests
        bound.update(found.bound)
    return Reading(tests, bound)


def _one_of(patterns: list[ast.pattern], subject: Part) -> Reading:
    found = [_read(p, subject) for p in patterns]
    tests = [_all(r.tests) if r.tests else ast.Constant(True) for r in found]

    def chosen(bound: str) -> Part:
        def make() -> ast.expr:
            *others, value = [r.bound[bound]() for r in found]
            for pattern, other in zip(reversed(patterns[:-1]), reversed(others), strict=True):
                value = ast.IfExp(_all(_read(pattern, subject).tests), other, value)
            return value
        return make
    return Reading([ast.BoolOp(ast.Or(), tests)], {bound: chosen(bound) for bound in found[0].bound})


def _sequence(patterns: list[ast.pattern], subject: Part) -> Reading:
    stars = [k for k, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
    count = len(patterns) - len(stars)
    first = operator_call("fits_sequence", subject(), ast.Constant(count), ast.Constant(bool(stars)))
    parts, bound = [], {}
    for k, pattern in enumerate(patterns):
        if isinstance(pattern, ast.MatchStar):
            after = k - count

            def rest(k: int = k, after: int = after) -> ast.expr:
                return operator_call("rest_of_sequence", subject(), ast.Constant(k), ast.Constant(-after))
            if pattern.name is not None:
                bound[pattern.name] = rest
            continue
        place = k - len(patterns) if stars and k > stars[0] else k

        def element(place: int = place) -> ast.expr:
            return ast.Subscript(subject(), ast.Constant(place), ast.Load())
        parts.append((pattern, element))
    found = _of_parts(first, parts)
    return Reading(found.tests, {**found.bound, **bound})


def _mapping(pattern: ast.MatchMapping, subject: Part) -> Reading:
    first = operator_call("fits_mapping", subject(), *pattern.keys)
    parts = []
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        def value(key: ast.expr = key) -> ast.expr:
            return ast.Subscript(subject(), key, ast.Load())
        parts.append((inner, value))
    found = _of_parts(first, parts)
    if pattern.rest is not None:
        found.bound[pattern.rest] = lambda: operator_call("rest_of_mapping", subject(), *pattern.keys)
    return found


def _class(pattern: ast.MatchClass, subject: Part) -> Reading:
    count = ast.Constant(len(pattern.patterns))
    first = operator_call("fits_class", subject(), pattern.cls, count, *map(ast.Constant, pattern.kwd_attrs))
    parts: list[tuple[ast.pattern, Part]] = []
    for k, inner in enumerate(pattern.patterns):
        def place(k: int = k) -> ast.expr:
            return operator_call("part_of_class", subject(), pattern.cls, ast.Constant(k))
        parts.append((inner, place))
    for attribute, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        def value(attribute: str = attribute) -> ast.expr:
            return ast.Attribute(subject(), attribute, ast.Load())
        parts.append((inner, value))
    return _of_parts(first, parts)
