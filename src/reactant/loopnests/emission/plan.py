"""What of a block is kept in memory, in which steps it is computed, and what each step reads.

A *root* is a value that is computed for its own sake: a reduction, an update, an array that is kept. Everything else is
computed where it is used. Roots over one range of indices that need each other only element by element share a nest.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from reactant.ir.types import size
from reactant.loopnests.analysis.graph import Block, Node, Shape
from reactant.loopnests.emission.affine import Affine, Facts, here, linear, symbol
from reactant.loopnests.emission.elements import Elements, Flat, reduces_inline
from reactant.loopnests.emission.keeping import MOVES, OPS, WHOLE, Keeping, is_root, is_scalar_step, results_of
from reactant.loopnests.emission.numbers import ELEMENTWISE, Arithmetic, Number
from reactant.loopnests.emission.probing import computed, probing
from reactant.loopnests.emission.roots import Plan, Root, Step
from reactant.loopnests.emission.writer import Names, Writer

SMALL = 4
"""How many times smaller than an array a part of it is that is worth reading before the array changes."""
LEAST_WINDOW = 256
"""Elements from which what has been put into an array is worth reading there."""
LONGEST = 64
"""Operations on single numbers that are written out wherever their result is used; of longer chains, numbers in between
are steps of their own (hundreds of conditions that depend on each other: 100 s of writing them again for each nest)."""


def read_from_updates(block: Block) -> None:
    """What has been put into an array is read there, not computed again, by all that come later.

    Optimisers make slices of an update the update; in memory the array is what there is.
    """
    order = {n: k for k, n in enumerate(block.nodes)}
    for node in list(block.nodes):
        if node.kind != "dynamic_update_slice" or not (is_root(node) or WHOLE in node.attributes):
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


def readers_of(steps: Sequence[Step]) -> dict[Node, list[tuple[int, Root]]]:
    """Who reads each value, in order: the roots and the places of their steps."""
    found: dict[Node, list[tuple[int, Root]]] = {}
    for place, step in enumerate(steps):
        for root in step.roots:
            for node in dict.fromkeys(n for n, _ in root.reads):
                found.setdefault(node, []).append((place, root))
    return found


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
        self.elements: dict[tuple[Node, Any], str] = {}
        """Names of elements that are read."""
        self._roots: dict[Node, bool] = {}
        self._behind: dict[Node, set[Node]] = {}
        """What `_reached` found, as long as `kept` stays as it is."""

    def is_kept(self, node: Node) -> bool:
        """Whether a value is read where it is used, not computed there."""
        if node.kind == "constant":
            return node.splat is None
        if node in self.kept or node in self.numbers or node.kind in ("argument", "result"):
            return True
        if node.block is not self.block:
            return self.stored(node)
        found = self._roots.get(node)
        if found is None:
            found = self._roots[node] = is_root(node)
        return found

    def plan(self) -> Plan:
        """The steps of the block. What is read of an array that is overwritten is read before, where that is what lies
        between the array and being updated in place."""
        for _ in range(3):
            made = self._planned()
            early: dict[Node, Node] = {}
            readers = readers_of(made.steps)
            for number, step in enumerate(made.steps):
                for root in step.roots:
                    if root.kind == "update":
                        later = [r for place, r in readers.get(root.node.operands[0], ()) if place > number]
                        early.update({v: root.node for v in self._read_too_late(root, later)})
                    elif root.kind == "map":
                        early.update({v: root.node for v in self._read_elsewhere(root)})
            if all(v in self.kept and self.order[v] < self.order[before] for v, before in early.items()):
                break
            for value, before in early.items():
                self._move_before(value, before)
            self.kept |= set(early)
            self._behind.clear()
        _write_last(made)
        return made

    def _read_too_late(self, update: Root, later: Iterable[Root]) -> Iterable[Node]:
        """Values computed after an update from what it overwrites: small parts of the array, or values that come
        before the update in the program. `later`: who reads it then."""
        operand = update.node.operands[0]
        for root in later:
            if any(n is operand and not windows_apart(self.names, update, root, i) for n, i in root.reads):
                if root.node in self.kept and self._is_small_part(root.node, operand):
                    if self._closure(root.node, update.node) is not None:
                        yield root.node
                else:
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
        parts = {n for n in array.users if n.kind in MOVES and n.size * SMALL <= array.size}
        while stack:
            each = stack.pop()
            if each in seen or self.is_kept(each) or each.block is not self.block or not each.shape:
                continue
            seen.add(each)
            if self._is_small_part(each, array) and self._closure(each, before) is not None:
                yield each
            elif before is not node and self.order[each] < self.order[before] and each.size <= array.size \
                    and (not parts or parts.isdisjoint(self._reached(each))):
                if array in self.reads_of([each]):
                    yield each
            else:
                stack.extend(each.operands)

    @staticmethod
    def _is_small_part(node: Node, array: Node) -> bool:
        return array in node.operands and node.kind in MOVES and node.size * SMALL <= array.size

    def _reached(self, node: Node) -> set[Node]:
        """A value and what it is computed from, up to what is kept."""
        known = self._behind.get(node)
        if known is not None:
            return known
        found: set[Node] = set()
        stack = [node]
        while stack:
            each = stack.pop()
            if each not in found:
                found.add(each)
                if not self.is_kept(each) and each.block is self.block:
                    stack.extend(each.operands)
        self._behind[node] = found
        return found

    def _closure(self, node: Node, before: Node) -> list[Node] | None:
        """What has to move for a value to come before an op; None where that is not possible."""
        found = []
        for each in {node}.union(*map(self._reached, node.operands)):
            if each.block is self.block and self.order.get(each, -1) >= self.order[before]:
                if each is before or is_root(each) or each in self.kept and each is not node or each.kind == "result":
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
        readers: dict[Node, list[tuple[int, Root]]] = {}
        for root in self.roots():
            place = self._nest_for(root, steps, made_in, readers)
            if place is None:
                place = len(steps)
                steps.append(Step([root], root.shape))
            else:
                steps[place].roots.append(root)
                if len(steps[place].roots) > 1 and not root.flat:
                    steps[place].shape = root.shape
            for each in results_of(root.node):
                made_in[each] = place
            for node in {n for n, _ in root.reads}:
                readers.setdefault(node, []).append((place, root))
        return Plan(self.block, self.kept, steps, self.reads_of(self.block.returned))

    def reads_of(self, nodes: Iterable[Node]) -> set[Node]:
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
                yield self._probed(Root(node, "map", self._walked(node)))

    def _walked(self, node: Node) -> Shape:
        """The shape that the loops which make a value run over: that of what is reshaped to it, where each of its
        dimensions is made of several (Kronecker products, repeated elements): otherwise each element is found by
        divisions (112 x 112 of 12 x 12 by 9 x 9: 50 us, 10)."""
        found, stack, seen = node.shape, [node], set()
        while stack:
            each = stack.pop()
            seen.add(each)
            if each.kind == "reshape" and not self.is_kept(each.operands[0]) \
                    and _refines(each.operands[0].shape, found):
                found = each.operands[0].shape
            if each.kind == "reshape" or each.kind in ELEMENTWISE:
                stack += [o for o in each.operands if o.size == node.size and o not in seen and not self.is_kept(o)]
        return found

    def _op(self, node: Node) -> Root:
        """An op with regions reads what they capture."""
        root = Root(node, "op", ())
        inputs = [o for o in Keeping._inputs(node) if o.block is None or o.block is self.block
                  or not any(o.block.inside(b) for b in node.blocks)]
        for each in self.reads_of(inputs):
            root.reads.append((each, None))
        root.expense = 1e4
        return root

    def _probed(self, root: Root) -> Root:
        """Fill in what a root reads, by computing an element of it that is thrown away."""
        seen: dict[tuple[Node, Any], None] = {}
        elements = self.prober(lambda node, index, made: seen.setdefault((node, index)))
        node = root.node
        flat_seen: dict[Node, bool] = {}
        sources = {"map": node.operands, "reduce": node.operands[:1], "update": node.operands[1:2]}.get(root.kind, ())
        root.flat = root.kind in ("map", "reduce") and (root.kind == "map" or len(root.reduced) == len(root.shape)) \
            and (flat_tree(node, self.is_kept, flat_seen) if root.kind == "map"
                 else all(self.is_kept(s) or flat_tree(s, self.is_kept, flat_seen) for s in sources))
        index = probing(elements.w, root.shape)
        if size(root.shape):
            self._compute(root, elements, index)
        root.reads = list(seen)
        if root.kind == "update":       # what the window leaves of the array
            root.reads += [(each, None) for each in self._in_order(self.reads_of(node.operands[:1]))]
        root.expense = max(1.0, self.keeping.expense.get(node, 1.0))
        root.bounds = _bounds(elements.a.breaks, {f"%d{k}" for k in range(len(root.shape))})
        return root

    def _compute(self, root: Root, elements: Elements, index: tuple[Affine, ...]) -> None:
        node = root.node
        computed(elements, root, index)
        if root.kind == "map":
            root.place = linear(index, root.shape)
        elif root.kind == "reduce":
            for init in node.operands[len(results_of(node)):]:
                elements.at(init, ())
        elif root.kind == "update":
            starts = elements.starts(node, node.operands[0], root.shape, 2)
            root.place = linear(tuple(i + s for i, s in zip(index, starts, strict=True)), node.shape)
            root.starts = tuple(starts)

    def prober(self, told: Callable[[Node, Any, Number], object]) -> Elements:
        """Computes elements, to be thrown away; `told`: what learns of each number that is read."""
        writer = Writer(self.names)
        writer.facts.ranges = self.names.ranges
        arithmetic = Arithmetic(writer)
        elements = Elements(arithmetic)

        def read(node: Node, index: Any) -> Number:     # which must not hold `elements`: a cycle
            made = self.unknown(node, index, writer, arithmetic)
            told(node, index, made)
            return made
        elements.kept = self.is_kept
        elements.read = read  # type: ignore[method-assign]
        return elements

    def unknown(self, node: Node, index: Any, writer: Writer, arithmetic: Arithmetic) -> Number:
        """A number about which only its range is known: always the same for one element."""
        if node.dtype.kind == "c":
            part = np.dtype(f"f{node.dtype.itemsize // 2}")
            real, imaginary = (Number(part, writer.define(writer.fresh("u"), 0)) for _ in (0, 1))
            return arithmetic.pair(real, imaginary, node.dtype)
        name = f"%n{id(node)}" if not node.shape else self.elements.setdefault((node, index), writer.fresh("u"))
        if name not in writer.level:
            writer.define(name, 0)
        known = self.range_of(node) if not node.shape and node.dtype.kind in "iu" else None
        if known is None:
            return Number(node.dtype, name)
        writer.facts.ranges[name] = known
        return Number(node.dtype, name, affine=symbol(name))

    def _nest_for(self, root: Root, steps: list[Step], made_in: dict[Node, int],
                  readers: dict[Node, list[tuple[int, Root]]]) -> int | None:
        """The last nest that a root can join: same indices, and what it reads from there it reads in place. An update
        joins none before somebody reads what it overwrites: it would have to copy the array."""
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
            earliest = max([earliest, *(place for place, reader in readers.get(operand, ()) if any(
                n is operand and not windows_apart(self.names, root, reader, i) for n, i in reader.reads))])
        for place in range(len(steps) - 1, earliest - 1, -1):
            step = steps[place]
            if step.kind == "nest" and self._matches(root, step) and _cut_alike(root, step):
                return place
        return None

    @staticmethod
    def _matches(root: Root, step: Step) -> bool:
        if step.shape == root.shape:
            return size(root.shape) > 0
        if size(step.shape) != size(root.shape) or not size(root.shape):
            return False
        return root.flat or all(r.flat for r in step.roots)


def _write_last(plan: Plan) -> None:
    """Where a loop's body makes the next content of a carried array before others read the array, it is made after
    them, in place: a window that is set to zero once it has been read."""
    owner = plan.block.owner
    if owner is None or owner.kind != "while" or plan.block is not owner.blocks[1]:
        return
    array_of = {r: a for a, r in zip(plan.block.arguments, plan.block.returned, strict=True) if a.shape and r is not a}
    for step in list(plan.steps):
        for root in list(step.roots):
            array = array_of.get(root.node)
            if root.kind != "map" or array is None or step not in plan.steps:
                continue
            place = plan.steps.index(step)
            readers = [k for k, later in enumerate(plan.steps) if k > place and any(
                n is array for r in later.roots for n, _ in r.reads)]
            between = [r for each in plan.steps[place:readers[-1] + 1] for r in each.roots if r is not root] \
                if readers else []
            read = {n for n, _ in root.reads}
            changed = {r.node.operands[0] for r in between if r.kind == "update" or r.node.kind == "scatter"} | {
                array_of[r.node] for r in between if r.node in array_of} | {r.node for r in between}
            if not readers or any(n is root.node for r in between for n, _ in r.reads) \
                    or not read.isdisjoint(changed - {array}):
                continue
            step.roots.remove(root)
            plan.steps.insert(readers[-1] + 1, Step([root], root.shape))
            if not step.roots:
                plan.steps.remove(step)


def _bounds(breaks: Iterable[Affine], counters: set[str]) -> frozenset[str]:
    """The symbols of places where comparisons of a counter with a run-time number change."""
    return frozenset(name for each in breaks if any(n in counters for n, _ in each.terms)
                     for name, _ in each.terms if name not in counters)


def _cut_alike(root: Root, step: Step) -> bool:
    """Whether a root's loops are cut at run-time places that those of a nest are cut at, or the other way round: two
    windows of an array have a nest each."""
    own, others = root.bounds, frozenset().union(*(r.bounds for r in step.roots))
    return own <= others or others <= own


def _refines(fine: Shape, coarse: Shape) -> bool:
    """Whether each dimension of a shape is one or several neighbouring ones of another, which has more."""
    rest = [n for n in fine if n != 1]
    few = [n for n in coarse if n != 1]
    if len(rest) <= len(few):
        return False
    for extent in few:
        while extent > 1 and rest and extent % rest[0] == 0:
            extent //= rest.pop(0)
        if extent != 1:
            return False
    return not rest


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
