"""Native code that counts the processor's cycles in parts of it, for profiles.

While somebody is `recording`, who writes loops puts pairs of marks around parts of them (`mark`). A mark is a call that
becomes a few instructions: the cycle counter is read, and what has passed since the first mark of the pair is added to
a number of the function's own, which `NativeFunction.measured` reads. A pair costs some 20 ns. What runs on several
threads is counted from outside, as the time that its caller waits; marks inside of such parts are nothing.
"""
from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import field
from functools import cache
from typing import Any

from jaxlib.mlir import ir

from reactant.native import engine
from reactant.support.records import dataclass

CALLEE = "reactant.clock"
DECLARED = f"func.func private @{CALLEE}()"
"""What the module of a function with marks says."""
NUMBERS = "reactant.clocks"
"""The function's own numbers, three for each site: the count at the first mark, cycles, how often."""
BEGIN, END, ONCE = range(3)
"""The marks of a pair, and one that only counts."""
_recording: ContextVar[bool] = ContextVar("recording", default=False)
_everywhere = [0]
_lock = threading.Lock()
_sites = itertools.count()
_known: dict[int, Site] = {}


@dataclass(frozen=True)
class Counted:
    """What a site has counted: cycles, and how often."""

    cycles: int
    count: int


def recording() -> bool:
    """Whether native code that is made now gets marks."""
    return _recording.get() or bool(_everywhere[0])


@contextlib.contextmanager
def marked(everywhere: bool = False) -> Iterator[None]:
    """Native code that is made meanwhile gets marks. everywhere: in all threads."""
    token = _recording.set(True)
    with _lock:
        _everywhere[0] += everywhere
    try:
        yield
    finally:
        _recording.reset(token)
        with _lock:
            _everywhere[0] -= everywhere


@dataclass
class Site:
    """A part of a function that is clocked.

    lines: of the user's program, and how much of what is done there is each one's. flops, special (exponentials and the
    like, an element each), bytes: of one time through it, without what the parts inside do. iterations: the site that
    counts the iterations of a loop. parent: the part around it."""

    number: int
    name: str
    parent: int | None = None
    lines: dict[str, float] = field(default_factory=dict)
    flops: float = 0.0
    special: float = 0.0
    bytes: float = 0.0
    iterations: int | None = None


def new_site(name: str, parent: int | None = None) -> Site:
    """A part of a function that is being written, with a number that no other part of any function has."""
    made = Site(next(_sites), name, parent)
    _known[made.number] = made
    return made


def site(number: int) -> Site | None:
    """What is known of a site; None for those that only count."""
    return _known.get(number)


def new_number() -> int:
    """The number of a site that only counts."""
    return next(_sites)


def mark(site: int, phase: int) -> str:
    """A mark, as a line of MLIR's text."""
    return f"func.call @{CALLEE}() {{phase = {phase} : i64, site = {site} : i64}} : () -> ()"


def site_and_phase(op: ir.Operation) -> tuple[int, int]:
    """What a mark says."""
    return ir.IntegerAttr(op.attributes["site"]).value, ir.IntegerAttr(op.attributes["phase"]).value


def instructions(slot: int, phase: int, fresh: str) -> list[str]:
    """LLVM IR of a mark. fresh: the beginning of names that are free."""
    place = [f"getelementptr (i64, ptr @{NUMBERS}, i64 {3 * slot + k})" for k in range(3)]
    count = [f"%{fresh}n = load i64, ptr {place[2]}", f"%{fresh}m = add i64 %{fresh}n, 1",
             f"store i64 %{fresh}m, ptr {place[2]}"]
    if phase == ONCE:
        return count
    read = ['call void asm sideeffect "", "~{memory}"()', f"%{fresh}t = call i64 @llvm.{counter()}()"]
    if phase == BEGIN:
        return [*read, f"store i64 %{fresh}t, ptr {place[0]}"]
    return [*read, f"%{fresh}s = load i64, ptr {place[0]}", f"%{fresh}d = sub i64 %{fresh}t, %{fresh}s",
            f"%{fresh}c = load i64, ptr {place[1]}", f"%{fresh}e = add i64 %{fresh}c, %{fresh}d",
            f"store i64 %{fresh}e, ptr {place[1]}", *count]


def counter() -> str:
    """LLVM's name of a counter that goes on evenly and that programs may read."""
    return "readcyclecounter" if engine.is_x86() else "readsteadycounter"


def numbers(sites: int) -> str:
    """LLVM IR of the numbers of a function."""
    return f"@{NUMBERS} = global [{3 * sites} x i64] zeroinitializer, align 64"


def read(address: int, sites: int) -> list[Counted]:
    """The numbers of a function that is loaded, by slot."""
    found = (ctypes.c_int64 * (3 * sites)).from_address(address)
    return [Counted(found[3 * k + 1], found[3 * k + 2]) for k in range(sites)]


def clear(address: int, sites: int) -> None:
    """Count from 0 again."""
    ctypes.memset(address, 0, 24 * sites)


@cache
def _now() -> Any:
    text = f"declare i64 @llvm.{counter()}()\n" \
           f"define i64 @now() {{\n  %t = call i64 @llvm.{counter()}()\n  ret i64 %t\n}}\n"
    return ctypes.CFUNCTYPE(ctypes.c_int64)(engine.load(text, CALLEE, ("now",), {})["now"])


class Rate:
    """Cycles of the counter in a second, from when this is made to when it is asked for."""

    def __init__(self) -> None:
        self._began = self._both()

    @staticmethod
    def _both() -> tuple[float, int]:
        now = _now()
        tries = [(time.perf_counter(), int(now()), time.perf_counter()) for _ in range(5)]
        begun, count, ended = min(tries, key=lambda each: each[2] - each[0])      # nobody came in between
        return (begun + ended) / 2, count

    def cycles_a_second(self) -> float:
        """The rate; waits where too little time has passed to tell."""
        while (now := self._both())[0] - self._began[0] < 0.01:
            time.sleep(0.002)
        return (now[1] - self._began[1]) / (now[0] - self._began[0])
