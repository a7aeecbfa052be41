"""Which lists, dicts and objects the variables of a loop are (`identity`): carried as themselves, or by content."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reactant.frontends.aliases import reachable
from reactant.frontends.branches import Branch
from reactant.frontends.carried import identities_after
from reactant.frontends.state import Branching, Node, Plan

if TYPE_CHECKING:
    from reactant.frontends.loops import Loop


def keep(loop: Loop, names: Iterable[str]) -> bool:
    """Carry the lists and objects of these variables as what they are; whether that is new for any."""
    kept = [n for n in names if n in loop.rebound and type(loop.entries.get(n)) is Node and any(loop.kinds[n])]
    loop.rebound = tuple(n for n in loop.rebound if n not in kept)
    loop.kinds |= {n: loop.first_kinds(n, False) for n in kept}
    return bool(kept)


def kept_after_all(loop: Loop, branch: Branch) -> list[str]:
    """Names that the text of the body binds anew, but this body does not (a branch that is known not to be taken): the
    list or object they hold is changed in place, so it is carried as what it is."""
    changed = {id(change.container) for change, _ in branch.objects}
    return [n for n in loop.rebound if changed and n in loop.carried and n not in branch.states
            and changed & reachable([loop.variables.get(n)])[0]]


def more(loop: Loop, branch: Branch, plans: dict[str, Plan]) -> bool:
    """Where the body changes containers: whether a variable may be another one of those from before the loop at the
    start of the next turn than at the start of this one. `loop.later` gets it."""
    if not branch.objects:
        return False
    outside, new = reachable([loop.variables.get(n) for n in loop.variables.cells])[0], {}
    for name, plan in plans.items():
        carried = loop.carried[name]
        if type(plan) is Branching and any((after & outside) - known for after, known in zip(
                identities_after(carried.entry, plan), carried.known, strict=False)):
            new[name] = plan
    loop.later |= new
    return bool(new)
