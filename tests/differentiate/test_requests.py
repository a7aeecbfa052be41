"""Requests to differentiate as ops: how they look, what expands them, in which order, what stays for later."""
import numpy as np
import pytest
from jaxlib.mlir import ir

import reactant
from reactant import pipelines
from reactant.differentiate import requests
from reactant.differentiate.modes import reverse
from reactant.differentiate.recognised.prepare import prepared
from reactant.differentiate.requests import Request
from reactant.ir import modules, types
from reactant.ir.context import building

X = np.array([0.3, 0.7, 1.1])
TEXT = """module {
  func.func private @cube(%x: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.multiply %x, %x : tensor<f64>
    %1 = stablehlo.multiply %0, %x : tensor<f64>
    return %1 : tensor<f64>
  }
  func.func public @main(%x: tensor<f64>) -> tensor<f64> {
    return %x : tensor<f64>
  }
}"""


def nested(depth):
    """A module whose main gives the derivative of order `depth` of x^3, each a request in a function of its own."""
    module = modules.parse(TEXT)
    scalar, name = types.tensor_type((), np.dtype(float)), "cube"
    request = Request(requests.REVERSE, (0,), (0,), ones=True)
    for _ in range(depth - 1):
        def derivative(inputs, name=name):
            return requests.emit(request, name, inputs, (), [scalar])[1:]
        name = requests.private_function(module, [scalar], derivative, "derivative")
    main = modules.function(module)
    block = main.regions[0].blocks[0]
    old = list(block.operations)[-1]
    with ir.InsertionPoint(old):
        made = requests.emit(request, name, list(block.arguments), (), [scalar])
    old.operation.operands[0] = made[1]
    return module


@building()
@pytest.mark.parametrize("depth, value", [(1, 12.0), (2, 12.0), (3, 6.0)])
def test_nested_requests_are_expanded_innermost_first(depth, value):
    module = nested(depth)
    modules.verify(module)
    report = pipelines.run(module, "differentiated", verify=True)
    assert len(report.derivatives) == depth and report.derivatives[0][1] == "cube"
    assert not requests.present(module)
    assert [op.operation.attributes["sym_name"].value for op in module.body] == ["main"]     # nothing else is left
    from reactant.ir.interpret import evaluate
    assert evaluate(module, [np.array(2.0)])[0] == value


@building()
def test_a_request_reads_back_as_it_was_written():
    module = nested(1)
    op = next(op for op in modules.walk(module) if op.name == "stablehlo.custom_call")
    assert requests.request_of(op) == Request(requests.REVERSE, (0,), (0,), ones=True)
    assert requests.callee_of(op) == "cube" and requests.target_of(op) == requests.REVERSE


def loss(x):
    return np.sum(np.concatenate([x * x, x])[:3] * 2)


def test_the_traced_program_asks_and_the_optimised_one_has_the_answer():
    lowered = reactant.grad(loss).lower(X)
    assert lowered.operations(optimized=False)["stablehlo.custom_call"] == 1
    assert "reactant.reverse" in lowered.as_text(optimized=False)
    assert not {"stablehlo.custom_call", "stablehlo.pad", "stablehlo.concatenate"} & set(lowered.operations())


def test_explain_tells_of_both():
    text = str(reactant.explain(reactant.grad(loss), X))
    assert "differentiated: reverse mode of loss" in text and "traced: custom_call" in text


@pytest.mark.parametrize("options", [{"optimize": False}, {"optimize": "simplify"}, {"optimize": ("shape",)}, {}])
def test_requests_are_answered_whatever_is_optimised(options):
    np.testing.assert_allclose(reactant.jit(reactant.grad(loss), **options)(X), 4 * X)


@building()
def test_marks_stay_on_record_for_whoever_differentiates_later():
    module = modules.parse(TEXT)
    main = modules.function(module)
    block = main.regions[0].blocks[0]
    old = list(block.operations)[-1]
    with ir.InsertionPoint(old):
        held = requests.stop_gradient(block.arguments[0])
        made = requests.checkpointed("cube", [held], [held.type])
    old.operation.operands[0] = made[0]
    pipelines.run(module, "differentiate")
    assert not requests.present(module, requests.MARKS)
    source = modules.parse(modules.take_source(module))
    assert requests.present(source, [requests.STOP]) and requests.present(source, [requests.CHECKPOINT])
    assert modules.take_source(module) is None


@pytest.mark.slow
def test_each_request_looks_at_its_own_function(monkeypatch):
    """A program with many is compiled in linear time."""
    looked_at = []
    monkeypatch.setattr(reverse, "prepared", lambda module: looked_at.append(modules.size(module)) or prepared(module))

    @reactant.jit
    def descent(x):
        for iteration in range(30):
            x = x - 0.1 * reactant.grad(lambda y, iteration=iteration: np.sum(np.sin(y) ** iteration))(x)
        return x
    descent(X)
    assert len(looked_at) == 30 and max(looked_at) < 30
