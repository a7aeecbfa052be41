"""Blocks and branches as nested statements: any control-flow graph, without duplicating code.

After Bahmann, Reissmann, Jahre, Meyer, "Perfect reconstructability of control flow from demand dependence graphs"
(ACM TACO 2015). A strongly connected part becomes a loop: several ways in go through one dispatching head, several
ways out leave a number behind that is dispatched on after the loop. A branch becomes an if over what only its two ways
reach; where they come together in several places, a number says where to go on.

SSA values are read as variables here: a block's parameter is assigned on the edges to it. `structured` turns the
statements back into SSA.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.kernels.form.rebuild import blocks_of, edges, terminator_of
from reactant.support.records import dataclass


@dataclass(eq=False)
class Variable:
    """Something assigned that is no value of the old function."""

    type: ir.Type


@dataclass(frozen=True)
class Number:
    """An integer constant as the source of an assignment."""

    value: int


class Undefined:
    """Says that a name has no value from here on."""


UNDEFINED = Undefined()
Name: TypeAlias = "Variable | ir.Value"
Source: TypeAlias = "Variable | ir.Value | Number | Undefined"


@dataclass
class Way:
    """An edge: where to (None: out of the function), what is assigned on it, for which cases (None: otherwise)."""

    target: int | None
    assigned: list[tuple[Name, Source]] = field(default_factory=list)
    cases: list[int] | None = None


@dataclass
class Node:
    """ops, then a choice among ways by `selector` (none: the only way). `numbers`: those of each way, where only ways
    to this node assign the selector."""

    ops: list[ir.Operation]
    ways: list[Way]
    selector: Name | None = None
    location: ir.Location | None = None
    parameters: list[ir.Value] = field(default_factory=list)
    numbers: list[list[int]] = field(default_factory=list)


@dataclass
class Assign:
    """All sources are read before anything is assigned."""

    pairs: list[tuple[Name, Source]]


@dataclass
class Choice:
    """Statements by the value of `selector`; the branch without cases is for all other values, and is last."""

    selector: Name
    branches: list[tuple[list[int] | None, list[Statement]]]
    location: ir.Location | None = None


@dataclass
class Loop:
    """Run body; as long as `again` holds, once more."""

    body: list[Statement]
    again: Variable
    location: ir.Location | None = None


Statement: TypeAlias = "ir.Operation | Assign | Choice | Loop"


class Graph:
    """The nodes of one function."""

    def __init__(self, function: ir.Operation):
        self.i1, self.i32 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(32)
        blocks = blocks_of(function)
        self.nodes = [self.node(block, blocks) for block in blocks]

    def node(self, block: ir.Block, blocks: list[ir.Block]) -> Node:
        terminator = terminator_of(block)
        found = edges(blocks, terminator)
        ways: list[Way] = []
        for edge in sorted(found, key=lambda e: e.case is None):
            pairs = list(zip(blocks[edge.target].arguments, edge.values, strict=True))
            twin = next((w for w in ways if w.target == edge.target and w.assigned == pairs), None)
            if twin is None:
                ways.append(Way(edge.target, pairs, None if edge.case is None else [edge.case]))
            elif edge.case is None:
                twin.cases = None
            elif twin.cases is not None:
                twin.cases.append(edge.case)
        if terminator.name == "cf.cond_br" and len(ways) == 2:
            ways[1].cases = None  # 1, then otherwise
        elif len(ways) == 1:
            ways[0].cases = None
        ways.sort(key=lambda w: w.cases is None)
        selector = terminator.operands[0] if len(ways) > 1 else None
        ops = [op.operation for op in block.operations][:-1]
        return Node(ops, ways or [Way(None)], selector, terminator.location, list(block.arguments))

    # -- the graph

    def targets(self, number: int, inside: set[int]) -> list[int]:
        return [w.target for w in self.nodes[number].ways if w.target is not None and w.target in inside]

    def reachable(self, starts: Iterable[int], inside: set[int]) -> set[int]:
        seen = {s for s in starts if s in inside}
        stack = list(seen)
        while stack:
            for target in self.targets(stack.pop(), inside):
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return seen

    def components(self, inside: set[int]) -> list[set[int]]:
        """Strongly connected parts that hold a cycle (Tarjan, without recursion)."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        on_stack: set[int] = set()
        stack: list[int] = []
        found: list[set[int]] = []
        for root in sorted(inside):
            if root in index:
                continue
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            work = [(root, iter(self.targets(root, inside)))]
            while work:
                node, following = work[-1]
                for target in following:
                    if target not in index:
                        index[target] = low[target] = len(index)
                        stack.append(target)
                        on_stack.add(target)
                        work.append((target, iter(self.targets(target, inside))))
                        break
                    if target in on_stack:
                        low[node] = min(low[node], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        part: set[int] = set()
                        while node not in part:
                            part.add(stack.pop())
                        on_stack -= part
                        if len(part) > 1 or node in self.targets(node, inside):
                            found.append(part)
        return found

    def dispatch(self, targets: list[int | None], location: ir.Location | None) -> tuple[int, Variable]:
        """A node that goes to targets[k] for the number k in a variable; 1 and 0 for two."""
        if len(targets) == 2:
            selector = Variable(self.i1)
            ways = [Way(targets[1], [], [1]), Way(targets[0])]
        else:
            selector = Variable(self.i32)
            ways = [Way(t, [], [k]) for k, t in enumerate(targets)]
            ways[-1].cases = None
        self.nodes.append(Node([], ways, selector, location))
        return len(self.nodes) - 1, selector

    # -- statements

    def statements(self) -> list[Statement]:
        """The whole function."""
        return self.region(0, self.reachable([0], set(range(len(self.nodes)))))

    def region(self, entry: int, inside: set[int]) -> list[Statement]:
        """A part with one entry, all of whose ways out lead to the same place."""
        inside = set(inside)
        heads: dict[int, set[int]] = {}
        made: list[Statement] = []
        for part in self.components(inside):
            head, preset = self.only_head(part, entry, inside)
            heads[head] = part
            if entry in part:
                entry = head
                made += [Assign([preset])] if preset else []
        current: int | None = entry
        while current is not None and current in inside:
            if current in heads:
                current = self.loop(current, heads[current], made, inside)
                continue
            node = self.nodes[current]
            made.extend(node.ops)
            if node.selector is None:
                way = node.ways[0]
                if way.assigned:
                    made.append(Assign(way.assigned))
                current = way.target
            else:
                current = self.choice(current, made, inside)
        return made

    def only_head(self, part: set[int], entry: int, inside: set[int]) -> tuple[int, tuple[Name, Source] | None]:
        """The one node through which a loop is entered, made if there are several; and what is to be assigned first
        where the loop starts the region."""
        entered = {w.target for n in inside - part for w in self.nodes[n].ways if w.target in part}
        if entry in part:
            entered.add(entry)
        targets = sorted(t for t in entered if t is not None)
        if len(targets) == 1:
            return targets[0], None
        head, selector = self.dispatch(list(targets), self.nodes[targets[0]].location)
        for number in inside:
            for way in self.nodes[number].ways:
                if way.target in targets:
                    way.assigned = [*way.assigned, (selector, Number(targets.index(way.target)))]
                    way.target = head
        preset = (selector, Number(targets.index(entry))) if entry in part else None
        part.add(head)
        inside.add(head)
        return head, preset

    def loop(self, head: int, part: set[int], made: list[Statement], inside: set[int]) -> int | None:
        """Append the loop; where to go on."""
        node = self.nodes[head]
        again = Variable(self.i1)
        carried: list[tuple[Name, Name]] = [(p, Variable(p.type)) for p in node.parameters]
        if isinstance(node.selector, Variable) and not node.ops:  # a dispatching head: its number is carried too
            carried.append((node.selector, Variable(node.selector.type)))
        renamed = dict(carried)
        exits: list[int | None] = []
        for number in sorted(part):
            for way in self.nodes[number].ways:
                if way.target not in part and self.place(way, inside) not in exits:
                    exits.append(self.place(way, inside))
        following: int | None = exits[0] if exits else None
        selector = None
        if len(exits) > 1:
            following, selector = self.dispatch(exits, node.location)
            inside.add(following)
        for number in part:
            for way in self.nodes[number].ways:
                if way.target == head:
                    way.assigned = [(renamed.get(n, n), s) for n, s in way.assigned]
                    way.assigned.append((again, Number(1)))
                    way.target = -1
                elif way.target not in part:
                    way.assigned = [*way.assigned, (again, Number(0))]
                    if selector is not None:
                        way.assigned.append((selector, Number(exits.index(self.place(way, inside)))))
        self.undefine([w for n in sorted(part) for w in self.nodes[n].ways if w.target not in part])
        if carried:
            made.append(Assign([(new, old) for old, new in carried]))
        body: list[Statement] = [Assign([(old, new) for old, new in carried])] if carried else []
        body += self.region(head, part)
        made.append(Loop(body, again, node.location))
        return following

    def undefine(self, ways: list[Way]) -> None:
        """What one of these ways assigns for the place it leads to means nothing on the others: say so, or it would
        seem to be carried along from before. (A dispatching node's ways assign nothing: that was done before them.)"""
        def parameters(way: Way) -> list[Name]:
            if way.target is None or way.target < 0:
                return []
            node = self.nodes[way.target]
            return [*node.parameters, *([node.selector] if isinstance(node.selector, Variable) else [])]
        names = [n for way in ways for n, s in way.assigned
                 if s is not UNDEFINED and (isinstance(n, Variable) or n in parameters(way))]
        for way in ways:
            known = {*(n for n, _ in way.assigned), *parameters(way)}
            if way.target is None:
                continue
            for name in names:
                if name not in known:
                    known.add(name)
                    way.assigned = [*way.assigned, (name, UNDEFINED)]

    def place(self, way: Way, inside: set[int]) -> int | None:
        """A way's target, None for everything outside."""
        return way.target if way.target in inside else None

    def choice(self, number: int, made: list[Statement], inside: set[int]) -> int | None:
        """Append the branches of a node; where to go on."""
        node = self.nodes[number]
        assert node.selector is not None
        reached = self.reachable([number], inside)
        own: list[set[int]] = []
        for way in node.ways:
            others = [w.target for w in node.ways if w is not way and w.target is not None]
            own.append(reached - self.reachable(others, inside) - {number} if way.target in inside else set())
        leaving: list[Way] = []
        for way, part in zip(node.ways, own, strict=True):
            leaving += [w for n in sorted(part) for w in self.nodes[n].ways if w.target not in part] if part else [way]
        places: list[int | None] = []
        for way in leaving:
            if self.place(way, inside) not in places:
                places.append(self.place(way, inside))
        following = places[0]
        if len(places) > 1:
            following = self.dispatch_further(node, places, leaving, inside)
            inside.add(following)
        branches: list[tuple[list[int] | None, list[Statement]]] = []
        numbers = list(node.numbers) if node.numbers else [w.cases for w in node.ways]
        for way, part, cases in zip(node.ways, own, numbers, strict=True):
            body: list[Statement] = [Assign(way.assigned)] if way.assigned else []
            if part and way.target is not None:
                body += self.region(way.target, part)
            branches.append((cases, body))
        if node.numbers:    # of those which do the same, which is nothing as a rule, one stands for all other numbers
            rest: list[Statement] = branches[-1][1] if all(body for _, body in branches) else []
            branches = [*((cases, body) for cases, body in branches if body != rest), (None, rest)]
        made.append(Choice(node.selector, branches, node.location))
        return following

    def dispatch_further(self, node: Node, places: list[int | None], leaving: list[Way], inside: set[int]) -> int:
        """A node that goes to several places, to which these ways out of a choice lead now. Behind a dispatch whose
        numbers nobody else knows, they stay what they are: only ways through code say where they lead. (Where cases
        fall through to the next ones, there is one dispatch behind the other, each with a place less.)"""
        direct = {id(way) for way in node.ways} & {id(way) for way in leaving} if node.numbers else set()
        known: dict[int | None, list[int]] = {}
        for way, cases in zip(node.ways, node.numbers, strict=False):
            if id(way) in direct:
                known.setdefault(self.place(way, inside), []).extend(cases)
        if known:
            assert isinstance(node.selector, Variable)
            new = max(max(cases) for cases in node.numbers) + 1
            numbers = [known.get(place) or [new + k] for k, place in enumerate(places)]
            following, selector = len(self.nodes), node.selector
            ways = [Way(place, [], mine) for place, mine in zip(places, numbers, strict=True)]
            ways[-1].cases = None
            self.nodes.append(Node([], ways, selector, node.location, numbers=numbers))
        else:
            following, selector = self.dispatch(list(places), node.location)
            numbers = [[k] for k in range(len(places))]
            if len(places) > 2:
                self.nodes[following].numbers = numbers
        told = [way for way in leaving if id(way) not in direct]
        for way in told:
            way.assigned = [*way.assigned, (selector, Number(numbers[places.index(self.place(way, inside))][0]))]
        self.undefine(told if all(place in known for place in places) else leaving)
        return following
