"""Code that does not end in time."""
import signal
import threading

import pytest

from reactant.support.time_limits import limited

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="a limit of time is a signal")


class TooLong(BaseException):
    pass


def test_what_takes_longer_is_stopped():
    with pytest.raises(TooLong), limited(1, TooLong):
        while True:
            pass


def test_what_ends_in_time_leaves_nothing_behind():
    before = signal.getsignal(signal.SIGALRM)
    with limited(60, TooLong):
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before and signal.alarm(0) == 0


def test_other_threads_go_on():
    done = []

    def work():
        with limited(60, TooLong):
            done.append(signal.getsignal(signal.SIGALRM))
    before, thread = signal.getsignal(signal.SIGALRM), threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [before]
