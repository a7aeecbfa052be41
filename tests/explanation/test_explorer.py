"""Graphs for Model Explorer: its JSON format, as its own classes and its loader have it."""
import json

import numpy as np
import pytest

import reactant
from reactant.__main__ import main
from reactant.explanation import explorer
from reactant.ir import cost
from reactant.ir.context import building

NODE = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"}


def looped(x, n):
    y = np.sin(x) + 1.5
    for _ in range(n):
        y = y * x + y.sum() if y[0] > 0 else y
    return y


def check(found):
    """What the loader asks for (`label` and `graphs`, or it says "Unsupported JSON format"), and what the viewer does:
    ids that are unique, edges from nodes and outputs that there are, texts as values."""
    assert isinstance(found["label"], str) and found["graphs"]
    assert len({graph["id"] for graph in found["graphs"]}) == len(found["graphs"])
    for graph in found["graphs"]:
        outputs = {node["id"]: {each["id"] for each in node["outputsMetadata"]} for node in graph["nodes"]}
        assert len(outputs) == len(graph["nodes"])
        for node in graph["nodes"]:
            assert set(node) == NODE and all(isinstance(node[key], str) for key in ("id", "label", "namespace"))
            for edge in node["incomingEdges"]:
                assert edge["sourceNodeOutputId"] in outputs[edge["sourceNodeId"]] and all(
                    isinstance(value, str) for value in edge.values())
            for each in (*node["attrs"], *(a for out in node["outputsMetadata"] for a in out["attrs"])):
                assert set(each) == {"key", "value"} and isinstance(each["value"], str) and len(each["value"]) < 300
        assert set(graph.get("groupNodeAttributes", {})) <= {node["namespace"] for node in graph["nodes"]}


@pytest.fixture(scope="module")
def module():
    return reactant.jit(looped, unroll_limit=0).lower(np.arange(6.0), 40).module


def test_graphs(module):
    found = explorer.collection(module, "looped")
    check(found)
    main_graph = next(graph for graph in found["graphs"] if graph["id"] == "main")
    nodes = {node["id"]: node for node in main_graph["nodes"]}
    assert nodes["arg0"]["namespace"] == "arguments"
    first = looped.__code__.co_firstlineno
    sine = next(node for node in nodes.values() if node["label"] == "sine")
    assert sine["namespace"] == f"line {first + 1}"
    assert {"key": "source", "value": "y = np.sin(x) + 1.5"} in sine["attrs"]
    inner = [node for node in nodes.values() if node["label"] == "multiply" and "body" in node["namespace"]]
    assert inner and inner[0]["namespace"].startswith(f"while of line {first + 2} body/")
    assert any(nodes[edge["sourceNodeId"]]["label"] != "while" for edge in inner[0]["incomingEdges"])


def test_node_data(module):
    found, graphs = explorer.node_data(module), explorer.collection(module, "looped")["graphs"]
    assert set(found) == {"flops", "bytes"}
    with building():
        whole = cost.estimate(module)
    for name, data in found.items():
        ids = {node["id"] for node in graphs[0]["nodes"]}
        results = data["main"]["results"]
        assert set(results) <= ids and all(each["value"] >= 0 for each in results.values())
        outside = {node["id"] for node in graphs[0]["nodes"] if " body" not in node["namespace"]
                   and "condition" not in node["namespace"]}
        assert sum(results[key]["value"] for key in outside & results.keys()) == pytest.approx(whole[name])
        assert [stop["stop"] for stop in data["main"]["gradient"]] == [0, 0.5, 1]


def test_its_own_classes_take_them(module):
    builder = pytest.importorskip("model_explorer.graph_builder", reason="ai-edge-model-explorer is not installed")
    fields = builder.GraphNode.__dataclass_fields__
    for graph in explorer.collection(module, "looped")["graphs"]:
        builder.Graph(**graph)
        for node in graph["nodes"]:
            assert set(node) <= set(fields)
            builder.GraphNode(**node)
            [builder.IncomingEdge(**edge) for edge in node["incomingEdges"]]
            [builder.MetadataItem(**each) for each in node["outputsMetadata"]]
            [builder.KeyValue(**each) for each in node["attrs"]]


def test_files_of_explain_and_of_the_command(tmp_path, capsys):
    account = reactant.explain(looped, np.arange(6.0), 3)
    written = account.model_explorer(str(tmp_path / "looped.json"))
    assert [path.rpartition("/")[2] for path in written] == ["looped.json", "looped.flops.json", "looped.bytes.json"]
    check(json.loads((tmp_path / "looped.json").read_text()))
    program = tmp_path / "program.mlir"
    program.write_text(account.lowered.as_text(optimized=False))
    assert main(["opt", str(program), "--graph", str(tmp_path / "g.json")]) == 0
    assert "wrote" in capsys.readouterr().err
    found = json.loads((tmp_path / "g.json").read_text())
    check(found)
    assert found["label"] == "program"
    assert json.loads((tmp_path / "g.bytes.json").read_text())["main"]["results"]
    assert main(["opt", str(program), "--graph", str(tmp_path / "no" / "g.json")]) == 2
    assert main(["opt", str(program), "--bisect", "--graph", "g.json"]) == 2
