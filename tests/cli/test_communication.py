"""`reactant opt --mesh`: the divided program, and what it sends."""
import subprocess
import sys

import pytest

from reactant.__main__ import main

pytestmark = pytest.mark.devices8

ROTATED = """
func.func @main(%x: tensor<64x32xf32>, %y: tensor<f32>) -> (tensor<64x32xf32>, tensor<32xf32>) {
  %a = stablehlo.slice %x [1:64, 0:32] : (tensor<64x32xf32>) -> tensor<63x32xf32>
  %b = stablehlo.slice %x [0:1, 0:32] : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<63x32xf32>, tensor<1x32xf32>) -> tensor<64x32xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %c, %s : tensor<64x32xf32>, tensor<32xf32>
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rotated.mlir"
    path.write_text(ROTATED)
    return str(path)


def test_the_divided_program(file, capsys):
    assert main(["opt", file, "--mesh", "x=8", "--shardings", "x,- ?"]) == 0
    text = capsys.readouterr().out
    assert "sdy.manual_computation" in text and "stablehlo.collective_permute" in text and "tensor<8x32xf32>" in text


def test_communication(file, capsys):
    assert main(["opt", file, "--mesh", "x=8", "--shardings", "x,- ?", "--print-communication"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "8 devices, x=8: %arg0 [x, -], %arg1 []"
    reduced = next(k for k, line in enumerate(lines) if "applies stablehlo.add" in line)
    assert lines[reduced].startswith(f"{file}:7   %s = stablehlo.reduce")
    assert lines[reduced + 1] == "    all-reduce: 1.79 kB (224 B per device): 'reduce' combines what each device has " \
                                 "computed"
    assert any("collective-permute: 1.02 kB (128 B per device): '" in line and "reads elements" in line
               for line in lines)
    assert lines[-2].startswith("compiled: 2.82 kB (352 B per device) in ")
    assert lines[-1].startswith("as XLA divides it: ")


def test_what_is_best(file, capsys):
    assert main(["opt", file, "--mesh", "x=4,y=2", "--print-communication"]) == 0
    printed = capsys.readouterr()
    assert "%arg0 [-, x+y]" in printed.out and "0 B" in printed.out.splitlines()[-2]
    assert "everything whole on each device" in printed.err


def test_the_processor_counts_as_enough_devices(file):
    """In a process of its own, whose jax has not started."""
    import os
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run([sys.executable, "-m", "reactant", "opt", file, "--mesh", "x=3", "--shardings", "x ?",
                            "--print-communication"], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("3 devices, x=3: %arg0 [x, -]")


@pytest.mark.parametrize(("arguments", "text"), [
    (["--print-communication"], "need --mesh"), (["--shardings", "x"], "need --mesh"),
    (["--mesh", "x=8", "--bisect"], "--bisect has no meaning beside --mesh"),
    (["--mesh", "x=8", "--shardings", "x"], "has 1 words, and the program 2 arguments"),
    (["--mesh", "x=8", "--shardings", "z ?"], "z is none for an array of 2 dimensions on a mesh of x=8"),
    (["--mesh", "x=8", "--shardings", "x,x ?"], "each axis divides one"),
    (["--mesh", "x=8", "--shardings", "x,-,- ?"], "for an array of 2 dimensions"),
    (["--mesh", "x=9", "--shardings", "x ?"], "needs 9 devices")])
def test_mistakes(file, capsys, arguments, text):
    assert main(["opt", file, *arguments]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("mesh", ["8", "x=0", "x=2,x=4", "x=", ""])
def test_no_mesh(file, mesh, capsys):
    with pytest.raises(SystemExit):
        main(["opt", file, "--mesh", mesh])
    assert "is no mesh" in capsys.readouterr().err
