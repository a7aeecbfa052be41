"""Loops over whole arrays whose elements do not need each other: strips of elements, each through all the iterations.

    while t < limit:  z = where(|z| < 2, z*z + c, z)

becomes, for strips of neighbouring elements that fit the nearest cache, the whole loop on that strip. Where a mask that
has become false leaves an element as it is for good, a strip is done when none of its elements is active any more.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reactant.ir.types import size
from reactant.loopnests.analysis.graph import Block, Node
from reactant.loopnests.emission.affine import ZERO, Affine, linear, symbol
from reactant.loopnests.emission.carried import Slot
from reactant.loopnests.emission.elements import Buffer, Elements, Flat, buffer_type
from reactant.loopnests.emission.emitter import Emitter
from reactant.loopnests.emission.keeping import is_root
from reactant.loopnests.emission.numbers import BOOL, Number
from reactant.loopnests.emission.plan import Planner, flat_tree
from reactant.loopnests.emission.probing import probing
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.writer import Writer
from reactant.support.records import dataclass

LEAST = 16
"""Elements from which strips are worth while."""
SHORT = 8
"""Elements of a last dimension of which a strip is no vector, or only one: its iterations wait for each other (100
iterations of exp(-c c) + a[:, 0] on 5,000 x 4: 11.7 ms, 1.7 one iteration after the other; XLA 0.9)."""
STRIP_BYTES = 24 * 1024
"""Memory of one strip's state."""
ACTIVE_STRIP = 32
"""Elements of a strip that stops when none of them is active: few, since all wait for the last. (One, where iterations
gather: a product with a sparse matrix of 3,000 rows takes 30 us less so.)"""


@dataclass
class Strips:
    """How a loop is written in strips."""

    arrays: list[Slot]
    scalars: list[Slot]
    shape: tuple[int, ...]
    flat: bool
    mask: Node | None
    """A mask in the body that leaves everything as it is where it is false."""
    test: Node | None
    """The reduction in the condition that asks whether any element is active."""
    gathers: bool = False
    """Whether an iteration reads memory at places that are computed: nothing is gained by elements side by side."""

    @property
    def length(self) -> int:
        """Elements of a strip: of the last dimension, or of all where the array is walked flat."""
        extent = size(self.shape) if self.flat else self.shape[-1]
        each = sum(16 if s.init.dtype.kind == "c" else s.init.dtype.itemsize for s in self.arrays)
        if self.mask is not None and self.gathers:
            return 1
        most = ACTIVE_STRIP if self.mask is not None else max(64, STRIP_BYTES // each // 64 * 64)
        if extent <= most:
            return extent
        return next((n for n in range(most, most // 2, -8) if extent % n == 0), most)


def emit_strips(compiler: Emitter, node: Node, slots: Sequence[Slot], destinations: dict[Node, Buffer]) -> bool:
    """Write the loop in strips where that is right; False where it is not."""
    strips = recognised(compiler, node, slots)
    if strips is None:
        return False
    Writing(compiler, node, strips, destinations).emit()
    return True


# ---- when it is right -----------------------------------------------------------------------------------------------

def recognised(compiler: Emitter, node: Node, slots: Sequence[Slot]) -> Strips | None:
    """The strips of a loop, None where its elements need each other."""
    condition, body = node.blocks
    arrays = [s for s in slots if s.init.shape and not s.invariant]
    scalars = [s for s in slots if not s.init.shape]
    if not arrays or size(arrays[0].init.shape) < LEAST or any(s.init.shape != arrays[0].init.shape for s in arrays):
        return None
    if any(is_root(n) or n.blocks and n.kind != "reduce" for n in body.nodes):
        return None
    carried = {s.argument for s in arrays}
    if any(_depends(s.returned, carried, body) for s in scalars):
        return None
    test = _test(condition, {s.condition_argument: s for s in arrays})
    if test is False:
        return None
    for s in slots:
        if s.invariant and s.init.shape:
            buffer = compiler.e.storage.get(s.init)
            if buffer is None:
                return None
            compiler.e.storage[s.argument] = compiler.e.storage[s.condition_argument] = buffer
            compiler.e.storage[s.result] = buffer
    checked = Checked(compiler, body, arrays)
    if not checked.element_by_element():
        return None
    mask = None
    if isinstance(test, Node):
        slot = next(s for s in arrays if s.condition_argument is test.operands[0])
        mask = slot.argument
        if not checked.rests_where_false(mask) or any(s.result.is_read for s in scalars):
            return None
    else:
        fixed = {s.argument for s in scalars}
        for candidate in checked.masks():
            if not _depends(candidate, fixed, body) and checked.rests_where_false(candidate):
                mask = candidate
                break
    shape = arrays[0].init.shape
    if mask is None and not checked.flat and shape[-1] <= SHORT and size(shape) >= 4 * SHORT:
        return None
    return Strips(arrays, scalars, shape, checked.flat, mask, test if isinstance(test, Node) else None,
                  any(n.kind == "gather" for n in body.nodes))


def _depends(node: Node, on: Iterable[Node], block: Block) -> bool:
    """Whether a value of a block needs some others."""
    wanted, stack, seen = set(on), [node], set()
    while stack:
        each = stack.pop()
        if each in wanted:
            return True
        if each not in seen and each.block is block:
            seen.add(each)
            stack.extend(each.operands)
    return False


def _test(condition: Block, arrays: dict[Node, Slot]) -> Node | bool:
    """The reduction in a condition that asks whether any element of a carried mask holds; True where the condition
    knows no arrays, False where it is something else."""
    reductions = [n for n in condition.nodes if n.kind == "reduce"]
    if not _depends(condition.returned[0], arrays, condition):
        return not any(is_root(n) for n in condition.nodes)
    if len(reductions) != 1 or any(is_root(n) for n in condition.nodes if n is not reductions[0]):
        return False
    found = reductions[0]
    operand = found.operands[0]
    body = found.blocks[0]
    if operand not in arrays or operand.dtype.kind != "b" or found.shape or len(body.nodes) != 1 \
            or body.nodes[0].kind not in ("or", "maximum") or found.operands[1].splat is None \
            or bool(found.operands[1].splat):
        return False
    stack, others = [condition.returned[0]], []
    while stack:
        node = stack.pop()
        if node.kind == "and":
            stack += node.operands
        elif node is not found:
            others.append(node)
    return False if any(_depends(n, [found, *arrays], condition) for n in others) else found


class Checked:
    """Tries out, on code that is thrown away, what one element of the body needs."""

    def __init__(self, compiler: Emitter, body: Block, arrays: Sequence[Slot]) -> None:
        self.compiler, self.body, self.arrays = compiler, body, arrays
        self.planner = Planner(body, (), compiler.ranges.get,
                               lambda n: n in compiler.e.storage or n in compiler.e.bound, compiler.names)
        self.planner.kept = set()
        seen: dict[Node, bool] = {}
        self.flat = all(flat_tree(s.returned, self.planner.is_kept, seen) or s.returned in {a.argument for a in arrays}
                        for s in arrays)

    def _elements(self) -> tuple[Elements, list[tuple[Node, Any]]]:
        reads: list[tuple[Node, Any]] = []
        return self.planner.prober(lambda node, index, made: reads.append((node, index))), reads

    def element_by_element(self) -> bool:
        """Whether an element of the new state needs carried arrays at its own place only."""
        elements, reads = self._elements()
        index = probing(elements.w, self.arrays[0].init.shape)
        for s in self.arrays:
            elements.at(s.returned, index)
        carried = {s.argument for s in self.arrays}
        shape = self.arrays[0].init.shape
        here = linear(index, shape)
        return all((i.place if isinstance(i, Flat) else linear(i, shape)) == here for n, i in reads if n in carried)

    def masks(self) -> list[Node]:
        """Conditions of selects in the body, the last first."""
        found = dict.fromkeys(n.operands[0] for n in reversed(self.body.nodes) if n.kind == "select")
        return [n for n in found if n.shape == self.arrays[0].init.shape and n.splat is None]

    def rests_where_false(self, mask: Node) -> bool:
        """Whether an element stays as it is where the mask is false."""
        elements, _ = self._elements()
        index = elements.canonical(probing(elements.w, self.arrays[0].init.shape), mask.shape)
        before = {}
        for s in self.arrays:
            name = elements.w.define(elements.w.fresh("e"), 0)
            before[s] = Number(BOOL, value=False) if s.argument is mask else \
                self.planner.unknown(s.argument, index, elements.w, elements.a) if s.init.dtype.kind == "c" else \
                Number(s.init.dtype, name)
            elements.bind(s.argument, index, before[s])
        elements.bind(mask, index, Number(BOOL, value=False))
        return all(elements.at(s.returned, index) == before[s] for s in self.arrays)


# ---- how it is written ----------------------------------------------------------------------------------------------

class Writing:
    """Writes a loop in strips."""

    def __init__(self, compiler: Emitter, node: Node, strips: Strips, destinations: dict[Node, Buffer]) -> None:
        self.c, self.node, self.s = compiler, node, strips
        self.w, self.e, self.a = compiler.w, compiler.e, compiler.a
        self.destinations = destinations
        self.local: dict[Slot, Buffer] = {}

    def emit(self) -> None:
        """Write everything."""
        outs = {s: self.c._target(s.result, Root(s.result, "map", s.init.shape), self.destinations)
                for s in self.s.arrays}
        # starts that are computed on the way are computed again in every strip, which is what they cost anyway
        with self.e.remembering():
            self._outer(0, (), outs)
        for s, buffer in outs.items():
            buffer.version += 1
            buffer.level = self.w.depth
            self.e.storage[s.result] = buffer
        scalars_alone(self.c, self.node, self.s.scalars)

    def _outer(self, d: int, index: tuple[Affine, ...], outs: dict[Slot, Buffer]) -> None:
        shape = (size(self.s.shape),) if self.s.flat else self.s.shape
        last = d == len(shape) - 1
        if not last and shape[d] == 1:
            self._outer(d + 1, (*index, ZERO), outs)
            return
        length = self.s.length
        whole = shape[d] // length * length if last else shape[d]
        parallel = self.c.parallel and not any(not isinstance(i, Affine) or i.terms for i in index)
        counter = self.w.fresh("i")
        w = self.w
        low, high, step = w.index(0), w.index(whole), w.index(length if last else 1)
        w.loop(f"scf.parallel ({counter}) = ({low}) to ({high}) step ({step}) {{" if parallel else
               f"scf.for {counter} = {low} to {high} step {step} {{", (counter,))
        w.facts.ranges[counter] = (0, whole - (length if last else 1))
        with self.e.remembering():
            if last:
                self._strip((*index, symbol(counter)), length, outs)
            else:
                self._outer(d + 1, (*index, symbol(counter)), outs)
        w.finish("scf.reduce }" if parallel else "}")
        if last and whole < shape[d]:
            with self.e.remembering():
                self._strip((*index, Affine((), whole)), shape[d] - whole, outs)

    def _lanes(self, start: tuple[Affine, ...], length: int, body: Any, active: bool = False) -> Number | None:
        """A loop over the elements of a strip; the body's conditions are or-ed."""
        w = self.w
        counter, result = w.fresh("l"), w.fresh("r")
        low, high, step = w.index(0), w.index(length), w.index(1)
        w.loop("", (counter,))
        w.facts.ranges[counter] = (0, length - 1)
        own = w.define(w.fresh("a")) if active else ""
        place = start[-1] + symbol(counter)
        index: Any = Flat(place) if self.s.flat else (*start[:-1], place)
        with self.e.remembering():
            found = body(index, symbol(counter))
            if active:
                either = self.a._boolean("or", (Number(BOOL, own), found))
                w.line(f"scf.yield {self.a.name(either)} : i1")
        lines = w.close()
        head = f"scf.for {counter} = {low} to {high} step {step}"
        if active:
            head = f"{result} = {head} iter_args({own} = {self.a.name(self.a.constant(False, BOOL))}) -> (i1)"
        lines[0] = head + " {"
        w.scopes[-1].lines += [*lines, "}"]
        return Number(BOOL, w.define(result)) if active else None

    def _strip(self, start: tuple[Affine, ...], length: int, outs: dict[Slot, Buffer]) -> None:
        """All iterations of one strip."""
        w, e, strips = self.w, self.e, self.s
        for s in strips.arrays:
            name = w.define(w.fresh("m"))
            w.line(f"{name} = memref.alloca() : {buffer_type(s.init.dtype, length)}")
            self.local[s] = Buffer(name, s.init.dtype, length, level=w.depth)

        def begin(index: Any, lane: Affine) -> Number | None:
            values = [e.at(s.init, index) for s in strips.arrays]
            for s, value in zip(strips.arrays, values, strict=True):
                e.store(value, self.local[s], lane)
            tested = next((v for s, v in zip(strips.arrays, values, strict=True) if s.argument is strips.mask), None)
            return tested if strips.test is not None else None
        active = self._lanes(start, length, begin, active=strips.test is not None)
        self._changed()
        self._iterations(start, length, active)

        def finish(index: Any, lane: Affine) -> None:
            for s in strips.arrays:
                e.store(e.load(self.local[s], lane, s.init.dtype), outs[s], e.place(index, s.init.shape))
        self._lanes(start, length, finish)

    def _changed(self) -> None:
        for buffer in self.local.values():
            buffer.version += 1
            buffer.level = self.w.depth

    def _iterations(self, start: tuple[Affine, ...], length: int, active: Number | None) -> None:
        """The loop itself, on one strip."""
        w, e, a, strips = self.w, self.e, self.a, self.s
        masked = strips.mask is not None
        types = [t for s in strips.scalars for t in self.c.types(s.init.dtype)] + ["i1"] * masked
        first = active if active is not None else a.constant(True, BOOL)
        starts = [a.name(n) for s in strips.scalars for n in self.c.numbers(s.init)]
        starts += [a.name(first)] if masked else []
        condition = self.node.blocks[0]
        w.open()
        names = [w.define(w.fresh("b")) for _ in types]
        with e.remembering():
            rest = iter(names)
            for s in strips.scalars:
                self.c.bind(s.condition_argument, self.c.from_names(s.init.dtype, rest))
            if strips.test is not None:
                e.bound[strips.test] = Number(BOOL, names[-1])
            again = e.at(condition.returned[0], ())
            if masked and strips.test is None:
                again = a._boolean("and", (again, Number(BOOL, names[-1])))
            test = a.name(again)
        before = w.close()
        w.open()
        inside = [w.define(w.fresh("b")) for _ in types]
        with e.remembering():
            rest = iter(inside)
            for s in strips.scalars:
                self.c.bind(s.argument, self.c.from_names(s.init.dtype, rest))
            self._changed()
            still = self._lanes(start, length, self._iteration, active=masked)
            yields = [a.name(n) for s in strips.scalars for n in self.c.numbers(s.returned)]
            yields += [a.name(still)] if still is not None else []
            w.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}" if types else "scf.yield")
        after = w.close()
        self._changed()
        write_while(w, list(zip(names, starts, inside, types, strict=True)), before, test, after)

    def _iteration(self, index: Any, lane: Affine) -> Number | None:
        """One element, one iteration."""
        e, strips = self.e, self.s
        for s in strips.arrays:
            e.bind(s.argument, index, e.load(self.local[s], lane, s.init.dtype))
        values = [e.at(s.returned, index) for s in strips.arrays]
        for s, value in zip(strips.arrays, values, strict=True):
            if s.returned is not s.argument:
                e.store(value, self.local[s], lane)
        if strips.mask is None:
            return None
        if strips.test is not None:
            return next(v for s, v in zip(strips.arrays, values, strict=True) if s.argument is strips.mask)
        return e.at(strips.mask, index)


def scalars_alone(compiler: Emitter, node: Node, scalars: Sequence[Slot]) -> None:
    """The numbers that a loop carries, once more without its arrays, where somebody needs them afterwards."""
    if not any(s.result.is_read for s in scalars):
        return
    w, e, a = compiler.w, compiler.e, compiler.a
    types = [t for s in scalars for t in compiler.types(s.init.dtype)]
    starts = [a.name(n) for s in scalars for n in compiler.numbers(s.init)]
    condition = node.blocks[0]
    w.open()
    names = [w.define(w.fresh("b")) for _ in types]
    with e.remembering():
        rest = iter(names)
        for s in scalars:
            compiler.bind(s.condition_argument, compiler.from_names(s.init.dtype, rest))
        test = a.name(e.at(condition.returned[0], ()))
    before = w.close()
    w.open()
    inside = [w.define(w.fresh("b")) for _ in types]
    with e.remembering():
        rest = iter(inside)
        for s in scalars:
            compiler.bind(s.argument, compiler.from_names(s.init.dtype, rest))
        yields = [a.name(n) for s in scalars for n in compiler.numbers(s.returned)]
        w.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}")
    after = w.close()
    result = write_while(w, list(zip(names, starts, inside, types, strict=True)), before, test, after)
    outs = iter([w.define(f"{result}#{k}") for k in range(len(types))])
    for s in scalars:
        compiler.bind(s.result, compiler.from_names(s.init.dtype, outs))


def write_while(w: Writer, carried: Sequence[tuple[str, str, str, str]], before: list[str], test: str,
                after: list[str]) -> str:
    """The text of an scf.while from its parts; `carried` has (name before, start, name in the body, type)."""
    result = w.fresh("w")
    types = ", ".join(t for *_, t in carried)
    starts = ", ".join(f"{name} = {start}" for name, start, _, _ in carried)
    arguments = ", ".join(f"{name}: {t}" for _, _, name, t in carried)
    w.scopes[-1].lines += [
        (f"{result}:{len(carried)} = " if carried else "") + f"scf.while ({starts}) : ({types}) -> ({types}) {{",
        *before, f"scf.condition({test})" + (f" {', '.join(c[0] for c in carried)} : {types}" if carried else ""),
        "} do {", f"^bb0({arguments}):" if carried else "^bb0:", *after, "}"]
    return result
