"""Which local variables may still be read: backward over the structured statements that `jumps` leaves.

`annotate` writes `node.live_out` on every `if` and loop, and `node.live_head` on loops (what the next iteration, the
test or the code after the loop may read). On an `if` one of whose sides leaves the loop or the function, and on loops
that are left, `node.left` says what may be read on that path. Sets only err on the large side: a variable that is
carried needlessly costs a little, one that is forgotten would be wrong.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from reactant.frontends.source.jumps import COMPREHENSIONS, LOOPS, RETURNED, SCOPES, TRIES, VALUE, children

Names = frozenset[str]
_NONE: Names = frozenset()


def arguments_of(arguments: ast.arguments) -> list[str]:
    """Every parameter name."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [a.arg for a in every]


_PLAIN = frozenset(kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)
                   and not issubclass(kind, (*SCOPES, *COMPREHENSIONS, ast.Name, ast.ExceptHandler,
                                             ast.Import, ast.ImportFrom, ast.AugAssign)))
"""Nodes that do what those below them do."""


def names_in(node: ast.AST, captures: bool = True) -> list[tuple[str, str]]:
    """('read' | 'write' | 'capture', name) for what evaluating `node` does; captures are reads at an unknown time
    (without them, functions inside are not looked into)."""
    found: list[tuple[str, str]] = []
    _add_names(node, captures, found)
    return found


def _add_names(node: ast.AST, captures: bool, found: list[tuple[str, str]]) -> None:
    kind = type(node)
    if kind is ast.Name:
        found.append(("read" if type(node.ctx) is ast.Load else "write", node.id))
        return
    if kind in COMPREHENSIONS:
        found += _names_in_comprehension(node, captures)
        return
    if kind not in _PLAIN:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                if not isinstance(node, ast.Lambda):
                    found.append(("write", node.name))
                if captures:
                    found += [("capture", n) for n in sorted(free_names(node))]
                return
            case ast.Import() | ast.ImportFrom():
                found += [("write", (alias.asname or alias.name).split(".")[0]) for alias in node.names]
                return
            case ast.ExceptHandler(name=str() as bound):
                found.append(("write", bound))
            case ast.AugAssign(target=ast.Name(id=identifier)):
                found.append(("read", identifier))
    for child in children(node):
        _add_names(child, captures, found)


def free_names(node: ast.AST) -> Names:
    """Names that `node` may mean of the scopes around it: a function's parameters and local variables are its own."""
    match node:
        case ast.Name(id=identifier):
            return frozenset([identifier])
        case ast.Nonlocal() | ast.Global():
            return frozenset(node.names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            body = node.body if isinstance(node.body, list) else [node.body]
            shared = {n for d in _declared(body) for n in d.names}
            own = {*arguments_of(node.args), *writes(body)} - shared
            around = [v for f, v in ast.iter_fields(node) if f != "body"]
            return (_free_below(body) - own) | _free_below([*around])
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            own = {n.id for g in node.generators for n in ast.walk(g.target)
                   if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            return _free_below(children(node)) - own | free_names(node.generators[0].iter)
    return _free_below(children(node))


def _free_below(nodes: Iterable[object]) -> Names:
    flat = (x for node in nodes for x in (node if isinstance(node, list) else [node]))
    return frozenset(n for node in flat if isinstance(node, ast.AST) for n in free_names(node))


def _declared(body: Iterable[ast.AST]) -> Iterator[ast.Nonlocal | ast.Global]:
    """The `nonlocal` and `global` statements of a function, not those of functions inside."""
    for node in body:
        if isinstance(node, (ast.Nonlocal, ast.Global)):
            yield node
        elif not isinstance(node, SCOPES):
            yield from _declared(children(node))


def _names_in_comprehension(node: ast.AST, captures: bool) -> Iterator[tuple[str, str]]:
    own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    walrus = {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
    below: list[tuple[str, str]] = []
    for child in children(node):
        _add_names(child, captures, below)
    for kind, identifier in below:
        if identifier in own:
            continue
        if kind == "write" and identifier in walrus:
            yield "write", identifier
        elif kind != "write":
            yield ("capture" if isinstance(node, ast.GeneratorExp) else kind), identifier
    # what it runs over first is evaluated outside: `[o.x for o in (a, o)]`
    yield from (("read", n) for k, n in names_in(node.generators[0].iter) if k == "read")


def reads(nodes: Iterable[ast.AST | None]) -> Names:
    return frozenset(n for node in nodes if node is not None for k, n in names_in(node) if k != "write")


def writes(nodes: Iterable[ast.AST | None]) -> Names:
    """Names bound in the statements, at any depth of the same scope."""
    return frozenset(n for node in nodes if node is not None for k, n in names_in(node, False) if k == "write")


def captured(statements: Iterable[ast.stmt]) -> Names:
    """Names that nested functions, lambdas, classes and generator expressions mention."""
    return frozenset(n for s in statements for k, n in names_in(s) if k == "capture")


class Liveness:
    def __init__(self, everything: Names) -> None:
        self.everything = everything
        self.after: dict[str, Names] = {RETURNED: frozenset((VALUE,))}
        """What this function may read once a flag is set by which it, or a loop, is left."""

    def left(self, flags: Iterable[str] | None) -> Names | None:
        return None if flags is None else frozenset().union(*(self.after.get(f, self.everything) for f in flags))

    def block(self, statements: list[ast.stmt], out: Names, handlers: Names = _NONE) -> Names:
        for s in reversed(statements):
            out = self.statement(s, out, handlers) | handlers
        return out

    def statement(self, s: ast.stmt, out: Names, handlers: Names) -> Names:
        """What is live before `s`; `handlers` is live wherever an exception may leave."""
        match s:
            case ast.If():
                s.live_out = out | handlers
                s.left = [self.left(side) for side in getattr(s, "leaves", ())]
                inside = self.block(s.body, out, handlers) | self.block(s.orelse, out, handlers)
                return inside | reads([s.test])
            case ast.While() | ast.For():
                return self._loop(s, out, handlers)
            case ast.With():
                inside = self.block(s.body, out, handlers | out)
                return inside | reads(s.items)
            case ast.Try() | ast.TryStar():
                return self._try(s, out, handlers)
            case ast.Break() | ast.Continue():
                return self.everything
            case ast.Return() | ast.Raise():
                return handlers | reads([s])
            case ast.AsyncFor() | ast.AsyncWith():
                return self.everything
        return (out - writes([s])) | reads([s])

    def _loop(self, s: ast.For | ast.While, out: Names, handlers: Names) -> Names:
        s.live_out = out | handlers
        if hasattr(s, "broke"):
            self.after[s.broke] = s.live_out
            s.left = self.left(s.stop_flags) | handlers
        head = out | handlers | frozenset(getattr(s, "stop_flags", ()))
        target: Names = _NONE
        if isinstance(s, ast.For):
            target, asked = writes([s.target]), reads([s.target])
        else:
            asked = reads([s.test])
        head |= asked | self.block(s.orelse, out, handlers)
        while True:
            wider = head | (self.block(s.body, head, handlers) - target)
            if wider == head:
                break
            head = wider
        s.live_head = head
        return head | reads([s.iter]) if isinstance(s, ast.For) else head

    def _try(self, s: ast.Try | ast.TryStar, out: Names, handlers: Names) -> Names:
        last = self.block(s.finalbody, out, handlers)
        caught = last
        for handler in s.handlers:
            caught |= self.block(handler.body, last, handlers | last) | reads([handler.type])
        after = self.block(s.orelse, last, handlers | last)
        return self.block(s.body, after, handlers | caught) | caught


class Binding:
    """Marks, by `node.unsure`, where a function reads a local variable that some path to there does not bind."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.local = writes(function.body) - frozenset(arguments_of(function.args))
        self.block(function.body, _NONE)

    def block(self, statements: list[ast.stmt], bound: Names) -> Names | None:
        """What is bound after the statements; None where nothing comes after."""
        for s in statements:
            after = self.statement(s, bound)
            if after is None:
                return None
            bound = after
        return bound

    def statement(self, s: ast.stmt, bound: Names) -> Names | None:
        match s:
            case ast.If():
                self.expression(s.test, bound)
                return self.either([self.block(s.body, bound), self.block(s.orelse, bound)])
            case ast.While() | ast.For():
                head = s.test if isinstance(s, ast.While) else s.iter
                self.expression(head, bound)
                self.block(s.body, bound | (writes([head]) if isinstance(s, ast.While) else writes([s.target])))
                self.block(s.orelse, bound)
                return bound
            case ast.With():
                self.expression(s, bound, s.items)
                return self.block(s.body, bound | writes(s.items))
            case ast.Try() | ast.TryStar():
                ends = [self.block([*s.body, *s.orelse], bound)]
                ends += [self.block(h.body, bound | {h.name or ""}) for h in s.handlers]
                self.block(s.finalbody, bound)
                after = self.either(ends)
                return None if after is None else after | writes(s.finalbody)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.expression(s, bound)
                return None
        if not isinstance(s, SCOPES):
            self.expression(s, bound)
        return bound | writes([s])

    @staticmethod
    def either(ends: list[Names | None]) -> Names | None:
        reached = [e for e in ends if e is not None]
        return frozenset.intersection(*reached) if reached else None

    def expression(self, node: ast.AST, bound: Names, parts: Iterable[ast.AST] | None = None) -> None:
        for part in [node] if parts is None else parts:
            inside = bound | writes([part]) if any(isinstance(n, ast.NamedExpr) for n in ast.walk(part)) else bound
            for n in ast.walk(part):
                if isinstance(n, ast.Name) and n.id in self.local and n.id not in inside and (
                        isinstance(n.ctx, ast.Load) or isinstance(part, ast.AugAssign)):
                    n.unsure = True


__all__ = ["COMPREHENSIONS", "LOOPS", "SCOPES", "TRIES", "Binding", "Liveness", "Names", "arguments_of", "captured",
           "free_names", "names_in", "reads", "writes"]
