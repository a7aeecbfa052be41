"""Send calls, attribute and item access, in-place operators, `and/or/not`, chained comparisons, `in`, conditional
expressions, `assert` and `raise` through the operator namespace `ag__`.

Sub-expressions are evaluated once and in Python's order. An expression that assigns (`:=`) or suspends (`yield`,
`await`) cannot move into a thunk; there Python's own operator stays and `ag__.truth` looks at the decisions.
"""
from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator

from reactant.frontends.source.jumps import at_location, name, operator_call
from reactant.frontends.source.operators import CHANGING

FRAME_BOUND = {"super", "globals", "locals", "eval", "exec", "vars", "dir", "breakpoint", "__import__"}
"""Builtins that look at the frame that calls them: left as direct calls."""
ITEM = "ag__item"
CALLS_AT_ONCE = {"sum", "any", "all", "min", "max", "sorted", "list", "tuple", "set", "len", "next"}
"""Builtins that keep no function they are given."""
_MOVES_NOT = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def _movable(nodes: Iterable[ast.AST]) -> bool:
    return not any(isinstance(below, _MOVES_NOT) for n in nodes for below in ast.walk(n))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _is_literal(node: ast.expr) -> bool:
    """Whether it is a number, or arithmetic on numbers."""
    return all(isinstance(n, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)) for n in ast.walk(node))


def _thunk(expression: ast.expr) -> ast.Lambda:
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(arguments, expression), expression)


def _is_pattern(target: ast.expr) -> bool:
    """Whether a target is names, or tuples of such."""
    return isinstance(target, ast.Name) or isinstance(target, ast.Tuple) and all(map(_is_pattern, target.elts))


def _is_generated(node: ast.GeneratorExp | ast.ListComp) -> bool:
    """Whether the parts of a comprehension can be functions of what its targets are bound to."""
    return _movable([node]) and not _may_keep_variables(node) \
        and all(not g.is_async and _is_pattern(g.target) for g in node.generators)


def _may_keep_variables(node: ast.AST) -> bool:
    """Whether a function inside may outlive the turn it is made in: all of them share the variables of the last one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS_AT_ONCE:
        return any(_may_keep_variables(below) for a in (*node.args, *(k.value for k in node.keywords))
                   for below in ast.iter_child_nodes(a))
    return any(isinstance(below, (ast.Lambda, ast.GeneratorExp)) or _may_keep_variables(below)
               for below in ast.iter_child_nodes(node))


def _folds(function: ast.expr, argument: ast.expr) -> bool:
    """Whether `function(argument)` may be a fold over a generator expression."""
    match function, argument:
        case ast.Name("sum" | "any" | "all" | "min" | "max" | "sorted" | "list" | "tuple"), ast.GeneratorExp():
            return _is_generated(argument)
    return False


def _lambda(names: list[str], expression: ast.expr) -> ast.Lambda:
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[],
                              defaults=[])
    return ast.copy_location(ast.Lambda(arguments, expression), expression)


def _function_of(target: ast.expr, expression: ast.expr) -> ast.Lambda:
    """`lambda target: expression`."""
    if isinstance(target, ast.Name):
        return _lambda([target.id], expression)
    return _lambda([ITEM], _unpacked(target, expression, ITEM))


def _unpacked(target: ast.Tuple, expression: ast.expr, source: str) -> ast.expr:
    """`expression` where the names of `target` are bound to the parts of `source`."""
    names = []
    last = {element.id: position for position, element in enumerate(target.elts) if isinstance(element, ast.Name)}
    for position, element in enumerate(target.elts):
        bound = isinstance(element, ast.Name) and last[element.id] == position      # of `_, _` the last
        names.append(element.id if bound else f"{source}_{position}")
        if not isinstance(element, ast.Name):
            expression = _unpacked(element, expression, names[-1])
    unpacked = ast.Call(_lambda(names, expression), [ast.Starred(name(source), ast.Load())], [])
    return ast.copy_location(unpacked, expression)


def mark_tests(root: ast.AST) -> None:
    """Note which `and` and `or` are asked for their truth only: their operands may be of several types."""
    tests: list[ast.expr] = []
    for node in ast.walk(root):
        match node:
            case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
                tests.append(node.test)
            case ast.UnaryOp(op=ast.Not()):
                tests.append(node.operand)
            case ast.comprehension():
                tests += node.ifs
    for test in tests:
        if isinstance(test, ast.BoolOp):
            test.only_truth = True
            tests += test.values


class ExpressionConversion(ast.NodeTransformer):
    def __init__(self, checked: frozenset[str], namer: Iterator[int]) -> None:
        self.checked = checked
        """Variables that control flow may leave without a usable value: each load of one is checked."""
        self.namer = namer

    # ---- scopes ------------------------------------------------------------------------------------------------

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.body = self.block(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # A class body has names that no function can reach, so only its methods are converted.
        node.body = [self.visit(s) if isinstance(s, (ast.FunctionDef, ast.ClassDef)) else s for s in node.body]
        return node

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            made = self.visit(s)
            out += made if isinstance(made, list) else [made]
        return out

    # ---- statements --------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        unpacked = isinstance(node.value, ast.Name) and any(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets)
        value = self.visit(node.value)
        if unpacked:        # an iterator is used up
            value = at_location(operator_call("iterate", value), node)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value, node)
        if all(isinstance(t, ast.Name) for t in node.targets):
            node.value = value
            return node
        held = self.temporary()
        out: list[ast.stmt] = [at_location(ast.Assign([name(held, store=True)], value), node)]
        for target in node.targets:
            out += self.store(target, name(held), node)
        return out

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt]:
        # Annotations of local variables are never evaluated.
        if node.value is None:
            return at_location(ast.Pass(), node)
        return self.store(node.target, self.visit(node.value), node)

    def store(self, target: ast.expr, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        """Statements that assign an already converted `value` to `target`."""
        match target:
            case ast.Subscript():
                call = operator_call("set_item", value, self.visit(target.value), self.index(target.slice))
            case ast.Attribute():
                call = operator_call("set_attr", value, self.visit(target.value), ast.Constant(target.attr))
            case ast.Tuple() | ast.List() if any(isinstance(n, (ast.Subscript, ast.Attribute))
                                                 for n in ast.walk(target)):
                return self._store_pattern(target, value, at)
            case _:
                return [at_location(ast.Assign([target], value), at)]
        return [at_location(ast.Expr(call), at)]

    def _store_pattern(self, target: ast.Tuple | ast.List, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        """Unpack into temporaries, then store them from left to right, as Python does."""
        leaves, held = [], []
        for element in target.elts:
            starred = isinstance(element, ast.Starred)
            leaf = element.value if starred else element
            temporary = self.temporary()
            leaves.append((leaf, temporary))
            slot = name(temporary, store=True)
            held.append(ast.Starred(slot, ast.Store()) if starred else slot)
        out: list[ast.stmt] = [at_location(ast.Assign([ast.Tuple(held, ast.Store())], value), at)]
        for leaf, temporary in leaves:
            out += self.store(leaf, name(temporary), at)
        return out

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        operator = ast.Constant(type(node.op).__name__)

        def updated(old: ast.expr) -> ast.expr:
            return operator_call("inplace", operator, old, self.visit(node.value))

        target = node.target
        if isinstance(target, ast.Name):
            old = self.visit(ast.copy_location(name(target.id), target))
            return at_location(ast.Assign([target], updated(old)), node)
        owner = self.temporary()
        out: list[ast.stmt] = [ast.Assign([name(owner, store=True)], self.visit(target.value))]
        if isinstance(target, ast.Attribute):
            key: ast.expr = ast.Constant(target.attr)
            kind = "attr"
        else:
            held = self.temporary()
            out.append(ast.Assign([name(held, store=True)], self.index(target.slice)))
            key, kind = name(held), "item"
        old = operator_call(f"get_{kind}", name(owner), key)
        out.append(ast.Expr(operator_call(f"set_{kind}", updated(old), name(owner), key)))
        return [at_location(s, node) for s in out]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for target in node.targets:
            match target:
                case ast.Subscript():
                    out.append(ast.Expr(operator_call("del_item", self.visit(target.value), self.index(target.slice))))
                case ast.Attribute():
                    out.append(ast.Expr(operator_call("del_attr", self.visit(target.value),
                                                      ast.Constant(target.attr))))
                case ast.Tuple() | ast.List():
                    out += self.visit_Delete(ast.copy_location(ast.Delete(target.elts), node))
                case _:
                    out.append(ast.Delete([target]))
        return [at_location(s, node) for s in out]

    def visit_With(self, node: ast.With) -> ast.AST:
        if len(node.items) > 1 and not all(isinstance(i.optional_vars, (ast.Name, type(None))) for i in node.items):
            inner = ast.copy_location(ast.With(node.items[1:], node.body), node)  # later items may read what is stored
            return self.visit(ast.copy_location(ast.With(node.items[:1], [inner]), node))
        before: list[ast.stmt] = []
        for item in node.items:
            item.context_expr = at_location(operator_call("context", self.visit(item.context_expr)), item.context_expr)
            if item.optional_vars is not None and not isinstance(item.optional_vars, ast.Name):
                held = self.temporary()
                before = self.store(item.optional_vars, name(held), node)
                item.optional_vars = ast.copy_location(name(held, store=True), item.optional_vars)
        node.body = [*before, *self.block(node.body)]
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        before: list[ast.stmt] = []
        if any(isinstance(n, (ast.Subscript, ast.Attribute)) for n in ast.walk(node.target)):
            held = self.temporary()
            before = self.store(node.target, name(held), node)
            node.target = ast.copy_location(name(held, store=True), node.target)
        node.body = [*before, *self.block(node.body)]
        node.orelse = self.block(node.orelse)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Where handlers follow, operators are told (`attempts`). What compiled code refuses is no exception of the
        program, so handlers do not see it."""
        node.body = self.block(node.body)
        if getattr(node, "generated", False):
            return node
        if node.handlers:
            attempt = getattr(node, "attempt", None)
            call = operator_call("catching", *((name(attempt),) if attempt else ()))
            item = ast.withitem(at_location(call, node.body[0]))
            node.body = [at_location(ast.With([item], node.body), node.body[0])]
            kinds = [_thunk(self.visit(copy.deepcopy(h.type))) for h in node.handlers if h.type]
            passed_on = ast.ExceptHandler(operator_call("refusals", *kinds), None, [ast.Raise()])
            node.handlers.insert(0, at_location(passed_on, node.handlers[0]))
        for handler in node.handlers[1:]:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = self.block(handler.body)
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return node

    visit_TryStar = visit_Try  # type: ignore[assignment]  # TryStar has the same fields

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if not _movable([node]):
            node.test = operator_call("truth", self.visit(node.test))
            return at_location(node, node)
        message = _thunk(self.visit(node.msg)) if node.msg is not None else ast.Constant(None)
        return at_location(ast.Expr(operator_call("assert_stmt", self.visit(node.test), message)), node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is not None:
            node.exc = at_location(operator_call("raised", self.visit(node.exc)), node.exc)
            node.cause = node.cause and self.visit(node.cause)
        return node

    # ---- expressions -------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.checked and not node.id.startswith("ag__"):
            return at_location(operator_call("ld", ast.copy_location(name(node.id), node)), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if getattr(node, "generated", False):
            node.args = [self.visit(a) for a in node.args]
            return node
        frame_bound = isinstance(node.func, ast.Name) and node.func.id in FRAME_BOUND
        function = node.func if frame_bound else self.function(node.func)
        arguments = [self.generated(a) if _folds(node.func, a) else self.visit(a) for a in node.args]
        keywords = [ast.copy_location(ast.keyword(k.arg, self.visit(k.value)), k) for k in node.keywords]
        if frame_bound:
            if arguments and node.func.id in ("vars", "dir"):       # type: ignore[attr-defined]
                arguments = [at_location(operator_call("looked_into", a), node) for a in arguments]
            return ast.copy_location(ast.Call(function, arguments, keywords), node)
        return at_location(operator_call("call", function, *arguments, keywords=keywords), node)

    def function(self, node: ast.expr) -> ast.expr:
        """What is called; of `rows[k].append`, the list and the place are told as well."""
        if not isinstance(node, ast.Attribute) or node.attr not in CHANGING:
            return self.visit(node)
        held = node.value
        indices: list[ast.expr] = []
        while isinstance(held, ast.Subscript):
            indices.insert(0, held.slice)
            held = held.value
        if not indices:
            return self.visit(node)
        container, places = self.visit(held), map(self.index, indices)
        return at_location(operator_call("get_method", container, ast.Constant(node.attr), *places), node)

    def generated(self, node: ast.GeneratorExp | ast.ListComp, first: int = 0) -> ast.expr:
        """A comprehension as its iterable, a function of an element (of what the next `for` generates, where there is
        one, or of what a list is made of, where an element is a comprehension) and one that decides about it, which a
        loop can call."""
        part, last = node.generators[first], first + 1 == len(node.generators)
        tests = part.ifs
        if len(tests) > 1:
            tests = [ast.copy_location(ast.BoolOp(ast.And(), tests), tests[0])]
            tests[0].only_truth = True
        rows = last and isinstance(node, ast.ListComp) and isinstance(node.elt, ast.ListComp) \
            and _is_generated(node.elt)
        inner = self.generated(node, first + 1) if not last else \
            self.generated(node.elt) if rows else self.visit(node.elt)
        functions = [_function_of(part.target, e) for e in (inner, *map(self.visit, tests))]
        if not tests:
            functions.append(ast.Constant(None))
        nested = [ast.Constant(not last), ast.Constant(rows)] if rows or not last else []
        return at_location(operator_call("generated", self.visit(part.iter), *functions, *nested), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        if node.format_spec is not None:
            node.value = at_location(operator_call("formatted", node.value, ast.Constant(node.conversion)), node)
            node.conversion = -1
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        conditional = any(g.ifs for g in node.generators)
        if conditional and _is_generated(node):
            return self.generated(node)
        return at_location(operator_call("generator", self.generic_visit(node)), node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        return at_location(operator_call("new_dict"), node) if not node.keys else self.generic_visit(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        pair = at_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        return at_location(operator_call("new_dict", self.hashed(pair, node)), node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        items = self.visit(at_location(ast.List(node.elts, ast.Load()), node))
        return at_location(operator_call("new_set", items), node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return at_location(operator_call("new_set", self.hashed(node.elt, node)), node)

    def hashed(self, element: ast.expr, node: ast.DictComp | ast.SetComp) -> ast.expr:
        """The list of what a dict or set is made of."""
        items = at_location(ast.ListComp(element, node.generators), node)
        if _is_generated(items):
            in_order = ast.Constant(isinstance(node, ast.DictComp))
            return at_location(operator_call("listed", self.generated(items), ast.Constant(True), in_order), items)
        self.generic_visit(items)
        return items

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        if _is_generated(node):
            return at_location(operator_call("listed", self.generated(node)), node)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if getattr(node, "generated", False) or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return at_location(operator_call("get_attr", self.visit(node.value), ast.Constant(node.attr)), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node if getattr(node, "generated", False) else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return at_location(operator_call("get_item", self.visit(node.value), self.index(node.slice)), node)

    def index(self, node: ast.expr) -> ast.expr:
        """An index as an expression of its own: `a:b:c` becomes `slice(a, b, c)`, also inside a tuple."""
        match node:
            case ast.Slice():
                parts = [self.visit(p) if p else ast.Constant(None) for p in (node.lower, node.upper, node.step)]
                return at_location(operator_call("slice", *parts), node)
            case ast.Tuple():
                return ast.copy_location(ast.Tuple([self.index(e) for e in node.elts], ast.Load()), node)
        return self.visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            return at_location(operator_call("not_", self.visit(node.operand)), node)
        return self._made(self._arithmetic(node))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._made(self._arithmetic(node))

    def _arithmetic(self, node: ast.expr) -> ast.expr:
        """An operand; only the outermost operator of an expression tells of the array that it made."""
        match node:
            case ast.BinOp() if not _is_literal(node):
                operands = [self._arithmetic(node.left), self._arithmetic(node.right)]
            case ast.UnaryOp() if not isinstance(node.op, ast.Not) and not _is_literal(node):
                operands = [self._arithmetic(node.operand)]
            case _:
                return node if _is_literal(node) else self.visit(node)
        return at_location(operator_call(type(node.op).__name__, *operands), node)

    @staticmethod
    def _made(node: ast.expr) -> ast.expr:
        return node if _is_literal(node) else at_location(operator_call("made", node), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        movable = _movable(node.values[1:])
        values = [self.visit(v) for v in node.values]
        if not movable:
            return self._native_bool(node, values)
        if getattr(node, "only_truth", False):
            values = [v if isinstance(given, ast.BoolOp) else at_location(operator_call("condition", v), v)
                      for v, given in zip(values, node.values, strict=True)]
        operator = "and_" if isinstance(node.op, ast.And) else "or_"
        return at_location(operator_call(operator, values[0], *map(_thunk, values[1:])), node)

    def _native_bool(self, node: ast.BoolOp, values: list[ast.expr]) -> ast.AST:
        node.values = [at_location(operator_call("decided", v), v) for v in values[:-1]] + values[-1:]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        movable = _movable([node.body, node.orelse])
        test, body, orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        if not movable:
            return ast.copy_location(ast.IfExp(at_location(operator_call("truth", test), test), body, orelse), node)
        return at_location(operator_call("if_exp", test, _thunk(body), _thunk(orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        movable = _movable(node.comparators[1:])
        left = self.visit(node.left)
        right = [self.visit(c) for c in node.comparators]
        if len(right) == 1:
            if isinstance(node.ops[0], (ast.In, ast.NotIn)):
                call = at_location(operator_call("contains", left, right[0]), node)
                return call if isinstance(node.ops[0], ast.In) else at_location(operator_call("not_", call), node)
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_truth(node.comparators[0]):
                call = at_location(operator_call("is_", left, right[0]), node)
                return call if isinstance(node.ops[0], ast.Is) else at_location(operator_call("not_", call), node)
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_none(node.comparators[0]):
                call = at_location(operator_call("is_none", left), node)
                return call if isinstance(node.ops[0], ast.Is) else at_location(operator_call("not_", call), node)
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
                call = at_location(operator_call("same", left, right[0]), node)
                return call if isinstance(node.ops[0], ast.Is) else at_location(operator_call("not_", call), node)
            return self._made(at_location(operator_call(type(node.ops[0]).__name__, left, right[0]), node))
        if not movable:
            return ast.copy_location(ast.Compare(left, node.ops, right), node)
        steps: list[ast.expr] = [ast.Constant(type(node.ops[0]).__name__), right[0]]
        for operator, operand in zip(node.ops[1:], right[1:], strict=True):
            steps += [ast.Constant(type(operator).__name__), _thunk(operand)]
        return at_location(operator_call("chain", left, *steps), node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = at_location(operator_call("iterate", self.visit(node.iter)), node.iter)
        node.ifs = [at_location(operator_call("truth", self.visit(i)), i) for i in node.ifs]
        return node

    def temporary(self) -> str:
        return f"ag__held_{next(self.namer)}"
