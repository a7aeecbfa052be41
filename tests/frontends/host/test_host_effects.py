"""`random`, clocks, files and streams in compiled functions: exact, or an error that names the line."""
import csv
import datetime
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, UnsupportedError

X = np.arange(1.0, 4.0)
OUTSIDE = random.Random(3)


@pytest.mark.parametrize("draw", [
    lambda x: x * random.random(), lambda x: x * OUTSIDE.random(), lambda x: x * random.uniform(0, 1),
    lambda x: x[random.randrange(3)], lambda x: x * random.Random().random(), lambda x: random.shuffle(x),
    lambda x: random.seed(3), lambda x: x * random.SystemRandom().random(), lambda x: x * os.urandom(1)[0]])
def test_numbers_from_elsewhere_are_refused(draw):
    with pytest.raises(UnsupportedError, match=r"(?s)same numbers.*test_host_effects.py.*default_rng\(seed\)"):
        reactant.jit(draw)(X.copy())


def own_generator(x, seed):
    r = random.Random(seed)
    order = list(range(len(x)))
    r.shuffle(order)
    total = r.gauss(0.0, 1.0)
    for _ in range(100):        # unrolled
        total += r.random() * x[r.randrange(3)]
    return x[order], total


def test_a_generator_of_its_own_gives_the_numbers_of_python():
    found, plain = reactant.jit(own_generator)(X, 5), own_generator(X, 5)
    assert np.array_equal(found[0], plain[0]) and np.isclose(found[1], plain[1], rtol=1e-12)


def drawn_as_the_run_decides(x):
    r = random.Random(1)
    while x.sum() < 100:
        x = x + r.random()
    return x


def test_a_generator_in_a_loop_that_the_run_decides_is_refused():
    with pytest.raises(UnsupportedError, match="same numbers"):
        reactant.jit(drawn_as_the_run_decides)(X)


@pytest.mark.parametrize("ask", [time.time, time.perf_counter, time.monotonic_ns, datetime.datetime.now,
                                 datetime.date.today])
def test_clocks_are_refused(ask):
    with pytest.raises(UnsupportedError, match="before and after the call"):
        reactant.jit(lambda x: (ask(), x)[1])(X)


def set_variable(x):
    os.environ["REACTANT_TEST"] = str(x[0])


@pytest.mark.parametrize("take", [
    lambda x: json.dumps({"x": [float(x[0])]}), lambda x: json.dumps(x.tolist()), set_variable,
    lambda x: subprocess.run(["echo", f"{x[0]}"], check=False), lambda x: os.putenv("REACTANT_TEST", str(x[0])),
    lambda x: np.float64(f"{x[0]:.2f}"), lambda x: complex(str(x[0]))])
def test_what_takes_values_apart_is_refused(take):
    """Marks of values were handed on."""
    with pytest.raises(ConcreteValueNeeded, match="(?s)only known at run time.*test_host_effects.py"):
        reactant.jit(take)(X)
    assert "REACTANT_TEST" not in os.environ


def test_what_is_known_is_not():
    assert reactant.jit(lambda x: json.dumps({"n": x.shape[0]}))(X) == '{"n": 3}'


def test_writing_files_is_refused(tmp_path):
    path = tmp_path / "out.txt"

    def written(x):
        with open(path, "w") as file:
            file.write(f"{x[0]}")
    with pytest.raises(UnsupportedError, match="save what the call returns"):
        reactant.jit(written)(X)
    for function in (lambda x: pathlib.Path(path).write_text(str(x[0])), lambda x: path.open("a"),
                     lambda x: csv.writer(sys.stdout).writerow([x[0]])):
        with pytest.raises(UnsupportedError, match="file"):
            reactant.jit(function)(X)
    assert not path.exists()
    path.write_text("2.5")

    def read(x):
        with open(path) as file:
            return x * float(file.read())
    assert np.array_equal(reactant.jit(read)(X), read(X))


def telling(x):
    for k in range(len(x)):
        if x[k] > 1.5:
            sys.stdout.write(f"{k}: {x[k]:.1f}\n")
            print("printed")
    sys.stdout.writelines(["a", f"{x[0]}"])
    sys.stderr.write(f"{x.sum()}")


def test_streams_are_written_by_the_program(capsys):
    compiled = reactant.jit(telling)
    for x in (X, X - 1, X):
        telling(x)
        plain = capsys.readouterr()
        compiled(x)
        assert capsys.readouterr() == plain


def test_files_from_outside_are_written_by_the_program(tmp_path):
    with open(tmp_path / "log.txt", "w+") as log:
        compiled = reactant.jit(lambda x: log.write(f"{x.sum()}\n") and None)
        compiled(X)
        compiled(X + 1)
        log.seek(0)
        assert log.read() == "6.0\n9.0\n"


def own_text(x):
    buffer = io.StringIO()
    buffer.write(f"sum {x.sum()}")
    for k in range(20):
        buffer.write(f", {k}")
    print(buffer.getvalue())


def test_a_text_buffer_of_its_own(capsys):
    compiled = reactant.jit(own_text)
    for x in (X, 2 * X):
        own_text(x)
        plain = capsys.readouterr()
        compiled(x)
        assert capsys.readouterr() == plain


def generated(x):
    for v in x:
        yield 2 * v


@pytest.mark.parametrize("function", [
    generated, iter, enumerate, lambda x: range(int(x[0])), lambda x: (v for v in x),
    lambda x: [zip(x, x, strict=True)], lambda x: {"part": slice(0, int(x[0]))}, lambda x: iter([1, 2])])
def test_what_is_empty_after_the_call_is_refused(function):
    with pytest.raises(UnsupportedError, match="Return a list or an array"):
        reactant.jit(function)(X)
