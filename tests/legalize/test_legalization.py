"""The table of workarounds: as passes, in `explain`, and on its page."""
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.__main__ import main
from reactant.ir import modules
from reactant.ir.context import building
from reactant.legalize import legalization

ROOT = Path(__file__).parents[2]
PROGRAM = """func.func @main(%x: tensor<8xf64>, %y: tensor<8xf64>) -> tensor<8xf64> {
  %0 = stablehlo.multiply %x, %y : tensor<8xf64>
  %1 = stablehlo.divide %0, %y : tensor<8xf64>
  %2 = stablehlo.divide %1, %x : tensor<8xf64>
  %3 = stablehlo.subtract %2, %0 : tensor<8xf64>
  return %3 : tensor<8xf64>
}
"""


def test_each_file_has_a_row():
    files = {path.stem for path in (ROOT / "src" / "reactant" / "legalize").glob("*.py")} - {"__init__", "legalization"}
    assert files == set(legalization.BY_NAME) - {"deciding_divisions"}
    assert len(legalization.BY_NAME) == len(legalization.WORKAROUNDS)
    for each in legalization.WORKAROUNDS:
        assert not each.reproduction or (ROOT / each.reproduction).exists()
        assert each.defect.endswith(".") and each.seen


@pytest.mark.parametrize("pipeline", ["xla", "xla_of_jax"])
def test_pipelines_are_what_xla_gets(pipeline):
    """Pass by pass in place, and at once when a program is compiled."""
    with building():
        module = modules.parse(PROGRAM)
        report = pipelines.run(module, pipeline, verify=True)
        as_jax = pipeline == "xla_of_jax"
        frozen = legalization.legal_on_cpu(legalization.legal(modules.parse(PROGRAM), as_jax, False), True)
        assert modules.to_text(module) == modules.to_text(modules.parse(frozen))
    assert [name for name, _ in report.passes] == [
        each.name for each in legalization.WORKAROUNDS if each.programs in ("every", "jax" if as_jax else "numpy")]


def test_shell(capsys, monkeypatch, tmp_path):
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    assert main(["opt", "--pipeline", "rounded_products", str(file)]) == 0
    assert "optimization_barrier" in capsys.readouterr().out
    assert main(["opt", "--pipeline", "default,xla", "--bisect", str(file)]) == 0
    assert "Nothing differs" in capsys.readouterr().out


def test_bisect_names_a_workaround(capsys, monkeypatch):
    def wrong(module):
        made = modules.clone(module)
        for op in modules.walk(made):
            if op.name == "stablehlo.subtract":
                op.operands[0] = op.operands[1]
        return made

    each = legalization.Workaround("wrong", wrong, (b"subtract",), "every", "None.")
    monkeypatch.setitem(pipelines.PASSES, "wrong", each)
    monkeypatch.setattr(sys, "stdin", io.StringIO(PROGRAM))
    assert main(["opt", "--pipeline", "default,wrong", "--bisect"]) == 1
    assert "The pass 'wrong' changes the results" in capsys.readouterr().out


def test_explain_says_what_was_changed():
    account = reactant.explain(reactant.jit(lambda x: np.floor(x / 49.0) * 2 + x, native="never"), np.ones(500))
    assert {"exact_divisions", "rounded_products"} <= set(account.workarounds)
    assert "for XLA: exact_divisions" in str(account)


def test_page_is_up_to_date(capsys):
    """After a change of the table: reactant patterns --workarounds > docs/xla.md"""
    assert main(["patterns", "--workarounds"]) == 0
    assert (ROOT / "docs" / "xla.md").read_text() == capsys.readouterr().out
