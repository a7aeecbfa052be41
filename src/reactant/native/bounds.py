"""Checked native code: every load and store is compared with the bounds of the buffer that it addresses.

With `REACTANT_NATIVE_CHECKS=1` in the environment, a memref has three more parts behind its pointer: where its buffer
(an argument, a piece of the workspace, a local array, a constant) begins and ends, and the buffer's number. They go
with the pointer through views, loops, branches and calls. An access outside is reported with its op, its buffer and
its line, as the error of the call, and goes to memory that nobody uses.

`red_zones` are the other half: what others write (LAPACK, NumPy's sorts) has bytes on both sides that must not change.
"""
from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Protocol

from jaxlib.mlir import ir

VARIABLE = "REACTANT_NATIVE_CHECKS"
PARTS = ("i64", "i64", "i64")
"""Of a memref in checked code, behind its pointer: the first address, the one after the last, the buffer's number."""
FAILURE = "reactant.failure"
"""What the first access outside was: address, bytes, and the `PARTS` of its memref."""
FIELDS = 5
ZONE = 4096
"""Bytes between pieces of a workspace, and around what others write."""
FILLING = 0xA5
_FILE = r'loc\("([^"]+)":(\d+):\d+\)'
_checked: ContextVar[bool] = ContextVar("checked", default=False)

ROUTINES = f"""
@{FAILURE} = global [{FIELDS} x i64] zeroinitializer
@reactant.nowhere = internal global [64 x i8] zeroinitializer, align 64

define internal ptr @reactant.inside(ptr %rt, ptr %p, i64 %bytes, i64 %begin, i64 %end, i64 %buffer, i32 %status) #0 {{
entry:
  %a = ptrtoint ptr %p to i64
  %room = sub i64 %end, %begin
  %offset = sub i64 %a, %begin
  %left = sub i64 %room, %bytes
  %fits = icmp ule i64 %bytes, %room
  %before = icmp ule i64 %offset, %left
  %inside = and i1 %fits, %before
  br i1 %inside, label %good, label %bad
good:
  ret ptr %p
bad:
  call void @reactant.outside(ptr %rt, i64 %a, i64 %bytes, i64 %begin, i64 %end, i64 %buffer, i32 %status)
  ret ptr @reactant.nowhere
}}

define internal void @reactant.outside(ptr %rt, i64 %a, i64 %bytes, i64 %begin, i64 %end, i64 %buffer, i32 %status
                                       ) noinline #0 {{
entry:
  %pair = cmpxchg ptr %rt, i32 0, i32 %status seq_cst seq_cst
  %first = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %first, label %note, label %done
note:
  store i64 %a, ptr @{FAILURE}
  %p1 = getelementptr i64, ptr @{FAILURE}, i64 1
  store i64 %bytes, ptr %p1
  %p2 = getelementptr i64, ptr @{FAILURE}, i64 2
  store i64 %begin, ptr %p2
  %p3 = getelementptr i64, ptr @{FAILURE}, i64 3
  store i64 %end, ptr %p3
  %p4 = getelementptr i64, ptr @{FAILURE}, i64 4
  store i64 %buffer, ptr %p4
  br label %done
done:
  ret void
}}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal void @reactant.fill(ptr %zone) #0 {{
  call void @llvm.memset.p0.i64(ptr %zone, i8 {FILLING - 256}, i64 {ZONE}, i1 false)
  ret void
}}

define internal void @reactant.look(ptr %rt, ptr %zone, i32 %status) #0 {{
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %same]
  %more = icmp ult i64 %i, {ZONE}
  br i1 %more, label %byte, label %done
byte:
  %p = getelementptr i8, ptr %zone, i64 %i
  %b = load volatile i8, ptr %p
  %is.same = icmp eq i8 %b, {FILLING - 256}
  br i1 %is.same, label %same, label %bad
same:
  %i.next = add i64 %i, 1
  br label %next
bad:
  cmpxchg ptr %rt, i32 0, i32 %status seq_cst seq_cst
  br label %done
done:
  ret void
}}"""


class Numbers(Protocol):
    """The module that is being written: what numbers stand for in its messages."""

    def status_of(self, message: str) -> int: ...

    def buffer_of(self, name: str) -> int: ...


class Writer(Protocol):
    """The function that is being written."""

    body: list[str]

    @property
    def module(self) -> Numbers: ...

    def fresh(self, prefix: str = "t") -> str: ...

    def let(self, text: str) -> str: ...


def wanted() -> bool:
    """Whether native code that is made now is to be checked."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def active() -> bool:
    """Whether the code being written is checked."""
    return _checked.get()


@contextlib.contextmanager
def writing(checked: bool) -> Iterator[None]:
    """While code is written that is checked, or is not."""
    token = _checked.set(checked)
    try:
        yield
    finally:
        _checked.reset(token)


def of_new(f: Writer, pointer: str, nbytes: str, name: str, lines: list[str] | None = None) -> tuple[str, ...]:
    """The bounds of a buffer that begins at `pointer`. lines: where the pointer is defined, if not here (what is made
    at the function's entry may be used from anywhere)."""
    if not active():
        return ()
    begin, end = "%" + f.fresh("begin"), "%" + f.fresh("end")
    (f.body if lines is None else lines).extend((f"  {begin} = ptrtoint ptr {pointer} to i64",
                                                 f"  {end} = add i64 {begin}, {nbytes}"))
    return begin, end, str(f.module.buffer_of(name))


def inside(f: Writer, limits: Sequence[str], pointer: str, nbytes: str, op: ir.Operation) -> str:
    """The pointer of an access by `op`, or in checked code one that is certainly inside of something. limits: those of
    the memref, as `of_new` gives them."""
    if not active():
        return pointer
    begin, end, buffer = limits
    status = f.module.status_of(f"{op.name} outside its buffer{line_of(op)}")
    return f.let(f"call ptr @reactant.inside(ptr %rt, ptr {pointer}, i64 {nbytes}, i64 {begin}, i64 {end}, "
                 f"i64 {buffer}, i32 {status})")


def line_of(op: ir.Operation) -> str:
    """Where an op was written, if it says so."""
    found = re.search(_FILE, str(op.location))
    return f" (line {found[2]} of {found[1]})" if found and found[1] != "-" else ""


def told(message: str, failure: Sequence[int], buffers: Sequence[str]) -> str:
    """What an access outside was, in words."""
    address, nbytes, begin, end, buffer = failure
    return (f"{message}: {nbytes} bytes from byte {address - begin} on, of {buffers[buffer]}, which has "
            f"{end - begin} bytes.")
