"""Programs as files, in the process that made them; `tests/cli/test_compile.py` has them in another one."""
import numpy as np
import pytest

import reactant
from reactant.calling import ahead


def written(function, tmp_path, *args, **kwargs):
    path = tmp_path / "program.reactant"
    ahead.save(reactant.jit(function), path, args, kwargs)
    return reactant.load(path), path


def test_what_the_arguments_may_be(tmp_path):
    def f(x, state, *, k):
        state["n"] = state["n"] + x[0]
        return x * k, state["a"][0] + 1
    arguments = np.arange(3.0), {"n": 1.5, "a": [np.float32(2)]}
    program, _ = written(f, tmp_path, *arguments, k=2)
    mine = np.arange(3.0), {"n": 1.5, "a": [np.float32(2)]}
    first, second = program(*mine, k=2)
    wanted = f(*arguments, k=2)
    np.testing.assert_array_equal(first, wanted[0])
    assert second == wanted[1] and type(second) is type(wanted[1]) and mine[1]["n"] == arguments[1]["n"]
    for wrong in (lambda: program(*mine, k=3), lambda: program(mine[0][:2], mine[1], k=2), lambda: program(*mine),
                  lambda: program(mine[0].astype(np.float32), mine[1], k=2), lambda: program(object(), mine[1], k=2)):
        with pytest.raises(TypeError, match="compiled for arguments"):
            wrong()


def test_arguments_of_a_users_class_are_refused(tmp_path):
    class C:
        def __init__(self):
            self.x = np.ones(2)
    with pytest.raises(reactant.UnsupportedError, match="class"):
        ahead.save(reactant.jit(lambda c: c.x * 2), tmp_path / "p", (C(),), {})


def test_other_versions_are_refused(tmp_path, monkeypatch):
    _, path = written(lambda x: x + 1, tmp_path, np.ones(2))
    monkeypatch.setattr(np, "__version__", "9.9")
    with pytest.raises(reactant.ReactantError, match="other versions"):
        reactant.load(path)
    assert ahead.is_compiled(path.read_bytes()) and not ahead.is_compiled(b"module {}")
