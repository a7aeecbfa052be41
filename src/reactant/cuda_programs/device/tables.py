"""What a device object tells the runtime: its kernels and variables (`runtime/reactant_launch.h`)."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from reactant.cuda_programs.device.affine import ZERO
from reactant.cuda_programs.device.kernel import Parameter
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.retarget import Variable
from reactant.cuda_programs.device.text import quoted, text_constant
from reactant.cuda_programs.device.versions import Version
from reactant.support.records import dataclass

VERSION = 3
GRID_BARRIER, CHECKED, RACES = 1, 4, 8
"""Flags of kernels,"""
CONSTANT = 1
"""and one of variables (`runtime/reactant_launch.h`)."""


@dataclass
class Entry:
    """One kernel in the table."""

    name: str
    function: str
    parameters: Sequence[Parameter]
    flags: int = 0
    max_threads: int = 0
    static_shared: int = 0
    work: int = 0
    versions: list[tuple[Version, str, bool]] = field(default_factory=list)
    """Others, the functions that run their blocks, whether rows of threads have to be whole warps."""
    reach: tuple[str, int] = ("", 0)
    """The function that says what blocks access ("": none), and how many accesses it writes down at most."""


def _places(layout: Layout, parameters: Sequence[Parameter]) -> list[tuple[int, int]]:
    """(offset, size) of each in CUDA's parameter buffer."""
    found, end = [], 0
    for parameter in parameters:
        align = layout.align(parameter.value)
        if parameter.by_address and (said := re.search(r"\balign (\d+)", parameter.text)):
            align = max(align, int(said[1]))
        size = layout.size(parameter.value)
        end = -(-end // align) * align
        found.append((end, size))
        end += size
    return found


def _versions(number: int, kernel: Entry) -> str:
    """The table of a kernel's other versions."""
    texts, rows = [], []
    for k, (version, function, warps) in enumerate(kernel.versions):
        name = f"@reactant.version.{number}.{k}"
        texts.append(text_constant(name, version.label))
        factors = [f"[3 x i32] [{', '.join(f'i32 {n}' for n in each)}]"
                   for each in (version.factors.threads, version.factors.blocks)]
        rows.append(f"%reactant.version {{ ptr {name}, ptr @{quoted(function)}, {', '.join(factors)}, "
                    f"i32 {int(warps)}, i32 0 }}")
    return "".join([*texts, f"@reactant.versions.{number} = private constant [{len(rows)} x %reactant.version] "
                            f"[{', '.join(rows)}]\n"])


def tables(layout: Layout, identity: str, kernels: Sequence[Entry], symbols: Sequence[tuple[Variable, int]],
           code: int = 0) -> str:
    """LLVM IR of the tables, and of a constructor that registers them; `code`: a number for the module's code."""
    text = ["%reactant.kernel = type { ptr, ptr, i32, i32, i64, i64, i32, i32, i32, i32, ptr, ptr, ptr, i32, i32 }\n"
            "%reactant.version = type { ptr, ptr, [3 x i32], [3 x i32], i32, i32 }\n"
            "%reactant.symbol = type { ptr, ptr, i64, i32, i32 }\n"
            "%reactant.module = type { i32, i32, ptr, ptr, i64, ptr, i64 }\n",
            text_constant("@reactant.identity", identity)]
    rows = []
    for number, k in enumerate(kernels):
        places = _places(layout, k.parameters)
        listed = ", ".join(f"{{ i32, i32 }} {{ i32 {offset}, i32 {size} }}" for offset, size in places)
        text.append(f"@reactant.parameters.{number} = private constant [{len(places)} x {{ i32, i32 }}] [{listed}]\n")
        text.append(text_constant(f"@reactant.name.{number}", k.name))
        text.append(_versions(number, k))
        reach = f"ptr @{quoted(k.reach[0])}" if k.reach[0] else "ptr null"
        rows.append(f"%reactant.kernel {{ ptr @reactant.name.{number}, ptr @{quoted(k.function)}, i32 {k.flags}, "
                    f"i32 {k.max_threads}, i64 {k.static_shared}, i64 0, i32 0, i32 {k.work}, i32 {len(places)}, "
                    f"i32 {len(k.versions)}, ptr @reactant.parameters.{number}, ptr @reactant.versions.{number}, "
                    f"{reach}, i32 {k.reach[1]}, i32 0 }}")
    text.append(f"@reactant.kernels = private constant [{len(rows)} x %reactant.kernel] [{', '.join(rows)}]\n")
    lines = []
    for number, (variable, flags) in enumerate(symbols):
        text.append(text_constant(f"@reactant.variable.{number}", variable.name))
        lines.append(f"%reactant.symbol {{ ptr @reactant.variable.{number}, ptr @{quoted(variable.name)}, "
                     f"i64 {layout.size(variable.type)}, i32 {flags}, i32 0 }}")
    text.append(f"@reactant.symbols = private constant [{len(lines)} x %reactant.symbol] [{', '.join(lines)}]\n")
    text.append(f"@reactant.module = private constant %reactant.module {{ i32 {VERSION}, i32 {code}, "
                f"ptr @reactant.identity, ptr @reactant.kernels, i64 {len(rows)}, ptr @reactant.symbols, "
                f"i64 {len(lines)} }}\n")
    # llvmlite would put llvm.global_ctors into .ctors, which lld does not follow.
    text.append('@reactant.start = internal constant ptr @reactant.register, section ".init_array", align 8\n'
                '@llvm.used = appending global [1 x ptr] [ptr @reactant.start], section "llvm.metadata"\n'
                f"{ZERO} = external global i32\n"
                "declare void @reactant_register_module(ptr)\n"
                "define internal void @reactant.register() {\n  call void @reactant_register_module(ptr "
                "@reactant.module)\n  ret void\n}\n")
    return "".join(text)
