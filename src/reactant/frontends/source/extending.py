"""`out.extend(items)` as a loop that appends, where it is known only at run time how many items there are.

    out.extend(items)    as    held = items
                               if ag__.grows(held, out):
                                   for item in held: out.append(item)
                               else:
                                   out.extend(held)
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from reactant.frontends.source.jumps import assign, at_location, name, operator_call

_KNOWN = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.GeneratorExp, ast.Starred)
_SUSPENDS = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


class ExtendLowering(ast.NodeTransformer):
    def __init__(self, namer: Iterator[int]) -> None:
        self.namer = namer

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        match node.value:
            case ast.Call(ast.Attribute(ast.Name() as target, "extend"), [items], []) if not isinstance(items, _KNOWN) \
                    and not any(isinstance(below, _SUSPENDS) for below in ast.walk(items)):
                return [at_location(s, node) for s in self.extended(target.id, items, node)]
        return node

    def extended(self, target: str, items: ast.expr, node: ast.Expr) -> list[ast.stmt]:
        held, item = f"ag__items_{next(self.namer)}", f"ag__item_{next(self.namer)}"

        def call(method: str, argument: str) -> ast.stmt:
            function = ast.Attribute(name(target), method, ast.Load())
            return at_location(ast.Expr(ast.Call(function, [name(argument)], [])), node)
        loop = at_location(ast.For(name(item, store=True), name(held), [call("append", item)], []), node)
        test = at_location(operator_call("grows", name(held), name(target)), node)
        return [assign(held, items, node), at_location(ast.If(test, [loop], [call("extend", held)]), node)]
