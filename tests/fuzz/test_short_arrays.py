"""Short programs of arrays and their views (`short_arrays`): results, their types, and what becomes of the arguments as
with plain NumPy, or refused."""
import copy
import sys
import traceback
from typing import Any

import jax
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz.short_arrays import Writer, outcome
from tests.oracle import assert_same, module_of


def lines_of(file: str, call: Any) -> tuple[Any, set[int]]:
    """What a call gives, and which lines of a file it runs."""
    seen = set()

    def watch(frame, event, _):
        if frame.f_code.co_filename != file:
            return None
        seen.add(frame.f_lineno)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        return call(), seen
    finally:
        sys.settrace(before)


def is_early(error: Any, file: str, run: set[int]) -> bool:
    """Whether an error is about a line that plain NumPy has not come to: all that is written is compiled."""
    if not isinstance(error, Exception):
        return False
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return bool(lines) and lines[-1] not in run


def shared(result: Any, arguments: dict[str, Any]) -> set[tuple[int, int]]:
    """Which arrays have elements in common."""
    arrays = jax.tree_util.tree_leaves([result, list(arguments.values())])
    return {(i, j) for i, a in enumerate(arrays) for j, b in enumerate(arrays[:i])
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b)}


def without_types(x: Any) -> Any:
    """Numbers as Python's complex numbers: what is an int on one path and a float on another is a float."""
    if type(x) in (list, tuple):
        return [without_types(v) for v in x]
    if type(x) is dict:
        return {k: without_types(v) for k, v in x.items()}
    return complex(x) if isinstance(x, (np.generic, bool, int, float, complex)) else x


def compare(seed: int, directory) -> str:
    """What became of a program: "equal" or "refused"; "raises" where NumPy raises, and the compiled program as well."""
    writer, path = Writer(seed), directory / f"short_arrays_{seed}.py"
    text = writer.program()
    function = module_of(path, text).f
    compiled = reactant.jit(function, sized_results=True)
    found = "raises"
    for number in range(3):
        theirs = writer.arguments(number)
        mine = copy.deepcopy(theirs)
        plain, run = lines_of(str(path), lambda theirs=theirs: outcome(function, theirs))
        ours = outcome(compiled, mine)
        if isinstance(ours, ReactantError) or is_early(ours, str(path), run):
            return "refused"
        if isinstance(ours, TypeError) and not isinstance(plain, Exception):
            return "refused"        # `integers += c`, where c is an int on this path and a float on another
        if isinstance(plain, Exception) or isinstance(ours, Exception):     # of several errors any may come first
            assert isinstance(plain, Exception) and isinstance(ours, Exception), \
                f"{text}\nNumPy: {plain!r}\ncompiled: {ours!r}\n{mine}"
            continue
        try:
            assert_same(without_types([plain, theirs]), without_types([ours, mine]), rtol=1e-5)
            assert shared(ours, mine) <= shared(plain, theirs), "what shares memory"
        except AssertionError as error:
            raise AssertionError(f"{text}\nNumPy: {plain}\ncompiled: {ours}\n{writer.arguments(number)}\n{error}"
                                 ) from None
        found = "equal"
    return found


def test_random_programs(tmp_path):
    assert [compare(seed, tmp_path) for seed in range(30)].count("equal") >= 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_random_programs(part, tmp_path):
    assert [compare(seed, tmp_path) for seed in range(100 * part, 100 * part + 100)].count("equal") >= 60
