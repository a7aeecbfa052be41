"""Programs out of the compile cache in another process: found where nothing has changed, and never a stale one."""
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reactant.cache import store
from tests.cache import dependencies_derivatives, dependencies_jax, dependencies_kernels, run_kinds, run_recalled
from tests.cache.dependencies import ARGUMENTS, HEAD, KINDS, NOT_CACHEABLE, OTHER, RESULTS


def run(folder, **environment):
    """What `run_kinds` says of the programs of a folder."""
    told = {**os.environ, "REACTANT_CACHE": str(folder / "cache"), **environment}
    done = subprocess.run([sys.executable, run_kinds.__file__, str(folder)], env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def write(folder, programs):
    """Programs as modules, by name: a text, or one and that of another module."""
    for name, (main, *other) in programs.items():
        (folder / f"{name}_main.py").write_text(HEAD + main.replace("{other}", f"{name}_other") + (
            "" if "def arguments" in main else ARGUMENTS))
        (folder / f"{name}_other.py").write_text(other[0] if other else "K = 2.0\n")


def sides(kinds):
    """The programs before and after, by short names."""
    before, after = {}, {}
    for number, row in enumerate(kinds.values()):
        before[f"k{number}"], after[f"k{number}"] = (row[:2], row[2:]) if len(row) == 4 else (row[:1], row[1:])
    return before, after


SLOW = pytest.mark.slow
TABLES = {"functions": KINDS, "derivatives": dependencies_derivatives.KINDS, "jax": dependencies_jax.KINDS,
          "kernels": dependencies_kernels.KINDS, "numba": dependencies_kernels.NUMBA_KINDS}
PARTS = [("functions", part, 3) for part in range(3)] + [("derivatives", part, 3) for part in range(3)] \
    + [("jax", part, 4) for part in range(4)] + [("kernels", 0, 1), ("numba", 0, 1)]


@pytest.mark.parametrize("table, part, parts", [each if each[1] == 0 and each[0] not in ("kernels", "numba") else
                                                pytest.param(*each, marks=SLOW) for each in PARTS])
def test_another_process_finds_what_is_as_it_was_and_nothing_else(tmp_path, table, part, parts):
    if table in ("kernels", "numba"):
        pytest.importorskip("numba.cuda" if table == "numba" else "ziglang")
    kinds = dict(list(TABLES[table].items())[part::parts])
    names = {f"k{number}_main": kind for number, kind in enumerate(kinds)}
    before, after = sides(kinds)
    write(tmp_path, before)
    first = run(tmp_path, PYTHONHASHSEED="1")
    assert {names[n]: told for n, told in first.items() if told[:2] != ["kept", True]} == {}
    again = run(tmp_path, PYTHONHASHSEED="2")
    assert {names[n]: told for n, told in again.items() if told[:2] != ["found", True]} == {}
    write(tmp_path, after)
    changed = run(tmp_path)
    assert {names[n]: told for n, told in changed.items() if told[:2] != ["kept", True]} == {}


def test_what_cannot_be_told_is_compiled_each_time(tmp_path):
    left = {kind: text for kind, text in NOT_CACHEABLE.items()
            if "file" not in kind and kind not in ("today", "a frame", "sys.modules")}
    left |= dependencies_jax.NOT_CACHEABLE
    if importlib.util.find_spec("numba_cuda"):
        left |= dependencies_kernels.NOT_CACHEABLE
    write(tmp_path, {f"n{k}": (text, OTHER if "__getattr__" in kind else "K = 2.0\n")
                     for k, (kind, text) in enumerate(left.items())})
    told = run(tmp_path)
    assert {kind for (kind, _), said in zip(left.items(), (told[f"n{k}_main"] for k in range(len(left))), strict=True)
            if said[0] in ("found", "kept") or said[0] == "not kept" and not said[2]} == set()
    assert Path(tmp_path / "cache").exists() is False or not list((tmp_path / "cache").glob("*.program"))


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=SLOW) for part in range(1, 4))])
def test_all_that_a_program_gives_comes_out_of_the_cache(tmp_path, part):
    results = dict(list(RESULTS.items())[part::4])
    names = {f"r{number}_main": kind for number, kind in enumerate(results)}
    write(tmp_path, {f"r{number}": (text,) for number, text in enumerate(results.values())})
    first = run(tmp_path)
    assert {names[n]: told for n, told in first.items() if told[:2] != ["kept", True]} == {}
    again = run(tmp_path)
    assert {names[n]: told for n, told in again.items() if told[:2] != ["found", True]} == {}


def test_what_a_program_out_of_the_cache_does_besides(tmp_path):
    told = {**os.environ, "REACTANT_CACHE": str(tmp_path / "cache")}
    for iteration in ("first", "again"):
        done = subprocess.run([sys.executable, run_recalled.__file__, iteration], env=told, capture_output=True,
                              text=True)
        assert done.stdout == "done\n", (iteration, done.stdout[-3000:], done.stderr[-1000:])


ONE = {"one": ("def f(x):\n    return np.exp(x) * 2\n",),
       "two": ("OPTIONS = {'native': 'never'}\ndef f(x):\n    return np.sin(x) * 2, x.sum()\n",)}


@pytest.mark.slow
def test_several_processes_write_at_once(tmp_path):
    write(tmp_path, ONE)
    told = {**os.environ, "REACTANT_CACHE": str(tmp_path / "cache")}
    started = [subprocess.Popen([sys.executable, run_kinds.__file__, str(tmp_path)], env=told, stdout=subprocess.PIPE,
                                text=True) for _ in range(3)]
    for each in started:
        said = json.loads(each.communicate()[0].splitlines()[-1])
        assert all(same for _, same, _ in said.values())
    assert {told[0] for told in run(tmp_path).values()} == {"found"}


def resealed(change):
    """A change of what a file holds, with a digest that is right."""
    return lambda data, key: store.sealed(change(store.content_of(data, key)), key)


DAMAGES = (
    lambda data, key: data[:-7], lambda data, key: b"", lambda data, key: store.sealed(store.content_of(data, key)),
    lambda data, key: data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1:],
    resealed(lambda content: b"N"), resealed(lambda content: b"rubbish"), resealed(lambda content: content[:-9]),
    resealed(lambda content: content + b"N"))


@pytest.mark.slow
def test_damaged_programs_are_made_again(tmp_path):
    write(tmp_path, {f"d{k}": (f"def f(x):\n    return np.exp(x) * {k}\n",) for k in range(len(DAMAGES))}
          | {"xla": ONE["two"]})
    run(tmp_path)
    files = sorted((tmp_path / "cache").glob("*.program"))
    assert len(files) == len(DAMAGES) + 2          # XLA's executable of one is a file of its own
    for k, path in enumerate(files):
        path.write_bytes(DAMAGES[k % len(DAMAGES)](path.read_bytes(), path.stem))
    told = run(tmp_path)
    assert all(same for _, same, _ in told.values())
    assert sum(what == "kept" for what, *_ in told.values()) >= len(DAMAGES)
    assert {tuple(each[:2]) for each in run(tmp_path).values()} == {("found", True)}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users here")
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_cache_is_made_whatever_the_umask(tmp_path, umask):
    """Folders above it that others could write to would have it refused when it is there."""
    write(tmp_path, {"one": ONE["one"]})
    told = {**os.environ, "REACTANT_CACHE": str(tmp_path / "a" / "b" / "c")}
    done = subprocess.run([sys.executable, run_kinds.__file__, str(tmp_path)], env=told, capture_output=True, text=True,
                          umask=umask)
    assert json.loads(done.stdout.splitlines()[-1])["one_main"][:2] == ["kept", True], done.stderr[-2000:]
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}


NAMELESS = """
import functools, numpy as np, reactant
def g(k, x):
    open
    return x * k
class C:
    def __call__(self, x):
        open
        return x * 2
for function in (functools.partial(g, 2.0), C(), C().__call__):
    assert reactant.jit(function)(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
for line in reactant.cache.reasons():
    print(line)
"""


def test_reasons_name_what_has_no_name(tmp_path):
    (tmp_path / "m.py").write_text(NAMELESS)
    done = subprocess.run([sys.executable, "m.py"], env={**os.environ, "REACTANT_CACHE": str(tmp_path / "cache")},
                          capture_output=True, text=True, cwd=tmp_path)
    assert {line.partition(":")[0].replace(str(tmp_path / "m.py"), "m.py") for line in done.stdout.splitlines()} == {
        "g (m.py)", "C.__call__ (m.py)"}, done.stdout + done.stderr
