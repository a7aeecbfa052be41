"""Step 3: blocks and branches -> `scf.if`, `scf.while`, `scf.index_switch`.

`regions` says how the code nests; here its variables become SSA values again: an if returns what its branches assign
and somebody reads later, a loop carries what it assigns and reads again. Where a variable has no value on some path, it
has any value (`ub.poison`, which the clean-up turns into whatever is simplest).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.build import Builder
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.rebuild import argument_attributes, copied, new_function
from reactant.kernels.stages.regions import (
    Assign,
    Choice,
    Graph,
    Loop,
    Name,
    Number,
    Source,
    Statement,
    Undefined,
    Variable,
)

Environment = dict[Name, ir.Value]
MIXED = -1


def structure(module: ir.Module) -> ir.Module:
    """Change the module's kernel."""
    with building():
        old = kernel_of(module)
        Structured(old).rebuild()
        old.erase()
    return module


def used_values(op: ir.Operation) -> list[ir.Value]:
    """Operands of an op and of everything inside it (values defined inside included)."""
    found = list(op.operands)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                found += used_values(inner.operation)
    return found


def assigned(statements: Iterable[Statement]) -> set[Name]:
    """Everything that statements assign."""
    found: set[Name] = set()
    for statement in statements:
        if isinstance(statement, Assign):
            found.update(name for name, _ in statement.pairs)
        elif isinstance(statement, Choice):
            for _, body in statement.branches:
                found |= assigned(body)
        elif isinstance(statement, Loop):
            found |= assigned(statement.body)
        else:
            found.update(statement.results)
    return found


def live_before(statements: Sequence[Statement], after: set[Name]) -> set[Name]:
    """What is read by statements, or after them, before it is assigned."""
    live = set(after)
    for statement in reversed(statements):
        if isinstance(statement, Assign):
            live -= {name for name, _ in statement.pairs}
            live |= {source for name, source in statement.pairs if isinstance(source, (Variable, ir.Value))}
        elif isinstance(statement, Choice):
            live = set().union({statement.selector}, *(live_before(body, live) for _, body in statement.branches))
        elif isinstance(statement, Loop):
            live = live_at_head(statement, live)
        else:
            live -= set(statement.results)
            live |= set(used_values(statement))
    return live


def live_at_head(loop: Loop, after: set[Name]) -> set[Name]:
    """What a loop reads at the start of an iteration, or what is read after it and it does not assign."""
    head: set[Name] = set()
    while True:
        found = live_before(loop.body, after | head | {loop.again})
        if found <= head:
            return head
        head |= found


def last_value(statements: Sequence[Statement], name: Name) -> int | None:
    """The constant that `name` holds after statements; MIXED if it depends; None if they do not assign it."""
    for statement in reversed(statements):
        if isinstance(statement, Assign):
            for target, source in statement.pairs:
                if target is name:
                    return source.value if isinstance(source, Number) else MIXED
        elif isinstance(statement, Choice):
            found = {last_value(body, name) for _, body in statement.branches}
            if found != {None}:
                return found.pop() if len(found) == 1 else MIXED
        elif isinstance(statement, Loop) and name in assigned(statement.body):
            return MIXED
    return None


class Structured(Builder):
    """The rebuilding of one function."""

    def __init__(self, old: ir.Operation):
        super().__init__()
        self.old = old
        self.numbers: dict[Name, int] = {}

    def rebuild(self) -> None:
        entry = self.old.regions[0].blocks[0]
        statements = Graph(self.old).statements()
        _, block = new_function(self.old, [a.type for a in entry.arguments], argument_attributes(self.old))
        environment: Environment = dict(zip(entry.arguments, block.arguments, strict=True))
        self.number_all(statements)
        with ir.InsertionPoint(block), self.old.location:
            self.emit(statements, environment, set())
            ir.Operation.create("func.return")

    def ordered(self, names: Iterable[Name]) -> list[Name]:
        """Names in the order of the code, so that results do not depend on hashes."""
        return sorted(names, key=lambda n: self.numbers[n])

    def number_all(self, statements: Sequence[Statement]) -> None:
        """Number everything assigned, in the order of the code."""
        for statement in statements:
            if isinstance(statement, Assign):
                for name, _ in statement.pairs:
                    self.numbers.setdefault(name, len(self.numbers))
            elif isinstance(statement, Choice):
                for _, body in statement.branches:
                    self.number_all(body)
            elif isinstance(statement, Loop):
                self.number_all(statement.body)
            else:
                for result in statement.results:
                    self.numbers.setdefault(result, len(self.numbers))

    def poison(self, kind: ir.Type) -> ir.Value:
        return ir.Operation.create("ub.poison", [kind]).results[0]

    def value(self, source: Source, kind: ir.Type, environment: Environment) -> ir.Value:
        if isinstance(source, Number):
            return self.integer(source.value, kind)
        if isinstance(source, Undefined):
            return self.poison(kind)
        found = environment.get(source)
        return found if found is not None else self.poison(kind)

    def values(self, names: Sequence[Name], environment: Environment) -> list[ir.Value]:
        return [self.value(n, n.type, environment) for n in names]

    # -- statements

    def emit(self, statements: Sequence[Statement], environment: Environment, after: set[Name]) -> None:
        """Write statements; `after` is what is read behind them."""
        lives = [after]
        for statement in reversed(statements):
            lives.append(live_before([statement], lives[-1]))
        lives.reverse()
        for statement, live in zip(statements, lives[1:], strict=True):
            if isinstance(statement, Assign):
                self.assign(statement, environment, live)
            elif isinstance(statement, Choice):
                with statement.location or self.old.location:
                    self.choice(statement, environment, live)
            elif isinstance(statement, Loop):
                with statement.location or self.old.location:
                    self.loop(statement, environment, live)
            else:
                with statement.location:
                    made = self.own_copy(statement, environment)
                for old, new in zip(statement.results, made.results, strict=True):
                    environment[old] = new

    def own_copy(self, op: ir.Operation, environment: Environment) -> ir.Operation:
        """A copy of an op; shared memory becomes an alloca (see `pointers`)."""
        if op.name != "memref.alloc":
            return copied(op, lambda v: environment.get(v, v))
        attributes = {key: op.attributes[key] for key in op.attributes}
        return ir.Operation.create("memref.alloca", [op.results[0].type], attributes=attributes)

    def assign(self, statement: Assign, environment: Environment, live: set[Name]) -> None:
        new = [(name, self.value(source, name.type, environment)) for name, source in statement.pairs
               if name in live and not isinstance(source, Undefined)]
        for name, source in statement.pairs:
            if isinstance(source, Undefined):
                environment.pop(name, None)
            elif not isinstance(source, Number) and source not in live:
                environment.pop(source, None)  # read for the last time: what comes next may leave it undefined
        environment.update(new)

    def choice(self, statement: Choice, environment: Environment, live: set[Name]) -> None:
        selector = self.value(statement.selector, statement.selector.type, environment)
        results = self.ordered(assigned(n for _, body in statement.branches for n in body) & live)
        values = self.branch(selector, statement.branches, results, environment, live)
        environment.update(zip(results, values, strict=True))

    def branch(self, selector: ir.Value, branches: list[tuple[list[int] | None, list[Statement]]],
               results: list[Name], environment: Environment, live: set[Name]) -> list[ir.Value]:
        """The results of choosing one of the branches."""
        kinds = [n.type for n in results]
        if len(branches) > 2 and all(cases is None or len(cases) == 1 for cases, _ in branches):
            return self.switch(selector, branches, results, environment, live)
        (cases, first), *rest = branches
        if not rest:
            inner = dict(environment)
            self.emit(first, inner, live)
            return self.values(results, inner)
        assert cases is not None
        condition = self.matches(selector, cases)
        made = ir.Operation.create("scf.if", kinds, [condition], regions=2)
        taken: list[tuple[list[int] | None, list[Statement]]] = [(None, first)]
        for region, choices in zip(made.regions, (taken, rest), strict=True):
            block = ir.Block.create_at_start(region, [])
            with ir.InsertionPoint(block):
                ir.Operation.create("scf.yield", [], self.branch(selector, choices, results, environment, live))
        return list(made.results)

    def matches(self, selector: ir.Value, cases: list[int]) -> ir.Value:
        """Whether the selector is one of the cases."""
        if selector.type == self.i1:
            return selector if cases == [1] else self.compare("eq", selector, self.integer(cases[0], self.i1))
        found = None
        for case in cases:
            here = self.compare("eq", selector, self.integer(case, selector.type))
            found = here if found is None else self.create("arith.ori", self.i1, found, here)
        assert found is not None
        return found

    def switch(self, selector: ir.Value, branches: list[tuple[list[int] | None, list[Statement]]],
               results: list[Name], environment: Environment, live: set[Name]) -> list[ir.Value]:
        """scf.index_switch."""
        index = self.create("arith.index_cast", self.index_type, selector)
        cases = [c[0] for c, _ in branches if c is not None]
        made = ir.Operation.create("scf.index_switch", [n.type for n in results], [index], regions=len(branches),
                                   attributes={"cases": ir.DenseI64ArrayAttr.get(cases)})
        ordered = [branches[-1], *branches[:-1]]
        for region, (_, body) in zip(made.regions, ordered, strict=True):
            block = ir.Block.create_at_start(region, [])
            with ir.InsertionPoint(block):
                inner = dict(environment)
                self.emit(body, inner, live)
                ir.Operation.create("scf.yield", [], self.values(results, inner))
        return list(made.results)

    # -- loops

    def loop(self, statement: Loop, environment: Environment, live: set[Name]) -> None:
        """scf.while; a loop that ends in a test with nothing but leaving on one side is tested there."""
        before, condition, after, outside = self.split(statement)
        changed = assigned(statement.body)
        head = live_at_head(statement, live)
        carried = self.ordered(head & changed)
        leaving = live_before(outside, live)
        staying = live_before(after, head)
        tested = {condition[0]} if condition else {statement.again}
        passed = self.ordered((leaving | staying) & assigned(before) | (leaving | staying) & set(carried))
        location = [ir.Location.current] * len(carried)
        made = ir.Operation.create("scf.while", [n.type for n in passed], self.values(carried, environment), regions=2)
        block = ir.Block.create_at_start(made.regions[0], [n.type for n in carried], location)
        inner = {n: v for n, v in environment.items() if n not in changed}
        with ir.InsertionPoint(block):
            inside = {**inner, **dict(zip(carried, block.arguments, strict=True))}
            self.emit(before, inside, leaving | staying | tested)
            flag = self.flag(statement, condition, inside)
            ir.Operation.create("scf.condition", [], [flag, *self.values(passed, inside)])
        block = ir.Block.create_at_start(made.regions[1], [n.type for n in passed],
                                         [ir.Location.current] * len(passed))
        with ir.InsertionPoint(block):
            inside = {**inner, **dict(zip(passed, block.arguments, strict=True))}
            self.emit(after, inside, set(head))
            ir.Operation.create("scf.yield", [], self.values(carried, inside))
        for name in changed:
            environment.pop(name, None)
        environment.update(zip(passed, made.results, strict=True))
        self.emit(outside, environment, live)

    def split(self, statement: Loop) -> tuple[list[Statement], tuple[Name, list[int], bool] | None, list[Statement],
                                              list[Statement]]:
        """(before the test, (selector, cases, stay if it is one of them), after it, outside)."""
        body = statement.body
        last = body[-1] if body else None
        if isinstance(last, Choice) and len(last.branches) == 2:
            (cases, first), (_, second) = last.branches
            ends = last_value(first, statement.again), last_value(second, statement.again)
            if ends in ((1, 0), (0, 1)) and cases is not None:
                stays, leaves = (first, second) if ends[0] else (second, first)
                return body[:-1], (last.selector, cases, bool(ends[0])), stays, leaves
        return body, None, [], []

    def flag(self, statement: Loop, condition: tuple[Name, list[int], bool] | None,
             environment: Environment) -> ir.Value:
        if condition is None:
            return self.value(statement.again, self.i1, environment)
        selector, cases, stay = condition
        found = self.matches(self.value(selector, selector.type, environment), cases)
        return found if stay else self.create("arith.xori", self.i1, found, self.integer(1, self.i1))


