"""`reactant compile` and `reactant.load`: programs that run where their source is not."""
import subprocess
import sys

import numpy as np
import pytest

import reactant
from reactant.cli import main

SCRIPT = """
import numpy as np
K = 3.0
def model(x, n):
    for i in range(n):
        x = np.sin(x) * K + x[::-1]
    x[0] += 1
    return x, {"mean": x.mean(), "k": K}
def checked(x, at):
    if x[at.astype(np.int64)[0]] > 3:
        raise ValueError("more than 3")
    return x * 2
def eigenvalues(x):
    return np.linalg.svd(x)[1]
def prints(x):
    print(x)
    return x
class C:
    pass
def gives_an_object(x):
    return C
"""
RUN = """
import sys
import numpy as np, reactant
folder = sys.argv[1]
x = np.arange(64.0)
model = reactant.load(folder + "/model.reactant")
first, told = model(x, 3)
print(first.sum().round(6), told["mean"].round(6), told["k"])
checked = reactant.load(folder + "/checked.reactant")
print(checked(np.arange(6.0), np.array([1.0])).tolist())
for at in (5.0, 9.0):
    try:
        checked(np.arange(6.0), np.array([at]))
    except Exception as error:
        print(type(error).__name__, error)
print(reactant.load(folder + "/eigenvalues.reactant")(np.eye(3) * 2).tolist())
try:
    model(x, 4)
except TypeError as error:
    print("reactant compile" in str(error))
print("reactant.frontends.control_flow" in sys.modules, "llvmlite" in sys.modules)
"""


def test_programs_run_where_their_source_is_not(tmp_path, capsys):
    script, away = tmp_path / "script.py", tmp_path / "away"
    script.write_text(SCRIPT)
    away.mkdir()
    for name, *types in (("model", "float64[64]", "3"), ("checked", "float64[6]", "float64[1]"),
                         ("eigenvalues", "float64[3,3]")):
        assert main(["compile", f"{script}:{name}", "--args", *types, "-o", str(away / f"{name}.reactant")]) == 0
    assert "KB" in capsys.readouterr().out
    scope = {}
    exec(SCRIPT, scope)
    first, told = scope["model"](np.arange(64.0), 3)
    script.unlink()
    done = subprocess.run([sys.executable, "-c", RUN, str(away)], capture_output=True, text=True, cwd=away)
    assert done.stdout.splitlines() == [
        f"{first.sum().round(6)} {told['mean'].round(6)} 3.0", "[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]",
        "ValueError more than 3", "IndexError index is out of bounds for axis 0 with size 6", "[2.0, 2.0, 2.0]", "True",
        "False False"], done.stderr[-2000:]
    data = (away / "model.reactant").read_bytes()
    assert reactant.load(data)(np.arange(64.0), 3)[1]["k"] == 3.0
    for damaged in (data[:-5], data[:300], data[:-5] + b"?" + data[-4:]):
        with pytest.raises(reactant.ReactantError, match="damaged"):
            reactant.load(damaged)


def test_mistakes_and_what_cannot_go_into_a_file(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    out = str(tmp_path / "out")
    for arguments, said in ((["script.py"], "script.py:function"), ([f"{script}:modle"], "did you mean model"),
                            ([f"{script}:prints", "--args", "float64[3]"], "prints"),
                            ([f"{script}:gives_an_object", "--args", "float64[3]"], "an object of the type")):
        assert main(["compile", *arguments, "-o", out]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("arguments, said", [
    (["model", "--args", "float64[4]", "-o", "x"], "missing a required argument: 'n' (--args)"),
    (["model", "--args", "float64[4]", "2", "3", "-o", "x"], "too many positional arguments (--args)"),
    (["model", "--args", "float64[4]", "2", "-o", "nowhere/x"], "nowhere/x cannot be written")])
def test_mistakes_of_arguments_and_files_are_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(SCRIPT)
    assert main(["compile", f"m.py:{arguments[0]}", *arguments[1:]]) == 2
    assert said in capsys.readouterr().err.splitlines()[0]
