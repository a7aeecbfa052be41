"""Threads of our own, for native functions that are called without XLA: they sleep until there is something to do.

XLA's turn around for a while after each program, which costs as much of the processor as small programs do.
"""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache

from reactant.native import engine, objects

NAME = "reactant.threads"
WAITING = 256
"""Tasks that may wait for a thread; who has more does them alone."""
_TEXT = """
; all zero: a mutex and a condition of glibc's and musl's as these begin
@lock = internal global [64 x i8] zeroinitializer, align 16
@some = internal global [64 x i8] zeroinitializer, align 16
@tasks = internal global [<WAITING> x { ptr, ptr }] zeroinitializer
@taken = internal global i64 0
@given = internal global i64 0
@process = internal global i32 0
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @getpid()

; hands `task(data)` to a thread; false where none will come: too many tasks wait, or this is a fork
define i1 @reactant.hand(ptr %rt, ptr %task, ptr %data) #0 {
entry:
  %here = call i32 @getpid()
  %home = load i32, ptr @process
  %own = icmp eq i32 %here, %home
  br i1 %own, label %look, label %refused
look:
  %locked = call i32 @pthread_mutex_lock(ptr @lock)
  %given = load i64, ptr @given
  %taken = load i64, ptr @taken
  %waiting = sub i64 %given, %taken
  %room = icmp slt i64 %waiting, <WAITING>
  br i1 %room, label %put, label %full
put:
  %k = urem i64 %given, <WAITING>
  %p.task = getelementptr { ptr, ptr }, ptr @tasks, i64 %k
  store ptr %task, ptr %p.task
  %p.data = getelementptr { ptr, ptr }, ptr @tasks, i64 %k, i32 1
  store ptr %data, ptr %p.data
  %given.next = add i64 %given, 1
  store i64 %given.next, ptr @given
  %woken = call i32 @pthread_cond_signal(ptr @some)
  %left = call i32 @pthread_mutex_unlock(ptr @lock)
  ret i1 true
full:
  %left.full = call i32 @pthread_mutex_unlock(ptr @lock)
  br label %refused
refused:
  ret i1 false
}

define internal ptr @work(ptr %nothing) #0 {
entry:
  br label %next
next:
  %locked = call i32 @pthread_mutex_lock(ptr @lock)
  br label %look
look:
  %given = load i64, ptr @given
  %taken = load i64, ptr @taken
  %none = icmp eq i64 %given, %taken
  br i1 %none, label %wait, label %take
wait:
  %awake = call i32 @pthread_cond_wait(ptr @some, ptr @lock)
  br label %look
take:
  %k = urem i64 %taken, <WAITING>
  %p.task = getelementptr { ptr, ptr }, ptr @tasks, i64 %k
  %task = load ptr, ptr %p.task
  %p.data = getelementptr { ptr, ptr }, ptr @tasks, i64 %k, i32 1
  %data = load ptr, ptr %p.data
  %taken.next = add i64 %taken, 1
  store i64 %taken.next, ptr @taken
  %left = call i32 @pthread_mutex_unlock(ptr @lock)
  call void %task(ptr %data)
  br label %next
}

; starts `n` threads; how many there are
define i64 @reactant.start(i64 %n) #0 {
entry:
  %thread = alloca i64
  %here = call i32 @getpid()
  store i32 %here, ptr @process
  br label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %made]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %make, label %end
make:
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr null)
  %fine = icmp eq i32 %error, 0
  br i1 %fine, label %made, label %end
made:
  %id = load i64, ptr %thread
  %detached = call i32 @pthread_detach(i64 %id)
  %i.next = add i64 %i, 1
  br label %next
end:
  ret i64 %i
}
attributes #0 = { <ATTRIBUTES> }
"""
_once = threading.Lock()


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool() -> tuple[int, int]:
    """(address of what hands a task to a thread, threads with the one that calls); (0, 1) where there are no others."""
    with _once:
        return _started()


@cache
def _started() -> tuple[int, int]:
    if cores() == 1 or sys.platform != "linux":
        return 0, 1
    made = objects.addresses_of(NAME)
    if made is None:
        text = _TEXT.replace("<WAITING>", str(WAITING)).replace("<ATTRIBUTES>", engine.attributes())
        made = engine.load(text, NAME, ("reactant.hand", "reactant.start"), {}, level=1)
    start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(made["reactant.start"])
    return made["reactant.hand"], 1 + start(cores() - 1)
