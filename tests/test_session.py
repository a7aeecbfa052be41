"""Python's cycle collector waits while passes run, and is as it was afterwards."""
import gc

import pytest

from reactant.session import collecting_later


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
        assert gc.get_freeze_count() == frozen > 0
    finally:
        gc.unfreeze()


def test_an_error_turns_it_on_again():
    with pytest.raises(ZeroDivisionError), collecting_later():
        1 / 0  # noqa: B018
    assert gc.isenabled()
