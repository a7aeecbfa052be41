import io
import subprocess
import sys

import numpy as np
import pytest

import reactant
from reactant.__main__ import main

ADD = """
func.func @main(%a: tensor<2x2xf64>, %b: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %0 = stablehlo.add %a, %b : tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}
"""


@pytest.fixture
def add_file(tmp_path):
    file = tmp_path / "add.mlir"
    file.write_text(ADD)
    return file


def identity(type_):
    return f"func.func @main(%a: {type_}) -> {type_} {{ return %a : {type_} }}"


def test_given_inputs(tmp_path, add_file, capsys):
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    np.save(files[0], np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.save(files[1], np.full((2, 2), 0.5))
    assert main(["run", str(add_file), "--inputs", *map(str, files)]) == 0
    assert capsys.readouterr().out == "result 0: float64[2, 2]\n[[1.5 2.5]\n [3.5 4.5]]\n"


def test_zeros(add_file, capsys):
    assert main(["run", str(add_file), "--zeros"]) == 0
    assert capsys.readouterr().out == "result 0: float64[2, 2]\n[[0. 0.]\n [0. 0.]]\n"


def test_random_inputs_depend_on_the_seed_alone(add_file, capsys):
    printed = []
    for seed in ("3", "3", "4"):
        assert main(["run", str(add_file), "--seed", seed]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]


@pytest.mark.parametrize("type_", ["tensor<3xi1>", "tensor<2xui8>", "tensor<4xi64>", "tensor<f32>",
                                   "tensor<2xcomplex<f64>>", "tensor<2xbf16>", "tensor<0x3xf64>"])
def test_every_kind_of_random_input(monkeypatch, capsys, type_):
    monkeypatch.setattr("sys.stdin", io.StringIO(identity(type_)))
    assert main(["run", "-"]) == 0
    assert capsys.readouterr().out.startswith("result 0: ")


@pytest.mark.parametrize(("text", "message"), [
    ("func.func @main(%a: tensor<2xf64>) { what }", "is not a valid module: line 1, column "),
    ("func.func @main(%a: tensor<2xf64>) -> tensor<3xf64> { return %a : tensor<2xf64> }", "is not a valid module: "),
    ("func.func @other() { return }", "the module has no function @main, which is run; it has @other\n"),
    ("", "cannot run '-': the module has no function @main, which is run"),
    (identity("tensor<?xf64>"), "only tensors of static shape can be run"),
    (identity("tensor<2xf64>").replace("{ return %a", '{ %0 = "stablehlo.custom_call"(%a) {call_target_name = "no"} '
                                       ': (tensor<2xf64>) -> tensor<2xf64> return %0'),
     "XLA cannot run the program: NOT_FOUND: No registered implementation"),
])
def test_modules_that_cannot_be_run(monkeypatch, capsys, text, message):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["run", "-"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("reactant run: error: ") and error.count("\n") == 1


def test_numbers_that_the_file_format_has_no_name_for(tmp_path, monkeypatch, capsys):
    import ml_dtypes

    np.save(tmp_path / "x.npy", np.array([1.5, -2.0], ml_dtypes.bfloat16))
    monkeypatch.setattr("sys.stdin", io.StringIO(identity("tensor<2xbf16>")))
    assert main(["run", "-", "--inputs", str(tmp_path / "x.npy")]) == 0
    assert capsys.readouterr().out == "result 0: bfloat16[2]\n[1.5 -2]\n"


@pytest.mark.slow
def test_linear_algebra_of_a_new_process(tmp_path):
    """LAPACK's kernels know LAPACK only when somebody has told them: without, the process ended (signal 11)."""
    file = tmp_path / "solve.mlir"
    file.write_text(reactant.jit(np.linalg.solve).lower(np.eye(2), np.ones(2)).as_text())
    command = [sys.executable, "-m", "reactant", "run", str(file), "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "result 0: float64[2]" in done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [["--seed", "-1"], ["--zeros", "--inputs", "x.npy"]])
def test_options_that_say_nothing(add_file, arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["run", str(add_file), *arguments])
    assert stopped.value.code == 2
    assert "is not a seed" in (error := capsys.readouterr().err) or "not allowed with argument" in error


def test_unreadable_files(tmp_path, add_file, capsys):
    binary = tmp_path / "binary.mlir"
    binary.write_bytes(b"\xff\xfe\x00")
    good, wrong, text = tmp_path / "good.npy", tmp_path / "wrong.npy", tmp_path / "text.npy"
    np.save(good, np.zeros((2, 2)))
    np.save(wrong, np.zeros((2, 2), np.float32))
    text.write_text("no array")
    table = [
        ([tmp_path / "none.mlir"], "cannot read"),
        ([tmp_path], "cannot read"),
        ([binary], "not a text file"),
        ([add_file, "--inputs", good], "@main takes 2 arguments, 1 files are given"),
        ([add_file, "--inputs", good, tmp_path / "none.npy"], "none.npy': No such file or directory"),
        ([add_file, "--inputs", good, text], "text.npy' is not an .npy file"),
        ([add_file, "--inputs", good, wrong], "argument 1 of @main is float64[2, 2], "),
    ]
    for arguments, message in table:
        assert main(["run", *map(str, arguments)]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
