"""Iteration every `if` and loop of a lowered function into local functions and a call of an operator.

    if test: A                      def ag__then_1(): nonlocal a, b; A
    else: B              becomes    def ag__else_1(): nonlocal a, b; B
                                    ag__.if_stmt(test, ag__then_1, ag__else_1, ('a',), ('b',))

The operator reads and writes the variables through the functions' cells: the first tuple names those that may be read
afterwards, the second those that the blocks assign and nothing reads again. Loops add the flags that end them:

    for t in xs: A       becomes    def ag__body_2(ag__item): nonlocal t, a, ag__broke_1; t = ag__item; A
                                    ag__.for_stmt(xs, ag__body_2, ('ag__broke_1',), ('a',), ('t',), ('a',))
    while test: A        becomes    ag__.while_stmt(ag__test_3, ag__body_3, flags, live, dead, rebound)

The last tuple names the variables that are bound anew, not only updated in place (`a += 1`). Where there are such, two
more name the lists that the body only appends to, and those with which it does more. Where a side of an `if` leaves a
loop or the function, and with `for` loops that are left, `left` names what may be read on that path. Where a function
assigns variables of another scope (`nonlocal`, `global`), `ag__.touch` is told before.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from reactant.frontends.source import jumps, try_statements
from reactant.frontends.source.jumps import at_location, name, operator_call
from reactant.frontends.source.liveness import Liveness, Names, arguments_of, captured, reads, writes

ITEM = "ag__item"
RESIZING = frozenset(("pop", "popleft", "extend", "insert", "remove", "appendleft", "extendleft"))
"""Methods of lists and deques that change how many elements there are, besides `append`."""
RESIZING_FUNCTIONS = frozenset(("heappush", "heappop", "insort", "insort_left", "insort_right"))
"""Functions that do so with their first argument."""


def convert_function_body(function: ast.FunctionDef, namer: Iterator[int], catching: bool = False) -> frozenset[str]:
    """Lower and outline `function` in place, nested functions first; returns the variables that live in cells.
    `catching`: the function is called where a handler waits for what it raises."""
    hoisted: frozenset[str] = frozenset()
    inside = catching or try_statements.has_handlers(function)
    for nested in nested_functions(function.body):
        hoisted |= convert_function_body(nested, namer, inside)
    if not jumps.keeps_jumps(function):
        if not hasattr(function, "falls_off"):      # `named` has looked before
            function.falls_off = jumps.falls_off(function.body)
        try_statements.lower(function, namer, catching)
    statements = function.body
    declared = _declarations(statements)
    bound = writes(statements)
    if shared := declared[ast.Global] | declared[ast.Nonlocal]:
        statements[:] = _announced(statements, shared)
    function.body = jumps.JumpLowering(function, namer).run()
    always = captured(function.body) | declared[ast.Global] | declared[ast.Nonlocal]
    everything = reads(function.body) | bound | always
    Liveness(everything).block(function.body, always)
    outliner = Outliner(always, declared[ast.Global], namer)
    function.body = outliner.block(function.body)
    own = outliner.hoisted - set(arguments_of(function.args)) - declared[ast.Nonlocal] - declared[ast.Global]
    lost = bound - writes(function.body)
    _declare(function, sorted(own | (lost - declared[ast.Nonlocal] - declared[ast.Global]
                                     - set(arguments_of(function.args)))))
    return hoisted | outliner.hoisted


def nested_functions(statements: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The `def`s directly inside a function's statements, also inside its classes; not inside those functions."""
    stack: list[ast.AST] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef):
            yield node
        elif not isinstance(node, (ast.AsyncFunctionDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


def _announced(statements: list[ast.stmt], shared: frozenset[str]) -> list[ast.stmt]:
    """`ag__.touch(lambda: (a, b), ('a', 'b'))` before each statement that assigns variables of another scope."""
    out: list[ast.stmt] = []
    for s in statements:
        compound = not isinstance(s, jumps.SCOPES) and any(True for _ in jumps.inner_blocks(s))
        assigned = writes([s]) & shared
        if compound:
            for field in ("body", "orelse", "finalbody"):
                if block := getattr(s, field, None):
                    setattr(s, field, _announced(block, shared))
            for handler in getattr(s, "handlers", ()):
                handler.body = _announced(handler.body, shared)
        if assigned:
            # A lambda of their names has their cells, and reading them is never needed.
            names = ast.Tuple([name(n) for n in sorted(assigned)], ast.Load())
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            cells = ast.Lambda(empty, names)
            cells.generated = True
            out.append(at_location(ast.Expr(operator_call("touch", cells, _tuple(sorted(assigned)))), s))
        out.append(s)
    return out


def _declarations(statements: list[ast.stmt]) -> dict[type, frozenset[str]]:
    found: dict[type, set[str]] = {ast.Global: set(), ast.Nonlocal: set()}
    for node in jumps.walk_block(statements):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found[type(node)].update(node.names)
    return {kind: frozenset(names) for kind, names in found.items()}


def _declare(function: ast.FunctionDef, names: list[str]) -> None:
    """Make `names` local variables of the function without binding them: a branch that never runs."""
    if not names:
        return
    never = ast.If(ast.Constant(False), [ast.Assign([name(n, store=True) for n in names], ast.Constant(None))], [])
    at = function.body[0]
    documented = (isinstance(at, ast.Expr) and isinstance(at.value, ast.Constant) and isinstance(at.value.value, str))
    function.body.insert(1 if documented else 0, at_location(never, at))


class Outliner:
    def __init__(self, always_live: Names, global_names: Names, namer: Iterator[int]) -> None:
        self.always_live = always_live
        self.global_names = global_names
        self.namer = namer
        self.hoisted: frozenset[str] = frozenset()

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [made for s in statements for made in self.statement(s)]

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        if isinstance(s, (ast.If, ast.While, ast.For)) and not getattr(s, "native", False):
            match s:
                case ast.If():
                    return self._if(s)
                case ast.While():
                    return self._while(s)
                case ast.For():
                    return self._for(s)
        if isinstance(s, (ast.If, ast.While)):
            s.test = at_location(operator_call("truth", s.test), s)
        elif isinstance(s, ast.For):
            s.iter = at_location(operator_call("iterate", s.iter), s)
        if not isinstance(s, jumps.SCOPES):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(s, field, None), list):
                    setattr(s, field, self.block(getattr(s, field)))
            for handler in getattr(s, "handlers", ()):
                handler.body = self.block(handler.body)
        return [s]

    def _names(self, assigned: Names, live: Names) -> tuple[ast.expr, ast.expr]:
        self.hoisted |= assigned
        wanted = assigned & (live | self.always_live)
        return _tuple(sorted(wanted)), _tuple(sorted(assigned - wanted))

    def _function(self, identifier: str, body: list[ast.stmt], assigned: Names, parameters: tuple[str, ...],
                  at: ast.AST) -> ast.FunctionDef:
        declarations: list[ast.stmt] = []
        if outer := sorted(assigned - self.global_names):
            declarations.append(ast.Nonlocal(outer))
        if shared := sorted(assigned & self.global_names):
            declarations.append(ast.Global(shared))
        arguments = ast.arguments(posonlyargs=[], args=[ast.arg(p) for p in parameters], kwonlyargs=[], kw_defaults=[],
                                  defaults=[])
        made = ast.FunctionDef(name=identifier, args=arguments, body=[*declarations, *self.block(body)],
                               decorator_list=[])
        made.type_params = []
        made.generated = True
        return at_location(made, at)

    def _if(self, s: ast.If) -> list[ast.stmt]:
        assigned = writes([*s.body, *s.orelse])
        live, dead = self._names(assigned, s.live_out)
        number = next(self.namer)
        made = [self._function(f"ag__then_{number}", s.body, writes(s.body), (), s.body[0])]
        if s.orelse:
            made.append(self._function(f"ag__else_{number}", s.orelse, writes(s.orelse), (), s.orelse[0]))
        otherwise = name(f"ag__else_{number}") if s.orelse else ast.Constant(None)
        left = [ast.Tuple([ast.Constant(None) if names is None else _tuple(sorted(names)) for names in s.left],
                          ast.Load())] if any(names is not None for names in s.left) else []
        call = operator_call("if_stmt", s.test, name(f"ag__then_{number}"), otherwise, live, dead, *left)
        return [*made, at_location(ast.Expr(call), s)]

    def _while(self, s: ast.While) -> list[ast.stmt]:
        assigned = writes([*s.body, s.test])
        live, dead = self._names(assigned, s.live_head)
        number = next(self.namer)
        lists = _appended([*s.body, ast.Expr(s.test)])
        test = self._function(f"ag__test_{number}", [ast.copy_location(ast.Return(s.test), s.test)], writes([s.test]),
                              (), s.test)
        body = self._function(f"ag__body_{number}", s.body, writes(s.body), (), s.body[0])
        call = operator_call("while_stmt", name(test.name), name(body.name), _tuple(s.stop_flags), live, dead,
                             _tuple(_rebound([*s.body, ast.Expr(s.test)])), *self._lists(lists))
        return [test, body, at_location(ast.Expr(call), s)]

    def _for(self, s: ast.For) -> list[ast.stmt]:
        assigned = writes([*s.body, s.target])
        targets = writes([s.target])
        live, dead = self._names(assigned, s.live_head)
        number = next(self.namer)
        lists = _appended(s.body)
        item = at_location(ast.Assign([s.target], name(ITEM)), s)
        left = [ast.keyword("left", _tuple(sorted(s.left)))] if s.stop_flags and hasattr(s, "left") else []
        body = self._function(f"ag__body_{number}", [item, *s.body], assigned, (ITEM,), s.body[0])
        call = operator_call("for_stmt", s.iter, name(body.name), _tuple(s.stop_flags), live, dead,
                             _tuple(sorted({*targets, *_rebound(s.body)})),
                             *self._lists(lists), keywords=left)
        return [body, at_location(ast.Expr(call), s)]

    @staticmethod
    def _lists(names: tuple[list[str], list[str]]) -> list[ast.expr]:
        return [_tuple(n) for n in names] if any(names) else []


def _appended(statements: list[ast.stmt]) -> tuple[list[str], list[str]]:
    """Names with which the block does nothing but `name.append(...)`, `name.extend([...])` or `name += [...]`; and
    names with which it does that, `name.pop()`, `heappush(name, x)`, `del name[k]` and more, but does not bind them."""
    appends: dict[str, int] = {}
    taken: set[str] = set()
    mentions: dict[str, int] = {}
    bound: dict[str, int] = {}
    for s in statements:
        for n in ast.walk(s):
            match n:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=identifier), attr="append"), args=[_],
                                             keywords=[])) \
                        | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=identifier), attr="extend"),
                                                  args=[ast.List() | ast.Tuple()], keywords=[])):
                    appends[identifier] = appends.get(identifier, 0) + 1
                case ast.Call(func=ast.Attribute(value=ast.Name(id=identifier), attr=attribute)) \
                        if attribute in RESIZING:
                    taken.add(identifier)
                case ast.Call(func=ast.Attribute(attr=function) | ast.Name(id=function),
                              args=[ast.Name(id=identifier), *_]) if function in RESIZING_FUNCTIONS:
                    taken.add(identifier)
                case ast.Delete(targets=targets):
                    taken.update(t.value.id for t in targets
                                 if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name))
                case ast.AugAssign(target=ast.Name(id=identifier), op=ast.Add(), value=ast.List()):
                    appends[identifier] = appends.get(identifier, 0) + 1
                    bound[identifier] = bound.get(identifier, 0) - 1
                case ast.Name(id=identifier, ctx=context):
                    mentions[identifier] = mentions.get(identifier, 0) + 1
                    bound[identifier] = bound.get(identifier, 0) + (not isinstance(context, ast.Load))
    only = {n for n, times in appends.items() if mentions[n] == times}
    return sorted(only), sorted(n for n in (appends.keys() | taken) - only if not bound.get(n))


def _rebound(statements: list[ast.stmt]) -> list[str]:
    """Names that the block binds by something else than an augmented assignment."""
    updated = [n.target.id for n in jumps.walk_block(statements)
               if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
    stores = [n.id for n in jumps.walk_block(statements) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    only_updated = {n for n in updated if stores.count(n) == updated.count(n)}
    return sorted(writes(statements) - only_updated)


def _tuple(names: list[str] | tuple[str, ...]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())
