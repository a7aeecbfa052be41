"""The shapes of blocks that host code launches kernels with, where they are constants: from clang's LLVM IR of it.

What is found here is a guess that the program checks at each launch: other shapes are right, too.
"""
from __future__ import annotations

import re
from collections import Counter

from reactant.cuda_programs.device.shapes import MOST, Shape, Shapes

_NAME = r'@(?:"[^"]*"|[-\w$.]+)'
_FUNCTION = re.compile(r"^define [^\n]*\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^([-\w$.]+):", re.MULTILINE)
_REGISTERED = re.compile(rf"(?:@__cudaRegisterFunction\(ptr [^,]*,|__tgt_offload_entry {{ [^@\n]*,) "
                         rf"ptr (?:\w+ )*({_NAME}), ptr (?:\w+ )*({_NAME})")
"""Stubs and the names of their kernels; the second form is that of relocatable device code."""
_TEXT = re.compile(rf'^({_NAME}) = [^\n]* c"([^"\\]*)\\00"', re.MULTILINE)
_XY, _Z = r"i64 (?:noundef )?(\S+)", r"i32 (?:noundef )?(\S+)"
_CONFIGURED = re.compile(rf"@__cudaPushCallConfiguration\({_XY}, {_Z}, {_XY}, {_Z},")
_LAUNCHED = re.compile(rf"@cudaLaunchKernel\(ptr (?:\w+ )*({_NAME}), {_XY}, {_Z}, {_XY}, {_Z},")
_FARTHEST = 40
"""Blocks of code from a configuration to its launch."""


def shapes(text: str) -> Shapes:
    """The most frequent constant shapes of blocks by the mangled names of kernels.

    Args:
        text: the host's module, after LLVM's optimisations.
    """
    names = {m[1]: m[2] for m in _TEXT.finditer(text)}
    stubs = {m[1]: names[m[2]] for m in _REGISTERED.finditer(text) if m[2] in names}
    found: dict[str, Counter[Shape]] = {}
    for body in _FUNCTION.findall(text) if stubs else ():
        if "@__cudaPushCallConfiguration(" in body or "@cudaLaunchKernel(" in body:
            for stub, shape in _sites(body, stubs):
                found.setdefault(stubs[stub], Counter())[shape] += 1
    return {kernel: [shape for shape, _ in count.most_common(MOST)] for kernel, count in found.items()}


def _sites(body: str, stubs: dict[str, str]) -> list[tuple[str, Shape]]:
    """(stub, shape) of a function's launches."""
    parts = _LABEL.split(body)
    blocks = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    found = []
    for code in blocks.values():
        for site in _LAUNCHED.finditer(code):
            if site[1] in stubs and (shape := _shape(site[4], site[5])):
                found.append((site[1], shape))
        for site in _CONFIGURED.finditer(code):
            if (shape := _shape(site[3], site[4])) and (stub := _launched(code[site.end():], blocks, stubs)):
                found.append((stub, shape))
    return found


def _shape(xy: str, z: str) -> Shape | None:
    if not (xy.isdigit() and z.isdigit()):
        return None
    shape = int(xy) & 0xFFFFFFFF, int(xy) >> 32, int(z)
    return shape if 0 < shape[0] * shape[1] * shape[2] <= 1024 else None


def _launched(code: str, blocks: dict[str, str], stubs: dict[str, str]) -> str:
    """The stub that is named first after a configuration."""
    todo, seen = [code], set[str]()
    while todo and len(seen) < _FARTHEST:
        code = todo.pop(0)
        if named := next((n for n in re.findall(_NAME, code) if n in stubs), ""):
            return named
        for label in re.findall(r"label %([-\w$.]+)", code):
            if label in blocks and label not in seen:
                seen.add(label)
                todo.append(blocks[label])
    return ""
