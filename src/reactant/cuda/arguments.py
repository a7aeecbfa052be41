"""Arguments of host functions: numbers, strings, and arrays for pointers, as the signature has them.

An array is copied into the memory that the two processes share, and back when the function has returned, unless the
pointer is to constants. Arrays that overlap are one piece of memory there as well.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reactant.cuda.process import Process
from reactant.errors import ReactantError
from reactant.kernels.ways_in.c_types import fits
from reactant.kernels.ways_in.debug_types import CFunction, CType
from reactant.runtime.array import DeviceArray


class HostArgumentError(ReactantError, TypeError):
    """An argument that a host function of a CUDA program does not take."""

    code = "cuda-program-argument"
    hint = "Give what the function declares: numbers, strings for const char *, arrays for pointers, None for NULL."


def signature(function: CFunction) -> str:
    words = ", ".join(f"{t} {n}" for t, n in zip(function.parameters, function.names, strict=True))
    return f"{function.result} {function.name}({words})"


def found(functions: Mapping[str, list[CFunction]], name: str, title: str) -> CFunction:
    """A host function by name. Raises `AttributeError`-like `KeyError`s that list those there are."""
    matches = functions.get(name, [])
    if not matches:
        matches = [f for each in functions.values() for f in each
                   if name in (f.symbol, f.name.rsplit("::", 1)[-1], signature(f))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NoSuchFunction(f"'{name}' names several functions of {title}: "
                             f"{'; '.join(f'{signature(f)} is {f.symbol}' for f in matches)}.",
                             hint=f'Ask for one by its symbol: program["{matches[0].symbol}"].')
    known = ", ".join(functions) or "none"
    raise NoSuchFunction(f"{title} has no host function '{name}' that other files could call; it has {known}.")


class NoSuchFunction(ReactantError, AttributeError, KeyError):
    """A program has no such host function."""

    code = "cuda-program-function"
    hint = "Functions that are static, inline or templates are not there: declare one of the program's own for Python."

    __str__ = ReactantError.__str__


class Call:
    """One call: what is sent, and what is done with what comes back.

    Attributes:
        arguments: (kind, value) of each, as `child.py` has them.
        result: the kind of what is returned.
        arrays: of each pointer argument: (the argument, its place in the shared memory, bytes), by parameter.
    """

    def __init__(self, function: CFunction, given: tuple, process: Process):
        self.function, self.process = function, process
        if len(given) != len(function.parameters):
            raise HostArgumentError(f"'{signature(function)}' takes {len(function.parameters)} "
                                    f"argument{'s' * (len(function.parameters) != 1)}, {len(given)} given.")
        self.arrays: dict[int, tuple[Any, int, int]] = {}
        self.result = self._result()
        contents = {k: self._content(k, x) for k, x in enumerate(given) if isinstance(x, (np.ndarray, DeviceArray))}
        self._place(contents, given)
        self.arguments = [self._argument(k, x) for k, x in enumerate(given)]

    def _where(self, k: int) -> str:
        return f"Argument {k} ('{self.function.names[k]}') of '{self.function.name}'"

    # ---- arrays ----

    def _content(self, k: int, x: Any) -> np.ndarray:
        wanted = self.function.parameters[k]
        if wanted.kind != "pointer":
            raise HostArgumentError(f"{self._where(k)} is {wanted}, an array is given.")
        target = wanted.target
        if target is not None and target.kind == "pointer":
            raise HostArgumentError(f"{self._where(k)} is {wanted}: rows of pointers cannot be given.",
                                    hint="Let the program take one array, and make the pointers itself.")
        if target is not None and not fits(x.dtype, target):
            raise HostArgumentError(f"{self._where(k)} is {wanted}, the array has dtype {x.dtype}.",
                                    hint=f"Pass an array of {target.dtype or target.structured() or target}.")
        content = np.asarray(x)
        if not content.flags.c_contiguous:
            raise HostArgumentError(f"{self._where(k)} is a pointer, and the array given is not contiguous in memory.",
                                    hint="Pass np.ascontiguousarray(x), and copy back what the function wrote.")
        if isinstance(x, np.ndarray) and not x.flags.writeable and not self._constant(k):
            raise HostArgumentError(f"{self._where(k)} is {wanted}, which the function may write into, and the array "
                                    f"is read-only.", hint="Pass a copy, or declare the parameter const.")
        return content

    def _constant(self, k: int) -> bool:
        target = self.function.parameters[k].target
        return target is not None and target.constant

    def _place(self, contents: Mapping[int, np.ndarray], given: tuple) -> None:
        """Arrays that share memory share it in the other process, too."""
        ranges = sorted((np.lib.array_utils.byte_bounds(c), k) for k, c in contents.items())
        groups: list[tuple[int, int, list[int]]] = []
        for (low, high), k in ranges:
            if groups and low < groups[-1][1]:
                begin, end, members = groups[-1]
                groups[-1] = begin, max(end, high), [*members, k]
            else:
                groups.append((low, high, [k]))
        for low, high, members in groups:
            place = self.process.place(high - low)
            for k in members:
                content = contents[k]
                at = place + (content.__array_interface__["data"][0] - low if content.size else 0)
                self.process.memory[at:at + content.nbytes] = content.reshape(-1).view(np.uint8)
                self.arrays[k] = given[k], at, content.nbytes

    def give_back(self) -> None:
        """Write what the function wrote into the caller's arrays."""
        for k, (x, at, size) in self.arrays.items():
            if self._constant(k):
                continue
            new = self.process.memory[at:at + size].view(x.dtype).reshape(x.shape)
            x[...] = new

    # ---- numbers ----

    def _argument(self, k: int, x: Any) -> tuple[str, Any]:
        wanted = self.function.parameters[k]
        if k in self.arrays:
            return "address", self.arrays[k][1]
        if wanted.kind == "pointer":
            if x is None:
                return "address", None
            if isinstance(x, (str, bytes)) and self._is_text(wanted):
                return "text", x.encode() if isinstance(x, str) else x
            raise HostArgumentError(f"{self._where(k)} is {wanted}, {type(x).__name__} given.")
        if wanted.kind == "number" and wanted.dtype is not None:
            return self._number(k, x, wanted.dtype)
        raise HostArgumentError(f"{self._where(k)} is {wanted}, which cannot be given from Python.",
                                hint="Take its members as numbers, or a pointer to it.")

    @staticmethod
    def _is_text(wanted: CType) -> bool:
        target = wanted.target
        return target is not None and target.kind == "number" and "char" in target.name and target.constant

    def _number(self, k: int, x: Any, wanted: np.dtype) -> tuple[str, Any]:
        kind = f"{wanted.kind}{wanted.itemsize}"
        try:
            value = x.item() if hasattr(x, "item") and getattr(x, "shape", None) == () else x
        except (TypeError, ValueError):
            value = x
        if not isinstance(value, (bool, int, float)) or kind not in ("b1", "f4", "f8") and wanted.kind not in "iu":
            raise HostArgumentError(f"{self._where(k)} is {self.function.parameters[k]}, {type(x).__name__} given.")
        if wanted.kind == "f":
            return kind, float(value)
        if isinstance(value, float) and not value.is_integer():
            raise HostArgumentError(f"{self._where(k)} is an integer ({wanted}), {value!r} given.")
        if wanted.kind == "b":
            return kind, bool(value)
        limits = np.iinfo(wanted)
        if not limits.min <= int(value) <= limits.max:
            raise HostArgumentError(f"{self._where(k)} is {wanted}: {int(value)} is out of its range.")
        return kind, int(value)

    # ---- what comes back ----

    def _result(self) -> str:
        result = self.function.result
        if result.kind == "void":
            return "none"
        if result.kind == "number" and result.dtype is not None:
            return f"{result.dtype.kind}{result.dtype.itemsize}"
        if result.kind == "pointer" and self._is_text(result):
            return "text"
        raise HostArgumentError(f"'{signature(self.function)}' returns {result}, which Python has nothing for.",
                                hint="Return a number or a text, and write the rest through pointers.")

    def value(self, returned: Any) -> Any:
        result = self.function.result
        if result.kind == "number" and result.dtype is not None and result.dtype.kind == "f":
            return result.dtype.type(returned)
        return returned.decode(errors="replace") if isinstance(returned, bytes) and self.result == "text" else returned
