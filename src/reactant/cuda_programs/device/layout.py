"""Sizes of LLVM types, as this processor lays them out."""
from __future__ import annotations

import re

from reactant.kernels.llvm_ir.llvm_text import Tokens, read_structs, unquoted
from reactant.kernels.llvm_ir.llvm_types import Type


class Layout:
    """The types of a module."""

    def __init__(self, text: str) -> None:
        self.structs: dict[str, Type] = {}
        self._texts = {unquoted(m[1]): m[2] for m in
                       re.finditer(r'^(%(?:"[^"]*"|[-a-zA-Z$._0-9]+)) = type (.*)$', text, re.MULTILINE)}
        read_structs(self._texts, self.structs)

    def text_of(self, name: str) -> str:
        """What a named type is."""
        return self._texts[unquoted(name)]

    def type(self, text: str) -> Type:
        return Tokens(text, self.structs).type()

    def size(self, text: str) -> int:
        """Bytes from one element of an array of these to the next."""
        return self.type(text).size()

    def align(self, text: str) -> int:
        return self.type(text).align()
