"""Python's cycle collector waits while passes run, looks at a trace alone meanwhile, and is as it was afterwards."""
import gc
import threading

import numpy as np
import pytest

import reactant
from reactant.support.session import ASIDE, collecting_later


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


def test_what_the_user_has_frozen_stays_frozen():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collecting_later():
            pass
        assert 0 < gc.get_freeze_count() <= frozen      # some of it may have gone
    finally:
        gc.unfreeze()


def test_an_error_turns_it_on_again():
    with pytest.raises(ZeroDivisionError), collecting_later():
        1 / 0  # noqa: B018
    assert gc.isenabled()


class Node:
    pass


def holders_seen(x):
    return sum(type(holder) is list for holder in gc.get_referrers(x))


def test_a_trace_sees_its_own_objects_and_the_others_on_request():
    target = Node()
    before = [target]
    with ASIDE.put():
        after = [target]
        assert holders_seen(target) == 1
        with ASIDE.back() as more:
            assert more and holders_seen(target) == 2
        with ASIDE.put():           # another trace began
            assert not ASIDE.frozen and holders_seen(target) == 2
            with ASIDE.back() as more:
                assert not more
    assert not ASIDE.frozen and gc.get_freeze_count() == 0 and holders_seen(target) == 2
    del before, after


def test_older_garbage_is_collected_on_the_first_request_of_a_trace():
    target = Node()
    cycle = [target]
    cycle.append(cycle)
    del cycle
    with ASIDE.put():
        with ASIDE.back(clean=False):
            assert holders_seen(target) == 1
        with ASIDE.back():
            assert holders_seen(target) == 0


def test_a_trace_leaves_alone_what_the_user_has_frozen():
    gc.freeze()
    try:
        with ASIDE.put():
            assert not ASIDE.frozen
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_traces_in_threads_and_errors_leave_nothing_frozen():
    def failing(x):
        raise ZeroDivisionError

    def program(x):
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
    assert not ASIDE.frozen and gc.get_freeze_count() == 0
