"""Values that an expression has computed and not used yet, told to the running trace: `f(self.rows, self.step())`.

Python keeps such a value on its evaluation stack, where nothing finds it. Where code of the user's may run before it is
used, converted code says it, and takes it back:

    f(self.rows, self.step())      becomes      f(ag__.hold(self.rows), ag__.let_go(1, self.step()))

A function also says which cells its variables are in (`ag__cells`), so that a variable and the functions that share it
count as one that refers to its value (`heap`).
"""
from __future__ import annotations

import ast
from typing import Any

from reactant.frontends.source.jumps import SUSPENSIONS, at_location, contains, name, operator_call
from reactant.frontends.source.liveness import Names, arguments_of, free_names, writes

CELLS = "ag__cells"
HARMLESS = frozenset(("ld", "unset"))
"""Operators that run nothing of the user's."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_ORDERED = (ast.Call, ast.BinOp, ast.Compare, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Subscript, ast.Slice,
            ast.JoinedStr)
"""Expressions all parts of which are computed, one after the other, before any is used."""


class Temporaries(ast.NodeTransformer):
    """For the function that is given to `visit`, and those inside it."""

    def __init__(self, says_cells: bool = True) -> None:
        self.says_cells = says_cells
        self.own: Names = frozenset()
        """Variables that nothing but the statements of this function binds."""
        self.suspends = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if getattr(node, "generated", False):       # a block of one
            node.body = [self.visit(s) for s in node.body]
            return node
        outer = self.own, self.suspends
        bound = frozenset(arguments_of(node.args)) | writes(node.body)
        captured = _mentioned(node.body, blocks=True)
        self.own = bound - _mentioned(node.body, blocks=False) - _declared(node.body)
        self.suspends = contains(node.body, SUSPENSIONS)
        node.body = [self.visit(s) for s in node.body]
        self.own, self.suspends = outer
        if self.says_cells and (cells := sorted((captured | free_names(node) - bound) - {"ag__"})):
            at = 1 if _is_documented(node) else 0
            node.body.insert(at, _cells(cells, node.body[min(at, len(node.body) - 1)]))
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(s) if isinstance(s, (ast.FunctionDef, ast.ClassDef)) else s for s in node.body]
        return node

    def visit(self, node: Any) -> Any:
        if isinstance(node, _ORDERED) and isinstance(getattr(node, "ctx", None), (ast.Load, type(None))):
            self.generic_visit(node)
            self.hold(node)
            return node
        return super().visit(node)

    def hold(self, node: ast.AST) -> None:
        """Have the parts told that are computed before others that may run anything."""
        places = _places(node)
        last = next((k for k in range(len(places) - 1, 0, -1) if _runs(_part(*places[k]))), 0)
        held = [k for k, place in enumerate(places[:last]) if not self.is_inert(_part(*place))]
        if not held or self.suspends and any(isinstance(below, SUSPENSIONS) for place in places[:last + 1]
                                             for below in ast.walk(_part(*place))):
            return      # a function that is left in between is found by its frame
        for k in held:
            _wrap(*places[k], "hold")
        if held:
            _wrap(*places[last], "let_go", ast.Constant(len(held)))

    def is_inert(self, part: ast.expr) -> bool:
        """Whether nothing is lost with a part: it is no object that can change, or that of a variable which only
        statements of this function bind to another one."""
        match part:
            case ast.Constant() | ast.Lambda() | ast.JoinedStr():
                return True
            case ast.Attribute(value=ast.Name(id="ag__")):
                return True
            case ast.Name(id=identifier):
                return identifier.startswith("ag__") or identifier in self.own
            case ast.Call(func=ast.Attribute(value=ast.Name(id="ag__"), attr="ld"), args=[ast.Name() as inner]):
                return self.is_inert(inner)
        return False


def _places(node: ast.AST) -> list[tuple[object, object]]:
    """Where the parts of an expression stand, in the order in which they are computed."""
    match node:
        case ast.Call():
            arguments = [(a, "value") if isinstance(a, ast.Starred) else (node.args, k)
                         for k, a in enumerate(node.args)]
            return [(node, "func"), *arguments, *((k, "value") for k in node.keywords)]
        case ast.BinOp():
            return [(node, "left"), (node, "right")]
        case ast.Compare():
            return [(node, "left"), *((node.comparators, k) for k in range(len(node.comparators)))]
        case ast.Tuple() | ast.List() | ast.Set():
            return [(e, "value") if isinstance(e, ast.Starred) else (node.elts, k) for k, e in enumerate(node.elts)]
        case ast.Dict():
            return [place for k in range(len(node.keys)) for place in ((node.keys, k), (node.values, k))
                    if _part(*place) is not None]
        case ast.Subscript():
            return [(node, "value"), (node, "slice")]
        case ast.Slice():
            return [(node, field) for field in ("lower", "upper", "step") if getattr(node, field) is not None]
        case ast.JoinedStr():
            return [(node.values, k) for k in range(len(node.values))]
    return []


def _part(owner: Any, key: Any) -> ast.expr:
    return owner[key] if isinstance(owner, list) else getattr(owner, key)


def _wrap(owner: Any, key: Any, operator: str, *before: ast.expr) -> None:
    part = _part(owner, key)
    made = at_location(operator_call(operator, *before, part), part)
    if isinstance(owner, list):
        owner[key] = made
    else:
        setattr(owner, key, made)


def _runs(node: ast.AST) -> bool:
    """Whether computing it may run code of the user's."""
    if isinstance(node, _FUNCTIONS):
        return False
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="ag__"), attr=operator)) if operator in HARMLESS:
            return False
        case ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom():
            return True
    return any(map(_runs, ast.iter_child_nodes(node)))


def _mentioned(nodes: list, blocks: bool) -> Names:
    """The names that functions in a block mention, and those that expressions bind. Not `blocks`: of the functions that
    are blocks of statements themselves, what is in those."""
    found: Names = frozenset()
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedExpr):
            found |= {node.target.id}
        if not isinstance(node, _FUNCTIONS):
            waiting += ast.iter_child_nodes(node)
        elif not blocks and isinstance(node, ast.FunctionDef) and getattr(node, "generated", False):
            waiting += node.body
        else:
            found |= free_names(node)
    return found


def _declared(body: list[ast.stmt]) -> Names:
    return frozenset(n for s in body if isinstance(s, (ast.Nonlocal, ast.Global)) for n in s.names)


def _is_documented(node: ast.FunctionDef) -> bool:
    first = node.body[0]
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _cells(names: list[str], at: ast.stmt) -> ast.stmt:
    """`ag__cells = lambda: (a, b)`, which is never called: a lambda has the cells of the names in it."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    cells = ast.Lambda(empty, ast.Tuple([name(n) for n in names], ast.Load()))
    cells.generated = True
    return at_location(ast.Assign([name(CELLS, store=True)], cells), at)
