"""Functions that are not inlined into kernels (recursive ones, those that are called by address) know their thread by
a variable of the CPU thread, which kernels that call such functions keep."""
from __future__ import annotations

from reactant.cuda_programs.device import library
from reactant.cuda_programs.device.kernel import register_name
from reactant.cuda_programs.device.text import Module, quoted

VARIABLE = library.CURRENT
OFFSETS = {register: 16 + 4 * number for number, register in enumerate(
    r for r, kind in library.REGISTERS.items() if kind == "i32")} | {
    "reactant.launch": 0, "reactant.dynamic_shared": 8}


def with_current(module: Module, kept_by_kernels: bool) -> str:
    """The module without its kernels, whose functions read registers from the variable."""
    text = module.text()
    used = [r for r in library.REGISTERS if f"@{r}(" in text]
    if not used and not kept_by_kernels:
        return text
    for register in used:
        kind = library.REGISTERS[register]
        lines = [line for line in text.split("\n") if not (line.startswith("declare") and f"@{register}(" in line)]
        text = "\n".join(lines)
        text += (f"\ndefine internal {kind} @{quoted(register)}() alwaysinline {{\n"
                 f"  %a = call ptr @llvm.threadlocal.address.p0(ptr @{VARIABLE})\n"
                 f"  %p = getelementptr i8, ptr %a, i64 {OFFSETS[register]}\n  %r = load {kind}, ptr %p\n"
                 f"  ret {kind} %r\n}}\n")
    return text + (f"@{VARIABLE} = linkonce_odr hidden thread_local global [{library.CURRENT_SIZE} x i8] "
                   "zeroinitializer, align 16\n")


def kept() -> list[str]:
    """Instructions that write the registers of a thread, which are values of a function, into the variable."""
    lines = [f"%current = call ptr @llvm.threadlocal.address.p0(ptr @{VARIABLE})"]
    for number, (register, kind) in enumerate(library.REGISTERS.items()):
        lines += [f"%current.{number} = getelementptr i8, ptr %current, i64 {OFFSETS[register]}",
                  f"store {kind} {register_name(register)}, ptr %current.{number}"]
    return lines
