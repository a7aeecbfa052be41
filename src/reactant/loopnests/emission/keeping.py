"""Which values of a block are kept in memory, beside those that are computed for their own sake; everything else is
computed where it is used.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reactant.ir.types import size
from reactant.loopnests.analysis.graph import Block, Node, behind, decoded
from reactant.loopnests.emission.elements import INLINE_REDUCTION, reduces_inline
from reactant.loopnests.emission.numbers import ABSOLUTE, ELEMENTWISE, EXPENSE
from reactant.support.records import dataclass

OPS = {"while", "if", "case", "sort", "scatter", "compaction", "reduce_window", "custom_call"}
"""Roots that are not loop nests of their own."""
MOVES = {"broadcast_in_dim", "reshape", "transpose", "slice", "reverse", "pad", "concatenate", "dynamic_slice",
         "gather"}
READS_MEMORY = {"reshape", "slice", "dynamic_slice", "gather"}
MOST_WINDOWS = 4
"""Windows of an array that is put together in one nest."""
GATHERED = 2.0
"""The expense of a gather without its indices."""
DEAR, SHORT, SEVERAL = 20.0, 64, 32
"""The expense of a function such as exp, iterations of an innermost loop that cost about as much as one outside, and
numbers that are worth a loop of their own then."""
WRITTEN_OUT = 512
"""Operations that are written out for the numbers of a short value, one after the other; of more, a loop makes
them first (40 steps of tanh(x + h @ w), h of 16: 16 s of LLVM's time, 0.2 with loops)."""
NEAR, FAR = 1 << 20, 12
"""Bytes from which an array leaves the near caches, and how many times more a kept element costs then: memory, and
pages that are new in every call (horizontal diffusion: 5.8 ms of both cores with 1, 4.0 with 12; XLA 4.3)."""
BESIDE, NEXT, LIGHT = 1 << 14, 2, 3.0
"""Bytes from which an array leaves the nearest cache with those beside it, and how many times more a kept element costs
then; operations, reading left out, up to which it is computed wherever it is used then, among others that read the same
(gradients of 200 steps on 128 x 128: Burgers 11.5 ms with kept products, 8.9; Lax-Wendroff 6.1, 5.2; heat 3.7, 3.2)."""
LEFT_OVER = 8
"""Numbers of a row that vector code leaves to be computed one by one where borders cut the row in pieces (a bilateral
filter of 5 x 5 on 128 x 128 float32: 424 us, with its padding kept 256; XLA 291)."""
WHOLE = "whole"
"""Attribute of an update that is written as a new array (`note_whole_updates`)."""
PART = 2
"""How many times smaller than an array what is put into it may be for the whole array to be written."""
MANY = 64
"""Ways of using a value that are told apart."""
REPEATED = 4
"""Times that broadcasts on one way read each element again, from which that counts as using it so often: every product
with a 2 x 2 matrix reads twice (ten of them in a row, each computed where the next one needs it: 1,024 copies of the
first, 4 s to compile; kept 0.4)."""
MOST_COPIES = 64
"""Elements of a value that are written out for one element of what is computed from it, by short sums of short sums."""


def is_scalar_step(node: Node) -> bool:
    """Whether a single number is read from memory, which must happen at its place in the program."""
    return node.size == 1 and node.kind in READS_MEMORY and node.operands[0].size != 1


def is_composed(node: Node) -> bool:
    """Whether an update belongs to an array put together of a few windows on a ground that is computed, not in memory,
    at known places: each element is computed where it is used, or all of them in one nest."""
    if WHOLE in node.attributes:
        return True
    for _ in range(MOST_WINDOWS + 1):
        if node.kind != "dynamic_update_slice":
            return node.kind == "constant" and node.splat is not None or node.kind in ELEMENTWISE
        if any(s.splat is None for s in node.operands[2:]) or not node.operands[1].size:
            return False
        node = node.operands[0]
    return False


def note_whole_updates(block: Block) -> None:
    """Updates of most of an array by what reads the array elsewhere than at its own place: these cannot be in place, so
    the array is written as a whole, like those that are computed beside it.

        u[1:-1] += u[2:] - u[:-2]
    """
    for node in block.nodes:
        if node.kind == "dynamic_update_slice" and node.operands[1].size * PART > node.size and node.size \
                and all(s.splat is not None for s in node.operands[2:]) and _reads_elsewhere(node):
            node.attributes[WHOLE] = True


def _reads_elsewhere(update: Node) -> bool:
    """Whether a window is computed from another part of what it is put into, of which it writes some."""
    array, starts = update.operands[0], [int(s.splat) for s in update.operands[2:]]
    ends = [start + n for start, n in zip(starts, update.operands[1].shape, strict=True)]
    stack, seen = [update.operands[1]], set()
    while stack:
        node = stack.pop()
        if node in seen or node.block is not update.block:
            continue
        seen.add(node)
        if array in node.operands and node.kind == "slice":
            low, high = decoded(node, "start_indices"), decoded(node, "limit_indices")
            if list(low) != starts and all(a < d and c < b for a, b, c, d in zip(low, high, starts, ends, strict=True)):
                return True
        if not is_root(node):
            stack += node.operands
    return False


def is_root(node: Node) -> bool:
    """Whether an op is always computed for its own sake."""
    return node.kind in OPS or node.kind == "dynamic_update_slice" and bool(node.shape) and not is_composed(node) \
        or node.kind == "reduce" and not reduces_inline(node) or is_scalar_step(node)


def results_of(node: Node) -> list[Node]:
    """The values a root defines."""
    return node.results or [node]


def _cut(ways: set[Any]) -> bool:
    """Whether a value is used through paddings or joined arrays, which cut the loops of those who use it: each shift of
    it has borders of its own (gradient of a stencil applied four times: 35 ms computed again, 3 ms kept)."""
    return any(step in ("pad", "concatenate") for way in ways if isinstance(way, tuple) for step in way)


def _repeats(ways: set[Any]) -> tuple[int, int]:
    """How often broadcasts make the ways read an element of a value, and how many elements one nest writes out."""
    times = copies = 0
    for way in ways:
        again = each = 1
        for step in way if isinstance(way, tuple) else ():
            if isinstance(step, Repeat):
                again, each = again * step.times, each * step.copies
        times, copies = max(times, again), copies + each
    return times, copies


def _again(node: Node, broadcast: Node) -> int:
    """How often a broadcast reads each element in loops around those that go through the value: what is inside of
    these is computed once."""
    dimensions = decoded(broadcast, "broadcast_dimensions")
    own = {d for d, n in zip(dimensions, node.shape, strict=True) if n > 1}
    return size([n for d, n in enumerate(broadcast.shape) if d not in own and d < max(own, default=0)])


def _tests_places(node: Node, places: set[Node]) -> bool:
    """Whether a mask compares places in an array with a single number, or is made of such masks."""
    if node.kind in ("and", "or", "not"):
        return all(o in places for o in node.operands)
    if node.kind == "compare":
        kinds = [o.kind if o.kind == "iota" else "number" if o.kind == "broadcast_in_dim" and o.operands[0].size == 1
                 or o.splat is not None else "" for o in node.operands]
        return sorted(kinds) == ["iota", "number"]
    return node.kind in ("broadcast_in_dim", "reshape") and node.operands[0] in places


def _ascending(broadcast: Node) -> bool:
    """Whether a broadcast leaves dimensions in their order."""
    dimensions = list(decoded(broadcast, "broadcast_dimensions"))
    return dimensions == sorted(dimensions)


def _leaves_out(given: Node, scatter: Node) -> bool:
    """Whether a mask chooses which updates of a scatter go anywhere, or what of them is something: its loops are those
    of the mask then. What is computed there may not read what is scattered into."""
    while given.kind == "reshape":
        given = given.operands[0]
    if given.kind != "select" or given.operands[1].splat is None and given.operands[2].splat is None:
        return False
    return scatter.operands[0] not in behind([given], lambda n: n.block is scatter.block and not is_root(n))


@dataclass(frozen=True)
class Repeat:
    """A step of a way that reads each element of a value several times, or writes several of them out."""

    times: int = 1
    copies: int = 1


class Keeping:
    """Decides which values of a block are kept in memory."""

    def __init__(self, block: Block, forced: Iterable[Node]) -> None:
        self.block, self.forced = block, set(forced)
        self.depth = self._depths(set())

    def _depths(self, kept: set[Node]) -> dict[Node, int]:
        """For each value, how many nests lie before the one in which it can be computed, at least."""
        found: dict[Node, int] = {}
        for node in self.block.nodes:
            moves = node.kind in MOVES and node.kind != "reshape"       # reads a kept value elsewhere: in a later nest
            level = max((found.get(o, 0) + (self._ends_a_nest(o) or moves and o in kept) for o in self._inputs(node)),
                        default=0)
            for each in [node, *results_of(node)]:
                found[each] = level
        return found

    @staticmethod
    def _inputs(node: Node) -> Iterable[Node]:
        yield from node.operands
        for inner in node.blocks:
            yield from inner.uses()

    @staticmethod
    def _ends_a_nest(node: Node) -> bool:
        return node.kind == "result" or is_root(node) and node.kind != "dynamic_update_slice"

    def decide(self) -> set[Node]:
        """The values that are kept, besides results of ops that are always roots."""
        kept: set[Node] = set()
        for _ in range(2):
            expense = self._expenses(kept)
            kept = self._pass(expense, self._expenses(kept, 0.0))
        # each pass takes what the one before has kept for read, which the next may not keep, and for one nest: chains
        self.depth = self._depths(kept)
        kept = self._pass(self._expenses(kept), self._expenses(kept, 0.0), kept)
        self.expense = self._expenses(kept)
        return kept

    def _expenses(self, kept: set[Node], read: float = 1.0) -> dict[Node, float]:
        """What an element of each value costs, with the cost of reading one from memory."""
        found: dict[Node, float] = {}
        self.places = places = set[Node]()
        for node in self.block.nodes:
            if _tests_places(node, places):     # loops are cut there
                places.add(node)
                found[node] = 0.0
                continue
            total = float(EXPENSE.get(node.kind, 1 if node.kind in ELEMENTWISE else 0))
            if node.kind == "select" and node.operands[0] in places:
                total = 0.0
            if node.kind == "abs" and node.operands[0].dtype.kind == "c":
                total = float(ABSOLUTE)
            for operand in node.operands:
                total += self._of_operand(operand, found, kept, read)
            if node.kind == "gather":
                total += 3
            if node.kind == "reduce":
                extents = node.operands[0].shape
                total *= size([extents[d] for d in decoded(node, "dimensions")]) if reduces_inline(node) else 1
            found[node] = min(total, 1e4)
        return found

    @staticmethod
    def _of_operand(operand: Node, found: dict[Node, float], kept: set[Node], read: float) -> float:
        if operand.kind == "constant":
            return 0.0 if operand.splat is not None else read
        if not operand.shape:
            return 0.0
        if operand.kind == "iota":
            return 0.5
        if operand in kept or operand not in found or is_root(operand):
            return read
        return found[operand]

    def _pass(self, expense: dict[Node, float], work: dict[Node, float], settled: set[Node] | None = None) -> set[Node]:
        """The values that are kept; settled: those that are in any case, beside which there are only those that would
        multiply."""
        kept: set[Node] = set()
        chosen: set[Node] = set()
        paths: dict[Node, set[Any]] = {}
        wanted: dict[Node, float] = {}      # the expense of an element of the dearest that is computed from a value
        for node in reversed(self.block.nodes):
            if is_root(node) or node.kind == "constant" or not node.shape or not node.size:
                continue
            wanted[node] = max([expense[node], *(wanted.get(user, expense.get(user, 0.0)) for user in node.users)])
            if node in self.forced or node in chosen or "kept" in node.attributes or settled and node in settled:
                kept.add(node)
                continue
            ways: set[Any] = set()
            for user in node.users:
                ways |= self._ways(node, user, kept, paths, expense)
                if None in ways or len(ways) > MANY:
                    break
            # what a gather's indices cost is paid once for all its windows: whether they are kept is decided for them
            each = GATHERED if node.kind == "gather" else expense[node]
            if node.nbytes >= BESIDE and work[node] <= LIGHT and node.kind != "gather":
                each = work[node]
            times, copies = _repeats(ways)
            memory = (2 + len(ways)) * (1 if _cut(ways) else FAR if node.nbytes >= NEAR else NEXT if
                                        node.nbytes >= BESIDE else 1)
            if copies > MOST_COPIES and expense[node] > 0 \
                    or times >= REPEATED and each > 3 and (times - 1) * each > memory \
                    or settled is not None and expense[node] >= DEAR \
                    and (None in ways or (len(ways) - 1) * each > memory):
                kept.add(node)
                continue
            if settled is None and (None in ways or len(ways) > MANY or (len(ways) - 1) * each > memory
                    or len(ways) > 1 and self._cuts_rows(node) and wanted[node] >= DEAR \
                    and LEFT_OVER * wanted[node] > 2 * node.shape[-1]):
                if expense[node] > 0 or None not in ways:
                    inside = None if None in ways else self._in_window(node)
                    if inside is None:
                        kept.add(node)
                        continue
                    chosen.add(inside)      # without its window, which cuts the loops of those who read it
            paths[node] = ways
        return kept

    @staticmethod
    def _cuts_rows(node: Node) -> bool:
        """Whether each row of a value is put together of pieces."""
        last = len(node.shape) - 1
        if node.kind == "concatenate":
            return int(decoded(node, "dimension")) == last
        return node.kind == "pad" and node.operands[0].shape[last] < node.shape[last]

    def _in_window(self, node: Node) -> Node | None:
        """What a value is in a window of places, if it is a constant outside of it."""
        if node.kind != "select" or node.operands[0] not in self.places:
            return None
        one, other = node.operands[1:]
        found = one if other.splat is not None else other if one.splat is not None else None
        return found if found is not None and found.block is self.block and found.kind in ELEMENTWISE else None

    def _ways(self, node: Node, user: Node, kept: set[Node], paths: dict[Node, set[Any]],
              expense: dict[Node, float]) -> set[Any]:
        """How one user uses a value: a set of index maps, with None in it where the value has to be kept."""
        cheap = expense[node] <= 1
        if user.block is not self.block:
            return {None} if not cheap or not user.block else {"inside"}
        if user.kind in OPS:
            if user.kind == "scatter" and node in user.operands[1:] and _leaves_out(node, user):
                return {"op"}
            if user.kind == "reduce_window" and node is user.operands[0] \
                    or user.kind == "compaction" and node is not user.operands[0]:      # goes through it once
                return {None} if expense[node] >= DEAR else {"op"}
            return {None} if user.kind in ("sort", "scatter") or not cheap else {"op"}
        if user.kind == "gather" and node is user.operands[0] and not cheap:
            return {None}
        if user in kept or is_root(user):
            domain = user.operands[0].shape if user.kind == "reduce" else user.shape
            return {(domain, self.depth[user], *self._step(node, user, expense))}
        ways = paths.get(user, set())
        extra = self._step(node, user, expense)
        if extra == (None,) or None in ways:
            return {None}
        if user.kind == "slice" and set(decoded(user, "strides")) == {1}:
            # a slice of what a window is put into, for that very window: the same place again
            same = ("dynamic_update_slice", tuple(decoded(user, "start_indices")))
            return {w[:-1] if w and w[-1] == same else (*w, *extra) for w in ways}
        return {(*w, *extra) for w in ways} if extra else ways

    @staticmethod
    def _along(node: Node, user: Node) -> bool:
        """Whether a broadcast goes on in the direction in which memory is walked."""
        return decoded(user, "broadcast_dimensions")[-1] == len(user.shape) - 1 and node.shape[-1] > 1

    @staticmethod
    def _is_slow_outside(node: Node, user: Node, expense: dict[Node, float]) -> bool:
        """Whether a value that short innermost loops share costs more, one number at a time, than these loops do: kept,
        it is made by vector code (softplus of 32768, each for 16: 1.0 ms, 0.23 kept; forces of 512 x 512 pairs, each
        for three coordinates: 1.5 ms, 0.3)."""
        return expense[node] >= DEAR and node.size >= SEVERAL and user.size <= SHORT * node.size

    @staticmethod
    def _fills_registers(node: Node, user: Node, expense: dict[Node, float]) -> bool:
        """Whether the few numbers of a value, all written out where a short sum over them is, are too much code."""
        return node.size <= INLINE_REDUCTION and 2 * node.size <= user.size and node.size * expense[node] > WRITTEN_OUT

    def _step(self, node: Node, user: Node, expense: dict[Node, float]) -> tuple[Any, ...]:
        """What a user adds to an index map."""
        if user.kind == "dynamic_update_slice":
            starts = [s.splat for s in user.operands[2:]]
            if node is user.operands[0] or not user.shape:
                return ()
            return ((user.kind, tuple(map(int, starts)) if None not in starts else id(user)),)
        if user.kind not in MOVES and user.kind != "reduce" or user.kind == "reshape" \
                or user.kind == "gather" and node is not user.operands[0]:
            return ()   # the same place in memory; a gather needs its indices where its result is
        if user.kind == "broadcast_in_dim" and node.size == user.size and _ascending(user):
            return ()
        if user.kind == "broadcast_in_dim" and expense[node] > 3 and node.size * 4 <= user.size \
                and (not node.shape or self._along(node, user)) or user.kind == "broadcast_in_dim" \
                and (node.size * 2 <= user.size and self._is_slow_outside(node, user, expense)
                     or self._fills_registers(node, user, expense)):
            return (None,)
        if user.kind == "reduce":
            if not reduces_inline(user):
                return ()
            return id(user), Repeat(copies=node.size // max(user.size, 1))
        more = (Repeat(_again(node, user)),) if user.kind == "broadcast_in_dim" else ()
        return (user.kind, *more, tuple(sorted((k, str(v)) for k, v in user.attributes.items())),
                *(id(o) for o in user.operands[1:]), user.operands.index(node) if user.kind == "concatenate" else 0)
