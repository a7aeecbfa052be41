"""What is written down of a program's machine code makes a program that does the same."""
import numpy as np
import pytest

import reactant
from reactant.cache import encoding
from reactant.cache.walk import NotCacheable
from reactant.calling import recalled  # noqa: F401 - its classes
from reactant.calling.kept_code import targets_in, told
from reactant.calling.recalled_code import loaded
from reactant.native import objects

pytestmark = pytest.mark.skipif(not objects.usable(), reason="object files of another system")


def in_place(x, y):
    y *= 2
    x[1:] = np.sqrt(x[:-1]) + y[1:]
    return x.sum()


@pytest.mark.parametrize("function", [in_place, lambda x, y: (np.exp(x.reshape(5, 10)) + y[0], np.arange(200_000) * 2)])
def test_a_program_without_xla(function):
    x, y = np.arange(50.0), np.ones(50)
    executable = reactant.jit(function).lower(x, y).compile().executable
    body, *_, straight = executable.told()
    if straight is None:
        pytest.skip("it is XLA's on this machine")
    again = loaded(*encoding.decoded(encoding.encoded(told(body, straight))))
    for one, other in zip(straight([x, y]), again([x, y]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [o.result for o in again.over] == [o.result for o in straight.over] and again.wanted == straight.wanted


def test_names_of_native_functions_in_bytecode(monkeypatch):
    assert targets_in(b"\0reactant.native.f.12\0x\0reactant.native.g.3\0reactant.native.f.12\0") == [
        "reactant.native.f.12", "reactant.native.g.3"]
    monkeypatch.setenv("REACTANT_NATIVE_CHECKS", "1")
    body, *_ = reactant.jit(lambda x: x + 1).lower(np.ones(3)).compile().executable.told()
    with pytest.raises(NotCacheable, match="checked"):
        told(body, None)
