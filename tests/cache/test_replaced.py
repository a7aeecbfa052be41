"""What somebody else has put into modules of libraries is found, wherever it is, and nothing else."""
import sys
import types

import numpy as np
import pytest

from reactant.cache import replaced


def mine(*arguments):
    return arguments


class Mine:
    pass


@pytest.fixture
def module(monkeypatch):
    """A module of NumPy's with a function of NumPy's, looked through once."""
    made = types.ModuleType("numpy.made_up")
    made.__dict__.update(theirs=np.linalg.norm.__wrapped__, number=2.0, array=np.ndarray)
    monkeypatch.setitem(sys.modules, "numpy.made_up", made)
    assert replaced.put_into({"numpy"}) == []
    yield made
    replaced._CLEAN.pop("numpy.made_up", None)


@pytest.mark.parametrize("value", [mine, Mine, lambda x: x, eval("lambda x: x", {"__name__": "mine"})])
def test_what_is_put_into_a_module_is_found(module, value):
    module.theirs = value
    assert replaced.put_into({"numpy"}) == [("numpy.made_up", "theirs", value)]
    assert replaced.put_into({"scipy"}) == []


def test_what_is_of_libraries_is_not(module):
    module.other, module.theirs = np.mean, types.SimpleNamespace
    assert replaced.put_into({"numpy"}) == []


def test_the_code_of_a_function_is_looked_at(module):
    def function():
        return 1
    function.__code__ = np.linalg.norm.__wrapped__.__code__
    module.theirs = function
    assert replaced.put_into({"numpy"}) == []
    function.__code__ = mine.__code__
    assert replaced.put_into({"numpy"}) == [("numpy.made_up", "theirs", function)]
