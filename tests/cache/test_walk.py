"""What a function depends on: each kind of thing changes the digest, and what cannot be told is refused."""
import importlib.util
import sys

import numpy as np
import pytest
import scipy.linalg

from reactant.cache.walk import NotCacheable, Walk
from reactant.calling import recalled  # noqa: F401 - what it says of our types
from tests.cache.dependencies import ARGUMENTS, HEAD, KINDS, NOT_CACHEABLE, OTHER

SEEN_BY_A_TRACE = ("a counter that a trace moves on", "a memory in a function", "the order of a set that grows")


def loaded(folder, name, text):
    """A module of a text, at the same path whatever the text."""
    path = folder / f"{name}.py"
    path.write_text(HEAD + text + ARGUMENTS)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """The digest of `f` in a module, beside another one."""
    def of(main, other=""):
        monkeypatch.setattr(np, "square", np.square)
        loaded(tmp_path, "cached_other", other)
        module = loaded(tmp_path, "cached_main", main.replace("{other}", "cached_other"))
        return Walk().of(module.f)
    yield of
    for name in ("cached_other", "cached_main"):
        sys.modules.pop(name, None)


LASTING = ("the same of a library's", "a function inside SciPy put in its place")
"""They stay in this process; `tests/calling/test_recalled.py` has them."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LASTING])
def test_what_it_depends_on_changes_the_digest(kind, digest):
    row = KINDS[kind]
    before, after = (row[:2], row[2:]) if len(row) == 4 else (row[:1], row[1:])
    first = digest(*before)
    assert digest(*before) == first
    assert digest(*after) != first


@pytest.mark.parametrize("kind", [k for k in NOT_CACHEABLE if k not in SEEN_BY_A_TRACE])
def test_what_cannot_be_told_is_refused(kind, digest, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    with pytest.raises(NotCacheable):
        digest(NOT_CACHEABLE[kind], OTHER if "__getattr__" in kind else "K = 2.0\n")



def test_cells_of_notebooks_have_no_process():
    def of(file, text="def f(x):\n    return x * 2\n"):
        scope = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), scope)
        return Walk().of(scope["f"])
    assert of("/tmp/ipykernel_12/345.py") == of("/tmp/ipykernel_99/345.py")
    assert of("/tmp/ipykernel_12/345.py") != of("/tmp/ipykernel_12/346.py")


@pytest.mark.parametrize("owner, name, other", [
    (np.linalg, "norm", scipy.linalg.norm), (np, "mean", np.ma.mean), (np, "pi", 3.0), (np, "float32", np.float64),
    (scipy.linalg, "norm", np.linalg.norm), (np.linalg, "norm", lambda x: x)])
def test_what_else_libraries_have_in_place_of_a_name(owner, name, other, monkeypatch):
    def of():
        scope = {"__name__": "mine", "owner": owner}
        exec(f"def f(x):\n    return owner.{name}(x)\n", scope)
        try:
            return Walk().of(scope["f"])
        except NotCacheable as reason:      # so is what NumPy has for masked arrays
            return str(reason)
    before = of()
    assert of() == before
    monkeypatch.setattr(owner, name, other)
    assert of() != before
