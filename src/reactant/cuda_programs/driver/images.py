"""Modules that programs load while they run: this processor's code of a source, as text that `cuModuleLoadData` takes.

nvrtc asks for them (`runtime/nvrtc.cpp`), and `-ptx`, `-cubin` and `-fatbin` write them; of kernels that are named by
an expression (`scale<float>`) the mangled names are told.
"""
from __future__ import annotations

import base64
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from reactant.cuda_programs.device import front
from reactant.cuda_programs.driver import compiling
from reactant.cuda_programs.driver.compiling import CompilationFailed, Unit
from reactant.kernels.ways_in import clang

MARKER = "//reactant-module "
"""What the code follows, in base64 (`runtime/modules.cpp`)."""
HEAD = """//
// Made by reactant nvcc: code for this processor, which cuModuleLoadData of a program that it made loads.
//
"""
_NAMED = "reactant_named_"
_VARIABLE = re.compile(rf'^@{_NAMED}(\d+) = [^\n]*?@("[^"]+"|[-\w$.]+)[^\n]*\n', re.MULTILINE)


def image(unit: Unit, names: str = "") -> str:
    """The module of a source.

    Args:
        unit: the source.
        names: a file with an expression of C++ on each line: kernels, and variables after `&`. Their names in the
            module are written beside it, into `names` + ".lowered".

    Returns:
        Text that ends with a newline.

    Raises:
        CompilationFailed: the compiler's words are on standard error.
    """
    from reactant.cuda_programs.device.compile import device_object  # half a second: numba's LLVM

    expressions = Path(names).read_text().splitlines() if names else []
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        read = compiling.in_one_piece(unit, Path(folder))
        if expressions:
            read = _with_names(read, expressions, Path(folder))
        try:
            text, said = front.compiled(read.file, compiling.device_options(read), contract=unit.command.contract,
                                        relocatable=unit.command.relocatable, system=unit.tools.system())
            sys.stderr.write(said)
            found = {int(m[1]): m[2].strip('"') for m in _VARIABLE.finditer(text)}
            content = device_object(_VARIABLE.sub("", text), unit.identity)
        except clang.CompilationError as error:
            print(error.fact, file=sys.stderr)
            raise CompilationFailed(1) from None
        if names:
            Path(f"{names}.lowered").write_text("".join(f"{found[k]}\n" for k in range(len(expressions))))
        made, library = Path(folder) / "device.o", Path(folder) / "device.so"
        made.write_bytes(content)
        compiling.say([*unit.tools.linker, "-shared", "-o", str(library), str(made), "-lm"])
        return HEAD + MARKER + base64.b64encode(library.read_bytes()).decode() + "\n"


def _with_names(unit: Unit, expressions: list[str], folder: Path) -> Unit:
    """The source with a variable for each expression, so that templates are instantiated."""
    lines = [f"__device__ const void *{_NAMED}{k} = (const void *)({e if e.startswith('&') else '&' + e});"
             for k, e in enumerate(expressions)]
    text = unit.file.read_text(errors="surrogateescape")
    target = folder / f"named-{unit.source.name}"
    start = f'#line 1 "{unit.source}"\n' if unit.read is None else ""
    target.write_text(f'{start}{text}\n#line 1 "name expressions"\nextern "C" {{\n' + "\n".join(lines) + "\n}\n",
                      errors="surrogateescape")
    return replace(unit, read=target)
