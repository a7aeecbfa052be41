"""`reactant profile` on a whole script, and on a function in one."""
import json
import subprocess
import sys

import pytest

from reactant.__main__ import main
from reactant.cli import scripts
from reactant.cli.usage import UsageError

SCRIPT = """
import sys

import numpy as np

import reactant


@reactant.jit
def step(u):
    u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return u.sum()


def solve(w, v):
    return np.linalg.solve(w + 10 * np.eye(len(w)), v)


if __name__ == "__main__":
    u = np.arange(5000.0)
    for _ in range(30):
        step(u)
    reactant.jit(solve)(np.ones((20, 20)), np.ones(20))
    print("given", sys.argv[1:])
    sys.exit(3)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    file = tmp_path / "program.py"
    file.write_text(SCRIPT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    from reactant.profiling import machine
    monkeypatch.setattr(machine, "measure", lambda: machine.Rates(
        "box", 1e10, 2e10, 1e9, ((1e4, 1e11), (1e8, 1e10)), 1e-6))
    return file


def test_a_script(script, tmp_path, capsys):
    trace, page = tmp_path / "trace.json", tmp_path / "page.html"
    assert main(["profile", str(script), "--perfetto", str(trace), "--html", str(page), "--xprof", str(tmp_path),
                 "--", "a", "--b"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("given ['a', '--b']\nprogram.py: ") and "ended with status 3" in error
    assert "u[1:-1] = 0.5 * (u[:-2] + u[2:])" in out and "compiling step: tracing" in out and "compiling" in out
    assert "return np.linalg.solve" in out and "overhead was not measured" in out
    assert json.loads(trace.read_text())["traceEvents"] and "program.py" in page.read_text()


def test_a_function(script, capsys):
    assert main(["profile", f"{script}:solve", "--seconds", "0.05", "--args", "float64[30,30]", "float32[30]"]) == 0
    assert "solve: " in (out := capsys.readouterr().out) and "without the profiler" in out


@pytest.mark.parametrize("arguments, said", [
    (["nowhere.py"], "there is no file 'nowhere.py'"),
    (["{file}:other"], "has no function 'other'; it has solve, step"),
    (["{file}", "--args", "1"], "--args is for a function"),
    (["{file}:solve", "--args", "float99[3]"], "there is no dtype 'float99'"),
    (["{file}:solve", "--args", "x y"], "'x y' is no argument"),
    (["{file}:solve", "--seconds", "0"], "--seconds is more than 0"),
    (["{file}:solve", "--", "a"], "come behind --args"),
])
def test_mistakes(script, capsys, arguments, said):
    assert main(["profile", *(each.format(file=script) for each in arguments)]) == 2
    assert said in capsys.readouterr().err


def test_arguments_from_texts():
    found = scripts.arguments_of(["float64[2,3]", "int8[4]", "bool[]", "3", "'text'", "(1, None)"])
    assert [(a.dtype.name, a.shape) for a in found[:3]] == [("float64", (2, 3)), ("int8", (4,)), ("bool", ())]
    assert found[3:] == [3, "text", (1, None)]
    with pytest.raises(UsageError):
        scripts.arguments_of(["float64[a]"])


@pytest.mark.slow
def test_in_a_process_of_its_own(script):
    done = subprocess.run([sys.executable, "-m", "reactant", "profile", str(script)], capture_output=True, text=True)
    assert done.returncode == 0 and "compiling step: tracing" in done.stdout, done.stderr
