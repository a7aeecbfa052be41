"""Source lines that accounts speak of, as texts: places are `file:line`."""
from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class Placed(Protocol):
    """What is said of one line."""

    @property
    def place(self) -> str: ...


Of = TypeVar("Of", bound=Placed)


def text_at(place: str) -> str:
    """The text of a place, without the space around it; "" where it is none."""
    file, _, number = place.rpartition(":")
    return linecache.getline(file, int(number)).strip() if number.isdigit() else ""


def by_file(lines: Iterable[Of]) -> dict[str, dict[int, Of]]:
    """What is said of lines, by file and number; what has no line is left out."""
    found: dict[str, dict[int, Of]] = {}
    for line in lines:
        file, _, number = line.place.rpartition(":")
        if number.isdigit():
            found.setdefault(file, {})[int(number)] = line
    return found


def around(file: str, lines: Iterable[int], reach: int) -> Iterator[tuple[int, str] | None]:
    """Lines of a file and those up to `reach` lines from them that are there: numbers and texts; None where some are
    passed over."""
    named = set(lines)
    last = 0
    for number in sorted({n for line in named for n in range(line - reach, line + reach + 1) if n > 0}):
        text = linecache.getline(file, number)
        if not text and number not in named:
            continue
        if last and number > last + 1:
            yield None
        last = number
        yield number, text.rstrip("\n")
