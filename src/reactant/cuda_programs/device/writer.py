"""Writing functions as the text of LLVM IR."""
from __future__ import annotations


class Writer:
    """Lines of a function with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names = 0

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, text: str, name: str | None = None) -> str:
        if name is None:
            self._names += 1
            name = f"%w.{self._names}"
        self.line(f"{name} = {text}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def put(self, base: str, offset: int, kind: str, value: str) -> None:
        """Write a field of a structure."""
        at = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        self.line(f"store {kind} {value}, ptr {at}")

    def field(self, base: str, offset: int, kind: str, name: str | None = None) -> str:
        """A field of a structure that nothing writes meanwhile."""
        at = self.let(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
        return self.let(f"load {kind}, ptr {at}, align {4 if kind == 'i32' else 8}, !invariant.load !{{}}", name)
