"""Temporaries and small results of a program stay mapped from one call to the next.

XLA:CPU takes all temporaries of a run as one block from malloc and frees it afterwards. glibc maps blocks over 32 MB
afresh and unmaps them, so the kernel clears every page of it in every call: a denoiser with 48 MB of temporaries spends
21 of its 50 ms there. While such a program runs, blocks come from the heap instead, and the heap keeps what is freed.

Smaller ones do come from the heap. But where they are freed at its end, glibc gives all over some limit back to the
system (the limit is twice the biggest block that was ever mapped: chance). `a * 2 + b` of 350 x 350 float64 took 95 us
in three processes, and 840 with 450 page faults in the fourth. So the limit is a fixed one (`settle`).
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

LEAST = 32 << 20
"""Bytes over which glibc maps every block afresh, whatever it is told."""
MOST = 1 << 30
"""Bytes of temporaries that are kept at most; bigger programs give theirs back."""
KEPT = 128 << 20
"""Bytes of freed memory that the end of the heap holds at most, unless a program with bigger temporaries runs."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_DEFAULT_MAPS = 65_536
_USERS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")


@cache
def _mallopt() -> Callable[[int, int], int] | None:
    """glibc's `mallopt`, told to keep freed memory; None where there is none or the user has tuned malloc already."""
    if any(name in os.environ for name in _USERS) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return None
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - other C libraries have a mallopt that means something else
        found: Callable[[int, int], int] = library.mallopt
    except (AttributeError, OSError, TypeError):
        return None
    found(_TRIM_THRESHOLD, KEPT)
    found(_MMAP_THRESHOLD, LEAST)
    return found


def settle() -> None:
    """Let the heap keep what is freed, up to `KEPT`."""
    _mallopt()


def keeping(run: Callable[..., Any], temporaries: int) -> Callable[..., Any]:
    """`run`, its temporaries (so many bytes) kept mapped between calls where that pays."""
    mallopt = _mallopt() if LEAST <= temporaries <= MOST else None
    if mallopt is None:
        return run
    mallopt(_TRIM_THRESHOLD, MOST)

    def kept(*arguments: Any, **named: Any) -> Any:
        mallopt(_MMAP_MAX, 0)
        try:
            return run(*arguments, **named)
        finally:
            mallopt(_MMAP_MAX, _DEFAULT_MAPS)

    return kept
