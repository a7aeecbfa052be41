"""Kernels that launch kernels: a launch names its kernel by a constant of two pointers, its name and its row in the
table of the object, null for a kernel of another file.

A launch is over when it returns, which is one of the orders that CUDA allows: a grid runs at some time between its
launch and the end of the grid that launches it.
"""
from __future__ import annotations

import re
from collections.abc import Sequence

from reactant.cuda_programs.device.library import CURRENT, CURRENT_SIZE
from reactant.cuda_programs.device.text import NAME, quoted, text_constant

PREFIX = "reactant.launched."
_USED = re.compile(r"^@(llvm\.(compiler\.)?used|__clang_gpu_used_external) = .*\n", re.MULTILINE)
_LAUNCH = re.compile(rf"@cudaLaunchDevice\(ptr [^,\n]*?@({NAME})")


def named(text: str, kernels: Sequence[str]) -> tuple[str, list[str]]:
    """(The module in which what launches refer to is a constant, the kernels that are launched)."""
    if "@cudaLaunchDevice(" not in text:
        return text, []
    text = _USED.sub("", text)
    launched = {m[1].strip('"') for m in _LAUNCH.finditer(text)}
    launched |= {k for k in kernels if re.search(rf"@{re.escape(quoted(k))}(?![-\w$.(])", text)}
    for name in sorted(launched):
        plain = re.escape(quoted(name))
        text = re.sub(rf"^declare [^\n@]*@{plain}\([^\n]*\n", "", text, flags=re.MULTILINE)
        constant = f"@{quoted(PREFIX + name)}".replace("\\", r"\\")
        text = re.sub(rf"@{plain}(?![-\w$.(])", constant, text)
        text += f"\n@{quoted(PREFIX + name)} = external constant [2 x ptr]\n"
    return f"{text}\n@{CURRENT} = external thread_local global [{CURRENT_SIZE} x i8]\n", sorted(launched)


def defined(text: str, launched: Sequence[str], rows: Sequence[str]) -> str:
    """The module with its constants. rows: the kernels of the table, in order."""
    for number, name in enumerate(launched):
        row = "null"
        if name in rows:
            row = f"getelementptr (%reactant.kernel, ptr @reactant.kernels, i64 {rows.index(name)})"
        constant = f"@{quoted(PREFIX + name)}"
        made = (text_constant(f"@reactant.launched.{number}.name", name) +
                f"{constant} = private constant [2 x ptr] [ptr @reactant.launched.{number}.name, ptr {row}]\n")
        text, there = re.subn(rf"^{re.escape(constant)} = external [^\n]*\n", "", text, flags=re.MULTILINE)
        text += made if there else ""
    return re.sub(rf"^@{CURRENT} = external [^\n]*\n", "", text, flags=re.MULTILINE) if launched else text
