"""IR for GPUs as IR for this processor: one address space, its triple and features, names of ours for intrinsics.

Which variables are shared, constant or the device's is noted before their address spaces are gone.
"""
from __future__ import annotations

import math
import re
from dataclasses import field

from reactant.cuda_programs.device import launches
from reactant.cuda_programs.device.text import NAME
from reactant.cuda_programs.device.types import leading
from reactant.errors import UnsupportedError
from reactant.kernels.llvm_ir import assembly, cleanup
from reactant.native import engine
from reactant.support.records import dataclass

_SHARED, _CONSTANT, _DEVICE = 3, 4, 1
_GLOBAL = re.compile(rf"^@({NAME}) = ([^\n]*?)\baddrspace\((\d)\) ([^\n]*?)(global|constant) ([^\n]*)$", re.MULTILINE)
_KERNEL = re.compile(rf"^define [^\n]*?\bptx_kernel [^\n]*?@({NAME})\(", re.MULTILINE)


@dataclass
class Variable:
    """A variable of the device, and its LLVM type."""

    name: str
    type: str
    align: int


@dataclass
class Retargeted:
    """A module for this processor, and what its address spaces said."""

    text: str
    kernels: list[str]
    shared: dict[str, Variable] = field(default_factory=dict)
    constant: dict[str, Variable] = field(default_factory=dict)
    device: dict[str, Variable] = field(default_factory=dict)
    launched: list[str] = field(default_factory=list)
    """Kernels that kernels launch, of this file or of others."""
    limits: dict[str, int] = field(default_factory=dict)
    """The most threads of a block, of kernels that say so (__launch_bounds__)."""
    copies: dict[str, dict[tuple[int, int, int], str]] = field(default_factory=dict)
    """Copies of kernels for shapes of blocks (`shapes`)."""


_MANAGED = re.compile(rf'^(@{NAME} = )([^\n]*?)(addrspace\(1\) )[^\n]*?(global) ([^\n]*), section "reactant_managed"',
                      re.MULTILINE)


def retargeted(text: str) -> Retargeted:
    """clang's module for this processor."""
    text = _MANAGED.sub(_managed, _plain_types(text))
    kernels = [m[1].strip('"') for m in _KERNEL.finditer(text)]
    text, launched = launches.named(text, kernels)
    result = Retargeted("", kernels=kernels, launched=launched)
    bounds = {m[1]: m[2] for m in re.finditer(r'^attributes (#\d+) = .*"nvvm.maxntid"="([\d,]+)"', text, re.MULTILINE)}
    for found in re.finditer(rf"^define [^\n]*?\bptx_kernel [^\n]*?@({NAME})\([^\n]* (#\d+)", text, re.MULTILINE):
        if found[2] in bounds:
            result.limits[found[1].strip('"')] = math.prod(map(int, bounds[found[2]].split(",")))
    for found in _GLOBAL.finditer(text):
        variable = _variable(found)
        spaces = {_SHARED: result.shared, _CONSTANT: result.constant, _DEVICE: result.device}
        if (space := spaces.get(int(found[3]))) is not None:
            space[variable.name] = variable
    expanded = _with_declarations(assembly.expanded(text))
    for line in expanded.split("\n") if " asm " in expanded else ():
        if re.search(r"\bcall\b[^@\"]* asm ", line) and 'asm sideeffect "", "' not in line:
            raise UnsupportedError(f"Device code holds inline assembly that is not known{assembly.why_not(line)}.",
                                   hint="Write it in CUDA C++.", code="kernel-instruction")
    result.text = _everywhere(_globals(expanded))
    return result


def _plain_types(text: str) -> str:
    """The module with names of types that are words: those of templates hold commas and brackets."""
    found = re.finditer(r'^(%"[^"\n]+") = type ', text, re.MULTILINE)
    names = {m[1]: f"%struct.named.{k}" for k, m in enumerate(found)}
    return re.sub(r'%"[^"\n]+"', lambda m: names.get(m[0], m[0]), text) if names else text


def _with_declarations(text: str) -> str:
    """The module with declarations of what functions for inline assembly call."""
    if f"@{assembly.PREFIX}" not in text:
        return text
    functions = rf"^define internal [^\n]*@{re.escape(assembly.PREFIX)}\d+\(.*?^}}\n"
    made = "".join(m[0] for m in re.finditer(functions, text, re.MULTILINE | re.DOTALL))
    known = {m[1].strip('"') for m in re.finditer(rf"^(?:declare|define) [^\n@]*@({NAME})\(", text, re.MULTILINE)}
    return text + "".join(cleanup.undeclared(made, known))


def _managed(found: re.Match) -> str:
    """A managed variable is the host's."""
    if re.search(r"\b(internal|private)\b", found[2]):
        raise UnsupportedError(f"The managed variable {found[1][1:-3]} is static.",
                               hint="Host and device share it by its name: leave `static` out.", code="kernel-code")
    return f"{found[1]}external {found[3]}global {leading(found[5])}"


def _variable(found: re.Match) -> Variable:
    rest = found[6]
    align = re.search(r", align (\d+)", rest)
    return Variable(found[1].strip('"'), leading(rest), int(align[1]) if align else 16)


def _globals(text: str) -> str:
    """What clang keeps for GPUs alone is gone; what the host writes is no constant."""
    text = re.sub(r"^@llvm\.(compiler\.)?used = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(@[^\n]* addrspace\(4\) externally_initialized )constant ", r"\1global ", text,
                  flags=re.MULTILINE)
    text = re.sub(r"^\$[^\n]* = comdat [^\n]*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r",? comdat(\(\$[^)]*\))?(?=[ ,\n])", "", text)
    return re.sub(r"^!nvvm\.annotations = .*\n", "", text, flags=re.MULTILINE)


_TARGET = re.compile(r'"target-cpu"="sm_\w+"( "target-features"="[^"]*")?')
_SCOPE = re.compile(r' syncscope\("[^"]*"\)')


def _everywhere(text: str) -> str:
    """Address spaces, GPU attributes and intrinsics' names."""
    text = re.sub(r" addrspace\(\d+\)", "", text)
    cast = rf"addrspacecast \(ptr (@{NAME}) to ptr\)"
    text = re.sub(cast, r"\1", text)
    text = re.sub(r"= addrspacecast (ptr [^\n,]*?) to ptr\b", r"= getelementptr i8, \1, i64 0", text)
    text = _nested_casts(text)
    text = re.sub(r"^target (datalayout|triple) = .*\n", "", text, flags=re.MULTILINE)
    host = engine.attributes().removeprefix("nounwind ")
    text = _TARGET.sub(lambda m: host, text).replace(' "frame-pointer"="all"', "")
    text = re.sub(r"^(attributes #\d+ = \{[^\n]*?) noinline\b", r"\1", text, flags=re.MULTILINE)
    text = _SCOPE.sub("", text)
    text = text.replace("ptx_kernel ", "").replace("@llvm.nvvm.", "@nvvm.")
    text = re.sub(r"\b(dso_local|local_unnamed_addr) ", "", text)
    return re.sub(r"\.p[1-7](?=[.(])", ".p0", text)     # names of intrinsics with pointers


def _nested_casts(text: str) -> str:
    """addrspacecast of constant expressions: what is within."""
    at = text.find("addrspacecast (")
    while at >= 0:
        start = at + len("addrspacecast (")
        depth, end = 1, start
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inner = text[start:end - 1]
        value = inner.removeprefix("ptr ").rsplit(" to ptr", 1)[0]
        text = text[:at] + value + text[end:]
        at = text.find("addrspacecast (", at)
    return text
