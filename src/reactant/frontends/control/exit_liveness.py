"""What nobody reads on a path that leaves a loop or the function.

After `if converged: break`, or `return`, nothing reads the variables that only later iterations of the loop do, nor the
lists, dicts and objects that only those hold: after the `if` they are what the path that goes on has made of them.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from reactant.frontends.arrays.reach import reachable
from reactant.frontends.control.container_aliasing import variables_of
from reactant.frontends.control.mutation_log import Change
from reactant.frontends.control.trees import Known, Tree, originals
from reactant.frontends.session.heap import Heap, Root
from reactant.frontends.session.trace import Trace, frames
from reactant.frontends.source.conversion import is_converted
from reactant.support.package import PACKAGE

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
        """Whether nobody can reach a container on that path."""
        if self._lost is None:
            self._lost = self._only_by_lost_variables()
        return id(change.container) in self._lost

    def _only_by_lost_variables(self) -> set[int]:
        heap = Heap()
        lost: list[Any] = []
        heap.begin()
        for frame, own in _frames():
            if not own:
                heap.variables(frame)
                continue
            for name, value in variables_of(frame)[0]:
                if name in self.left:
                    heap.note(Root("variable", name), value)
                else:
                    lost.append(value)
        for name in self.left & self.branch.states.keys():
            for x in _objects(self.branch.states[name]):
                heap.note(Root("variable", name), x)
        heap.follow(self.branch.objects, _objects)      # what the branch has put into what is kept
        return reachable(lost, depth=ANY_DEPTH)[0] - heap.found.keys() if heap.complete else set()


def _objects(tree: Tree) -> list[Any]:
    return [tree.value] if isinstance(tree, Known) else list(originals(tree))


def _frames() -> Iterator[tuple[FrameType, bool]]:
    """What is being called since the trace began, without our own functions; and whether it is the function whose
    statement is traced, or a block of it."""
    called = frames()
    own = True
    for frame in called[:len(called) - Trace.current().depth]:
        code = frame.f_code
        if is_converted(code) or not code.co_filename.startswith(OURS):
            inside = own and is_converted(code)
            yield frame, inside
            own = own and (not inside or code.co_name.startswith("ag__"))
    called.clear()      # this function's own frame was in there
