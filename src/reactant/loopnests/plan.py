"""What of a block is kept in memory, in which steps it is computed, and what each step reads.

A *root* is a value that is computed for its own sake: a reduction, an update, an array that is kept. Everything else is
computed where it is used. Roots over one range of indices that need each other only element by element share a nest.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reactant.ir.types import size
from reactant.loopnests.affine import ZERO, Affine, Facts, linear, symbol
from reactant.loopnests.elements import Elements, Flat, reduces_inline
from reactant.loopnests.graph import Block, Node, Shape, decoded
from reactant.loopnests.numbers import ELEMENTWISE, EXPENSE, Arithmetic, Number
from reactant.loopnests.writer import Names, Writer

OPS = {"while", "if", "case", "sort", "scatter", "reduce_window", "custom_call"}
"""Roots that are not loop nests of their own."""
MOVES = {"broadcast_in_dim", "reshape", "transpose", "slice", "reverse", "pad", "concatenate", "dynamic_slice",
         "gather"}
READS_MEMORY = {"reshape", "slice", "dynamic_slice", "gather"}
MOST_WINDOWS = 4
"""Windows of an array that is put together in one nest."""
GATHERED = 2.0
"""The expense of a gather without its indices."""
DEAR, SHORT, SEVERAL = 20.0, 64, 32
"""The expense of a function such as exp, turns of an innermost loop that cost about as much as one outside, and numbers
that are worth a loop of their own then."""
SMALL = 4
"""How many times smaller than an array a part of it is that is worth reading before the array changes."""
NEAR, FAR = 1 << 20, 12
"""Bytes from which an array leaves the near caches, and how many times more a kept element costs then: memory, and
pages that are new in every call (horizontal diffusion: 5.8 ms of both cores with 1, 4.0 with 12; XLA 4.3)."""
BESIDE, NEXT, LIGHT = 1 << 14, 2, 3.0
"""Bytes from which an array leaves the nearest cache with those beside it, and how many times more a kept element costs
then; operations, reading left out, up to which it is computed wherever it is used then, among others that read the same
(gradients of 200 steps on 128 x 128: Burgers 11.5 ms with kept products, 8.9; Lax-Wendroff 6.1, 5.2; heat 3.7, 3.2)."""
LEAST_WINDOW = 256
"""Elements from which what has been put into an array is worth reading there."""
MANY = 64
"""Ways of using a value that are told apart."""
LONGEST = 64
"""Operations on single numbers that are written out wherever their result is used; of longer chains, numbers in between
are steps of their own (hundreds of conditions that depend on each other: 100 s of writing them again for each nest)."""


@dataclass(eq=False)
class Root:
    """A value that is computed for its own sake. `shape` is what its loops run over; `place` where an element of them
    is written (in the target), `reads` the kept values and their indices, in terms of the loops' symbols d0, d1...; an
    index of None is all of the value."""

    node: Node
    kind: str
    shape: Shape
    flat: bool = False
    reads: list[tuple[Node, Any]] = field(default_factory=list)
    place: Affine | None = None
    starts: tuple[Affine, ...] | None = None
    expense: float = 1.0

    @property
    def reduced(self) -> tuple[int, ...]:
        """Dimensions of `shape` that a reduction sums over."""
        return tuple(decoded(self.node, "dimensions")) if self.kind == "reduce" else ()


@dataclass(eq=False)
class Step:
    """One nest of loops with its roots, or one other op."""

    roots: list[Root]
    shape: Shape = ()

    @property
    def kind(self) -> str:
        """nest, scalar or op"""
        first = self.roots[0].kind
        return "nest" if first in ("map", "reduce", "update") else first


@dataclass(eq=False)
class Plan:
    """A block's steps in order."""

    block: Block
    kept: set[Node]
    steps: list[Step]
    reads_at_end: set[Node]


def is_scalar_step(node: Node) -> bool:
    """Whether a single number is read from memory, which must happen at its place in the program."""
    return node.size == 1 and node.kind in READS_MEMORY and node.operands[0].size != 1


def is_composed(node: Node) -> bool:
    """Whether an update belongs to an array put together of a few windows on a ground that is computed, not in memory,
    at known places: each element is computed where it is used, or all of them in one nest."""
    for _ in range(MOST_WINDOWS + 1):
        if node.kind != "dynamic_update_slice":
            return node.kind == "constant" and node.splat is not None or node.kind in ELEMENTWISE
        if any(s.splat is None for s in node.operands[2:]) or not node.operands[1].size:
            return False
        node = node.operands[0]
    return False


def is_root(node: Node) -> bool:
    """Whether an op is always computed for its own sake."""
    return node.kind in OPS or node.kind == "dynamic_update_slice" and bool(node.shape) and not is_composed(node) \
        or node.kind == "reduce" and not reduces_inline(node) or is_scalar_step(node)


def results_of(node: Node) -> list[Node]:
    """The values a root defines."""
    return node.results or [node]


def read_from_updates(block: Block) -> None:
    """What has been put into an array is read there, not computed again, by all that come later.

    Optimisers make slices of an update the update; in memory the array is what there is.
    """
    order = {n: k for k, n in enumerate(block.nodes)}
    for node in list(block.nodes):
        if node.kind != "dynamic_update_slice" or not is_root(node):
            continue
        window, starts = node.operands[1], [s.splat for s in node.operands[2:]]
        if window.block is not block or window.kind not in ELEMENTWISE or window.size < LEAST_WINDOW or None in starts \
                or any(u.kind == node.kind and u.operands[0] is node for u in node.users):
            continue
        later = {u for u in window.users if u.block is block and order.get(u, -1) > order[node] and not u.blocks
                 and u.kind != node.kind}
        if later:
            _read_there(block, node, [min(max(int(s), 0), n - k) for s, n, k in
                                      zip(starts, node.shape, window.shape, strict=True)], later)


def _read_there(block: Block, node: Node, starts: list[int], users: set[Node]) -> None:
    """Some users of an update's window read it as a slice of the array."""
    window = node.operands[1]
    ends = [s + n for s, n in zip(starts, window.shape, strict=True)]
    part = Node("slice", (node,), window.shape, window.dtype,
                {"start_indices": starts, "limit_indices": ends, "strides": [1] * len(starts)})
    part.block, part.results = block, [part]
    block.nodes.insert(block.nodes.index(node) + 1, part)
    node.users.append(part)
    part.users = [u for u in window.users if u in users]
    window.users = [u for u in window.users if u not in users]
    for user in users:
        user.operands = tuple(part if o is window else o for o in user.operands)


def _cut(ways: set[Any]) -> bool:
    """Whether a value is used through paddings or joined arrays, which cut the loops of those who use it: each shift of
    it has borders of its own (gradient of a stencil applied four times: 35 ms computed again, 3 ms kept)."""
    return any(step in ("pad", "concatenate") for way in ways if isinstance(way, tuple) for step in way)


def numbers_between(block: Block) -> set[Node]:
    """Where long chains of operations on single numbers are cut. (Integers may be indices: these stay expressions.)"""
    cuts: set[Node] = set()
    behind: dict[Node, set[Node]] = {}
    for node in block.nodes:
        if node.shape or node.kind not in ELEMENTWISE:
            continue
        found = {node}.union(*[behind.get(o, ()) for o in node.operands])
        if len(found) <= LONGEST:
            behind[node] = found
        elif node.dtype.kind in "bf":
            cuts.add(node)
    return cuts


# ---- what is kept -----------------------------------------------------------------------------------------------

class Keeping:
    """Decides which values of a block are kept in memory."""

    def __init__(self, block: Block, forced: Iterable[Node]) -> None:
        self.block, self.forced = block, set(forced)
        self.depth: dict[Node, int] = {}
        for node in block.nodes:
            level = max((self.depth.get(o, 0) + self._ends_a_nest(o) for o in self._inputs(node)), default=0)
            for each in [node, *results_of(node)]:
                self.depth[each] = level

    @staticmethod
    def _inputs(node: Node) -> Iterable[Node]:
        yield from node.operands
        for inner in node.blocks:
            for each in inner.walk():
                yield from each.operands
            yield from inner.returned

    @staticmethod
    def _ends_a_nest(node: Node) -> bool:
        return node.kind == "result" or is_root(node) and node.kind != "dynamic_update_slice"

    def decide(self) -> set[Node]:
        """The values that are kept, besides results of ops that are always roots."""
        kept: set[Node] = set()
        for _ in range(2):
            expense = self._expenses(kept)
            kept = self._pass(expense, self._expenses(kept, 0.0))
        self.expense = self._expenses(kept)
        return kept

    def _expenses(self, kept: set[Node], read: float = 1.0) -> dict[Node, float]:
        """What an element of each value costs, with the cost of reading one from memory."""
        found: dict[Node, float] = {}
        for node in self.block.nodes:
            total = float(EXPENSE.get(node.kind, 1 if node.kind in ELEMENTWISE else 0))
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

    def _pass(self, expense: dict[Node, float], work: dict[Node, float]) -> set[Node]:
        kept: set[Node] = set()
        paths: dict[Node, set[Any]] = {}
        for node in reversed(self.block.nodes):
            if is_root(node) or node.kind == "constant" or not node.shape or not node.size:
                continue
            if node in self.forced or "kept" in node.attributes:
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
            memory = (2 + len(ways)) * (1 if _cut(ways) else FAR if node.nbytes >= NEAR else NEXT if
                                        node.nbytes >= BESIDE else 1)
            if None in ways or len(ways) > MANY or (len(ways) - 1) * each > memory:
                if expense[node] > 0 or None not in ways:
                    kept.add(node)
                    continue
            paths[node] = ways
        return kept

    def _ways(self, node: Node, user: Node, kept: set[Node], paths: dict[Node, set[Any]],
              expense: dict[Node, float]) -> set[Any]:
        """How one user uses a value: a set of index maps, with None in it where the value has to be kept."""
        cheap = expense[node] <= 1
        if user.block is not self.block:
            return {None} if not cheap or not user.block else {"inside"}
        if user.kind in OPS:
            return {None} if user.kind in ("sort", "scatter") or not cheap else {"op"}
        if user.kind == "gather" and node is user.operands[0] and not cheap:
            return {None}
        if user in kept or is_root(user):
            domain = user.operands[0].shape if user.kind == "reduce" else user.shape
            return {(domain, self.depth[user], *self._step(node, user, expense))}
        ways = paths.get(user, set())
        extra = self._step(node, user, expense)
        if extra == (None,):
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
        if user.kind == "broadcast_in_dim" and expense[node] > 3 and node.size * 4 <= user.size \
                and (not node.shape or self._along(node, user)) or user.kind == "broadcast_in_dim" \
                and node.size * 2 <= user.size and self._is_slow_outside(node, user, expense):
            return (None,)
        if user.kind == "reduce":
            return (id(user),) if reduces_inline(user) else ()
        return (user.kind, tuple(sorted((k, str(v)) for k, v in user.attributes.items())),
                *(id(o) for o in user.operands[1:]), user.operands.index(node) if user.kind == "concatenate" else 0)


# ---- steps ------------------------------------------------------------------------------------------------------

def flat_tree(node: Node, kept: Callable[[Node], bool], seen: dict[Node, bool]) -> bool:
    """Whether a value at a row-major place needs its operands at the same place only."""
    if node in seen:
        return seen[node]
    if node.kind in ELEMENTWISE or node.kind in ("reshape", "reduce_precision"):
        good = all(not o.shape or kept(o) or flat_tree(o, kept, seen) for o in node.operands)
    else:
        good = node.kind == "constant" and node.splat is not None or \
            node.kind == "broadcast_in_dim" and node.operands[0].size == 1
    seen[node] = good
    return good


class Planner:
    """Plans one block. `range_of` tells what is known of run-time integers."""

    def __init__(self, block: Block, forced: Iterable[Node], range_of: Callable[[Node], tuple[int, int] | None],
                 stored: Callable[[Node], bool], names: Names) -> None:
        self.block, self.range_of, self.stored, self.names = block, range_of, stored, names
        read_from_updates(block)
        self.keeping = Keeping(block, forced)
        self.kept = self.keeping.decide()
        self.numbers = numbers_between(block)
        self.order = {n: k for k, n in enumerate(block.nodes)}

    def is_kept(self, node: Node) -> bool:
        """Whether a value is read where it is used, not computed there."""
        if node.kind == "constant":
            return node.splat is None
        if node in self.kept or node in self.numbers or node.kind in ("argument", "result"):
            return True
        return is_root(node) if node.block is self.block else self.stored(node)

    def plan(self) -> Plan:
        """The steps of the block. What is read of an array that is overwritten is read before, where that is what lies
        between the array and being updated in place."""
        for _ in range(3):
            made = self._planned()
            early: dict[Node, Node] = {}
            for number, step in enumerate(made.steps):
                for root in step.roots:
                    if root.kind == "update":
                        early.update({v: root.node for v in self._read_too_late(root, made.steps[number + 1:])})
                    elif root.kind == "map":
                        early.update({v: root.node for v in self._read_elsewhere(root)})
            if all(v in self.kept for v in early):
                break
            for value, before in early.items():
                self._move_before(value, before)
            self.kept |= set(early)
        return made

    def _read_too_late(self, update: Root, later: list[Step]) -> Iterable[Node]:
        """Values computed after an update from what it overwrites: small parts of the array, or values that come
        before the update in the program."""
        operand = update.node.operands[0]
        for step in later:
            for root in step.roots:
                if any(n is operand and not windows_apart(self.names, update, root, i) for n, i in root.reads):
                    yield from self._between(root.node, operand, update.node)

    def _read_elsewhere(self, root: Root) -> Iterable[Node]:
        """Small parts of a carried array that the nest reads which makes its next content: rows, columns."""
        owner = self.block.owner
        if owner is None or owner.kind != "while" or self.block is not owner.blocks[1]:
            return
        for argument, returned in zip(self.block.arguments, self.block.returned, strict=True):
            if returned is not root.node:
                continue
            found = list(self._between(root.node, argument, root.node))
            through = {n for v in found for n in self._reached(v)}
            elsewhere = [i for n, i in root.reads if n is argument and i is not None
                         and (i.place if isinstance(i, Flat) else linear(i, n.shape)) != root.place]
            if elsewhere and found and all(v.size * SMALL <= argument.size for v in found) and argument in through:
                yield from found

    def _between(self, node: Node, array: Node, before: Node) -> Iterable[Node]:
        """The values between a root and an array that it is computed from, next to the array where they are small."""
        stack, seen = list(node.operands), set()
        while stack:
            each = stack.pop()
            if each in seen or self.is_kept(each) or each.block is not self.block or not each.shape:
                continue
            seen.add(each)
            small = array in each.operands and each.kind in MOVES and each.size * SMALL <= array.size
            if small and self._closure(each, before) is not None:
                yield each
            elif before is not node and self.order[each] < self.order[before] and each.size <= array.size \
                    and not any(o in each.operands and self._smaller_inside(each, array) for o in each.operands):
                if array in self._reads_of([each]):
                    yield each
            else:
                stack.extend(each.operands)

    def _smaller_inside(self, node: Node, array: Node) -> bool:
        """Whether a value is computed from small parts of an array."""
        return any(array in n.operands and n.kind in MOVES and n.size * SMALL <= array.size
                   for n in self._reached(node) if n is not array)

    def _reached(self, node: Node) -> set[Node]:
        """A value and what it is computed from, up to what is kept."""
        found: set[Node] = set()
        stack = [node]
        while stack:
            each = stack.pop()
            if each not in found:
                found.add(each)
                if not self.is_kept(each) and each.block is self.block:
                    stack.extend(each.operands)
        return found

    def _closure(self, node: Node, before: Node) -> list[Node] | None:
        """What has to move for a value to come before an op; None where that is not possible."""
        found = []
        for each in self._reached(node):
            if each.block is self.block and self.order.get(each, -1) >= self.order[before]:
                if each is before or is_root(each) or each in self.kept or each.kind == "result":
                    return None
                found.append(each)
        return sorted(found, key=self.order.__getitem__)

    def _move_before(self, value: Node, before: Node) -> None:
        moved = self._closure(value, before) or []
        if moved:
            rest = [n for n in self.block.nodes if n not in set(moved)]
            at = rest.index(before)
            self.block.nodes = [*rest[:at], *moved, *rest[at:]]
            self.order = {n: k for k, n in enumerate(self.block.nodes)}

    def _planned(self) -> Plan:
        steps: list[Step] = []
        made_in: dict[Node, int] = {}
        for root in self.roots():
            place = self._nest_for(root, steps, made_in)
            if place is None:
                place = len(steps)
                steps.append(Step([root], root.shape))
            else:
                steps[place].roots.append(root)
                if len(steps[place].roots) > 1 and not root.flat:
                    steps[place].shape = root.shape
            for each in results_of(root.node):
                made_in[each] = place
        return Plan(self.block, self.kept, steps, self._reads_of(self.block.returned))

    def _reads_of(self, nodes: Iterable[Node]) -> set[Node]:
        """The kept values that computing some others reads."""
        found: set[Node] = set()
        stack, seen = list(nodes), set()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if self.is_kept(node):
                found.add(node)
            else:
                stack.extend(node.operands)
        return found

    def _in_order(self, nodes: Iterable[Node]) -> list[Node]:
        """The same every time."""
        return sorted(nodes, key=lambda n: (self.order.get(n, -1), n.index if n.kind == "result" else 0))

    def roots(self) -> Iterable[Root]:
        """The block's roots in program order, with what they read."""
        for node in self.block.nodes:
            if node.kind in OPS:
                yield self._op(node)
            elif is_scalar_step(node) or node in self.numbers:
                yield self._probed(Root(node, "scalar", ()))
            elif node.kind == "reduce" and not reduces_inline(node):
                yield self._probed(Root(node, "reduce", node.operands[0].shape))
            elif node.kind == "dynamic_update_slice" and is_root(node):
                yield self._probed(Root(node, "update", node.operands[1].shape))
            elif node in self.kept:
                yield self._probed(Root(node, "map", node.shape))

    def _op(self, node: Node) -> Root:
        """An op with regions reads what they capture."""
        root = Root(node, "op", ())
        inputs = [o for o in Keeping._inputs(node) if o.block is None or o.block is self.block
                  or not any(o.block.inside(b) for b in node.blocks)]
        for each in self._reads_of(inputs):
            root.reads.append((each, None))
        root.expense = 1e4
        return root

    def _probed(self, root: Root) -> Root:
        """Fill in what a root reads, by computing an element of it that is thrown away."""
        writer = Writer(self.names)
        writer.facts.ranges = self.names.ranges
        arithmetic = Arithmetic(writer)
        elements = Elements(arithmetic)
        seen: dict[tuple[Node, Any], None] = {}

        def read(node: Node, index: Any) -> Number:
            seen.setdefault((node, index))
            return self.unknown(node, writer, arithmetic)
        elements.kept = self.is_kept
        elements.read = read  # type: ignore[method-assign]
        node = root.node
        flat_seen: dict[Node, bool] = {}
        sources = {"map": node.operands, "reduce": node.operands[:1], "update": node.operands[1:2]}.get(root.kind, ())
        root.flat = root.kind in ("map", "reduce") and (root.kind == "map" or len(root.reduced) == len(root.shape)) \
            and (flat_tree(node, self.is_kept, flat_seen) if root.kind == "map"
                 else all(self.is_kept(s) or flat_tree(s, self.is_kept, flat_seen) for s in sources))
        index = here(root.shape)
        for k, extent in enumerate(root.shape):
            writer.define(f"%d{k}", 0)
            writer.facts.ranges[f"%d{k}"] = (0, max(extent - 1, 0))
        if size(root.shape):
            self._compute(root, elements, index)
        root.reads = list(seen)
        if root.kind == "update":       # what the window leaves of the array
            root.reads += [(each, None) for each in self._in_order(self._reads_of(node.operands[:1]))]
        root.expense = max(1.0, self.keeping.expense.get(node, 1.0))
        return root

    def _compute(self, root: Root, elements: Elements, index: tuple[Affine, ...]) -> None:
        node = root.node
        if root.kind == "scalar":
            elements.compute(node, (ZERO,) * len(node.shape))
        elif root.kind == "map":
            elements.compute(node, index)
            root.place = linear(index, node.shape)
        elif root.kind == "reduce":
            count = len(results_of(node))
            for operand in node.operands[:count]:
                elements.at(operand, index)
            for init in node.operands[count:]:
                elements.at(init, ())
        else:
            operand, update = node.operands[:2]
            elements.at(update, index)
            starts = elements.starts(node, operand, update.shape, 2)
            root.place = linear(tuple(i + s for i, s in zip(index, starts, strict=True)), node.shape)
            root.starts = tuple(starts)

    def unknown(self, node: Node, writer: Writer, arithmetic: Arithmetic) -> Number:
        """A number about which only its range is known."""
        if node.dtype.kind == "c":
            part = np.dtype(f"f{node.dtype.itemsize // 2}")
            real, imaginary = (Number(part, writer.define(writer.fresh("u"), 0)) for _ in (0, 1))
            return arithmetic.pair(real, imaginary, node.dtype)
        name = f"%n{id(node)}" if not node.shape else writer.fresh("u")
        if name not in writer.level:
            writer.define(name, 0)
        known = self.range_of(node) if not node.shape and node.dtype.kind in "iu" else None
        if known is None:
            return Number(node.dtype, name)
        writer.facts.ranges[name] = known
        return Number(node.dtype, name, affine=symbol(name))

    def _nest_for(self, root: Root, steps: list[Step], made_in: dict[Node, int]) -> int | None:
        """The last nest that a root can join: same indices, and what it reads from there it reads in place."""
        if root.kind not in ("map", "reduce", "update"):
            return None
        place_here = linear(here(root.shape), root.shape)
        earliest = 0
        for node, index in root.reads:
            if node not in made_in:
                continue
            place = made_in[node]
            producer = next(r for r in steps[place].roots if node in results_of(r.node))
            in_place = index is not None and producer.kind == "map" and node.size == size(root.shape) \
                and (index.place if isinstance(index, Flat) else linear(index, node.shape)) == place_here
            earliest = max(earliest, place if in_place else place + 1)
        if root.kind == "update":
            operand = root.node.operands[0]
            if operand in made_in:
                earliest = max(earliest, made_in[operand] + 1)
        for place in range(len(steps) - 1, earliest - 1, -1):
            step = steps[place]
            if step.kind == "nest" and self._matches(root, step):
                return place
        return None

    @staticmethod
    def _matches(root: Root, step: Step) -> bool:
        if step.shape == root.shape:
            return size(root.shape) > 0
        if size(step.shape) != size(root.shape) or not size(root.shape):
            return False
        return root.flat or all(r.flat for r in step.roots)


def here(shape: Shape) -> tuple[Affine, ...]:
    """The index of a nest on trial: d0, d1..., and 0 where there is one place only."""
    return tuple(symbol(f"%d{k}") if n != 1 else ZERO for k, n in enumerate(shape))


def windows_apart(names: Names, writer: Root, reader: Root, index: Any) -> bool:
    """Whether an index that a root reads at lies outside the window that an update writes, wherever both loops are."""
    if writer.starts is None or index is None or isinstance(index, Flat) or len(index) != len(writer.starts):
        return False
    ranges = {f"%d{k}": (0, max(n - 1, 0)) for k, n in enumerate(reader.shape)}
    facts = Facts({**names.ranges, **ranges})
    for place, start, extent in zip(index, writer.starts, writer.shape, strict=True):
        low, high = facts.range(place - start)
        if high < 0 or low >= extent:
            return True
    return False
