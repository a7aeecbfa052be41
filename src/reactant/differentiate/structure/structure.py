"""Which elements of a result can depend on which elements of an argument, read off a module.

Values are followed as patterns: a sparse boolean matrix (elements, inputs), or nothing where a value does not depend on
the argument. What does not depend on it and is known (constants, counters, integer arguments that are given) is
computed on the way, so that slices at run-time positions, gathers and counted loops are followed exactly. Where that
fails, the pattern is larger than need be, never smaller.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import BRANCHES, LOOP, block_ops, blocks_of
from reactant.differentiate.declare import CONSTANT, Call
from reactant.differentiate.recognised.prepare import prepared
from reactant.differentiate.requests import CHECKPOINT, STOP, inline, target_of
from reactant.differentiate.rules.bodies import body_of
from reactant.differentiate.rules.windows import window_options
from reactant.differentiate.structure.structure_moves import MOVES, scatter_goals
from reactant.ir import convolution as conv
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_of, size

Pattern = Any
"""scipy.sparse.csr_array of booleans."""

VISITS = 100_000
"""Operations that are followed one by one before loops are taken as a whole."""
LARGE = 20_000_000
"""Entries of an intermediate list of positions; beyond, everything depends on everything."""


def readable(module: ir.Module) -> ir.Module:
    """A copy in the form that can be followed: calls inlined, also those of checkpointed functions, floats that travel
    as bits as floats."""
    with building():
        work = prepared(module)
        modules.inline_calls(work)
        while marked := [op for op in modules.walk(work) if target_of(op) == CHECKPOINT]:
            for op in marked:
                inline(op)
        return work


def pattern_of(module: ir.Module, argument: int, result: int, known: Mapping[int, np.ndarray]
               ) -> tuple[Pattern, tuple[int, ...]]:
    """The pattern of one result in one argument of `main`, (result elements, argument elements), and the result's
    shape. `known`: the values of integer arguments, by number. The module is a `readable` one."""
    with building():
        block = modules.function(module).regions[0].blocks[0]
        found = Structure(size(shape_of(block.arguments[argument])))
        found.depends[block.arguments[argument]] = found.identity()
        found.known.update({block.arguments[i]: np.asarray(v) for i, v in known.items() if i != argument})
        body, returned = block_ops(block)
        found.run(body)
        pattern, shape = found.depends.get(returned[result]), shape_of(returned[result])
        return found.empty(size(shape)) if pattern is None else pattern, shape


class Structure:
    """Patterns and known values of the ops seen so far, by value."""

    def __init__(self, inputs: int):
        from scipy import sparse
        self.sparse, self.inputs = sparse, inputs
        self.depends: dict[ir.Value, Pattern] = {}
        self.known: dict[ir.Value, np.ndarray] = {}
        self.visits = 0

    # -- patterns

    def identity(self) -> Pattern:
        return self.sparse.csr_array(self.sparse.eye_array(self.inputs, dtype=bool, format="csr"))

    def empty(self, rows: int) -> Pattern:
        return self.sparse.csr_array((rows, self.inputs), dtype=bool)

    def union(self, patterns: Sequence[Pattern | None]) -> Pattern | None:
        found: Pattern = None
        for each in patterns:
            if each is not None:
                found = each if found is None else (found + each).astype(bool)
        return found

    def collected(self, goals: np.ndarray, sources: np.ndarray, rows: int, pattern: Pattern) -> Pattern:
        """Row `goals[k]` gets all of row `sources[k]` of a pattern."""
        ones = np.ones(len(goals), bool)
        chooser = self.sparse.csr_array((ones, (goals, sources)), shape=(rows, pattern.shape[0]))
        return (chooser.astype(np.int32) @ pattern.astype(np.int32)).astype(bool)

    def kept(self, rows: np.ndarray, pattern: Pattern) -> Pattern:
        """Only these rows of a pattern."""
        return self.collected(rows, rows, pattern.shape[0], pattern)

    def everything(self, patterns: Sequence[Pattern | None], rows: int) -> Pattern:
        """Each of `rows` depends on all that any row does."""
        present = [p for p in patterns if p is not None]
        columns = np.unique(np.concatenate([p.indices for p in present]))
        if rows * len(columns) > LARGE * 10:
            raise MemoryError(f"a pattern of {rows} x {len(columns)} entries")
        pointers = np.arange(rows + 1) * len(columns)
        return self.sparse.csr_array((np.ones(rows * len(columns), bool), np.tile(columns, rows), pointers),
                                     shape=(rows, self.inputs))

    def over(self, value: ir.Value, removed: Sequence[int]) -> tuple[Pattern, tuple[int, ...]]:
        """The pattern united over some dimensions, and the shape that is left."""
        pattern, shape = self.depends.get(value), shape_of(value)
        left = tuple(n for d, n in enumerate(shape) if d not in removed)
        if pattern is None:
            return None, left
        goals = np.broadcast_to(np.expand_dims(np.arange(size(left)).reshape(left), tuple(sorted(removed))), shape)
        return self.collected(goals.reshape(-1), np.arange(size(shape)), size(left), pattern), left

    # -- ops

    def run(self, body: Sequence[ir.Operation]) -> None:
        for op in body:
            self.visits += 1
            for result in op.results:
                self.depends.pop(result, None)
                self.known.pop(result, None)
            if op.name == LOOP:
                self._loop(op)
            elif op.name in BRANCHES:
                self._branches(op)
            else:
                self._step(op)

    def _step(self, op: ir.Operation) -> None:
        name = op.name.split(".", 1)[1]
        if op.name == "stablehlo.constant":
            self.known[op.result] = ops.constant_value(op.result)
            return
        if name == "iota":
            shape, d = shape_of(op.result), Call(op, [], []).attributes["iota_dimension"]
            rank = [1] * len(shape)
            rank[d] = -1
            self.known[op.result] = np.broadcast_to(np.arange(shape[d]).reshape(rank), shape).astype(
                dtype_of(op.result))
            return
        operands = list(op.operands)
        if name in MOVES and self._move(op, MOVES[name]):
            return
        if all(x in self.known for x in operands) and len(op.results) == 1 and name in EVALUATED:
            self._evaluate(op, name)
            return
        patterns = [self.depends.get(x) for x in operands]
        if not any(p is not None for p in patterns) or op.name in CONSTANT or target_of(op) == STOP:
            return
        if op.name in ops.ELEMENTWISE or name in ("optimization_barrier", "real", "imag", "complex"):
            self._elementwise(op, name, patterns)
        else:
            handler = HANDLERS.get(name)
            found = handler(self, op, patterns) if handler is not None else None
            for result in op.results:
                rows = size(shape_of(result))
                self.depends[result] = found if found is not None else self.everything(patterns, rows)

    def _move(self, op: ir.Operation, move: Callable[..., tuple[list[int], np.ndarray] | None]) -> bool:
        """Ops whose result's elements are elements of operands."""
        made = move(op, self.known)
        if made is None:
            return False
        numbers, ids = made
        operands = [op.operands[n] for n in numbers]
        sizes = [size(shape_of(x)) for x in operands]
        flat = ids.reshape(-1)
        if any(x in self.depends for x in operands):
            stacked = self.sparse.vstack([self.depends[x] if x in self.depends else self.empty(n)
                                          for x, n in zip(operands, sizes, strict=True)], format="csr")
            self.depends[op.result] = stacked[flat]
        elif all(x in self.known for x in operands):
            values = np.concatenate([np.asarray(self.known[x]).reshape(-1) for x in operands])
            self.known[op.result] = values[flat].reshape(shape_of(op.result))
        return True

    def _evaluate(self, op: ir.Operation, name: str) -> None:
        values = [self.known[x] for x in op.operands]
        with np.errstate(all="ignore"):
            made = EVALUATED[name](op, *values)
        self.known[op.result] = np.asarray(made).astype(dtype_of(op.result)).reshape(shape_of(op.result))

    def _elementwise(self, op: ir.Operation, name: str, patterns: list[Pattern | None]) -> None:
        """Zeros that are known multiply away what they meet."""
        if name == "optimization_barrier":
            self.depends.update({r: p for r, p in zip(op.results, patterns, strict=True) if p is not None})
            return
        rows = size(shape_of(op.result))
        spread = [p if p is None or p.shape[0] == rows else p[np.zeros(rows, np.int64)] for p in patterns]
        if name == "multiply":
            for mine, other in ((0, 1), (1, 0)):
                factor = self.known.get(op.operands[other])
                if spread[mine] is not None and factor is not None and not np.all(factor):
                    spread[mine] = self.kept(np.flatnonzero(factor), spread[mine])
        found = self.union(spread[1:] if name == "select" else spread)
        if found is not None:
            self.depends[op.result] = found

    # -- control flow

    def _bind(self, targets: Sequence[ir.Value], sources: Sequence[ir.Value]) -> None:
        """Give values to block arguments or results; all are read before any is written."""
        known = [self.known.get(v) for v in sources]
        depends = [self.depends.get(v) for v in sources]
        for table, found in ((self.known, known), (self.depends, depends)):
            for target, value in zip(targets, found, strict=True):
                table.pop(target, None)
                if value is not None:
                    table[target] = value

    def _loop(self, op: ir.Operation) -> None:
        condition, body = blocks_of(op)
        tests, (predicate,) = block_ops(condition)
        iteration, returned = block_ops(body)
        self._bind(list(body.arguments), list(op.operands))
        while self.visits < VISITS:
            self._bind(list(condition.arguments), list(body.arguments))
            self.run(tests)
            if predicate not in self.known:
                break
            if not self.known[predicate]:
                self._bind(list(op.results), list(body.arguments))
                return
            self.run(iteration)
            self._bind(list(body.arguments), returned)
        self._whole_loop(op, body, iteration, returned)

    def _whole_loop(self, op: ir.Operation, body: ir.Block, iteration: Sequence[ir.Operation],
                    returned: Sequence[ir.Value]) -> None:
        """What any number of iterations can give."""
        for argument, value in zip(body.arguments, returned, strict=True):
            if value != argument:
                self.known.pop(argument, None)
        while True:
            before: dict[ir.Value, Pattern] = {a: self.depends.get(a) for a in body.arguments}
            self.run(iteration)
            grown = False
            for argument, value in zip(body.arguments, returned, strict=True):
                both = self.union([before[argument], self.depends.get(value)])
                if both is not None:
                    grown |= before[argument] is None or both.nnz > before[argument].nnz
                    self.depends[argument] = both
            if not grown:
                break
        self._bind(list(op.results), list(body.arguments))

    def _branches(self, op: ir.Operation) -> None:
        blocks = blocks_of(op)
        chosen = self.known.get(op.operands[0])
        if chosen is not None:
            number = int(chosen)
            number = 1 - number if op.name == "stablehlo.if" else number if 0 <= number < len(blocks) else -1
            body, returned = block_ops(blocks[number])
            self.run(body)
            self._bind(list(op.results), returned)
            return
        found: list[list[Pattern | None]] = []
        for block in blocks:
            body, returned = block_ops(block)
            self.run(body)
            found.append([self.depends.get(v) for v in returned])
        for result, each in zip(op.results, zip(*found, strict=True), strict=True):
            both = self.union(each)
            if both is not None:
                self.depends[result] = both


# ---- ops that combine elements -------------------------------------------------------------------------------------

def _reduced(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    removed = Call(op, [], []).attributes["dimensions"]
    count = len(op.results)
    rows = size(shape_of(op.results[0]))
    starts = [p if p is None else p[np.zeros(rows, np.int64)] for p in patterns[count:]]
    return made.union([*(made.over(x, removed)[0] for x in list(op.operands)[:count]), *starts])


def _sorted(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    d, shape = Call(op, [], []).attributes["dimension"], shape_of(op.results[0])
    left = made.union([made.over(x, (d,))[0] for x in op.operands])
    rows = tuple(n for e, n in enumerate(shape) if e != d)
    ids = np.broadcast_to(np.expand_dims(np.arange(size(rows)).reshape(rows), d), shape)
    return None if left is None else left[ids.reshape(-1)]


def _transformed(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    rank, new = len(shape_of(op.results[0])), shape_of(op.results[0])
    over = range(rank - len(Call(op, [], []).attributes["fft_length"]), rank)
    left, rows = made.over(op.operands[0], over)
    ids = np.broadcast_to(np.expand_dims(np.arange(size(rows)).reshape(rows), tuple(over)), new)
    return None if left is None else left[ids.reshape(-1)]


def _contracted(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    numbers, new = Call(op, [], []).attributes["dot_dimension_numbers"], shape_of(op.results[0])
    found = []
    free = [[d for d in range(len(shape_of(x))) if d not in (*numbers.batching_dims[i], *numbers.contracting_dims[i])]
            for i, x in enumerate(op.operands)]
    batch = len(numbers.batching_dims[0])
    for side in (0, 1):
        x = op.operands[side]
        if x not in made.depends:
            continue
        exact = _with_known_factor(made, op, side, free)
        if exact is not None:
            found.append(exact)
            continue
        left, rows = made.over(x, numbers.contracting_dims[side])
        kept = [d for d in range(len(shape_of(x))) if d not in numbers.contracting_dims[side]]
        ids = np.arange(size(rows)).reshape(rows)
        ids = ids.transpose([kept.index(d) for d in (*numbers.batching_dims[side], *free[side])])
        places = tuple(range(batch + len(free[0]), len(new))) if side == 0 else \
            tuple(range(batch, batch + len(free[0])))
        found.append(left[np.broadcast_to(np.expand_dims(ids, places), new).reshape(-1)])
    return made.union(found)


def _with_known_factor(made: Structure, op: ir.Operation, side: int, free: list[list[int]]) -> Pattern | None:
    """A product with a factor that is known: only what is not multiplied by zero counts."""
    factor = made.known.get(op.operands[1 - side])
    if factor is None:
        return None
    numbers, new = Call(op, [], []).attributes["dot_dimension_numbers"], shape_of(op.results[0])

    def arranged(x: np.ndarray, which: int) -> np.ndarray:
        """(batch, free, contracted)"""
        order = [*numbers.batching_dims[which], *free[which], *numbers.contracting_dims[which]]
        batch = size([x.shape[d] for d in numbers.batching_dims[which]])
        rows = size([x.shape[d] for d in free[which]])
        return x.transpose(order).reshape(batch, rows, -1)

    ids = arranged(np.arange(size(shape_of(op.operands[side]))).reshape(shape_of(op.operands[side])), side)
    batch, row, inner = np.nonzero(arranged(factor, 1 - side))
    rows = ids.shape[1]
    if len(batch) * rows > LARGE:
        return None
    goals = np.arange(size(new)).reshape(ids.shape[0], *((rows, -1) if side == 0 else (-1, rows)))
    goals = goals if side == 0 else goals.transpose(0, 2, 1)                      # (batch, mine, other)
    return made.collected(goals[batch, :, row].reshape(-1), ids[batch, :, inner].reshape(-1), size(new),
                          made.depends[op.operands[side]])


def _windowed(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    """Each place of the result with the elements in its window, one position of the window after the other."""
    count, call = len(op.results), Call(op, [], [])
    options, new = window_options(call), shape_of(op.results[0])
    rows = size(new)
    if rows * size(options["window_dimensions"]) > LARGE:
        return None
    shape = shape_of(op.operands[0])
    goals, sources = _window_places(shape, new, options["window_dimensions"], options["window_strides"],
                                    options["padding"], options["base_dilations"], options["window_dilations"])
    starts = [p if p is None else p[np.zeros(rows, np.int64)] for p in patterns[count:]]
    return made.union([*(p if p is None else made.collected(goals, sources, rows, p) for p in patterns[:count]),
                       *starts])


def _window_places(shape: Sequence[int], new: Sequence[int], window: Sequence[int], strides: Sequence[int],
                   padding: Sequence[Sequence[int]], dilation: Sequence[int], steps: Sequence[int]
                   ) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of flat places: of the result, and of an element of the array in its window."""
    places = np.indices(new).reshape(len(new), -1)
    flat = np.arange(size(new))
    goals, sources = [], []
    for offset in np.ndindex(*window):
        where = [places[d] * strides[d] + offset[d] * steps[d] - padding[d][0] for d in range(len(new))]
        good = np.ones(size(new), bool)
        for d, extent in enumerate(shape):
            good &= (where[d] >= 0) & (where[d] % dilation[d] == 0) & (where[d] // dilation[d] < extent)
        inside = tuple((where[d] // dilation[d])[good] for d in range(len(new)))
        goals.append(flat[good])
        sources.append(np.ravel_multi_index(inside, tuple(shape)) if len(shape) else np.zeros(good.sum(), np.int64))
    return np.concatenate(goals), np.concatenate(sources)


def _convolved(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    """Groups are taken as one: all features of the window."""
    n, (x, kernel) = conv.of(op), op.operands
    new, rows = shape_of(op.result), size(shape_of(op.result))
    found = []
    if patterns[0] is not None:
        if n.batch_groups > 1 or rows * size(conv.sizes(shape_of(kernel), n.kernel)) > LARGE:
            return None
        left, kept = made.over(x, (n.x.second,))
        order = [d for d in range(len(shape_of(x))) if d != n.x.second]
        ids = np.arange(size(kept)).reshape(kept).transpose([order.index(d) for d in (n.x.first, *n.x.spatial)])
        shape = (ids.shape[0], *ids.shape[1:])
        space = tuple(new[d] for d in n.out.spatial)
        goals, sources = _window_places(shape, (shape[0], *space), (1, *conv.sizes(shape_of(kernel), n.kernel)),
                                        (1, *n.strides), ((0, 0), *n.padding), (1, *n.dilation),
                                        (1, *n.kernel_dilation))
        each = made.collected(goals, ids.reshape(-1)[sources], shape[0] * size(space), left)
        where = np.arange(shape[0] * size(space)).reshape(shape[0], *space)
        where = np.expand_dims(where, 1)                                     # batch, feature, space
        where = np.broadcast_to(where, (shape[0], new[n.out.second], *space))
        where = np.moveaxis(where, range(where.ndim), (n.out.first, n.out.second, *n.out.spatial))
        found.append(each[where.reshape(-1)])
    if patterns[1] is not None:
        left, kept = made.over(kernel, (n.kernel.second, *n.kernel.spatial))
        features = np.arange(new[n.out.second]).reshape([-1 if d == n.out.second else 1 for d in range(len(new))])
        found.append(left[np.broadcast_to(features, new).reshape(-1)])
    return made.union(found)


def _scattered(made: Structure, op: ir.Operation, patterns: list[Pattern | None]) -> Pattern | None:
    """Into known places; into unknown ones each element may get any update."""
    count = len(op.results)
    rows = size(shape_of(op.results[0]))
    goals = scatter_goals(op, made.known)
    before, updates = made.union(patterns[:count]), made.union(patterns[count + 1:])
    if goals is None:
        return made.union([before, None if updates is None else made.everything([updates], rows)])
    good = goals >= 0
    if body_of(op) == "second" and before is not None:
        before = made.kept(np.setdiff1d(np.arange(rows), goals[good]), before)
    if updates is not None:
        updates = made.collected(goals[good], np.flatnonzero(good), rows, updates)
    return made.union([before, updates]) if before is not None or updates is not None else made.empty(rows)


HANDLERS: dict[str, Callable[[Structure, ir.Operation, list[Pattern | None]], Pattern | None]] = {
    "reduce": _reduced, "sort": _sorted, "fft": _transformed, "dot_general": _contracted, "reduce_window": _windowed,
    "convolution": _convolved, "scatter": _scattered,
}


# ---- values that are known -----------------------------------------------------------------------------------------

def _compare(op: ir.Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    direction = Call(op, [], []).attributes["comparison_direction"]
    return {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
            "GE": np.greater_equal}[direction](a, b)


def _divide(op: ir.Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind not in "iu":
        return a / b
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, -1, np.sign(a) * np.sign(safe) * (np.abs(a) // np.abs(safe)))


def _remainder(op: ir.Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind not in "iu":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))


EVALUATED: dict[str, Callable[..., np.ndarray]] = {
    "add": lambda op, a, b: np.logical_or(a, b) if a.dtype == bool else a + b,
    "subtract": lambda op, a, b: a - b, "multiply": lambda op, a, b: a * b, "divide": _divide,
    "remainder": _remainder, "maximum": lambda op, a, b: np.maximum(a, b), "minimum": lambda op, a, b: np.minimum(a, b),
    "and": lambda op, a, b: a & b, "or": lambda op, a, b: a | b, "xor": lambda op, a, b: a ^ b,
    "not": lambda op, a: ~a, "negate": lambda op, a: -a, "abs": lambda op, a: np.abs(a),
    "sign": lambda op, a: np.sign(a), "convert": lambda op, a: a != 0 if dtype_of(op.result).kind == "b" else a,
    "compare": _compare, "select": lambda op, p, a, b: np.where(p, a, b),
    "clamp": lambda op, low, x, high: np.minimum(np.maximum(x, low), high),
    "floor": lambda op, a: np.floor(a), "ceil": lambda op, a: np.ceil(a),
}
