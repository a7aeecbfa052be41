"""Native functions that write their results where an argument lies.

`a += 1` into a new array, and from there into `a`, is three ways through memory where NumPy's is one. A function may
write over what it reads where each place of the argument is read for the last time before the result of that place is
written. Such a function is compiled again with one buffer for both, so that LLVM knows.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property

from jaxlib.mlir import ir

from reactant.ir import context, modules
from reactant.native.function import NativeFunction, compile
from reactant.support.records import dataclass

LOOPS = ("scf.for", "scf.parallel")
VIEWS = ("memref.cast", "memref.subview", "memref.reinterpret_cast", "memref.collapse_shape", "memref.expand_shape",
         "memref.view", "memref.memory_space_cast", "memref.assume_alignment")
MOST_PAIRS = 4_000
"""Reads times writes that are looked at."""
_written: dict[tuple, tuple[NativeFunction, frozenset[int]]] = {}


def writing_over(function: NativeFunction, over: Mapping[int, tuple[int, ...]],
                 zeros: frozenset[int] = frozenset()) -> tuple[NativeFunction, frozenset[int]]:
    """The function with the memory of "in" arguments for that of results, and for which results it has become that.

    over: by the number of an "out" or "inout" argument, the "in" arguments that will lie where it does; the function
    takes the same arguments, and does not look at these. zeros: arguments of integers that are 0 at each call.
    """
    asked = function.target, tuple(sorted(over.items())), zeros
    if asked not in _written:
        _written[asked] = _made(function, over, zeros)
    return _written[asked]


def _made(function: NativeFunction, over: Mapping[int, tuple[int, ...]],
          zeros: frozenset[int]) -> tuple[NativeFunction, frozenset[int]]:
    alone = frozenset(target for target, sources in over.items() if not sources)
    if len(alone) == len(over) or function.source is None:
        return function, alone
    text, settings = function.source
    with context.building():
        module = modules.parse(text)
        block, *more = modules.function(module, function.name).regions[0].blocks
        values = list(block.arguments)
        reader = _Reader({values[k] for k in zeros})
        found = frozenset() if more else frozenset(
            target for target, sources in over.items() if target not in alone and all(
                _alike(values[source], values[target]) and reader.last_read_before(values[source], values[target])
                for source in sources))
        if not found:
            return function, alone
        for value in reader.zeros:
            _make_zero(value)
        for target in found:
            for source in over[target]:
                for use in list(values[source].uses):
                    use.owner.operands[use.operand_number] = values[target]
        roles = ["inout" if k in found else role for k, role in enumerate(settings["roles"])]
        return compile(module, function.name, **{**settings, "roles": roles}), alone | found


def _alike(source: ir.Value, target: ir.Value) -> bool:
    """Whether two buffers are of as many dimensions and the same elements, one of them perhaps of run-time size, in
    which case loads are all that knows."""
    one, other = (ir.MemRefType(value.type) for value in (source, target))
    return one.element_type == other.element_type and (one == other or one.rank == other.rank == 1 and all(
        use.owner.name == "memref.load" for use in source.uses))


def _make_zero(value: ir.Value) -> None:
    """Let what is loaded of a buffer of zeros be 0."""
    for use in list(value.uses):
        load = use.owner.operation
        if load.name == "memref.load":
            with ir.InsertionPoint(load), load.location:
                zero = ir.Operation.create("arith.constant", results=[load.results[0].type], attributes={
                    "value": ir.IntegerAttr.get(load.results[0].type, 0)})
            load.results[0].replace_all_uses_with(zero.results[0])
            load.erase()


@dataclass(frozen=True)
class Index:
    """A sum of factors times counters of loops, and a constant. Counters are 0, 1, ...: the iterations."""

    factors: dict[ir.Value, int]
    constant: int

    def plus(self, other: Index, times: int = 1) -> Index:
        """self + times * other"""
        factors = dict(self.factors)
        for counter, factor in other.factors.items():
            factors[counter] = factors.get(counter, 0) + times * factor
        return Index({c: f for c, f in factors.items() if f}, self.constant + times * other.constant)


@dataclass(frozen=True)
class Access:
    """An operation that reads or writes a buffer, and where, if that is known."""

    op: ir.Operation
    index: Index | None

    @cached_property
    def way(self) -> list[ir.Operation]:
        """The operations around it from the function's own to itself, the function left out."""
        found = [self.op]
        while found[-1].parent.operation.name != "func.func":
            found.append(found[-1].parent.operation)
        return found[::-1]


class _Reader:
    """What is known of the accesses of one function. zeros: buffers of zeros."""

    def __init__(self, zeros: Set[ir.Value]) -> None:
        self.zeros = zeros
        self.iterations: dict[ir.Value, int | None] = {}
        """How many iterations the loop of a counter has."""
        self.known: dict[ir.Value, Index | None] = {}

    def last_read_before(self, source: ir.Value, target: ir.Value) -> bool:
        """Whether each place of `source` is read for the last time before the same place of `target` is written."""
        reads, writes = list(self.accesses(source)), list(self.accesses(target))
        if len(reads) * len(writes) > MOST_PAIRS or any(
                len(region.blocks) > 1 for access in (*reads, *writes) for op in access.way for region in op.regions):
            return False
        writes = [each for each in writes if each.op.name != "memref.load" and not self.puts_back(each.op, source)]
        return all(self.in_order(read, write) for read in reads for write in writes)

    def puts_back(self, op: ir.Operation, source: ir.Value) -> bool:
        """Whether it writes what `source` holds there."""
        if op.name != "memref.store" or len(op.operands) != 3 or isinstance(op.operands[0].owner, ir.Block):
            return False
        load, place = op.operands[0].owner.operation, self.index(op.operands[2])
        return load.name == "memref.load" and load.operands[0] == source and len(load.operands) == 2 \
            and load.block == op.block and place is not None and place == self.index(load.operands[1])

    def accesses(self, buffer: ir.Value) -> Iterator[Access]:
        """All that reads or writes a buffer, through views, too."""
        for use in buffer.uses:
            op = use.owner.operation
            if op.name in VIEWS:
                yield from (Access(each.op, None) for each in self.accesses(op.results[0]))
            elif op.name == "memref.load" and len(op.operands) == 2:
                yield Access(op, self.index(op.operands[1]))
            elif op.name == "memref.store" and len(op.operands) == 3 and use.operand_number == 1:
                yield Access(op, self.index(op.operands[2]))
            else:
                yield Access(op, None)

    def in_order(self, read: Access, write: Access) -> bool:
        """Whether no place is read after it was written."""
        depth = 0
        for one, other in zip(read.way, write.way, strict=False):
            if one != other:
                break
            depth += 1
        around, before = read.way[:depth], False
        if depth < min(len(read.way), len(write.way)):
            one, other = read.way[depth], write.way[depth]
            before = one.block == other.block and one.is_before_in_block(other)
        turning = [op for op in around if op.name != "scf.if" and not (op.name in LOOPS and self._iterations_once(op))]
        if before and not turning:
            return True
        if read.index is None or write.index is None:
            return False
        if before and all(op.name in LOOPS for op in turning):
            counters = [c for op in turning for c in self.counters(op)]
            if self._tells_iterations(counters, read.index, write.index):
                return True
        return self._apart(read.index, write.index)

    # -- loops

    def counters(self, loop: ir.Operation) -> list[ir.Value]:
        """The counters of a loop that takes more than one iteration."""
        arguments = list(loop.regions[0].blocks[0].arguments)
        return [c for c in (arguments[:1] if loop.name == "scf.for" else arguments) if self.iterations_of(c) != 1]

    def _iterations_once(self, loop: ir.Operation) -> bool:
        return not self.counters(loop)

    def iterations_of(self, counter: ir.Value) -> int | None:
        """How many iterations the loop of a counter has, None where that is not known."""
        if counter not in self.iterations:
            self.iterations[counter] = None
            lower, upper, step = map(self.index, _range_of(counter))
            if lower and upper and step and not step.factors and step.constant > 0:
                length = upper.plus(lower, -1)
                if not length.factors:
                    self.iterations[counter] = max(-(-length.constant // step.constant), 0)
        return self.iterations[counter]

    def index(self, value: ir.Value) -> Index | None:
        """An integer as a sum over counters."""
        if value not in self.known:
            self.known[value] = None
            self.known[value] = self._counter(value) if isinstance(value.owner, ir.Block) else self._sum(value)
        return self.known[value]

    def _counter(self, value: ir.Value) -> Index | None:
        loop = value.owner.owner.operation
        count = 1 if loop.name == "scf.for" else len(value.owner.arguments)
        if loop.name not in LOOPS or ir.BlockArgument(value).arg_number >= count:
            return None
        lower, _, step = map(self.index, _range_of(value))
        if lower is None or step is None or step.factors:
            return None
        once = self.iterations_of(value) == 1
        return lower if once else lower.plus(Index({value: step.constant}, 0))

    def _sum(self, value: ir.Value) -> Index | None:
        op = value.owner.operation
        if op.name == "arith.constant":
            return Index({}, int(ir.IntegerAttr(op.attributes["value"]).value))
        if op.name == "memref.load":
            return Index({}, 0) if op.operands[0] in self.zeros else None
        if op.name not in ("arith.addi", "arith.subi", "arith.muli", "arith.minsi", "arith.index_cast"):
            return None
        parts = [part for part in map(self.index, op.operands) if part is not None]
        if len(parts) < len(op.operands):
            return None
        one, *others = parts
        if not others:
            return one
        (other,) = others
        if op.name in ("arith.addi", "arith.subi"):
            return one.plus(other, 1 if op.name == "arith.addi" else -1)
        if op.name == "arith.muli" and not (one.factors and other.factors):
            one, other = (other, one) if one.factors else (one, other)
            return Index({}, 0).plus(other, one.constant)
        if op.name == "arith.minsi" and not one.factors and not other.factors:
            return Index({}, min(one.constant, other.constant))
        return None

    # -- places

    def _tells_iterations(self, counters: list[ir.Value], read: Index, write: Index) -> bool:
        """Whether both are at one place only in the same iterations of these counters: each steps over all that those
        of shorter steps, and what else differs, can reach."""
        if any(self.iterations_of(c) is None or read.factors.get(c, 0) != write.factors.get(c, 0)
               or not read.factors.get(c)
               for c in counters):
            return False
        rest = read.plus(write, -1)
        if any(self.iterations_of(c) is None for c in rest.factors):
            return False
        reach = max(map(abs, self._ends(rest, {c for c in (*read.factors, *write.factors) if c not in counters},
                                        read, write)))
        for counter in sorted(counters, key=lambda c: abs(read.factors[c])):
            step = abs(read.factors[counter])
            if step <= reach:
                return False
            reach += step * ((self.iterations_of(counter) or 1) - 1)
        return True

    def _ends(self, rest: Index, inner: Set[ir.Value], read: Index, write: Index) -> tuple[int, int]:
        """The least and greatest that `read - write` can be in one iteration of the outer loops. A counter of inner
        loops may be at different iterations in the two."""
        least = greatest = rest.constant
        for counter in inner:
            last = (self.iterations_of(counter) or 1) - 1
            for factor in (read.factors.get(counter, 0), -write.factors.get(counter, 0)):
                least, greatest = least + min(factor * last, 0), greatest + max(factor * last, 0)
        return least, greatest

    def _apart(self, read: Index, write: Index) -> bool:
        """Whether the two have no place in common: as boxes in an array whose rows are as long as the steps say."""
        if any(self.iterations_of(c) is None for c in (*read.factors, *write.factors)):
            return False
        if any(self.iterations_of(c) == 0 for c in (*read.factors, *write.factors)):
            return True
        steps = sorted({abs(f) for f in (*read.factors.values(), *write.factors.values())} | {1}, reverse=True)
        if any(longer % shorter for longer, shorter in zip(steps, steps[1:], strict=False)):
            return False
        boxes = [self._box(index, steps) for index in (read, write)]
        if None in boxes:
            return False
        return any(a[1] < b[0] or b[1] < a[0] for a, b in zip(*boxes, strict=True))  # type: ignore[arg-type]

    def _box(self, index: Index, steps: list[int]) -> list[tuple[int, int]] | None:
        """From where to where an index goes in each dimension; None where it runs over the ends of rows."""
        start, lengths = index.constant, dict.fromkeys(steps, 0)
        for counter, factor in index.factors.items():
            last = self.iterations_of(counter) - 1   # type: ignore[operator]
            start += min(factor, 0) * last
            lengths[abs(factor)] += last
        if start < 0:
            return None
        found, row = [], None
        for step in steps:
            place, start = divmod(start, step)
            if row is not None and place + lengths[step] >= row // step:
                return None
            found.append((place, place + lengths[step]))
            row = step
        return found


def _range_of(counter: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Where a counter begins, ends, and its step."""
    loop = counter.owner.owner.operation
    number, operands = ir.BlockArgument(counter).arg_number, list(loop.operands)
    if loop.name == "scf.for":
        return operands[0], operands[1], operands[2]
    rank = len(counter.owner.arguments)
    return operands[number], operands[number + rank], operands[number + 2 * rank]
