"""The LAPACK that NumPy computes with, for native code to call: factors and solutions by the same code as NumPy's.

It is in the same library as the BLAS (`blas`): symbols of what NumPy's module is linked with, or else capsules of
`scipy.linalg.cython_lapack`. Its routines take numbers by reference and matrices by columns. Functions of ours stand
before them, which take what memories there are first, then numbers, then how many elements of each memory may be looked
at, which checked code checks:

    func.call @lapack.dgetrf(%a, %pivots, %info, %m, %n, %lda, spans...)

Integers in memory are the library's (`integers`). `PARAMETERS` says in which order a routine takes what: letters (the
codes of which are numbers here) end in an apostrophe, memories are written in capitals.

Unlike products (`blas.enter`), a routine has as many threads of the library's as NumPy's call has.
"""
from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping
from functools import cache

import numpy as np

from reactant.native import blas, engine

PREFIX = "lapack."
LETTERS = blas.LETTERS
_ONE = "ONE"
_SVD = "jobz' m n A lda S U ldu VT ldvt WORK lwork {}IWORK INFO"
_COMMON = {"getrf": "m n A lda PIVOTS INFO",
           "potrf": "uplo' n A lda INFO",
           "trsm": f"side' uplo' trans' diag' m n {_ONE} A lda B ldb",
           "trsv": "uplo' trans' diag' n A lda B incb",
           "geqrf": "m n A lda TAU WORK lwork INFO"}
_REAL = _COMMON | {"orgqr": "m n k A lda TAU WORK lwork INFO",
                   "syevd": "jobz' uplo' n A lda W WORK lwork IWORK liwork INFO",
                   "gesdd": _SVD.format("")}
_COMPLEX = _COMMON | {"ungqr": _REAL["orgqr"],
                      "heevd": "jobz' uplo' n A lda W WORK lwork RWORK lrwork IWORK liwork INFO",
                      "gesdd": _SVD.format("RWORK ")}
PARAMETERS = {letter + name: tuple(told.split()) for letters, routines in (("sd", _REAL), ("cz", _COMPLEX))
              for letter in letters for name, told in routines.items()}
OF_BLAS = ("trsm", "trsv")
"""Which of them SciPy has with its BLAS."""
INTEGERS = ("PIVOTS", "IWORK", "INFO")
"""Memories that hold the library's integers,"""
REALS = ("S", "W", "RWORK")
"""and those that hold real numbers whatever the letter."""
SIZES = {"WORK": "lwork", "RWORK": "lrwork", "IWORK": "liwork"}
"""Memories to work in, and the numbers that say how long they are."""


@cache
def library() -> dict[str, int]:
    """Where the routines are, as `dgetrf`; none where there is no library that we know."""
    return blas.of_numpy(list(PARAMETERS)) or _of_scipy()


def _of_scipy() -> dict[str, int]:
    try:
        from scipy.linalg import cython_blas, cython_lapack
        both = cython_lapack.__pyx_capi__, cython_blas.__pyx_capi__
    except (ImportError, AttributeError):
        return {}
    return blas.of_capsules({name: both[name[1:] in OF_BLAS].get(name) for name in PARAMETERS}, list(PARAMETERS))


def integers() -> np.dtype:
    """The dtype of integers in the library's memory."""
    return np.dtype(np.int64 if blas.WIDE in library() else np.int32)


def memories(routine: str) -> list[str]:
    """The names of the memories that a routine takes, in order."""
    return [name for name in PARAMETERS[routine] if name.isupper() and name != _ONE]


def numbers(routine: str) -> list[str]:
    """The names of the numbers that it takes, in order; letters without their apostrophes."""
    return [name.rstrip("'") for name in PARAMETERS[routine] if name.islower()]


def dtype_in(routine: str, memory: str) -> np.dtype:
    """The dtype of what a memory holds."""
    if memory in INTEGERS:
        return integers()
    dtype = np.dtype(next(name for name, letter in LETTERS.items() if letter == routine[0]))
    return np.zeros(0, dtype).real.dtype if memory in REALS else dtype


def asked(routine: str, told: Mapping[str, int]) -> dict[str, int]:
    """How many elements a routine wants to work in, by the names of the memories: what it says itself."""
    names = [name for name in SIZES if name in PARAMETERS[routine]]
    if not names:
        return {}
    held = {name: np.zeros(4, np.complex128) for name in memories(routine)}
    given = []
    for name in PARAMETERS[routine]:
        if name.isupper():
            given.append(held[name])
        elif name.endswith("'"):
            given.append(np.array([told[name[:-1]]], np.uint8))
        else:
            given.append(np.array([-1 if name in SIZES.values() else told[name]], integers()))
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(given), *[ctypes.c_size_t] * _letters(routine))
    call(library()[routine])(*(each.ctypes.data for each in given), *[1] * _letters(routine))
    return {name: max(int(held[name].view(dtype_in(routine, name))[0].real), 1)
            for name in names if SIZES[name] in PARAMETERS[routine]}


def _letters(routine: str) -> int:
    return sum(name.endswith("'") for name in PARAMETERS[routine])


_LOADED = itertools.count()


@cache
def addresses() -> dict[str, int]:
    """Where the functions are that stand before the library's, by the names that native code calls them by."""
    routines = {f"library.{name}": address for name, address in library().items() if name != blas.WIDE}
    names = tuple(PREFIX + name for name in PARAMETERS)
    again, name = next(_LOADED), f"reactant.lapack.{integers()}"       # as `recalled` knows it
    return engine.load(text(), f"{name}.{again}" if again else name, names, routines)


def text() -> str:
    """The LLVM IR."""
    return "\n".join([*map(_function, PARAMETERS), f"attributes #0 = {{ {engine.attributes()} }}", ""])


def _function(routine: str) -> str:
    integer = "i64" if integers() == np.int64 else "i32"
    taken = [f"ptr %{name}" for name in memories(routine)] + [f"i64 %{name}" for name in numbers(routine)]
    lines, given = [], []
    for name in PARAMETERS[routine]:
        if name == _ONE:
            lines += _one(routine[0])
            given.append("%one")
        elif name.isupper():
            given.append(f"%{name}")
        else:
            bare, kind = name.rstrip("'"), "i8" if name.endswith("'") else integer
            short = f"%{bare}" if kind == "i64" else f"%s.{bare}"
            lines += [f"  %p.{bare} = alloca {kind}", *([f"  {short} = trunc i64 %{bare} to {kind}"] * (kind != "i64")),
                      f"  store {kind} {short}, ptr %p.{bare}"]
            given.append(f"%p.{bare}")
    lengths = _letters(routine)                 # Fortran's compilers hand on how long each text is
    types = ["ptr"] * len(given) + ["i64"] * lengths
    passed = [f"ptr {name}" for name in given] + ["i64 1"] * lengths
    return "\n".join([f"declare void @library.{routine}({', '.join(types)})",
                      f"define void @{PREFIX}{routine}({', '.join(taken)}) #0 {{", *lines,
                      f"  call void @library.{routine}({', '.join(passed)})", "  ret void", "}"])


def _one(letter: str) -> list[str]:
    part = "float" if letter in "sc" else "double"
    kind = f"[2 x {part}]" if letter in "cz" else part
    value = f"[{part} 1.0, {part} 0.0]" if letter in "cz" else "1.0"
    return [f"  %one = alloca {kind}", f"  store {kind} {value}, ptr %one"]
