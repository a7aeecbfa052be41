"""Types of LLVM IR and their layout in memory, for `llvm_text`."""
from __future__ import annotations

from reactant.errors import ReactantError
from reactant.support.records import dataclass

BYTES_OF_FLOAT = {"half": 2, "bfloat": 2, "float": 4, "double": 8}
MLIR_OF_FLOAT = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@dataclass(frozen=True)
class Type:
    """kind: void, int, half, bfloat, float, double, ptr, array, vector, struct, other. count: bits of an int, length
    of an array or vector, address space of a ptr."""

    kind: str
    count: int = 0
    parts: tuple[Type, ...] = ()
    packed: bool = False

    def align(self) -> int:
        """Alignment in bytes."""
        if self.kind == "int":
            return min(16, max(1, 1 << max(0, (self.count - 1).bit_length() - 3)))
        if self.kind == "vector":
            return 1 << max(0, (self.count * self.parts[0].size() - 1).bit_length())
        if self.kind == "array":
            return self.parts[0].align()
        if self.kind == "struct":
            return 1 if self.packed else max((p.align() for p in self.parts), default=1)
        return 8 if self.kind == "ptr" else BYTES_OF_FLOAT.get(self.kind, 1)

    def size(self) -> int:
        """Bytes from one element of an array of these to the next."""
        if self.kind == "int":
            return -(-((self.count + 7) // 8) // self.align()) * self.align()
        if self.kind == "array":
            return self.count * self.parts[0].size()
        if self.kind == "vector":
            bits = self.count * (self.parts[0].count if self.parts[0].kind == "int" else 8 * self.parts[0].size())
            return -(-((bits + 7) // 8) // self.align()) * self.align()
        if self.kind == "struct":
            end = self.offsets()[-1] + self.parts[-1].size() if self.parts else 0
            return -(-end // self.align()) * self.align()
        return 8 if self.kind == "ptr" else BYTES_OF_FLOAT.get(self.kind, 0)

    def offsets(self) -> list[int]:
        """Byte offset of each part of a struct."""
        offsets, end = [], 0
        for part in self.parts:
            align = 1 if self.packed else part.align()
            end = -(-end // align) * align
            offsets.append(end)
            end += part.size()
        return offsets

    def elements(self) -> list[tuple[Type, int]]:
        """(type, byte offset) of each scalar of a value of this type."""
        if self.kind in ("array", "vector"):
            step = self.parts[0].size()
            return [(t, i * step + o) for i in range(self.count) for t, o in self.parts[0].elements()]
        if self.kind == "struct":
            return [(t, base + o) for base, part in zip(self.offsets(), self.parts, strict=True)
                    for t, o in part.elements()]
        return [] if self.kind == "void" else [(self, 0)]

    def mlir(self) -> str:
        """The scalar's MLIR type."""
        if self.kind == "int":
            return f"i{self.count}"
        if self.kind == "ptr":
            return f"!llvm.ptr<{self.count}>" if self.count else "!llvm.ptr"
        if self.kind not in MLIR_OF_FLOAT:
            raise ReactantError(f"Values of LLVM type {self.kind} have no counterpart in compiled kernels.",
                                hint="Check the source with its own compiler.", code="kernel-code")
        return MLIR_OF_FLOAT[self.kind]


VOID, POINTER = Type("void"), Type("ptr")
