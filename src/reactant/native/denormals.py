"""A call that makes a thread compute with denormal numbers: XLA lets its threads take them for zero.

It changes the mode of the thread that runs it until XLA sets its own again, at the end of the program; and, when it
first runs, that of all threads among which XLA divides operations: of the client that runs it, for good, so it is only
for programs of a client that no one else has.
"""
from __future__ import annotations

import re
from functools import cache

from reactant.native import engine, ffi, objects, support

NAME = "reactant.keep"
_TEXT = """
; of the threads: 0 as XLA has them, 1 being set, 2 set
@state = internal global i32 0
@keeps = internal constant [1 x { i32, i32, i64 }] [{ i32, i32, i64 } { i32 -1, i32 0, i64 4 }]
@none = internal constant [0 x ptr] []
@keep.description = internal constant <D> { i64 1, i64 0, i64 1, ptr @keep, ptr @keeps, i64 0, ptr @none }
declare ptr @reactant.handle(ptr, ptr)
declare i32 @reactant.exact()
declare i32 @usleep(i32)
declare ptr @malloc(i64)

; XLA's questions and the first call are for `handle`; the others are as short as can be, since every program makes one
define ptr @reactant.keep(ptr %frame) #0 {
  %runs = call i1 @runs(ptr %frame)
  %state = load atomic i32, ptr @state acquire, align 4
  %ready = icmp eq i32 %state, 2
  %short = and i1 %runs, %ready
  br i1 %short, label %now, label %ask
now:
  %mode = call i32 @reactant.exact()
  ret ptr null
ask:
  %error = call ptr @reactant.handle(ptr %frame, ptr @keep.description)
  ret ptr %error
}
define internal i1 @runs(ptr %frame) #0 {
  %p.ext = getelementptr i8, ptr %frame, i64 <extension>
  %ext = load ptr, ptr %p.ext
  %plain = icmp eq ptr %ext, null
  %p.stage = getelementptr i8, ptr %frame, i64 <stage>
  %stage = load i32, ptr %p.stage
  %executes = icmp eq i32 %stage, 3
  %runs = and i1 %plain, %executes
  ret i1 %runs
}
; a thread that waits takes no second task: when as many have arrived as there are threads, each has run one
define internal void @everyone(ptr %job) #0 {
  %mode = call i32 @reactant.exact()
  %p.arrived = getelementptr i64, ptr %job, i64 1
  atomicrmw add ptr %p.arrived, i64 1 seq_cst
  %met = call i1 @meet(ptr %job)
  ret void
}
; whether all arrived within a second
define internal i1 @meet(ptr %job) #0 {
entry:
  %n = load i64, ptr %job
  %p.arrived = getelementptr i64, ptr %job, i64 1
  br label %wait
wait:
  %iteration = phi i64 [0, %entry], [%iteration.next, %sleep]
  %arrived = load atomic i64, ptr %p.arrived seq_cst, align 8
  %all = icmp sge i64 %arrived, %n
  %late = icmp sgt i64 %iteration, 20000
  %leave = or i1 %all, %late
  br i1 %leave, label %end, label %sleep
sleep:
  %iteration.next = add i64 %iteration, 1
  call i32 @usleep(i32 50)
  br label %wait
end:
  ret i1 %all
}

define internal void @keep(ptr %rt, ptr %pointers, ptr %counts) #0 {
entry:
  %p.keeps = getelementptr <R>, ptr %rt, i32 0, i32 1
  store i32 1, ptr %p.keeps
  %found = cmpxchg ptr @state, i32 0, i32 1 seq_cst seq_cst
  %first = extractvalue { i32, i1 } %found, 1
  br i1 %first, label %threads, label %wait
wait:
  %iteration = phi i64 [0, %entry], [%iteration.next, %sleep]
  %state = load atomic i32, ptr @state seq_cst, align 4
  %others = icmp eq i32 %state, 1
  %early = icmp slt i64 %iteration, 20000
  %more.time = and i1 %others, %early
  br i1 %more.time, label %sleep, label %end
sleep:
  %iteration.next = add i64 %iteration, 1
  call i32 @usleep(i32 50)
  br label %wait
threads:
  %p.schedule = getelementptr <R>, ptr %rt, i32 0, i32 2
  %schedule = load ptr, ptr %p.schedule
  %p.n = getelementptr <R>, ptr %rt, i32 0, i32 5
  %n = load i64, ptr %p.n
  ; never freed: a task may come to it late
  %job = call ptr @malloc(i64 16)
  %p.arrived = getelementptr i64, ptr %job, i64 1
  store i64 %n, ptr %job
  store i64 0, ptr %p.arrived
  br label %next
next:
  %i = phi i64 [0, %threads], [%i.next, %hand]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %hand, label %together
hand:
  %taken = call i1 %schedule(ptr %rt, ptr @everyone, ptr %job)
  %i.next = add i64 %i, 1
  br i1 %taken, label %next, label %done
together:
  %met = call i1 @meet(ptr %job)
  br i1 %met, label %done, label %again
again:
  store atomic i32 0, ptr @state seq_cst, align 4
  br label %end
done:
  store atomic i32 2, ptr @state seq_cst, align 4
  br label %end
end:
  ret void
}
attributes #0 = { <A> }
"""


@cache
def target() -> str:
    """The name of the call, (): u32, a number that means nothing."""
    found = objects.addresses_of("reactant.denormals")
    if found is not None:
        objects.register(NAME, found[NAME])
        return NAME
    frame = ffi.header().struct("XLA_FFI_CallFrame").offsets
    words = {"D": support.DESCRIPTION, "R": support.RUNTIME, "A": engine.attributes(),
             "extension": frame["extension_start"], "stage": frame["stage"]}
    text = re.sub(r"<(\w+)>", lambda match: str(words[match.group(1)]), _TEXT)
    address = engine.load(text, "reactant.denormals", (NAME,), support.addresses(), level=1)[NAME]
    objects.register(NAME, address)
    return NAME
