"""Generators whose `yield` stands under conditions or in loops: a loop over one is a call of the generator with the
loop's body.

    def positive(xs):                becomes     def positive(xs, *, ag__sink, ag__stopped):
        for x in xs:                                 for x in xs:
            if x > 0:                                    if x > 0:
                yield x                                      ag__sink(x)
                                                             if ag__stopped(): return

So what decides whether an element is given may be known only at run time, and many elements are iterations of one loop.
Where elements are taken one by one (`next`, `list`), Python's own generator runs, and its decisions have to be known.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from reactant.frontends.source.jumps import COMPREHENSIONS, SCOPES, at_location, children, name, walk_block

SINK, STOPPED = "ag__sink", "ag__stopped"
_YIELDS = (ast.Yield, ast.YieldFrom)


def is_pushable(function: ast.FunctionDef) -> bool:
    """Whether each `yield` stands where a call may stand, and some under a condition or in a loop."""
    if any(isinstance(n, ast.Return) and n.value is not None for n in walk_block(function.body)):
        return False
    return _all_are_statements(function.body) and any(
        isinstance(n, (ast.If, ast.While, ast.For, ast.YieldFrom)) for n in walk_block(function.body))


def is_conditional(function: ast.FunctionDef) -> bool:
    """Whether run-time values may decide which elements there are."""
    return any(isinstance(n, (ast.If, ast.While)) for n in walk_block(function.body))


def _all_are_statements(statements: list[ast.stmt]) -> bool:
    """Whether each `yield` is a statement, and in no `try` or `with`, which would see what the loop raises."""
    for s in statements:
        if isinstance(s, SCOPES) or isinstance(s, ast.Expr) and isinstance(s.value, _YIELDS) \
                and not (s.value.value is not None and _suspends(s.value.value)):
            continue
        if isinstance(s, (ast.If, ast.For, ast.While)):
            if _suspends(s.iter if isinstance(s, ast.For) else s.test):
                return False
            if not _all_are_statements([*s.body, *s.orelse]):
                return False
        elif _suspends(s):
            return False
    return True


def _suspends(node: ast.AST) -> bool:
    return isinstance(node, _YIELDS) or not isinstance(node, (*SCOPES, *COMPREHENSIONS)) and any(
        map(_suspends, children(node)))


class PushLowering(ast.NodeTransformer):
    """Of one function, not of those inside it."""

    def __init__(self, namer: Iterator[int]) -> None:
        self.namer = namer

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        for argument in (SINK, STOPPED):
            node.args.kwonlyargs.append(at_location(ast.arg(argument), node))
            node.args.kw_defaults.append(None)
        node.body = [made for s in node.body for made in self._made(s)]
        return node

    def _made(self, s: ast.stmt) -> list[ast.stmt]:
        found = self.visit(s)
        return found if isinstance(found, list) else [found]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_ClassDef = visit_Lambda = visit_AsyncFunctionDef = visit_FunctionDef     # type: ignore[assignment]

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        match node.value:
            case ast.Yield(value=value):
                return self.given(value or ast.Constant(None), node)
            case ast.YieldFrom(value=value):
                item = f"ag__item_{next(self.namer)}"
                return [at_location(ast.For(name(item, store=True), value, self.given(name(item), node), []), node)]
        return node

    @staticmethod
    def given(value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        call = ast.Expr(ast.Call(name(SINK), [value], []))
        leave = ast.If(ast.Call(name(STOPPED), [], []), [at_location(ast.Return(None), at)], [])
        return [at_location(call, at), at_location(leave, at)]
