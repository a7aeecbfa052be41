"""`reactant doctor` says what compiles, what is refused where, and what differs."""
import pytest

from reactant.__main__ import main
from reactant.profiling.doctor import doctor

SCRIPT = '''
import math
import os
import sys
import time

import numpy as np


def relax(u, n):
    for _ in range(n):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return u


def reading(x):
    total = sum(math.sin(k) for k in range(50000))
    with open(os.devnull) as file:
        return total, file.read(int(x[0]))


def noisy(x):
    global count
    count += 1
    return x + count


def failing(x):
    global called
    called += 1
    if called > 1:
        raise ValueError("only once")
    for _ in range(10):
        time.sleep(0.01)
    return x


def drawn(n):
    return np.random.default_rng(0).random((n, n)).sum(axis=0)


count = called = 0
if __name__ == "__main__":
    print("given", sys.argv[1:])
    relax(np.arange(200.0) % 7, 100)
    reading(np.arange(300.0))
    for _ in range(3):
        drawn(700)
    failing(np.ones(3))
'''


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text(SCRIPT)
    return file


@pytest.mark.slow
def test_a_script(script, capsys):
    found = doctor(str(script), ["a"])
    assert "given ['a']" in capsys.readouterr().out
    trials = {trial.name: trial for trial in found.trials}
    relax = trials["relax"]
    assert relax.verdict == "compiles" and relax.faster > 2 and relax.calls == 1 and relax.compiling > 0
    assert 0 < relax.part < 1 and relax.seconds < found.seconds and relax.pays_after > 0
    reading = trials["reading"]
    assert reading.verdict == "refused" and reading.line == f"{script}:20" and "known while tracing" in reading.why
    assert trials["failing"].verdict == "not tried" and "ValueError: only once" in trials["failing"].why
    assert trials["drawn"].verdict == "differs" and "elements differ" in trials["drawn"].why
    text = str(found)
    assert "put @reactant.jit on: relax (" in text and "refused at plain.py:20: " in text and "pays after" in text


def test_the_command(tmp_path, capsys):
    file = tmp_path / "little.py"
    file.write_text("def f(x):\n    return x\nsum(range(10**6))\nf(1)\n")
    assert main(["doctor", str(file)]) == 0
    assert "No function of the script takes long" in capsys.readouterr().out
    assert main(["doctor", f"{file}:f"]) == 2
    assert "doctor takes a whole script" in capsys.readouterr().err
    assert main(["doctor", "nowhere.py"]) == 2
