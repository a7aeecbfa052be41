"""Which form runs a call: the caller's alignment first, copies while they are cheap, then a form for any alignment."""
from __future__ import annotations

import numpy as np
import pytest

from reactant.runtime.forms import COPY_RATE, PATIENCE, STEADY, Forms
from reactant.runtime.program import AT_RUN_TIME, Array

MEGABYTES = Array((1 << 20,), np.dtype(np.float64))


class Compiled:
    """A program that took no time to compile; `seconds` can be set."""

    def __init__(self, variant):
        self.variant, self.seconds = variant, 0.0


def forms_of(count=1, sliceable=None, seconds=0.0):
    made = []

    def make(variant):
        made.append(Compiled(variant))
        made[-1].seconds = seconds
        return made[-1]

    big = tuple(range(count))
    return Forms([MEGABYTES] * count, big, big if sliceable is None else sliceable, (), make), made


def test_the_first_call_decides():
    forms, made = forms_of(2)
    program, wanted = forms.choose((2, None))
    assert wanted == (2, 0) and program.variant.borrowed == ((0, 2),) and made == [program]
    assert forms.choose((2, 0)) == (program, (2, 0))


def test_what_cannot_be_sliced_is_wanted_aligned():
    forms, _ = forms_of(2, sliceable=(1,))
    assert forms.choose((2, 2))[1] == (0, 2)


def test_copies_first_then_another_form():
    copy = MEGABYTES.nbytes / COPY_RATE / PATIENCE
    forms, made = forms_of(seconds=copy * (STEADY - 0.5))
    first, _ = forms.choose((2,))
    for _ in range(STEADY - 1):
        assert forms.choose((0,)) == (first, (2,)), "a few copies are cheaper than compiling"
    second, wanted = forms.choose((0,))
    assert second is not first and wanted == (0,) and second.variant.borrowed == ()
    assert forms.choose((2,)) == (first, (2,)) and forms.choose((0,)) == (second, (0,))
    assert forms.programs == made == [first, second]


def test_memory_no_view_can_be_made_of_causes_no_compiling():
    forms, made = forms_of()
    forms.choose((2,))
    for _ in range(5):
        assert forms.choose((None,))[1] == (2,)
    assert len(made) == 1


def test_many_alignments_get_one_form():
    forms, made = forms_of(2)
    for offsets in [(2, 2), (0, 0), (4, 4), (6, 6)]:
        program, wanted = forms.choose(offsets)
    assert len(made) == 2
    assert wanted == (AT_RUN_TIME, AT_RUN_TIME) and program.variant.borrowed == ((0, AT_RUN_TIME), (1, AT_RUN_TIME))
    assert forms.choose((0, 6)) == (program, wanted)
    assert forms.choose((2, 2))[1] == (2, 2), "the fixed form stays"
    assert len(made) == 2


def test_few_forms_of_fixed_alignment():
    copy = MEGABYTES.nbytes / COPY_RATE / PATIENCE
    forms, made = forms_of(seconds=copy * 5.5)
    for offset in (2, 4):
        for _ in range(6):
            forms.choose((offset,))
    assert [m.variant.borrowed for m in made] == [((0, 2),), ((0, 4),)]
    for _ in range(6):
        forms.choose((6,))
    assert made[-1].variant.borrowed == ((0, AT_RUN_TIME),) and len(made) == 3


@pytest.mark.parametrize("spread", [True, False])
def test_scattered_alignments_go_to_the_form_for_any(spread):
    copy = MEGABYTES.nbytes / COPY_RATE / PATIENCE
    forms, made = forms_of(seconds=copy * 5.5)
    forms.choose((2,))
    for offset in ([0, 4, 6] * 2 if spread else [4] * 6):
        forms.choose((offset,))
    assert made[-1].variant.borrowed == ((0, AT_RUN_TIME if spread else 4),)


def test_expected_is_what_malloc_gives():
    forms, _ = forms_of(2)
    assert forms.expected() == (2, 2)
