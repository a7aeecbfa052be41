"""How much the tests do that could do any amount: less by default than where the slow ones run, too."""
SLOW_TOO = False
"""Whether this run is of all tests (`-m "slow or not slow"`, `-m ""`); set by `conftest`."""


def few(by_default: int, in_all: int) -> int:
    """So many random programs."""
    return in_all if SLOW_TOO else by_default
