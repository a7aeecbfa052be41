"""Calls of LAPACK in the graph of a block: which there are, and what iterations their matrices."""
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.loopnests.analysis.graph import decoded, read_block
from reactant.loopnests.emission import by_columns
from reactant.native import lapack

pytestmark = pytest.mark.skipif(not lapack.library(), reason="there is no LAPACK that can be called")


@pytest.mark.parametrize("target, routine", [
    ("lapack_dgetrf_ffi", "dgetrf"), ("lapack_zungqr_ffi", "zungqr"), ("lapack_dungqr_ffi", None),
    ("lapack_dgeev_ffi", None), ("cusolver_getrf_ffi", None), ("dgetrf", None)])
def test_which_can_be_called(target, routine):
    assert by_columns.routine_of(target) == routine


def graph(function, *arguments):
    """The graph of a program, its calls, and what its results have become."""
    with building():
        module = modules.parse(reactant.code_hlo(function, *arguments))
        block = read_block(modules.function(module).regions[0].blocks[0], {})
        turned = by_columns.by_columns(block, block.returned)
    return block, [n for n in block.walk() if n.kind == "custom_call"], turned


def test_results_and_operands_are_turned():
    a = np.random.default_rng(0).standard_normal((3, 30, 40))
    block, (call,), turned = graph(lambda a: np.linalg.qr(a, mode="raw")[0].sum() + np.linalg.qr(a, mode="r"), a)
    assert call.attributes[by_columns.CALLED] == "dgeqrf"
    assert call.operands[0].kind == "transpose" and call.operands[0].shape == (3, 40, 30)
    packed = call.results[0]
    assert packed.shape == (3, 40, 30) and all(user.kind == "transpose" for user in packed.users)
    assert set(turned) == {packed} and turned[packed].shape == (3, 30, 40)


def test_two_iterations_cancel():
    """Solutions with triangles take factors, and what the first has solved, as they lie."""
    a = np.random.default_rng(1).standard_normal((30, 30))
    _, calls, turned = graph(lambda a, b: np.linalg.solve(a, b), a, a)
    factors, lower, upper = calls
    assert [decoded(c, by_columns.TARGET)[8:13] for c in calls] == ["getrf", "trsm_", "trsm_"]
    assert lower.operands[0] is upper.operands[0] is factors.results[0]
    assert upper.operands[1] is lower and by_columns.TURNED in upper.attributes
    assert turned[upper].kind == "transpose" and turned[upper].operands[0] is upper


def test_rows_of_a_triangle_stay():
    """A triangle that nothing has turned is read as the other one by columns."""
    import scipy.linalg
    a = np.random.default_rng(2).standard_normal((30, 30))
    _, (call,), _ = graph(lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True), a, a)
    assert call.operands[0].kind == "argument" and by_columns.TURNED not in call.attributes


def test_small_ones_are_loops():
    _, calls, turned = graph(lambda a: np.linalg.inv(a), np.eye(4))
    assert calls and not turned and not any(by_columns.CALLED in c.attributes for c in calls)
