"""The BLAS that NumPy computes with, for native code to call: products of matrices by the same code as NumPy's.

Its wheels bring OpenBLAS, whose routines are symbols of what its module is linked with. Where they are not, there are
those of `scipy.linalg.cython_blas`, whose C interface SciPy keeps: addresses in capsules. (They differ: on one core,
(8, 1000) (1000, 1000) of float64 takes 1.9 ms by SciPy's OpenBLAS 0.3.30, and 1.0 to 1.3 by the 0.3.31 of NumPy 2.4.6.)
Functions of ours stand before them, which take sizes as numbers and matrices by rows:

    func.call @blas.dgemm(%a, %b, %c, %m, %n, %k, %lda, %ldb, %ldc, %turned, spans...)    c = a b
    func.call @blas.dgemv(%a, %x, %y, %m, %k, %lda, %incx, %turned, spans...)             y = a x
    func.call @blas.dsyrk(%a, %c, %first, %last, %n, %k, %lda, %ldc, %turned, spans...)   rows of a a', upper half

with s, d, c or z for the letter of the dtype. turned: 1 where the memory of `a` (2: of `b`) holds its transpose by
rows. The spans, one for each memory, are the elements that may be looked at, which checked code checks. What results
held before is never read.

OpenBLAS has threads of its own, which wait for work in a loop that takes a core from everybody else for a tenth of a
second. So products are divided among XLA's threads, and each piece is computed by the thread that asks: between
`@blas.enter()` and `@blas.leave()` the library works with one thread, afterwards with as many as before. Libraries that
cannot be told keep their threads, and get products undivided.
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from reactant.native import engine, objects

PREFIX = "blas."
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
ROUTINES = ("gemm", "gemv", "syrk")
_NUMBERS = {"s": ("float", 4), "d": ("double", 8), "c": ("[2 x float]", 8), "z": ("[2 x double]", 16)}
_THREADS = {"get": "get_num_threads", "set": "set_num_threads"}
_OWN = {"scipy_{}_64_": "scipy_openblas_{}64_", "{}_64_": "openblas_{}64_"}
"""Names of routines with integers of 64 bits, as NumPy's wheels have them, and of the functions for threads beside
them;"""
_BRANDS = ("scipy_openblas_", "openblas_")
"""what the latter begin with in what SciPy is linked with."""
WIDE = "integers of 64 bits"
"""A key of `library`: whether that is what routines take."""
_TEXT = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@letters = internal constant [2 x i8] c"NT"
@lower = internal constant i8 76
@step = internal constant <INTEGER> 1
@busy = internal global i32 0
@inside = internal global i32 0
@before = internal global i32 0

define internal void @lock() #0 {
entry:
  br label %try
try:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %done, label %again
again:
  call void asm sideeffect "<PAUSE>", ""()
  br label %try
done:
  ret void
}

define void @blas.enter() #0 {
entry:
  call void @lock()
  %now = load i32, ptr @inside
  %next = add i32 %now, 1
  store i32 %next, ptr @inside
  %first = icmp eq i32 %now, 0
  br i1 %first, label %alone, label %done
alone:
  %threads = call i32 @library.get()
  store i32 %threads, ptr @before
  %several = icmp ne i32 %threads, 1
  br i1 %several, label %tell, label %done
tell:
  call void @library.set(i32 1)
  br label %done
done:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

define void @blas.leave() #0 {
entry:
  call void @lock()
  %now = load i32, ptr @inside
  %next = sub i32 %now, 1
  store i32 %next, ptr @inside
  %last = icmp eq i32 %next, 0
  br i1 %last, label %alone, label %done
alone:
  %threads = load i32, ptr @before
  %several = icmp ne i32 %threads, 1
  br i1 %several, label %tell, label %done
tell:
  call void @library.set(i32 %threads)
  br label %done
done:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}
"""
_UNTOLD = """
define internal i32 @library.get() #0 {
  ret i32 1
}
define internal void @library.set(i32 %n) #0 {
  ret void
}
"""
_OF_LETTER = """
@one.<L> = internal constant <T> <ONE>
@zero.<L> = internal constant <T> zeroinitializer
declare void @library.<L>gemm(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)
declare void @library.<L>gemv(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)
declare void @library.<L>syrk(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)

; by columns: c' = b' a'
define void @blas.<L>gemm(ptr %a, ptr %b, ptr %c, i64 %m, i64 %n, i64 %k, i64 %lda, i64 %ldb, i64 %ldc,
                          i64 %turned) #0 {
<INTS m n k lda ldb ldc>
  %ta = and i64 %turned, 1
  %tb = lshr i64 %turned, 1
  %p.ta = getelementptr i8, ptr @letters, i64 %ta
  %p.tb = getelementptr i8, ptr @letters, i64 %tb
  call void @library.<L>gemm(ptr %p.tb, ptr %p.ta, ptr %p.n, ptr %p.m, ptr %p.k, ptr @one.<L>, ptr %b, ptr %p.ldb,
                             ptr %a, ptr %p.lda, ptr @zero.<L>, ptr %c, ptr %p.ldc)
  ret void
}

; the library multiplies what was there by a factor: zeros, since NaN stay NaN
define void @blas.<L>gemv(ptr %a, ptr %x, ptr %y, i64 %m, i64 %k, i64 %lda, i64 %incx, i64 %turned) #0 {
  %stored = icmp eq i64 %turned, 1
  %rows = select i1 %stored, i64 %m, i64 %k
  %columns = select i1 %stored, i64 %k, i64 %m
<INTS rows columns lda incx>
  %nbytes = mul i64 %m, <BYTES>
  call void @llvm.memset.p0.i64(ptr %y, i8 0, i64 %nbytes, i1 false)
  %transposed = xor i64 %turned, 1
  %p.transposed = getelementptr i8, ptr @letters, i64 %transposed
  call void @library.<L>gemv(ptr %p.transposed, ptr %p.rows, ptr %p.columns, ptr @one.<L>, ptr %a, ptr %p.lda, ptr %x,
                             ptr %p.incx, ptr @one.<L>, ptr %y, ptr @step)
  ret void
}

define void @blas.<L>syrk(ptr %a, ptr %c, i64 %first, i64 %last, i64 %n, i64 %k, i64 %lda, i64 %ldc,
                          i64 %turned) #0 {
entry:
  %own = sub i64 %last, %first
<INTS own k lda ldc>
  %stored = icmp eq i64 %turned, 1
  %row = select i1 %stored, i64 1, i64 %lda
  %skip = mul i64 %first, %row
  %mine = getelementptr <T>, ptr %a, i64 %skip
  %line = mul i64 %first, %ldc
  %diagonal = add i64 %line, %first
  %corner = getelementptr <T>, ptr %c, i64 %diagonal
  %transposed = xor i64 %turned, 1
  %p.transposed = getelementptr i8, ptr @letters, i64 %transposed
  call void @library.<L>syrk(ptr @lower, ptr %p.transposed, ptr %p.own, ptr %p.k, ptr @one.<L>, ptr %mine, ptr %p.lda,
                             ptr @zero.<L>, ptr %corner, ptr %p.ldc)
  %rest = sub i64 %n, %last
  %some = icmp sgt i64 %rest, 0
  br i1 %some, label %beside, label %done
beside:
  %skip.rest = mul i64 %last, %row
  %theirs = getelementptr <T>, ptr %a, i64 %skip.rest
  %right = getelementptr <T>, ptr %corner, i64 %own
  %both = select i1 %stored, i64 1, i64 2
  call void @blas.<L>gemm(ptr %mine, ptr %theirs, ptr %right, i64 %own, i64 %rest, i64 %k, i64 %lda, i64 %lda,
                          i64 %ldc, i64 %both)
  br label %done
done:
  ret void
}
"""


@cache
def library() -> dict[str, int]:
    """Where the library's routines are, as `dgemm`, and what tells the number of its threads, as `get` and `set`; none
    where there is no library that we know."""
    return _of_numpy() or _of_scipy()


def _names() -> list[str]:
    return [letter + routine for letter in LETTERS.values() for routine in ROUTINES]


def _of_numpy() -> dict[str, int]:
    for routine, about_threads in _OWN.items():
        if found := linked({name: routine.format(name) for name in _names()} | {
                role: about_threads.format(name) for role, name in _THREADS.items()}):
            return found | {WIDE: 1}
    return {}


def of_numpy(names: Sequence[str]) -> dict[str, int]:
    """Where routines are in the library of NumPy's wheels, whose integers are of 64 bits; none unless all are there."""
    for routine in _OWN:
        if found := linked({name: routine.format(name) for name in names}):
            return found | {WIDE: 1}
    return {}


def linked(symbols: Mapping[str, str]) -> dict[str, int]:
    """Where symbols are of what NumPy's module is linked with, by their keys; none unless all are there."""
    from numpy._core import _multiarray_umath
    try:
        module = ctypes.CDLL(_multiarray_umath.__file__)
    except (OSError, TypeError):
        return {}
    if not all(hasattr(module, name) for name in symbols.values()):
        return {}
    return {key: ctypes.cast(getattr(module, name), ctypes.c_void_p).value or 0 for key, name in symbols.items()}


def _of_scipy() -> dict[str, int]:
    try:
        from scipy.linalg import cython_blas
        capsules = cython_blas.__pyx_capi__
    except (ImportError, AttributeError):
        return {}
    found = of_capsules(capsules, _names())
    return found | _threads(cython_blas.__file__) if found else {}


def of_capsules(capsules: Mapping[str, Any], names: Sequence[str]) -> dict[str, int]:
    """Where routines are that take numbers by reference, by SciPy's capsules; none unless all are there."""
    name_of, of_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    of_pointer.restype, of_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: dict[str, int] = {}
    for name in names:
        capsule = capsules.get(name)
        signature = name_of(capsule) if capsule is not None else b""
        if not signature.startswith((b"void (char *", b"void (int *")) or b"int *" not in signature:
            return {}
        found[name] = of_pointer(capsule, signature)
    return found


def _threads(path: str) -> dict[str, int]:
    """The functions that tell and set the number of threads, which no interface of SciPy's names: of what its module is
    linked with."""
    try:
        module = ctypes.CDLL(path)
    except OSError:
        return {}
    for brand in _BRANDS:
        functions: dict[str, Any] = {role: getattr(module, brand + name, None) for role, name in _THREADS.items()}
        if all(functions.values()):
            return {role: ctypes.cast(function, ctypes.c_void_p).value or 0 for role, function in functions.items()}
    return {}


def divides() -> bool:
    """Whether products are divided among threads of ours: the library can be told to use none of its own."""
    return "set" in library()


@cache
def addresses() -> dict[str, int]:
    """Where the functions are that stand before the library's, by the names that native code calls them by."""
    if (there := objects.addresses_of("reactant.blas")) is not None:
        return there
    routines = {f"library.{name}": address for name, address in library().items() if name != WIDE}
    exported = (PREFIX + "enter", PREFIX + "leave", *(PREFIX + letter + routine for letter in LETTERS.values()
                                                      for routine in ROUTINES))
    return engine.load(text(), "reactant.blas", exported, routines)


def text() -> str:
    """The LLVM IR."""
    pause = "pause" if engine.is_x86() else "yield"
    integer = "i64" if WIDE in library() else "i32"
    parts = [_TEXT.replace("<PAUSE>", pause).replace("<INTEGER>", integer),
             "declare i32 @library.get()\ndeclare void @library.set(i32)\n" if divides() else _UNTOLD]
    for letter, (type_, nbytes) in _NUMBERS.items():
        part = type_.rpartition(" ")[2].strip("]")
        one = "1.0" if part == type_ else f"[{part} 1.0, {part} 0.0]"
        made = _OF_LETTER.replace("<L>", letter).replace("<T>", type_).replace("<ONE>", one)
        parts.append("\n".join(_integers(line, integer) for line in made.replace("<BYTES>", str(nbytes)).split("\n")))
    return "\n".join([*parts, f"attributes #0 = {{ {engine.attributes()} }}", ""])


def _integers(line: str, integer: str) -> str:
    """Numbers where the library looks for them, for a line `<INTS ...>`."""
    if not line.startswith("<INTS "):
        return line
    made = []
    for name in line[len("<INTS "):-1].split():
        short = f"%{name}" if integer == "i64" else f"%s.{name}"
        made += [f"  %p.{name} = alloca {integer}", *([f"  {short} = trunc i64 %{name} to i32"] * (integer == "i32")),
                 f"  store {integer} {short}, ptr %p.{name}"]
    return "\n".join(made)
