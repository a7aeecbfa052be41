"""What is known of integers of a group's threads beside each other: how far each is from the first thread's, and low
bits of the first thread's, so that t & 31 and t >> 5 of consecutive threads are known, too.

threadIdx.x of a group's first thread is a multiple of the group's size.
"""
from __future__ import annotations

from reactant.support.records import dataclass

LARGEST = 2**20
ALL = 64
"""Known bits of constants."""


@dataclass(frozen=True)
class Shape:
    """`offsets`: from the first thread's value, by thread; the lowest `known` bits of that value are those of `low`."""

    offsets: tuple[int, ...]
    known: int = 0
    low: int = 0

    @property
    def step(self) -> int | None:
        """From thread to thread; None where it is not the same for all."""
        step = self.offsets[1] - self.offsets[0]
        return step if all(o == step * k for k, o in enumerate(self.offsets)) else None

    @property
    def within(self) -> bool:
        """Whether threads' values differ in known bits only."""
        return all(0 <= self.low + o < 1 << self.known for o in self.offsets) or not any(self.offsets)

    def agreed(self, other: Shape) -> Shape | None:
        """What holds for both; None where offsets differ."""
        if self.offsets != other.offsets:
            return None
        known = min(self.known, other.known)
        while known and (self.low ^ other.low) & ((1 << known) - 1):
            known -= 1
        return Shape(self.offsets, known, self.low & ((1 << known) - 1))


def made(offsets: list[int], known: int, low: int, width: int) -> Shape | None:
    if max(map(abs, offsets)) >= LARGEST:
        return None
    known = min(known, width - 1)                       # signs are left open
    return Shape(tuple(offsets), known, low & ((1 << known) - 1))


def constant(value: int, size: int) -> Shape:
    return Shape((0,) * size, ALL, value & ((1 << ALL) - 1))


def of_two(how: str, a: Shape, b: Shape, width: int) -> Shape | None:
    """The shape of an integer operation's result of so many bits, where it can be told. Offsets are exact in as many
    bits."""
    size = len(a.offsets)
    if how in ("add", "sub"):
        sign = -1 if how == "sub" else 1
        return made([x + sign * y for x, y in zip(a.offsets, b.offsets, strict=True)], min(a.known, b.known),
                    a.low + sign * b.low, width)
    if b.known == ALL:
        found = _by_constant(how, a, b.low - (1 << ALL) if b.low >> ALL - 1 else b.low, width)
        if found is not None:
            return found
    return None if any(a.offsets) or any(b.offsets) else Shape((0,) * size)


def _by_constant(how: str, a: Shape, value: int, width: int) -> Shape | None:
    values = [a.low + o for o in a.offsets]
    if how == "shl":
        how, value = "mul", 1 << value if 0 <= value < 24 else 0
    if how == "mul" and value:
        twos = (value & -value).bit_length() - 1
        return made([o * value for o in a.offsets], a.known + twos, a.low * value, width)
    if how == "and" and value > 0:
        lowest = (1 << a.known) - 1
        if a.known >= value.bit_length():
            ends = [v & value for v in values]
            return made([e - ends[0] for e in ends], ALL, ends[0], width)
        if a.within and value & lowest in (0, lowest):
            return made(list(a.offsets) if value & lowest else [0] * len(values), a.known, a.low & value, width)
    if how in ("lshr", "ashr") and a.within and 0 <= value < width:
        ends = [v >> value for v in values]
        return made([e - ends[0] for e in ends], max(a.known - value, 0), ends[0], width)
    if how == "xor" and value >= 0 and a.known >= value.bit_length():
        ends = [v ^ value for v in values]
        return made([e - ends[0] for e in ends], a.known, ends[0], width)
    return None
