"""The operations of a line as graphs."""
import numpy as np
import pytest

import reactant
from reactant.explanation import graphs
from reactant.explanation.graphs import Node
from reactant.ir.context import building


def looped(x, n):
    y = np.sin(x) + 1.5
    for _ in range(n):
        y = y * x + y.sum()
    return y


def found(function, *args, **options):
    first = function.__code__.co_firstlineno
    lowered = reactant.jit(function, **options).lower(*args)
    with building():
        made = graphs.graphs(lowered.original)
    return {int(line.rpartition(":")[2]) - first: nodes for line, nodes in made.items() if line}


def test_nodes_and_edges_by_line():
    made = found(looped, np.arange(6.0), 40, unroll_limit=0)
    sine, constant, add = (next(k for k, node in enumerate(made[1]) if name in node.name)
                           for name in ("sine", "1.5", "add"))
    assert made[1][add].reads == [sine, constant] and made[1][constant].given and made[1][sine].type == "float64[6]"
    argument = made[1][made[1][sine].reads[0]]
    assert argument.given and argument.name == "argument"
    body = made[3]
    assert {"multiply", "add", "reduce"} <= {node.name for node in body}
    assert any(node.name == "carried value" for node in body)
    assert sum(node.name == "add" for node in body) == 1, "the sum's own addition is a part of it"


@pytest.mark.parametrize("reads, expected", [
    ([[], [0], [1]], [[0], [1], [2]]),
    ([[], [], [0, 1]], [[0, 1], [2]]),
    ([[], [0], [0], [1, 2]], [[0], [1, 2], [3]]),
    ([], []),
])
def test_layers(reads, expected):
    assert graphs.layers([Node(f"n{k}", "", reads=each) for k, each in enumerate(reads)]) == expected


def test_what_is_given_is_just_above_its_first_reader():
    nodes = [Node("a", ""), Node("b", "", reads=[0]), Node("given", "", given=True), Node("c", "", reads=[1, 2])]
    assert graphs.layers(nodes) == [[0], [1, 2], [3]]


def test_pictures_say_what_they_show():
    nodes = [Node("x<y", "f[2]", given=True), Node("add", "f[2]", reads=[0])]
    made = graphs.svg(nodes, "Before")
    assert 'role="img"' in made and "Before: 1 operations. add f[2] of x&lt;y f[2]" in made and made.count("<rect") == 2
    assert graphs.as_list(nodes) == "<ol><li>add f[2] of x&lt;y f[2]</li></ol>"
    many = graphs.svg([Node("add", "")] * (graphs.MOST_NODES + 1), "Before")
    assert "<svg" not in many and many.count("<li>") == graphs.MOST_NODES + 1
    assert "nothing" in graphs.svg([], "Before")
