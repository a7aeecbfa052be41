"""Where a thread is, told by the user's own lines."""
from __future__ import annotations

import linecache
import sys
import sysconfig
import threading
from pathlib import Path
from types import FrameType

from reactant.support.package import PACKAGE

_LIBRARIES = tuple({f"{Path(each)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")
                    if (each := sysconfig.get_path(name))} | {f"{PACKAGE}/", "<frozen "})


def is_users(file: str) -> bool:
    """Whether a file is none of Python's, of installed packages' or of ours."""
    return not file.startswith(_LIBRARIES)


def of_main_thread() -> str:
    """The user's innermost line in the main thread, `file.py:12, in step: u = f(u)`; nothing where there is none."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else _shown(frame)


def stack_of_main_thread() -> list[str]:
    """All of the user's lines that the main thread is in, the innermost last."""
    frame, found = sys._current_frames().get(threading.main_thread().ident or 0), []
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            found.append(_shown(frame))
        frame = frame.f_back
    return found[::-1]


def _shown(frame: FrameType) -> str:
    code, line = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}, in {code.co_name}{f': {text}' if text else ''}"
