"""Machine code that Python calls as a function of its own."""
import threading
import time

import numpy as np
import pytest

import reactant
from reactant.native import built_in

X = np.arange(6.0)


@pytest.fixture(scope="module")
def program():
    f = reactant.jit(lambda x, y: np.sort(x * 2 + y))
    f(X, X + 1)
    step = f._latest.executable.straight.steps[0]
    step.load()
    return step


def test_calls(program):
    out = np.empty(6)
    by_slot = {0: X, 1: X + 1} | {made.slot: out for made in program.made}
    arrays = [by_slot[slot] for slot in program.slots]
    assert built_in.caller()(program.record, *arrays) == 0
    np.testing.assert_array_equal(out, np.sort(X * 2 + X + 1))


def test_another_number_of_arrays_is_not_taken(program):
    assert built_in.caller()(program.record, X) == -1


def test_steps_hold_what_they_are_told(program):
    record, counts = built_in.step(1234, [7, 8], 0, 3)
    assert np.frombuffer(record, np.int64).tolist()[:2] == [1234, 2] and list(counts) == [7, 8]
    assert np.frombuffer(record, np.int64)[3:].tolist() == [0, 3]


@pytest.mark.slow
def test_other_threads_run_meanwhile():
    """Python's lock is given up during a call."""
    f = reactant.jit(lambda x: np.sort(np.sort(x) * -1.0))
    x = np.random.default_rng(0).random(3_000_000)
    f(x)
    counted, going = [0], True

    def count():
        while going:
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    begun = time.perf_counter()
    f(x)
    taken, after = time.perf_counter() - begun, counted[0]
    going = False
    thread.join()
    assert taken < 0.03 or after - before > 5
