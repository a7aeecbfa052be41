"""The base of all errors: what they carry, and how they are shown."""
import copy
import pickle

import numpy as np
import pytest

import reactant
from reactant.errors import (
    CheckpointError,
    ConcreteValueNeeded,
    ConstantWriteError,
    ControlFlowError,
    LeakError,
    ReactantError,
    Reason,
    Related,
    Span,
    UnsupportedError,
    in_kernel,
    in_one_line,
    unrolled_too_far,
)
from reactant.pipelines import UnknownPass

WHERE = Span("program.py", 12, "step", "y = sizes(x)")


def test_text():
    error = UnsupportedError("Sizes depend on values.", hint="Give a size.", code="size-decided-at-run-time",
                             span=WHERE, related=(Related("the first one", Span("other.py", 3)), Related("alone")))
    assert str(error) == """Sizes depend on values.
  --> program.py:12, in step
      y = sizes(x)
  note: the first one
    --> other.py:3
  note: alone
  hint: Give a size.
  code: size-decided-at-run-time"""
    assert (error.fact, error.hint, error.code, error.span) == (
        "Sizes depend on values.", "Give a size.", "size-decided-at-run-time", WHERE)
    assert in_one_line(error) == "Sizes depend on values. Give a size." and in_one_line(KeyError("k")) == "'k'"
    assert error.as_reason == Reason("Sizes depend on values.", "Give a size.", "size-decided-at-run-time")


def test_no_error_without_a_code():
    with pytest.raises(TypeError, match="ReactantError without a code"):
        ReactantError("Something is wrong.")


@pytest.mark.parametrize("error", [
    UnsupportedError("A fact.", code="outside-world", hint="A hint.", span=WHERE, related=(Related("a note"),)),
    ConcreteValueNeeded("A size", "Make it static."), LeakError(), ConstantWriteError("the table"),
    CheckpointError("Not written.", 3), UnknownPass("Unknown."),
    ControlFlowError("They differ.", code="branches-differ")],
    ids=lambda each: type(each).__name__)
def test_copies_are_equal(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)


def test_reasons_are_rows():
    row = Reason("{name} reads files.", "Load before.", "outside-world")
    error = row.named("np.load").error()
    assert error.fact == "np.load reads files." and str(row.named("np.load")) == "np.load reads files. Load before."


def test_loops_that_are_unrolled_too_far_say_so():
    error = ControlFlowError("It changes its type.", code="loop-variable-changes-type")
    assert unrolled_too_far(error, 50) is error
    assert "  note: Loops that need this are unrolled; this one was stopped after 50 iterations" in str(error)


def test_the_line_of_the_user():
    def program(x):
        return np.zeros(int(x[0]))
    with pytest.raises(ConcreteValueNeeded) as caught:
        reactant.jit(program)(np.ones(2))
    line = program.__code__.co_firstlineno + 1
    function = "test_the_line_of_the_user.<locals>.program"
    assert caught.value.span[:2] == (__file__, line) and caught.value.span.function in (function, "program")
    assert caught.value.span.text == "return np.zeros(int(x[0]))"


def test_kernels_have_two_lines():
    error = in_kernel("It calls itself.", hint="Write a loop.", code="kernel-instruction", span=Span("k.cu", 3))
    assert error.span == Span("k.cu", 3)
    assert [(each.text, each.span.file) for each in error.related] == [("launched here", __file__)]
