"""A region as one function in the common form of native code: its text, and what its arguments are."""
from __future__ import annotations

from collections.abc import Sequence

from reactant.loopnests.analysis.extremes import without_nan
from reactant.loopnests.analysis.graph import Block, Node
from reactant.loopnests.analysis.last_writes import without_last_writes
from reactant.loopnests.emission import measuring
from reactant.loopnests.emission.affine import ZERO, number, symbol
from reactant.loopnests.emission.buffers import NotCompiled
from reactant.loopnests.emission.by_columns import by_columns
from reactant.loopnests.emission.compactions import note_compactions
from reactant.loopnests.emission.control import Compiler
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.numbers import INDEX
from reactant.native import clocks
from reactant.support.records import dataclass


@dataclass
class Written:
    """The text of a function and, in order of its arguments: the inputs, the outputs, the workspace. The first `lent`
    inputs are read from elements on that one more input after the others tells."""

    text: str
    inputs: list[Node]
    outputs: list[Node]
    workspace: list[Buffer]
    lent: int = 0


def write_function(block: Block, inputs: Sequence[Node], outputs: Sequence[Node], name: str = "region",
                   lent: Sequence[Node] = (), parallel: bool = True) -> Written:
    """The function that computes `outputs` of a block from values around it.

    inputs: arrays, numbers and dense constants from outside, each a memref. lent: those of them whose memory may start
    before them. Raises `NotCompiled`.
    """
    without_nan(block)
    without_last_writes(block)
    note_compactions(block)
    turned = by_columns(block, outputs)
    outputs = [turned.get(node, node) for node in outputs]
    compiler = Compiler()
    compiler.parallel = parallel
    try:
        return _written(compiler, block, inputs, outputs, name, lent)
    except NotCompiled:
        if not compiler.trusted:
            raise
    compiler = Compiler()           # a loop in a loop did not do what it did on trial: each is tried where it stands
    compiler.parallel, compiler.trusts = parallel, False
    return _written(compiler, block, inputs, outputs, name, lent)


def _written(compiler: Compiler, block: Block, inputs: Sequence[Node], outputs: Sequence[Node], name: str,
             lent: Sequence[Node]) -> Written:
    w, e = compiler.w, compiler.e
    constants = list(dict.fromkeys(n for n in block.walk() if n.kind == "constant" and n.splat is None and n.size))
    lent = [n for n in inputs if n in set(lent)]
    outer = [*lent, *(n for n in inputs if n.size and n not in set(lent))]
    listed = []
    for k, node in enumerate([*outer, *constants]):
        buffer = Buffer(w.define(f"%in{k}", 0), node.dtype, node.size, writable=False, unsized=k < len(lent))
        if k < len(lent):
            w.level["%starts"] = 0
            told = e.load(Buffer("%starts", INDEX, len(lent)), number(k), INDEX).name
            start = w.pure(f"arith.index_cast {told} : i64 to index", (str(told),))
            w.facts.ranges[start] = (0, 1 << 40)
            buffer.offset = symbol(start)
        listed.append(f"{buffer.name}: {buffer.type}")
        if node.shape or node.kind == "constant":
            e.storage[node] = buffer
        else:
            compiler.bind(node, e.load(buffer, ZERO, node.dtype))
    if lent:
        listed.append(f"%starts: {Buffer('', INDEX, len(lent)).type}")
    destinations: dict[Node, Buffer] = {}
    places: list[tuple[Node, Buffer]] = []
    for k, node in enumerate(outputs):
        buffer = Buffer(w.define(f"%out{k}", 0), node.dtype, node.size, home=block)
        listed.append(f"{buffer.name}: {buffer.type}")
        places.append((node, buffer))
        if node.shape and node.size:
            destinations[node] = buffer
    block.returned = list(outputs)
    with measuring.function(compiler, name):
        frame = compiler.block(block, destinations)
        for node, buffer in places:         # numbers first: copies go into what they may be computed from
            if not node.shape:
                e.store(e.at(node, ()), buffer, ZERO)
        for node, buffer in places:
            if node.shape and node.size and e.storage.get(node) is not buffer:
                compiler.copy(node, buffer)
        compiler.leave(frame)
    listed += [f"{b.name}: {b.type}" for b in compiler.scratch_made]
    declared = [*compiler.declared.values(), *[clocks.DECLARED] * compiler.measured.used]
    text = "\n".join([*declared, f"func.func @{name}({', '.join(listed)}) {{", *w.text(), "return", "}"])
    return Written(text, [*outer, *constants], list(outputs), compiler.scratch_made, len(lent))


__all__ = ["NotCompiled", "Written", "write_function"]
