"""The structs of XLA's foreign function interface: offsets of their fields, read from the header that jaxlib ships
(`xla/ffi/api/c_api.h`), so that the handler can be LLVM IR and needs no C compiler.
"""
from __future__ import annotations

import os
import re
from functools import cache

import jax
import jaxlib

from reactant.errors import ReactantError
from reactant.support.records import dataclass

_SIZES = {"size_t": 8, "int64_t": 8, "int32_t": 4, "uint32_t": 4, "int": 4, "XLA_FFI_Handler_Traits": 4}
_ENUM = r"typedef enum \{[^}]*\}\s*(\w+);"
_STRUCT = r"(?sm)^(?:typedef )?struct (XLA_FFI_\w+) \{\n(.*?)^\}"
_FIELD = r"^\s*(?:const\s+)?(?:struct\s+)?([\w]+)\s*([*]*)\s*(?:const\s*)?(\w+);"
_FUNCTION_FIELD = r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\);"
MAJOR = 0
MINORS = (1, 2, 3, 4)
"""Versions of the interface this file knows (jaxlib 0.10 has 0.3, jaxlib 0.11 has 0.4)."""
RENAMED = {"XLA_FFI_Extension_Base": "XLA_FFI_InternalExtension"}
"""Structs that later versions of the header call otherwise."""


@dataclass(frozen=True)
class Struct:
    """Byte offsets of a C struct's fields."""

    offsets: dict[str, int]
    size: int
    align: int


class Header:
    """`c_api.h`, as far as handlers need it."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"//[^\n]*", "", text)
        self.version = tuple(int(m.group(1)) if (m := re.search(rf"#define XLA_FFI_API_{part} (\d+)", text)) else -1
                             for part in ("MAJOR", "MINOR"))
        self._enums = set(re.findall(_ENUM, text))
        self._bodies = dict(re.findall(_STRUCT, text))
        self._made: dict[str, Struct] = {}

    def struct(self, name: str) -> Struct:
        """The layout of a struct, by the rules of the C ABI of 64-bit machines."""
        name = name if name in self._bodies else RENAMED.get(name, name)
        if name not in self._made:
            if name not in self._bodies:
                raise ReactantError(f"jaxlib {jaxlib.__version__} has no {name} in xla/ffi/api/c_api.h: native code "
                                    "cannot be called from XLA.", hint="Install a jaxlib that this version supports.",
                                    code="native-interface")
            offsets, at, widest = {}, 0, 1
            for line in self._bodies[name].split("\n"):
                if not (found := self._field(line)):
                    continue
                field, size, align = found
                at = -(-at // align) * align
                offsets[field] = at
                at, widest = at + size, max(widest, align)
            self._made[name] = Struct(offsets, -(-at // widest) * widest, widest)
        return self._made[name]

    def _field(self, line: str) -> tuple[str, int, int] | None:
        if pointer := re.search(_FUNCTION_FIELD, line):
            return pointer.group(1), 8, 8
        if "(*" in line and (name := re.search(r"\(\*(\w+)\)", line)):
            return name.group(1), 8, 8
        match = re.match(_FIELD, line)
        if match is None:
            return None
        kind, stars, field = match.groups()
        if stars:
            return field, 8, 8
        if kind in _SIZES or kind in self._enums:
            size = _SIZES.get(kind, 4)
            return field, size, size
        inner = self.struct(kind)
        return field, inner.size, inner.align


def usable() -> bool:
    """Whether native code can be called from the programs of the installed jaxlib."""
    try:
        header()
    except ReactantError:
        return False
    return True


@cache
def header() -> Header:
    """The installed jaxlib's header. Raises `ReactantError` where its version is not one we know."""
    path = os.path.join(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    try:
        with open(path) as file:
            found = Header(file.read())
    except OSError as error:
        raise ReactantError(f"native code needs jaxlib's header {path}: {error}",
                            hint="Install a jaxlib that this version supports.", code="native-interface") from error
    major, minor = found.version
    if major != MAJOR or minor not in MINORS:
        raise ReactantError(f"jaxlib {jaxlib.__version__} has version {major}.{minor} of XLA's foreign function "
                            f"interface; native code knows {MAJOR}.{MINORS[0]} to {MAJOR}.{MINORS[-1]}.",
                            hint="Install a jaxlib that this version supports.", code="native-interface")
    return found
