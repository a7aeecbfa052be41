"""Mathematics of kernels that run as PTX: functions of libdevice, NVIDIA's library of LLVM IR.

XLA needs the same file for its own code on these GPUs, so it is there wherever jax runs on one: in the wheels that jax
depends on, or in a CUDA toolkit.
"""
from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reactant.errors import UnsupportedError
from reactant.kernels.form.record import KernelRecord
from reactant.kernels.llvm_ir import cleanup
from reactant.kernels.llvm_ir.device_library import LIBM
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of

FILE = Path("nvvm", "libdevice", "libdevice.10.bc")

INTRINSICS = frozenset(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "exp10",
                        "log", "log2", "log10", "pow", "atan2", "ldexp", "powi"))
"""LLVM's intrinsics that are functions of libdevice, of the same name behind `__nv_`."""

_FLOATS = {"f64": ("double", ""), "f32": ("float", "f"), "f16": ("half", "f"), "bf16": ("bfloat", "f")}
_BY_TYPE = {type_: short for short, (type_, _) in _FLOATS.items()}
_DECLARED = re.compile(r'^declare ([^@\n]*)@"?([\w.$-]+)"?\((.*?)\)[^()\n]*\n', re.M)
_NAME = re.compile(r"llvm\.(\w+)\.(f64|f32|f16|bf16|v\d+\w+)(?:\.i32)?")


def named(text: str, record: KernelRecord) -> str:
    """The module with libdevice's functions in place of LLVM's intrinsics and C's functions.

    Raises `UnsupportedError` for mathematics of vectors.
    """
    made: dict[str, str] = {}
    for head, name, arguments in _DECLARED.findall(text):
        function = _function(name)
        if function is None:
            continue
        base, short = function
        if short not in _FLOATS:
            raise UnsupportedError(f"The kernel '{record.name}' calls {name}: mathematics of vectors has no code for "
                                   "NVIDIA's GPUs.", hint="Write it element by element.", code="kernel-no-gpu-code")
        types = [type_of(a) for a in split_arguments(arguments)]
        text = re.sub(rf'^declare [^@\n]*@"?{re.escape(name)}"?\(.*\n', "", text, flags=re.M)
        text = re.sub(rf'@"?{re.escape(name)}"?(?=\()', f"@mathematics.{name}", text)
        made[name] = _definition(f"mathematics.{name}", base, short, type_of(head), types)
    for kind in dict.fromkeys(re.findall(r"@fmod\.(\w+|<[^>]*>)\(", text)):
        if kind not in _BY_TYPE:
            raise UnsupportedError(f"The kernel '{record.name}' takes remainders of vectors, which have no code for "
                                   "NVIDIA's GPUs.", hint="Write it element by element.", code="kernel-no-gpu-code")
        made[f"fmod.{kind}"] = _definition(f"fmod.{kind}", "fmod", _BY_TYPE[kind], kind, [kind, kind])
    calls = re.findall(r"call (\w+) @(__nv_\w+)\(([^)]*)\)", "".join(made.values()))
    signatures = {name: (result, ", ".join(a.split()[0] for a in given.split(", "))) for result, name, given in calls}
    declared = "".join(f"declare {result} @{name}({types})\n" for name, (result, types) in signatures.items())
    return text + "".join(made.values()) + declared


def _function(name: str) -> tuple[str, str] | None:
    """(name in libdevice without prefix and suffix, type) of a declared function; None where it is none of them."""
    if found := _NAME.fullmatch(name):
        return (found[1], found[2]) if found[1] in INTRINSICS else None
    if name in LIBM:
        return name, "f64"
    return (name[:-1], "f32") if name.endswith("f") and name[:-1] in LIBM else None


def _definition(name: str, base: str, short: str, result: str, types: list[str]) -> str:
    """A function that calls libdevice's, in float32 for narrower floats."""
    narrow = short in ("f16", "bf16")
    own = _FLOATS[short][0]
    lines, given = [], []
    for i, kind in enumerate(types):
        if narrow and kind == own:
            lines.append(f"%w{i} = fpext {kind} %a{i} to float")
            given.append(f"float %w{i}")
        else:
            given.append(f"{kind} %a{i}")
    wide = "float" if narrow and result == own else result
    lines.append(f"%r = call {wide} @__nv_{base}{_FLOATS[short][1]}({', '.join(given)})")
    if wide != result:
        lines.append(f"%n = fptrunc float %r to {result}")
    lines.append(f"ret {result} {'%r' if wide == result else '%n'}")
    formal = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    return f"define internal {result} @{name}({formal}) alwaysinline {{\n  " + "\n  ".join(lines) + "\n}\n"


# ---- the file --------------------------------------------------------------------------------------------------

def link(module: Any, kernel: str) -> None:
    """Add the functions of libdevice that a module calls. Raises `UnsupportedError` where the file is not there."""
    wanted = sorted(f.name for f in module.functions if f.is_declaration and f.name.startswith("__nv_"))
    if not wanted:
        return
    file = find()
    if file is None:
        raise UnsupportedError(f"The kernel '{kernel}' calls {wanted[0].removeprefix('__nv_')}, whose code for "
                               "NVIDIA's GPUs is in libdevice, which is not here.",
                               hint="Install it: pip install nvidia-cuda-nvcc-cu12 (nvidia-nvvm for CUDA 13), or set "
                                    "CUDA_HOME to a CUDA toolkit.", code="kernel-toolchain")
    library = cleanup.llvm().parse_bitcode(file.read_bytes())
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)


def find() -> Path | None:
    """The file libdevice.10.bc of this machine, None where there is none."""
    return next((path for path in _candidates() if path.is_file()), None)


def _candidates() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if folder := os.environ.get(variable):
            yield Path(folder) / FILE
    yield from _in_wheels()
    yield Path("/usr/local/cuda") / FILE


@functools.cache
def _in_wheels() -> tuple[Path, ...]:
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return tuple(path for folder in folders for path in sorted(Path(folder).glob(f"*/{FILE}")))
