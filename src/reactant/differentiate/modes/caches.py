"""Which values of a loop body to keep for the reverse sweep: the fewest bytes an iteration from which the rest can be
computed again.

A minimum cut: what is wanted on one side, what only the forward sweep has (carried values, results of ops that are too
dear to do again) on the other, a value's bytes as the price of cutting there. Of several cuts of one price the one
nearest to what is wanted: it computes least again.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from jaxlib.mlir import ir

from reactant.differentiate.modes.values import reads
from reactant.ir.types import nbytes

DEAR = {f"stablehlo.{n}" for n in ("dot_general", "convolution", "while", "sort", "fft", "cholesky", "custom_call",
                                   "triangular_solve", "reduce_window", "select_and_scatter", "scatter", "if", "case",
                                   "rng_bit_generator", "rng", "all_reduce", "all_gather", "all_to_all",
                                   "collective_permute", "reduce_scatter", "batch_norm_training")}
"""Ops that cost more to do again than to keep the result of."""
INFINITE = 1 << 60
BORDERS = 8
"""How many times smaller than a part of a carried value its rest is for all of it to be kept in its place."""


class Cut:
    """Chooses what to keep. `free(argument)`: costs nothing in any iteration. `again(op)`: may be done again whatever
    it costs. `pairs`: carried arguments with what they are next iteration, kept together. `dear`: results of ops that
    are too dear to do again are not free, whatever they are made of."""

    def __init__(self, block: ir.Block, body: Sequence[ir.Operation], free: Callable[[ir.Value], bool],
                 again: Callable[[ir.Operation], bool], pairs: dict[ir.Value, ir.Value], dear: bool = False):
        self.block, self.body, self.free, self.again, self.pairs = block, body, free, again, pairs
        self.dear, self.merged = dear, dict[ir.Value, ir.Value]()
        self.maker = {r: op for op in body for r in op.results}

    def choose(self, wanted: Iterable[ir.Value]) -> list[ir.Value]:
        """The values to keep, in program order: arguments first."""
        wanted = [v for v in wanted if self._local(v)]
        reached = self._reached(wanted)
        varying = self._varying(reached)
        if not varying & set(wanted):
            return []
        network = _Network()
        self.merged = merged = {a: r for a, r in self.pairs.items() if a in reached and r in reached and a in varying}
        node = {v: merged.get(v, v) for v in varying}
        numbers = {v: n for n, v in enumerate(dict.fromkeys(node[v] for v in varying))}
        source, sink = 2 * len(numbers), 2 * len(numbers) + 1
        for value, number in numbers.items():
            network.edge(2 * number, 2 * number + 1, max(nbytes(value), 1))
        for value in varying:
            number = numbers[node[value]]
            op = self.maker.get(value)
            if op is None or self._dear(op):
                network.edge(source, 2 * number, INFINITE)
            else:
                for read in reads(op):
                    if read in varying:
                        network.edge(2 * numbers[node[read]] + 1, 2 * number, INFINITE)
        for value in wanted:
            if value in varying:
                network.edge(2 * numbers[node[value]] + 1, sink, INFINITE)
        side = network.cut(source, sink)
        kept = {value for value, number in numbers.items() if 2 * number not in side and 2 * number + 1 in side}
        kept = {self._whole(value) for value in kept}
        order = [*self.block.arguments, *(r for op in self.body for r in op.results)]
        return [v for v in order if v in kept]

    def _whole(self, value: ir.Value) -> ir.Value:
        """The carried value that a value is nearly all of, in its place: it is kept with fewer copies, or none."""
        made = value
        while (op := self.maker.get(made)) is not None and op.name in ("stablehlo.slice", "stablehlo.reshape"):
            made = op.operands[0]
        carried = made not in self.maker and self._local(made) and not self.free(made)
        return made if carried and nbytes(made) * BORDERS <= nbytes(value) * (BORDERS + 1) else value

    def _local(self, value: ir.Value) -> bool:
        return value in self.maker or isinstance(value.owner, ir.Block) and value.owner == self.block

    def _dear(self, op: ir.Operation) -> bool:
        if self.again(op):
            return False
        if op.name in DEAR:
            return True
        return op.name == "stablehlo.reduce" and 4 * sum(map(nbytes, op.results)) < nbytes(op.operands[0])

    def _reached(self, wanted: Sequence[ir.Value]) -> set[ir.Value]:
        """All values of the block that the wanted ones depend on."""
        found: set[ir.Value] = set()
        pending = list(wanted)
        while pending:
            value = pending.pop()
            if value in found:
                continue
            found.add(value)
            if value in self.maker:
                pending += [v for v in reads(self.maker[value]) if self._local(v)]
        return found

    def _varying(self, reached: set[ir.Value]) -> set[ir.Value]:
        """Those that cannot be had for nothing."""
        found = {a for a in self.block.arguments if a in reached and not self.free(a)}
        for op in self.body:
            if any(v in found for v in reads(op)) or op.name == "stablehlo.rng" or self.dear and self._dear(op):
                found.update(r for r in op.results if r in reached)
        return found


class _Network:
    """A flow network; Dinic's algorithm."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.room: list[int] = []
        self.out: dict[int, list[int]] = {}

    def edge(self, a: int, b: int, capacity: int) -> None:
        for start, end, room in ((a, b, capacity), (b, a, 0)):
            self.out.setdefault(start, []).append(len(self.ends))
            self.ends.append(end)
            self.room.append(room)

    def cut(self, source: int, sink: int) -> set[int]:
        """The nodes on the sink's side of a minimum cut, as few as can be."""
        while (level := self._levels(source)).get(sink) is not None:
            position = dict.fromkeys(self.out, 0)
            while self._push(source, sink, level, position):
                pass
        side, pending = {sink}, [sink]
        while pending:
            node = pending.pop()
            for number in self.out.get(node, ()):
                other = self.ends[number]
                if self.room[number ^ 1] and other not in side:        # the edge from `other` to here has room
                    side.add(other)
                    pending.append(other)
        return side

    def _levels(self, source: int) -> dict[int, int]:
        level, queue = {source: 0}, deque([source])
        while queue:
            node = queue.popleft()
            for number in self.out.get(node, ()):
                if self.room[number] and self.ends[number] not in level:
                    level[self.ends[number]] = level[node] + 1
                    queue.append(self.ends[number])
        return level

    def _push(self, source: int, sink: int, level: dict[int, int], position: dict[int, int]) -> int:
        """Send flow along one path of rising levels."""
        path: list[int] = []
        node = source
        while node != sink:
            edges = self.out[node]
            while position[node] < len(edges):
                number = edges[position[node]]
                if self.room[number] and level.get(self.ends[number]) == level[node] + 1:
                    break
                position[node] += 1
            else:
                if not path:
                    return 0
                node = self.ends[path.pop() ^ 1]
                position[node] += 1
                continue
            path.append(number)
            node = self.ends[number]
        amount = min(self.room[number] for number in path)
        for number in path:
            self.room[number] -= amount
            self.room[number ^ 1] += amount
        return amount
