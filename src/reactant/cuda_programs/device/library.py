"""Functions that device code calls and clang leaves open, as LLVM IR: registers, memory, messages, mathematics.

What threads do together stays a call of a `reactant.` name (`meetings`), where a thread is of a register
(`REGISTERS`): both mean something within a kernel only.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

from reactant.kernels.llvm_ir import device_library
from reactant.kernels.llvm_ir.device_library import Declared
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of

AXES = "xyz"
REGISTERS: dict[str, str] = {
    **{f"nvvm.read.ptx.sreg.{kind}.{axis}": "i32" for kind in ("tid", "ctaid", "ntid", "nctaid") for axis in AXES},
    "reactant.launch": "ptr", "reactant.dynamic_shared": "i64"}
"""What a thread knows of itself: name of the function without arguments that says it -> its type."""

_SREG = "nvvm.read.ptx.sreg."
_HERE = ("%p = call ptr @reactant.launch()\n%b = call i64 @reactant.block()\n%t32 = call i32 @reactant.thread()\n"
         "%t = zext i32 %t32 to i64\n")
_ASSERT = (_HERE + "call void @reactant_device_assert(ptr %p, i64 %b, i64 %t, ptr %0, ptr %1, i32 %2, ptr %3)\n"
           "unreachable")
_TRAP = _HERE + "call void @reactant_device_trap(ptr %p, i64 %b, i64 %t, i32 719, ptr null)\nunreachable"

CURRENT = "reactant_device_current"
"""The variable of a CPU thread that says which thread it runs (`current`),"""
CURRENT_SIZE = 16 + 4 * 12 + 16
"""and its bytes."""
# What functions that are not inlined know of their thread is the launched kernel's meanwhile.
_LAUNCH = (f"%k = alloca [{CURRENT_SIZE} x i8], align 16\n%c = call ptr @llvm.threadlocal.address.p0(ptr @{CURRENT})\n"
           f"call void @llvm.memcpy.p0.p0.i64(ptr %k, ptr %c, i64 {CURRENT_SIZE}, i1 false)\n"
           "%r = call i32 @reactant_launch_from_device(ptr %0, ptr %1, ptr %2, ptr %3, i32 %4)\n"
           f"call void @llvm.memcpy.p0.p0.i64(ptr %c, ptr %k, i64 {CURRENT_SIZE}, i1 false)")

BODIES: dict[str, str] = {
    "vprintf": "%r = call i32 @reactant_device_printf(ptr %0, ptr %1)",
    **dict.fromkeys(("malloc", "_Znwm", "_Znam"), "%r = call ptr @reactant_device_malloc(i64 %0)"),
    "calloc": "%n = mul i64 %0, %1\n%r = call ptr @reactant_device_malloc(i64 %n)\n%z = icmp eq ptr %r, null\n"
              "br i1 %z, label %out, label %clear\nclear:\n"
              "call void @llvm.memset.p0.i64(ptr %r, i8 0, i64 %n, i1 false)\nbr label %out\nout:",
    **dict.fromkeys(("free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"), "call void @reactant_device_free(ptr %0)"),
    "__assertfail": _ASSERT, "__assert_fail": _ASSERT,
    "__reactant_trap": _TRAP, "__cxa_pure_virtual": _TRAP, "__cxa_deleted_virtual": _TRAP,
    f"{_SREG}clock": "%c = call i64 @reactant_device_clock()\n%r = trunc i64 %c to i32",
    f"{_SREG}clock64": "%r = call i64 @reactant_device_clock()",
    f"{_SREG}globaltimer": "%r = call i64 @reactant_device_nanoseconds()",
    f"{_SREG}smid": "%r = add i32 0, 0", f"{_SREG}nsmid": "%r = add i32 1, 0",
    f"{_SREG}gridid": "%r = add i32 0, 0",
    f"{_SREG}nwarpid": "%r = add i32 32, 0",
    "reactant.block": f"%gx32 = call i32 @{_SREG}nctaid.x()\n%gy32 = call i32 @{_SREG}nctaid.y()\n"
                      f"%x32 = call i32 @{_SREG}ctaid.x()\n%y32 = call i32 @{_SREG}ctaid.y()\n"
                      f"%z32 = call i32 @{_SREG}ctaid.z()\n"
                      + "".join(f"%{n} = zext i32 %{n}32 to i64\n" for n in ("gx", "gy", "x", "y", "z"))
                      + "%zy = mul i64 %z, %gy\n%yz = add i64 %zy, %y\n%yx = mul i64 %yz, %gx\n%r = add i64 %yx, %x",
    "reactant.thread": f"%nx = call i32 @{_SREG}ntid.x()\n%ny = call i32 @{_SREG}ntid.y()\n"
                       f"%x = call i32 @{_SREG}tid.x()\n%y = call i32 @{_SREG}tid.y()\n"
                       f"%z = call i32 @{_SREG}tid.z()\n%zy = mul nuw nsw i32 %z, %ny\n%yz = add nuw nsw i32 %zy, %y\n"
                       "%yx = mul nuw nsw i32 %yz, %nx\n%r = add nuw nsw i32 %yx, %x",
    "reactant.laneid": "%t = call i32 @reactant.thread()\n%r = and i32 %t, 31",
    "nvvm.barrier.cta.sync.aligned.all": "call void @reactant.barrier.block()",
    "nvvm.barrier.cta.sync.all": "call void @reactant.barrier.block()",
    "nvvm.barrier0": "call void @reactant.barrier.block()",
    "nvvm.exit": "call void @reactant.exit()",
    "cudaGetParameterBuffer": "%r = call ptr @reactant_parameter_buffer(i64 %1)", "cudaLaunchDevice": _LAUNCH,
    "cudaGetLastError": "%r = call i32 @reactant_last_error_of_device(i32 1)",
    "cudaPeekAtLastError": "%r = call i32 @reactant_last_error_of_device(i32 0)",
}
"""Name -> body: `%0`, `%1`... are the arguments, `%r` what is returned."""
DECLARED: dict[str, tuple[str, tuple[str, ...]]] = {
    "reactant.launch": ("ptr", ()), "reactant.dynamic_shared": ("i64", ()), "reactant.block": ("i64", ()),
    "reactant.thread": ("i32", ()), "reactant.laneid": ("i32", ())}
_EXTERNAL = """declare noalias ptr @reactant_device_malloc(i64) nounwind
declare void @reactant_device_free(ptr) nounwind
declare i32 @reactant_device_printf(ptr, ptr) nounwind
declare void @reactant_device_assert(ptr, i64, i64, ptr, ptr, i32, ptr) noreturn cold
declare void @reactant_device_trap(ptr, i64, i64, i32, ptr) noreturn cold
declare ptr @reactant_parameter_buffer(i64) nounwind
declare i32 @reactant_launch_from_device(ptr, ptr, ptr, ptr, i32) nounwind
declare i32 @reactant_last_error_of_device(i32) nounwind
declare i64 @reactant_device_clock() nounwind
declare i64 @reactant_device_nanoseconds() nounwind
declare void @reactant.barrier.block() convergent nounwind
declare noalias ptr @reactant_scratch(i64) nounwind
declare void @reactant_grid_wait(ptr) nounwind
declare i32 @reactant_run_block(ptr) nounwind
declare void @reactant_reduce_block(ptr, i32) nounwind
declare void @reactant_answer_warp(i32, ptr, ptr, ptr, ptr, ptr) nounwind
declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @llvm.smax.i32(i32, i32)
declare i1 @llvm.vector.reduce.and.v16i1(<16 x i1>)
declare i1 @llvm.vector.reduce.and.v32i1(<32 x i1>)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull)
"""
"""What the runtime has."""

def signature(declaration: str) -> Declared:
    """The name and the types of a `declare` line."""
    found = re.match(r'declare ([^@\n]*)@("[^"]*"|[-\w$.]+)\((.*)\)[^()\n]*(?:memory\([^)]*\)[^()\n]*)?$',
                     declaration.strip())
    assert found is not None, declaration
    result = re.sub(r"\b(fastcc|ccc|extern_weak|weak|hidden|protected|default)\b", "", found[1])
    return Declared(found[2].strip('"'), type_of(result), tuple(map(type_of, split_arguments(found[3]))))


def definitions(declarations: Iterable[str]) -> tuple[str, set[str]]:
    """(LLVM IR of what a module declares and we define, the names), with what those need in turn."""
    wanted = [signature(d) for d in declarations]
    done: dict[str, str] = {}
    while wanted:
        function = wanted.pop()
        if function.name in done or function.name in REGISTERS:
            continue
        text = _defined(function)
        if text is None:
            continue
        done[function.name] = text
        for name in re.findall(r"@([-\w$.]+)\(", text):
            if name in done or name in REGISTERS:
                continue
            known: tuple[str, tuple[str, ...]] | None = DECLARED.get(name)
            if known is None and name.startswith(_SREG):
                known = "i32", ()
            if known is None and (called := _called(name, text)) is not None:
                known = called
            if known is not None:
                wanted.append(Declared(name, *known))
    return "".join(done.values()), set(done)


def _called(name: str, text: str) -> tuple[str, tuple[str, ...]] | None:
    """The type of a function by a call of it."""
    found = re.search(rf"call ([^@\n]*)@{re.escape(name)}\((.*)\)$", text, re.MULTILINE)
    if found is None or name.startswith(("llvm.", "reactant_")):
        return None
    return type_of(found[1]), tuple(map(type_of, split_arguments(found[2])))


def _defined(function: Declared) -> str | None:
    body = BODIES.get(function.name)
    if body is None:
        if function.name.startswith("llvm."):
            return None
        return device_library.definition(function, (0, 0, 0), (0, 0, 0))
    arguments = ", ".join(f"{t} %a{i}" for i, t in enumerate(function.arguments))
    body = re.sub(r"%(\d+)\b", r"%a\1", body)
    end = "" if body.endswith("unreachable") else f"\nret {function.result} %r" if function.result != "void" \
        else "\nret void"
    return f'define internal {function.result} @"{function.name}"({arguments}) alwaysinline {{\n{body}{end}\n}}\n'


def undeclared(added: str, text: str) -> str:
    """Declarations of C's mathematics that definitions call and nobody declares."""
    there = set(re.findall(r'^(?:declare|define) [^@\n]*@"?([-\w$.]+)"?\(', text + added, re.MULTILINE))
    made: dict[str, str] = {}
    for result, name, given in re.findall(r"= call (\w+) @(\w+)\(([^()\n]*)\)$", added, re.MULTILINE):
        if name not in there and not name.startswith("reactant"):
            kinds = ", ".join(type_of(a) for a in split_arguments(given))
            made[name] = f"declare {result} @{name}({kinds}) {device_library.attributes(name) or 'nounwind'}\n"
    return "".join(made.values())


def external(text: str) -> str:
    """Declarations of the runtime's functions that a text lacks."""
    there = set(re.findall(r'^(?:declare|define) [^@\n]*@"?([-\w$.]+)"?\(', text, re.MULTILINE))
    return "".join(line + "\n" for line in _EXTERNAL.splitlines()
                   if (m := re.search(r"@([-\w$.]+)\(", line)) and m[1] not in there and m[1] in text)
