import io

import numpy as np
import pytest

import reactant
from reactant.__main__ import main

NEGATED_TWICE = """
func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.negate %a : tensor<4xf64>
  %1 = stablehlo.negate %0 : tensor<4xf64>
  %2 = stablehlo.cosine %1 : tensor<4xf64>
  %3 = stablehlo.cosine %1 : tensor<4xf64>
  %4 = stablehlo.add %2, %3 : tensor<4xf64>
  return %4 : tensor<4xf64>
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "negated.mlir"
    path.write_text(NEGATED_TWICE)
    return str(path)


def count(text, *operations):
    return [text.count(f"stablehlo.{operation} ") for operation in operations]


@pytest.mark.parametrize(("pipeline", "expected"), [
    ("none", [2, 2]),
    ("cse", [2, 1]),
    ("negate_of_negate", [0, 2]),
    ("arithmetic.negate_of_negate", [0, 2]),
    ("arithmetic", [0, 1]),
    ("cse, negate_of_negate", [0, 1]),
    ("default", [0, 1]),
])
def test_pipelines_families_and_single_rules(file, capsys, pipeline, expected):
    assert main(["opt", file, "--pipeline", pipeline]) == 0
    assert count(capsys.readouterr().out, "negate", "cosine") == expected


def test_default_pipeline_from_standard_input_gives_a_module_that_parses_again(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(NEGATED_TWICE))
    assert main(["opt", "-", "--verify"]) == 0
    once = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(once))
    assert main(["opt"]) == 0
    assert capsys.readouterr().out == once


def test_print_patterns_names_what_fired_on_standard_error(file, capsys):
    assert main(["opt", file, "--print-patterns"]) == 0
    printed = capsys.readouterr()
    assert "negate_of_negate" in printed.err
    assert "negate_of_negate" not in printed.out
    assert main(["opt", file]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verify", [False, True])
def test_verify_blames_the_pass_that_breaks_the_module(file, monkeypatch, capsys, verify):
    from jaxlib.mlir import ir

    from reactant import pipelines

    def wrong(module):
        """Replaces the type of the function, and leaves what it returns."""
        function = module.body.operations[0]
        tensor = ir.RankedTensorType.get([4], ir.F64Type.get())
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([tensor], []))

    monkeypatch.setitem(pipelines.PIPELINES, "wrong", (wrong,))
    arguments = ["opt", file, "--pipeline", "wrong"] + ["--verify"] * verify
    status = main(arguments)
    assert status == (2 if verify else 0)
    error = capsys.readouterr().err
    assert ("pass 'wrong' broke the module" in error) == verify


@pytest.mark.parametrize(("pipeline", "message"), [
    ("negate_of_negat", "unknown pass 'negate_of_negat'; did you mean negate_of_negate"),
    ("cse,aritmetic", "unknown pass 'aritmetic'; did you mean arithmetic"),
    ("targt", "unknown pass 'targt'; did you mean target?"),     # a pipeline and a family: named once
    ("qqqqqq", "unknown pass 'qqqqqq'; pipelines are none, simplify, target"),
    (" , ", "--pipeline names nothing"),
])
def test_unknown_names(file, capsys, pipeline, message):
    assert main(["opt", file, "--pipeline", pipeline]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("reactant opt: error: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(("text", "message"), [
    ("func.func @main( {", "is not a valid module: line 1, column "),
    ("func.func @main(%a: tensor<2xf64>) -> tensor<2xf64> {\n  %0 = stablehlo.frobnicate %a : tensor<2xf64>\n}",
     "line 2, column "),
    ("func.func @main(%a: tensor<2xf64>) -> tensor<3xf64> { return %a : tensor<2xf64> }", "return"),
])
def test_modules_that_do_not_parse(monkeypatch, capsys, text, message):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["opt", "-"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("reactant opt: error: '-' is not a valid module: ")
    assert error.count("\n") == 1


def test_portable_artifacts_are_read(tmp_path, monkeypatch, capsys):
    content = reactant.export(lambda x: np.sin(x.T.T), np.ones((2, 3))).stablehlo()
    file = tmp_path / "program.bin"
    file.write_bytes(content)
    assert main(["opt", str(file)]) == 0
    assert "stablehlo.sine" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["run", "-"]) == 0
    assert "float64[2, 3]" in capsys.readouterr().out
    file.write_bytes(content[:60])
    assert main(["opt", str(file)]) == 2
    assert "is not a valid module" in capsys.readouterr().err


def test_standard_input_that_is_no_text(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00"), errors="surrogateescape"))
    assert main(["opt", "-"]) == 2
    assert capsys.readouterr().err == "reactant opt: error: cannot read '-': not a text file\n"


def test_missing_file(capsys):
    assert main(["opt", "none.mlir"]) == 2
    assert capsys.readouterr().err == "reactant opt: error: cannot read 'none.mlir': No such file or directory\n"


SUMS = """
func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {
  %three = stablehlo.constant dense<3.0> : tensor<4xf64>
  %four = stablehlo.constant dense<4.0> : tensor<4xf64>
  %none = stablehlo.constant dense<0.0> : tensor<4xf64>
  %0 = stablehlo.multiply %a, %three : tensor<4xf64>
  %1 = stablehlo.multiply %0, %four : tensor<4xf64>
  %2 = stablehlo.add %1, %none : tensor<4xf64>
  return %2 : tensor<4xf64>
}
"""


@pytest.mark.parametrize(("flags", "expected"), [
    ([], [2, 1]),
    (["--finite"], [2, 0]),
    (["--association"], [1, 1]),
    (["--finite", "--association"], [1, 0]),
    (["--finite", "--without", "add_positive_zero"], [2, 1]),
    (["--finite", "--association", "--without", "arithmetic"], [2, 1]),
])
def test_levels_and_rules_left_out(tmp_path, capsys, flags, expected):
    path = tmp_path / "sums.mlir"
    path.write_text(SUMS)
    assert main(["opt", str(path), "--pipeline", "simplify", *flags]) == 0
    assert count(capsys.readouterr().out, "multiply", "add") == expected


def test_a_limit_names_what_fired_most(file, capsys):
    assert main(["opt", file, "--pipeline", "arithmetic", "--limit", "1"]) == 0
    assert "stopped after 1 rewrites; most often fired: negate_of_negate" in capsys.readouterr().err
    assert main(["opt", file, "--pipeline", "arithmetic", "--limit", "90"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("flag", ["--bisect", "--reduce"])
@pytest.mark.parametrize(("text", "message"), [
    (NEGATED_TWICE.replace("@main", "@other"), "has no function @main, which is run; it has @other"),
    ("func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }", "static shape"),
    ("func.func @main(%a: !stablehlo.token) -> !stablehlo.token { return %a : !stablehlo.token }", "static shape"),
])
def test_there_is_nothing_to_run(tmp_path, capsys, flag, text, message):
    path = tmp_path / "other.mlir"
    path.write_text(text)
    assert main(["opt", str(path), flag]) == 2
    error = capsys.readouterr().err
    assert error.startswith("reactant opt: error: ") and message in error and error.count("\n") == 1


@pytest.mark.parametrize("flag", ["--bisect", "--reduce"])
def test_a_program_that_xla_refuses(tmp_path, capsys, flag):
    path = tmp_path / "nobody.mlir"
    path.write_text("func.func @main(%a: tensor<2xf64>) -> tensor<2xf64> {\n%0 = stablehlo.custom_call @nobody(%a) "
                    ": (tensor<2xf64>) -> tensor<2xf64>\nreturn %0 : tensor<2xf64>\n}")
    assert main(["opt", str(path), flag]) == 2
    assert capsys.readouterr().err.startswith("reactant opt: error: XLA cannot run the program: NOT_FOUND")


@pytest.mark.parametrize(("flags", "message"), [
    (["--bisect", "--reduce"], "not allowed with argument --bisect"),
    (["--bisect", "--verify"], "--verify has no meaning beside --bisect and --reduce"),
    (["--reduce", "--limit", "3"], "--limit has no meaning"),
    (["--reduce", "--print-patterns"], "--print-patterns has no meaning"),
    (["--bisect", "--rtol", "nan"], "argument --rtol: 'nan' is not a tolerance, 0 or more"),
    (["--bisect", "--atol", "-1"], "argument --atol: '-1' is not a tolerance"),
    (["--bisect", "--atol", "x"], "argument --atol: 'x' is not a tolerance"),
])
def test_options_that_say_nothing(file, capsys, flags, message):
    try:
        status = main(["opt", file, *flags])
    except SystemExit as ended:
        status = ended.code
    assert status == 2 and message in capsys.readouterr().err


def test_unknown_rules_left_out(file, capsys):
    assert main(["opt", file, "--without", "aritmetic"]) == 2
    assert "unknown rule 'aritmetic'; did you mean arithmetic" in capsys.readouterr().err
    assert main(["opt", file, "--without", "qqqqqq"]) == 2
    assert "unknown rule 'qqqqqq'; `reactant patterns` lists families and rules" in capsys.readouterr().err


def test_calls_without_operands_are_left_alone(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("""
        func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
          %0 = stablehlo.custom_call @whatever() : () -> tensor<4xf64>
          %1 = stablehlo.add %0, %x : tensor<4xf64>
          return %1 : tensor<4xf64>
        }"""))
    assert main(["opt", "-"]) == 0
    assert count(capsys.readouterr().out, "custom_call", "add") == [1, 1]
