"""Rewrite `match` over values as `if`, so that the subject may be known only at run time.

    match s:                      ag__subject_1 = s
        case 0 | 1: A    becomes  if ag__subject_1 == 0 or ag__subject_1 == 1: A
        case n if n > 5: B        else:
        case _: C                     n = ag__subject_1
                                      if n > 5: B
                                      else: C

Patterns that look into a subject (sequences, mappings, classes) stay with Python: what they ask is known while tracing.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from reactant.frontends.jumps import assign, at_location, name


class MatchLowering(ast.NodeTransformer):
    def __init__(self, namer: Iterator[int]) -> None:
        self.namer = namer

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not all(_is_flat(case.pattern) for case in node.cases):
            return node
        subject = f"ag__subject_{next(self.namer)}"
        return [assign(subject, node.subject, node), *_chain(subject, node.cases)]


def _is_flat(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton() | ast.MatchAs(pattern=None):
            return True
        case ast.MatchOr(patterns=patterns):
            return all(isinstance(p, (ast.MatchValue, ast.MatchSingleton)) for p in patterns)
    return False


def _test(subject: str, pattern: ast.pattern) -> ast.expr:
    match pattern:
        case ast.MatchValue(value=value):
            return ast.Compare(name(subject), [ast.Eq()], [value])
        case ast.MatchSingleton(value=value):
            return ast.Compare(name(subject), [ast.Is()], [ast.Constant(value)])
    return ast.BoolOp(ast.Or(), [_test(subject, p) for p in pattern.patterns])


def _chain(subject: str, cases: list[ast.match_case]) -> list[ast.stmt]:
    """What the cases do, one after the other."""
    if not cases:
        return []
    case, rest = cases[0], cases[1:]
    if isinstance(case.pattern, ast.MatchAs):
        bound = [assign(case.pattern.name, name(subject), case.pattern)] if case.pattern.name else []
        if case.guard is None:
            return [*bound, *case.body]
        return [*bound, at_location(ast.If(case.guard, case.body, _chain(subject, rest)), case.pattern)]
    test = _test(subject, case.pattern)
    if case.guard is not None:
        test = ast.BoolOp(ast.And(), [test, case.guard])
    return [at_location(ast.If(test, case.body, _chain(subject, rest)), case.pattern)]
