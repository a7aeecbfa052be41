"""Whether something has been declared from outside of this package: rules, derivatives, functions of NumPy's.

What programs become depends on it, and the compile cache knows our files only.
"""
from __future__ import annotations

import os
import sys

from reactant.support.package import PACKAGE

DECLARED: list[str] = []
"""The files that have declared something, and where."""
_OURS = str(PACKAGE) + os.sep


def note(within: str | None = None) -> None:
    """Say that who calls the functions of the caller's file, or of the files below `within`, declares something."""
    frame = sys._getframe(1)
    own = frame.f_code.co_filename if within is None else within + os.sep
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back    # type: ignore[assignment]
    place = "" if frame is None else frame.f_code.co_filename
    if not place.startswith((_OURS, "<frozen")):
        DECLARED.append(f"{place}:{0 if frame is None else frame.f_lineno}")
