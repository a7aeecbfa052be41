"""What every native function stands on, in LLVM IR: the handler that XLA calls, and parallel loops over its threads.

`reactant.handle(frame, description)` answers XLA's question for its version, collects the buffers' addresses and
element counts, and calls the function's entry `(runtime, pointers, counts)`. A failed check comes back as an XLA
error.

`reactant.parallel(runtime, task, data, n, least)` runs `task(data, runtime, first, last)` over pieces of [0, n). The
caller works too and waits only for pieces that somebody has begun, so a busy or absent pool cannot block it. A helper
that comes late finds no piece left; the job it looks at is counted by references and freed by the last.
"""
from __future__ import annotations

import re
import threading
from functools import cache

from reactant.native import engine, ffi, objects

RUNTIME = "{ i32, i32, ptr, ptr, ptr, i64 }"
"""What a native function is told about its surroundings: status of the first failed check, whether the thread goes on
with denormal numbers afterwards (the function says so), the function that hands a task to a thread, that function's
two arguments (XLA's interface and context), number of threads."""
STATUS, SCHEDULE, API, CONTEXT, THREADS = 0, 8, 16, 24, 32
RUNTIME_BYTES = 40
DESCRIPTION = "{ i64, i64, i64, ptr, ptr, i64, ptr }"
"""Of one function: slots, operands, results, entry, table of slots (operand, result, bytes of an element; -1: none),
number of messages, table of messages."""

_TEXT = """
declare noalias ptr @malloc(i64)
declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @usleep(i32)
declare i32 @sched_yield()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @reactant.handle(ptr %frame, ptr %d) #0 {
entry:
  %rt = alloca <RUNTIME>, align 8
  %asked = alloca [<NumThreads.bytes> x i8], align 8
  %error = alloca [<Error.bytes> x i8], align 8
  %threads = alloca i64, align 8
  %p.ext = getelementptr i8, ptr %frame, i64 <CallFrame.extension_start>
  %ext = load ptr, ptr %p.ext
  %plain = icmp eq ptr %ext, null
  br i1 %plain, label %stage, label %question
question:
  %p.kind = getelementptr i8, ptr %ext, i64 <Base.type>
  %kind = load i32, ptr %p.kind
  %is.meta = icmp eq i32 %kind, 1
  br i1 %is.meta, label %answer, label %stage
answer:
  %p.meta = getelementptr i8, ptr %ext, i64 <MetaExtension.metadata>
  %meta = load ptr, ptr %p.meta
  %version = getelementptr i8, ptr %meta, i64 <Metadata.api_version>
  %p.major = getelementptr i8, ptr %version, i64 <Version.major_version>
  store i32 <major>, ptr %p.major
  %p.minor = getelementptr i8, ptr %version, i64 <Version.minor_version>
  store i32 <minor>, ptr %p.minor
  %p.traits = getelementptr i8, ptr %meta, i64 <Metadata.traits>
  store i32 0, ptr %p.traits
  ret ptr null
stage:
  %p.stage = getelementptr i8, ptr %frame, i64 <CallFrame.stage>
  %now = load i32, ptr %p.stage
  %execute = icmp eq i32 %now, 3
  br i1 %execute, label %counts, label %fine
fine:
  ret ptr null
counts:
  %args = getelementptr i8, ptr %frame, i64 <CallFrame.args>
  %rets = getelementptr i8, ptr %frame, i64 <CallFrame.rets>
  %p.have = getelementptr i8, ptr %args, i64 <Args.size>
  %have = load i64, ptr %p.have
  %p.made = getelementptr i8, ptr %rets, i64 <Rets.size>
  %made = load i64, ptr %p.made
  %slots = load i64, ptr %d
  %p.operands = getelementptr <DESCRIPTION>, ptr %d, i32 0, i32 1
  %operands = load i64, ptr %p.operands
  %p.results = getelementptr <DESCRIPTION>, ptr %d, i32 0, i32 2
  %results = load i64, ptr %p.results
  %ok.args = icmp eq i64 %have, %operands
  %ok.rets = icmp eq i64 %made, %results
  %ok = and i1 %ok.args, %ok.rets
  br i1 %ok, label %collect, label %wrong
collect:
  %pointers = alloca ptr, i64 %slots, align 8
  %sizes = alloca i64, i64 %slots, align 8
  %p.table = getelementptr <DESCRIPTION>, ptr %d, i32 0, i32 4
  %table = load ptr, ptr %p.table
  %p.argv = getelementptr i8, ptr %args, i64 <Args.args>
  %argv = load ptr, ptr %p.argv
  %p.retv = getelementptr i8, ptr %rets, i64 <Rets.rets>
  %retv = load ptr, ptr %p.retv
  br label %slot
slot:
  %i = phi i64 [0, %collect], [%i.next, %slot.done]
  %more = icmp slt i64 %i, %slots
  br i1 %more, label %slot.body, label %pool
slot.body:
  %row = getelementptr { i32, i32, i64 }, ptr %table, i64 %i
  %operand = load i32, ptr %row
  %p.result = getelementptr { i32, i32, i64 }, ptr %row, i32 0, i32 1
  %result = load i32, ptr %p.result
  %p.item = getelementptr { i32, i32, i64 }, ptr %row, i32 0, i32 2
  %item = load i64, ptr %p.item
  %no.result = icmp slt i32 %result, 0
  %no.operand = icmp slt i32 %operand, 0
  %list = select i1 %no.result, ptr %argv, ptr %retv
  %index = select i1 %no.result, i32 %operand, i32 %result
  %p.buffer = getelementptr ptr, ptr %list, i32 %index
  %buffer = load ptr, ptr %p.buffer
  %p.data = getelementptr i8, ptr %buffer, i64 <Buffer.data>
  %data = load ptr, ptr %p.data
  %p.rank = getelementptr i8, ptr %buffer, i64 <Buffer.rank>
  %rank = load i64, ptr %p.rank
  %p.dims = getelementptr i8, ptr %buffer, i64 <Buffer.dims>
  %dims = load ptr, ptr %p.dims
  br label %dim
dim:
  %k = phi i64 [0, %slot.body], [%k.next, %dim.body]
  %count = phi i64 [1, %slot.body], [%count.next, %dim.body]
  %more.dims = icmp slt i64 %k, %rank
  br i1 %more.dims, label %dim.body, label %dims.done
dim.body:
  %p.extent = getelementptr i64, ptr %dims, i64 %k
  %extent = load i64, ptr %p.extent
  %count.next = mul i64 %count, %extent
  %k.next = add i64 %k, 1
  br label %dim
dims.done:
  %p.pointer = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %p.pointer
  %p.dtype = getelementptr i8, ptr %buffer, i64 <Buffer.dtype>
  %dtype = load i32, ptr %p.dtype
  %p.width = getelementptr i8, ptr @reactant.widths, i32 %dtype
  %width8 = load i8, ptr %p.width
  %width = zext i8 %width8 to i64
  %bytes = mul i64 %count, %width
  %elements = udiv i64 %bytes, %item
  %p.size = getelementptr i64, ptr %sizes, i64 %i
  store i64 %elements, ptr %p.size
  %one.side = or i1 %no.result, %no.operand
  br i1 %one.side, label %slot.done, label %in.place
in.place:
  %p.source.buffer = getelementptr ptr, ptr %argv, i32 %operand
  %source.buffer = load ptr, ptr %p.source.buffer
  %p.source = getelementptr i8, ptr %source.buffer, i64 <Buffer.data>
  %source = load ptr, ptr %p.source
  %same = icmp eq ptr %source, %data
  br i1 %same, label %slot.done, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %source, i64 %bytes, i1 false)
  br label %slot.done
slot.done:
  %i.next = add i64 %i, 1
  br label %slot
pool:
  %p.api = getelementptr i8, ptr %frame, i64 <CallFrame.api>
  %api = load ptr, ptr %p.api
  %p.ctx = getelementptr i8, ptr %frame, i64 <CallFrame.ctx>
  %ctx = load ptr, ptr %p.ctx
  store i64 1, ptr %threads
  store i64 <NumThreads.bytes>, ptr %asked
  %p.asked.ext = getelementptr i8, ptr %asked, i64 <NumThreads.extension_start>
  store ptr null, ptr %p.asked.ext
  %p.asked.ctx = getelementptr i8, ptr %asked, i64 <NumThreads.ctx>
  store ptr %ctx, ptr %p.asked.ctx
  %p.asked.n = getelementptr i8, ptr %asked, i64 <NumThreads.num_threads>
  store ptr %threads, ptr %p.asked.n
  %p.ask = getelementptr i8, ptr %api, i64 <Api.XLA_FFI_ThreadPool_NumThreads>
  %ask = load ptr, ptr %p.ask
  %refused = call ptr %ask(ptr %asked)
  %alone = icmp ne ptr %refused, null
  br i1 %alone, label %no.pool, label %run
no.pool:
  call void @reactant.forget(ptr %api, ptr %refused)
  store i64 1, ptr %threads
  br label %run
run:
  %n.threads = load i64, ptr %threads
  store <RUNTIME> zeroinitializer, ptr %rt
  %rt.schedule = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 2
  store ptr @reactant.schedule, ptr %rt.schedule
  %rt.api = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 3
  store ptr %api, ptr %rt.api
  %rt.ctx = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 4
  store ptr %ctx, ptr %rt.ctx
  %rt.threads = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 5
  store i64 %n.threads, ptr %rt.threads
  %p.entry = getelementptr <DESCRIPTION>, ptr %d, i32 0, i32 3
  %function = load ptr, ptr %p.entry
  %mode = call i32 @reactant.exact()
  call void %function(ptr %rt, ptr %pointers, ptr %sizes)
  %p.keeps = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 1
  %keeps = load i32, ptr %p.keeps
  %kept = icmp ne i32 %keeps, 0
  br i1 %kept, label %checked, label %back
back:
  call void @reactant.restore(i32 %mode)
  br label %checked
checked:
  %status = load i32, ptr %rt
  %good = icmp eq i32 %status, 0
  br i1 %good, label %fine, label %failed
failed:
  %p.messages = getelementptr <DESCRIPTION>, ptr %d, i32 0, i32 6
  %messages = load ptr, ptr %p.messages
  %which = sub i32 %status, 1
  %p.message = getelementptr ptr, ptr %messages, i32 %which
  %message = load ptr, ptr %p.message
  br label %report
wrong:
  br label %report
report:
  %text = phi ptr [%message, %failed], [@reactant.wrong, %wrong]
  %code = phi i32 [11, %failed], [13, %wrong]
  store i64 <Error.bytes>, ptr %error
  %e.ext = getelementptr i8, ptr %error, i64 <Error.extension_start>
  store ptr null, ptr %e.ext
  %e.message = getelementptr i8, ptr %error, i64 <Error.message>
  store ptr %text, ptr %e.message
  %e.code = getelementptr i8, ptr %error, i64 <Error.errc>
  store i32 %code, ptr %e.code
  %p.api2 = getelementptr i8, ptr %frame, i64 <CallFrame.api>
  %api2 = load ptr, ptr %p.api2
  %p.create = getelementptr i8, ptr %api2, i64 <Api.XLA_FFI_Error_Create>
  %create = load ptr, ptr %p.create
  %made.error = call ptr %create(ptr %error)
  ret ptr %made.error
}

; bytes of an element by XLA_FFI_DataType; those of fewer than 8 bits never come here
@reactant.widths = internal constant [64 x i8] c"<WIDTHS>"
@reactant.wrong = internal constant [62 x i8] c"a native function was called with a wrong number of buffers\\00\\00\\00"

define internal void @reactant.forget(ptr %api, ptr %error) #0 {
  %asked = alloca [<Destroy.bytes> x i8], align 8
  store i64 <Destroy.bytes>, ptr %asked
  %p.ext = getelementptr i8, ptr %asked, i64 <Destroy.extension_start>
  store ptr null, ptr %p.ext
  %p.error = getelementptr i8, ptr %asked, i64 <Destroy.error>
  store ptr %error, ptr %p.error
  %p.destroy = getelementptr i8, ptr %api, i64 <Api.XLA_FFI_Error_Destroy>
  %destroy = load ptr, ptr %p.destroy
  call void %destroy(ptr %asked)
  ret void
}

; XLA lets its threads take tiny numbers for zero; native code computes as NumPy does
<MODES>

declare double @sin(double)
declare double @cos(double)
declare double @tan(double)
define double @reactant.library.sin(double %x) #0 {
  %y = call double @sin(double %x)
  ret double %y
}
define double @reactant.library.cos(double %x) #0 {
  %y = call double @cos(double %x)
  ret double %y
}
define double @reactant.library.tan(double %x) #0 {
  %y = call double @tan(double %x)
  ret double %y
}

; hand task(data) to XLA's threads; whether they took it
define internal i1 @reactant.schedule(ptr %rt, ptr %task, ptr %data) #0 {
  %asked = alloca [<Schedule.bytes> x i8], align 8
  %p.api = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 3
  %api = load ptr, ptr %p.api
  %p.ctx = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 4
  %ctx = load ptr, ptr %p.ctx
  store i64 <Schedule.bytes>, ptr %asked
  %p.ext = getelementptr i8, ptr %asked, i64 <Schedule.extension_start>
  store ptr null, ptr %p.ext
  %a.ctx = getelementptr i8, ptr %asked, i64 <Schedule.ctx>
  store ptr %ctx, ptr %a.ctx
  %a.task = getelementptr i8, ptr %asked, i64 <Schedule.task>
  store ptr %task, ptr %a.task
  %a.data = getelementptr i8, ptr %asked, i64 <Schedule.data>
  store ptr %data, ptr %a.data
  %p.call = getelementptr i8, ptr %api, i64 <Api.XLA_FFI_ThreadPool_Schedule>
  %schedule = load ptr, ptr %p.call
  %error = call ptr %schedule(ptr %asked)
  %taken = icmp eq ptr %error, null
  br i1 %taken, label %yes, label %no
yes:
  ret i1 true
no:
  call void @reactant.forget(ptr %api, ptr %error)
  ret i1 false
}

; taken, done, references, n, piece, task, data, runtime, taken from the end
%job = type { i64, i64, i64, i64, i64, ptr, ptr, ptr, i64 }

; the caller takes pieces from the beginning, helpers from the end: in the next loop over the same arrays
; each finds most of its part in its own caches
define internal void @reactant.pieces(ptr %job, i1 %helps) #0 {
entry:
  %p.n = getelementptr %job, ptr %job, i32 0, i32 3
  %n = load i64, ptr %p.n
  %p.piece = getelementptr %job, ptr %job, i32 0, i32 4
  %piece = load i64, ptr %p.piece
  %p.back = getelementptr %job, ptr %job, i32 0, i32 8
  %up = add i64 %n, %piece
  %up1 = sub i64 %up, 1
  %count = sdiv i64 %up1, %piece
  br label %take
take:
  %front = phi i64 [0, %entry], [%front.next, %worked]
  %taken = atomicrmw add ptr %job, i64 1 seq_cst
  %some = icmp slt i64 %taken, %count
  br i1 %some, label %choose, label %end
choose:
  br i1 %helps, label %from.back, label %work
from.back:
  %before = atomicrmw add ptr %p.back, i64 1 seq_cst
  %left = sub i64 %count, 1
  %behind = sub i64 %left, %before
  br label %work
work:
  %which = phi i64 [%front, %choose], [%behind, %from.back]
  %first = mul i64 %which, %piece
  %reach = add i64 %first, %piece
  %over = icmp sgt i64 %reach, %n
  %last = select i1 %over, i64 %n, i64 %reach
  %p.task = getelementptr %job, ptr %job, i32 0, i32 5
  %task = load ptr, ptr %p.task
  %p.data = getelementptr %job, ptr %job, i32 0, i32 6
  %data = load ptr, ptr %p.data
  %p.rt = getelementptr %job, ptr %job, i32 0, i32 7
  %rt = load ptr, ptr %p.rt
  %mode = call i32 @reactant.exact()
  call void %task(ptr %data, ptr %rt, i64 %first, i64 %last)
  call void @reactant.restore(i32 %mode)
  %length = sub i64 %last, %first
  %p.done = getelementptr %job, ptr %job, i32 0, i32 1
  atomicrmw add ptr %p.done, i64 %length seq_cst
  br label %worked
worked:
  %front.next = add i64 %front, 1
  br label %take
end:
  ret void
}

define internal void @reactant.release(ptr %job) #0 {
  %p = getelementptr %job, ptr %job, i32 0, i32 2
  %before = atomicrmw sub ptr %p, i64 1 seq_cst
  %was.last = icmp eq i64 %before, 1
  br i1 %was.last, label %drop, label %keep
drop:
  call void @free(ptr %job)
  ret void
keep:
  ret void
}

define internal void @reactant.help(ptr %job) #0 {
  call void @reactant.pieces(ptr %job, i1 true)
  call void @reactant.release(ptr %job)
  ret void
}

define void @reactant.parallel(ptr %rt, ptr %task, ptr %data, i64 %n, i64 %least) #0 {
entry:
  %p.threads = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 5
  %threads = load i64, ptr %p.threads
  %shares = mul i64 %threads, <PIECES>
  %round = add i64 %n, %shares
  %above = sub i64 %round, 1
  %even = sdiv i64 %above, %shares
  %small = icmp slt i64 %even, %least
  %piece = select i1 %small, i64 %least, i64 %even
  %up = add i64 %n, %piece
  %up1 = sub i64 %up, 1
  %pieces = sdiv i64 %up1, %piece
  %fewer = icmp slt i64 %pieces, %threads
  %hands = select i1 %fewer, i64 %pieces, i64 %threads
  %single = icmp sle i64 %hands, 1
  br i1 %single, label %alone, label %together
alone:
  call void %task(ptr %data, ptr %rt, i64 0, i64 %n)
  ret void
together:
  %job = call ptr @malloc(i64 72)
  %p.from.back = getelementptr %job, ptr %job, i32 0, i32 8
  store i64 0, ptr %p.from.back
  store i64 0, ptr %job
  %p.done = getelementptr %job, ptr %job, i32 0, i32 1
  store i64 0, ptr %p.done
  %p.refs = getelementptr %job, ptr %job, i32 0, i32 2
  store i64 1, ptr %p.refs
  %p.n = getelementptr %job, ptr %job, i32 0, i32 3
  store i64 %n, ptr %p.n
  %p.piece = getelementptr %job, ptr %job, i32 0, i32 4
  store i64 %piece, ptr %p.piece
  %p.task = getelementptr %job, ptr %job, i32 0, i32 5
  store ptr %task, ptr %p.task
  %p.data = getelementptr %job, ptr %job, i32 0, i32 6
  store ptr %data, ptr %p.data
  %p.rt = getelementptr %job, ptr %job, i32 0, i32 7
  store ptr %rt, ptr %p.rt
  %p.schedule = getelementptr <RUNTIME>, ptr %rt, i32 0, i32 2
  %schedule = load ptr, ptr %p.schedule
  br label %call
call:
  %h = phi i64 [1, %together], [%h.next, %called]
  %enough = icmp sge i64 %h, %hands
  br i1 %enough, label %work, label %one.more
one.more:
  atomicrmw add ptr %p.refs, i64 1 seq_cst
  %taken = call i1 %schedule(ptr %rt, ptr @reactant.help, ptr %job)
  br i1 %taken, label %called, label %not.taken
not.taken:
  atomicrmw sub ptr %p.refs, i64 1 seq_cst
  br label %work
called:
  %h.next = add i64 %h, 1
  br label %call
work:
  call void @reactant.pieces(ptr %job, i1 false)
  br label %wait
wait:
  %iteration = phi i64 [0, %work], [%iteration.next, %pause]
  %done = load atomic i64, ptr %p.done seq_cst, align 8
  %all = icmp sge i64 %done, %n
  br i1 %all, label %end, label %patience
patience:
  %iteration.next = add i64 %iteration, 1
  %spin = icmp slt i64 %iteration, 200
  br i1 %spin, label %quick, label %slow
quick:
  call void asm sideeffect "<PAUSE>", ""()
  br label %pause
slow:
  %brief = icmp slt i64 %iteration, 400
  br i1 %brief, label %yield, label %sleep
yield:
  call i32 @sched_yield()
  br label %pause
sleep:
  call i32 @usleep(i32 50)
  br label %pause
pause:
  br label %wait
end:
  call void @reactant.release(ptr %job)
  ret void
}

; a frame of a coroutine: all threads of a block have frames of one size, side by side
define ptr @reactant.frame(ptr %state, i64 %size, i64 %n, i64 %number) #0 {
  %more = add i64 %size, 63
  %rounded = and i64 %more, -64
  %offset = mul i64 %rounded, %number
  %arena = load ptr, ptr %state
  %none = icmp eq ptr %arena, null
  br i1 %none, label %make, label %have
make:
  %all = mul i64 %rounded, %n
  %made = call ptr @aligned_alloc(i64 64, i64 %all)
  store ptr %made, ptr %state
  br label %have
have:
  %base = phi ptr [%arena, %0], [%made, %make]
  %frame = getelementptr i8, ptr %base, i64 %offset
  ret ptr %frame
}

attributes #0 = { <ATTRIBUTES> }
"""
EXPORTED = ("reactant.handle", "reactant.parallel", "reactant.frame", "reactant.library.sin", "reactant.library.cos",
            "reactant.library.tan", "reactant.exact")
_X86_MODES = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i32 @reactant.exact() #0 {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %mode = load i32, ptr %place
  %exact = and i32 %mode, -32833
  store i32 %exact, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret i32 %mode
}
define internal void @reactant.restore(i32 %mode) #0 {
  %place = alloca i32
  store i32 %mode, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
"""
_ARM_MODES = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define i32 @reactant.exact() #0 {
  %mode = call i64 @llvm.aarch64.get.fpcr()
  %exact = and i64 %mode, -16777217
  call void @llvm.aarch64.set.fpcr(i64 %exact)
  %short = trunc i64 %mode to i32
  ret i32 %short
}
define internal void @reactant.restore(i32 %short) #0 {
  %mode = zext i32 %short to i64
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}
"""
PIECES_PER_THREAD = 8
_WIDTHS = {3: 2, 7: 2, 10: 2, 16: 2, 4: 4, 8: 4, 11: 4, 5: 8, 9: 8, 12: 8, 15: 8, 18: 16}


def width_of(kind: int) -> int:
    """Bytes of an element of an `XLA_FFI_DataType`; those of fewer than 8 bits never come here."""
    return _WIDTHS.get(kind, 1)


_STRUCTS = {"CallFrame": "XLA_FFI_CallFrame", "Buffer": "XLA_FFI_Buffer", "Args": "XLA_FFI_Args",
            "Rets": "XLA_FFI_Rets", "Metadata": "XLA_FFI_Metadata", "Version": "XLA_FFI_Api_Version",
            "MetaExtension": "XLA_FFI_Metadata_Extension", "Base": "XLA_FFI_Extension_Base", "Api": "XLA_FFI_Api",
            "Error": "XLA_FFI_Error_Create_Args", "Destroy": "XLA_FFI_Error_Destroy_Args",
            "NumThreads": "XLA_FFI_ThreadPool_NumThreads_Args", "Schedule": "XLA_FFI_ThreadPool_Schedule_Args"}
_once = threading.Lock()


def text() -> str:
    """The LLVM IR, with the installed jaxlib's struct layouts."""
    header = ffi.header()
    words = {"RUNTIME": RUNTIME, "DESCRIPTION": DESCRIPTION, "ATTRIBUTES": engine.attributes(),
             "PIECES": str(PIECES_PER_THREAD),
             "WIDTHS": "".join(f"\\{_WIDTHS.get(i, 1):02X}" for i in range(64)),
             "major": str(header.version[0]), "minor": str(header.version[1]),
             "MODES": _X86_MODES if engine.is_x86() else _ARM_MODES,
             "PAUSE": "pause" if engine.is_x86() else "yield"}

    def word(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in words:
            return words[name]
        struct, _, field = name.partition(".")
        found = header.struct(_STRUCTS[struct])
        return str(found.size if field == "bytes" else found.offsets[field])
    return re.sub(r"<([A-Za-z_.]+)>", word, _TEXT)


def addresses() -> dict[str, int]:
    """Where the functions named in `EXPORTED` are."""
    with _once:
        return _loaded()


@cache
def _loaded() -> dict[str, int]:
    return objects.addresses_of("reactant.support") or engine.load(text(), "reactant.support", EXPORTED, {})
