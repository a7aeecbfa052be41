"""Native functions out of the compile cache: machine code that was made before, called as `native.function` is."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence

from reactant.native import objects
from reactant.native.argument import Argument, NativeError

SHARED = ("reactant.support", "reactant.workspace", "reactant.meeting", "reactant.blas", "reactant.threads",
          "reactant.straight", "reactant.denormals", "reactant.lapack.int64", "reactant.lapack.int32")
"""What the functions of a process call, of which there is one, with what they export."""
_PYTHON = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyLong_FromLong")


class CannotKeep(Exception):
    """Machine code that cannot be loaded again."""


class Code:
    """Object files of a program: what is written down of them."""

    def __init__(self, files: Mapping[str, tuple[bytes, tuple[str, ...]]]) -> None:
        """files: by name, the bytes and what they export, those first that others need."""
        self.files = dict(files)

    @classmethod
    def of(cls, names: Iterable[str]) -> Code:
        """Of what is loaded under these names, and what that needs. Raises `CannotKeep`."""
        found: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        exports = {symbol: name for name in SHARED if (known := objects.known(name)) is not None
                   for symbol in known.addresses}

        def take(name: str) -> None:
            known = objects.known(name)
            if name in found or known is None:
                return
            try:
                needed = objects.ObjectFile(known.code).undefined
            except objects.UnknownObject as error:
                raise CannotKeep(str(error)) from error
            for symbol in needed:
                if symbol in exports and exports[symbol] != name:
                    take(exports[symbol])
            found[name] = known.code, tuple(known.addresses)

        for name in names:
            take(name)
        return cls(found)

    def load(self) -> None:
        """Have the machine code ready. Raises `objects.UnknownObject`."""
        for name, (code, exports) in self.files.items():
            objects.load(name, code, exports, _resolved)


def _resolved(symbol: str) -> int | None:
    """The address of what machine code needs of others."""
    for name in SHARED:
        if (known := objects.known(name)) is not None and symbol in known.addresses:
            return known.addresses[symbol]
    if symbol.startswith("numpy."):
        from reactant.native import numpy_extremes, numpy_partitions, numpy_sorts
        for module in (numpy_extremes, numpy_partitions, numpy_sorts):
            if symbol.startswith(module.PREFIX):
                return module.addresses().get(symbol)
    if symbol.startswith("library."):
        from reactant.native import blas, lapack
        name = symbol.removeprefix("library.")
        return blas.library().get(name) or lapack.library().get(name)
    if symbol in _PYTHON:
        return ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p).value
    return objects.of_process(symbol)


class RecalledFunction:
    """Machine code of one function. As `NativeFunction`, where a program calls it."""

    checked = False

    def __init__(self, name: str, target: str, arguments: Sequence[Argument], messages: Sequence[str], workspace: int,
                 threaded: bool) -> None:
        self.name, self.target, self.arguments = name, target, tuple(arguments)
        self.messages, self.workspace, self.threaded = list(messages), workspace, threaded

    def entry(self) -> int:
        """The address of the function."""
        found = objects.addresses_of(self.target)
        if found is None:
            raise NativeError(f"The machine code of {self.name} is not there.")
        return found["entry"]

    def failure(self, status: int) -> NativeError:
        """What a call raises that has left this status."""
        return NativeError(self.messages[status - 1], code="native-check")

    def register(self) -> None:
        """Make it known to XLA."""
        if (found := objects.addresses_of(self.target)) is not None:
            objects.register(self.target, found["handler"])
