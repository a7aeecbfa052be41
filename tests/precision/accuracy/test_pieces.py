import numpy as np

from reactant.ir import modules
from reactant.ir.context import building
from reactant.precision.accuracy import pieces
from reactant.runtime.executable import Executable
from tests.precision.accuracy.beside_itself import function

STEP = """
    %a{0} = stablehlo.multiply %b{1}, %b{1} : tensor<f64>
    %c{0} = stablehlo.add %a{0}, %one : tensor<f64>
    %d{0} = stablehlo.divide %b{1}, %c{0} : tensor<f64>
    %b{0} = stablehlo.optimization_barrier %d{0} : tensor<f64>"""


def test_what_lies_between_barriers_becomes_a_function(monkeypatch):
    monkeypatch.setattr(pieces, "LEAST", 3)
    begin = "%one = stablehlo.constant dense<1.0> : tensor<f64>\n%b0 = stablehlo.add %arg0, %one : tensor<f64>"
    body = begin + "".join(STEP.format(k, k - 1) for k in range(1, 4)) + "\nreturn %b3 : tensor<f64>"
    with building():
        module = modules.parse(function(body, ["f64"], ["f64"]))
        before = Executable(modules.clone(module))([np.float64(0.7)])
        pieces.in_pieces(module)
        modules.verify(module)
        found = modules.functions(module)
        assert len(found) == 4 and modules.counts(module)["stablehlo.optimization_barrier"] == 0
        assert modules.counts(module)["stablehlo.constant"] == 4        # each has its own, and the old one
        assert Executable(module)([np.float64(0.7)]) == before
