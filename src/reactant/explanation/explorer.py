"""Modules as graphs for Model Explorer (`pip install ai-edge-model-explorer`), with the user's lines and costs.

Model Explorer reads StableHLO text itself, but drops files and lines. Its JSON format has places for them: a file of
`{"label", "graphs"}`, a graph for each function, nodes with attributes in nested namespaces, and files of node data,
`{graph: {"results": {node: {"value"}}, "gradient"}}`, that colour nodes.
"""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxlib.mlir import ir

from reactant.explanation.graphs import CONTROL
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.cost import Cost, of_operation
from reactant.ir.types import shape_and_dtype
from reactant.rewrite.report import source_line
from reactant.support.records import dataclass
from reactant.support.source_lines import text_at

LONGEST = 200
"""Characters of an attribute that are kept."""
GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 0.5, "bgColor": "#ffd58a"}, {"stop": 1, "bgColor": "#e2603a"}]
OVERLAYS: dict[str, Callable[[Cost], float]] = {"flops": lambda cost: cost.flops, "bytes": lambda cost: cost.bytes}
"""Node data, and how it follows from a node's cost: of one execution, loops and calls with all that is in them."""


def collection(module: ir.Module, label: str) -> dict[str, Any]:
    """The functions of a module as Model Explorer's graphs. A node's id is its number in the function, `arg0` that of
    an argument; namespaces are the loops and branches around an operation, and its line."""
    with building():
        return {"label": label, "graphs": [_Graph(name, function).made()
                                           for name, function in modules.functions(module).items()]}


def node_data(module: ir.Module) -> dict[str, dict[str, Any]]:
    """The files of node data by name (`OVERLAYS`)."""
    with building():
        functions = modules.functions(module)
        found: dict[str, dict[str, Any]] = {name: {} for name in OVERLAYS}
        for graph, function in functions.items():
            costs = {str(number): of_operation(op, functions) for number, op, _ in _operations(function)}
            for name, value in OVERLAYS.items():
                found[name][graph] = {"name": name, "gradient": GRADIENT, "results": {
                    node: {"value": value(cost)} for node, cost in costs.items()}}
        return found


def write(module: ir.Module, file: str | os.PathLike[str], label: str) -> list[str]:
    """Write `file` (a `.json`) and beside it a file for each of `OVERLAYS` (`name.flops.json`); gives their paths."""
    path = Path(file)
    written = [str(path)]
    path.write_text(json.dumps(collection(module, label), indent=1), encoding="utf-8")
    for name, data in node_data(module).items():
        beside = path.with_name(f"{path.stem}.{name}.json")
        beside.write_text(json.dumps(data, indent=1), encoding="utf-8")
        written.append(str(beside))
    return written


def _operations(function: ir.Operation, start: int = 0) -> Iterator[tuple[int, ir.Operation, tuple[str, ...]]]:
    """The operations of a function with their numbers and the names of the regions around them."""
    number = start

    def walk(op: ir.Operation, around: tuple[str, ...]) -> Iterator[tuple[ir.Operation, tuple[str, ...]]]:
        for k, region in enumerate(op.regions):
            within = around if op.name == "func.func" else (*around, _region_name(op, k))
            for block in region.blocks:
                for inner in block.operations:
                    yield inner.operation, within
                    if inner.operation.name in CONTROL:
                        yield from walk(inner.operation, within)
    for op, around in walk(function, ()):
        yield number, op, around
        number += 1


def _region_name(op: ir.Operation, number: int) -> str:
    kind = op.name.rpartition(".")[2]
    part = ("condition", "body")[number] if kind == "while" else ("true", "false")[number] if kind == "if" \
        else f"branch {number}"
    line = source_line(op.location).rpartition(":")[2]
    return f"{kind}{f' of line {line}' if line else ''} {part}"


@dataclass
class _Graph:
    """One function."""

    name: str
    function: ir.Operation

    def made(self) -> dict[str, Any]:
        """The graph."""
        nodes: list[dict[str, Any]] = []
        places: dict[ir.Value, tuple[str, int]] = {}
        groups: dict[str, dict[str, str]] = {}
        if not len(self.function.regions[0].blocks):
            return {"id": self.name, "nodes": nodes}
        for k, argument in enumerate(self.function.regions[0].blocks[0].arguments):
            places[argument] = f"arg{k}", 0
            nodes.append({"id": f"arg{k}", "label": f"argument {k}", "namespace": "arguments", "attrs": [],
                          "incomingEdges": [], "outputsMetadata": _outputs([argument])})
        for number, op, around in _operations(self.function):
            line = source_line(op.location)
            space = [each.replace("/", "|") for each in around]
            if line:
                space.append(f"line {line.rpartition(':')[2]}")
                groups["/".join(space)] = {"line": line, "source": text_at(line)}
            nodes.append({"id": str(number), "label": op.name.removeprefix("stablehlo."), "namespace": "/".join(space),
                          "attrs": _attributes(op, line), "incomingEdges": _edges(op, places),
                          "outputsMetadata": _outputs(list(op.results))})
            for k, result in enumerate(op.results):
                places[result] = str(number), k
            if op.name in CONTROL:
                _carried(op, places)
        return {"id": self.name, "nodes": nodes, "groupNodeAttributes": groups}


def _carried(op: ir.Operation, places: dict[ir.Value, tuple[str, int]]) -> None:
    """What the regions of a loop are given comes from what the loop is given."""
    for region in op.regions:
        for argument, value in zip(region.blocks[0].arguments, op.operands, strict=False):
            if value in places:
                places[argument] = places[value]


def _edges(op: ir.Operation, places: dict[ir.Value, tuple[str, int]]) -> list[dict[str, str]]:
    return [{"sourceNodeId": places[value][0], "sourceNodeOutputId": str(places[value][1]), "targetNodeInputId": str(k)}
            for k, value in enumerate(op.operands) if value in places]


def _attributes(op: ir.Operation, line: str) -> list[dict[str, str]]:
    found = [("line", line), ("source", text_at(line))] if line else []
    cost = of_operation(op) if op.name != "func.call" else Cost()
    found += [("flops", f"{cost.flops:g}"), ("bytes", f"{cost.bytes:g}")]
    content = ops.constant_value(op.results[0]) if op.name == "stablehlo.constant" else None
    for name in op.attributes:
        if op.name == "stablehlo.constant" and name == "value" and content is not None:
            text = str(content.flat[0]) if content.size and not any(content.strides) else f"{content.size} elements"
        else:
            text = str(op.attributes[name])
        found.append((name, text if len(text) <= LONGEST else text[:LONGEST] + "..."))
    return [{"key": key, "value": value} for key, value in found]


def _outputs(values: list[ir.Value]) -> list[dict[str, Any]]:
    return [{"id": str(k), "attrs": [{"key": "tensor_shape", "value": _shape(value)}]}
            for k, value in enumerate(values)]


def _shape(value: ir.Value) -> str:
    if not isinstance(value.type, ir.RankedTensorType):
        return str(value.type)
    shape, dtype = shape_and_dtype(value.type)
    return f"{dtype.name}[{','.join(map(str, shape))}]"
