"""Lower `return`, `break` and `continue` to flags, so that every `if` and every loop has one way in and one way out.

A block `[s, t, u]` whose `s` may jump becomes `[s', if not flag: [t, u]]`; where the body of an `if` always jumps, what
follows the `if` moves into its `else`, so that the common `if c: return a` followed by `return b` needs no flag at run
time. Loop `else` clauses become an `if` after the loop.

Statements that Python has to run itself are marked `node.native = True` and keep their jumps: those holding a `yield`,
and in generators everything that a `return`, or a `break` of a native loop, has to leave.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeVar

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.While)
SUSPENSIONS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
TRIES = (ast.Try, ast.TryStar)

RETURNED, VALUE = "ag__returned", "ag__value"

N = TypeVar("N", bound=ast.AST)


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in (ast.Name, ast.Constant):
        return ()
    return tuple(field for field in kind._fields if field not in ("ctx", "op", "ops"))


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below, but for contexts and operators: `ast.iter_child_nodes` for who asks very often."""
    found: list[ast.AST] = []
    held = node.__dict__
    for field in _fields(type(node)):
        value = held.get(field)
        if isinstance(value, ast.AST):
            found.append(value)
        elif type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and everything below it that runs in the same scope: not the bodies of nested functions and classes."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack += [child for child in children(current) if not isinstance(child, SCOPES)]


def walk_block(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    for statement in statements:
        if not isinstance(statement, SCOPES):
            yield from walk_scope(statement)


def contains(statements: Iterable[ast.stmt], kinds: type | tuple[type, ...]) -> bool:
    return any(isinstance(n, kinds) for n in walk_block(statements))


def escaping(statements: Iterable[ast.stmt]) -> bool:
    """Whether a `break` or `continue` in the block belongs to a loop around it."""
    for s in statements:
        if isinstance(s, (ast.Break, ast.Continue)):
            return True
        if isinstance(s, SCOPES):
            continue
        blocks = [s.orelse] if isinstance(s, (*LOOPS, ast.AsyncFor)) else list(inner_blocks(s))
        if any(escaping(b) for b in blocks):
            return True
    return False


def inner_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists directly inside a compound statement."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for field in ("handlers", "cases"):
        for part in getattr(statement, field, ()):
            yield part.body


def always_jumps(statements: list[ast.stmt]) -> bool:
    """Whether control never falls off the end of the block because of a `return`, `break` or `continue`."""
    for s in statements:
        if isinstance(s, (ast.Return, ast.Break, ast.Continue)) or getattr(s, "always_jumps", False):
            return True
        if isinstance(s, ast.If) and s.orelse and always_jumps(s.body) and always_jumps(s.orelse):
            return True
    return False


def falls_off(statements: list[ast.stmt]) -> bool:
    """Whether control may reach the end of a function's block without a `return` or `raise` (errs on the true side)."""
    for s in statements:
        match s:
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.If() if s.orelse and not falls_off(s.body) and not falls_off(s.orelse):
                return False
            case ast.With() if not falls_off(s.body):
                return False
            case ast.Match(cases=[*_, ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None)]) if not any(
                    falls_off(c.body) for c in s.cases):
                return False
            case ast.While(test=ast.Constant(value=True)) if not _breaks(s.body):
                return False
            case ast.Try() | ast.TryStar() if s.finalbody and not falls_off(s.finalbody):
                return False
            case ast.Try() | ast.TryStar() if not falls_off([*s.body, *s.orelse]) and not any(
                    falls_off(h.body) for h in s.handlers):
                return False
    return True


def _breaks(statements: list[ast.stmt]) -> bool:
    """Whether a `break` leaves the loop around the block."""
    for s in statements:
        if isinstance(s, ast.Break):
            return True
        if not isinstance(s, SCOPES):
            blocks = [s.orelse] if isinstance(s, (*LOOPS, ast.AsyncFor)) else inner_blocks(s)
            if any(_breaks(b) for b in blocks):
                return True
    return False


def _jumps_in_finally(function: ast.FunctionDef) -> bool:
    return any(map(_jumps_at_the_end, walk_block(function.body)))


def _jumps_at_the_end(node: ast.AST) -> bool:
    return isinstance(node, TRIES) and (contains(node.finalbody, ast.Return) or escaping(node.finalbody))


def _let_through(function: ast.FunctionDef) -> None:
    """A jump in `finally` discards what was raised, but no error of ours."""
    for node in list(walk_block(function.body)):
        if _jumps_at_the_end(node):
            first = node.finalbody[0]       # type: ignore[attr-defined]
            node.finalbody.insert(0, at_location(ast.Expr(operator_call("let_through")), first))    # type: ignore[attr-defined]


def name(identifier: str, store: bool = False) -> ast.Name:
    return ast.Name(identifier, ast.Store() if store else ast.Load())


def assign(identifier: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return at_location(ast.Assign([name(identifier, store=True)], value), at)


def at_location(node: N, at: ast.AST) -> N:
    """Give `node`, and what is below it without a place, the place of `at`."""
    stack: list[ast.AST] = [node]
    node.placed = True      # expressions are made from the inside out: what is in order is not looked through again
    while stack:
        n = stack.pop()
        stack += [below for below in children(n) if not hasattr(below, "placed")]
        if "lineno" in n._attributes and getattr(n, "lineno", None) is None:
            ast.copy_location(n, at)
            # On one line: Python reports a method call at the line where its attribute ends.
            n.end_lineno, n.end_col_offset = n.lineno, n.col_offset
    return node


def operator_call(operator: str, *arguments: ast.expr, keywords: Iterable[ast.keyword] = ()) -> ast.Call:
    """`ag__.operator(arguments...)`, marked so that no later step converts it again."""
    function = ast.Attribute(name("ag__"), operator, ast.Load())
    function.generated = True
    call = ast.Call(function, list(arguments), list(keywords))
    call.generated = True
    return call


def keeps_jumps(function: ast.FunctionDef) -> bool:
    """Whether Python itself runs the statements of the function that jump."""
    return contains(function.body, SUSPENSIONS) or _jumps_in_finally(function)


class JumpLowering:
    """Lowers the body of one function (nested functions are lowered on their own)."""

    def __init__(self, function: ast.FunctionDef, namer: Iterator[int]) -> None:
        self.function = function
        self.namer = namer
        self.generator = contains(function.body, SUSPENSIONS)
        self.all_native = _jumps_in_finally(function)
        if self.all_native:
            _let_through(function)
        self.loops: list[dict] = []
        self.shielded = 0       # what runs on the way out may read anything

    def run(self) -> list[ast.stmt]:
        """The lowered body. A function whose only `return`s stand at its top level keeps them."""
        body = self.function.body
        guarded = getattr(self.function, "guarded", False)      # anything may jump to the end
        nested = any(contains([s], ast.Return) for s in body if guarded or not isinstance(s, ast.Return))
        self.native_returns = self.generator or self.all_native or not nested
        returns = ast.Constant(True) if not getattr(self.function, "falls_off", falls_off(body)) else name(RETURNED)
        lowered, flags = self.block(body)
        if RETURNED not in flags:
            return lowered
        first, last = body[0], body[-1]
        start = [assign(RETURNED, ast.Constant(False), first), assign(VALUE, operator_call("unset"), first)]
        end = at_location(ast.Return(operator_call("result", returns, name(VALUE))), last)
        return [*start, *lowered, end]

    def is_native(self, node: ast.stmt) -> bool:
        if self.all_native or self.generator and contains([node], SUSPENSIONS):
            return True
        if self.native_returns and contains([node], ast.Return):
            return True
        loop_is_native = bool(self.loops) and self.loops[-1]["native"]
        return loop_is_native and escaping([node])

    def block(self, statements: list[ast.stmt]) -> tuple[list[ast.stmt], set[str]]:
        """The lowered statements and the flags they may set."""
        out: list[ast.stmt] = []
        flags: set[str] = set()
        for position, s in enumerate(statements):
            rest = statements[position + 1:]
            if isinstance(s, ast.If) and rest and not self.is_native(s):
                moved = self._with_rest(s, rest)
                if moved is not None:
                    s, rest = moved, []
            lowered, set_here = self.statement(s)
            out += lowered
            flags |= set_here
            if always_jumps([s]) and not self.generator:
                break
            if not rest:
                break
            if set_here:
                guarded, more = self.block(rest)
                guard = at_location(ast.If(_none_of(set_here), guarded, []), rest[0])
                guard.leaves = None, self.leaving(set_here)
                out.append(guard)
                flags |= more
                break
        return out or [at_location(ast.Pass(), self.function)], flags

    @staticmethod
    def _with_rest(s: ast.If, rest: list[ast.stmt]) -> ast.If | None:
        """The `if` with what follows it moved into the branch that goes on, where the other one never does."""
        if always_jumps(s.body):
            return ast.copy_location(ast.If(s.test, s.body, [*s.orelse, *rest]), s)
        if s.orelse and always_jumps(s.orelse):
            return ast.copy_location(ast.If(s.test, [*s.body, *rest], s.orelse), s)
        return None

    def statement(self, s: ast.stmt) -> tuple[list[ast.stmt], set[str]]:
        if flag := getattr(s, "sets_flag", None):       # see `handlers`
            return [s], {flag}
        match s:
            case ast.Return():
                if self.native_returns:
                    return [s], set()
                value = s.value or ast.Constant(None)
                return [assign(VALUE, value, s), assign(RETURNED, ast.Constant(True), s)], {RETURNED}
            case ast.Break() | ast.Continue():
                return self._loop_jump(s)
            case ast.If():
                s.native = self.is_native(s)
                jumps = always_jumps(s.body), always_jumps(s.orelse)
                s.body, flags = self.block(s.body)
                sides = [flags, set()]
                if s.orelse:
                    s.orelse, sides[1] = self.block(s.orelse)
                s.leaves = tuple(self.leaving(side) if always else None
                                 for side, always in zip(sides, jumps, strict=True))
                return [s], flags | sides[1]
            case ast.For() | ast.While():
                return self._loop(s)
            case ast.Try() | ast.TryStar():
                return self._try(s)
            case ast.With():
                self.shielded += 1
                s.body, flags = self.block(s.body)
                self.shielded -= 1
                return [s], flags
        return [s], set()

    def leaving(self, flags: set[str]) -> frozenset[str] | None:
        """The flags, one of which a path sets that leaves the innermost loop or the function by them; None where it may
        go on in here."""
        ways = {RETURNED, *(loop["broke"] for loop in self.loops[-1:])}
        return frozenset(flags) if flags and flags <= ways and not self.shielded else None

    def _loop_jump(self, s: ast.Break | ast.Continue) -> tuple[list[ast.stmt], set[str]]:
        loop = self.loops[-1]
        if loop["native"]:
            return [s], set()
        kind = "broke" if isinstance(s, ast.Break) else "skip"
        flag = loop[kind]
        return [assign(flag, ast.Constant(True), s)], {flag}

    def _loop(self, s: ast.For | ast.While) -> tuple[list[ast.stmt], set[str]]:
        s.native = self.is_native(s)
        number = next(self.namer)
        loop = {"native": s.native, "broke": f"ag__broke_{number}", "skip": f"ag__skip_{number}"}
        self.loops.append(loop)
        s.body, flags = self.block(s.body)
        self.loops.pop()
        orelse, after = self.block(s.orelse) if s.orelse else ([], set())
        if s.native:
            s.orelse = orelse
            return [s], flags | after
        before = []
        if loop["broke"] in flags:
            before.append(assign(loop["broke"], ast.Constant(False), s))
        if loop["skip"] in flags:
            s.body.insert(0, assign(loop["skip"], ast.Constant(False), s))
        s.stop_flags = tuple(sorted(flags - {loop["skip"]}))
        if not self.shielded:
            s.broke = loop["broke"]
        s.orelse = []
        if orelse and s.stop_flags:
            orelse = [at_location(ast.If(_none_of(s.stop_flags), orelse, []), orelse[0])]
        return [*before, s, *orelse], (flags - {loop["broke"], loop["skip"]}) | after

    def _try(self, s: ast.Try | ast.TryStar) -> tuple[list[ast.stmt], set[str]]:
        self.shielded += 1
        try:
            return self._shielded(s)
        finally:
            self.shielded -= 1

    def _shielded(self, s: ast.Try | ast.TryStar) -> tuple[list[ast.stmt], set[str]]:
        s.body, flags = self.block(s.body)
        flags -= {getattr(s, "flag", None)}
        if s.orelse:
            orelse, more = self.block(s.orelse)
            s.orelse = [at_location(ast.If(_none_of(flags), orelse, []), orelse[0])] if flags else orelse
            flags = flags | more
        for handler in s.handlers:
            handler.body, more = self.block(handler.body)
            flags = flags | more
        if s.finalbody:
            s.finalbody, more = self.block(s.finalbody)
            flags = flags | more
        return [s], flags


def _none_of(flags: Iterable[str]) -> ast.expr:
    ordered = sorted(flags)
    any_of = name(ordered[0]) if len(ordered) == 1 else ast.BoolOp(ast.Or(), [name(f) for f in ordered])
    return ast.UnaryOp(ast.Not(), any_of)
