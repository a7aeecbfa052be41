"""Short programs about objects and protocols (`short_objects`): results, what becomes of the arguments and exceptions
as in plain Python, or refused."""
import enum
import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from reactant.support.attributes import attributes
from tests.amounts import few
from tests.fuzz.short_objects import Endless, Writer, arguments, outcome
from tests.fuzz.test_short_arrays import is_early
from tests.oracle import assert_same, module_of


def opened(x: Any) -> Any:
    """What can be seen of a value: objects as their attributes, numbers as complex ones (what is an int on one path and
    a float on another is a float)."""
    if isinstance(x, (np.generic, bool, int, float, complex)) and not isinstance(x, enum.Enum):
        return complex(x)
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(opened, x)]
    if isinstance(x, dict):
        return {k: opened(v) for k, v in x.items()}
    if isinstance(x, (np.ndarray, str, type(None))):
        return x
    return repr(x) if isinstance(x, enum.Enum) else {"class": type(x).__name__, **opened(attributes(x))}


def shown(x: Any) -> str:
    return "".join(traceback.format_exception(x)[-4:]) if isinstance(x, Exception) else repr(opened(x))


def compare(seed: int, directory) -> str:
    """What became of a program: "equal", "refused", or "none" where Python never ends; "raises" where both raise."""
    path = directory / f"short_objects_{seed}.py"
    text = Writer(seed).program()
    module = module_of(path, text, known=True)
    compiled = reactant.jit(module.f)
    found = "raises"
    for number in range(3):
        other = module_of(path, text, known=True)          # a module of its own: globals and class attributes
        theirs, mine = arguments(other.given, number), arguments(module.given, number)
        plain, run = outcome(other.f, theirs)
        if isinstance(plain, Endless):
            return "none"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = compiled(*mine)
        except Exception as error:
            ours = error
        if isinstance(ours, ReactantError) or is_early(ours, str(path), run):
            return "refused"
        message = f"{text}\nPython: {shown(plain)}\ncompiled: {shown(ours)}\nnumber {number}"
        if isinstance(plain, Exception) or isinstance(ours, Exception):
            assert type(plain).__name__ == type(ours).__name__, message
            continue
        try:
            assert_same(opened([plain, theirs]), opened([ours, mine]), rtol=1e-9, atol=1e-12)
        except AssertionError as error:
            raise AssertionError(f"{message}\n{error}") from None
        found = "equal"
    return found


def test_random_programs(tmp_path):
    count = few(10, 40)
    assert [compare(seed, tmp_path) for seed in range(count)].count("equal") >= count // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_random_programs(part, tmp_path):
    assert [compare(seed, tmp_path) for seed in range(100 * part, 100 * part + 100)].count("equal") >= 50
