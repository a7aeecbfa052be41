"""Memory that native functions work in, kept from one call to the next.

XLA takes the temporaries of every run from `malloc` afresh. glibc cuts a few bytes off the end of such a block and may
give them to somebody else, and then the next run gets another block: seven gradients with 225 MB of temporaries went
through 1.6 GB of fresh pages, at 0.6 s a run where the gradient itself takes 1.1. So a function that works in much
memory has it from here: one block of the process, in huge pages where the system has them. Whoever runs takes it; a
second one that runs at the same time gets a block of its own, and the bigger of the two is kept.
"""
from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from functools import cache

from reactant.native import engine, objects

LEAST = 16 << 20
"""Bytes from which a function has its workspace from here; below, XLA's own temporaries are as good."""
MOST = 1 << 30
"""Bytes that are kept at most; bigger blocks are given back to the system after every call."""
ALIGNMENT = 64
_HUGE_PAGE = 2 << 20
_HEAD = _HUGE_PAGE
"""Bytes before the memory handed out: room to begin at a huge page."""
_MODULE = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)

; a block begins with its length
@kept = internal global ptr null

define ptr @reactant.take(i64 %bytes) #0 {
entry:
  %whole = add i64 %bytes, <HEAD>
  %old = atomicrmw xchg ptr @kept, ptr null acq_rel
  %none = icmp eq ptr %old, null
  br i1 %none, label %make, label %look
look:
  %length = load i64, ptr %old
  %enough = icmp uge i64 %length, %whole
  br i1 %enough, label %found, label %drop
drop:
  call i32 @munmap(ptr %old, i64 %length)
  br label %make
make:
  %new = call ptr @mmap(ptr null, i64 %whole, i32 <PROTECTION>, i32 <FLAGS>, i32 -1, i64 0)
  %failed = icmp eq ptr %new, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %nothing, label %made
made:
  %advised = call i32 @madvise(ptr %new, i64 %whole, i32 <ADVICE>)
  store i64 %whole, ptr %new
  br label %found
found:
  %block = phi ptr [%old, %look], [%new, %made]
  ret ptr %block
nothing:
  ret ptr null
}

define ptr @reactant.begin(ptr %block) #0 {
  %place = ptrtoint ptr %block to i64
  %above = add i64 %place, <HEAD>
  %even = and i64 %above, -<HEAD>
  %begin = inttoptr i64 %even to ptr
  ret ptr %begin
}

define void @reactant.give(ptr %block) #0 {
entry:
  %length = load i64, ptr %block
  %big = icmp ugt i64 %length, <MOST>
  br i1 %big, label %drop, label %keep
keep:
  %other = atomicrmw xchg ptr @kept, ptr %block acq_rel
  %alone = icmp eq ptr %other, null
  br i1 %alone, label %done, label %two
two:
  %theirs = load i64, ptr %other
  call i32 @munmap(ptr %other, i64 %theirs)
  ret void
drop:
  call i32 @munmap(ptr %block, i64 %length)
  ret void
done:
  ret void
}

define i64 @reactant.drop() #0 {
entry:
  %old = atomicrmw xchg ptr @kept, ptr null acq_rel
  %none = icmp eq ptr %old, null
  br i1 %none, label %done, label %drop
drop:
  %length = load i64, ptr %old
  call i32 @munmap(ptr %old, i64 %length)
  ret i64 %length
done:
  ret i64 0
}

attributes #0 = { <ATTRIBUTES> }
"""
DECLARED = """
declare ptr @reactant.take(i64)
declare ptr @reactant.begin(ptr)
declare void @reactant.give(ptr)"""
"""What a function that takes a block needs."""
_once = threading.Lock()


def available() -> bool:
    """Whether this system has what the blocks are made of."""
    return sys.platform == "linux"


def places(sizes: list[int], apart: int = 0) -> tuple[list[int], int]:
    """Where pieces of so many bytes begin in a block, so many bytes apart, and the bytes of the block."""
    found, end = [], 0
    for size in sizes:
        found.append(end)
        end = -(-(end + size + apart) // ALIGNMENT) * ALIGNMENT
    return found, end


def addresses() -> dict[str, int]:
    """Where the functions of `DECLARED` are."""
    with _once:
        return _loaded()


@cache
def _loaded() -> dict[str, int]:
    if (there := objects.addresses_of("reactant.workspace")) is not None:
        return there
    words = {"HEAD": _HEAD, "MOST": MOST, "PROTECTION": mmap.PROT_READ | mmap.PROT_WRITE,
             "FLAGS": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "ADVICE": getattr(mmap, "MADV_HUGEPAGE", 0),
             "ATTRIBUTES": engine.attributes()}
    text = _MODULE
    for word, value in words.items():
        text = text.replace(f"<{word}>", str(value))
    return engine.load(text, "reactant.workspace", ("reactant.take", "reactant.begin", "reactant.give",
                                                    "reactant.drop"), {})


def release() -> int:
    """Give the kept block back to the system; its bytes."""
    if not _loaded.cache_info().currsize:
        return 0
    return int(ctypes.CFUNCTYPE(ctypes.c_int64)(addresses()["reactant.drop"])())
