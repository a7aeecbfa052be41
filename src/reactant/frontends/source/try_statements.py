"""Rewrite `try` with handlers so that an exception that depends on run-time values is a jump, as `break` is.

    try: A; B            becomes   ag__attempt_1 = ag__.attempt(lambda: E)
    except E as e: C               ag__caught_1 = False
    else: D                        try:                          # what raises while tracing is Python's own business
                                       A
                                       ag__caught_1 = ag__.pending(ag__attempt_1)
                                       if not ag__caught_1: ag__.resume(ag__attempt_1); B
                                   except E as e: C
                                   else:
                                       if ag__caught_1:
                                           if ag__.matches(ag__attempt_1, 0): e = ag__.exception(ag__attempt_1, 0); C
                                           else: ag__.unhandled(ag__attempt_1)
                                       else: D

The `if not` is `jumps`' work: statements here only say which flag they may set (`sets_flag`). What a statement computes
is put into a temporary first, so that its assignment happens only if nothing was raised. A function that is called from
such a block has its whole body rewritten in the same way; there the attempt is the caller's.
"""
from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Iterator, Mapping
from typing import Any

from reactant.frontends.source.jumps import SCOPES, assign, at_location, contains, name, operator_call, walk_block
from reactant.frontends.source.liveness import Binding
from reactant.support.records import dataclass

_SAFE = {"isinstance", "hasattr", "callable"}
"""Builtins that raise nothing that depends on run-time values."""
_OPERATIONS = (ast.Subscript, ast.Attribute, ast.BinOp, ast.UnaryOp)
"""What may raise: also sums, where something may be None."""


@dataclass(frozen=True)
class Scope:
    """Where exceptions of a block go: the variables of the attempt and of its flag."""

    attempt: str
    flag: str


def may_raise(*nodes: ast.AST | None) -> bool:
    """Whether evaluating the expressions can raise because of a run-time value."""
    for node in nodes:
        for n in _evaluated(node) if node is not None else ():
            if isinstance(n, ast.Call) and not (isinstance(n.func, ast.Name) and n.func.id in _SAFE):
                return True
            if isinstance(n, ast.Name) and getattr(n, "unsure", False):
                return True         # it is known only at run time whether it is bound
            if isinstance(n, _OPERATIONS) and not isinstance(getattr(n, "op", None), ast.Not):
                return True
            if isinstance(n, ast.Compare) and not all(isinstance(op, (ast.Is, ast.IsNot)) for op in n.ops):
                return True
    return False


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the expression is evaluated."""
    if isinstance(node, ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _evaluated(child)


def has_handlers(function: ast.FunctionDef) -> bool:
    """Whether a `try` with handlers stands in the function, or in one defined inside it."""
    return any(isinstance(n, ast.Try) and n.handlers for n in ast.walk(function))


class SuppressLowering(ast.NodeTransformer):
    """`with contextlib.suppress(E): A` becomes `try: A` with `except E: pass`; what is called so is looked up among the
    `variables` of the module."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables = variables

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        body = node.body
        if not any(self.suppresses(item.context_expr) for item in node.items):
            return node
        for item in reversed(node.items):
            made: ast.stmt = ast.With([item], body)
            if self.suppresses(call := item.context_expr) and item.optional_vars is None:
                kinds = ast.Tuple(call.args, ast.Load())    # type: ignore[attr-defined]
                made = ast.Try(body, [ast.ExceptHandler(kinds, None, [at_location(ast.Pass(), node)])], [], [])
            body = [at_location(made, node)]
        return body[0]

    def suppresses(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(ast.Name(called), _, []):
                return self.variables.get(called) is contextlib.suppress
            case ast.Call(ast.Attribute(ast.Name(module), "suppress"), _, []):
                return self.variables.get(module) is contextlib
        return False


class HandlerLowering:
    """Rewrites the statements of one function."""

    def __init__(self, namer: Iterator[int]) -> None:
        self.namer = namer

    def function(self, function: ast.FunctionDef, catching: bool) -> None:
        """`catching`: the function may be called where a handler waits."""
        if not catching:
            function.body = self.block(function.body, None)
            return
        number = next(self.namer)
        scope = Scope(f"ag__attempt_{number}", f"ag__caught_{number}")
        raises = contains(function.body, (ast.Raise, ast.Assert)) or any(
            may_raise(s) for s in walk_block(function.body))
        if not raises:
            return
        first = function.body[0]
        function.body = [assign(scope.attempt, operator_call("attempt_around"), first),
                         assign(scope.flag, ast.Constant(False), first), *self.block(function.body, scope)]
        function.guarded = True

    # ---- blocks ------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt], scope: Scope | None) -> list[ast.stmt]:
        return [made for s in statements for made in self.statement(s, scope)]

    def inside(self, s: ast.stmt, scope: Scope | None) -> None:
        """The blocks of a compound statement."""
        for field in ("body", "orelse", "finalbody"):
            if block := getattr(s, field, None):
                setattr(s, field, self.block(block, scope))
        for handler in getattr(s, "handlers", ()):
            handler.body = self.block(handler.body, scope)

    def statement(self, s: ast.stmt, scope: Scope | None) -> list[ast.stmt]:
        if isinstance(s, SCOPES):
            return [s]
        if isinstance(s, ast.Try) and s.handlers:
            return self.attempt(s, scope)
        if scope is None:
            if any(isinstance(n, ast.Try) for n in walk_block([s])):
                self.inside(s, None)
            return [s]
        match s:
            case ast.Raise() if s.exc is not None:
                cause = s.cause or ast.Constant(None)
                raised = operator_call("raise_", name(scope.attempt), s.exc, cause)
                return [at_location(ast.Expr(raised), s), self.jump(scope, s)]
            case ast.Assert():
                message = [s.msg] if s.msg is not None else []
                error = ast.Call(name("AssertionError"), message, [])
                stop = at_location(ast.Raise(at_location(error, s)), s)
                return self.statement(at_location(ast.If(ast.UnaryOp(ast.Not(), s.test), [stop], []), s), scope)
            case ast.Return() | ast.Assign() | ast.AnnAssign():
                return self.assignment(s, scope)
            case ast.AugAssign():
                return self.update(s, scope)
            case ast.If():
                before = self.computed(s, "test", scope)
                self.inside(s, scope)
                return [*before, s, *self.after(s, scope)]
            case ast.While() | ast.For():
                return self.loop(s, scope)
            case ast.With():
                self.inside(s, scope)
                return [s, *self.after(s, scope)]
            case ast.Try():
                s.body = self.block(s.body, scope)
                shield = ast.withitem(operator_call("shielded", name(scope.attempt)))
                s.finalbody = [at_location(ast.With([shield], s.finalbody), s.finalbody[0])]
                return [s, *self.after(s, scope)]
        return [self.unwound(s, scope), *self.after(s, scope)] if may_raise(s) else [s]

    @staticmethod
    def unwound(s: ast.stmt, scope: Scope) -> ast.stmt:
        """`s`, which ends where it, or a function that it calls, has surely raised."""
        stop = operator_call("interruption", name(scope.attempt))
        made = ast.Try([s], [ast.ExceptHandler(stop, None, [ast.Pass()])], [], [])
        made.generated = True
        return at_location(made, s)

    def after(self, s: ast.AST, scope: Scope) -> list[ast.stmt]:
        """Look whether something was raised; what follows runs only if not."""
        asked = assign(scope.flag, operator_call("pending", name(scope.attempt)), s)
        asked.sets_flag = scope.flag
        return [asked, self.resume(s, scope)]

    @staticmethod
    def resume(s: ast.AST, scope: Scope) -> ast.stmt:
        return at_location(ast.Expr(operator_call("resume", name(scope.attempt))), s)

    @staticmethod
    def jump(scope: Scope, s: ast.AST) -> ast.stmt:
        made = assign(scope.flag, ast.Constant(True), s)
        made.sets_flag, made.always_jumps = scope.flag, True
        return made

    def computed(self, s: ast.stmt, field: str, scope: Scope) -> list[ast.stmt]:
        """Statements that compute an operand of `s` before it."""
        value = getattr(s, field)
        if value is None or not may_raise(value):
            return []
        held = f"ag__held_{next(self.namer)}"
        setattr(s, field, at_location(name(held), value))
        return [self.unwound(assign(held, value, s), scope), *self.after(s, scope)]

    def assignment(self, s: ast.Return | ast.Assign | ast.AnnAssign, scope: Scope) -> list[ast.stmt]:
        before = self.computed(s, "value", scope)
        targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AnnAssign) else []
        if all(isinstance(t, ast.Name) for t in targets):
            return [*before, s]
        return [*before, self.unwound(s, scope), *self.after(s, scope)]

    def update(self, s: ast.AugAssign, scope: Scope) -> list[ast.stmt]:
        calls = any(isinstance(n, ast.Call) for n in ast.walk(s.value))
        if calls and isinstance(s.target, (ast.Subscript, ast.Attribute)) and not any(
                isinstance(n, ast.Slice) for n in ast.walk(s.target)):
            return self.read_first(s, scope)
        before = self.computed(s, "value", scope) if calls else []
        if not isinstance(s.target, ast.Name):
            return [*before, self.unwound(s, scope), *self.after(s, scope)]
        held, variable = f"ag__held_{next(self.namer)}", s.target.id
        kept = operator_call("kept", name(scope.attempt), name(variable), name(held))
        return [*before, assign(held, name(variable), s), self.unwound(s, scope), assign(variable, kept, s),
                *self.after(s, scope)]

    def read_first(self, s: ast.AugAssign, scope: Scope) -> list[ast.stmt]:
        """`a[k] += f(x)` reads the element before it calls."""
        owner, key, old = (f"ag__held_{next(self.namer)}" for _ in range(3))
        out = [assign(owner, s.target.value, s)]
        if isinstance(s.target, ast.Subscript):
            out.append(assign(key, s.target.slice, s))

        def place(context: ast.expr_context) -> ast.expr:
            if isinstance(s.target, ast.Subscript):
                return at_location(ast.Subscript(name(owner), name(key), context), s)
            return at_location(ast.Attribute(name(owner), s.target.attr, context), s)

        out.append(assign(old, place(ast.Load()), s))
        made = [self.unwound(o, scope) for o in out]
        made += [*self.after(s, scope), *self.computed(s, "value", scope)]
        new = operator_call("inplace", ast.Constant(type(s.op).__name__), name(old), s.value)
        store = at_location(ast.Assign([place(ast.Store())], new), s)
        return [*made, self.unwound(store, scope), *self.after(s, scope)]

    def loop(self, s: ast.While | ast.For, scope: Scope) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        start: list[ast.stmt] = [self.resume(s, scope)]
        if isinstance(s, ast.For):
            if isinstance(s.iter, ast.Call):
                before = self.computed(s, "iter", scope)
        elif may_raise(s.test) and not s.orelse:
            start += self.computed(s, "test", scope)
            start.append(at_location(ast.If(ast.UnaryOp(ast.Not(), s.test), [ast.Break()], []), s))
            s.test = at_location(ast.Constant(True), s)
        self.inside(s, scope)
        s.body = [*start, *s.body]
        return [*before, s, *self.after(s, scope)]

    # ---- try ---------------------------------------------------------------------------------------------------

    def attempt(self, s: ast.Try, outer: Scope | None) -> list[ast.stmt]:
        number = next(self.namer)
        scope = Scope(f"ag__attempt_{number}", f"ag__caught_{number}")
        copies = copy.deepcopy(s.handlers)
        kinds = [_thunk(copy.deepcopy(h.type) if h.type else name("BaseException"), h) for h in s.handlers]
        s.body = self.block(s.body, scope)
        for handler in s.handlers:
            handler.body = self.block(handler.body, outer)
        dispatch: list[ast.stmt] = [at_location(ast.Expr(operator_call("unhandled", name(scope.attempt))), s)]
        for position in reversed(range(len(copies))):
            dispatch = [self.handler(copies[position], position, scope, outer, dispatch)]
        s.orelse = [at_location(ast.If(name(scope.flag), dispatch, self.block(s.orelse, outer)), s)]
        s.attempt, s.flag = scope.attempt, scope.flag
        if s.finalbody:
            s.finalbody = self.block(s.finalbody, outer)
            if outer is not None:
                shield = ast.withitem(operator_call("shielded", name(outer.attempt)))
                s.finalbody = [at_location(ast.With([shield], s.finalbody), s.finalbody[0])]
        made = assign(scope.attempt, operator_call("attempt", *kinds), s)
        return [made, assign(scope.flag, ast.Constant(False), s), s, *(self.after(s, outer) if outer else ())]

    def handler(self, h: ast.ExceptHandler, position: int, scope: Scope, outer: Scope | None,
                otherwise: list[ast.stmt]) -> ast.stmt:
        arguments = (name(scope.attempt), ast.Constant(position))
        body = self.block(_reraising(h.body, arguments, outer, self), outer)
        if h.name:
            body.insert(0, assign(h.name, operator_call("exception", *arguments), h))
        return at_location(ast.If(operator_call("matches", *copy.deepcopy(arguments)), body, otherwise), h)


def _reraising(statements: list[ast.stmt], arguments: tuple[ast.expr, ...], outer: Scope | None,
               lowering: HandlerLowering) -> list[ast.stmt]:
    """The statements with `raise` alone meaning the exception being handled."""
    out: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.Raise) and s.exc is None:
            out.append(at_location(ast.Expr(operator_call("raise_again", *copy.deepcopy(arguments))), s))
            if outer is not None:
                out.append(lowering.jump(outer, s))
            continue
        if not isinstance(s, SCOPES):
            for field in ("body", "orelse", "finalbody"):
                if block := getattr(s, field, None):
                    setattr(s, field, _reraising(block, arguments, outer, lowering))
        out.append(s)
    return out


def _thunk(expression: ast.expr, at: ast.AST) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return at_location(ast.Lambda(empty, expression), at)


def lower(function: ast.FunctionDef, namer: Iterator[int], catching: bool) -> None:
    """Rewrite `function` in place, but for functions defined in it."""
    if catching or any(isinstance(n, ast.Try) and n.handlers for n in walk_block(function.body)):
        Binding(function)
        HandlerLowering(namer).function(function, catching)


__all__ = ["HandlerLowering", "SuppressLowering", "has_handlers", "lower", "may_raise"]
