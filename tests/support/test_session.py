"""Python's cycle collector waits while passes run, and is as it was afterwards."""
import gc
import threading

import numpy as np
import pytest

import reactant
from reactant.support.session import collecting_later


def test_collection_is_off_meanwhile_and_on_afterwards():
    with collecting_later():
        assert not gc.isenabled()
        with collecting_later():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with collecting_later():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
def test_what_the_user_has_frozen_stays_frozen():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collecting_later():
            pass
        assert 0 < gc.get_freeze_count() <= frozen      # some of it may have gone
    finally:
        gc.unfreeze()


def test_an_error_iterations_it_on_again():
    with pytest.raises(ZeroDivisionError), collecting_later():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_a_trace_freezes_nothing():
    def failing(x):
        raise ZeroDivisionError

    frozen = gc.get_freeze_count()

    def program(x):
        assert gc.get_freeze_count() == frozen
        rows = []
        for i in range(40):
            rows.append(x * i)
        return np.array(rows)

    def run(results):
        with pytest.raises(ZeroDivisionError):
            reactant.jit(failing)(np.ones(2))
        results.append(reactant.jit(program)(np.ones(2)))

    results = []
    threads = [threading.Thread(target=run, args=(results,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6 and all(np.array_equal(each, program(np.ones(2))) for each in results)
    assert gc.get_freeze_count() == frozen
