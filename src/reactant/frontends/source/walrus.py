"""Tests that assign (`:=`) as statements, so that what they decide may be known only at run time.

    if a and (y := f(x)) > 0: A         if a:                       while (c := g(k)) <= n: A    while True:
                                  as        y = ...                                       as         if not (c := ...):
                                            if y > 0: A                                                  break
                                                                                                     A

An operand of `and`, `or` or a conditional expression that assigns cannot become a function of its own: the variable
would be that function's. Where such an expression is the whole of a test, of an `assert` or of an assigned or returned
value, it is taken apart here; elsewhere Python evaluates it, which needs decisions that are known while tracing.
"""
from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from reactant.frontends.source.jumps import assign, at_location, name


def _assigns(*nodes: ast.AST) -> bool:
    return any(isinstance(below, ast.NamedExpr) for n in nodes for below in ast.walk(n))


def _is_split(test: ast.expr) -> bool:
    """Whether the test decides by `and`, `or` or `not` about an assignment."""
    match test:
        case ast.BoolOp():
            return _assigns(*test.values[1:]) or _is_split(test.values[0])
        case ast.UnaryOp(op=ast.Not()):
            return _is_split(test.operand)
    return False


class NamedLowering(ast.NodeTransformer):
    def __init__(self, namer: Iterator[int]) -> None:
        self.namer = namer

    def flag(self) -> str:
        return f"ag__flag_{next(self.namer)}"

    # ---- statements --------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not _is_split(node.test):
            return node
        return [at_location(s, node) for s in self.decided(node.test, node.body, node.orelse)]

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not _assigns(node.test):
            return node
        stop = self.flag()
        leave: list[ast.stmt] = [assign(stop, ast.Constant(True), node.test), at_location(ast.Break(), node.test)]
        test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        before = self.decided(test, leave, [])
        loop = at_location(ast.While(ast.Constant(True), [*before, *node.body], []), node)
        out: list[ast.stmt] = [assign(stop, ast.Constant(False), node), loop]
        if node.orelse:
            out.append(ast.If(name(stop), node.orelse, []))
        return [at_location(s, node) for s in out]

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        if not _assigns(node.test) or node.msg is not None and _assigns(node.msg):
            return node
        held = self.flag()
        if not _is_split(node.test):
            before: list[ast.stmt] = [assign(held, node.test, node)]
        else:
            yes: list[ast.stmt] = [assign(held, ast.Constant(True), node)]
            before = [assign(held, ast.Constant(False), node), *self.decided(node.test, yes, [])]
        node.test = ast.copy_location(name(held), node.test)
        return [at_location(s, node) for s in (*before, node)]

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        return self.by_cases(node)

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        return self.by_cases(node)

    def by_cases(self, node: ast.Assign | ast.Return) -> ast.AST | list[ast.stmt]:
        """A conditional expression as two statements."""
        value = node.value
        if not isinstance(value, ast.IfExp) or not _assigns(value.body, value.orelse):
            return node
        sides = []
        for side in (value.body, value.orelse):
            made = copy.copy(node)
            made.value = side
            sides.append(self.by_cases(made))
        then, orelse = (s if isinstance(s, list) else [s] for s in sides)
        return [at_location(s, node) for s in self.decided(value.test, then, orelse)]

    # ---- decisions ---------------------------------------------------------------------------------------------

    def decided(self, test: ast.expr, then: list[ast.stmt], orelse: list[ast.stmt]) -> list[ast.stmt]:
        """`if test: then; else: orelse`, the operands of the test one after the other."""
        if not _is_split(test):
            return [ast.copy_location(ast.If(test, then, orelse), test)]
        if isinstance(test, ast.UnaryOp):
            return self.decided(test.operand, orelse or [at_location(ast.Pass(), test)], then)
        first, *rest = test.values
        others = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(test.op, rest), rest[0])
        flag = self.flag()
        if isinstance(test.op, ast.And):
            if not orelse:
                return self.decided(first, self.decided(others, then, []), [])
            # `then` stays where the variables of the test are bound
            inner = [assign(flag, ast.Constant(False), test), *then]
            return [assign(flag, ast.Constant(True), test), *self.decided(first, self.decided(others, inner, []), []),
                    at_location(ast.If(name(flag), orelse, []), test)]
        yes = [assign(flag, ast.Constant(True), test)]
        return [assign(flag, ast.Constant(False), test),
                *self.decided(first, yes, self.decided(others, copy.deepcopy(yes), [])),
                at_location(ast.If(name(flag), then, orelse), test)]
