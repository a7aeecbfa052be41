"""What a traced function leaves in lists, dicts, objects and variables from outside: the numbers in it are results of
the function, and each call puts them there."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import has_dynamic_steps, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.control import mutation_log
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.branch_arrays import BranchArrays, Maker
from reactant.frontends.control.branches import hold
from reactant.frontends.control.joins import Branching, Keep, Leaf, Plan, assembled
from reactant.frontends.control.mutation_log import Change
from reactant.frontends.control.snapshots import kind_of
from reactant.frontends.control.trees import ABSENT, FORMS, Held, Kind, Known, Node, Tree
from reactant.frontends.session.heap import parts
from reactant.support.records import dataclass


@dataclass
class Arguments:
    """What the function was given and has returned: by the memory of a copy the caller's array; the lists, dicts and
    objects that were copied, by identity; the result."""

    arrays: Mapping[Storage, Any]
    containers: frozenset[int]
    result: Any


class LeftBehind:
    """The changes of a function's body; `add` makes a value one of its results. `again` makes the changes in the trace
    that calls it."""

    def __init__(self, name: str, branch: Branch, changes: Sequence[tuple[Change, Tree]],
                 add: Callable[[ir.Value], int], given: Arguments):
        self.name, self.branch, self.given = name, branch, given
        self.then = self.orelse = branch        # for `BranchArrays`: the function is a branch that is always taken
        self.result = lambda value, _: add(value)
        self.arrays = BranchArrays(self, [])
        self.changed = {id(change.container) for change, _ in changes}
        self.makers: dict[int, Maker] = {}
        self.kept: set[int] = set()             # identities of lists, dicts, objects and memories that outlast a call
        self.plans = [(change, self.content(change, after)) for change, after in changes]
        self.refuse_returned()

    def again(self, results: list[ir.Value]) -> None:
        """Make the changes, with the numbers that a call has given."""
        found: dict[tuple[int, int], Any] = {}
        for change, plan in self.plans:
            mutation_log.touch(change.container, change.name)
            hold(change, assembled(plan, lambda leaf: self.makers[id(leaf)](results), found, copied=True))

    # -- what a container holds

    def content(self, change: Change, after: Tree) -> Plan:
        if not isinstance(after, Node):         # a set
            return self.plan(after)
        held: Any = after.original
        names = list(held) if isinstance(held, dict) else range(len(held))
        before = change.before if isinstance(held, dict) else dict(enumerate(change.before))
        return Branching(after, [Keep(held[name]) if name in before and before[name] is held[name] else self.plan(child)
                                 for name, child in zip(names, after.children, strict=True)])

    def plan(self, tree: Tree) -> Plan:
        if isinstance(tree, Node):
            return self.container(tree)
        if isinstance(tree, Known):
            return Keep(tree.value)
        if tree is ABSENT:
            return Keep(ABSENT)
        if not isinstance(tree, Held):
            raise self.refused("keeps a value of run-time size in an object from outside")
        tensor = tree.tensor
        if tensor.kind != ARRAY:
            place = self.arrays.export(0, tree.value)
            return self.leaf(tree, lambda results: Tensor.of_value(results[place], tensor.kind,
                                                                   interval=tensor.interval))
        if tensor.storage in self.given.arrays:
            return Keep(self.argument(tensor))
        if self.branch.preexisting(tensor.storage) and not has_dynamic_steps(tensor):
            return Keep(tensor)
        self.kept.update(map(id, roots_of(tensor.storage)))
        return self.leaf(tree, self.arrays.outside_tensor(0, tensor))

    def leaf(self, tree: Held, make: Maker) -> Leaf:
        made = Leaf(cast(Kind, kind_of(tree)), tree, tree)
        self.makers[id(made)] = make
        return made

    def container(self, tree: Node) -> Plan:
        if id(tree.original) in self.changed:
            self.kept.add(id(tree.original))
            return Keep(tree.original)
        if id(tree.original) in self.given.containers:
            raise self.refused("keeps a list, dict or object of its arguments in an object from outside")
        if tree.kind not in FORMS:
            raise self.refused("keeps a value that run-time values choose, or of run-time length, in an object from "
                               "outside")
        children = [self.plan(child) for child in tree.children]
        self.kept.add(id(tree.original))
        return Keep(tree.original) if all(isinstance(child, Keep) for child in children) else Branching(tree, children)

    def argument(self, tensor: Tensor) -> Any:
        """The caller's array, of which the function has a copy."""
        theirs = self.given.arrays[tensor.storage]
        if not is_tensor(theirs) or tensor.steps or has_dynamic_steps(theirs) or tensor.storage in self.branch.written:
            raise self.refused("keeps an argument that it has written, or a view of one, in an object from outside")
        return theirs

    def refuse_returned(self) -> None:
        """What is both kept and returned is one array, list or object, of which a call would make two."""
        waiting, seen = [self.given.result], set()
        while waiting:
            x = waiting.pop()
            if id(x) in seen or isinstance(x, type):
                continue
            seen.add(id(x))
            memories = map(id, roots_of(x.storage)) if is_tensor(x) and x.kind == ARRAY else ()
            if not self.kept.isdisjoint((id(x), *memories)):
                raise self.refused("both returns an array, list, dict or object and keeps it in one from outside")
            waiting.extend(() if is_tensor(x) else [v for v in parts(x) if not isinstance(v, type)])

    def refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"'{self.name}' {what}, and its derivative is being taken.", hint="Keep a copy.",
                                code="changes-under-transformation")
