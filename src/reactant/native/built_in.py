"""Machine code that Python calls as a function of its own: what ctypes would do for each argument costs more than most
calls do. Four arrays, after much else was in the cache: 60 us through ctypes, 20 so."""
from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from reactant.native import objects

_TEXT = """
; (step, arrays...) -> status: a function on the memories of arrays, which stand at a fixed place of NumPy's objects
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyLong_FromLong(i64)
define ptr @reactant.straight(ptr %self, ptr %args, i64 %given) #0 {
entry:
  %bytes = load ptr, ptr %args
  %step = getelementptr i8, ptr %bytes, i64 <bytes>
  %p.n = getelementptr i64, ptr %step, i64 1
  %n = load i64, ptr %p.n
  %p.counts = getelementptr ptr, ptr %step, i64 2
  %counts = load ptr, ptr %p.counts
  %function = load ptr, ptr %step
  %pointers = alloca ptr, i64 %n, align 8
  %rt = alloca <R>, align 8
  store <R> zeroinitializer, ptr %rt
  %p.hand = getelementptr ptr, ptr %step, i64 3
  %hand = load ptr, ptr %p.hand
  %p.schedule = getelementptr <R>, ptr %rt, i32 0, i32 2
  store ptr %hand, ptr %p.schedule
  %p.several = getelementptr i64, ptr %step, i64 4
  %several = load i64, ptr %p.several
  %p.threads = getelementptr <R>, ptr %rt, i32 0, i32 5
  store i64 %several, ptr %p.threads
  %all = add i64 %n, 1
  %fits = icmp eq i64 %all, %given
  br i1 %fits, label %next, label %wrong
wrong:
  %minus = call ptr @PyLong_FromLong(i64 -1)
  ret ptr %minus
next:
  %i = phi i64 [0, %entry], [%i.next, %more]
  %left = icmp slt i64 %i, %n
  br i1 %left, label %more, label %run
more:
  %i.next = add i64 %i, 1
  %p.array = getelementptr ptr, ptr %args, i64 %i.next
  %array = load ptr, ptr %p.array
  %p.memory = getelementptr i8, ptr %array, i64 <data>
  %memory = load ptr, ptr %p.memory
  %p = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %memory, ptr %p
  br label %next
run:
  %thread = call ptr @PyEval_SaveThread()
  call void %function(ptr %rt, ptr %pointers, ptr %counts)
  call void @PyEval_RestoreThread(ptr %thread)
  %status = load i32, ptr %rt
  %long = sext i32 %status to i64
  %result = call ptr @PyLong_FromLong(i64 %long)
  ret ptr %result
}
attributes #0 = { <A> }
"""
DATA = object.__basicsize__
"""Bytes from the beginning of NumPy's array objects to the address of their memory (NumPy's `PyArrayObject`)."""
BYTES = bytes.__basicsize__ - 1
"""Bytes from the beginning of an object of `bytes` to what is in it."""
_FASTCALL = 0x80
"""Python's `METH_FASTCALL`: the arguments are given as an array."""
Caller = Callable[..., int]
"""`(step, *arrays)`: the status of a call, 0 where nothing failed."""


class _Method(ctypes.Structure):
    """Python's `PyMethodDef`."""

    _fields_ = (("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("text", ctypes.c_char_p))


@cache
def caller() -> Caller | None:
    """What calls native functions on NumPy's arrays; None where the objects of NumPy or Python are not as they have
    always been."""
    probe = np.zeros(3)[1:]
    if ctypes.c_void_p.from_address(id(probe) + DATA).value != probe.ctypes.data \
            or ctypes.string_at(id(b"step") + BYTES, 4) != b"step":
        return None
    found = objects.addresses_of("reactant.straight")
    if found is not None:
        return _function(found["reactant.straight"])
    from reactant.native import engine, support
    words = {"R": support.RUNTIME, "A": engine.attributes(), "data": DATA, "bytes": BYTES}
    text = re.sub(r"<([RA]|data|bytes)>", lambda match: str(words[match.group(1)]), _TEXT)
    python = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
              for name in ("PyEval_SaveThread", "PyEval_RestoreThread", "PyLong_FromLong")}
    address = engine.load(text, "reactant.straight", ("reactant.straight",), python, level=1)["reactant.straight"]
    return _function(address)


def _function(address: int) -> Any:
    """A function of Python's that is machine code; its description stays."""
    method = _Method(b"reactant.straight", address, _FASTCALL, None)
    _METHODS.append(method)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.addressof(method), None, None)


_METHODS: list[_Method] = []


def step(address: int, sizes: Sequence[int], hand: int, threads: int) -> tuple[bytes, Any]:
    """What `caller` takes first, and what has to be kept as long as that: the function, how many elements each array
    has, and what gives work to how many threads."""
    counts = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
    return bytes((ctypes.c_int64 * 5)(address, len(sizes), ctypes.addressof(counts), hand, threads)), counts
