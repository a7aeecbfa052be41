"""Random programs, plain against compiled: results, dtypes, aliasing writes and written arguments."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import reactant
from tests.amounts import few
from tests.fuzz.programs import Program, programs

SINGLE = ("float16", "float32", "complex64")
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]


def agree(program: Program) -> None:
    """Compiled and plain runs of a program agree; a clear refusal is no disagreement."""
    arguments = [a.copy() for a in program.arguments.values()]
    single = any(a.dtype.name in SINGLE for a in (*arguments, *program.outside.values()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)     # NumPy's, of empty slices and the like
            found = reactant.verify(program.function(), *arguments, rtol=1e-5 if single else 1e-6,
                                    atol=1e-5 if single else 1e-9)
    except reactant.UnsupportedError:
        return
    if found.differences and all("UnsupportedError" in d.reason or "ControlFlowError" in d.reason
                                 for d in found.differences):
        return
    assert found or rounding_decides(program), f"{found}\n{program.source}\narguments: {arguments!r}"


WIDER = {"float32": np.float64, "float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}


def rounding_decides(program: Program) -> bool:
    """Whether a long loop makes something else of the same numbers in a wider dtype: `a[::-1] += np.sin(a)` ends at 0
    or at 2 pi as the last bit wants."""
    if "range(70)" not in program.source and "range(40)" not in program.source:
        return False
    outcomes = []
    for wide in (False, True):
        given = [a.astype(WIDER.get(a.dtype.name, a.dtype) if wide else a.dtype) for a in program.arguments.values()]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.append([*program.function()(*given), *given])
    return not all(np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True) for a, b in zip(*outcomes, strict=True))


@given(programs(control=False))
@settings(max_examples=few(30, 120), deadline=None, suppress_health_check=QUIET, derandomize=True)
def test_straight_line_programs(program):
    agree(program)


@given(programs(statements=5))
@settings(max_examples=few(20, 80), deadline=None, suppress_health_check=QUIET, derandomize=True)
def test_programs_with_control_flow(program):
    agree(program)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))                  # other programs in each, and in each run
@given(programs(statements=10))
@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
def test_many_programs(part, program):
    agree(program)


def test_the_generator_makes_programs_that_run():
    made = 0

    @given(programs())
    @settings(max_examples=40, deadline=None, suppress_health_check=QUIET, derandomize=True, database=None)
    def count(program):
        nonlocal made
        with np.errstate(all="ignore"):
            program.function()(*(a.copy() for a in program.arguments.values()))
        made += len(program.lines) > 2

    count()
    assert made > 10


@pytest.mark.parametrize(("line", "decides"), [("a[::-1] += np.sin(a)", True), ("a[...] = np.sin(a)", False)])
def test_what_rounding_decides(line, decides):
    start = np.array([[-1.5682453], [-0.97626853], [-1.6614685]], "float32")
    program = Program({"a": start}, lines=["for i in range(70):", f"    {line}", "return (a, )"])
    assert rounding_decides(program) == decides
