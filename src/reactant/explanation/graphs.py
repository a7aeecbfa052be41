"""The operations of a line as graphs: nodes and edges read from a module, laid out in layers, drawn as SVG."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_and_dtype
from reactant.rewrite.report import source_line
from reactant.support.records import dataclass

MOST_NODES = 60
"""Nodes that are drawn; a graph with more is given as a list."""
CONTROL = frozenset(("stablehlo.while", "stablehlo.if", "stablehlo.case", "func.func", "builtin.module",
                     "sdy.manual_computation"))
"""Ops whose regions hold operations of the program; the regions of others (reductions, sorts) are a part of them."""
LEFT_OUT = frozenset(("func.func", "func.return", "stablehlo.return", "builtin.module", "sdy.return"))
HIGH, GAP, BETWEEN, LETTER = 24, 34, 18, 7.3
"""Pixels: of a node, between layers, between nodes, and of a letter."""


@dataclass
class Node:
    """An operation, or what a line is given: its name, the type that it makes, and the numbers of what it reads."""

    name: str
    type: str
    given: bool = False
    reads: list[int] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.name} {self.type}".strip()


def graphs(module: ir.Module) -> dict[str, list[Node]]:
    """The operations of each line ("file:line"), in their order; what a line reads of others are nodes, too."""
    lines: dict[str, list[Node]] = {}
    places: dict[str, dict[ir.Value, int]] = {}
    for op in _operations(module.operation):
        line = source_line(op.location)
        nodes, known = lines.setdefault(line, []), places.setdefault(line, {})
        if op.name in LEFT_OUT or op.name == "stablehlo.constant":
            continue
        reads = []
        for value in op.operands:
            if value not in known:
                known[value] = len(nodes)
                nodes.append(_given(value))
            reads.append(known[value])
        for result in op.results:
            known[result] = len(nodes)
        nodes.append(Node(op.name.removeprefix("stablehlo."), _type(op.results[0]) if len(op.results) else "",
                          reads=list(dict.fromkeys(reads))))
    return {line: nodes for line, nodes in lines.items() if nodes}


def _operations(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                if inner.operation.name in CONTROL:
                    yield from _operations(inner.operation)


def _given(value: ir.Value) -> Node:
    """What comes from elsewhere: an argument, a constant, the result of another line."""
    if isinstance(value.owner, ir.Block):
        function = value.owner.owner.operation.name == "func.func"
        return Node("argument" if function else "carried value", _type(value), given=True)
    content = ops.constant_value(value)
    if content is not None:
        text = str(content.flat[0]) if content.size and not any(content.strides) else "constant"
        return Node(text, _type(value), given=True)
    owner = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    line, name = source_line(owner.location).rpartition(":")[2], owner.name.removeprefix("stablehlo.")
    return Node(f"{name} of line {line}" if line else name, _type(value), given=True)


def _type(value: ir.Value) -> str:
    if not isinstance(value.type, ir.RankedTensorType):
        return ""
    shape, dtype = shape_and_dtype(value.type)
    return f"{dtype.name}[{','.join(map(str, shape))}]"


def layers(nodes: Sequence[Node]) -> list[list[int]]:
    """Nodes in layers, each below all that it reads; within a layer near what they read."""
    rank: list[int] = []
    for node in nodes:
        rank.append(1 + max((rank[k] for k in node.reads), default=-1))
    used = {k: min(rank[j] for j, other in enumerate(nodes) if k in other.reads)
            for k in {k for other in nodes for k in other.reads}}
    for k, node in enumerate(nodes):
        if node.given and k in used:
            rank[k] = used[k] - 1           # just above where it is first read
    found: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for k, each in enumerate(rank):
        found[each].append(k)
    place: dict[int, float] = {}
    for layer in found:
        layer.sort(key=lambda k: (sum(place.get(j, 0.0) for j in nodes[k].reads) / max(len(nodes[k].reads), 1), k))
        place |= {k: at / max(len(layer), 1) for at, k in enumerate(layer)}
    return [layer for layer in found if layer]


def svg(nodes: Sequence[Node], title: str) -> str:
    """The graph as a picture, with a text that says the same."""
    if not nodes:
        return '<p class="soft">nothing</p>'
    if len(nodes) > MOST_NODES:
        return f"<p>{len(nodes)} nodes, too many to draw:</p>{as_list(nodes)}"
    wide = {k: LETTER * len(node.label) + 16 for k, node in enumerate(nodes)}
    rows = layers(nodes)
    width = max(sum(wide[k] for k in row) + BETWEEN * (len(row) + 1) for row in rows)
    height = len(rows) * HIGH + (len(rows) - 1) * GAP + 8
    middle: dict[int, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        x = (width - sum(wide[k] for k in row) - BETWEEN * (len(row) - 1)) / 2
        for k in row:
            middle[k] = x + wide[k] / 2, 4 + number * (HIGH + GAP)
            x += wide[k] + BETWEEN
    shapes = [_edge(middle[j], middle[k]) for k, node in enumerate(nodes) for j in node.reads]
    for k, node in enumerate(nodes):
        x, y = middle[k]
        kind = "given" if node.given else "node"
        shapes.append(f'<rect class="{kind}" x="{x - wide[k] / 2:.0f}" y="{y:.0f}" width="{wide[k]:.0f}" '
                      f'height="{HIGH}" rx="4"/><text x="{x:.0f}" y="{y + HIGH - 8:.0f}" text-anchor="middle">'
                      f"{escape(node.label)}</text>")
    said = f"{title}: {sum(not node.given for node in nodes)} operations. {_words(nodes)}"
    return (f'<svg role="img" aria-label="{escape(said, True)}" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">{"".join(shapes)}</svg>')


def _edge(above: tuple[float, float], below: tuple[float, float]) -> str:
    (x, y), (u, v) = above, below
    y += HIGH
    half = (y + v) / 2
    return f'<path class="edge" d="M{x:.0f},{y:.0f} C{x:.0f},{half:.0f} {u:.0f},{half:.0f} {u:.0f},{v:.0f}"/>'


def as_list(nodes: Sequence[Node]) -> str:
    """The graph as a list, which screen readers go through."""
    return "<ol>" + "".join(f"<li>{escape(_said(nodes, k))}</li>" for k, node in enumerate(nodes)
                            if not node.given) + "</ol>"


def _words(nodes: Sequence[Node]) -> str:
    return "; ".join(_said(nodes, k) for k, node in enumerate(nodes) if not node.given)


def _said(nodes: Sequence[Node], number: int) -> str:
    node = nodes[number]
    given = ", ".join(nodes[k].label for k in node.reads)
    return node.label + (f" of {given}" if given else "")


def pair(before: Mapping[str, list[Node]], after: Mapping[str, list[Node]], line: str) -> str:
    """A line's graphs as traced and after our passes, side by side."""
    return "".join(['<div class="pair">', *(f"<div><h3>{name}</h3>{svg(found.get(line, []), name)}</div>"
                                           for name, found in (("As traced", before), ("After the rules", after))),
                    "</div>"])
