"""What nobody reads on a path that leaves a loop or the function.

After `if converged: break`, or `return`, nothing reads the variables that only later turns of the loop do, nor the
lists, dicts and objects that only those hold: after the `if` they are what the path that goes on has made of them.
"""
from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from reactant.frontends.arrays.aliases import reachable
from reactant.frontends.control.effects import Change
from reactant.frontends.control.identity import variables_of
from reactant.frontends.control.plans import originals
from reactant.frontends.control.state import Known, Tree
from reactant.frontends.session.trace import Trace, frames
from reactant.frontends.source.conversion import is_converted
from reactant.support.package import PACKAGE
from reactant.support.session import ASIDE, frozen_by_the_user

if TYPE_CHECKING:
    from reactant.frontends.control.branch import Branch

ANY_DEPTH = 1000
OURS = str(PACKAGE)


class Leaving:
    """A side of an `if` that leaves; `left` are the function's variables that may be read on that path."""

    def __init__(self, branch: Branch, left: Iterable[str]):
        self.branch, self.left = branch, frozenset(left)
        self._lost: set[int] | None = None

    def loses(self, change: Change) -> bool:
        """Whether nobody can reach a container on that path, which was made while this trace runs."""
        if self._lost is None:
            self._lost = self._only_by_lost_variables()
        return id(change.container) in self._lost and _is_new(change.container)

    def _only_by_lost_variables(self) -> set[int]:
        kept, lost = list(Trace.current().given), []
        for frame, own in _frames():
            local, outside = variables_of(frame)
            if frame.f_code.co_filename.startswith(OURS):
                kept += [value for name, value in local if name in ("iterable", "items")]
                continue
            kept += outside
            for name, value in local:
                (lost if own and name not in self.left else kept).append(value)
        for name in self.left & self.branch.states.keys():
            kept += _objects(self.branch.states[name])
        alive: set[int] = set()
        changes = self.branch.objects
        while True:     # what the branch has put into what is kept
            alive |= reachable(kept, everywhere=True, depth=ANY_DEPTH)[0]
            kept = [x for change, after in changes if id(change.container) in alive for x in _objects(after)]
            changes = [c for c in changes if id(c[0].container) not in alive]
            if not kept:
                return reachable(lost, depth=ANY_DEPTH)[0] - alive


def _is_new(container: Any) -> bool:
    """Whether it was made while this trace runs; where others run, too, whether no class or module holds it."""
    if ASIDE.frozen:
        return any(x is container for x in gc.get_objects())
    tables = [x for x in gc.get_referrers(container) if type(x) is dict]
    return not frozen_by_the_user() and not any(
        isinstance(owner, (type, ModuleType)) for table in tables for owner in gc.get_referrers(table))


def _objects(tree: Tree) -> list[Any]:
    return [tree.value] if type(tree) is Known else list(originals(tree))


def _frames() -> Iterator[tuple[FrameType, bool]]:
    """What is being called since the trace began, without our own functions but for loops, which hold what they take
    elements from; and whether it is the function whose statement is traced, or a block of it."""
    called = frames()
    own = True
    for frame in called[:len(called) - Trace.current().depth]:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) or code.co_name == "for_stmt":
            inside = own and is_converted(code)
            yield frame, inside
            own = own and (not inside or code.co_name.startswith("ag__"))
    called.clear()      # this function's own frame was in there
