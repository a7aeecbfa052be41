"""What a native function takes, and what it raises."""
from __future__ import annotations

import numpy as np

from reactant.errors import ReactantError
from reactant.support.records import dataclass


class NativeError(ReactantError, RuntimeError):
    """A run-time check in native code failed, or a native function was called with arguments it does not take."""

    code = "native-function"


@dataclass(frozen=True)
class Argument:
    """One argument of a native function: an array (shape; None is a run-time extent) or a number (shape None)."""

    dtype: np.dtype
    shape: tuple[int | None, ...] | None
    role: str

    @property
    def size(self) -> int | None:
        """Elements, or None where only a call tells."""
        if self.shape is None:
            return 1
        return None if None in self.shape else int(np.prod(self.shape, dtype=np.int64))  # type: ignore[arg-type]

    def __str__(self) -> str:
        extents = "" if self.shape is None else "[" + ", ".join("?" if s is None else str(s) for s in self.shape) + "]"
        return f"{self.role} {self.dtype.name}{extents}"
