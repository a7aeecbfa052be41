"""Which lists, dicts and objects the variables of a loop are (`identity`): carried as themselves, or by content."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reactant.frontends.arrays.reach import reachable
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.joins import Branching, Keep, Plan, as_alternative, is_choosable
from reactant.frontends.control.loop_carried import identities_after, may_be
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import capture
from reactant.frontends.control.trees import CONTAINERS, MUTABLE, Node, Tree, originals


def entry(loop: LoopState, name: str, value: Any) -> Tree:
    """The tree of a variable before the loop. A container that is chosen as itself is carried so, where the body binds
    the name anew."""
    tree = capture(value)
    return as_alternative(tree) if isinstance(tree, Node) and name in loop.rebound and is_choosable(tree) else tree


def keep(loop: LoopState, names: Iterable[str]) -> bool:
    """Carry the lists and objects of these variables as what they are; whether that is new for any."""
    kept = [n for n in names if n in loop.rebound and isinstance(loop.entries.get(n), Node)
            and (any(loop.demands.kinds[n]) or n in loop.demands.fresh)]
    loop.demands.fresh = loop.demands.fresh - set(kept)
    loop.rebound = tuple(n for n in loop.rebound if n not in kept)
    loop.demands.kinds |= {n: loop.first_kinds(n, False) for n in kept}
    return bool(kept)


def kept_after_all(loop: LoopState, branch: Branch) -> list[str]:
    """Names that the text of the body binds anew, but this body does not (a branch that is known not to be taken), or
    binds to what they hold already: the list or object is changed in place, so it is carried as what it is."""
    changed = {id(change.container) for change, _ in branch.objects}
    all_changed = changed.union(id(change.container) for change in loop.variables.containers.values())

    def stays(name: str) -> bool:
        if name in branch.states:
            held = all_changed.intersection(map(id, originals(loop.entries[name])))
            return not held.isdisjoint(map(id, originals(branch.states[name])))
        return bool(changed & reachable([loop.variables.get(name)])[0])
    return [n for n in loop.rebound if all_changed and n in loop.carried and stays(n)]


def unchanged(loop: LoopState, name: str) -> set[int]:
    """The containers in what a variable holds that iterations leave where they are, as nodes of its tree by identity:
    what changes in them is carried as theirs."""
    def visit(tree: Tree, kinds: Iterator[Any]) -> bool:
        """Whether nothing of a part is carried."""
        if not isinstance(tree, Node):
            return next(kinds) is None
        still = all([visit(child, kinds) for child in tree.children])
        if still and tree.kind in MUTABLE:
            found.add(id(tree))
        return still

    found: set[int] = set()
    if name not in loop.demands.replaced:
        visit(loop.carried[name].entry, iter(loop.carried[name].kinds))
    return found


def kept(entry: Tree, plan: Plan) -> set[int]:
    """The nodes of the tree of a variable, by identity, that are the same containers after an iteration."""
    if not isinstance(entry, Node):
        return set()
    if isinstance(plan, Keep):
        return {id(entry)}.union(*(kept(child, plan) for child in entry.children))
    children = plan.children if isinstance(plan, Branching) and len(plan.children) == len(entry.children) else []
    return set().union(*map(kept, entry.children, children))


def ends(entry: Tree, plan: Plan, runs: bool) -> dict[int, tuple[int, ...]]:
    """What the containers in a variable are after the loop, which surely `runs` or may not: identities, by those of the
    nodes of its tree."""
    if not isinstance(entry, Node) or not isinstance(plan, Branching) or len(plan.children) != len(entry.children):
        return {}
    before = () if runs else (id(entry.original),)
    found = {} if plan.second is None else {id(entry): (id(plan.second), *before)}
    for child, inner in zip(entry.children, plan.children, strict=True):
        found |= ends(child, inner, runs)
    return found


def begun_with(entry: Tree, slots: Iterator[Any]) -> list[list[Any]]:
    """The values that the parts of each container in a variable have at the start of an iteration, which carries them
    all."""
    found: list[list[Any]] = []

    def visit(tree: Tree) -> list[Any]:
        if not isinstance(tree, Node):
            slot = next(slots, None)
            return [None if slot is None else slot.body]
        values = [value for child in tree.children for value in visit(child)]
        if tree.kind in CONTAINERS and values and all(value is not None for value in values):
            found.append(values)
        return values
    visit(entry)
    return found


def outside(loop: LoopState) -> set[int]:
    """The identities of what the variables hold before the loop."""
    return reachable([loop.variables.get(n) for n in loop.variables.cells])[0]


def after(value: Any, entry: Tree, plan: Plan, plans: dict[str, Plan], before: set[int] | None) -> Any:
    """The value of a variable after the loop: the container from before it that the last iteration surely bound it to
    (`before` has their identities), or one of which it is noted what it may be."""
    if before is not None and isinstance(plan, Branching) and plan.node.kind in CONTAINERS \
            and id(plan.second) in before:
        return plan.second
    may_be(value, entry, plan, plans, before)
    return value


def more(loop: LoopState, branch: Branch, plans: dict[str, Plan]) -> bool:
    """Where the body changes containers: whether a variable may be another one of those from before the loop at the
    start of the next iteration than at the start of this one. `loop.demands.later` gets it."""
    if not branch.objects:
        return False
    before, new = outside(loop), {}
    for name, plan in plans.items():
        carried = loop.carried[name]
        if isinstance(plan, Branching) and any((after & before) - known for after, known in zip(
                identities_after(carried.entry, plan), carried.known, strict=False)):
            new[name] = plan
    loop.demands.later |= new
    return bool(new)
