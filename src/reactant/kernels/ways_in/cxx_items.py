"""Functions, classes and declarations of C++ text: where each begins and ends, where its body is, whose code it is.

No parser: brackets, and the words in front of them, tell items apart. What is told wrongly is caught later: the
compiler reads what becomes of the text.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from reactant.kernels.ways_in.cxx_tokens import Token, after_angles, partners
from reactant.support.records import dataclass

DEVICE = {"global", "device", "constant", "shared", "managed", "__global__", "__device__", "__constant__", "__shared__",
          "__managed__"}
_ATTRIBUTES = {"__attribute__", "__declspec", "alignas", "decltype", "typeof", "__typeof__", "noexcept", "explicit",
               "throw", "requires", "__launch_bounds__"}
_AFTER_PARAMETERS = {"const", "volatile", "noexcept", "override", "final", "try", "requires", "throw", "mutable",
                     "__attribute__", "__asm__", "asm", "and", "or"}


@dataclass
class Item:
    """A declaration or definition: text from `start` to `end`.

    kind: "function", "class" or "other". body: the offsets of a function's braces. initialisers: where a constructor's
    begin. words: of its head. parent: the class that it is a member of. device: it, or a member of it, is for the
    device.
    """

    kind: str
    start: int
    end: int
    words: tuple[str, ...]
    body: tuple[int, int] | None = None
    initialisers: int | None = None
    parent: Item | None = None
    members: list[Item] = field(default_factory=list)
    device: bool = False
    takes_parameters: bool = False

    @property
    def outermost(self) -> Item:
        return self if self.parent is None else self.parent.outermost

    @property
    def is_instantiation(self) -> bool:
        """Whether it asks for an instance of a template."""
        return self.words[:1] == ("template",) and self.kind == "other" and self.words[1:2] != ("<",)


def items_of(found: Sequence[Token]) -> list[Item]:
    """The items of a namespace's text, those of namespaces in it included."""
    reader = _Reader([t for t in found if t.kind != "directive"])
    return list(reader.items(0, len(reader.found), None))


def enclosing(items: Sequence[Item], offset: int) -> Item | None:
    """The innermost item around an offset."""
    for item in items:
        if item.start <= offset < item.end:
            return enclosing(item.members, offset) or item
    return None


class _Reader:
    def __init__(self, found: list[Token]):
        self.found = found
        self.pairs = partners(found)

    def items(self, at: int, end: int, parent: Item | None) -> Iterator[Item]:
        while at < end:
            token = self.found[at]
            inner = self.namespace(at, end)
            if inner is not None:
                close = self.pairs.get(inner, end)
                yield from self.items(inner + 1, close, parent)
                at = close + 1
            elif token.text in (";", "}"):
                at += 1
            elif parent is not None and token.text in ("public", "private", "protected") \
                    and self.text(at + 1) == ":":
                at += 2
            else:
                item, at = self.item(at, end, parent)
                yield item

    def text(self, at: int) -> str:
        return self.found[at].text if at < len(self.found) else ""

    def namespace(self, at: int, end: int) -> int | None:
        """The number of the brace that a namespace, or a block of `extern "C"`, begins with."""
        if self.text(at) == "extern" and at + 2 < end and self.found[at + 1].kind == "string":
            return at + 2 if self.text(at + 2) == "{" else None
        at += self.text(at) == "inline"
        if self.text(at) != "namespace":
            return None
        while at < end and self.text(at) not in ("{", ";", "="):
            at = self.pairs.get(at, at) + 1 if self.text(at) in ("(", "[") else at + 1
        return at if self.text(at) == "{" else None

    def item(self, start: int, end: int, parent: Item | None) -> tuple[Item, int]:
        """The item that begins at a token, and the number of the token after it."""
        at, head = start, _Head()
        words: list[str] = []
        kind, body, initialisers, device = "other", None, None, False
        members: tuple[int, int] | None = None
        while at < end:
            text = self.text(at)
            if text == ";":
                at += 1
                break
            if text == "}":
                break
            if text == "{":
                close = self.pairs.get(at, end - 1)
                if head.is_class():
                    kind, members = "class", (at + 1, close)
                elif head.is_body(self.text(at - 1)):
                    kind, body = "function", (at, close)
                    at = self.handlers(close + 1, end)
                    break
                stray, head.braced = at == start, True
                at = close + 1
                if stray or self.text(at) in ("", "}"):
                    break
                continue
            if text in ("(", "["):
                close = self.pairs.get(at, end - 1)
                inside = [self.text(k) for k in range(at + 1, close)]
                device |= self.text(at - 1) == "__attribute__" and bool(DEVICE & set(inside))
                if text == "(" and at > start:
                    head.group(self.text(at - 1), self.text(close + 1), parent is None)
                if head.macro_call and kind == "other":
                    at = close + 1
                    break
                at = close + 1
                continue
            if text == "<" and self.text(at - 1) == "template":
                words.append(text)
                at = max(after_angles(self.found, self.pairs, at), at + 1)
                continue
            if text == "operator":
                head.words += 1
                at += 3 if self.text(at + 1) in ("(", "[") else 2      # operator()
                while self.text(at) not in ("(", ""):
                    at += 1
                continue
            if text == ":" and head.parameters and initialisers is None and not head.assigned:
                initialisers = self.found[at].start
                head.initialisers = True
            head.word(text)
            device |= text in DEVICE and text.startswith("__")
            if self.found[at].kind in ("word", "mark"):
                words.append(text)
            at += 1
        at = max(at, start + 1)
        made = Item(kind, self.found[start].start, self.found[min(at, len(self.found)) - 1].end, tuple(words),
                    None if body is None else (self.found[body[0]].start, self.found[body[1]].end),
                    initialisers if kind == "function" else None, parent, device=device,
                    takes_parameters=head.parameters)
        if members is not None:
            made.members = list(self.items(*members, made))
            made.device |= any(m.device for m in made.members)
        return made, at

    def handlers(self, at: int, end: int) -> int:
        """After the handlers of a function that is one `try`."""
        while at < end and self.text(at) == "catch":
            at = self.pairs.get(at + 1, at + 1) + 1
            at = self.pairs.get(at, at) + 1
        return at


class _Head:
    """What is in front of a brace."""

    def __init__(self) -> None:
        self.words = 0
        self.kind = ""          # class, struct, union, enum
        self.parameters = self.assigned = self.initialisers = self.braced = self.macro_call = self.several = False

    def word(self, text: str) -> None:
        if text in ("class", "struct", "union") and not self.parameters and self.kind != "enum":
            self.kind = "class"
        elif text == "enum":
            self.kind = "enum"
        elif text == "=":
            self.assigned = True
        elif text == ",":
            self.several |= self.parameters and not self.initialisers
        self.words += 1

    def group(self, before: str, after: str, outside: bool) -> None:
        """Round brackets, and the words around them; outside of classes?"""
        if before in _ATTRIBUTES or self.assigned:
            return
        named = before[:1].isidentifier() or before in (">", ")", "]") or not before[:1].isalnum()
        if self.words == 1 and (after[:1].isidentifier() or after == "") \
                and (outside or after not in _AFTER_PARAMETERS):
            self.macro_call = True          # MACRO(...) with nothing that ends it
        self.parameters = self.parameters or named

    def is_class(self) -> bool:
        return self.kind == "class" and not self.parameters and not self.assigned and not self.braced

    def is_body(self, before: str) -> bool:
        """Whether a brace begins a function's body, by the token in front of it."""
        if not self.parameters or self.assigned or self.several or before == "requires":
            return False
        return not self.initialisers or before in (")", "}")
