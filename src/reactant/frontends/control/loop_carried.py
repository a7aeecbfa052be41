"""What a loop carries: the values it starts with, and how variables are made of them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import field
from typing import Any, TypeGuard

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends.arrays.reach import is_own_memory, reachable
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control import container_aliasing, mutation_log
from reactant.frontends.control.demands import AsRows
from reactant.frontends.control.joins import Branching, Broken, Keep, Plan
from reactant.frontends.control.snapshots import Mismatch, kind_of
from reactant.frontends.control.trees import CONTAINERS, FORMS, Held, Kind, Known, Node, Tree
from reactant.frontends.session.heap import Heap
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import Unusable
from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.support.records import dataclass


def alone(error: Any) -> Any:
    """An error that keeps no frames: they hold arrays and lists, and who does is counted."""
    error.__context__ = None
    return error.with_traceback(None)


@dataclass(eq=False)
class Slot:
    """One carried value: what it is before the loop, in the blocks, and after an iteration."""

    init: ir.Value
    body: ir.Value
    after: ir.Value | None = None
    test: ir.Value | None = None
    result: ir.Value | None = None


@dataclass
class Carried:
    """A variable at the start of an iteration: the tree it has before the loop, and a kind for each leaf that is a
    run-time value there (None: that leaf stays the object it is)."""

    entry: Tree
    kinds: list[Kind | None]
    late: Tree | None = None          # first bound in the body: whether it is, after an iteration
    bound: Slot | None = None         # whether an iteration has bound it
    slots: list[Slot | None] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    known: list[set[int]] = field(default_factory=list)     # what each container is or may be, by identity
    # the nodes of containers in it that no iteration replaces, by identity
    same: set[int] = field(default_factory=set)

    def leaves(self) -> list[Tree]:
        return list(self.entry.leaves())


def may_be(value: Any, entry: Tree, plan: Plan | None, meeting: Any, outside: Set[int] | None = None) -> None:
    """Note that the containers in the value of a variable may be those of its tree before the loop (`identity`), and
    what the plan says they are after an iteration. outside: there is one, and these are the containers from before the
    loop, by identity."""
    after = plan.second if isinstance(plan, Branching) else None
    new = outside is not None and after is not None and id(after) not in outside \
        and not container_aliasing.is_linked(after)
    if entry.kind in CONTAINERS and not new:
        container_aliasing.may_be(value, (entry.original, after), meeting)
    elif entry.kind in CONTAINERS and container_aliasing.is_perhaps_another(after):
        container_aliasing.may_be(value, (after,), meeting)
    if entry.kind in FORMS:
        parts = FORMS[entry.kind].parts(value)
        plans = plan.children if isinstance(plan, Branching) and len(plan.children) == len(entry.children) \
            else [None] * len(entry.children)
        for part, child, inner in zip(parts, entry.children, plans, strict=True):
            may_be(part, child, inner, meeting, outside)


def may_be_elsewhere(value: Any, entry: Tree, meeting: Any) -> None:
    """Note it of the containers in a value, where others may be what the nodes of its tree were captured from."""
    if entry.kind in CONTAINERS and container_aliasing.is_perhaps_another(entry.original):
        container_aliasing.may_be(value, (entry.original,), meeting)
    if entry.kind in FORMS:
        for part, child in zip(FORMS[entry.kind].parts(value), entry.children, strict=True):
            may_be_elsewhere(part, child, meeting)


def identities(entry: Tree, value: Any) -> Iterator[set[int]]:
    """For each container in the value of a variable, what it is or may be."""
    if entry.kind in CONTAINERS:
        yield container_aliasing.known_as(value)
    if entry.kind in FORMS:
        parts = FORMS[entry.kind].parts(value)
        for part, child in zip(parts, entry.children, strict=False):
            yield from identities(child, part)


def identities_after(entry: Tree, plan: Plan) -> Iterator[set[int]]:
    """The same after an iteration of a loop, by the plan of the variable."""
    if isinstance(plan, Keep):
        yield from identities(entry, plan.value)
        return
    if entry.kind in CONTAINERS:
        yield container_aliasing.known_as(plan.second) if isinstance(plan, Branching) else set()
    children = plan.children if isinstance(plan, Branching) else []
    for child, inner in zip(entry.children, children, strict=False):
        yield from identities_after(child, inner)


def numeric_kind(leaf: Tree) -> Kind | None:
    try:
        return kind_of(leaf)
    except Mismatch:
        return None     # an integer beyond 64 bits stays what it is


def is_unusable(value: Any) -> bool:
    return type(value) is Unusable


def parts_of(plan: Plan, entry: Tree) -> Iterator[Plan]:
    """The plan of each leaf of `entry`; that of a part which has become of another structure."""
    if isinstance(entry, Node) and isinstance(plan, Branching) and len(plan.children) == len(entry.children):
        for child, tree in zip(plan.children, entry.children, strict=True):
            yield from parts_of(child, tree)
    elif isinstance(entry, Node) and isinstance(plan, Keep):
        for leaf in entry.leaves():
            yield Keep(leaf.object)
    else:
        yield plan


def with_parts(entry: Node, after: Node, kinds: list[Kind | None],
               begin: Callable[[Tree, Tree, list[Kind | None]], tuple[Tree, list[Kind | None]]]
               ) -> tuple[Tree, list[Kind | None]]:
    """The tree to begin with, and its kinds, where `begin` gives those of the parts of two trees of one structure."""
    children, found, rest = [], [], kinds
    for child, end in zip(entry.children, after.children, strict=True):
        count = sum(1 for _ in child.leaves())
        made, more = begin(child, end, rest[:count])
        children.append(made)
        found += more
        rest = rest[count:]
    if all(made is child for made, child in zip(children, entry.children, strict=True)):
        return entry, kinds
    return Node(entry.kind, entry.key, children, entry.original), found


def are_alike(entry: Tree, after: Tree) -> TypeGuard[Node]:
    """Whether two trees are of one structure, the parts of which are carried each by itself."""
    return isinstance(entry, Node) and isinstance(after, Node) and entry.kind == after.kind and entry.key == after.key \
        and entry.kind not in ("maybe", "optional")


def truth_of(tree: Tree) -> ir.Value:
    """Python's truth of a number or one-element array as a 0-d boolean."""
    if isinstance(tree, Known):
        return ops.constant(bool(tree.value))
    value = ops.reshape(tree.value, ())
    return value if dtype_of(value).kind == "b" else ops.compare(value, 0, "NE")


def if_defined(defined: Tree, new: ir.Value, old: ir.Value) -> ir.Value:
    """`new` where an iteration gives a value, as decided at run time."""
    return ops.select(truth_of(defined), new, old) if isinstance(defined, Held) else new


def operations_in(block: ir.Block) -> int:
    """Operations in a block and the blocks inside it; constants and terminators are free."""
    count = 0
    for op in block.operations:
        if op.name not in ("stablehlo.constant", "stablehlo.return"):
            count += 1
        for region in op.regions:
            for inner in region.blocks:
                count += operations_in(inner)
    return count


def uses_only(block: ir.Block, known: set[ir.Value]) -> bool:
    """Whether the operations use nothing but each other, constants and `known` values."""
    return all(computes_from(op, known) for op in block.operations)


def computes_from(op: ir.Operation, known: set[ir.Value]) -> bool:
    """Whether an operation uses nothing but constants and `known` values, to which its results are added then."""
    if not all(operand in known or ops.constant_value(operand) is not None for operand in op.operands):
        return False
    for region in op.regions:
        for inner in region.blocks:
            if not uses_only(inner, known | set(inner.arguments)):
                return False
    known.update(op.results)
    return True


def mismatch(loop: Any, name: str, plan: Broken) -> ControlFlowError:
    """A variable, or what a container holds, changes its type from one iteration to the next."""
    if name in loop.variables.containers:
        changed = loop.variables.containers[name]
        advice = "Use an array made before the loop, or a local variable."
        if loop.test is not None and isinstance(getattr(changed, "container", changed), list):
            advice = ("A list can grow in a `for` loop, which has a bound: write `for _ in range(most):` with "
                      "`if not (...): break`, or store into an array made before the loop.")
        return plan.error(
            f"A loop that runs inside compiled code changes {mutation_log.describe(changed)} in "
            f"a way that a loop cannot carry: it gets other elements, keys or attributes, or their types change.",
            advice, "loop-variable-changes-type")
    return plan.error(
        f"'{name}' changes its type in a loop that runs inside compiled code: before the loop and after an "
        f"iteration it holds {plan.reason}.",
        "Give it its final type before the loop.", "loop-variable-changes-type")


# ---- who else refers to an array ---------------------------------------------------------------------------------

def is_held_once(tensor: Tensor, heap: Heap) -> bool:
    """Whether one list, dict or object is the only thing that refers to an array, and it to its memory."""
    return is_own_memory(tensor) and heap.knows_one(tensor) and heap.knows_one(tensor.storage)


def is_in_one_place(node: Node, heap: Heap) -> bool:
    """`is_held_once` of a list, tuple, dict or object."""
    return node.original is None or id(node.original) not in current_trace().copies \
        and heap.knows_one(node.original, "argument", "alternative")


# ---- lists that a loop writes into or appends to ------------------------------------------------------------------

def needs_grower(target: Any, error: Exception) -> None:
    """Have the outermost loop traced again that a list is older than, where something in a branch appended to it."""
    for loop in current_trace().loops if type(target) is list or hasattr(type(target), "begin_change") else ():
        if id(target) in reachable(held_before(loop))[0]:
            raise Retrace(AsRows(loop, target, error))


def held_before(loop: Any) -> list[Any]:
    """What the loop's variables held when it began."""
    variables = loop.variables
    fixed = [variables.get(n) for n in variables.cells if n not in variables.live and n not in variables.dead]
    return [*loop.before.values(), *fixed, *(a.source for a in loop.array_lists.values())]
