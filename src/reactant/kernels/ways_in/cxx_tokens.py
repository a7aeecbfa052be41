"""Tokens of C++ text, as far as it takes to tell where statements and declarations begin and end."""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reactant.support.records import dataclass

_DIRECTIVE = re.compile(r"\#(?:[^\n\\]|\\.)*", re.DOTALL)
_TOKEN = re.compile(r"""
    (?P<space>[ \t\r\n\f\v]+ | \\\n | //(?:[^\n\\]|\\.)* | /\*.*?(?:\*/|\Z))
  | (?P<string>(?:u8|[uUL])?(?:R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)" | "(?:[^"\\\n]|\\.)*"))
  | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<mark>::|->|.)
""", re.VERBOSE | re.DOTALL)

_SPACED = re.compile(r"<\s+<\s*<|<\s*<\s+<|>\s+>\s*>\s*\(|>\s*>\s+>\s*\(")
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """kind: "word", "number", "string", "character", "directive" or "mark" (punctuation); offsets of its text."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """The tokens of a text, or of a part of it that begins with a line. Comments are left out; a directive is one
    token, with the lines that continue it."""
    limit, at, fresh = len(text) if end is None else end, start, True
    while at < limit:
        if fresh and text[at] == "#":
            found = _DIRECTIVE.match(text, at, limit)
            assert found is not None
            yield Token("directive", found[0], at, found.end())
            at, fresh = found.end(), False
            continue
        found = _TOKEN.match(text, at, limit)
        assert found is not None
        kind = "string" if found["string"] else found.lastgroup or "mark"
        if kind == "space":
            fresh = fresh or ("\n" in found[0] and found[0][0] not in "\\/")
        else:
            fresh = False
            yield Token(kind, found[0], at, found.end())
        at = found.end()


def partners(found: Sequence[Token]) -> dict[int, int]:
    """For each bracket, the number of the token that closes or opens it; a closing one without its own kind is passed
    over."""
    pairs: dict[int, int] = {}
    waiting: list[int] = []
    for number, token in enumerate(found):
        if token.kind != "mark":
            continue
        if token.text in PAIRS:
            waiting.append(number)
        elif token.text in PAIRS.values():
            for depth in range(len(waiting) - 1, -1, -1):
                if PAIRS[found[waiting[depth]].text] == token.text:
                    pairs[waiting[depth]], pairs[number] = number, waiting[depth]
                    del waiting[depth:]
                    break
    return pairs


def after_angles(found: Sequence[Token], pairs: dict[int, int], at: int) -> int:
    """The number of the token after `<...>` that begins at one; `at` where it is never closed."""
    depth, number = 0, at
    while number < len(found):
        text = found[number].text if found[number].kind == "mark" else ""
        depth += (text == "<") - (text == ">")
        if text in PAIRS:
            number = pairs.get(number, number)
        elif text == ";" or depth == 0:
            return number + 1 if depth == 0 else at
        number += 1
    return at


def launches(found: Sequence[Token], pairs: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Kernel launches: the numbers of the first of the three `<`, and of the first of the three `>`, however they are
    spaced."""
    def three(number: int, mark: str) -> bool:
        return [t.text for t in found[number:number + 3] if t.kind == "mark"] == [mark] * 3

    for number in range(len(found)):
        if not three(number, "<"):
            continue
        at = number + 3
        while at < len(found) and found[at].text not in (";", ")", "]", "}"):
            if three(at, ">") and at + 3 < len(found) and found[at + 3].text == "(":
                yield number, at
                break
            at = pairs.get(at, at) + 1 if found[at].text in PAIRS else at + 1


def with_launches_joined(text: str) -> str:
    """The text with `k << < grid, block >> > (x)` as `k <<<grid, block>>> (x)`, of the same length and lines."""
    if not _SPACED.search(text):
        return text
    everything, changed = list(tokens(text)), list(text)
    macros = [list(tokens(text, t.start + 1, t.end)) for t in everything if t.kind == "directive"]
    for found in ([t for t in everything if t.kind != "directive"], *macros):
        for first, last in launches(found, partners(found)):
            for number, mark in ((first, "<"), (last, ">")):
                begin, end = found[number].start, found[number + 2].end
                spaces = "".join(c for c in text[begin:end] if c != mark)
                if spaces and not spaces.strip():
                    changed[begin:end] = mark * 3 + spaces
    return "".join(changed)


def with_managed_alone(text: str) -> str:
    """The text without `__device__` and `static` beside `__managed__`, of the same length and lines: for the host's
    compiler, such a variable is to be the host's own, which both sides find by its name."""
    if "__managed__" not in text:
        return text
    everything, changed = list(tokens(text)), list(text)
    macros = [list(tokens(text, t.start + 1, t.end)) for t in everything if t.kind == "directive"]
    for found in ([t for t in everything if t.kind != "directive"], *macros):
        for number, token in enumerate(found):
            if token.text != "__managed__":
                continue
            first, last = number, number
            while first and found[first - 1].kind == "word":
                first -= 1
            while last + 1 < len(found) and found[last + 1].kind == "word":
                last += 1
            for beside in found[first:last + 1]:
                if beside.text in ("__device__", "static"):
                    changed[beside.start:beside.end] = " " * len(beside.text)
    return "".join(changed)
