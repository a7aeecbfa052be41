"""Types of C and C++ functions, read from the debug information in their LLVM module."""
from __future__ import annotations

import re
from dataclasses import field

import numpy as np

from reactant.support.records import dataclass

_NODE = re.compile(r"^(!\d+) = (?:distinct )?(!DI\w+|!)[({](.*)[)}]$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|([^,]+))')
_ENCODINGS = {"DW_ATE_float": "f", "DW_ATE_signed": "i", "DW_ATE_unsigned": "u", "DW_ATE_boolean": "b",
              "DW_ATE_signed_char": "i", "DW_ATE_unsigned_char": "u", "DW_ATE_UTF": "u"}


@dataclass(frozen=True)
class CType:
    """A type of C: `kind` is "number", "pointer", "struct", "array", "void" or "other".

    size: bytes. dtype: of a number. target: of a pointer or array. shape: of an array. members: (name, offset, type)
    of a struct.
    """

    kind: str
    name: str
    size: int = 0
    dtype: np.dtype | None = None
    target: CType | None = None
    members: tuple[tuple[str, int, CType], ...] = ()
    constant: bool = field(default=False, compare=False)
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.kind == "pointer":
            return f"{'const ' * (self.target is not None and self.target.constant)}{self.target}*"
        return self.name

    def element(self) -> np.dtype | None:
        """The number that a struct of equal members is made of (float4, complex), or the number itself."""
        if self.kind == "number":
            return self.dtype
        if self.kind == "array" and self.target is not None:
            return self.target.element()
        elements = {m[2].element() for m in self.members}
        return elements.pop() if self.kind == "struct" and len(elements) == 1 else None

    def structured(self) -> np.dtype | None:
        """The NumPy dtype with the same layout (a struct's has fields, an array's a shape), None where some part has
        none."""
        if self.kind == "array" and self.target is not None:
            element = self.target.structured()
            return None if element is None else np.dtype((element, self.shape))
        if self.kind != "struct":
            return self.dtype
        parts = [(n, o, t.structured()) for n, o, t in self.members]
        if not parts or any(t is None for _, _, t in parts):
            return None
        return np.dtype({"names": [n for n, _, _ in parts], "offsets": [o for _, o, _ in parts],
                         "formats": [t for _, _, t in parts], "itemsize": self.size})


@dataclass(frozen=True)
class CFunction:
    """A function of a module: what its author called it, its LLVM name, where it is, its types."""

    name: str
    symbol: str
    file: str
    line: int
    result: CType
    parameters: tuple[CType, ...]
    names: tuple[str, ...]


class DebugTypes:
    """The debug information of one module, as clang prints it."""

    def __init__(self, text: str):
        self.text = text
        self.nodes: dict[str, tuple[str, str]] = {n: (k, body) for n, k, body in _NODE.findall(text)}
        self._types: dict[str, CType] = {}

    def functions(self) -> dict[str, CFunction]:
        """LLVM name -> function, for every function that has a body."""
        found = {}
        pattern = re.compile(r'^define [^@\n]*@("(?:[^"]+)"|[\w.$-]+)\(.*!dbg (!\d+)', re.MULTILINE)
        for symbol, node in pattern.findall(self.text):
            symbol = symbol.strip('"')
            fields = self.fields(node)
            types = self._list(self.fields(fields.get("type", "")).get("types", ""))
            result, *parameters = [self.type(t) for t in types] or [_VOID]
            file = self.fields(fields.get("file", ""))
            names = self._argument_names(node, len(parameters))
            found[symbol] = CFunction(self._scoped(fields), symbol, file.get("filename", ""),
                                      int(fields.get("line", "0")), result, tuple(parameters), names)
        return found

    def variables(self) -> dict[str, tuple[str, CType, str]]:
        """LLVM name -> (name in the source, type, line) of every global variable."""
        found = {}
        for symbol, node in re.findall(r'^@("[^"]+"|[\w.$-]+) = .*!dbg (!\d+)$', self.text, re.MULTILINE):
            variable = self.fields(self.fields(node).get("var", ""))
            if variable:
                found[symbol.strip('"')] = (self._scoped(variable), self.type(variable.get("type", "null")),
                                            variable.get("line", "0"))
        return found

    def fields(self, node: str) -> dict[str, str]:
        """The named fields of a metadata node."""
        _, body = self.nodes.get(node.strip(), ("", ""))
        return {name: quoted or bare.strip() for name, quoted, bare in _FIELD.findall(body)}

    def _list(self, node: str) -> list[str]:
        return [item.strip() for item in self.nodes.get(node, ("", ""))[1].split(",") if item.strip()]

    def _scoped(self, fields: dict[str, str]) -> str:
        """The name with its namespaces and classes."""
        name, scope = fields.get("name", ""), fields.get("scope", "")
        while scope in self.nodes and self.nodes[scope][0] in ("!DINamespace", "!DICompositeType"):
            outer = self.fields(scope)
            if outer.get("name"):
                name = f"{outer['name']}::{name}"
            scope = outer.get("scope", "")
        return name

    def _argument_names(self, subprogram: str, count: int) -> tuple[str, ...]:
        names = {}
        for kind, body in self.nodes.values():
            if kind == "!DILocalVariable" and f"scope: {subprogram}," in body + ",":
                fields = {name: quoted or bare.strip() for name, quoted, bare in _FIELD.findall(body)}
                if "arg" in fields:
                    names[int(fields["arg"])] = fields.get("name", "")
        return tuple(names.get(i + 1) or f"argument{i}" for i in range(count))

    def type(self, node: str) -> CType:
        """The type that a metadata node describes."""
        if node not in self._types:
            self._types[node] = CType("other", "?")       # a struct that points to itself
            self._types[node] = self._made(node)
        return self._types[node]

    def _made(self, node: str) -> CType:
        kind = self.nodes.get(node, ("", ""))[0]
        fields = self.fields(node)
        name, size = fields.get("name", ""), int(fields.get("size", "0")) // 8
        tag = fields.get("tag", "")
        if node == "null" or not kind:
            return _VOID
        if kind == "!DIBasicType":
            letter = _ENCODINGS.get(fields.get("encoding", ""))
            if letter is None or size not in (1, 2, 4, 8) or (letter == "f" and name.startswith("__bf16")):
                return CType("other", name, size)
            return CType("number", name, size, np.dtype(f"{letter}{size}"))
        if tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
            return CType("pointer", "*", 8, target=self.type(fields.get("baseType", "null")))
        if kind == "!DIDerivedType":
            base = self.type(fields.get("baseType", "null"))
            constant = base.constant or tag == "DW_TAG_const_type"
            name = base.name or (name if tag == "DW_TAG_typedef" else "")
            return CType(base.kind, name, base.size, base.dtype, base.target, base.members, constant, base.shape)
        if tag == "DW_TAG_enumeration_type":
            return CType("number", name, size, np.dtype(f"u{size}"))
        if tag == "DW_TAG_array_type":
            element = self.type(fields.get("baseType", "null"))
            counts = [self.fields(node).get("count", "0") for node in self._list(fields.get("elements", ""))]
            return CType("array", f"{element}[]", size, target=element,
                         shape=tuple(int(n) if n.isdigit() else 0 for n in counts))
        if tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
            return CType("struct", name, size, members=self._members(fields.get("elements", "")))
        return CType("other", name, size)

    def _members(self, node: str) -> tuple[tuple[str, int, CType], ...]:
        members = []
        for item in self._list(node):
            fields = self.fields(item)
            if fields.get("tag") in ("DW_TAG_member", "DW_TAG_inheritance") and "DIFlagStaticMember" not in fields.get(
                    "flags", ""):
                members.append((fields.get("name", "base"), int(fields.get("offset", "0")) // 8,
                                self.type(fields.get("baseType", "null"))))
        return tuple(members)


_VOID = CType("void", "void")
