"""From the running stack to the user's own line.

Converted code keeps its file name and line numbers, so there is nothing to translate: these functions find the
innermost frame that is the user's.
"""
from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FrameType, TracebackType

from jaxlib.mlir import ir

from reactant.errors import Span, UnsupportedError
from reactant.frontends.source.conversion import has_jumps, is_followed, is_user_file, reason_unconverted
from reactant.ir.context import context


def function_name(code: CodeType) -> str:
    """The name of the function in the source: outlined blocks belong to the function around them."""
    parts = code.co_qualname.split(".")
    while parts and (parts[-1].startswith("ag__") or parts[-1] == "<locals>"):
        parts.pop()
    return parts[-1] if parts else code.co_name


def _innermost() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_frame() -> Span | None:
    """The innermost frame of user code on the current stack; None where there is none."""
    frame = _innermost()
    return None if frame is None else described(frame.f_code, frame.f_lineno)


def described(code: CodeType, line: int) -> Span:
    """A line of a function."""
    return Span.of(code.co_filename, line, function_name(code))


def location() -> ir.Location:
    """The user's current line as an MLIR location."""
    frame = _innermost()
    if frame is None:
        return _unknown()
    code = frame.f_code
    known = _places.get((id(code), frame.f_lasti))
    if known is None:
        if len(_places) > _MOST_PLACES:
            _places.clear()
        known = code, _location(code.co_filename, frame.f_lineno)
        _places[id(code), frame.f_lasti] = known
    return known[1]


_places: dict[tuple[int, int], tuple[CodeType, ir.Location]] = {}
"""The location of each instruction that has built something; finding the line of one takes longer than all the rest."""
_MOST_PLACES = 65536


@lru_cache(maxsize=1)
def _unknown() -> ir.Location:
    return ir.Location.unknown(context())


@lru_cache(maxsize=65536)
def _location(filename: str, line: int) -> ir.Location:
    return ir.Location.file(filename, line, 1, context())


def made_at(values: Iterable[ir.Value]) -> Span | None:
    """The user's line that made one of these values; None where none is known."""
    for value in values:
        place = None if isinstance(value.owner, ir.Block) else value.owner.location
        found = re.fullmatch(r'loc\("(.*)":(\d+):\d+\)', str(place))
        if found:
            return Span.of(found[1], int(found[2]))
    return None


def why_not_converted(in_a_test: bool) -> str:
    """Where the innermost user function runs as it is (although it takes decisions, for a value `in_a_test`): the
    reason, to complete an error about a run-time value; else empty."""
    frame = _innermost()
    if frame is None or in_a_test and not has_jumps(frame.f_code):
        return ""
    return reason_unconverted(frame.f_code)


def frame_of(traceback: TracebackType | None) -> Span | None:
    """The user's line that an error came from: the innermost user frame of its traceback."""
    found = None
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            found = described(traceback.tb_frame.f_code, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def too_deep(error: BaseException | None) -> bool:
    """Whether Python's stack has ended. Tracing needs more of it than the program: this is none of its exceptions."""
    return isinstance(error, RecursionError) and str(error).startswith("maximum recursion depth")


def endless(error: RecursionError) -> UnsupportedError:
    """What a recursion without end is to the user, with a line of the function that calls itself."""
    counts: Counter[Span] = Counter()
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename):
            counts[described(code, traceback.tb_lineno)] += 1
        traceback = traceback.tb_next
    if not counts:
        return UnsupportedError(f"Recursion without end while tracing ({error}).",
                                hint="Write a loop, or make the argument that decides static (static_argnames=...).",
                                code="endless-recursion")
    calling = {f: n for f, n in counts.items() if f"{f.function.rpartition('.')[2]}(" in f.text} or counts
    frame = max(calling, key=calling.__getitem__)
    return UnsupportedError(f"'{frame.function}' calls itself without end while it is traced: both sides of an `if` "
                            "that run-time values decide are traced, so how deep it goes must not depend on run-time "
                            "values.", span=frame,
                            hint="Write a loop, or make the argument that decides static (static_argnames=...).",
                            code="endless-recursion")


def _left_alone(traceback: TracebackType | None) -> tuple[str, str]:
    """The outermost user function in a traceback that runs as it is, and why; empty where there is none."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename) and not is_followed(code) and (reason := reason_unconverted(code)):
            return function_name(code), reason
        traceback = traceback.tb_next
    return "", ""


def annotate(error: BaseException) -> None:
    """Add the note `in file.py:12: source line` to an error, once, where its text does not name the line, and why the
    function there runs as it is, where that is so: NumPy's own arrays take no run-time values."""
    frame = frame_of(error.__traceback__)
    if frame is None:
        return
    notes = [] if str(frame) in str(error) else [f"in {frame}: {frame.text}"]
    function, reason = _left_alone(error.__traceback__)
    if reason and reason not in str(error):
        notes.append(f"'{function}' and what it calls run as they are, where NumPy's own arrays take no run-time "
                     f"values: {reason}.")
    for note in notes:
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
