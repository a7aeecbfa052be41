"""LLVM IR as a way in: `reactant.llvm.load` reads a `.ll` or `.bc` file and gives its functions and kernels."""
from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from reactant.kernels.llvm_ir import cleanup, signatures
from reactant.kernels.ways_in.debug_types import CFunction, CType
from reactant.kernels.ways_in.functions import FunctionModule
from reactant.kernels.ways_in.module_source import ModuleSource

_KERNEL = re.compile(r'^define [^@\n]*\b(?:ptx_kernel|amdgpu_kernel|spir_kernel) [^@\n]*@("[^"]+"|[\w.$-]+)\(',
                     re.MULTILINE)


def load(source: str | bytes | os.PathLike, name: str | None = None, *, lower: str = "auto",
         check: bool = False) -> Any:
    """The functions and kernels of LLVM IR: a `.ll` or `.bc` file, text, or bitcode.

    Args:
        source: a path, the text, or the bitcode as bytes.
        name: the function that is wanted; None for all.
        lower: as for `reactant.kernel`.
        check: as for `reactant.kernel`.

    Returns:
        A module of functions, or the one named. Functions are called with arrays for pointers and numbers for numbers;
        kernels (of the calling convention `ptx_kernel`) are launched: `module.k[grid, block](arguments)`. With debug
        information in the module, arguments are checked against the types of the source; without, pointers take arrays
        of any dtype.

    Raises:
        UnsupportedError: with LLVM's words, for text that is not LLVM IR.
        FileNotFoundError: for a path that is not there.
        KeyError: for a function that the module does not have.

    Example:
        >>> negate = reactant.llvm.load('''
        ... define double @negate(double %x) {
        ...   %y = fneg double %x
        ...   ret double %y
        ... }''', "negate")
        >>> float(negate(2.0))
        -2.0
    """
    title = "<module>"
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "\n" not in source):
        path = Path(source)
        title = str(path)
        content = path.read_bytes()
        source = content if content[:2] == b"BC" or path.suffix == ".bc" else content.decode()
    text = cleanup.read_module(source)
    module = ModuleSource(text, title, host=not re.search(r'^target triple = "(nvptx|amdgcn)', text, re.MULTILINE))
    kernels = {s.strip('"') for s in _KERNEL.findall(text)}
    known = module.functions
    functions = [known.get(s) or _untyped(module, s) for s in module.bodies if s in kernels or module.is_public(s)]
    made = FunctionModule(module, {f.name: f for f in functions}, kernels, "llvm", lower, check)
    return made if name is None else made[name]


_TYPES = {"i1": "b1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "half": "f2", "float": "f4", "double": "f8"}


def _untyped(module: ModuleSource, symbol: str) -> CFunction:
    """A function without debug information, as far as LLVM types tell."""
    parameters = module.parameters(symbol)
    names = tuple(m[1].strip('"') if (m := re.search(r'%("[^"]+"|\S+)$', p)) else f"argument{i}"
                  for i, p in enumerate(parameters))
    return CFunction(symbol, symbol, "", 0, _type(cleanup.result_type(module.bodies[symbol])),
                     tuple(_type(signatures.type_of(p)) for p in parameters), names)


def _type(text: str) -> CType:
    if text == "void":
        return CType("void", "void")
    if text in _TYPES:
        dtype = np.dtype(_TYPES[text])
        return CType("number", text, dtype.itemsize, dtype)
    return CType("pointer", "ptr", 8, target=CType("void", "void")) if text.startswith("ptr") else CType("other", text)
