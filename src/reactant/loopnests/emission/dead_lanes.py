"""Which values of a loop nobody needs at the places where its mask is false.

    z = z * z + c;  counts[rows[abs(z) > 2]] += 1;  z, c, rows = z[keep], c[keep], rows[keep]

What z becomes where the mask has become false goes into what the mask leaves out, and into the next z. A *lane* is what
belongs to one place of the mask: the first dimension of all that is computed from it place by place.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from reactant.loopnests.analysis.graph import Block, Node, decoded
from reactant.loopnests.emission.carried import Slot
from reactant.loopnests.emission.numbers import ELEMENTWISE


def dead_lanes(node: Node, slots: Sequence[Slot], mask: Node, implies: Callable[[Node, Node], bool]) -> set[Node]:
    """The values in the body of a `while` whose lanes nobody needs where a mask that it carries is false."""
    body = node.blocks[1]
    slot_of = {s.argument: s for s in slots}
    after = _Search(node.block, slot_of[mask].result, implies, {})
    carried = {s.argument for s in slots if s.argument.shape[:1] == mask.shape and s.argument is not mask
               and not s.invariant and not s.condition_argument.is_read and after.is_dead(s.result)}
    while True:
        search = _Search(body, mask, implies, {slot_of[a].returned: a for a in carried})
        search.given = {a: sum(s.returned is slot_of[a].returned for s in slots) for a in carried}
        kept = {a for a in carried if search.is_dead(a)}
        if kept == carried:
            return {n for n in [*carried, *_values(body)] if n.shape[:1] == mask.shape and search.is_dead(n)}
        carried = kept


def _values(block: Block) -> list[Node]:
    return [each for n in block.walk() if not n.kind == "constant" for each in (n.results or [n])]


class _Search:
    """Follows values to those who read them."""

    def __init__(self, body: Block | None, mask: Node, implies: Callable[[Node, Node], bool],
                 carried: dict[Node, Node]) -> None:
        self.body, self.mask, self.implies, self.carried = body, mask, implies, carried
        self.given: dict[Node, int] = {}
        self.known: dict[Node, bool] = {}
        self.returns: dict[Node, list[tuple[Block, int]]] = {}
        for block in [body, *(b for n in body.walk() for b in n.blocks)] if body is not None else ():
            for k, value in enumerate(block.returned):
                self.returns.setdefault(value, []).append((block, k))

    def is_dead(self, value: Node) -> bool:
        """Whether nobody needs the lanes of a value at which the mask is false."""
        if value not in self.known:
            self.known[value] = True            # what only leads to itself
            self.known[value] = all(self._given_on(value, *place) for place in self.returns.get(value, ())) \
                and all(self._ignores(user, value) for user in dict.fromkeys(value.users))
        return self.known[value]

    def _given_on(self, value: Node, block: Block, k: int) -> bool:
        if block is self.body:
            return value in self.carried and self.given[self.carried[value]] == 1
        owner = block.owner
        return owner is not None and owner.kind in ("if", "case") and self.is_dead(owner.results[k])

    def _ignores(self, user: Node, value: Node) -> bool:
        """Whether one who reads a value does not need those lanes."""
        if user.blocks and value not in user.operands:      # a block inside gives it on
            return True
        if user.kind == "scatter":
            return self._scatters_nothing(user, value)
        if user.shape[:1] != self.mask.shape:
            return False
        if user.kind in ELEMENTWISE:
            return self._chooses_others(user, value) or self.is_dead(user)
        return self._keeps_lanes(user, value) and self.is_dead(user)

    def _chooses_others(self, user: Node, value: Node) -> bool:
        """Whether an op has something else where the mask is false."""
        if user.kind == "and":
            return user.dtype.kind == "b" and any(self.implies(o, self.mask) for o in user.operands if o is not value)
        if user.kind == "select":
            test, yes, no = user.operands
            return value is yes and value not in (test, no) and self.implies(_mask(test), self.mask)
        return False

    def _scatters_nothing(self, scatter: Node, value: Node) -> bool:
        """Whether the updates of those lanes go nowhere."""
        if len(scatter.operands) != 3 or value is scatter.operands[0]:
            return False
        chosen = scatter.operands[1]
        numbers = decoded(scatter, "scatter_dimension_numbers")
        return value is scatter.operands[2] and chosen.kind == "select" and chosen.shape[:1] == self.mask.shape \
            and value.shape[:1] == self.mask.shape and 0 not in numbers.update_window_dims \
            and numbers.index_vector_dim != 0 and chosen.operands[2].splat is not None \
            and int(chosen.operands[2].splat) >= max(scatter.shape) \
            and self.implies(_mask(chosen.operands[0]), self.mask)

    def _keeps_lanes(self, user: Node, value: Node) -> bool:
        """Whether an op that moves elements, or sums some, leaves each in its lane."""
        if value.shape[:1] != self.mask.shape or value in user.operands[1:] and user.kind != "concatenate":
            return False
        if user.kind == "reshape":
            return True
        if user.kind == "broadcast_in_dim":
            return list(decoded(user, "broadcast_dimensions"))[0] == 0
        if user.kind == "concatenate":
            return int(decoded(user, "dimension")) != 0
        if user.kind == "slice":
            return int(decoded(user, "strides")[0]) == 1
        return user.kind == "reduce" and 0 not in decoded(user, "dimensions") and len(user.operands) == 2


def _mask(test: Node) -> Node:
    """The mask of lanes that is spread over what belongs to each."""
    while test.kind == "reshape" or test.kind == "broadcast_in_dim" and \
            list(decoded(test, "broadcast_dimensions"))[:1] == [0]:
        if test.operands[0].shape[:1] != test.shape[:1]:
            break
        test = test.operands[0]
    return test
